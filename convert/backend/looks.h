/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that begin like profiles, by their stamps: each request looks at all files of its run, and
 * opening one costs twenty times what its stamp does. Files that are none are looked at again,
 * since a right to read may come without a new stamp, and so are those written within the clock's
 * grain. A table of fixed size, in which a newer file may take the place of another. Thread-safety:
 * all functions, from many threads.
 */
#ifndef TBP_CONVERT_BACKEND_LOOKS_H
#define TBP_CONVERT_BACKEND_LOOKS_H

#include "base/input.h"

#include <pthread.h>

enum { TBP_LOOKS_BITS = 10 };
struct tbp_looks {
    pthread_mutex_t lock;
    struct tbp_file_stamp at[1 << TBP_LOOKS_BITS];
};

void tbp_looks_init(struct tbp_looks *l);
void tbp_looks_release(struct tbp_looks *l);
/* tbp_file_may_be_profile of the file with that stamp. l may be NULL. */
bool tbp_looks_may_be_profile(struct tbp_looks *l, const char *path,
                              const struct tbp_file_stamp *stamp);

#endif
