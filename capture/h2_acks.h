/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes superfluous acknowledgements of SETTINGS out of what a client sends. libnghttp2 ends the
 * connection on the first one too many, which is right but helps nobody: replayed recordings have
 * them. Cuts input into pieces to hand on, without copying; keeps at most one frame's head. Counts
 * frames of every kind, unknown ones too.
 */
#ifndef TBP_CAPTURE_H2_ACKS_H
#define TBP_CAPTURE_H2_ACKS_H

#include <stddef.h>
#include <stdint.h>

enum { TBP_H2_HEAD = 9 };

struct tbp_h2_acks {
    size_t preface_left; /* 24 at first */
    size_t payload_left; /* of the frame being handed on */
    size_t head_n;
    uint8_t head[TBP_H2_HEAD];
    unsigned n_allowed; /* acknowledgements that are still due */
    uint64_t n_frames;
};

/* The number of the frame that has begun and is not whole yet; 0: none. */
uint64_t tbp_h2_acks_open_frame(const struct tbp_h2_acks *a);

/* The next piece of [*p, *p + *n) to hand on, whose bytes are valid until the next call; moves *p
 * and *n on. Size 0 with *n 0: no more. */
size_t tbp_h2_acks_next(struct tbp_h2_acks *a, const uint8_t **p, size_t *n, const uint8_t **piece);

#endif
