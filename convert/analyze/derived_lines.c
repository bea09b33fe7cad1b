/* SPDX-License-Identifier: Apache-2.0
 *
 * Derivation of lines, host level: which planes, scope parents, launch statistics; see
 * derived_lines.h. The planes themselves are done by derived_gpu.c and derived_tpu.c.
 */
#include "convert/analyze/derived_lines.h"

#include "convert/analyze/derived_plane.h"
#include "schemas/xplane_fields.h"

/* ---- scopes ---- */

/* A stat of the scope plane: its metadata id is the scope, its value the parent scope. */
static void read_scopes(const struct tbp_host *h, struct tbp_scopes *out) {
    const struct tbp_plane *p = tbp_host_plane(h, TBP_SCOPE_PLANE);
    for (size_t i = 0; p && i < p->n_stats; i++) {
        struct tbp_wire w = tbp_wire_of(p->stats[i].p, p->stats[i].n);
        struct tbp_wire_field f;
        uint64_t scope = 0;
        int64_t parent = 0;
        while (tbp_wire_next(&w, &f) > 0) {
            if (f.number == TBP_XSTAT_METADATA_ID && f.type == TBP_WIRE_VARINT)
                scope = f.value;
            else if (f.number >= TBP_XSTAT_DOUBLE && f.number <= TBP_XSTAT_REF)
                parent =
                    f.number == TBP_XSTAT_INT64 && f.type == TBP_WIRE_VARINT ? (int64_t)f.value : 0;
        }
        bool is_new;
        uint32_t *slot = tbp_idmap_put(&out->index, scope, &is_new);
        if (!is_new)
            continue;
        *slot = (uint32_t)out->parents.n;
        *tbp_vec_push(&out->parents) = parent;
    }
}

/* ---- launch statistics: host events that launch device work, per device and group ---- */

struct launches {
    int64_t group;
    uint64_t begin_ps, end_ps, count;
    int64_t longest_ps, total_ps;
};
struct device_launches {
    struct tbp_idmap index; /* group -> at */
    TBP_VEC(struct launches) at;
};

static bool launch_device(const struct tbp_line *l, size_t i, uint64_t *device) {
    const uint32_t need = TBP_HAS_DEVICE_ID | TBP_HAS_CORRELATION;
    if ((l->ev.has[i] & need) != need || tbp_str_starts(tbp_event_name(l, i), "cu"))
        return false;
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    bool found = false;
    for (struct tbp_stat st; tbp_stat_next(&it, &st);)
        if (st.meta->key == TBP_STAT_DEVICE_ID) {
            *device = tbp_stat_iu(&st);
            found = true;
        }
    return found;
}

static void count_launch(struct device_launches *d, const struct tbp_line *l, size_t i,
                         int64_t group) {
    bool is_new;
    uint32_t *slot = tbp_idmap_put(&d->index, (uint64_t)group, &is_new);
    uint64_t begin = l->ev.start_ps[i], end = tbp_event_end(l, i);
    int64_t dur = (int64_t)l->ev.dur_ps[i];
    if (is_new) {
        *slot = (uint32_t)d->at.n;
        *tbp_vec_push(&d->at) = (struct launches){.group = group, .begin_ps = begin, .end_ps = end};
    }
    struct launches *x = &d->at.at[*slot];
    bool is_nothing = !x->begin_ps && !x->end_ps; /* an instant at time 0 is replaced */
    if (is_nothing || (int64_t)begin < (int64_t)x->begin_ps)
        x->begin_ps = begin;
    if ((int64_t)end > (int64_t)x->end_ps)
        x->end_ps = end;
    if (dur > x->longest_ps)
        x->longest_ps = dur;
    x->count++;
    x->total_ps = (int64_t)((uint64_t)x->total_ps + (uint64_t)dur);
}

static void collect_launches(const struct tbp_plane *host, struct device_launches *devices,
                             size_t n_devices) {
    for (size_t k = 0; k < host->n_lines; k++) {
        const struct tbp_line *l = &host->lines[k];
        for (size_t i = 0; !l->is_derived && i < l->ev.n; i++) {
            uint64_t device = 0;
            int64_t group;
            if (launch_device(l, i, &device) && device < n_devices && tbp_event_group(l, i, &group))
                count_launch(&devices[device], l, i, group);
        }
    }
}

static struct tbp_made_stat made_double(enum tbp_made_key key, double v) {
    return (struct tbp_made_stat){.key = key, .type = TBP_STAT_DOUBLE, .d = v};
}

