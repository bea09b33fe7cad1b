/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of the traces of PyTorch's profiler (*.pt.trace.json), all generations: categories of 1.8
 * ("Operator") and of today ("cpu_op"), CUDA, ROCm and other devices. Kind of an event is its
 * category, never its process number. Source: reference trace_kernel_memory_import F.1.
 * Kept of the arguments: what tables or links need (KEPT below); counted is what no page shows.
 * The category stays as a stat of what is neither an API call nor work of a device.
 */
#include "convert/read/read_kineto.h"
#include "convert/read/export_notes.h"
#include "convert/read/forward_links.h"
#include "convert/read/json_trace.h"
#include "convert/read/step_name.h"

#include <stdio.h>

enum kind {
    KIND_OTHER,
    KIND_OP,
    KIND_ANNOTATION,
    KIND_PYTHON,
    KIND_RUNTIME,
    KIND_KERNEL,
    KIND_MEMCPY,
    KIND_MEMSET,
    KIND_GPU_ANNOTATION,
    KIND_SYNC,
    KIND_OVERHEAD,
    KIND_SPAN,
    KIND_ACCELERATOR, /* work of a device that is no GPU */
    KIND_FLOW,
};

static const struct {
    const char *cat;
    enum kind kind;
} kinds[] = {
    {"cpu_op", KIND_OP},
    {"operator", KIND_OP},
    {"user_annotation", KIND_ANNOTATION},
    {"python_function", KIND_PYTHON},
    {"python", KIND_PYTHON},
    {"runtime", KIND_RUNTIME},
    {"cuda_runtime", KIND_RUNTIME},
    {"cuda_driver", KIND_RUNTIME},
    {"kernel", KIND_KERNEL},
    {"gpu_memcpy", KIND_MEMCPY},
    {"memcpy", KIND_MEMCPY},
    {"gpu_memset", KIND_MEMSET},
    {"memset", KIND_MEMSET},
    {"gpu_user_annotation", KIND_GPU_ANNOTATION},
    {"cuda_sync", KIND_SYNC},
    {"cuda_event", KIND_SYNC},
    {"overhead", KIND_OVERHEAD},
    {"trace", KIND_SPAN},
    {"mtia_ccp_events", KIND_ACCELERATOR},
    {"ac2g", KIND_FLOW},
    {"fwdbwd", KIND_FLOW},
};

/* X(member, text): the arguments that are kept or tell where an event belongs. */
#define KEPT(X)                                                                                    \
    X(CORRELATION, "correlation")                                                                  \
    X(EXTERNAL, "External id")                                                                     \
    X(EXTERNAL_OLD, "external id")                                                                 \
    X(DEVICE, "device")                                                                            \
    X(STREAM, "stream")                                                                            \
    X(GRID, "grid")                                                                                \
    X(BLOCK, "block")                                                                              \
    X(REGISTERS, "registers per thread")                                                           \
    X(SHARED_MEMORY, "shared memory")                                                              \
    X(OCCUPANCY, "est. achieved occupancy %")                                                      \
    X(BYTES, "bytes")                                                                              \
    X(MEMORY_BYTES, "Bytes")                                                                       \
    X(ADDRESS, "Addr")                                                                             \
    X(TOTAL_ALLOCATED, "Total Allocated")                                                          \
    X(TOTAL_RESERVED, "Total Reserved")                                                            \
    X(DEVICE_TYPE, "Device Type")                                                                  \
    X(DEVICE_ID, "Device Id")                                                                      \
    X(DIMS, "Input Dims")                                                                          \
    X(DIMS_OLD, "Input dims")                                                                      \
    X(TYPES, "Input type")                                                                         \
    X(STACK, "Call stack")                                                                         \
    X(MODULES, "Module Hierarchy")                                                                 \
    X(COLLECTIVE, "Collective name")                                                               \
    X(GROUP_NAME, "Process Group Name")                                                            \
    X(GROUP_SIZE, "Group size")                                                                    \
    X(IN_ELEMENTS, "In msg nelems")                                                                \
    X(OUT_ELEMENTS, "Out msg nelems")                                                              \
    X(DTYPE, "dtype")                                                                              \
    X(PYTHON_ID, "Python id")

