/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of one session that were made already: people go back and forth between pages. Kept are
 * the latest, packed ones only, up to TBP_BODIES_BYTES together.
 * Ownership: copies, the struct's own until release. Thread-safety: all functions, from many
 * threads.
 */
#ifndef TBP_CONVERT_BACKEND_BODIES_H
#define TBP_CONVERT_BACKEND_BODIES_H

#include "base/status.h"
#include "base/str.h"
#include "plugin_data/sink.h"

#include <pthread.h>

enum { TBP_BODIES_BYTES = 8 << 20 };

struct tbp_body;
struct tbp_bodies {
    pthread_mutex_t lock;
    struct tbp_body *newest;
    size_t size_bytes;
};

void tbp_bodies_init(struct tbp_bodies *b);
void tbp_bodies_release(struct tbp_bodies *b);
/* Appends the body of that question; false: there is none. */
bool tbp_bodies_get(struct tbp_bodies *b, struct tbp_str question, struct tbp_sink *out);
/* Keeps a copy, unless it is too large or there is no memory for it. */
void tbp_bodies_put(struct tbp_bodies *b, struct tbp_str question, const void *data, size_t size);
size_t tbp_bodies_size(struct tbp_bodies *b);

#endif
