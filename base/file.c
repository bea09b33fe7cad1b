/* SPDX-License-Identifier: Apache-2.0
 *
 * Input bytes: mapped where possible, read where not, unpacked by unpack.c.
 */
#include "base/file.h"

#include "base/mapped.h"
#include "base/spill.h"
#include "base/unpack.h"
#include "base/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_PART = 1 << 20 };

static int read_into(struct tbp_spill *s, int fd, struct tbp_error *err) {
    for (;;) {
        uint8_t *at;
        size_t room;
        int status = tbp_spill_room(s, &at, &room, err);
        if (status)
            return status;
        ssize_t k = read(fd, at, room);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return tbp_fail_errno(err, TBP_E_IO, "cannot read '%s'", s->path);
        if (k == 0)
            return TBP_OK;
        s->n += (size_t)k;
    }
}

static int read_all(struct tbp_input *in, int fd, const char *path, struct tbp_error *err) {
    struct tbp_spill s;
    tbp_spill_init(&s, path);
    int status = read_into(&s, fd, err);
    if (status)
        tbp_spill_release(&s);
    return status ? status : tbp_spill_finish(&s, in, err);
}

static int map_or_read(struct tbp_input *in, int fd, const char *path, struct tbp_error *err) {
    struct stat st;
    if (fstat(fd, &st))
        return tbp_fail_errno(err, TBP_E_IO, "cannot stat '%s'", path);
    if (S_ISDIR(st.st_mode))
        return tbp_fail(err, TBP_E_USAGE, "'%s' is a directory, not a profile file", path);
    if (S_ISREG(st.st_mode) && st.st_size > 0 && (uint64_t)st.st_size <= SIZE_MAX / 2) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED) {
            madvise(p, (size_t)st.st_size, MADV_SEQUENTIAL);
            *in = (struct tbp_input){.data = p, .size = (size_t)st.st_size, .mapped = true};
            tbp_file_stamp_fd(&in->stamp, fd, path, NULL);
            tbp_mapped_add(p, in->size, path);
            return TBP_OK;
        }
    }
    return read_all(in, fd, path, err);
}

int tbp_input_open_watched(struct tbp_input *in, const char *path, const struct tbp_watch *watch,
                           struct tbp_error *err) {
    bool is_stdin = strcmp(path, "-") == 0;
    struct tbp_zip_path zip;
    bool is_in_zip = !is_stdin && tbp_zip_path_split(&zip, path);
    int fd = is_stdin ? STDIN_FILENO : open(is_in_zip ? zip.file : path, O_RDONLY | O_CLOEXEC);
    *in = (struct tbp_input){0};
    if (fd < 0)
        return tbp_fail_errno(err, errno == ENOENT ? TBP_E_NOT_FOUND : TBP_E_IO, "cannot open '%s'",
                              path);
    int status = map_or_read(in, fd, path, err);
    if (!is_stdin)
        close(fd);
    in->watch = watch;
    return status ? status : tbp_unpack(in, is_in_zip ? zip.member : NULL, path, err);
}

int tbp_input_open(struct tbp_input *in, const char *path, struct tbp_error *err) {
    return tbp_input_open_watched(in, path, NULL, err);
}

void tbp_ranges_add(struct tbp_ranges *r, uint64_t offset, uint64_t size) {
    enum { PAGE = 1 << 12 };
    struct tbp_range *last = r->n ? &r->at[r->n - 1] : NULL;
    bool is_near = last && offset < last->offset + last->size + PAGE;
    if (is_near || r->n == TBP_RANGES_MOST) {
        uint64_t end = offset + size, known = last->offset + last->size;
        last->size = (end > known ? end : known) - last->offset;
        return;
    }
    r->at[r->n++] = (struct tbp_range){offset, size};
}

static uint64_t sum_of(const struct tbp_ranges *r) {
    uint64_t sum = 0;
    for (size_t i = 0; i < r->n; i++)
        sum += r->at[i].size;
    return sum;
}

