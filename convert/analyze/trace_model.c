/* SPDX-License-Identifier: Apache-2.0
 *
 * Which processes, threads and names the trace viewers show of a host; see trace_model.h.
 */
#include "convert/analyze/trace_model.h"

#include "base/sort.h"
#include "schemas/xplane_fields.h"

#include <string.h>

enum {
    FIRST_DEVICE_PID = 1,
    LAST_DEVICE_PID = 500,
    FIRST_CUSTOM_PID = 501,
    HOST_PID = 701,
    HOST_PID_OLD = 501
};

struct build {
    struct tbp_host *host;
    struct tbp_arena *arena;
    enum tbp_trace_view view;
    enum tbp_semantics semantics;
    struct tbp_derived derived;
    struct tbp_trace *out;
};

/* ---- keys ---- */

static uint8_t what_of(struct tbp_str name) {
    static const struct {
        const char *name;
        enum tbp_trace_what what;
    } special[] = {{"group_id", TBP_TRACE_GROUP_ID},
                   {"is_eager", TBP_TRACE_IS_EAGER},
                   {"step_name", TBP_TRACE_STEP_NAME},
                   {"flow", TBP_TRACE_FLOW},
                   {"_a", TBP_TRACE_ASYNC},
                   {"long_name", TBP_TRACE_LONG_NAME},
                   {"hlo_text", TBP_TRACE_HLO_TEXT},
                   {"run_id", TBP_TRACE_RUN_ID},
                   {"correlation_id", TBP_TRACE_CORRELATION},
                   {"kernel_details", TBP_TRACE_KERNEL_DETAILS},
                   {"_pt", TBP_TRACE_HIDDEN},
                   {"_p", TBP_TRACE_HIDDEN},
                   {"_ct", TBP_TRACE_HIDDEN},
                   {"_c", TBP_TRACE_HIDDEN},
                   {"_r", TBP_TRACE_HIDDEN},
                   {"flops", TBP_TRACE_HIDDEN},
                   {"program_id", TBP_TRACE_HIDDEN},
                   {"symbol_id", TBP_TRACE_HIDDEN}};
    for (size_t i = 0; name.n <= 14 && i < sizeof special / sizeof *special; i++)
        if (tbp_str_is(name, special[i].name))
            return (uint8_t)special[i].what;
    return TBP_TRACE_ORDINARY;
}

static void set_key(struct tbp_trace_key *k, struct tbp_str name) {
    k->name = name;
    k->prefix = 0;
    for (size_t i = 0; i < 8; i++)
        k->prefix = k->prefix << 8 | (i < name.n ? (uint8_t)name.p[i] : 0);
    k->what = what_of(name);
}

/* Old names of NVIDIA planes, told by their new ones (repair): stat `level 0` is tf_op, `shm:`
 * static shared memory. */
static void repair_key(const struct build *b, const struct tbp_plane *p,
                       const struct tbp_stat_meta *m, struct tbp_trace_key *k) {
    if (m->key == TBP_STAT_LEVEL_0 && !tbp_plane_has_stat(p, TBP_STAT_TF_OP))
        set_key(k, TBP_STR("tf_op"));
    if (!tbp_str_has(m->name, "shm:"))
        return;
    char *text = TBP_NEW_N(b->arena, char, m->name.n * 8 + 64);
    k->name = (struct tbp_str){text, tbp_trace_repaired_details(m->name, text)};
}

