/* SPDX-License-Identifier: Apache-2.0
 *
 * The pass over the events of GPU planes. Each line is one job, a long one some; what an event
 * means (its op, its kernel) follows from few texts that repeat, so it is worked out once per
 * distinct combination of them (a cell), and an event only adds its time. Lines are united in file
 * order. Source: spec tables/RULES.md 7, 9 and 16. Budget: 100 ns per event (tests/bench).
 */
#include "convert/analyze/gpu_pass.h"

#include "convert/analyze/gpu_stats.h"
#include "convert/analyze/hlo.h"
#include "convert/analyze/op_name.h"
#include "convert/analyze/run_environment.h"
#include "convert/analyze/tpu_ops.h"

/* Facts shared by the lines of one plane. */
struct plane_facts {
    struct tbp_gpu_decoder decoder;
    const struct tbp_hlo_table *hlo;
    enum tbp_semantics semantics;
    enum tbp_gpu_vendor vendor;
    bool has_ops;         /* GPU: ops come from events; TPU: only kernels do */
    uint8_t *tensor_core; /* event metadata -> 0 not asked yet, 1 no, 2 yes; relaxed atomics */
};

/* What decides the meaning of an event; texts as numbers. Compared by bytes: no padding. */
struct signature {
    uint64_t program_id;
    uint32_t meta, details, tf_op, equation, hlo_op, has_program_id;
};

enum route { ROUTE_NONE, ROUTE_RUN, ROUTE_OP };

struct cell {
    enum route route;
    const struct tbp_hlo_instruction *ins; /* ROUTE_RUN */
    bool lacks_text;                       /* repaired: the program's text is missing */
    uint32_t op;                           /* ROUTE_OP: index, or TBP_MAP_NONE before the first */
    struct tbp_kernel kernel;
};

/* Consecutive kernels of one XLA op, entered together. Program, instruction and eager flag are of
 * the first event, flops and bytes of the last that tells them. */
struct run {
    const struct tbp_hlo_instruction *ins;
    struct tbp_str name;
    uint64_t program_id, n, ps, flops, bytes;
    int64_t group;
    bool is_eager;
};

/* Texts that are references come again at the same address: their numbers, by address. */
enum { RECENT_TEXTS = 256 };
struct recent_text {
    struct tbp_str s;
    uint32_t number;
};

struct line_pass {
    const struct plane_facts *facts;
    const struct tbp_line *line;
    size_t from, to; /* of its events */
    struct tbp_arena arena;
    struct tbp_strtab texts, signatures;
    struct recent_text *recent;
    size_t n_recent;            /* fewer on lines of few events */
    TBP_VEC(struct cell) cells; /* by signature number */
    struct tbp_op_builder ops;
    struct run run;
    int64_t first_ps, last_ps; /* offsets within the line */
    uint64_t n_level_0, n_shm, n_lacks_text, n_sub_ns;
};

static bool uses_tensor_core(const struct plane_facts *f, const struct tbp_line *l, uint32_t meta) {
    bool is_nvidia = f->vendor == TBP_VENDOR_NVIDIA || f->semantics == TBP_SEMANTICS_TF;
    enum tbp_gpu_vendor vendor = is_nvidia ? TBP_VENDOR_NVIDIA : f->vendor;
    if (l->metas != f->decoder.plane->metas) {
        return tbp_kernel_name_uses_tensor_core(l->metas[meta].name, vendor);
    }
    uint8_t known = __atomic_load_n(&f->tensor_core[meta], __ATOMIC_RELAXED);
    if (known == 0) {
        known = tbp_kernel_name_uses_tensor_core(l->metas[meta].name, vendor) ? 2 : 1;
        __atomic_store_n(&f->tensor_core[meta], known, __ATOMIC_RELAXED);
    }
    return known == 2;
}

/* ---- cells ---- */
static void set_kernel(struct line_pass *p, struct cell *c, const struct tbp_gpu_stats *st,
                       uint32_t meta) {
    const struct plane_facts *f = p->facts;
    struct tbp_kernel *k = &c->kernel;
    bool is_old = f->semantics == TBP_SEMANTICS_TF;
    k->name = p->line->metas[meta].name;
    k->op_name = TBP_STR_NONE;
    tbp_kernel_launch_parse(&k->launch, is_old ? TBP_STR_NONE : st->kernel_details,
                            f->decoder.repair);
    k->uses_tensor_core = uses_tensor_core(f, p->line, meta);
    if (st->tf_op.n > 0) {
        k->op_name = tbp_op_name_parse_for(st->tf_op, f->semantics).name;
        k->is_op_eligible = k->uses_tensor_core ||
                            tbp_equation_is_tensor_core_eligible(st->equation) ||
                            tbp_op_is_tensor_core_eligible(k->op_name);
    }
    if (c->ins || (c->lacks_text && st->tf_op.n == 0)) {
        k->op_name = c->ins ? tbp_op_name_parse(c->ins->framework_name).name : st->hlo_op;
        k->is_op_eligible |= tbp_op_is_tensor_core_eligible(k->op_name);
    }
}