static void launch_line(const struct tbp_host *h, struct tbp_derive_plane *d,
                        const struct device_launches *launches) {
    if (launches->at.n == 0)
        return;
    struct tbp_grow g;
    tbp_grow_init(&g, true, tbp_line_id(TBP_LINE_LAUNCH), TBP_STR("Launch Stats"));
    for (size_t i = 0; i < launches->at.n; i++) {
        const struct launches *x = &launches->at.at[i];
        struct tbp_str name;
        if (!tbp_host_group_name(h, x->group, &name))
            continue;
        struct tbp_str text = tbp_arena_cat(d->arena, TBP_STR("Launch Stats for "), name);
        struct tbp_grow_span span = {x->begin_ps, x->end_ps, true, x->group};
        tbp_grow_add(&g, tbp_made_metas_ensure(&d->metas, text, TBP_STR_NONE), &span,
                     (struct tbp_grow_scope){0}, 0);
        struct tbp_grow_event *e = tbp_grow_last(&g, 0);
        tbp_grow_stat(&g, e,
                      (struct tbp_made_stat){
                          TBP_MADE_NUM_LAUNCHES, TBP_STAT_INT64, {.i = (int64_t)x->count}});
        tbp_grow_stat(&g, e, made_double(TBP_MADE_MAX_LAUNCH_TIME, (double)x->longest_ps / 1e6));
        tbp_grow_stat(
            &g, e,
            made_double(TBP_MADE_AVG_LAUNCH_TIME, (double)(x->total_ps / (int64_t)x->count) / 1e6));
    }
    tbp_derive_plane_take(d, &g, 0);
}

static void launch_lines(const struct tbp_host *h, struct tbp_derive_plane *gpus, size_t n_gpus) {
    const struct tbp_plane *host = tbp_host_plane(h, TBP_HOST_PLANE);
    if (!host || n_gpus == 0 || !tbp_plane_has_stat(host, TBP_STAT_DEVICE_ID))
        return;
    struct device_launches *launches = TBP_NEW_N(gpus->arena, struct device_launches, n_gpus);
    collect_launches(host, launches, n_gpus);
    for (size_t i = 0; i < n_gpus; i++) {
        launch_line(h, &gpus[i], &launches[i]);
        tbp_idmap_release(&launches[i].index);
        tbp_vec_release(&launches[i].at);
    }
}

/* ---- host ---- */

static void derive_gpus(struct tbp_host *h, const struct tbp_hlo_table *hlo, bool repairs,
                        struct tbp_arena *a, struct tbp_derived *out) {
    struct tbp_derive_plane *gpus = TBP_NEW_N(a, struct tbp_derive_plane, h->n_planes);
    struct tbp_scopes scopes = {0};
    size_t n = 0;
    read_scopes(h, &scopes);
    for (size_t i = 0; i < h->n_planes; i++) {
        if (!tbp_is_gpu_plane(h->planes[i].name))
            continue;
        tbp_derive_plane_init(&gpus[n], a, &h->planes[i], &out->planes[i]);
        gpus[n].repairs = repairs;
        tbp_derive_gpu(&gpus[n++], hlo, &scopes);
    }
    launch_lines(h, gpus, n);
    for (size_t i = 0; i < n; i++)
        tbp_derive_plane_finish(&gpus[i]);
    tbp_idmap_release(&scopes.index);
    tbp_vec_release(&scopes.parents);
}

int tbp_derive_lines(struct tbp_session *s, uint32_t host, struct tbp_arena *a,
                     struct tbp_derived *out, struct tbp_error *err) {
    struct tbp_host *h = tbp_session_host(s, host, err);
    if (!h)
        return tbp_cause(err, "while deriving lines");
    out->planes = TBP_NEW_N(a, struct tbp_derived_plane, h->n_planes);
    if (h->was_grouped)
        return TBP_OK;
    bool has_gpu = false;
    for (size_t i = 0; i < h->n_planes; i++)
        has_gpu = has_gpu || tbp_is_gpu_plane(h->planes[i].name);
    if (has_gpu) {
        const struct tbp_hlo_table *hlo = tbp_hlo(s, host, err);
        if (!hlo)
            return tbp_cause(err, "while deriving lines");
        derive_gpus(h, hlo, tbp_session_semantics(s) == TBP_SEMANTICS_REPAIR, a, out);
    }
    for (size_t i = 0; i < h->n_planes; i++) {
        int64_t ordinal;
        if (!tbp_is_tensor_core_plane(h->planes[i].name, &ordinal))
            continue;
        struct tbp_derive_plane d;
        tbp_derive_plane_init(&d, a, &h->planes[i], &out->planes[i]);
        tbp_derive_tpu(&d);
        tbp_derive_plane_finish(&d);
    }
    return TBP_OK;
}
