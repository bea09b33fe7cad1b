/* SPDX-License-Identifier: Apache-2.0
 *
 * Gives a host the steps that the user asked for: former marks are renamed, marks put in, and what
 * begins and ends within a step on other threads is linked to it, as readers of foreign formats do
 * (read/trace_build.h). Lines that get a link are built anew: the option costs their bytes once.
 */
#include "convert/analyze/step_source.h"

#include "convert/model/builder.h"
#include "convert/model/line_order.h"

enum { OF_STEPS = 1 }; /* type of the links from steps to what belongs to them */

struct link_stats { /* indices of stat_metas */
    uint32_t number, root, producer_type, producer, consumer_type, consumer, correlation;
};

/* What an event is to a step: 0 nothing, else its step (from 1), and whether it is the mark. */
struct role {
    uint32_t step : 31, is_mark : 1;
};

struct applying {
    struct tbp_host *h;
    struct tbp_given_steps steps;
    struct tbp_idmap former;   /* links of marks that were there */
    struct tbp_idmap launches; /* correlation ids of the host */
    struct tbp_line_order order;
    struct role ***roles; /* of each plane, of each of its lines, of each of its events */
    struct tbp_arena scratch;
};

/* ---- what was ---- */

static bool link_of(const struct tbp_line *l, size_t i, enum tbp_stat_key type_key,
                    enum tbp_stat_key id_key, uint64_t *id) {
    struct tbp_stat type, st;
    if (!(l->ev.has[i] & TBP_HAS_LINK) || !tbp_event_stat(l, i, type_key, &type) ||
        !tbp_event_stat(l, i, id_key, &st) || tbp_stat_iu(&type) != OF_STEPS)
        return false;
    *id = tbp_stat_iu(&st);
    return true;
}

static void note_line(struct applying *a, const struct tbp_line *l) {
    for (size_t i = 0; i < l->ev.n; i++) {
        struct tbp_stat st;
        uint64_t id;
        if (l->ev.has[i] & TBP_HAS_STEP_NUM &&
            link_of(l, i, TBP_STAT_PRODUCER_TYPE, TBP_STAT_PRODUCER_ID, &id))
            *tbp_idmap_put(&a->former, id, NULL) = 1;
        if (l->ev.has[i] & TBP_HAS_CORRELATION &&
            tbp_event_stat(l, i, TBP_STAT_CORRELATION_ID, &st) && tbp_stat_iu(&st))
            *tbp_idmap_put(&a->launches, tbp_stat_iu(&st), NULL) = 1;
    }
}

/* Former marks and groups keep their stats, which now are called otherwise. */
static void forget_stats(struct tbp_plane *p) {
    static const enum tbp_stat_key keys[] = {TBP_STAT_GROUP_ID, TBP_STAT_STEP_NUM,
                                             TBP_STAT_STEP_NAME, TBP_STAT_IS_ROOT};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        for (size_t i = 1; i < p->n_stat_metas; i++) {
            struct tbp_stat_meta *m = &p->stat_metas[i];
            if (m->key != keys[k])
                continue;
            m->name = tbp_arena_cat(&p->host->arena, TBP_STR("former "), m->name);
            m->key = tbp_stat_key_of(m->name);
            m->has = 0;
        }
        p->has_stat_key[keys[k]] = 0;
    }
}

static void forget_line(struct tbp_line *l) {
    const uint32_t bits = TBP_HAS_GROUP | TBP_HAS_STEP_NUM | TBP_HAS_STEP_NAME | TBP_HAS_ROOT;
    if (l->is_derived && tbp_is_device_plane(l->plane->name) && tbp_str_is(l->name, "Steps"))
        l->ev.n = 0;
    for (size_t i = 0; i < l->ev.n; i++) {
        l->ev.has[i] &= ~bits;
        l->ev.group[i] = 0;
    }
}

/* ---- who belongs to which step ---- */

static bool is_linked_elsewhere(const struct applying *a, const struct tbp_line *l, size_t i) {
    struct tbp_stat st;
    uint64_t id;
    if (!(l->ev.has[i] & TBP_HAS_LINK) || !tbp_event_stat(l, i, TBP_STAT_CONSUMER_ID, &st))
        return false;
    return !link_of(l, i, TBP_STAT_CONSUMER_TYPE, TBP_STAT_CONSUMER_ID, &id) ||
           tbp_idmap_get(&a->former, id) == TBP_MAP_NONE;
}

