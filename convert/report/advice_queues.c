/* SPDX-License-Identifier: Apache-2.0
 *
 * What MindData's queues say: the device that finds its queue empty, calls of GetNext that found
 * nothing, and the op of a dataset that holds the others up: what stands before it is full, what
 * stands behind it empty; of ops that all stand empty, the one that reads. Sources: reference
 * trace_kernel_memory_import F.5 (samples of queues, "size 0 = starved step").
 */
#include "convert/report/advice.h"
#include "convert/report/advice_parts.h"

#include "convert/model/stats.h"

#define EMPTY_OFTEN 0.20 /* of the samples */
#define LOW         0.20 /* of the capacity, on average */
#define HIGH        0.50

static const char device_queue[] = "dataset queue", op_queue[] = "minddata queue ";

struct queue {
    struct tbp_str name; /* of the counter */
    uint64_t samples, empty;
    double full; /* sum of size / capacity, over `measured` */
    uint64_t measured;
    int64_t number, parent; /* of the op; -1: none */
};

struct queues {
    TBP_VEC(struct queue) list;
    uint64_t n_calls, n_starved; /* of GetNext */
};

/* ---- samples ---- */

static void add_sample(struct queue *q, const struct tbp_line *l, size_t i) {
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    double size = -1, capacity = 0;
    for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
        if (st.type == TBP_STAT_DOUBLE && tbp_str_is(st.meta->name, "size"))
            size = st.d;
        else if (st.type == TBP_STAT_DOUBLE && tbp_str_is(st.meta->name, "capacity"))
            capacity = st.d;
        else if (tbp_str_is(st.meta->name, "parent op"))
            q->parent = tbp_stat_i(&st);
    }
    if (size < 0)
        return;
    q->samples++;
    q->empty += size == 0;
    if (capacity > 0) {
        q->full += size / capacity;
        q->measured++;
    }
}

/* "minddata queue 4 Shuffle": op 4. */
static int64_t number_of(struct tbp_str name) {
    int64_t number;
    if (!tbp_str_starts(name, op_queue))
        return -1;
    struct tbp_str rest = tbp_str_sub(name, sizeof op_queue - 1, name.n);
    return tbp_str_to_i64(tbp_str_sub(rest, 0, tbp_str_find(rest, ' ')), &number) ? number : -1;
}

static void read_counters(struct queues *qs, const struct tbp_line *l, uint32_t *of_meta) {
    for (size_t i = 0; i < l->ev.n; i++) {
        uint32_t *at = &of_meta[l->ev.meta[i]];
        struct tbp_str name = tbp_event_name(l, i);
        if (!tbp_str_starts(name, device_queue) && !tbp_str_starts(name, op_queue))
            continue;
        if (!*at) {
            *tbp_vec_push(&qs->list) =
                (struct queue){.name = name, .number = number_of(name), .parent = -1};
            *at = (uint32_t)qs->list.n;
        }
        add_sample(&qs->list.at[*at - 1], l, i);
    }
}

static void read_calls(struct queues *qs, const struct tbp_line *l) {
    for (size_t i = 0; i < l->ev.n; i++) {
        struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
        for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
            if (!tbp_str_is(st.meta->name, "queue_size"))
                continue;
            qs->n_calls++;
            qs->n_starved += tbp_stat_iu(&st) == 0;
        }
    }
}

static void read_plane(struct queues *qs, const struct tbp_plane *p, struct tbp_arena *a) {
    uint32_t *of_meta = TBP_NEW_N(a, uint32_t, p->n_metas + 1);
    for (size_t k = 0; k < p->n_lines; k++) {
        if (tbp_str_is(p->lines[k].name, "_counters_"))
            read_counters(qs, &p->lines[k], of_meta);
        else if (tbp_str_is(p->lines[k].name, "MindData GetNext"))
            read_calls(qs, &p->lines[k]);
    }
}

/* ---- rules ---- */