static void build_keys(const struct build *b, struct tbp_trace_plane *out) {
    const struct tbp_plane *p = out->plane;
    out->made_keys = (uint32_t)p->n_stat_metas;
    out->long_name = out->made_keys + TBP_MADE_KEYS;
    out->n_keys = out->long_name + 1;
    out->keys = TBP_NEW_N(b->arena, struct tbp_trace_key, out->n_keys);
    for (size_t i = 0; i < p->n_stat_metas; i++) {
        struct tbp_trace_key *k = &out->keys[i];
        set_key(k, p->stat_metas[i].name);
        if (out->repairs_details)
            repair_key(b, p, &p->stat_metas[i], k);
        bool was_internal =
            k->what == TBP_TRACE_KERNEL_DETAILS || p->stat_metas[i].key == TBP_STAT_LEVEL_0;
        if (b->semantics == TBP_SEMANTICS_TF && was_internal)
            k->what = TBP_TRACE_HIDDEN;
    }
    for (int i = 0; i < TBP_MADE_KEYS; i++)
        set_key(&out->keys[out->made_keys + (uint32_t)i], tbp_made_key_text((enum tbp_made_key)i));
    set_key(&out->keys[out->long_name], TBP_STR("long_name"));
}

/* ---- metadata ---- */

static bool is_hidden_kind(enum tbp_event_kind kind) {
    switch (kind) {
    case TBP_EVENT_MEMORY_ALLOCATION:
    case TBP_EVENT_MEMORY_DEALLOCATION:
    case TBP_EVENT_PREFETCH_PRODUCE:
    case TBP_EVENT_PREFETCH_CONSUME:
    case TBP_EVENT_INTERLEAVE_PRODUCE:
    case TBP_EVENT_INTERLEAVE_CONSUME:
    case TBP_EVENT_INTERLEAVE_INIT:
    case TBP_EVENT_MAP_PRODUCE:
    case TBP_EVENT_MAP_CONSUME:
    case TBP_EVENT_MAP_BATCH_PRODUCE:
    case TBP_EVENT_MAP_BATCH_CONSUME:
    case TBP_EVENT_PARSE_PRODUCE:
    case TBP_EVENT_PARSE_CONSUME:
        return true;
    default:
        return false;
    }
}

static void build_meta_args(const struct build *b, const struct tbp_trace_plane *p,
                            const struct tbp_meta *m, struct tbp_trace_meta *out) {
    if (!m->has_stats)
        return;
    TBP_VEC(struct tbp_trace_arg) args = {0};
    struct tbp_wire w = tbp_wire_of(m->wire.p, m->wire.n);
    struct tbp_wire_field f;
    while (tbp_wire_next(&w, &f) > 0) {
        struct tbp_trace_arg *a = tbp_vec_push(&args);
        bool take = f.number == TBP_XEVENTMETA_STATS && f.type == TBP_WIRE_BYTES &&
                    tbp_trace_decode(p, f.bytes, a);
        enum tbp_trace_what what =
            take ? (enum tbp_trace_what)p->keys[a->key].what : TBP_TRACE_HIDDEN;
        if (what == TBP_TRACE_HIDDEN || a->type == TBP_STAT_NONE) {
            args.n--;
            continue;
        }
        out->has_special |= what == TBP_TRACE_GROUP_ID || what == TBP_TRACE_FLOW ||
                            what == TBP_TRACE_ASYNC || what == TBP_TRACE_STEP_NAME;
    }
    struct tbp_trace_arg *kept = TBP_NEW_N(b->arena, struct tbp_trace_arg, args.n);
    if (args.n)
        memcpy(kept, args.at, args.n * sizeof *kept);
    out->args = kept;
    out->n_args = (uint32_t)args.n;
    tbp_vec_release(&args);
}

