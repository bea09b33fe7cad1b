/* SPDX-License-Identifier: Apache-2.0
 *
 * Ordered output of pieces that are formatted in parallel, and threads; see trace_json.h.
 */
#include "convert/tool/trace_json.h"

#include "base/sort.h"

#include <string.h>

/* ---- pieces ---- */

/* What a piece may take in memory; ordinary ones have a twentieth of it. A piece that has more,
 * because of names of megabytes, is formatted once more when its turn comes, straight to the
 * output. */
enum { PIECE_BYTES = 4 << 20 };

struct piece_slot {
    struct tbp_json json;
    struct tbp_sink_memory text;
    size_t number;
    bool is_too_large; /* and text is not all of it */
};

/* Two sets of slots: while one is formatted, the other one is written. */
struct pieces {
    struct tbp_sink *out;
    tbp_piece_fn *fn;
    void *ctx;
    struct piece_slot *now, *before;
    size_t first, n_before;
};

static int write_slots(struct pieces *p, struct tbp_error *err) {
    int status = TBP_OK;
    for (size_t i = 0; i < p->n_before && !status; i++) {
        struct piece_slot *s = &p->before[i];
        if (!s->is_too_large) {
            status = tbp_sink_write(p->out, s->text.data, s->text.size, err);
            continue;
        }
        tbp_json_init(&s->json, p->out);
        p->fn(p->ctx, s->number, &s->json);
        status = tbp_json_finish(&s->json, err);
    }
    return status;
}

static int run_job(void *ctx, size_t job, struct tbp_error *err) {
    struct pieces *p = ctx;
    if (job == 0)
        return write_slots(p, err);
    struct piece_slot *s = &p->now[job - 1];
    s->text.size = 0;
    s->number = p->first + job - 1;
    tbp_json_init(&s->json, &s->text.base);
    p->fn(p->ctx, s->number, &s->json);
    int status = tbp_json_finish(&s->json, err);
    s->is_too_large = status == TBP_E_LIMIT;
    return s->is_too_large ? TBP_OK : status;
}

static int run_waves(struct pieces *p, struct tbp_pool *pool, size_t n, size_t wave,
                     struct tbp_error *err) {
    int status = TBP_OK;
    for (p->first = 0; p->first < n && !status; p->first += wave) {
        size_t here = n - p->first < wave ? n - p->first : wave;
        status = tbp_pool_for(pool, here + 1, run_job, p, err);
        struct piece_slot *swap = p->before;
        p->before = p->now;
        p->now = swap;
        p->n_before = here;
    }
    return status ? status : write_slots(p, err);
}

int tbp_write_pieces(struct tbp_pool *pool, struct tbp_sink *out, size_t n, tbp_piece_fn *fn,
                     void *ctx, struct tbp_error *err) {
    size_t wave = 4 * (size_t)tbp_pool_threads(pool);
    if (wave > n)
        wave = n;
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct piece_slot *slots = TBP_NEW_N(&arena, struct piece_slot, 2 * wave);
    for (size_t i = 0; i < 2 * wave; i++)
        tbp_sink_memory_init(&slots[i].text, PIECE_BYTES);
    struct pieces p = {.out = out, .fn = fn, .ctx = ctx, .now = slots, .before = slots + wave};
    int status = run_waves(&p, pool, n, wave ? wave : 1, err);
    for (size_t i = 0; i < 2 * wave; i++)
        tbp_sink_memory_release(&slots[i].text);
    tbp_arena_release(&arena);
    return status;
}

/* ---- threads ---- */

static int by_pid_tid(const void *x, const void *y, void *ctx) {
    (void)ctx;
    const struct tbp_trace_thread *a = x, *b = y;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

size_t tbp_trace_threads_sort(struct tbp_trace_thread *t, size_t n) {
    tbp_sort(t, n, sizeof *t, by_pid_tid, NULL);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept && t[kept - 1].pid == t[i].pid && t[kept - 1].tid == t[i].tid)
            kept--;
        t[kept++] = t[i];
    }
    return kept;
}
