/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams in timelines of TensorFlow 1, and what repeats them; see tf_timeline.h.
 */
#include "convert/read/tf_timeline.h"

#include "base/sort.h"

#include <stdio.h>

enum role { ROLE_NONE, ROLE_STREAM, ROLE_ALL_KERNELS, ROLE_ALL_COPIES };

/* ---- processes ---- */

/* Digits behind `mark` in s, or -1. */
static int64_t number_behind(struct tbp_str s, const char *mark) {
    const char *at = memmem(s.p, s.n, mark, strlen(mark));
    if (!at)
        return -1;
    size_t from = (size_t)(at - s.p) + strlen(mark), to = from;
    while (to < s.n && s.p[to] >= '0' && s.p[to] <= '9')
        to++;
    int64_t n;
    return tbp_str_to_i64(tbp_str_sub(s, from, to), &n) ? n : -1;
}

static enum role role_of(struct tbp_str process, int64_t *stream) {
    *stream = -1;
    if (tbp_str_ends(process, "/stream:all Compute"))
        return ROLE_ALL_KERNELS;
    if (tbp_str_ends(process, "/memcpy Compute"))
        return ROLE_ALL_COPIES;
    if (tbp_str_ends(process, " Compute"))
        *stream = number_behind(process, "/stream:");
    return *stream < 0 ? ROLE_NONE : ROLE_STREAM;
}

/* ---- devices ---- */

/* Index of the device that "/job:worker/task:1/device:GPU:0/stream:7 Compute" is of. */
static uint32_t device_at(struct tbp_tf_timeline *tl, struct tbp_str process) {
    const char *mark = tbp_str_has(process, "gpu:") ? "gpu:" : "GPU:";
    const char *at = memmem(process.p, process.n, mark, strlen(mark));
    int64_t number = number_behind(process, mark);
    struct tbp_str worker = tbp_str_sub(process, 0, at ? (size_t)(at - process.p) : 0);
    bool is_new;
    if (tbp_str_ends(worker, "device:"))
        worker.n -= strlen("device:");
    struct tbp_tf_device d = {.worker = tbp_strtab_put(&tl->workers, worker),
                              .ordinal = number > 0 ? (uint32_t)number & 0xffffu : 0};
    uint64_t key = (uint64_t)d.worker << 16 | d.ordinal;
    uint32_t *index = tbp_idmap_put(&tl->index, key, &is_new);
    if (is_new) {
        *index = (uint32_t)tl->devices.n;
        *tbp_vec_push(&tl->devices) = d;
    }
    return *index;
}

/* By job, then by the number of the task. */
static int by_worker(struct tbp_str a, struct tbp_str b) {
    static const char mark[] = "/task:";
    const char *x = memmem(a.p, a.n, mark, sizeof mark - 1);
    const char *y = memmem(b.p, b.n, mark, sizeof mark - 1);
    int order = tbp_str_cmp(tbp_str_sub(a, 0, x ? (size_t)(x - a.p) : a.n),
                            tbp_str_sub(b, 0, y ? (size_t)(y - b.p) : b.n));
    int64_t m = number_behind(a, mark), n = number_behind(b, mark);
    return order ? order : m != n ? (m < n ? -1 : 1) : tbp_str_cmp(a, b);
}

