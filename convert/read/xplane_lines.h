/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of an xplane's lines into columns. Internal to read_xplane.c, which finds the lines
 * and reads what events need: metadata and the names of planes.
 * Thread-safety: one host at a time; the jobs of a call share it under a lock of their own.
 */
#ifndef TBP_CONVERT_READ_XPLANE_LINES_H
#define TBP_CONVERT_READ_XPLANE_LINES_H

#include "base/pool.h"
#include "convert/model/model.h"
#include "schemas/wire.h"

struct tbp_xline {
    size_t plane, line; /* numbers in host->planes, plane->lines */
    struct tbp_wire w;  /* its message, in host->input */
    bool is_cut;        /* the message ends where the file does, not where its length says */
};

/* Reads head and events of the lines, side by side on the pool, into host->planes[].lines[], as far
 * as host->wanted says; what is odd goes to host->ledger. Of the input, no more than the lines
 * being read need be in memory. */
int tbp_xlines_read(struct tbp_host *host, const struct tbp_xline *lines, size_t n,
                    struct tbp_pool *pool, struct tbp_error *err);

/* Where the bytes of a line really end whose length says too much. */
const uint8_t *tbp_xline_cut_end(const struct tbp_host *host, struct tbp_wire w);

#endif
