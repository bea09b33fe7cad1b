/* SPDX-License-Identifier: Apache-2.0
 *
 * A step of every N takes several times as long as the others: checkpoints, validation, logging, a
 * loader that fills up again. Told only where all steps of one place modulo N stall, at least three
 * of them, and they are most of the slow steps there are: chance does not look like this.
 */
#include "base/sort.h"
#include "convert/report/advice_parts.h"
#include "convert/report/table_out.h"

enum { FEWEST = 3, SLOW_TIMES = 2 }; /* stalls; as long as the median step, or longer */

#define MOST_OF_THE_SLOW 0.8
#define LOST             0.05 /* of the time of all steps */

struct stalls {
    const struct tbp_step_times *steps; /* of one host, in order */
    const int64_t *period_ps;           /* of each; TBP_UNKNOWN_PS: of none that was recorded */
    size_t n;
    int64_t limit_ps;
    TBP_VEC(size_t) slow;
};

static int by_size(const void *a, const void *b, void *ctx) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    (void)ctx;
    return (x > y) - (x < y);
}

/* Median of the known periods, of those at `first` modulo `every` or of the others. */
static int64_t median_of(struct tbp_arena *arena, const struct stalls *s, size_t first,
                         size_t every, bool is_inside, size_t *n) {
    int64_t *known = TBP_NEW_N(arena, int64_t, s->n + 1);
    *n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->period_ps[i] != TBP_UNKNOWN_PS && (i % every == first) == is_inside)
            known[(*n)++] = s->period_ps[i];
    tbp_sort(known, *n, sizeof *known, by_size, NULL);
    return *n ? known[(*n - 1) / 2] : 0;
}

static bool is_slow(const struct stalls *s, size_t i) {
    return s->period_ps[i] >= s->limit_ps;
}

/* Number of stalls if each step at `first` modulo `every` is one, else 0. */
static size_t count_stalls(const struct stalls *s, size_t first, size_t every) {
    size_t n = 0;
    for (size_t i = first; i < s->n; i += every, n++)
        if (!is_slow(s, i))
            return 0;
    return n;
}

/* From the first slow step, or from the second where the first was only the start of the program;
 * to the nearest slow one of which all multiples are slow, too. O(n log n) for all candidates. */
static size_t find_period(const struct stalls *s, size_t *first) {
    for (size_t from = 0; from < 2 && from < s->slow.n; from++) {
        for (size_t k = from + 1; k < s->slow.n; k++) {
            size_t every = s->slow.at[k] - s->slow.at[from], n;
            if (every < FEWEST || s->slow.at[from] >= every)
                continue;
            n = count_stalls(s, s->slow.at[from], every);
            if (n < FEWEST || (double)n < MOST_OF_THE_SLOW * (double)s->slow.n)
                continue;
            *first = s->slow.at[from];
            return every;
        }
    }
    return 0;
}

static void tell(struct tbp_advices *a, const struct stalls *s, size_t first, size_t every) {
    char inside[TBP_VALUE_MAX], outside[TBP_VALUE_MAX];
    size_t n_inside, n_outside;
    int64_t inside_ps = median_of(&a->arena, s, first, every, true, &n_inside);
    int64_t outside_ps = median_of(&a->arena, s, first, every, false, &n_outside);
    double all_ps = 0;
    for (size_t i = 0; i < s->n; i++)
        all_ps += s->period_ps[i] != TBP_UNKNOWN_PS ? (double)s->period_ps[i] : 0;
    double share = (double)n_inside * (double)(inside_ps - outside_ps) / all_ps;
    if (share < LOST || outside_ps <= 0)
        return;
    size_t n_in = tbp_time_text(inside, inside_ps), n_out = tbp_time_text(outside, outside_ps);
    const struct tbp_step_times *at = s->steps + first;
    tbp_advice_add(
        a, "periodic_stall", share,
        tbp_arena_printf(
            &a->arena,
            "one step of every %zu takes %.1f times as long as the others on %.*s: %.*s "
            "against %.*s, medians of %zu and %zu (steps %lld, %lld, %lld%s): %.1f %% of all time",
            every, (double)inside_ps / (double)outside_ps, (int)at->host.n, at->host.p, (int)n_in,
            inside, (int)n_out, outside, n_inside, n_outside, (long long)at[0].number,
            (long long)at[every].number, (long long)at[2 * every].number,
            n_inside > FEWEST ? " …" : "", share * 100),
        "see what runs in these steps ('tbprof steps'): write checkpoints in the background, "
        "validate and log less often, let the data loader prefetch more than it fills at once");
}

/* Steps in between that were not recorded make the period of nobody longer. */
static int64_t period_of(const struct tbp_step_times *steps, size_t i) {
    bool has_next = steps[i].number < INT64_MAX && steps[i + 1].number == steps[i].number + 1;
    return has_next ? steps[i].period_ps : TBP_UNKNOWN_PS;
}

static bool advise_host(struct tbp_advices *a, const struct tbp_step_times *steps, size_t n_steps) {
    struct stalls s = {.steps = steps, .n = n_steps - 1};
    int64_t *period_ps = TBP_NEW_N(&a->arena, int64_t, s.n + 1);
    size_t n_known, first;
    for (size_t i = 0; i < s.n; i++)
        period_ps[i] = period_of(steps, i);
    s.period_ps = period_ps;
    int64_t median_ps = median_of(&a->arena, &s, 0, 1, true, &n_known);
    if (median_ps <= 0 || __builtin_mul_overflow(median_ps, SLOW_TIMES, &s.limit_ps))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (is_slow(&s, i))
            *tbp_vec_push(&s.slow) = i;
    size_t every = find_period(&s, &first), before = a->list.n;
    if (every)
        tell(a, &s, first, every);
    tbp_vec_release(&s.slow);
    return a->list.n > before;
}

void tbp_advise_stalls(struct tbp_advices *a, const struct tbp_step_trace *t) {
    bool is_told = false; /* hosts of one job stall together: the first one tells */
    for (size_t from = 0, to; from < t->list.n && !is_told; from = to) {
        for (to = from; to < t->list.n && tbp_str_eq(t->list.at[to].host, t->list.at[from].host);)
            to++;
        is_told = advise_host(a, t->list.at + from, to - from);
    }
}
