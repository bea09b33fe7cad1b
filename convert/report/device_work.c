/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches by correlation id. Names of calls: cudaLaunchKernel, cuLaunchKernelEx, hipLaunchKernel,
 * hipModuleLaunchKernel, cudaGraphLaunch …
 */
#include "convert/report/device_work.h"

void tbp_launches_release(struct tbp_launches *l) {
    tbp_idmap_release(&l->by_id);
    tbp_vec_release(&l->list);
}

static bool id_of(const struct tbp_line *line, size_t event, uint64_t *id) {
    struct tbp_stat st;
    if (!(line->ev.has[event] & TBP_HAS_CORRELATION) ||
        !tbp_event_stat(line, event, TBP_STAT_CORRELATION_ID, &st))
        return false;
    *id = tbp_stat_iu(&st);
    return *id != 0;
}

struct tbp_launch *tbp_launch_of(const struct tbp_launches *l, const struct tbp_line *line,
                                 size_t event) {
    uint64_t id;
    if (l->list.n == 0 || !id_of(line, event, &id))
        return NULL;
    uint32_t at = tbp_idmap_get(&l->by_id, id);
    return at == TBP_MAP_NONE ? NULL : &l->list.at[at];
}

uint64_t tbp_work_asked_at(const struct tbp_launches *l, const struct tbp_line *line,
                           size_t event) {
    const struct tbp_launch *x = tbp_launch_of(l, line, event);
    return x && x->has_call ? x->start_ps : line->ev.start_ps[event];
}

static struct tbp_launch *make_launch(struct tbp_launches *l, const struct tbp_line *line,
                                      size_t event) {
    uint64_t id;
    bool is_new;
    if (!id_of(line, event, &id))
        return NULL;
    uint32_t *at = tbp_idmap_put(&l->by_id, id, &is_new);
    if (is_new) {
        *at = (uint32_t)l->list.n;
        *tbp_vec_push(&l->list) = (struct tbp_launch){0};
    }
    return &l->list.at[*at];
}

/* What profilers draw above the streams: the work of these once more, as steps, ops, modules. */
static bool is_drawn(struct tbp_str line) {
    static const char *const names[] = {"_counters_", "Steps", "Step trace", "Step phases"};
    static const char *const beginnings[] = {
        "Framework ", "TensorFlow Name Scope", "TensorFlow Ops", "XLA ", "Source ", "Launch Stats"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tbp_str_is(line, names[i]))
            return true;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (tbp_str_starts(line, beginnings[i]))
            return true;
    return false;
}

bool tbp_is_work_line(const struct tbp_line *l) {
    if (l->is_derived || l->ev.n == 0 || !tbp_is_device_plane(l->plane->name))
        return false;
    if (tbp_is_tpu_plane(l->plane->name))
        return tbp_str_is(l->name, "XLA Ops") || tbp_str_is(l->name, "Sparse Core Ops");
    return !is_drawn(l->name);
}

const struct tbp_line *tbp_stream_line(const struct tbp_line *l) {
    uint64_t lane;
    size_t open = tbp_str_rfind(l->name, '(');
    if (open >= l->name.n || open == 0 || l->name.p[open - 1] != ' ' ||
        l->name.p[l->name.n - 1] != ')' ||
        !tbp_str_to_u64(tbp_str_sub(l->name, open + 1, l->name.n - 1), &lane) || lane < 2 ||
        lane - 1 > (size_t)(l - l->plane->lines))
        return l;
    const struct tbp_line *stream = l - (lane - 1);
    return tbp_str_eq(stream->name, tbp_str_sub(l->name, 0, open - 1)) ? stream : l;
}

void tbp_launches_add_work(struct tbp_launches *l, const struct tbp_host *h) {
    for (size_t p = 0; p < h->n_planes; p++) {
        for (size_t k = 0; k < h->planes[p].n_lines; k++) {
            const struct tbp_line *line = &h->planes[p].lines[k];
            for (size_t i = 0, n = tbp_work_events(line); i < n; i++) {
                struct tbp_launch *x = make_launch(l, line, i);
                if (!x)
                    continue;
                (void)__builtin_add_overflow(x->work_ps, (int64_t)line->ev.dur_ps[i], &x->work_ps);
                x->n_works++;
            }
        }
    }
}

static void add_call(struct tbp_launches *l, const struct tbp_line *line, size_t i) {
    struct tbp_launch *x = make_launch(l, line, i);
    if (!x || x->has_call)
        return;
    struct tbp_str name = tbp_event_name(line, i);
    x->has_call = true;
    x->start_ps = line->ev.start_ps[i];
    x->is_graph = tbp_str_has_nocase(name, "GraphLaunch");
    x->is_launch = x->is_graph || tbp_str_has_nocase(name, "LaunchKernel") ||
                   tbp_str_has_nocase(name, "LaunchCooperative");
}

void tbp_launches_add_calls(struct tbp_launches *l, const struct tbp_host *h) {
    for (size_t p = 0; p < h->n_planes; p++) {
        const struct tbp_plane *plane = &h->planes[p];
        for (size_t k = 0; k < plane->n_lines && tbp_is_host_plane(plane->name); k++)
            for (size_t i = 0; i < plane->lines[k].ev.n; i++)
                if (plane->lines[k].ev.has[i] & TBP_HAS_CORRELATION)
                    add_call(l, &plane->lines[k], i);
    }
}