static void set_route(struct line_pass *p, struct cell *c, const struct tbp_gpu_stats *st) {
    const struct plane_facts *f = p->facts;
    c->op = TBP_MAP_NONE;
    if (!st->has_hlo_op) {
        c->route = st->tf_op.n > 0 ? ROUTE_OP : ROUTE_NONE;
        return;
    }
    c->ins = st->has_program_id ? tbp_hlo_find(f->hlo, st->program_id, st->hlo_op) : NULL;
    if (c->ins) {
        c->route = ROUTE_RUN;
    } else if (f->semantics == TBP_SEMANTICS_REPAIR && st->hlo_op.n > 0) {
        c->lacks_text = true;
        c->route = ROUTE_OP;
    }
}

static uint32_t number_of(struct line_pass *p, struct tbp_str s) {
    uintptr_t address = (uintptr_t)s.p;
    struct recent_text *r = &p->recent[(address ^ address >> 8) % p->n_recent];
    if (r->s.p != s.p || r->s.n != s.n) {
        r->s = s;
        r->number = tbp_strtab_put(&p->texts, s);
    }
    return r->number;
}

static struct cell *cell_of(struct line_pass *p, const struct tbp_gpu_stats *st, uint32_t meta) {
    struct signature key = {
        .program_id = st->program_id,
        .meta = meta,
        .details = number_of(p, st->kernel_details),
        .tf_op = number_of(p, st->tf_op),
        .equation = st->equation.n > 0 ? number_of(p, st->equation) : TBP_MAP_NONE,
        .hlo_op = st->has_hlo_op ? number_of(p, st->hlo_op) : TBP_MAP_NONE,
        .has_program_id = st->has_program_id,
    };
    struct tbp_str bytes = {(const char *)&key, sizeof key};
    uint32_t number = tbp_strtab_get(&p->signatures, bytes);
    if (number != TBP_MAP_NONE) {
        return &p->cells.at[number];
    }
    tbp_strtab_put(&p->signatures, tbp_arena_str(&p->arena, bytes));
    struct cell *c = tbp_vec_push(&p->cells);
    *c = (struct cell){0};
    set_route(p, c, st);
    if (st->kernel_details.n > 0) {
        set_kernel(p, c, st, meta);
    }
    return c;
}

/* ---- device ops ---- */
struct entry {
    uint64_t n, ps, bytes;
    double flops, model_flops; /* of one execution */
    bool is_eager;
};

/* Adds executions. Whether the op is eager is told by its first entry only. */
static void enter(struct tbp_op_table *totals, struct tbp_op *op, bool is_new,
                  const struct entry *e) {
    if (is_new) {
        op->is_eager = e->is_eager;
    }
    op->occurrences += e->n;
    op->time_ps += e->ps;
    op->self_ps += e->ps;
    op->flops += e->flops * (double)e->n;
    if (e->model_flops == 0) {
        op->model_flops = op->flops;
    } else {
        op->model_flops += e->model_flops * (double)e->n;
    }
    op->bytes += e->bytes * e->n;
    totals->total_op_ps += e->ps;
}

static void set_texts(struct tbp_op *op, struct tbp_str category, struct tbp_str provenance) {
    op->category = category.n > 0 ? category : TBP_STR("unknown");
    op->provenance = provenance;
}

static void flush_run(struct line_pass *p) {
    const struct run *r = &p->run;
    const struct tbp_hlo_instruction *ins = r->ins;
    if (!ins) {
        return;
    }
    size_t n_before = p->ops.ops.n;
    struct tbp_op *op = tbp_op_builder_op(&p->ops, r->program_id, r->name);
    bool is_new = p->ops.ops.n > n_before;
    if (is_new) {
        set_texts(op, ins->opcode, ins->framework_name);
        op->is_host_transfer = ins->is_host_transfer && tbp_str_is(ins->opcode, "send-done");
    }
    struct entry e = {
        .n = r->n,
        .ps = r->ps,
        .bytes = ins->bytes_accessed > 0 ? (uint64_t)ins->bytes_accessed : r->bytes,
        .flops = ins->device_flops > 0 ? (double)ins->device_flops : (double)r->flops,
        .model_flops = ins->flops > 0 ? (double)ins->flops : (double)r->flops,
        .is_eager = r->is_eager,
    };
    enter(&p->ops.totals, op, is_new, &e);
    p->run = (struct run){.name = TBP_STR_NONE};
}

