/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds of pieces; see json_ahead.h.
 */
#include "convert/read/json_ahead.h"

enum { PIECE_BYTES = 128 << 10, LOOK_BYTES = 64 << 10, MOST_JOIN_BYTES = 256 };

void tbp_json_ahead_init(struct tbp_json_ahead *a, struct tbp_pool *pool, size_t piece_bytes) {
    *a = (struct tbp_json_ahead){.pool = pool,
                                 .piece_bytes = piece_bytes ? piece_bytes : PIECE_BYTES};
}

void tbp_json_ahead_release(struct tbp_json_ahead *a) {
    for (unsigned r = 0; r < 2; r++) {
        for (unsigned i = 0; i < TBP_JSON_ROUND_PIECES; i++) {
            tbp_vec_release(&a->rounds[r].pieces[i].events);
            tbp_vec_release(&a->rounds[r].pieces[i].args);
        }
    }
}

/* ---- where events begin ---- */

/* Behind blanks and this character; NULL if there is another. */
static const uint8_t *behind(const uint8_t *p, const uint8_t *end, char c) {
    while (p && p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p && p < end && *p == (uint8_t)c ? p + 1 : NULL;
}

/* What stands between the event behind which j is and the first key of the next one. */
static struct tbp_str join_at(const struct tbp_json_pull *j) {
    const uint8_t *end = j->end - j->at < MOST_JOIN_BYTES ? j->end : j->at + MOST_JOIN_BYTES;
    if (j->at == j->start || j->at[-1] != '}')
        return TBP_STR_NONE;
    const uint8_t *key = behind(behind(behind(j->at, end, ','), end, '{'), end, '"');
    const uint8_t *quote = key ? memchr(key, '"', (size_t)(end - key)) : NULL;
    if (!quote)
        return TBP_STR_NONE;
    return (struct tbp_str){(const char *)j->at - 1, (size_t)(quote + 2 - j->at)};
}

/* Cuts what is at `from` into the pieces of a round, as many as can be found. */
static void cut(struct tbp_json_ahead *a, const uint8_t *from, size_t most_pieces) {
    struct tbp_json_round *r = a->read;
    const struct tbp_json_pull *j = a->json;
    most_pieces = most_pieces < TBP_JSON_ROUND_PIECES ? most_pieces : TBP_JSON_ROUND_PIECES;
    for (r->n = 0; r->n < most_pieces && (size_t)(j->end - from) > a->piece_bytes; r->n++) {
        const uint8_t *look = from + a->piece_bytes;
        size_t left = (size_t)(j->end - look), far = a->piece_bytes + LOOK_BYTES;
        const uint8_t *hit = memmem(look, left < far ? left : far, a->join.p, a->join.n);
        if (!hit)
            break;
        struct tbp_json_piece *p = &r->pieces[r->n];
        p->begin = tbp_json_pull_behind(j, from, hit + a->join.n);
        p->to = from = hit + 1;
    }
}

/* ---- jobs ---- */

/* Leaves what is behind the limit to who takes the piece. */
static bool is_full(const struct tbp_json_piece *p) {
    enum { MOST_PER_BYTE = 4 };
    size_t bytes = p->events.n * sizeof *p->events.at + p->args.n * sizeof *p->args.at;
    return bytes > (size_t)(p->to - p->begin.at) * MOST_PER_BYTE;
}

/* False: not all that is there are events, or they end elsewhere. */
static bool read_events(struct tbp_json_piece *p, bool sorts_args) {
    struct tbp_json_pull *j = &p->behind;
    while (j->at < p->to && !is_full(p)) {
        if (tbp_json_pull_next(j) != TBP_JSON_OBJECT)
            return false;
        tbp_vec_reserve(&p->args, p->args.n + TBP_JSON_MAX_ARGS);
        struct tbp_json_event *e = tbp_vec_push(&p->events);
        e->args = p->args.at + p->args.n;
        tbp_json_event_read(j, e, sorts_args);
        p->args.n += e->n_args;
    }
    return j->at <= p->to && j->depth == p->begin.depth;
}

static void read_piece(struct tbp_json_piece *p, bool sorts_args) {
    p->behind = p->begin;
    p->events.n = p->args.n = 0;
    if (!read_events(p, sorts_args)) {
        p->behind = p->begin;
        p->events.n = 0;
    }
    struct tbp_json_arg *args = p->args.at; /* they may have moved */
    for (size_t i = 0; i < p->events.n; i++) {
        p->events.at[i].args = args;
        args += p->events.at[i].n_args;
    }
}

static void take_piece(struct tbp_json_ahead *a, struct tbp_json_piece *p) {
    bool counts = p->events.n > 0 && tbp_json_pull_meets(a->json, &p->begin);
    if (counts)
        tbp_json_pull_pass(a->json, &p->behind);
    else
        p->events.n = 0;
    a->is_lucky |= counts;
    a->is_over = !a->take(a->ctx, p);
}

static int run_job(void *ctx, size_t i, struct tbp_error *err) {
    struct tbp_json_ahead *a = ctx;
    (void)err;
    if (i > 0)
        read_piece(&a->read->pieces[i - 1], a->sorts_args);
    for (size_t k = 0; i == 0 && k < a->taken->n && !a->is_over; k++)
        take_piece(a, &a->taken->pieces[k]);
    return TBP_OK;
}

/* ---- rounds ---- */

/* What was read in this round is taken in the next, while what is cut now is read. */
static void begin_round(struct tbp_json_ahead *a, const uint8_t *list) {
    struct tbp_json_round *read = a->read;
    const uint8_t *from = a->json->at;
    a->read = a->taken;
    a->taken = read;
    a->is_lucky = read->n == 0;
    if (read->n > 0 && read->pieces[read->n - 1].to > from)
        from = read->pieces[read->n - 1].to;
    cut(a, from, (size_t)(from - list) / a->piece_bytes);
}

int tbp_json_ahead_read(struct tbp_json_ahead *a, struct tbp_json_pull *j, const uint8_t *list,
                        tbp_json_take_fn *take, void *ctx, struct tbp_error *err) {
    int status = TBP_OK;
    a->json = j;
    a->take = take;
    a->ctx = ctx;
    a->join = join_at(j);
    a->is_over = false;
    a->is_lucky = a->join.n > 0;
    a->taken = &a->rounds[0];
    a->read = &a->rounds[1];
    a->taken->n = a->read->n = 0;
    while (status == TBP_OK && !a->is_over && a->is_lucky) {
        begin_round(a, list);
        if (a->taken->n + a->read->n == 0)
            break;
        status = tbp_pool_for(a->pool, 1 + a->read->n, run_job, a, err);
    }
    return status;
}