/* The outermost events that end within the step they begin in; of those that go on, only what has
 * nothing nested in it that could stand for it. */
static bool find_inside(struct applying *a, const struct tbp_line *l, struct role *roles) {
    uint64_t done_ps = 0; /* what ends by then stands below an event that was taken */
    bool any = false;
    tbp_line_order_make(&a->order, l);
    for (size_t k = 0; k < l->ev.n; k++) {
        size_t i = tbp_line_order_at(&a->order, k);
        uint64_t start_ps = l->ev.start_ps[i], end_ps = tbp_event_end(l, i);
        size_t step = tbp_given_step_at(&a->steps, start_ps);
        if (roles[i].step || step == SIZE_MAX || (start_ps < done_ps && end_ps <= done_ps))
            continue;
        const struct tbp_given_step *s = &a->steps.list.at[step];
        bool fits = end_ps <= s->end_ps;
        bool has_nested =
            k + 1 < l->ev.n && l->ev.start_ps[tbp_line_order_at(&a->order, k + 1)] < end_ps;
        if (s->line == l || (!fits && has_nested))
            continue;
        if (fits)
            done_ps = end_ps > done_ps ? end_ps : done_ps;
        if (s->line && is_linked_elsewhere(a, l, i))
            continue;
        roles[i].step = (uint32_t)step + 1;
        any = true;
    }
    return any;
}

/* Work of a device whose launch the profile does not hold: by its own begin. */
static bool find_lone_work(struct applying *a, const struct tbp_line *l, struct role *roles) {
    bool any = false;
    for (size_t i = 0; i < l->ev.n; i++) {
        struct tbp_stat st;
        size_t step = tbp_given_step_at(&a->steps, l->ev.start_ps[i]);
        if (step == SIZE_MAX || (l->ev.has[i] & TBP_HAS_CORRELATION &&
                                 tbp_event_stat(l, i, TBP_STAT_CORRELATION_ID, &st) &&
                                 tbp_idmap_get(&a->launches, tbp_stat_iu(&st)) != TBP_MAP_NONE))
            continue;
        roles[i].step = (uint32_t)step + 1;
        any = true;
    }
    return any;
}

static bool is_aggregated(const struct tbp_line *l) {
    for (size_t i = 0; i < l->ev.n; i++)
        if (l->ev.has[i] & TBP_HAS_OCCURRENCES)
            return true;
    return false;
}

/* ---- building ---- */

static struct link_stats make_stats(struct tbp_plane *p) {
    return (struct link_stats){
        .number = tbp_plane_ensure_stat(p, tbp_stat_key_text(TBP_STAT_STEP_NUM)),
        .root = tbp_plane_ensure_stat(p, tbp_stat_key_text(TBP_STAT_IS_ROOT)),
        .producer_type = tbp_plane_ensure_stat(p, tbp_stat_key_text(TBP_STAT_PRODUCER_TYPE)),
        .producer = tbp_plane_ensure_stat(p, tbp_stat_key_text(TBP_STAT_PRODUCER_ID)),
        .consumer_type = tbp_plane_ensure_stat(p, tbp_stat_key_text(TBP_STAT_CONSUMER_TYPE)),
        .consumer = tbp_plane_ensure_stat(p, tbp_stat_key_text(TBP_STAT_CONSUMER_ID)),
        .correlation = tbp_plane_ensure_stat(p, tbp_stat_key_text(TBP_STAT_CORRELATION_ID)),
    };
}

static void put_mark(struct tbp_line_builder *b, const struct link_stats *s, int64_t number,
                     uint32_t step) {
    tbp_line_builder_stat_i64(b, s->number, number);
    tbp_line_builder_stat_i64(b, s->root, 1);
    tbp_line_builder_stat_i64(b, s->producer_type, OF_STEPS);
    tbp_line_builder_stat_i64(b, s->producer, step);
}

static bool is_link_key(enum tbp_stat_key key) {
    return key == TBP_STAT_PRODUCER_TYPE || key == TBP_STAT_PRODUCER_ID ||
           key == TBP_STAT_CONSUMER_TYPE || key == TBP_STAT_CONSUMER_ID;
}

/* Stats of an event without the links from former marks, which would say otherwise. */
static void copy_stats(struct tbp_line_builder *b, const struct tbp_line *l, size_t i,
                       bool without_links) {
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);)
        if (!without_links || !is_link_key(st.meta->key))
            tbp_line_builder_stat(b, &st);
}