static void add_to_run(struct line_pass *p, const struct cell *c, const struct tbp_gpu_stats *st,
                       uint64_t dur_ps) {
    struct run *r = &p->run;
    if (!st->has_group || st->group != r->group || !tbp_str_eq(st->hlo_op, r->name)) {
        flush_run(p);
    }
    if (r->n == 0) {
        r->ins = c->ins;
        r->name = st->hlo_op;
        r->program_id = st->program_id;
        r->is_eager = st->is_eager;
        r->group = st->has_group ? st->group : r->group;
    }
    r->n++;
    r->ps += dur_ps;
    r->flops = st->has_flops ? st->flops : r->flops;
    r->bytes = st->has_bytes ? st->bytes_accessed : r->bytes;
}

/* An op of the framework and the kernel it launched, or an XLA op whose program is not known. */
static uint32_t make_op(struct line_pass *p, const struct cell *c, const struct tbp_gpu_stats *st,
                        struct tbp_str event_name, bool *is_new) {
    size_t n_before = p->ops.ops.n;
    struct tbp_op_name parsed = {0};
    uint32_t index;
    if (st->tf_op.n > 0) {
        parsed = tbp_op_name_parse_for(st->tf_op, p->facts->semantics);
        struct tbp_str name = tbp_arena_cat(&p->arena, parsed.name, TBP_STR("/"));
        index = tbp_op_builder_index(&p->ops, 0, tbp_arena_cat(&p->arena, name, event_name));
    } else {
        TBP_BUG_IF(!c->lacks_text);
        index = tbp_op_builder_index(&p->ops, st->program_id, st->hlo_op);
    }
    *is_new = p->ops.ops.n > n_before;
    if (*is_new) {
        set_texts(&p->ops.ops.at[index], parsed.type, st->tf_op);
    }
    return index;
}

static void add_to_op(struct line_pass *p, struct cell *c, const struct tbp_gpu_stats *st,
                      struct tbp_str event_name, uint64_t dur_ps) {
    bool is_new = false;
    flush_run(p);
    if (c->op == TBP_MAP_NONE) {
        c->op = make_op(p, c, st, event_name, &is_new);
    }
    struct entry e = {.n = 1, .ps = dur_ps, .is_eager = st->is_eager};
    if (c->lacks_text) {
        e.flops = e.model_flops = (double)st->flops;
        e.bytes = st->bytes_accessed;
        p->n_lacks_text++;
    }
    enter(&p->ops.totals, &p->ops.ops.at[c->op], is_new, &e);
}

/* ---- kernels ---- */
static void add_kernel(struct line_pass *p, struct tbp_kernel *k, uint64_t dur_ps) {
    uint64_t ps = dur_ps;
    if (p->facts->semantics == TBP_SEMANTICS_REPAIR) {
        k->has_sub_ns |= dur_ps % 1000 != 0;
        p->n_sub_ns += dur_ps % 1000 != 0;
    } else {
        ps = (uint64_t)(int64_t)((double)(int64_t)dur_ps / 1000.0) * 1000;
    }
    k->min_ps = k->occurrences == 0 || ps < k->min_ps ? ps : k->min_ps;
    k->max_ps = ps > k->max_ps ? ps : k->max_ps;
    k->occurrences++;
    k->total_ps += ps;
    p->n_shm += k->launch.has_shm;
}

static void widen(struct line_pass *p, int64_t offset_ps, uint64_t dur_ps) {
    int64_t end_ps = (int64_t)((uint64_t)offset_ps + dur_ps);
    p->first_ps = offset_ps < p->first_ps ? offset_ps : p->first_ps;
    p->last_ps = end_ps > p->last_ps ? end_ps : p->last_ps;
}

static uint64_t line_size(void *ctx, size_t index) {
    const struct line_pass *p = (const struct line_pass *)ctx + index;
    return p->to - p->from;
}

