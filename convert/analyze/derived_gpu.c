/* SPDX-License-Identifier: Apache-2.0
 *
 * Derived lines of a GPU plane: per stream, what its kernels belong to. Rules 2.6 c-e of the trace
 * views. What a kernel is called on each line depends on few texts only; it is worked out once per
 * combination of them (struct kernel_names), so that the walk over the kernels only merges spans.
 */
#include "base/sort.h"
#include "convert/analyze/derived_plane.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Streams beyond these get no derived lines and keep their ids. */
enum { STREAMS_MAX = 16, IDS_PER_STREAM = 7 };

/* Facts of one kernel event; texts are "" if absent. */
struct kernel {
    struct tbp_str details, module, hlo_op, tf_op;
    uint64_t program, graph, correlation;
    int64_t scope;
    bool has_hlo_op, has_program, has_graph_exec, has_correlation, has_scope;
};

struct kernel_names {
    uint32_t module;  /* TBP_MAP_NONE: no module */
    uint32_t n_parts; /* 0: no HLO op */
    uint32_t *parts;
    bool has_op;
    struct tbp_framework_op op;
    uint32_t source; /* TBP_MAP_NONE: unknown */
};

struct names_key { /* compared as bytes: no padding */
    uint64_t program;
    uint32_t has_program, module, hlo_op, tf_op;
};

struct gpu_walk {
    struct tbp_derive_plane *d;
    const struct tbp_hlo_table *hlo;
    const struct tbp_scopes *scopes;
    struct tbp_strtab texts; /* numbers for names_key */
    struct tbp_strtab keys;  /* names_key -> names */
    TBP_VEC(struct kernel_names) names;
    struct tbp_grow ops, name_scope, xla_ops, buffers, modules, source;
};

static void read_kernel(const struct tbp_derive_plane *d, const struct tbp_line *l, size_t i,
                        struct kernel *k) {
    struct tbp_str level_0 = TBP_STR_NONE;
    *k = (struct kernel){.details = TBP_STR_NONE,
                         .module = TBP_STR_NONE,
                         .hlo_op = TBP_STR_NONE,
                         .tf_op = TBP_STR_NONE};
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
        switch (st.meta->key) {
        case TBP_STAT_TF_OP:
            k->tf_op = tbp_stat_s(&st);
            break;
        case TBP_STAT_LEVEL_0:
            level_0 = tbp_stat_s(&st);
            break;
        case TBP_STAT_HLO_OP:
            k->hlo_op = tbp_stat_s(&st);
            k->has_hlo_op = true;
            break;
        case TBP_STAT_HLO_MODULE:
            k->module = tbp_stat_s(&st);
            break;
        case TBP_STAT_PROGRAM_ID:
            k->program = tbp_stat_iu(&st);
            k->has_program = true;
            break;
        case TBP_STAT_KERNEL_DETAILS:
            k->details = tbp_stat_s(&st);
            break;
        case TBP_STAT_CUDA_GRAPH_EXEC_ID:
            k->has_graph_exec = true;
            break;
        case TBP_STAT_CUDA_GRAPH_ID:
            k->graph = tbp_stat_u(&st);
            break;
        case TBP_STAT_CORRELATION_ID:
            k->correlation = tbp_stat_iu(&st);
            k->has_correlation = true;
            break;
        case TBP_STAT_SCOPE_RANGE_ID:
            k->scope = tbp_stat_i(&st);
            k->has_scope = true;
            break;
        default:
            break;
        }
    }
    if (d->repairs && k->tf_op.n == 0)
        k->tf_op = level_0;
}

/* ---- names ---- */

static struct tbp_str numbered(struct tbp_arena *a, struct tbp_str text, const char *open,
                               uint64_t v, const char *close) {
    char number[32];
    int n = snprintf(number, sizeof number, "%s%" PRIu64 "%s", open, v, close);
    return tbp_arena_cat(a, text, (struct tbp_str){number, (size_t)n});
}

static void name_parts(struct gpu_walk *w, const struct kernel *k, struct kernel_names *n,
                       struct tbp_str *last) {
    struct tbp_arena *a = w->d->arena;
    struct tbp_str prefix = k->has_program ? numbered(a, TBP_STR_NONE, "", k->program, "/")
                                           : tbp_arena_cat(a, k->module, TBP_STR("/"));
    uint32_t parts[TBP_DERIVED_LEVELS_MAX];
    struct tbp_str rest = k->hlo_op;
    for (bool more = true; more && n->n_parts < TBP_DERIVED_LEVELS_MAX;) {
        size_t cut = 0;
        while (cut + 1 < rest.n && (rest.p[cut] != ':' || rest.p[cut + 1] != ':'))
            cut++;
        more = cut + 1 < rest.n;
        *last = more ? tbp_str_sub(rest, 0, cut) : rest;
        struct tbp_str name = tbp_arena_cat(a, prefix, *last);
        parts[n->n_parts++] = tbp_made_metas_ensure(&w->d->metas, name, *last);
        if (more)
            rest = tbp_str_sub(rest, cut + 2, rest.n);
    }
    n->parts = TBP_NEW_N(a, uint32_t, n->n_parts);
    memcpy(n->parts, parts, n->n_parts * sizeof *parts);
}