static bool has_former_link(const struct applying *a, const struct tbp_line *l, size_t i) {
    uint64_t id;
    return (link_of(l, i, TBP_STAT_PRODUCER_TYPE, TBP_STAT_PRODUCER_ID, &id) ||
            link_of(l, i, TBP_STAT_CONSUMER_TYPE, TBP_STAT_CONSUMER_ID, &id)) &&
           tbp_idmap_get(&a->former, id) != TBP_MAP_NONE;
}

static void rebuild(struct applying *a, struct tbp_line *l, const struct role *roles,
                    const struct link_stats *s) {
    struct tbp_line_builder b;
    bool is_device = tbp_is_device_plane(l->plane->name);
    tbp_line_builder_init(&b, l->plane);
    b.keeps_bytes = true;
    for (size_t i = 0; i < l->ev.n; i++) {
        struct tbp_event_row *row =
            tbp_line_builder_event(&b, l->ev.start_ps[i], l->ev.dur_ps[i], l->ev.meta[i]);
        row->flags = l->ev.flags[i];
        copy_stats(&b, l, i, has_former_link(a, l, i));
        uint32_t step = roles[i].step;
        if (!step)
            continue;
        if (roles[i].is_mark) {
            put_mark(&b, s, a->steps.list.at[step - 1].number, step);
            continue;
        }
        tbp_line_builder_stat_i64(&b, s->consumer_type, OF_STEPS);
        tbp_line_builder_stat_i64(&b, s->consumer, step);
        /* steps count no device event without a correlation id: 0, which no launch has */
        if (is_device && !(l->ev.has[i] & TBP_HAS_CORRELATION))
            tbp_line_builder_stat_i64(&b, s->correlation, 0);
    }
    tbp_line_builder_finish(&b, l);
    l->is_rebuilt = true;
}

static struct role *roles_of(struct applying *a, const struct tbp_line *l) {
    struct role **of = &a->roles[l->plane->index][l - l->plane->lines];
    if (!*of)
        *of = TBP_NEW_N(&a->scratch, struct role, l->ev.n + 1);
    return *of;
}

static void note_marks(struct applying *a) {
    a->roles = TBP_NEW_N(&a->scratch, struct role **, a->h->n_planes + 1);
    for (size_t p = 0; p < a->h->n_planes; p++)
        a->roles[p] = TBP_NEW_N(&a->scratch, struct role *, a->h->planes[p].n_lines + 1);
    for (size_t i = 0; i < a->steps.list.n; i++) {
        const struct tbp_given_step *s = &a->steps.list.at[i];
        if (s->line)
            roles_of(a, s->line)[s->event] = (struct role){(uint32_t)i + 1, 1};
    }
}

static void link_plane(struct applying *a, struct tbp_plane *p, bool is_host) {
    struct link_stats stats = make_stats(p);
    for (size_t k = 0; k < p->n_lines; k++) {
        struct tbp_line *l = &p->lines[k];
        if (l->is_derived || tbp_str_is(l->name, "_counters_") || is_aggregated(l))
            continue;
        bool has_marks = a->roles[p->index][k] != NULL;
        struct role *roles = roles_of(a, l);
        bool any = is_host ? find_inside(a, l, roles) : find_lone_work(a, l, roles);
        if (any || has_marks)
            rebuild(a, l, roles, &stats);
    }
}

/* ---- marks that no event of the profile is ---- */

static struct tbp_plane *host_plane(struct tbp_host *h) {
    struct tbp_plane *there = tbp_host_plane(h, TBP_HOST_PLANE);
    return there ? there : tbp_host_add_plane(h, TBP_STR(TBP_HOST_PLANE));
}

static int64_t free_line_id(const struct tbp_plane *p) {
    struct tbp_idmap taken = {0};
    int64_t id = 1;
    for (size_t k = 0; k < p->n_lines; k++)
        *tbp_idmap_put(&taken, (uint64_t)p->lines[k].id, NULL) = 1;
    while (tbp_idmap_get(&taken, (uint64_t)id) != TBP_MAP_NONE)
        id++;
    tbp_idmap_release(&taken);
    return id;
}

