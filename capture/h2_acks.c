/* SPDX-License-Identifier: Apache-2.0
 *
 * Superfluous acknowledgements of SETTINGS; see h2_acks.h.
 */
#include "capture/h2_acks.h"

#include <stdbool.h>
#include <string.h>

enum { SETTINGS = 4, FLAG_ACK = 1 };

static size_t pass(size_t *left, const uint8_t **p, size_t *n, const uint8_t **piece) {
    size_t take = *left < *n ? *left : *n;
    *piece = *p;
    *p += take;
    *n -= take;
    *left -= take;
    return take;
}

/* Is the frame whose head is complete an acknowledgement that nobody waits for? */
static bool is_superfluous(struct tbp_h2_acks *a) {
    if (a->head[3] != SETTINGS || !(a->head[4] & FLAG_ACK) || a->payload_left)
        return false;
    if (a->n_allowed == 0)
        return true;
    a->n_allowed--;
    return false;
}

uint64_t tbp_h2_acks_open_frame(const struct tbp_h2_acks *a) {
    if (a->head_n)
        return a->n_frames + 1;
    return a->payload_left ? a->n_frames : 0;
}

size_t tbp_h2_acks_next(struct tbp_h2_acks *a, const uint8_t **p, size_t *n,
                        const uint8_t **piece) {
    if (a->preface_left && *n)
        return pass(&a->preface_left, p, n, piece);
    while (*n) {
        if (a->payload_left)
            return pass(&a->payload_left, p, n, piece);
        size_t take = TBP_H2_HEAD - a->head_n < *n ? TBP_H2_HEAD - a->head_n : *n;
        memcpy(a->head + a->head_n, *p, take);
        a->head_n += take;
        *p += take;
        *n -= take;
        if (a->head_n < TBP_H2_HEAD)
            return 0;
        a->head_n = 0;
        a->n_frames++;
        a->payload_left = (size_t)a->head[0] << 16 | (size_t)a->head[1] << 8 | a->head[2];
        if (is_superfluous(a))
            continue;
        *piece = a->head;
        return TBP_H2_HEAD;
    }
    return 0;
}