enum arg {
#define X(id, text) ARG_##id,
    KEPT(X)
#undef X
        N_ARGS
};

static const char *const arg_texts[N_ARGS] = {
#define X(id, text) text,
    KEPT(X)
#undef X
};

struct device {
    int64_t id;
    struct tbp_str name, vendor;
    uint64_t n_sms, major, minor, memory_bytes;
};

enum { CACHE = 64 };
struct cached {
    struct tbp_str text;
    uint8_t value;
};

struct kineto {
    struct tbp_json_trace *jt;
    const struct tbp_json_value *arg[N_ARGS]; /* of the event */
    struct cached arg_cache[CACHE], kind_cache[CACHE];
    uint32_t arg_key[N_ARGS]; /* texts */
    uint32_t kernel_details, memcpy_details, memset_details, category, instant;
    TBP_VEC(struct device) devices;
    TBP_VEC(char) text;
    struct tbp_forward_links forward;
    const char *vendor; /* of the devices; NULL: nothing tells */
    uint64_t n_names;   /* rows of metadata */
    bool is_export;     /* of ours, which added them */
};

/* ---- what an event is ---- */

static struct cached *slot_of(struct cached *cache, struct tbp_str s) {
    size_t h = s.n;
    if (s.n)
        h = h * 7 + (uint8_t)s.p[0] * 3u + (uint8_t)s.p[s.n / 2] * 5u + (uint8_t)s.p[s.n - 1];
    return &cache[h % CACHE];
}

static bool equal_nocase(struct tbp_str s, const char *text) {
    return s.n == strlen(text) && tbp_str_starts_nocase(s, text);
}

static enum kind find_kind(struct tbp_str cat) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (equal_nocase(cat, kinds[i].cat))
            return kinds[i].kind;
    bool is_api = tbp_str_ends(cat, "_runtime") || tbp_str_ends(cat, "_driver");
    return is_api ? KIND_RUNTIME : KIND_OTHER;
}

/* The profiler before 1.8 (and profiler_legacy) tells by processes with names. */
static enum kind kind_of_legacy(const struct tbp_json_event *e) {
    if (e->pid.token != TBP_JSON_STRING)
        return KIND_OTHER;
    if (tbp_str_is(e->pid.text, "CPU functions"))
        return KIND_OP;
    return tbp_str_is(e->pid.text, "CUDA functions") ? KIND_KERNEL : KIND_OTHER;
}

static enum kind kind_of(struct kineto *k, const struct tbp_json_event *e) {
    if (e->cat.token != TBP_JSON_STRING)
        return kind_of_legacy(e);
    struct tbp_str cat = e->cat.text;
    struct cached *c = slot_of(k->kind_cache, cat);
    if (!c->text.p || !tbp_str_eq(c->text, cat)) {
        *c = (struct cached){cat, (uint8_t)find_kind(cat)};
        if (tbp_str_starts(cat, "xpu_"))
            k->vendor = "Intel";
    }
    return (enum kind)c->value;
}

static void sort_args(struct kineto *k, const struct tbp_json_event *e) {
    memset(k->arg, 0, sizeof k->arg);
    for (size_t i = 0; i < e->n_args; i++) {
        struct tbp_str key = e->args[i].key;
        struct cached *c = slot_of(k->arg_cache, key);
        if (!c->text.p || !tbp_str_eq(c->text, key)) {
            unsigned a = 0;
            while (a < N_ARGS && !tbp_str_is(key, arg_texts[a]))
                a++;
            *c = (struct cached){key, (uint8_t)a};
        }
        if (c->value < N_ARGS)
            k->arg[c->value] = &e->args[i].value;
    }
}

static bool number(const struct tbp_json_value *v, int64_t *out) {
    return v && (v->token == TBP_JSON_NUMBER || v->token == TBP_JSON_STRING) &&
           tbp_json_id(v->text, out);
}