static void build_metas(const struct build *b, const struct tbp_derived_plane *d,
                        struct tbp_trace_plane *out) {
    const struct tbp_plane *p = out->plane;
    out->metas = TBP_NEW_N(b->arena, struct tbp_trace_meta, p->n_metas);
    for (size_t i = 0; i < p->n_metas; i++) {
        struct tbp_str display =
            d && d->displays && d->displays[i].n ? d->displays[i] : p->metas[i].display;
        struct tbp_trace_meta *m = &out->metas[i];
        m->full_name = p->metas[i].name;
        m->has_long_name = display.n > 0;
        m->name = display.n ? display : m->full_name;
        m->is_hidden = is_hidden_kind(p->metas[i].kind);
        build_meta_args(b, out, &p->metas[i], m);
    }
    if (!d)
        return;
    out->n_made_metas = d->n_metas;
    out->made_metas = TBP_NEW_N(b->arena, struct tbp_trace_meta, d->n_metas);
    for (size_t i = 0; i < d->n_metas; i++) {
        const struct tbp_made_meta *made = &d->metas[i];
        struct tbp_trace_meta *m = &out->made_metas[i];
        if (made->file)
            *m = out->metas[made->file - p->metas];
        m->full_name = made->name;
        m->has_long_name = made->display.n > 0;
        m->name = made->display.n ? made->display : made->name;
        m->is_hidden = is_hidden_kind(tbp_event_kind_of(made->name));
    }
}

/* ---- lines ---- */

static void add_line(struct build *b, struct tbp_trace_plane *p, const struct tbp_line *l,
                     int64_t display_id, struct tbp_trace_line made) {
    made.plane = p;
    made.line = l;
    made.tid = (uint32_t)(display_id ? display_id : l->id);
    bool by_order = b->semantics == TBP_SEMANTICS_TF && tbp_is_host_plane(p->plane->name);
    made.sort_index = by_order ? (uint32_t)p->n_lines + 1 : made.tid;
    p->lines[p->n_lines++] = made;
}

static void build_lines(struct build *b, const struct tbp_derived_plane *d,
                        struct tbp_trace_plane *out) {
    const struct tbp_plane *p = out->plane;
    out->lines = TBP_NEW_N(b->arena, struct tbp_trace_line, p->n_lines + (d ? d->n_lines : 0));
    for (size_t i = 0; i < p->n_lines; i++) {
        const struct tbp_line *l = &p->lines[i];
        const struct tbp_taken_line *taken =
            d && d->taken && d->taken[i].name.n ? &d->taken[i] : NULL;
        if (d && d->drops_empty_lines && l->ev.n == 0)
            continue;
        if (out->as_in_file && l->is_derived && l->ev.n && (l->ev.flags[0] & TBP_EVENT_MADE))
            continue;
        struct tbp_str name = taken ? taken->name : l->name;
        struct tbp_trace_line made = {.metas = out->metas,
                                      .name = l->display_name.n ? l->display_name : name,
                                      .shift_ps = taken ? taken->shift_ps : 0};
        add_line(b, out, l, d && d->display_ids ? d->display_ids[i] : l->display_id, made);
    }
    for (size_t i = 0; d && i < d->n_lines; i++) {
        struct tbp_trace_line made = {
            .made = &d->lines[i], .metas = out->made_metas, .name = d->lines[i].line.name};
        add_line(b, out, &d->lines[i].line, d->lines[i].line.display_id, made);
    }
}

/* ---- planes ---- */

static uint64_t host_salt(const struct tbp_host *h) {
    return h->n_hostnames ? tbp_str_hash(h->hostnames[0]) : 0;
}

static void add_plane(struct build *b, const struct tbp_plane *p, uint32_t pid) {
    struct tbp_trace_plane *out = &b->out->planes[b->out->n_planes++];
    const bool computed = !b->host->was_grouped && b->semantics != TBP_SEMANTICS_TF;
    const struct tbp_derived_plane *d = computed ? &b->derived.planes[p->index] : NULL;
    out->plane = p;
    out->pid = pid;
    out->name = p->name;
    out->links = tbp_link_rules_of(p, !computed);
    out->host_hash = host_salt(b->host);
    out->makes_flows = computed;
    out->is_device = tbp_is_device_plane(p->name);
    out->repairs_details = b->semantics == TBP_SEMANTICS_REPAIR && tbp_is_gpu_plane(p->name);
    out->as_in_file = b->semantics == TBP_SEMANTICS_TF && !b->host->was_grouped;
    build_keys(b, out);
    build_metas(b, d, out);
    build_lines(b, d, out);
}

