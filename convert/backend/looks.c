/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of stamps; see looks.h.
 */
#include "convert/backend/looks.h"

#include "convert/read/reader.h"

#include <string.h>
#include <unistd.h>

void tbp_looks_init(struct tbp_looks *l) {
    memset(l->at, 0, sizeof l->at); /* no file has inode 0 */
    pthread_mutex_init(&l->lock, NULL);
}

void tbp_looks_release(struct tbp_looks *l) {
    pthread_mutex_destroy(&l->lock);
}

static struct tbp_file_stamp *place_of(struct tbp_looks *l, const struct tbp_file_stamp *stamp) {
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    return &l->at[(stamp->inode + (uint64_t)stamp->mtime_ns) * golden >> (64 - TBP_LOOKS_BITS)];
}

static bool is_known(struct tbp_looks *l, const struct tbp_file_stamp *stamp) {
    pthread_mutex_lock(&l->lock);
    bool is_there = tbp_file_stamp_eq(place_of(l, stamp), stamp);
    pthread_mutex_unlock(&l->lock);
    return is_there;
}

static void keep(struct tbp_looks *l, const struct tbp_file_stamp *stamp) {
    pthread_mutex_lock(&l->lock);
    *place_of(l, stamp) = *stamp;
    pthread_mutex_unlock(&l->lock);
}

bool tbp_looks_may_be_profile(struct tbp_looks *l, const char *path,
                              const struct tbp_file_stamp *stamp) {
    if (l && is_known(l, stamp) && access(path, R_OK) == 0)
        return true;
    bool may_be = tbp_file_may_be_profile(path);
    if (l && may_be && !tbp_file_stamp_is_hasty(stamp))
        keep(l, stamp);
    return may_be;
}