static int64_t number_or(const struct tbp_json_value *v, int64_t otherwise) {
    int64_t n;
    return number(v, &n) ? n : otherwise;
}

static void add_category(struct kineto *k, const struct tbp_json_event *e) {
    struct tbp_trace *t = &k->jt->trace;
    if (e->cat.token == TBP_JSON_STRING && e->cat.text.n)
        tbp_trace_stat_text(t, TBP_TRACE_SHARED, k->category,
                            tbp_json_trace_intern(k->jt, &e->cat));
    else if (e->ph == 'i' || e->ph == 'I' || e->ph == 'R')
        tbp_trace_stat_text(t, TBP_TRACE_SHARED, k->category, k->instant);
}

/* Correlation ids of -1 and 0 mean none. */
static uint64_t link_of(const struct kineto *k) {
    int64_t id = number_or(k->arg[ARG_CORRELATION], 0);
    return id == -1 || id == UINT32_MAX ? 0 : (uint64_t)id;
}

static uint64_t external_of(const struct kineto *k) {
    const struct tbp_json_value *v =
        k->arg[ARG_EXTERNAL] ? k->arg[ARG_EXTERNAL] : k->arg[ARG_EXTERNAL_OLD];
    int64_t id = number_or(v, 0);
    return id == -1 ? 0 : (uint64_t)id;
}

/* ---- lines ---- */

enum { MAX_DEVICE = 499 };

static uint32_t device_of(const struct kineto *k, const struct tbp_json_event *e) {
    int64_t device = number_or(k->arg[ARG_DEVICE], number_or(&e->pid, 0));
    return device >= 0 && device <= MAX_DEVICE ? (uint32_t)device : 0;
}

/* The row that the file gives it: "stream" may be an address. */
static int64_t stream_of(const struct kineto *k, const struct tbp_json_event *e) {
    static const char prefix[] = "stream ";
    int64_t stream;
    if (number(&e->tid, &stream))
        return stream;
    if (tbp_str_starts(e->tid.text, prefix) &&
        tbp_str_to_i64(tbp_str_sub(e->tid.text, sizeof prefix - 1, e->tid.text.n), &stream))
        return stream;
    return number_or(k->arg[ARG_STREAM], 0);
}

static uint32_t line_of(struct kineto *k, const char *plane, const char *what,
                        const struct tbp_json_event *e) {
    char name[96];
    struct tbp_trace *t = &k->jt->trace;
    int n = snprintf(name, sizeof name, "%s %u/%lld", what, (unsigned)device_of(k, e),
                     (long long)stream_of(k, e));
    return tbp_trace_line(t, tbp_trace_plane(t, tbp_str_c(plane)),
                          (struct tbp_str){name, (size_t)n});
}

/* ---- details ---- */

static void put(struct kineto *k, struct tbp_str s) {
    tbp_vec_reserve(&k->text, k->text.n + s.n);
    memcpy(k->text.at + k->text.n, s.p, s.n);
    k->text.n += s.n;
}

static void put_number(struct kineto *k, const char *key, const struct tbp_json_value *v,
                       const char *otherwise) {
    put(k, tbp_str_c(key));
    bool is_known = v && v->token == TBP_JSON_NUMBER;
    put(k, is_known ? v->text : tbp_str_c(otherwise));
}

/* "[1, 2, 3]" as 1,2,3. */
static void put_dims(struct kineto *k, const char *key, const struct tbp_json_value *v) {
    put(k, tbp_str_c(key));
    if (!v || v->token != TBP_JSON_ARRAY) {
        put(k, TBP_STR("1,1,1"));
        return;
    }
    for (size_t i = 0; i < v->text.n; i++) {
        char c = v->text.p[i];
        if (c == ',' || (c >= '0' && c <= '9'))
            put(k, (struct tbp_str){&v->text.p[i], 1});
    }
}

static void add_text(struct kineto *k, uint32_t key) {
    struct tbp_str s = {k->text.at, k->text.n};
    tbp_trace_stat_text(&k->jt->trace, TBP_TRACE_SHARED, key, tbp_trace_text(&k->jt->trace, s));
}