static void advise_empty(struct tbp_advices *a, const struct queue *q) {
    double share = q->samples ? (double)q->empty / (double)q->samples : 0;
    if (!tbp_str_starts(q->name, device_queue) || share < EMPTY_OFTEN)
        return;
    tbp_advice_add(a, "queue_empty", share,
                   tbp_arena_printf(&a->arena, "the %.*s is empty in %llu of %llu samples",
                                    (int)q->name.n, q->name.p, (unsigned long long)q->empty,
                                    (unsigned long long)q->samples),
                   "the device waits for data: the dataset pipeline is slower than training");
}

static void advise_starved(struct tbp_advices *a, const struct queues *qs) {
    double share = qs->n_calls ? (double)qs->n_starved / (double)qs->n_calls : 0;
    if (share >= EMPTY_OFTEN)
        tbp_advice_add(a, "getnext_starved", share,
                       tbp_arena_printf(&a->arena, "%llu of %llu calls of GetNext found no data",
                                        (unsigned long long)qs->n_starved,
                                        (unsigned long long)qs->n_calls),
                       "these steps waited for the dataset pipeline: make it faster, or prefetch "
                       "more");
}

static double usage_of(const struct queue *q) {
    return q->full / (double)q->measured;
}

/* Mean usage of the queues that feed an op; false if it has none. */
static bool find_input(const struct queues *qs, const struct queue *op, double *usage) {
    size_t n = 0;
    *usage = 0;
    for (size_t i = 0; i < qs->list.n; i++) {
        const struct queue *q = &qs->list.at[i];
        if (q->number < 0 || q->parent != op->number || !q->measured)
            continue;
        *usage += usage_of(q);
        n++;
    }
    *usage /= (double)(n ? n : 1);
    return n > 0;
}

static const char slow_advice[] =
    "give it more workers (num_parallel_workers), do less per element in it, or do it offline";

static void advise_op(struct tbp_advices *a, const struct queues *qs, const struct queue *q,
                      bool all_are_low) {
    double before, behind = usage_of(q);
    struct tbp_str op = tbp_str_sub(q->name, sizeof op_queue - 1, q->name.n);
    bool has_input = find_input(qs, q, &before);
    if (behind > LOW)
        return;
    if (has_input && before >= HIGH)
        tbp_advice_add(a, "dataset_op_slow", before - behind,
                       tbp_arena_printf(&a->arena,
                                        "op %.*s of the dataset is the slow one: the queue before "
                                        "it is %.1f %% full, the one behind it %.1f %%",
                                        (int)op.n, op.p, before * 100, behind * 100),
                       slow_advice);
    else if (!has_input && all_are_low)
        tbp_advice_add(a, "dataset_op_slow", 1 - behind,
                       tbp_arena_printf(&a->arena,
                                        "all queues of the dataset are nearly empty, from op %.*s "
                                        "on, which reads: %.1f %% full",
                                        (int)op.n, op.p, behind * 100),
                       "reading is the slow part: more readers, larger or fewer files, a faster or "
                       "local disk");
}

enum { MOST_OPS = 4096 }; /* of one dataset: each looks at all others */

static void advise_ops(struct tbp_advices *a, const struct queues *qs) {
    bool all_are_low = true;
    for (size_t i = 0; i < qs->list.n; i++) {
        const struct queue *q = &qs->list.at[i];
        all_are_low &= q->number < 0 || !q->measured || usage_of(q) <= LOW;
    }
    for (size_t i = 0; i < qs->list.n && qs->list.n <= MOST_OPS; i++)
        if (qs->list.at[i].number >= 0 && qs->list.at[i].measured)
            advise_op(a, qs, &qs->list.at[i], all_are_low);
}

void tbp_advise_queues(struct tbp_advices *a, const struct tbp_host *h) {
    struct queues qs = {0};
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    for (size_t p = 0; p < h->n_planes; p++)
        read_plane(&qs, &h->planes[p], &scratch);
    for (size_t i = 0; i < qs.list.n; i++)
        advise_empty(a, &qs.list.at[i]);
    advise_starved(a, &qs);
    advise_ops(a, &qs);
    tbp_vec_release(&qs.list);
    tbp_arena_release(&scratch);
}
