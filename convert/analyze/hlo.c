/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of HLO programs of a host: finds the programs among the metadata of /host:metadata,
 * reads each once, and answers look-ups by program id and instruction name. Working memory of a
 * program's cost analysis is given back before the next one is read.
 */
#include "convert/analyze/hlo.h"

#include "base/sort.h"
#include "convert/analyze/hlo_module.h"
#include "convert/analyze/op_name.h"
#include "convert/model/stats.h"

struct tbp_hlo_table {
    struct tbp_hlo_program *programs; /* by ascending id */
    size_t n_programs;
    bool is_training;
};

/* A metadata entry that holds a program. */
struct candidate {
    uint64_t program_id;
    uint64_t key;   /* id of the entry, or the number in its name that replaces it */
    uint64_t place; /* in the order of entries after renumbering */
    struct tbp_str proto;
    bool is_renumbered, is_replaced;
};

static bool find_proto(const struct tbp_plane *p, const struct tbp_meta *m, struct tbp_str *proto,
                       struct tbp_stat *program) {
    bool has_proto = false, has_program = false;
    struct tbp_stat_iter it = tbp_stat_iter_meta(p, m);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
        enum tbp_stat_key key = st.meta->key;
        bool is_proto = key == TBP_STAT_HLO_PROTO || key == TBP_STAT_HLO_PROTO_OLD;
        if (is_proto && st.type == TBP_STAT_BYTES && !has_proto) {
            *proto = st.s;
            has_proto = true;
        } else if (key == TBP_STAT_PROGRAM_ID && !has_program) {
            *program = st;
            has_program = true;
        }
    }
    return has_proto;
}

/* Some releases number the metadata anew; the program id then stands at the end of the name:
 * "module(123)". */
static bool id_in_name(struct tbp_str name, uint64_t *id) {
    if (name.n < 3 || name.p[name.n - 1] != ')' || memchr(name.p, '\n', name.n) != NULL)
        return false;
    size_t open = tbp_str_rfind(name, '(');
    if (open >= name.n - 2)
        return false;
    struct tbp_str digits = tbp_str_sub(name, open + 1, name.n - 1);
    for (size_t i = 0; i < digits.n; i++)
        if (digits.p[i] < '0' || digits.p[i] > '9')
            return false;
    return tbp_str_to_u64(digits, id);
}

static bool candidate_of(const struct tbp_plane *p, const struct tbp_meta *m, struct candidate *c) {
    struct tbp_stat program = {.type = TBP_STAT_NONE};
    uint64_t id;
    if (!m->has_stats || !find_proto(p, m, &c->proto, &program))
        return false;
    c->is_renumbered = id_in_name(m->name, &id) && id != (uint64_t)m->id;
    c->key = c->is_renumbered ? id : (uint64_t)m->id;
    c->program_id = program.type != TBP_STAT_NONE ? tbp_stat_iu(&program) : c->key;
    return true;
}

/* A renumbered entry replaces the one that has its number, in the same place, or goes to the end;
 * of two with one number the last counts. of_meta: metadata entry -> candidate or TBP_MAP_NONE. */
static void renumber(const struct tbp_plane *p, struct candidate *c, size_t n,
                     const uint32_t *of_meta) {
    struct tbp_idmap by_key = {0};
    for (size_t i = 0; i < n; i++) {
        if (!c[i].is_renumbered)
            continue;
        bool is_new;
        uint32_t *first = tbp_idmap_put(&by_key, c[i].key, &is_new);
        if (!is_new) {
            c[i].place = c[*first].place;
            c[*first].is_replaced = true;
        } else {
            uint32_t meta = tbp_plane_meta_index(p, (int64_t)c[i].key);
            uint32_t old = meta != 0 ? of_meta[meta] : TBP_MAP_NONE;
            bool is_free = meta == 0 || (old != TBP_MAP_NONE && c[old].is_renumbered);
            c[i].place = is_free ? p->n_metas + i : meta;
            if (!is_free && old != TBP_MAP_NONE)
                c[old].is_replaced = true;
        }
        *first = (uint32_t)i;
    }
    tbp_idmap_release(&by_key);
}