static void add_kernel_details(struct kineto *k) {
    k->text.n = 0;
    put_number(k, "regs:", k->arg[ARG_REGISTERS], "0");
    put_number(k, " static_shared:", k->arg[ARG_SHARED_MEMORY], "0");
    put(k, TBP_STR(" dynamic_shared:0"));
    put_dims(k, " grid:", k->arg[ARG_GRID]);
    put_dims(k, " block:", k->arg[ARG_BLOCK]);
    put_number(k, " occ_pct:", k->arg[ARG_OCCUPANCY], "0");
    add_text(k, k->kernel_details);
}

/* "Memcpy HtoD (Pageable -> Device)": a word of the part in brackets, in small letters. */
static void put_kind(struct kineto *k, struct tbp_str s, bool is_target) {
    size_t open = tbp_str_find(s, '('), close = tbp_str_rfind(s, ')');
    const char *arrow = memmem(s.p, s.n, " -> ", 4);
    if (!arrow || open >= close || close >= s.n) {
        put(k, TBP_STR("unknown"));
        return;
    }
    size_t mid = (size_t)(arrow - s.p);
    struct tbp_str word = is_target ? tbp_str_sub(s, mid + 4 < close ? mid + 4 : close, close)
                                    : tbp_str_sub(s, open < mid ? open + 1 : mid, mid);
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i] >= 'A' && word.p[i] <= 'Z' ? (char)(word.p[i] + 32) : word.p[i];
        put(k, (struct tbp_str){&c, 1});
    }
}

static void add_copy_details(struct kineto *k, const struct tbp_json_event *e, bool is_copy) {
    k->text.n = 0;
    if (!is_copy) {
        put_number(k, "kind:device num_bytes:", k->arg[ARG_BYTES], "0");
        put(k, TBP_STR(" async:1"));
        add_text(k, k->memset_details);
        return;
    }
    put(k, TBP_STR("kind_src:"));
    put_kind(k, e->name.text, false);
    put(k, TBP_STR(" kind_dst:"));
    put_kind(k, e->name.text, true);
    put_number(k, " size:", k->arg[ARG_BYTES], "0");
    put(k, TBP_STR(" dest:0 async:1"));
    add_text(k, k->memcpy_details);
}

/* What tables know copies by: "MemcpyHtoD (…)". */
static uint32_t copy_name(struct kineto *k, const struct tbp_json_event *e) {
    static const struct {
        const char *prefix, *name;
    } names[] = {{"Memcpy ", "Memcpy"},
                 {"CopyHostToDevice", "MemcpyHtoD"},
                 {"CopyDeviceToHost", "MemcpyDtoH"},
                 {"CopyDeviceToDevice", "MemcpyDtoD"}};
    struct tbp_str s = tbp_json_trace_text(k->jt, &e->name);
    k->text.n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i].prefix);
        if (!tbp_str_starts(s, names[i].prefix))
            continue;
        put(k, tbp_str_c(names[i].name));
        put(k, tbp_str_sub(s, n, s.n));
        return tbp_trace_text(&k->jt->trace, (struct tbp_str){k->text.at, k->text.n});
    }
    return tbp_trace_text(&k->jt->trace, s);
}

static void add_args(struct kineto *k, enum arg from, enum arg to) {
    for (unsigned a = from; a <= to; a++)
        if (k->arg[a] && k->arg[a]->token != TBP_JSON_NULL)
            tbp_trace_stat_text(&k->jt->trace, TBP_TRACE_SHARED, k->arg_key[a],
                                tbp_json_trace_intern(k->jt, k->arg[a]));
}

/* ---- events ---- */