struct copying {
    uint8_t *data;
    struct tbp_range range; /* that is being copied */
    int fd;
    const char *path;
    _Atomic size_t end; /* of what could be read: size, or less if the file has become shorter */
};

/* Fresh pages all at once, which costs half as much as one after another while they are written
 * to. Where the system cannot, they come as ever. */
static void bring_pages(uint8_t *data, size_t size) {
#ifdef MADV_POPULATE_WRITE
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)data + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)data + size) / page * page;
    if (end > from)
        madvise((void *)from, end - from, MADV_POPULATE_WRITE);
#else
    (void)data, (void)size;
#endif
}

static int copy_part(void *ctx, size_t part, struct tbp_error *err) {
    struct copying *c = ctx;
    size_t at = c->range.offset + part * COPY_PART, stop = c->range.offset + c->range.size;
    size_t end = stop - at < COPY_PART ? stop : at + COPY_PART;
    bring_pages(c->data + at, end - at);
    while (at < end) {
        ssize_t k = pread(c->fd, c->data + at, end - at, (off_t)at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return tbp_fail_errno(err, TBP_E_IO, "cannot read '%s'", c->path);
        if (k == 0)
            break;
        at += (size_t)k;
    }
    size_t known = c->end;
    while (at < end && at < known && !atomic_compare_exchange_weak(&c->end, &known, at))
        ;
    return TBP_OK;
}

/* Parts of a heap that was used before would have to be cleared, all of them. */
static uint8_t *room_for(size_t size, bool is_sparse) {
    if (!is_sparse)
        return malloc(size ? size : 1);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* At most size bytes; fewer if the file has become shorter. Huge pages are not asked for: they make
 * this twice as fast at best and five times as slow where the system has to make room for them
 * first. */
static int read_copy(struct tbp_input *in, int fd, size_t size, const struct tbp_ranges *ranges,
                     const char *path, struct tbp_pool *pool, struct tbp_error *err) {
    const uint64_t absent_bytes = size - sum_of(ranges);
    struct copying c = {room_for(size, absent_bytes > 0), .fd = fd, .path = path, .end = size};
    int status = TBP_OK;
    if (!c.data)
        return tbp_fail(err, TBP_E_MEMORY, "no memory for '%s' (%zu bytes)", path, size);
    *in = (struct tbp_input){.data = c.data, .size = size, .absent_bytes = absent_bytes};
    for (size_t i = 0; i < ranges->n && !status; i++) {
        c.range = ranges->at[i];
        status = tbp_pool_for(pool, (c.range.size + COPY_PART - 1) / COPY_PART, copy_part, &c, err);
    }
    if (!absent_bytes)
        in->size = c.end; /* else zeros stand for what is not there any more, too */
    return status;
}

int tbp_input_open_copy(struct tbp_input *in, const char *path, tbp_choose_fn *choose,
                        struct tbp_file_stamp *stamp, bool *is_torn, struct tbp_pool *pool,
                        struct tbp_error *err) {
    *in = (struct tbp_input){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return tbp_fail_errno(err, errno == ENOENT ? TBP_E_NOT_FOUND : TBP_E_IO, "cannot open '%s'",
                              path);
    struct tbp_file_stamp after = {0};
    struct tbp_ranges ranges = {.n = 0};
    int status = tbp_file_stamp_fd(stamp, fd, path, err);
    if (!status && choose)
        choose(&ranges, fd, stamp->size_bytes);
    if (!ranges.n)
        tbp_ranges_add(&ranges, 0, stamp->size_bytes);
    if (!status)
        status = read_copy(in, fd, (size_t)stamp->size_bytes, &ranges, path, pool, err);
    if (!status)
        status = tbp_file_stamp_fd(&after, fd, path, err);
    close(fd);
    if (status) {
        tbp_input_release(in);
        return status;
    }
    *is_torn = in->size != stamp->size_bytes || !tbp_file_stamp_eq(stamp, &after);
    return tbp_unpack(in, NULL, path, err);
}