static void name_op(struct gpu_walk *w, struct kernel_names *n, struct tbp_str text) {
    n->has_op = true;
    n->op = tbp_framework_op_of(w->d, text);
}

static void name_from_hlo(struct gpu_walk *w, const struct kernel *k, struct kernel_names *n,
                          struct tbp_str part) {
    const struct tbp_hlo_instruction *ins =
        k->has_program ? tbp_hlo_find(w->hlo, k->program, part) : NULL;
    if (!ins)
        return;
    struct tbp_arena *a = w->d->arena;
    name_op(w, n, tbp_arena_cat(a, tbp_arena_cat(a, ins->op_name, TBP_STR(":")), ins->op_type));
    if (ins->source_file.n == 0)
        return;
    struct tbp_str file = ins->source_file;
    size_t slash = tbp_str_rfind(file, '/');
    if (slash < file.n)
        file = tbp_str_sub(file, slash + 1, file.n);
    char *text = tbp_arena_printf(a, "%.*s:%" PRId64, (int)(file.n > 4096 ? 4096 : file.n), file.p,
                                  ins->source_line);
    n->source = tbp_made_metas_ensure(&w->d->metas, tbp_str_c(text), TBP_STR_NONE);
}

static struct kernel_names make_names(struct gpu_walk *w, const struct kernel *k) {
    struct kernel_names n = {.module = TBP_MAP_NONE, .source = TBP_MAP_NONE};
    struct tbp_arena *a = w->d->arena;
    if (k->module.n) {
        struct tbp_str text =
            k->has_program ? numbered(a, k->module, "(", k->program, ")") : k->module;
        n.module = tbp_made_metas_ensure(&w->d->metas, text, TBP_STR_NONE);
    }
    if (k->has_hlo_op) {
        struct tbp_str last = TBP_STR_NONE;
        name_parts(w, k, &n, &last);
        name_from_hlo(w, k, &n, last);
    } else if (k->tf_op.n) {
        name_op(w, &n, k->tf_op);
    }
    return n;
}

static uint32_t names_of(struct gpu_walk *w, const struct kernel *k) {
    struct names_key key = {.program = k->has_program ? k->program : 0,
                            .has_program = k->has_program,
                            .module = tbp_strtab_put(&w->texts, k->module),
                            .hlo_op =
                                k->has_hlo_op ? tbp_strtab_put(&w->texts, k->hlo_op) : TBP_MAP_NONE,
                            .tf_op = k->has_hlo_op ? 0 : tbp_strtab_put(&w->texts, k->tf_op)};
    struct tbp_str view = {(const char *)&key, sizeof key};
    uint32_t i = tbp_strtab_get(&w->keys, view);
    if (i != TBP_MAP_NONE)
        return i;
    struct kernel_names made = make_names(w, k);
    i = tbp_strtab_put(&w->keys, tbp_arena_str(w->d->arena, view));
    *tbp_vec_push(&w->names) = made;
    return i;
}

/* ---- spans ---- */

/* Scope and its ancestors, innermost first; 0 if there are more than fit (or a cycle). */
static size_t scope_chain(const struct tbp_scopes *scopes, int64_t scope, int64_t *chain) {
    size_t n = 0;
    chain[n++] = scope;
    for (uint32_t i; (i = tbp_idmap_get(&scopes->index, (uint64_t)scope)) != TBP_MAP_NONE;) {
        if (n == TBP_DERIVED_LEVELS_MAX)
            return 0;
        chain[n++] = scope = scopes->parents.at[i];
    }
    return n;
}

static void graph_stats(struct tbp_grow *g, size_t level, const struct kernel *k) {
    struct tbp_grow_event *e = tbp_grow_last(g, level);
    tbp_grow_stat(g, e,
                  (struct tbp_made_stat){TBP_MADE_CUDA_GRAPH_ID, TBP_STAT_UINT64, {.u = k->graph}});
    if (k->has_correlation)
        tbp_grow_stat(g, e,
                      (struct tbp_made_stat){
                          TBP_MADE_CORRELATION_ID, TBP_STAT_INT64, {.i = (int64_t)k->correlation}});
}