static void add_marks(struct applying *a) {
    struct tbp_plane *p = host_plane(a->h);
    struct link_stats stats = make_stats(p);
    struct tbp_line_builder b;
    struct tbp_strtab names = {0};
    TBP_VEC(uint32_t) metas = {0};
    tbp_line_builder_init(&b, p);
    b.keeps_bytes = true;
    for (size_t i = 0; i < a->steps.list.n; i++) {
        const struct tbp_given_step *s = &a->steps.list.at[i];
        uint32_t name = tbp_strtab_put(&names, s->name);
        if (name == metas.n)
            *tbp_vec_push(&metas) = tbp_plane_add_meta(p, s->name);
        tbp_line_builder_event(&b, s->start_ps, s->end_ps - s->start_ps, metas.at[name])->flags = 0;
        put_mark(&b, &stats, s->number, (uint32_t)i + 1);
    }
    struct tbp_line *l =
        tbp_plane_add_line(p, free_line_id(p), TBP_STR("steps"), tbp_plane_start_ns(p));
    tbp_line_builder_finish(&b, l);
    l->is_rebuilt = true;
    tbp_vec_release(&metas);
    tbp_strtab_release(&names);
}

/* ---- the whole ---- */

static void tell(struct applying *a, const struct tbp_step_source *s) {
    struct tbp_host *h = a->h;
    const char *text =
        s->kind == TBP_STEPS_NONE ? "there are no steps, because --steps none asks for that"
        : a->steps.list.n
            ? tbp_arena_printf(&h->arena, "steps are those of --steps %.*s: %zu", (int)s->text.n,
                               s->text.p, a->steps.list.n)
            : tbp_arena_printf(&h->arena, "--steps %.*s finds nothing in this profile: no steps",
                               (int)s->text.n, s->text.p);
    tbp_host_add_text(h, &h->warnings, &h->n_warnings, tbp_str_c(text));
}

/* Device events that were chosen are marks of their own on the host: no device work is a root. */
static void detach_device_events(struct tbp_given_steps *s) {
    for (size_t i = 0; i < s->list.n; i++)
        if (s->list.at[i].line && tbp_is_device_plane(s->list.at[i].line->plane->name))
            s->list.at[i].line = NULL;
}

static void apply(struct applying *a, const struct tbp_step_source *s) {
    struct tbp_host *h = a->h;
    for (size_t p = 0; p < h->n_planes; p++)
        for (size_t k = 0; k < h->planes[p].n_lines && tbp_is_host_plane(h->planes[p].name); k++)
            note_line(a, &h->planes[p].lines[k]);
    for (size_t p = 0; p < h->n_planes; p++) {
        forget_stats(&h->planes[p]);
        for (size_t k = 0; k < h->planes[p].n_lines; k++)
            forget_line(&h->planes[p].lines[k]);
    }
    h->has_given_steps = true;
    h->wants_no_steps = s->kind == TBP_STEPS_NONE;
    tell(a, s);
    if (a->steps.list.n == 0)
        return;
    detach_device_events(&a->steps);
    note_marks(a);
    for (size_t p = 0; p < h->n_planes; p++)
        if (tbp_is_host_plane(h->planes[p].name) || tbp_is_gpu_plane(h->planes[p].name))
            link_plane(a, &h->planes[p], tbp_is_host_plane(h->planes[p].name));
    if (!a->steps.list.at[0].line)
        add_marks(a);
}

int tbp_step_source_apply(struct tbp_host *h, const struct tbp_step_source *s,
                          struct tbp_error *err) {
    struct applying a = {.h = h};
    if (s->kind == TBP_STEPS_AUTO)
        return TBP_OK;
    for (size_t p = 0; p < h->n_planes; p++)
        if (tbp_is_tpu_plane(h->planes[p].name))
            return tbp_fail(err, TBP_E_OPTION,
                            "'steps': each core of a TPU marks its own steps, and nothing links "
                            "its work to ranges of the host, so host '%.*s' takes only auto",
                            (int)h->name.n, h->name.p);
    tbp_arena_init(&a.scratch);
    int status = tbp_steps_choose(&a.steps, h, s, err);
    if (!status && a.steps.list.n == 0 && (s->kind == TBP_STEPS_NAME || s->kind == TBP_STEPS_FROM))
        tbp_ledger_count(&h->ledger, TBP_LEDGER_NO_SUCH_STEP, 1, TBP_NO_OFFSET);
    if (!status)
        apply(&a, s);
    tbp_vec_release(&a.steps.list);
    tbp_idmap_release(&a.former);
    tbp_idmap_release(&a.launches);
    tbp_line_order_release(&a.order);
    tbp_arena_release(&a.scratch);
    return status;
}