static size_t add_devices(struct build *b, bool (*is_kind)(struct tbp_str name), bool in_range) {
    size_t n = 0;
    for (size_t i = 0; i < b->host->n_planes; i++) {
        const struct tbp_plane *p = &b->host->planes[i];
        if (!is_kind(p->name))
            continue;
        uint32_t pid = FIRST_DEVICE_PID + (uint32_t)p->id;
        add_plane(b, p, in_range && pid > LAST_DEVICE_PID ? FIRST_DEVICE_PID : pid);
        n++;
    }
    return n;
}

static int by_name(const void *x, const void *y, void *ctx) {
    (void)ctx;
    return tbp_str_cmp((*(const struct tbp_plane *const *)x)->name,
                       (*(const struct tbp_plane *const *)y)->name);
}

/* Host planes by name. */
static size_t host_planes(const struct build *b, const struct tbp_plane **out) {
    size_t n = 0;
    for (size_t i = 0; i < b->host->n_planes; i++)
        if (tbp_str_starts(b->host->planes[i].name, TBP_HOST_PLANE))
            out[n++] = &b->host->planes[i];
    tbp_sort(out, n, sizeof *out, by_name, NULL);
    return n;
}

static void add_static_planes(struct build *b) {
    const struct tbp_plane **hosts =
        TBP_NEW_N(b->arena, const struct tbp_plane *, b->host->n_planes);
    const struct tbp_plane *first = tbp_host_plane(b->host, TBP_HOST_PLANE);
    const bool old = b->semantics == TBP_SEMANTICS_TF && b->host->was_grouped;
    const uint32_t pid = old ? HOST_PID_OLD : HOST_PID;
    size_t n = b->semantics == TBP_SEMANTICS_REPAIR ? host_planes(b, hosts) : 0;
    if (first)
        add_plane(b, first, pid);
    for (size_t i = 0, k = first ? 1 : 0; i < n; i++) {
        if (hosts[i] == first)
            continue;
        add_plane(b, hosts[i], pid + (uint32_t)k++);
    }
    if (!add_devices(b, tbp_is_gpu_plane, false) && !add_devices(b, tbp_is_tpu_plane, false))
        add_devices(b, tbp_is_custom_plane, false);
}

static void add_stream_planes(struct build *b) {
    const struct tbp_plane **hosts =
        TBP_NEW_N(b->arena, const struct tbp_plane *, b->host->n_planes);
    size_t n = host_planes(b, hosts);
    for (size_t i = 0; i < n; i++)
        add_plane(b, hosts[i], HOST_PID + (uint32_t)i);
    if (!add_devices(b, tbp_is_gpu_plane, true))
        add_devices(b, tbp_is_tpu_plane, true);
    for (size_t i = 0; i < b->host->n_planes; i++)
        if (tbp_is_custom_plane(b->host->planes[i].name))
            add_plane(b, &b->host->planes[i], FIRST_CUSTOM_PID + (uint32_t)b->host->planes[i].id);
}

int tbp_trace_build(struct tbp_session *s, uint32_t host, enum tbp_trace_view view,
                    struct tbp_arena *a, struct tbp_trace *out, struct tbp_error *err) {
    struct build b = {.arena = a, .view = view, .semantics = tbp_session_semantics(s), .out = out};
    b.host = tbp_session_host(s, host, err);
    if (!b.host)
        return tbp_cause(err, "while building the trace view");
    if (b.semantics != TBP_SEMANTICS_TF && tbp_derive_lines(s, host, a, &b.derived, err))
        return err ? err->code : TBP_E_INTERNAL;
    *out = (struct tbp_trace){.host = b.host};
    out->planes = TBP_NEW_N(a, struct tbp_trace_plane, b.host->n_planes);
    if (view == TBP_TRACE_STATIC)
        add_static_planes(&b);
    else
        add_stream_planes(&b);
    return TBP_OK;
}