static void add_buffer(struct gpu_walk *w, const struct kernel *k, const struct tbp_grow_span *s) {
    char text[48];
    int n = snprintf(text, sizeof text, "Command Buffer %" PRIu64, k->graph);
    uint32_t meta =
        tbp_made_metas_ensure(&w->d->metas, (struct tbp_str){text, (size_t)n}, TBP_STR_NONE);
    struct tbp_grow_scope launch = {k->has_correlation, (int64_t)k->correlation};
    tbp_grow_add(&w->buffers, meta, s, launch, 0);
    graph_stats(&w->buffers, 0, k);
}

static void add_xla_ops(struct gpu_walk *w, const struct kernel *k, const struct kernel_names *n,
                        const struct tbp_grow_span *s, const int64_t *chain, size_t n_chain) {
    struct tbp_grow_scope scopes[TBP_DERIVED_LEVELS_MAX];
    bool fits = n_chain == n->n_parts;
    for (size_t i = 0; fits && i < n_chain; i++)
        scopes[i] = (struct tbp_grow_scope){true, chain[n_chain - 1 - i]};
    tbp_grow_add_levels(&w->xla_ops, n->parts, n->n_parts, s, fits ? scopes : NULL);
    if (k->graph)
        graph_stats(&w->xla_ops, n->n_parts - 1, k);
}

static void add_kernel(struct gpu_walk *w, const struct tbp_line *l,
                       const struct tbp_derive_event *e) {
    struct kernel k;
    read_kernel(w->d, l, e->event, &k);
    if (k.details.n == 0 && !k.has_graph_exec)
        return;
    struct tbp_grow_span s = {.begin_ps = e->begin_ps, .end_ps = e->begin_ps + e->dur_ps};
    s.has_group = tbp_event_group(l, e->event, &s.group);
    uint32_t names = names_of(w, &k); /* may move the table */
    struct kernel_names n = w->names.at[names];
    int64_t chain[TBP_DERIVED_LEVELS_MAX];
    size_t n_chain =
        k.has_scope && (k.module.n || n.n_parts) ? scope_chain(w->scopes, k.scope, chain) : 0;
    if (n.module != TBP_MAP_NONE) {
        struct tbp_grow_scope outermost = {n_chain > 0, n_chain ? chain[n_chain - 1] : 0};
        tbp_grow_add(&w->modules, n.module, &s, outermost, 0);
    }
    if (n.n_parts)
        add_xla_ops(w, &k, &n, &s, chain, n_chain);
    if (n.has_op)
        tbp_framework_op_add(&n.op, &s, &w->name_scope, &w->ops);
    if (n.source != TBP_MAP_NONE)
        tbp_grow_add(&w->source, n.source, &s, (struct tbp_grow_scope){0}, 0);
    if (k.graph)
        add_buffer(w, &k, &s);
}

/* ---- streams ---- */

static void collect_kernels(const struct tbp_plane *p, int64_t id, struct tbp_derive_event **out,
                            size_t *n_out) {
    TBP_VEC(struct tbp_derive_event) found = {0};
    for (size_t k = 0; k < p->n_lines; k++) {
        const struct tbp_line *l = &p->lines[k];
        for (size_t i = 0; l->id == id && !l->is_derived && i < l->ev.n; i++)
            if (l->ev.has[i] & (TBP_HAS_KERNEL | TBP_HAS_GRAPH))
                *tbp_vec_push(&found) = (struct tbp_derive_event){
                    l->ev.start_ps[i], l->ev.dur_ps[i], (uint32_t)k, (uint32_t)i};
    }
    tbp_derive_sort(found.at, found.n);
    *out = found.at;
    *n_out = found.n;
}

static void init_line(struct gpu_walk *w, struct tbp_grow *g, int offset, const char *what,
                      const struct tbp_line *stream) {
    struct tbp_arena *a = w->d->arena;
    struct tbp_str name = stream->name;
    if (!w->d->repairs || !tbp_is_made_line(stream->id) || name.n == 0)
        name = tbp_str_c(tbp_arena_printf(a, "#%" PRId64, stream->id));
    name = tbp_arena_cat(a, tbp_str_c(tbp_arena_printf(a, "%s - from ", what)), name);
    tbp_grow_init(g, true, tbp_line_id(offset), name);
}