static int run_line(void *ctx, size_t index, struct tbp_error *err) {
    struct line_pass *p = (struct line_pass *)ctx + index;
    const struct tbp_line *l = p->line;
    (void)err;
    for (size_t i = p->from; i < p->to; i++) {
        struct tbp_gpu_stats st;
        uint64_t dur_ps = l->ev.dur_ps[i];
        widen(p, tbp_event_offset(l, i), dur_ps);
        tbp_gpu_stats_read(&p->facts->decoder, l, i, &st);
        if (st.kernel_details.n == 0 && st.tf_op.n == 0 && !st.has_hlo_op) {
            continue;
        }
        struct cell *c = cell_of(p, &st, l->ev.meta[i]);
        p->n_level_0 += st.tf_op_from_level_0;
        if (dur_ps != 0 && st.kernel_details.n > 0) {
            add_kernel(p, &c->kernel, dur_ps);
        }
        if (!p->facts->has_ops) {
            continue;
        }
        if (c->route == ROUTE_RUN) {
            add_to_run(p, c, &st, dur_ps);
        } else if (c->route == ROUTE_OP) {
            add_to_op(p, c, &st, tbp_event_name(l, i), dur_ps);
        }
    }
    flush_run(p);
    return TBP_OK;
}

/* ---- uniting ---- */
struct host_pass {
    struct tbp_host *host;
    struct tbp_arena *out;
    TBP_VEC(struct line_pass) lines;
    TBP_VEC(struct tbp_kernel) kernels;
    struct tbp_op_builder ops;
};

static void release_line(struct line_pass *p) {
    tbp_arena_release(&p->arena);
    tbp_strtab_release(&p->texts);
    tbp_strtab_release(&p->signatures);
    tbp_vec_release(&p->cells);
    tbp_op_builder_release(&p->ops);
}

static void count(struct host_pass *h, enum tbp_ledger_key key, uint64_t n) {
    if (n > 0) {
        tbp_ledger_count(&h->host->ledger, key, n, TBP_NO_OFFSET);
    }
}

static void collect_line(struct host_pass *h, struct line_pass *p, struct tbp_op_builder *plane) {
    for (size_t i = 0; i < p->cells.n; i++) {
        if (p->cells.at[i].kernel.occurrences > 0) {
            *tbp_vec_push(&h->kernels) = p->cells.at[i].kernel;
        }
    }
    for (size_t i = 0; i < p->ops.ops.n; i++) { /* made in the line's arena, which goes away */
        p->ops.ops.at[i].name = tbp_arena_str(h->out, p->ops.ops.at[i].name);
    }
    tbp_op_builder_continue(plane, &p->ops);
    count(h, TBP_LEDGER_REPAIR_LEVEL_0, p->n_level_0);
    count(h, TBP_LEDGER_REPAIR_SHM, p->n_shm);
    count(h, TBP_LEDGER_REPAIR_HLO_TEXT, p->n_lacks_text);
    count(h, TBP_LEDGER_REPAIR_SUB_NS, p->n_sub_ns);
}

/* The window of a plane counts offsets within its lines, not absolute times. */
static void close_plane(struct host_pass *h, size_t from, size_t to,
                        const struct plane_facts *facts) {
    struct tbp_op_builder plane = {0};
    int64_t first_ps = INT64_MAX, last_ps = 0;
    for (size_t i = from; i < to; i++) {
        struct line_pass *p = &h->lines.at[i];
        first_ps = p->first_ps < first_ps ? p->first_ps : first_ps;
        last_ps = p->last_ps > last_ps ? p->last_ps : last_ps;
        collect_line(h, p, &plane);
        release_line(p);
    }
    if (facts->has_ops) {
        uint64_t window_ps = last_ps ? (uint64_t)last_ps - (uint64_t)first_ps : 0;
        tbp_op_builder_close(&plane, window_ps, facts->semantics);
        tbp_op_builder_add(&h->ops, &plane);
    }
    tbp_op_builder_release(&plane);
}

static void add_job(struct host_pass *h, const struct plane_facts *facts,
                    const struct tbp_line *line, size_t from, size_t to) {
    struct line_pass *p = tbp_vec_push(&h->lines);
    *p = (struct line_pass){
        .facts = facts, .line = line, .from = from, .to = to, .first_ps = INT64_MAX};
    p->run.name = TBP_STR_NONE;
    tbp_arena_init(&p->arena);
    for (p->n_recent = 1; p->n_recent < RECENT_TEXTS && p->n_recent < to - from;)
        p->n_recent *= 2;
    p->recent = TBP_NEW_N(&p->arena, struct recent_text, p->n_recent);
}

