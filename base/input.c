/* SPDX-License-Identifier: Apache-2.0
 *
 * What is done with open inputs; see input.h.
 */
#include "base/input.h"

#include "base/mapped.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t ns_of(const struct timespec *t) {
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static int stamp_of(struct tbp_file_stamp *stamp, const struct stat *st, const char *path,
                    struct tbp_error *err) {
    if (!S_ISREG(st->st_mode))
        return tbp_fail(err, TBP_E_IO, "'%s' is not a file", path);
    *stamp = (struct tbp_file_stamp){.device = (uint64_t)st->st_dev,
                                     .inode = (uint64_t)st->st_ino,
                                     .size_bytes = (uint64_t)st->st_size,
                                     .mtime_ns = ns_of(&st->st_mtim),
                                     .ctime_ns = ns_of(&st->st_ctim)};
    return TBP_OK;
}

int tbp_file_stamp(struct tbp_file_stamp *stamp, const char *path, struct tbp_error *err) {
    struct stat st;
    if (stat(path, &st))
        return tbp_fail_errno(err, errno == ENOENT || errno == ENOTDIR ? TBP_E_NOT_FOUND : TBP_E_IO,
                              "cannot find '%s'", path);
    return stamp_of(stamp, &st, path, err);
}

int tbp_file_stamp_fd(struct tbp_file_stamp *stamp, int fd, const char *path,
                      struct tbp_error *err) {
    struct stat st;
    if (fstat(fd, &st))
        return tbp_fail_errno(err, TBP_E_IO, "cannot stat '%s'", path);
    return stamp_of(stamp, &st, path, err);
}

static bool is_within_grain(int64_t a_ns, int64_t b_ns) {
    enum { CLOCK_GRAIN_NS = 20 * 1000 * 1000 }; /* at worst */
    return a_ns > b_ns - CLOCK_GRAIN_NS && a_ns < b_ns + CLOCK_GRAIN_NS;
}

/* Either time: that of a copy is the one of its original, and the change itself may be of now. */
bool tbp_file_stamp_is_hasty(const struct tbp_file_stamp *stamp) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return is_within_grain(stamp->mtime_ns, ns_of(&now)) ||
           is_within_grain(stamp->ctime_ns, ns_of(&now));
}

void tbp_input_release(struct tbp_input *in) {
    if (in->mapped) {
        tbp_mapped_remove(in->data);
        munmap((void *)(uintptr_t)in->data, in->size);
    } else if (in->absent_bytes) {
        munmap((void *)(uintptr_t)in->data, in->size);
    } else if (!in->is_borrowed) {
        free((void *)(uintptr_t)in->data);
    }
    *in = (struct tbp_input){0};
}

bool tbp_input_is_torn(const struct tbp_input *in, const char *path) {
    struct tbp_file_stamp now;
    if (!in->mapped || tbp_file_stamp(&now, path, NULL) != TBP_OK)
        return false;
    bool is_same_file = now.device == in->stamp.device && now.inode == in->stamp.inode;
    return is_same_file && !tbp_file_stamp_eq(&now, &in->stamp);
}

void tbp_input_drop_range(const struct tbp_input *in, uint64_t from, uint64_t size) {
    enum { WORTH_BYTES = 1 << 20 };
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = (from + page - 1) / page * page, end = (from + size) / page * page;
    if (in->mapped && size >= WORTH_BYTES && end > first)
        madvise((void *)(uintptr_t)(in->data + first), end - first, MADV_DONTNEED);
}

void tbp_input_drop_pages(const struct tbp_input *in) {
    if (in->mapped)
        madvise((void *)(uintptr_t)in->data, in->size, MADV_DONTNEED);
}

void tbp_input_tell(const struct tbp_input *in, uint64_t at) {
    double part = in->size ? (double)at / (double)in->size : 1;
    if (in->watch)
        in->watch->tell(in->watch->ctx, in->is_unpacked ? (1 + part) / 2 : part);
}
