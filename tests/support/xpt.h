/* SPDX-License-Identifier: Apache-2.0
 *
 * The text form of profiles (.xpt), so that fixtures can be read, reviewed and reckoned by hand.
 * One thing per line, indentation is free, # begins a comment (not in quotes, not before a digit):
 *
 *     hostname "worker.0"                 also: error "…", warning "…"
 *     plane 1 "/host:CPU"                 id, name
 *       stat process_id=77                stats of the plane
 *       name #5 "train" display "Train"   event metadata where its id, display name or stats matter
 *       statname #9 "step_num"            the same for stat metadata
 *       line 7 "main" at 1us              id, name; also: lasts TIME, display ID "name"
 *         0 +10us "train" step_num=1      offset, duration, name, stats
 *         count 12 +5us "folded"          num_occurrences instead of an offset
 *         1us +1us #99                    an event whose name is not there
 *         repeat 1000 every 2us 0 +1us "tiny" correlation_id=1++
 *
 * Times: integers or decimals with ps (default), ns (default of at), us, ms, s; exact. Values: 5
 * (int64), 5u (uint64), 0.5 (double), "s" (text), b"s" (bytes), @"s" (reference to the stat name
 * s), @#9 (reference to an id). A key is a word, a text in quotes, or #9 for an id that is not
 * there. In quotes: \" \\ \n \t \xHH. In a repetition 5++ counts on. Names without #id get the next
 * free id of their plane in order of appearance.
 *
 * Ownership: results live in the arena or buffer given. Thread-safety: pure.
 */
#ifndef TBP_TESTS_SUPPORT_XPT_H
#define TBP_TESTS_SUPPORT_XPT_H

#include "base/arena.h"
#include "base/status.h"
#include "schemas/wire.h"

/* Text to XSpace bytes, appended to out. TBP_E_FORMAT tells the line. */
int tbp_xpt_parse(struct tbp_str text, struct tbp_wire_out *out, struct tbp_error *err);
/* XSpace bytes to text, appended to out. Fails on bytes that are no XSpace; unknown fields are left
 * out. */
int tbp_xpt_print(struct tbp_str bytes, struct tbp_wire_out *out, struct tbp_error *err);

#endif