static int by_program(const void *a, const void *b, void *ctx) {
    const struct candidate *x = a, *y = b;
    (void)ctx;
    if (x->program_id != y->program_id)
        return x->program_id < y->program_id ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static struct candidate *find_candidates(const struct tbp_plane *p, struct tbp_arena *a,
                                         size_t *n) {
    struct candidate *found = TBP_NEW_N(a, struct candidate, p->n_metas + 1);
    uint32_t *of_meta = TBP_NEW_N(a, uint32_t, p->n_metas);
    size_t n_found = 0;
    for (size_t i = 0; i < p->n_metas; i++) {
        bool is_candidate = candidate_of(p, &p->metas[i], &found[n_found]);
        found[n_found].place = i;
        of_meta[i] = is_candidate ? (uint32_t)n_found++ : TBP_MAP_NONE;
    }
    renumber(p, found, n_found, of_meta);
    *n = 0;
    for (size_t i = 0; i < n_found; i++)
        if (!found[i].is_replaced)
            found[(*n)++] = found[i];
    tbp_sort(found, *n, sizeof *found, by_program, NULL);
    return found;
}

/* Slot of the name, or the free one where it would be. */
static uint32_t *slot_of(const struct tbp_hlo_program *p, struct tbp_str name) {
    uint32_t at = (uint32_t)tbp_str_hash(name) & p->mask;
    while (p->slots[at] != 0 && !tbp_str_eq(p->instructions[p->slots[at] - 1].name, name))
        at = (at + 1) & p->mask;
    return &p->slots[at];
}

/* Makes the index of names; true if an instruction shows gradient evidence. */
static bool index_program(struct tbp_hlo_program *p, struct tbp_arena *out) {
    bool is_training = false;
    uint64_t n_slots = 4;
    while (n_slots < 2 * (uint64_t)p->n)
        n_slots *= 2;
    p->slots = TBP_NEW_N(out, uint32_t, n_slots);
    p->mask = (uint32_t)(n_slots - 1);
    for (uint32_t i = 0; i < p->n; i++) {
        const struct tbp_hlo_instruction *ins = &p->instructions[i];
        uint32_t *slot = slot_of(p, ins->name);
        if (*slot != 0)
            continue;
        *slot = i + 1;
        is_training = is_training || tbp_op_has_gradient_evidence(ins->op_name, ins->op_type);
    }
    return is_training;
}

static bool read_program(struct tbp_hlo_table *t, const struct candidate *c, bool wants_costs,
                         struct tbp_arena *out) {
    struct tbp_arena scratch;
    struct tbp_hlo_module m;
    tbp_arena_init(&scratch);
    bool is_good = tbp_hlo_module_parse(&m, c->proto, wants_costs, out, &scratch);
    if (is_good) {
        if (wants_costs)
            tbp_hlo_module_cost(&m, &scratch);
        struct tbp_hlo_program *p = &t->programs[t->n_programs++];
        *p = (struct tbp_hlo_program){
            .id = c->program_id, .name = m.name, .instructions = m.instructions, .n = m.n};
        bool is_training = index_program(p, out);
        t->is_training = t->is_training || is_training;
    }
    tbp_arena_release(&scratch);
    return is_good;
}

static bool has_gpu_costs(const struct tbp_host *h) {
    bool has_gpu = false;
    for (size_t i = 0; i < h->n_planes; i++) {
        if (tbp_is_tpu_plane(h->planes[i].name))
            return false;
        has_gpu = has_gpu || tbp_is_gpu_plane(h->planes[i].name);
    }
    return has_gpu;
}

static uint64_t offset_in(const struct tbp_host *h, struct tbp_str proto) {
    const uint8_t *at = (const uint8_t *)proto.p;
    bool is_inside = at >= h->input.data && at < h->input.data + h->input.size;
    return is_inside ? (uint64_t)(at - h->input.data) : TBP_NO_OFFSET;
}

/* In the ledger of the host as it stays: grouping may have it read anew. */
static int count_damaged(struct tbp_session *s, uint32_t host, size_t n, uint64_t first,
                         struct tbp_error *err) {
    struct tbp_host *h = tbp_session_host(s, host, err);
    if (!h)
        return err->code;
    tbp_ledger_count(&h->ledger, TBP_LEDGER_HLO_DAMAGED, n, first);
    return TBP_OK;
}

static int hlo_of_host(struct tbp_session *s, uint32_t host, struct tbp_arena *out, void **table,
                       struct tbp_error *err) {
    const struct tbp_host *h = tbp_session_raw_host(s, host, err);
    if (h == NULL)
        return tbp_cause(err, "while reading programs");
    struct tbp_hlo_table *t = TBP_NEW(out, struct tbp_hlo_table);
    const struct tbp_plane *p = tbp_host_plane(h, TBP_METADATA_PLANE);
    *table = t;
    if (p == NULL)
        return TBP_OK;
    size_t n;
    struct candidate *candidates = find_candidates(p, out, &n);
    bool wants_costs = has_gpu_costs(h);
    size_t n_damaged = 0;
    uint64_t first = TBP_NO_OFFSET;
    t->programs = TBP_NEW_N(out, struct tbp_hlo_program, n + 1);
    for (size_t i = 0; i < n; i++) {
        bool is_known =
            t->n_programs > 0 && t->programs[t->n_programs - 1].id == candidates[i].program_id;
        if (is_known || read_program(t, &candidates[i], wants_costs, out))
            continue;
        uint64_t offset = offset_in(h, candidates[i].proto);
        first = offset < first ? offset : first;
        n_damaged++;
    }
    return n_damaged ? count_damaged(s, host, n_damaged, first, err) : TBP_OK;
}

const struct tbp_analysis tbp_analysis_hlo = {
    .name = "hlo",
    .help = "compiled programs: names and costs of their instructions",
    .counts = true,
    .host = hlo_of_host,
};

const struct tbp_hlo_table *tbp_hlo(struct tbp_session *s, uint32_t host, struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_hlo, host, err);
}

const struct tbp_hlo_instruction *tbp_hlo_find(const struct tbp_hlo_table *t, uint64_t program_id,
                                               struct tbp_str name) {
    size_t low = 0, high = t->n_programs;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (t->programs[mid].id < program_id)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == t->n_programs || t->programs[low].id != program_id)
        return NULL;
    uint32_t slot = *slot_of(&t->programs[low], name);
    return slot != 0 ? &t->programs[low].instructions[slot - 1] : NULL;
}

bool tbp_hlo_is_training(const struct tbp_hlo_table *t) {
    return t->is_training;
}

size_t tbp_hlo_n_programs(const struct tbp_hlo_table *t) {
    return t->n_programs;
}

const struct tbp_hlo_program *tbp_hlo_program_at(const struct tbp_hlo_table *t, size_t i) {
    return &t->programs[i];
}