static void describe_host(struct kineto *k, const struct tbp_json_event *e, enum kind kind,
                          struct tbp_trace_event *out) {
    int64_t step;
    out->track = tbp_json_trace_thread(k->jt, e);
    if (kind == KIND_RUNTIME) {
        out->flags = TBP_TRACE_LAUNCH;
        out->link = link_of(k);
        if (tbp_str_starts(e->name.text, "hip"))
            k->vendor = "AMD";
        return;
    }
    if (kind == KIND_PYTHON) {
        add_args(k, ARG_STACK, ARG_STACK);
        out->link = e->ph == 'E' ? 0 : (uint64_t)number_or(k->arg[ARG_PYTHON_ID], 0);
    }
    if (kind != KIND_OP && kind != KIND_ANNOTATION)
        return;
    add_args(k, ARG_DIMS, ARG_DTYPE);
    tbp_trace_mark_input(&k->jt->trace, e->name.text);
    if (tbp_step_of_profiler(k->jt->host, e->name.text, &step)) {
        out->flags = TBP_TRACE_STEP;
        out->link = (uint64_t)step;
        return;
    }
    if (kind != KIND_OP)
        return;
    uint64_t external = external_of(k);
    out->flags = TBP_TRACE_OP;
    if (external)
        tbp_trace_stat_i64(&k->jt->trace, TBP_TRACE_OWN, k->arg_key[ARG_EXTERNAL],
                           (int64_t)external);
}

static void describe_device(struct kineto *k, const struct tbp_json_event *e, enum kind kind,
                            struct tbp_trace_event *out) {
    out->track = tbp_trace_stream(&k->jt->trace, device_of(k, e), stream_of(k, e));
    out->flags = TBP_TRACE_DEVICE;
    out->link = link_of(k);
    out->external_id = external_of(k);
    if (kind == KIND_MEMCPY)
        out->name = copy_name(k, e);
    if (kind == KIND_KERNEL)
        add_kernel_details(k);
    else
        add_copy_details(k, e, kind == KIND_MEMCPY);
    add_args(k, ARG_COLLECTIVE, ARG_DTYPE);
}

static void describe(struct kineto *k, const struct tbp_json_event *e, enum kind kind,
                     struct tbp_trace_event *out) {
    struct tbp_trace *t = &k->jt->trace;
    switch (kind) {
    case KIND_KERNEL:
    case KIND_MEMCPY:
    case KIND_MEMSET:
        describe_device(k, e, kind, out);
        break;
    case KIND_GPU_ANNOTATION:
        out->track = line_of(k, TBP_HOST_PLANE, "GPU annotations", e);
        break;
    case KIND_SYNC:
        out->track = line_of(k, TBP_HOST_PLANE, "GPU synchronization", e);
        break;
    case KIND_ACCELERATOR:
        out->track = line_of(k, "/device:CUSTOM:MTIA", "device", e);
        out->flags = TBP_TRACE_DEVICE;
        out->link = link_of(k);
        break;
    case KIND_OVERHEAD:
        out->track = tbp_trace_line(t, 0, TBP_STR("Profiler overhead"));
        break;
    default:
        describe_host(k, e, kind, out);
        break;
    }
}

static void read_memory(struct kineto *k, const struct tbp_json_event *e,
                        const struct tbp_trace_event *at) {
    char name[48];
    int64_t type = number_or(k->arg[ARG_DEVICE_TYPE], 0), id = number_or(k->arg[ARG_DEVICE_ID], 0);
    int n = type == 0   ? snprintf(name, sizeof name, "CPU")
            : type == 1 ? snprintf(name, sizeof name, "GPU_%lld", (long long)id)
                        : snprintf(name, sizeof name, "device type %lld, %lld", (long long)type,
                                   (long long)id);
    struct tbp_trace_memory_event m = {
        .track = tbp_json_trace_thread(k->jt, e),
        .allocator = tbp_trace_text(&k->jt->trace, (struct tbp_str){name, (size_t)n}),
        .start_ns = at->start_ns,
        .start_ps = at->start_ps,
        .bytes = number_or(k->arg[ARG_MEMORY_BYTES], 0),
        .address = (uint64_t)number_or(k->arg[ARG_ADDRESS], 0),
        .allocated = number_or(k->arg[ARG_TOTAL_ALLOCATED], -1),
        .reserved = number_or(k->arg[ARG_TOTAL_RESERVED], 0)};
    tbp_trace_memory(&k->jt->trace, &m);
}

