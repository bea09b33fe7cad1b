/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a list of trace events ahead, on all processors. Where an event begins can only be known
 * once everything before it has been read, but it can be guessed: where what stands between two
 * events of the list (`},\n  {\n    "ph"`) stands again. So the list is cut into pieces at such
 * places, and each is read as if its beginning were one, side by side on the pool. Meanwhile, one
 * job of the same round takes the pieces of the round before, in order: the events of a piece count
 * only if the parser of the whole input has come to just that place in just that state; otherwise
 * it goes through the piece itself. A wrong guess thus costs time, and changes nothing.
 *
 *     round   1           2           3
 *     job 0   -           takes 1     takes 2        in order, on the thread that called
 *     others  read 1      read 2      read 3         side by side
 *
 * A piece ends where the next begins, and its parser sees no more than the place by which that was
 * found: a `}`, a comma, a `{` and a key. What the parser looks at behind an event to know its end
 * are two such characters at most, so that it decides as if it saw the rest.
 *
 * Bounds: a piece is read ahead once, whatever is in it; a round is no longer than the list was up
 * to it, so that many short lists cost no more than twice the time. Memory: two rounds of 16 pieces
 * of 128 KiB, each with events of at most 4 times as many bytes and one more: 16 MiB at the very
 * most, 6 MiB where events are as PyTorch's, given back before the columns are made.
 *
 * Ownership: who inits it releases it. Bad memory in a job is the failure of tbp_json_ahead_read.
 */
#ifndef TBP_CONVERT_READ_JSON_AHEAD_H
#define TBP_CONVERT_READ_JSON_AHEAD_H

#include "base/pool.h"
#include "base/vec.h"
#include "convert/read/json_event.h"

struct tbp_json_piece {
    struct tbp_json_pull begin, behind; /* as guessed; behind the last of the events */
    const uint8_t *to;                  /* where the next piece begins */
    TBP_VEC(struct tbp_json_event) events;
    TBP_VEC(struct tbp_json_arg) args; /* of all of them */
};

enum { TBP_JSON_ROUND_PIECES = 16 };

struct tbp_json_round {
    struct tbp_json_piece pieces[TBP_JSON_ROUND_PIECES];
    size_t n;
};

/* Takes the events of the piece, which count: the parser is behind them; and reads by itself what
 * is left up to piece->to, or all of it. False: the list has ended. */
typedef bool tbp_json_take_fn(void *ctx, const struct tbp_json_piece *piece);

struct tbp_json_ahead {
    struct tbp_pool *pool;
    size_t piece_bytes;
    bool sorts_args; /* as tbp_json_event_read */
    struct tbp_str join;
    struct tbp_json_round rounds[2];
    struct tbp_json_round *taken, *read; /* of the round that runs */
    bool is_over;                        /* the list has ended */
    bool is_lucky;                       /* a piece of the round counted, or there was none */
    struct tbp_json_pull *json;          /* of the whole input */
    tbp_json_take_fn *take;
    void *ctx;
};

/* piece_bytes: 0 for what is best. */
void tbp_json_ahead_init(struct tbp_json_ahead *a, struct tbp_pool *pool, size_t piece_bytes);
void tbp_json_ahead_release(struct tbp_json_ahead *a);
/* j is the parser of the whole input, behind an event of a list that began at `list`. Ends before
 * the list does where guesses find nothing, or none comes true. */
int tbp_json_ahead_read(struct tbp_json_ahead *a, struct tbp_json_pull *j, const uint8_t *list,
                        tbp_json_take_fn *take, void *ctx, struct tbp_error *err);

#endif