static int by_device(const void *a, const void *b, void *ctx) {
    const struct tbp_tf_timeline *tl = ctx;
    const struct tbp_tf_device *x = &tl->devices.at[*(const uint32_t *)a];
    const struct tbp_tf_device *y = &tl->devices.at[*(const uint32_t *)b];
    if (x->worker != y->worker)
        return by_worker(tl->workers.strs[x->worker], tl->workers.strs[y->worker]);
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/* Streams often do without the worker that the ops have: alone it is all of them. */
static bool has_several_workers(const struct tbp_tf_timeline *tl) {
    size_t n = 0;
    for (uint32_t i = 0; i < tl->workers.n; i++)
        n += tl->workers.strs[i].n > 1; /* "/": none */
    return n > 1;
}

static void make_planes(struct tbp_tf_timeline *tl, struct tbp_trace *t) {
    const bool is_numbered = has_several_workers(tl);
    uint32_t *order = TBP_NEW_N(&t->host->arena, uint32_t, tl->devices.n + 1);
    char name[40];
    for (uint32_t i = 0; i < tl->devices.n; i++)
        order[i] = i;
    tbp_sort(order, tl->devices.n, sizeof *order, by_device, tl);
    for (uint32_t i = 0; i < tl->devices.n; i++) {
        struct tbp_tf_device *d = &tl->devices.at[order[i]];
        struct tbp_str worker = tl->workers.strs[d->worker];
        snprintf(name, sizeof name, "/device:GPU:%u", (unsigned)(is_numbered ? i : d->ordinal));
        d->plane = tbp_trace_plane(t, tbp_str_c(name));
        if (is_numbered)
            tbp_trace_plane_text(
                t, d->plane, "tf_device",
                tbp_str_c(tbp_arena_printf(&t->host->arena, "%.*sgpu:%u", (int)worker.n, worker.p,
                                           (unsigned)d->ordinal)));
    }
    for (uint32_t i = 0; i < t->tracks.n; i++) {
        uint32_t d = tbp_idmap_get(&tl->device_of, i);
        if (d != TBP_MAP_NONE)
            t->tracks.at[i].plane = tl->devices.at[d].plane;
    }
}

bool tbp_tf_timeline_place(struct tbp_tf_timeline *tl, struct tbp_trace *t, uint32_t track,
                           struct tbp_str process) {
    bool is_new;
    int64_t stream;
    enum role role = role_of(process, &stream);
    if (role == ROLE_NONE)
        return false;
    *tbp_idmap_put(&tl->device_of, track, &is_new) = device_at(tl, process);
    t->tracks.at[track].kind = TBP_TRACK_DEVICE;
    t->tracks.at[track].id = stream;
    *tbp_idmap_put(&tl->roles, track, &is_new) = role;
    if (role == ROLE_STREAM) {
        tl->has_streams = true;
        return true;
    }
    tbp_trace_track_name(t, track,
                         role == ROLE_ALL_COPIES ? TBP_STR("Stream #all(Memcpy)")
                                                 : TBP_STR("Stream #all(Compute)"));
    tl->has_sums = true;
    return true;
}

/* ---- repeats ---- */

/* What an event of all streams and the same of its stream have in common. */
static int by_work(const void *a, const void *b, void *ctx) {
    const struct tbp_trace_row *x = a, *y = b;
    const struct tbp_trace *t = ctx;
    const uint64_t keys[][2] = {
        {t->tracks.at[x->track].plane, t->tracks.at[y->track].plane},
        {(uint64_t)x->start_ns, (uint64_t)y->start_ns},
        {x->start_ps, y->start_ps},
        {x->dur_ps, y->dur_ps},
        {x->name, y->name},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

typedef TBP_VEC(struct tbp_trace_row) row_list;

static bool is_among(const row_list *sorted, const struct tbp_trace_row *row, struct tbp_trace *t) {
    size_t from = 0, to = sorted->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = by_work(&sorted->at[middle], row, t);
        if (order == 0)
            return true;
        from = order < 0 ? middle + 1 : from;
        to = order < 0 ? to : middle;
    }
    return false;
}

static enum role role_of_row(const struct tbp_tf_timeline *tl, const struct tbp_trace_row *row) {
    uint32_t role = tbp_idmap_get(&tl->roles, row->track);
    return role == TBP_MAP_NONE || row->flags ? ROLE_NONE : (enum role)role;
}

/* By event, and not by process: a file that was cut may lack some streams. */
static void merge_repeats(struct tbp_tf_timeline *tl, struct tbp_trace *t) {
    row_list of_streams = {0};
    for (size_t i = 0; i < t->rows.n; i++)
        if (role_of_row(tl, &t->rows.at[i]) == ROLE_STREAM)
            *tbp_vec_push(&of_streams) = t->rows.at[i];
    tbp_sort(of_streams.at, of_streams.n, sizeof *of_streams.at, by_work, t);
    size_t kept = 0;
    for (size_t i = 0; i < t->rows.n; i++) {
        const struct tbp_trace_row *row = &t->rows.at[i];
        if (role_of_row(tl, row) > ROLE_STREAM && is_among(&of_streams, row, t))
            t->host->ledger.events_merged++;
        else
            t->rows.at[kept++] = *row;
    }
    t->rows.n = kept;
    tbp_vec_release(&of_streams);
}

/* ---- names ---- */

/* Rows carry "node:Op": the op is their name, all of it their tf_op. */
static void name_rows(struct tbp_tf_timeline *tl, struct tbp_trace *t) {
    uint32_t key = tbp_trace_text(t, TBP_STR("tf_op"));
    for (size_t i = 0; i < t->rows.n; i++) {
        struct tbp_trace_row *row = &t->rows.at[i];
        struct tbp_str name = t->texts.strs[row->name];
        size_t colon = tbp_str_rfind(name, ':');
        if (tbp_idmap_get(&tl->roles, row->track) == TBP_MAP_NONE || colon >= name.n)
            continue;
        tbp_trace_stat_text(t, TBP_TRACE_SHARED, key, row->name);
        row->set = tbp_trace_take_shared(t) & 0xffffffu;
        row->name = tbp_trace_text(t, tbp_str_sub(name, colon + 1, name.n));
    }
}

void tbp_tf_timeline_finish(struct tbp_tf_timeline *tl, struct tbp_trace *t) {
    make_planes(tl, t);
    if (tl->has_streams && tl->has_sums)
        merge_repeats(tl, t);
    if (tl->has_streams || tl->has_sums)
        name_rows(tl, t);
}

void tbp_tf_timeline_release(struct tbp_tf_timeline *tl) {
    tbp_idmap_release(&tl->roles);
    tbp_idmap_release(&tl->device_of);
    tbp_idmap_release(&tl->index);
    tbp_strtab_release(&tl->workers);
    tbp_vec_release(&tl->devices);
}