/* Names of threads; the rest of the metadata orders rows of another viewer. */
static void read_metadata(struct kineto *k, const struct tbp_json_event *e) {
    const struct tbp_json_value *name = tbp_json_trace_arg(e, "name");
    if (!name || !tbp_str_is(e->name.text, "thread_name") || tbp_str_starts(name->text, "stream "))
        return;
    uint32_t track = tbp_json_trace_thread(k->jt, e);
    struct tbp_given_name given = tbp_json_trace_given(k->jt, e, name);
    tbp_trace_track_given(&k->jt->trace, track, &given);
}

static void count_aside(struct kineto *k, uint64_t *sum) {
    k->jt->host->ledger.events_read++;
    ++*sum;
}

/* From forward to backward ops; what others tell, correlation ids tell as well. */
static void read_flow(struct kineto *k, const struct tbp_json_event *e) {
    struct tbp_flow_end end = {0};
    int64_t id, start_ns;
    unsigned start_ps;
    bool is_text;
    if (e->ph == 't' || !tbp_str_is(e->cat.text, "fwdbwd") ||
        !tbp_json_trace_id(k->jt, &e->id, &id, &is_text) ||
        !tbp_json_trace_time(&e->ts, &start_ns, &start_ps))
        return;
    end.id = (uint64_t)id;
    end.start_ns = start_ns;
    end.start_ps = start_ps;
    end.track = tbp_json_trace_thread(k->jt, e);
    tbp_forward_links_add(&k->forward, e->ph == 'f', &end);
}

static void read_event(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    struct kineto *k = jt->ctx;
    struct tbp_ledger *l = &jt->host->ledger;
    struct tbp_trace_event out = {0};
    k->jt = jt;
    if (e->ph == 'M') {
        read_metadata(k, e);
        count_aside(k, &l->events_merged);
        k->n_names++;
        return;
    }
    if (e->ph == 's' || e->ph == 't' || e->ph == 'f') {
        read_flow(k, e);
        count_aside(k, &l->events_merged);
        return;
    }
    if (!e->ph || !strchr("XBEiIRC", e->ph)) {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NOT_SHOWN);
        return;
    }
    if (!tbp_json_trace_time(&e->ts, &out.start_ns, &out.start_ps)) {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NO_TIME);
        return;
    }
    enum kind kind = kind_of(k, e);
    sort_args(k, e);
    if (tbp_str_is(e->name.text, "[memory]")) {
        read_memory(k, e, &out);
        return;
    }
    out.name = kind == KIND_MEMCPY ? 0 : tbp_json_trace_intern(jt, &e->name);
    if (e->ph == 'C') {
        out.track = tbp_trace_counters(&jt->trace);
        tbp_json_trace_series(jt, e);
        tbp_trace_add(&jt->trace, &out);
        return;
    }
    if (e->ph == 'X')
        out.dur_ps = tbp_json_trace_duration(jt, e);
    if (e->ph == 'B' || e->ph == 'E')
        out.flags = e->ph == 'B' ? TBP_TRACE_BEGIN : TBP_TRACE_END;
    unsigned pair = out.flags;
    if (kind != KIND_RUNTIME && kind != KIND_KERNEL && kind != KIND_MEMCPY && kind != KIND_MEMSET)
        add_category(k, e);
    describe(k, e, kind, &out);
    out.flags |= pair;
    tbp_trace_add(&jt->trace, &out);
}

/* ---- the head of the document ---- */

static void read_device(struct kineto *k, struct tbp_json_pull *j) {
    struct device d = {.name = TBP_STR_NONE, .vendor = TBP_STR_NONE};
    while (tbp_json_pull_next(j) == TBP_JSON_KEY) {
        struct tbp_str key = j->text;
        enum tbp_json_token token = tbp_json_pull_next(j);
        int64_t v = 0;
        if (token == TBP_JSON_STRING && tbp_str_is(key, "name"))
            d.name = j->text;
        else if (token == TBP_JSON_STRING && tbp_str_is(key, "vendor"))
            d.vendor = j->text;
        else if (token != TBP_JSON_NUMBER || !tbp_json_id(j->text, &v))
            tbp_json_pull_skip(j, token);
        else if (tbp_str_is(key, "id"))
            d.id = v;
        else if (tbp_str_is(key, "numSms"))
            d.n_sms = (uint64_t)v;
        else if (tbp_str_is(key, "computeMajor"))
            d.major = (uint64_t)v;
        else if (tbp_str_is(key, "computeMinor"))
            d.minor = (uint64_t)v;
        else if (tbp_str_is(key, "totalGlobalMem"))
            d.memory_bytes = (uint64_t)v;
    }
    *tbp_vec_push(&k->devices) = d;
}