static void derive_stream(struct gpu_walk *w, const struct tbp_line *stream, int k) {
    const int base = TBP_LINE_STREAM_FIRST + 6 * k;
    init_line(w, &w->ops, base + 1, "Framework Ops", stream);
    init_line(w, &w->name_scope, base, "Framework Name Scope", stream);
    init_line(w, &w->xla_ops, base + 3, "XLA Ops", stream);
    init_line(w, &w->buffers, TBP_LINE_BUFFERS_FIRST + k, "Command Buffers", stream);
    init_line(w, &w->modules, base + 2, "XLA Modules", stream);
    init_line(w, &w->source, base + 5, "Source code", stream);
    w->name_scope.below[0] = &w->ops;
    w->modules.below[0] = &w->name_scope;
    w->modules.below[1] = &w->xla_ops;
    w->modules.below[2] = &w->buffers;
    struct tbp_derive_event *events;
    size_t n;
    collect_kernels(w->d->plane, stream->id, &events, &n);
    for (size_t i = 0; i < n; i++)
        add_kernel(w, &w->d->plane->lines[events[i].line], &events[i]);
    tbp_vec_free_bytes(events);
    const int64_t first = IDS_PER_STREAM * (int64_t)k + 1;
    tbp_derive_plane_take(w->d, &w->name_scope, first + 1);
    tbp_derive_plane_take(w->d, &w->ops, first + 2);
    tbp_derive_plane_take(w->d, &w->modules, first + 3);
    tbp_derive_plane_take(w->d, &w->xla_ops, first + 4);
    tbp_derive_plane_take(w->d, &w->source, first + 5);
    tbp_derive_plane_take(w->d, &w->buffers, first + 6);
}

struct stream {
    uint32_t line;
    bool is_compute; /* some line with this id says so */
    size_t n_events;
};

static int busiest_compute_first(const void *x, const void *y, void *ctx) {
    const struct stream *a = x, *b = y;
    (void)ctx;
    if (a->is_compute != b->is_compute)
        return a->is_compute ? -1 : 1;
    return a->n_events > b->n_events ? -1 : a->n_events < b->n_events;
}

/* Lines of the plane as streams, in their order; the first of them get derived lines. */
static size_t order_streams(const struct tbp_plane *p, struct stream *streams) {
    struct tbp_idmap compute = {0};
    size_t n = 0;
    for (size_t i = 0; i < p->n_lines; i++) {
        const struct tbp_line *l = &p->lines[i];
        if (l->is_derived)
            continue;
        bool is_new;
        uint32_t *is_compute = tbp_idmap_put(&compute, (uint64_t)l->id, &is_new);
        *is_compute = (!is_new && *is_compute) || tbp_str_has(l->name, "Compute");
        streams[n++] = (struct stream){.line = (uint32_t)i, .n_events = l->ev.n};
    }
    for (size_t k = 0; k < n; k++)
        streams[k].is_compute =
            tbp_idmap_get(&compute, (uint64_t)p->lines[streams[k].line].id) == 1;
    tbp_idmap_release(&compute);
    tbp_sort(streams, n, sizeof *streams, busiest_compute_first, NULL);
    return n < STREAMS_MAX ? n : STREAMS_MAX;
}

static void give_display_ids(struct tbp_derive_plane *d, const struct stream *streams, size_t n) {
    struct tbp_plane *p = d->plane;
    int64_t *ids = d->out->display_ids = TBP_NEW_N(d->arena, int64_t, p->n_lines);
    for (size_t i = 0; i < p->n_lines; i++) {
        const int64_t id = p->lines[i].id;
        ids[i] = p->lines[i].display_id;
        for (size_t k = 0; k < n; k++)
            if (p->lines[streams[k].line].id == id)
                ids[i] = IDS_PER_STREAM * (int64_t)k + 1;
        /* A line of the file that has the id of a derived line shares its place too. */
        for (size_t k = 0; d->out->taken && d->out->taken[i].name.n && k < d->lines.n; k++)
            if (d->lines.at[k].line.id == id)
                ids[i] = d->lines.at[k].line.display_id;
    }
}

void tbp_derive_gpu(struct tbp_derive_plane *d, const struct tbp_hlo_table *hlo,
                    const struct tbp_scopes *scopes) {
    struct tbp_plane *p = d->plane;
    struct stream *streams = TBP_NEW_N(d->arena, struct stream, p->n_lines);
    const size_t n = order_streams(p, streams);
    struct gpu_walk *w = TBP_NEW(d->arena, struct gpu_walk);
    w->d = d;
    w->hlo = hlo;
    w->scopes = scopes;
    for (size_t k = 0; k < n; k++)
        derive_stream(w, &p->lines[streams[k].line], (int)k);
    give_display_ids(d, streams, n);
    d->out->drops_empty_lines = true;
    tbp_strtab_release(&w->texts);
    tbp_strtab_release(&w->keys);
    tbp_vec_release(&w->names);
}