/* Pieces of a line are united as lines are. Runs of XLA ops may not be cut, and each piece works
 * out anew what its events mean, so only a line that is longer than the share of a thread is cut.
 */
static void add_plane_lines(struct host_pass *h, const struct plane_facts *facts, size_t share) {
    const struct tbp_plane *plane = facts->decoder.plane;
    bool may_cut = !tbp_plane_has_stat(plane, TBP_STAT_HLO_OP);
    for (size_t i = 0; i < plane->n_lines; i++) {
        const struct tbp_line *line = &plane->lines[i];
        size_t n = line->ev.n, pieces = may_cut ? (n + share - 1) / share : 1;
        for (size_t k = 0; k < pieces && !line->is_derived; k++) {
            add_job(h, facts, line, n * k / pieces, n * (k + 1) / pieces);
        }
    }
}

static size_t share_of_thread(const struct plane_facts *facts, size_t n_planes,
                              const struct tbp_pool *pool) {
    enum { LEAST_EVENTS = 1 << 13 }; /* worth a job */
    size_t n = 0, n_threads = tbp_pool_threads(pool);
    for (size_t i = 0; i < n_planes; i++) {
        const struct tbp_plane *plane = facts[i].decoder.plane;
        for (size_t k = 0; k < plane->n_lines; k++) {
            n += plane->lines[k].is_derived ? 0 : plane->lines[k].ev.n;
        }
    }
    size_t share = (n + n_threads - 1) / n_threads;
    return share > LEAST_EVENTS ? share : LEAST_EVENTS;
}

static int pass_planes(struct host_pass *h, struct plane_facts *facts, size_t n_planes,
                       struct tbp_pool *pool, struct tbp_error *err) {
    size_t *end = TBP_NEW_N(h->out, size_t, n_planes);
    size_t share = share_of_thread(facts, n_planes, pool);
    for (size_t i = 0; i < n_planes; i++) {
        add_plane_lines(h, &facts[i], share);
        end[i] = h->lines.n;
    }
    int status = tbp_pool_for_sized(pool, h->lines.n, line_size, run_line, h->lines.at, err);
    for (size_t i = 0; i < n_planes; i++) {
        close_plane(h, i ? end[i - 1] : 0, end[i], &facts[i]);
    }
    return status;
}

static int gpu_pass_of_host(struct tbp_session *s, uint32_t host, struct tbp_arena *out,
                            void **table, struct tbp_error *err) {
    struct host_pass h = {.host = tbp_session_host(s, host, err), .out = out};
    const struct tbp_hlo_table *hlo = h.host ? tbp_hlo(s, host, err) : NULL;
    if (!hlo) {
        return tbp_cause(err, "while reading device events");
    }
    const struct tbp_plane **planes;
    bool are_tpu;
    size_t n_planes = tbp_device_planes(h.host, out, &planes, &are_tpu);
    struct plane_facts *facts = TBP_NEW_N(out, struct plane_facts, n_planes);
    for (size_t i = 0; i < n_planes; i++) {
        struct tbp_device_caps caps;
        facts[i] = (struct plane_facts){.hlo = hlo,
                                        .semantics = tbp_session_semantics(s),
                                        .has_ops = !are_tpu && h.host->wanted != TBP_WANTED_KERNELS,
                                        .tensor_core = TBP_NEW_N(out, uint8_t, planes[i]->n_metas)};
        tbp_device_caps_read(&caps, planes[i], facts[i].semantics);
        facts[i].vendor = caps.vendor;
        tbp_gpu_decoder_init(&facts[i].decoder, planes[i], facts[i].semantics, out);
    }
    int status = pass_planes(&h, facts, n_planes, tbp_session_pool(s), err);
    if (status == TBP_OK && are_tpu) {
        status = tbp_tpu_ops_add(h.host, out, &h.ops, err);
    }
    struct tbp_gpu_pass *pass = TBP_NEW(out, struct tbp_gpu_pass);
    pass->kernels = tbp_kernel_table_make(h.kernels.at, h.kernels.n, true, out);
    pass->ops = tbp_op_builder_finish(&h.ops, out);
    tbp_vec_release(&h.kernels);
    tbp_vec_release(&h.lines);
    *table = pass;
    return status;
}

const struct tbp_analysis tbp_analysis_gpu_pass = {
    .name = "device_events",
    .help = "the pass over device events that device ops and kernels come from",
    .counts = true,
    .host = gpu_pass_of_host,
};

const struct tbp_gpu_pass *tbp_gpu_pass(struct tbp_session *s, uint32_t host,
                                        struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_gpu_pass, host, err);
}