static void read_devices(struct kineto *k, struct tbp_json_pull *j) {
    enum tbp_json_token token;
    if (!tbp_json_pull_opens(j, TBP_JSON_ARRAY))
        return;
    while ((token = tbp_json_pull_next(j)) != TBP_JSON_ARRAY_END && token != TBP_JSON_END) {
        if (token == TBP_JSON_OBJECT)
            read_device(k, j);
        else
            tbp_json_pull_skip(j, token);
    }
}

/* Rank and world size, as stats of the host plane. */
static void read_distributed(struct kineto *k, struct tbp_json_pull *j) {
    enum tbp_json_token token;
    if (!tbp_json_pull_opens(j, TBP_JSON_OBJECT))
        return;
    while (tbp_json_pull_next(j) == TBP_JSON_KEY) {
        struct tbp_str key = j->text;
        int64_t v;
        token = tbp_json_pull_next(j);
        if (token == TBP_JSON_NUMBER && tbp_str_is(key, "rank") && tbp_json_id(j->text, &v))
            tbp_trace_plane_u64(&k->jt->trace, 0, "distributed_rank", (uint64_t)v);
        else if (token == TBP_JSON_NUMBER && tbp_str_is(key, "world_size") &&
                 tbp_json_id(j->text, &v))
            tbp_trace_plane_u64(&k->jt->trace, 0, "distributed_world_size", (uint64_t)v);
        else if (token == TBP_JSON_STRING && tbp_str_is(key, "backend"))
            tbp_trace_plane_text(&k->jt->trace, 0, "distributed_backend", j->text);
        else
            tbp_json_pull_skip(j, token);
    }
}

static bool read_header(struct tbp_json_trace *jt, struct tbp_str key) {
    struct kineto *k = jt->ctx;
    struct tbp_json_pull *j = &jt->json;
    k->jt = jt;
    if (tbp_str_starts(key, "hip_") || tbp_str_starts(key, "roctracer"))
        k->vendor = "AMD";
    if (tbp_str_is(key, "deviceProperties")) {
        read_devices(k, j);
    } else if (tbp_str_is(key, "distributedInfo")) {
        read_distributed(k, j);
    } else if (tbp_str_is(key, "tbprof")) {
        tbp_export_notes_read(jt);
        k->is_export = true;
    } else if (tbp_str_is(key, "baseTimeNanoseconds")) {
        jt->trace.has_wall_clock =
            tbp_json_pull_next(j) == TBP_JSON_NUMBER && tbp_json_id(j->text, &jt->trace.base_ns);
    } else {
        return false;
    }
    return true;
}

/* As `tbprof export` says, else by the name. */
static const char *vendor_of(const struct device *d) {
    static const struct {
        const char *text, *vendor;
    } names[] = {{"AMD", "AMD"},       {"Radeon", "AMD"},    {"Intel", "Intel"},
                 {"Ascend", "Huawei"}, {"Huawei", "Huawei"}, {"Nvidia", "Nvidia"},
                 {"NVIDIA", "Nvidia"}};
    struct tbp_str text = d->vendor.n ? d->vendor : d->name;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tbp_str_has(text, names[i].text))
            return names[i].vendor;
    return NULL;
}

