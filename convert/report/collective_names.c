/* SPDX-License-Identifier: Apache-2.0
 *
 * See collective_names.h. Sources of the names: NCCL up to 2.18 (ncclKernel_…) and since
 * (ncclDevKernel_…), RCCL (rccl_main_kernel), c10d's records (backend:collective), HCCL and oneCCL,
 * Horovod's timeline, TensorFlow's collective ops, HLO opcodes and the primitives after which JAX
 * names instructions; ../shared/cases/collective-kernel-names-and-missing-metadata.
 */
#include "convert/report/collective_names.h"

/* In order: the first word found decides. */
static const struct {
    const char *word, *kind;
    bool is_enough; /* without a library's prefix, wherever it stands in a name */
} kinds[] = {
    {"allreduce", "all-reduce", true},
    {"all_reduce", "all-reduce", true},
    {"all-reduce", "all-reduce", false}, /* compiler passes are called after it, too */
    {"cross_device_reduce", "all-reduce", true},
    {"collectivereducev", "all-reduce", true},
    {"allgather", "all-gather", true},
    {"all_gather", "all-gather", true},
    {"all-gather", "all-gather", false},
    {"collectivegather", "all-gather", true},
    {"reducescatter", "reduce-scatter", true},
    {"reduce_scatter", "reduce-scatter", true},
    {"reduce-scatter", "reduce-scatter", false},
    {"alltoall", "all-to-all", true},
    {"all_to_all", "all-to-all", true},
    {"all-to-all", "all-to-all", false},
    {"barrier", "barrier", false},
    {"broadcast", "broadcast", false},
    {"bcast", "broadcast", false},
    {"permute", "permute", false},
    {"send", "send/receive", false},
    {"recv", "send/receive", false},
    {"receive", "send/receive", false},
    {"reduce", "reduce", false},
    {"gather", "gather", false},
    {"scatter", "scatter", false},
};

static const char *const kinds_of_all[] = {"all-reduce", "all-gather", "reduce-scatter",
                                           "all-to-all", "barrier",    NULL};

/* Beginnings of names, whatever the case; the first that fits decides. */
static const struct {
    const char *prefix;
    enum tbp_collective_span span;
    bool is_of_host, needs_kind; /* calls that set a communicator up exchange nothing */
} libraries[] = {
    {"gloo:", TBP_COLLECTIVE_WHOLE, true, false}, /* c10d's records: the range is the exchange … */
    {"mpi:", TBP_COLLECTIVE_WHOLE, true, false},
    {"ucc:", TBP_COLLECTIVE_ASKED, true, false}, /* … or only hands it to a device */
    {"nccl:", TBP_COLLECTIVE_ASKED, true, false},
    {"rccl:", TBP_COLLECTIVE_ASKED, true, false},
    {"xccl:", TBP_COLLECTIVE_ASKED, true, false},
    {"hccl:", TBP_COLLECTIVE_ASKED, true, false},
    {"c10d::", TBP_COLLECTIVE_ASKED, false, false}, /* the op around such a record */
    {"ncclKernel", TBP_COLLECTIVE_WHOLE, false, false},
    {"ncclDevKernel", TBP_COLLECTIVE_WHOLE, false, false},
    {"rcclKernel", TBP_COLLECTIVE_WHOLE, false, false},
    {"rccl_main_kernel", TBP_COLLECTIVE_WHOLE, false, false},
    {"hcom_", TBP_COLLECTIVE_WHOLE, false, false},
    {"nccl", TBP_COLLECTIVE_WHOLE, false, true},
    {"rccl", TBP_COLLECTIVE_WHOLE, false, true},
    {"hccl", TBP_COLLECTIVE_WHOLE, false, true},
    {"oneccl", TBP_COLLECTIVE_WHOLE, false, true},
    {"MPI_", TBP_COLLECTIVE_WHOLE, true, true},
    {"horovod", TBP_COLLECTIVE_ASKED, true, true},
    {"CollectiveReduce", TBP_COLLECTIVE_ASKED, true, true}, /* TensorFlow's ops */
    {"CollectiveGather", TBP_COLLECTIVE_ASKED, true, true},
    {"CollectiveAllToAll", TBP_COLLECTIVE_ASKED, true, true},
    {"CollectiveBcast", TBP_COLLECTIVE_ASKED, true, true},
};

