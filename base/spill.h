/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that come piece by piece, nobody knows how many: held in memory up to a bound, beyond it in
 * a file that is mapped in the end, so that the system can take back the memory they are in.
 *
 *     tbp_spill_init(&s, path);                              // for the words of errors
 *     while (!tbp_spill_room(&s, &at, &room, err) && …)      // put up to `room` bytes there
 *         s.n += k;
 *     tbp_spill_finish(&s, &in, err);                        // or tbp_spill_release(&s)
 *
 * The file is in $TMPDIR, else in /var/tmp (which is on disk where /tmp may be in memory), else in
 * /tmp. It has no name: nothing is left of it however the process ends. Owns memory and file until
 * it is finished or released.
 */
#ifndef TBP_BASE_SPILL_H
#define TBP_BASE_SPILL_H

#include "base/input.h"

enum { TBP_SPILL_MOST_HELD_BYTES = 64 << 20 };

struct tbp_spill {
    const char *path; /* what the bytes are of */
    uint8_t *data;    /* those that are not in the file */
    size_t n, cap;
    uint64_t written_bytes;
    const char *folder; /* of the file; NULL: there is none yet */
    int fd;
};

void tbp_spill_init(struct tbp_spill *s, const char *path);
/* Where bytes can be put, and how many: at least a megabyte. */
int tbp_spill_room(struct tbp_spill *s, uint8_t **at, size_t *room, struct tbp_error *err);
int tbp_spill_put(struct tbp_spill *s, const void *bytes, size_t n, struct tbp_error *err);
/* *in owns all bytes from now on; s is released, also on failure. */
int tbp_spill_finish(struct tbp_spill *s, struct tbp_input *in, struct tbp_error *err);
void tbp_spill_release(struct tbp_spill *s);
static inline uint64_t tbp_spill_size(const struct tbp_spill *s) {
    return s->written_bytes + s->n;
}

#endif