/* Planes of devices tell what the device is. */
static void describe_devices(struct kineto *k) {
    struct tbp_trace *t = &k->jt->trace;
    for (size_t i = 0; i < k->devices.n; i++) {
        const struct device *d = &k->devices.at[i];
        char name[48];
        snprintf(name, sizeof name, "/device:GPU:%lld", (long long)d->id);
        uint32_t plane = tbp_strtab_get(&t->plane_names, tbp_str_c(name));
        if (plane == TBP_MAP_NONE)
            continue;
        tbp_trace_plane_text(t, plane, "gpu_device_name", d->name);
        tbp_trace_plane_u64(t, plane, "core_count", d->n_sms);
        tbp_trace_plane_u64(t, plane, "memory_size", d->memory_bytes);
        tbp_trace_plane_u64(t, plane, "compute_cap_major", d->major);
        tbp_trace_plane_u64(t, plane, "compute_cap_minor", d->minor);
        k->vendor = vendor_of(d) ? vendor_of(d) : k->vendor;
    }
    for (uint32_t i = 0; i < t->planes.n; i++)
        if (tbp_is_gpu_plane(t->planes.at[i].name))
            tbp_trace_plane_text(t, i, "device_vendor",
                                 tbp_str_c(k->vendor ? k->vendor : "Nvidia"));
}

static void finish(struct tbp_json_trace *jt) {
    struct kineto *k = jt->ctx;
    k->jt = jt;
    describe_devices(k);
    if (k->is_export) { /* of as many events the profile was that it was made of */
        jt->host->ledger.events_read -= k->n_names;
        jt->host->ledger.events_merged -= k->n_names;
    }
    tbp_forward_links_apply(&k->forward, &jt->trace);
    tbp_trace_find_wall_clock(&jt->trace);
}

/* The keys are texts before the first event, so that they need no look-up. */
static void know_keys(struct tbp_json_trace *jt, struct kineto *k) {
    for (unsigned a = 0; a < N_ARGS; a++)
        k->arg_key[a] = tbp_trace_text(&jt->trace, tbp_str_c(arg_texts[a]));
    k->arg_key[ARG_DIMS_OLD] = k->arg_key[ARG_DIMS];
    k->category = tbp_trace_text(&jt->trace, TBP_STR("category"));
    k->instant = tbp_trace_text(&jt->trace, TBP_STR("instant"));
    k->kernel_details = tbp_trace_text(&jt->trace, TBP_STR("kernel_details"));
    k->memcpy_details = tbp_trace_text(&jt->trace, TBP_STR("memcpy_details"));
    k->memset_details = tbp_trace_text(&jt->trace, TBP_STR("Memset_details"));
}

static void begin(struct tbp_json_trace *jt) {
    know_keys(jt, jt->ctx);
}

static const struct tbp_json_dialect dialect = {
    .begin = begin, .event = read_event, .header = read_header, .finish = finish};

enum { LIKELY = 80 };

static const char *const marks[] = {"\"schemaVersion\"",
                                    "\"deviceProperties\"",
                                    "\"baseTimeNanoseconds\"",
                                    "\"cpu_op\"",
                                    "\"Operator\"",
                                    "\"cuda_runtime\"",
                                    "\"python_function\"",
                                    "\"distributedInfo\"",
                                    "\"gpu_memcpy\"",
                                    "\"user_annotation\"",
                                    "\"[memory]\"",
                                    "\"CPU functions\"",
                                    NULL};

bool tbp_kineto_is_dialect_of(const uint8_t *data, size_t size) {
    return tbp_json_trace_looks_so(data, size) && tbp_json_trace_has_any(data, size, marks);
}

static int probe(const uint8_t *data, size_t size) {
    return tbp_kineto_is_dialect_of(data, size) ? LIKELY : 0;
}

int tbp_kineto_read(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct kineto k = {0};
    int status = tbp_json_trace_read(host, &dialect, &k, pool, err);
    tbp_forward_links_release(&k.forward);
    tbp_vec_release(&k.devices);
    tbp_vec_release(&k.text);
    return status;
}

const struct tbp_reader tbp_reader_kineto = {
    .name = "kineto",
    .help = "traces of PyTorch's profiler (*.pt.trace.json, also gzip'ed)",
    .probe = probe,
    .telling_texts = marks,
    .telling_score = LIKELY,
    .read = tbp_kineto_read,
};