/* HLO instructions, called after their opcode or after JAX's primitive. */
static const struct {
    const char *opcode, *kind;
} instructions[] = {
    {"all-reduce", "all-reduce"},
    {"psum", "all-reduce"},
    {"psum_invariant", "all-reduce"},
    {"pmax", "all-reduce"},
    {"pmin", "all-reduce"},
    {"all-gather", "all-gather"},
    {"all_gather_invariant", "all-gather"},
    {"reduce-scatter", "reduce-scatter"},
    {"all-reduce-scatter", "reduce-scatter"},
    {"psum_scatter", "reduce-scatter"},
    {"all-to-all", "all-to-all"},
    {"ragged-all-to-all", "all-to-all"},
    {"collective-permute", "permute"},
    {"ppermute", "permute"},
    {"collective-broadcast", "broadcast"},
    {"pbroadcast", "broadcast"},
};

const char *tbp_collective_kind(struct tbp_str name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (tbp_str_has_nocase(name, kinds[i].word))
            return kinds[i].kind;
    return "other";
}

bool tbp_collective_is_of_all(const char *kind) {
    for (size_t i = 0; kinds_of_all[i]; i++)
        if (strcmp(kinds_of_all[i], kind) == 0)
            return true;
    return false;
}

static bool has_kind(struct tbp_str name, bool must_be_enough) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((kinds[i].is_enough || !must_be_enough) && tbp_str_has_nocase(name, kinds[i].word))
            return true;
    return false;
}

/* "%all-reduce-start.3 = f32[] …": the opcode, without the number that tells instructions apart. */
static struct tbp_str stem_of(struct tbp_str name) {
    size_t from = name.n && name.p[0] == '%', to = from;
    while (to < name.n && name.p[to] != '.' && name.p[to] != ' ' && name.p[to] != '(')
        to++;
    return tbp_str_sub(name, from, to);
}

static bool cut_end(struct tbp_str *s, const char *end) {
    bool has_end = tbp_str_ends(*s, end);
    if (has_end)
        s->n -= strlen(end);
    return has_end;
}

/* Both ends of an asynchronous one are events of their own. */
static struct tbp_collective_name instruction_of(struct tbp_str name) {
    struct tbp_str stem = stem_of(name);
    bool is_end = cut_end(&stem, "-start") || cut_end(&stem, "-update") || cut_end(&stem, "-done");
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++)
        if (tbp_str_is(stem, instructions[i].opcode))
            return (struct tbp_collective_name){
                is_end ? TBP_COLLECTIVE_ASKED : TBP_COLLECTIVE_WHOLE, true, instructions[i].kind};
    return (struct tbp_collective_name){TBP_COLLECTIVE_NONE, false, NULL};
}

/* "gloo:all_reduce": one colon, unlike names of operators. */
bool tbp_is_exchange_record(struct tbp_str name) {
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (tbp_str_ends(tbp_str_c(libraries[i].prefix), ":") && libraries[i].is_of_host &&
            tbp_str_starts(name, libraries[i].prefix))
            return true;
    return false;
}

struct tbp_collective_name tbp_collective_name_of(struct tbp_str name) {
    struct tbp_collective_name found = instruction_of(name);
    if (found.span)
        return found;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        if (!tbp_str_starts_nocase(name, libraries[i].prefix))
            continue;
        if (libraries[i].needs_kind && !has_kind(name, false))
            return found;
        return (struct tbp_collective_name){libraries[i].span, libraries[i].is_of_host,
                                            tbp_collective_kind(name)};
    }
    if (!has_kind(name, true))
        return found;
    return (struct tbp_collective_name){TBP_COLLECTIVE_WHOLE, false, tbp_collective_kind(name)};
}
