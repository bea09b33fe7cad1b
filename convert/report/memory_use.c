/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory events in order of time, as running sums. Whose memory it is tells the allocator's name:
 * PyTorch's "CPU", TensorFlow's "cpu" and "gpu_host_bfc" are the host's.
 */
#include "convert/report/memory_use.h"

#include "base/sort.h"
#include "convert/model/stats.h"

bool tbp_is_host_allocator(struct tbp_str name) {
    return name.n == 0 || tbp_str_starts_nocase(name, "cpu") || tbp_str_has_nocase(name, "host");
}

static void add_event(struct tbp_memory_use *m, const struct tbp_line *l, size_t i) {
    struct tbp_memory_point p = {.time_ps = l->ev.start_ps[i]};
    bool is_free = tbp_event_kind_at(l, i) == TBP_EVENT_MEMORY_DEALLOCATION;
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    struct tbp_str allocator = TBP_STR_NONE;
    int64_t bytes = 0;
    for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
        if (st.meta->key == TBP_STAT_ALLOCATION_BYTES)
            bytes = (int64_t)tbp_stat_iu(&st);
        else if (st.meta->key == TBP_STAT_ALLOCATOR_NAME)
            allocator = tbp_stat_s(&st);
    }
    bytes = (int64_t)(is_free ? 0 - (uint64_t)bytes : (uint64_t)bytes);
    bool is_host = tbp_is_host_allocator(allocator);
    *(is_host ? &p.host_bytes : &p.device_bytes) = bytes;
    m->has_device |= !is_host;
    *tbp_vec_push(&m->points) = p;
}

static int by_time(const void *a, const void *b, void *ctx) {
    const struct tbp_memory_point *x = a, *y = b;
    (void)ctx;
    return (x->time_ps > y->time_ps) - (x->time_ps < y->time_ps);
}

static int64_t add(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

void tbp_memory_use_collect(struct tbp_memory_use *m, const struct tbp_host *h) {
    for (size_t p = 0; p < h->n_planes; p++) {
        const struct tbp_plane *plane = &h->planes[p];
        for (size_t k = 0; k < plane->n_lines && tbp_is_host_plane(plane->name); k++) {
            const struct tbp_line *l = &plane->lines[k];
            for (size_t i = 0; i < l->ev.n; i++)
                if (tbp_is_memory_event(tbp_event_kind_at(l, i)))
                    add_event(m, l, i);
        }
    }
    tbp_sort(m->points.at, m->points.n, sizeof *m->points.at, by_time, NULL);
    for (size_t i = 1; i < m->points.n; i++) {
        struct tbp_memory_point *now = &m->points.at[i], *before = now - 1;
        now->host_bytes = add(now->host_bytes, before->host_bytes);
        now->device_bytes = add(now->device_bytes, before->device_bytes);
    }
}

void tbp_memory_use_release(struct tbp_memory_use *m) {
    tbp_vec_release(&m->points);
}

static size_t count_until(const struct tbp_memory_use *m, uint64_t time_ps) {
    return tbp_vec_count_up_to(&m->points, struct tbp_memory_point, time_ps, time_ps);
}

static struct tbp_memory_sum sum_between(const struct tbp_memory_use *m, size_t from, size_t to) {
    struct tbp_memory_sum s = {0, 0};
    if (from >= to)
        return s;
    const struct tbp_memory_point *last = &m->points.at[to - 1];
    s = (struct tbp_memory_sum){last->host_bytes, last->device_bytes};
    if (from) {
        const struct tbp_memory_point *before = &m->points.at[from - 1];
        s.host_bytes = add(s.host_bytes, (int64_t)(0 - (uint64_t)before->host_bytes));
        s.device_bytes = add(s.device_bytes, (int64_t)(0 - (uint64_t)before->device_bytes));
    }
    return s;
}

struct tbp_memory_sum tbp_memory_use_within(struct tbp_memory_use *m, uint64_t start_ps,
                                            uint64_t end_ps, bool claim) {
    if (m->points.n == 0)
        return (struct tbp_memory_sum){0, 0};
    size_t from = start_ps ? count_until(m, start_ps - 1) : 0, to = count_until(m, end_ps);
    if (claim && from < to) {
        m->points.at[from].claims++;
        if (to < m->points.n)
            m->points.at[to].claims--;
    }
    return sum_between(m, from, to);
}

struct tbp_memory_sum tbp_memory_use_unclaimed(const struct tbp_memory_use *m, uint64_t *count) {
    struct tbp_memory_sum sum = {0, 0};
    int64_t claims = 0;
    *count = 0;
    for (size_t i = 0; i < m->points.n; i++) {
        claims += m->points.at[i].claims;
        if (claims > 0)
            continue;
        struct tbp_memory_sum s = sum_between(m, i, i + 1);
        sum.host_bytes = add(sum.host_bytes, s.host_bytes);
        sum.device_bytes = add(sum.device_bytes, s.device_bytes);
        ++*count;
    }
    return sum;
}
