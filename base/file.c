/* SPDX-License-Identifier: Apache-2.0
 *
 * Input bytes: mapped where possible, read where not, gzip undone by zlib member after member. What
 * a damaged gzip stream still yields is kept, since intact planes before the damage are worth
 * having.
 */
#include "base/file.h"

#include "base/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { READ_CHUNK = 1 << 20, COPY_PART = 8 << 20 };

static int grow(uint8_t **data, size_t *cap, size_t need) {
    if (need <= *cap)
        return TBP_OK;
    size_t cap2 = *cap + *cap / 2 + READ_CHUNK;
    uint8_t *p = realloc(*data, cap2 < need ? need : cap2);
    if (!p)
        return TBP_E_MEMORY;
    *data = p;
    *cap = cap2 < need ? need : cap2;
    return TBP_OK;
}

static int read_all(struct tbp_input *in, int fd, const char *path, struct tbp_error *err) {
    uint8_t *data = NULL;
    size_t n = 0, cap = 0;
    for (;;) {
        if (grow(&data, &cap, n + READ_CHUNK)) {
            free(data);
            return tbp_fail(err, TBP_E_MEMORY, "no memory for '%s' (%zu bytes so far)", path, n);
        }
        ssize_t k = read(fd, data + n, cap - n);
        if (k == 0)
            break;
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            free(data);
            return tbp_fail_errno(err, TBP_E_IO, "cannot read '%s'", path);
        }
        n += (size_t)k;
    }
    *in = (struct tbp_input){.data = data, .size = n};
    return TBP_OK;
}

static int stamp_of(struct tbp_file_stamp *stamp, const struct stat *st, const char *path,
                    struct tbp_error *err) {
    if (!S_ISREG(st->st_mode))
        return tbp_fail(err, TBP_E_IO, "'%s' is not a file", path);
    *stamp =
        (struct tbp_file_stamp){(uint64_t)st->st_dev, (uint64_t)st->st_ino, (uint64_t)st->st_size,
                                (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec};
    return TBP_OK;
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
            stamp_of(&in->stamp, &st, path, NULL);
            tbp_mapped_add(p, in->size, path);
            return TBP_OK;
        }
    }
    return read_all(in, fd, path, err);
}

/* More than this many times its size, beyond a size that does no harm, no profile comes to: it is
 * made to fill the memory. (What deflate can do at most is 1032 times.) */
enum { HARMLESS_BYTES = 64 << 20, MOST_TIMES = 200 };

struct inflating {
    z_stream z;
    uint8_t *data;
    size_t n, cap, fed;
    bool is_bomb;
};

/* One call of zlib; Z_MEM_ERROR if there is no memory. */
static int inflate_some(struct inflating *f, const struct tbp_input *packed) {
    const size_t most = 1u << 30;
    if (grow(&f->data, &f->cap, f->n + READ_CHUNK))
        return Z_MEM_ERROR;
    size_t give = packed->size - f->fed < most ? packed->size - f->fed : most;
    size_t room = f->cap - f->n < most ? f->cap - f->n : most;
    f->z.next_in = (Bytef *)(uintptr_t)(packed->data + f->fed);
    f->z.avail_in = (uInt)give;
    f->z.next_out = f->data + f->n;
    f->z.avail_out = (uInt)room;
    int status = inflate(&f->z, Z_NO_FLUSH);
    f->fed += give - f->z.avail_in;
    f->n += room - f->z.avail_out;
    f->is_bomb = f->n > HARMLESS_BYTES && f->n / MOST_TIMES > f->fed;
    return status;
}

/* What follows the last gzip member, but for zeros: tapes and block devices fill up with them. */
static void note_tail(struct tbp_input *out, const struct tbp_input *packed, size_t from) {
    for (size_t i = from; i < packed->size; i++) {
        if (packed->data[i] == 0)
            continue;
        out->tail_offset = from;
        out->tail_bytes = packed->size - from;
        return;
    }
}

/* Undoes all members (of gzip, else the only one); stops at the first damage and says where. */
static int inflate_all(const struct tbp_input *packed, int window_bits, struct tbp_input *out,
                       const char *path, struct tbp_error *err) {
    struct inflating f = {.fed = 0};
    if (inflateInit2(&f.z, window_bits) != Z_OK)
        return tbp_fail(err, TBP_E_MEMORY, "no memory to inflate '%s'", path);
    int status = Z_OK;
    while (!f.is_bomb && (status == Z_OK || status == Z_BUF_ERROR)) {
        status = inflate_some(&f, packed);
        bool more = window_bits > 0 && packed->size - f.fed >= 2 && packed->data[f.fed] == 0x1f &&
                    packed->data[f.fed + 1] == 0x8b;
        if (status == Z_STREAM_END && more)
            status = inflateReset(&f.z);
        else if (status == Z_BUF_ERROR && f.fed == packed->size)
            break; /* cut */
    }
    inflateEnd(&f.z);
    if (status == Z_MEM_ERROR || f.is_bomb)
        free(f.data);
    if (status == Z_MEM_ERROR)
        return tbp_fail(err, TBP_E_MEMORY,
                        "no memory to inflate '%s' (%zu bytes so far): unpack it first, which "
                        "leaves it on disk",
                        path, f.n);
    if (f.is_bomb)
        return tbp_fail(err, TBP_E_LIMIT,
                        "'%s' is packed more than %d times (%zu bytes, and there is more): no "
                        "profile is",
                        path, MOST_TIMES, f.n);
    *out = (struct tbp_input){
        .data = f.data, .size = f.n, .damaged = status != Z_STREAM_END, .damage_offset = f.fed};
    if (!out->damaged && window_bits > 0)
        note_tail(out, packed, f.fed);
    return TBP_OK;
}

static unsigned le16(const uint8_t *p) {
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

/* How many files a zip holds, by the record at its end; 0 if there is none. */
static unsigned files_in_zip(const struct tbp_input *in) {
    enum { RECORD = 22, REACH = 66000, COUNT = 10 };
    size_t from = in->size > REACH ? in->size - REACH : 0;
    for (size_t i = in->size < RECORD ? 0 : in->size - RECORD + 1; i-- > from;)
        if (memcmp(in->data + i, "PK\5\6", 4) == 0)
            return le16(in->data + i + COUNT);
    return 0;
}

/* The only file of a zip: what follows its header. */
static int undo_zip(const struct tbp_input *in, struct tbp_input *out, const char *path,
                    struct tbp_error *err) {
    enum { HEADER = 30, METHOD = 8, NAME = 26, EXTRA = 28, DEFLATED = 8 };
    unsigned n = files_in_zip(in);
    size_t at = in->size < HEADER ? in->size
                                  : (size_t)HEADER + le16(in->data + NAME) + le16(in->data + EXTRA);
    if (n > 1)
        return tbp_fail(err, TBP_E_UNSUPPORTED, "'%s' is a zip of %u files: unpack it first", path,
                        n);
    if (at >= in->size || le16(in->data + METHOD) != DEFLATED)
        return tbp_fail(err, TBP_E_UNSUPPORTED,
                        "'%s' is a zip that is not packed by deflate: unpack it first", path);
    struct tbp_input member = {.data = in->data + at, .size = in->size - at};
    return inflate_all(&member, -15, out, path, err);
}

/* Replaces packed bytes by what they hold. */
static int unpack(struct tbp_input *in, const char *path, struct tbp_error *err) {
    struct tbp_input plain;
    int status;
    if (in->size >= 2 && in->data[0] == 0x1f && in->data[1] == 0x8b)
        status = inflate_all(in, 15 + 16, &plain, path, err);
    else if (in->size >= 4 && memcmp(in->data, "PK\3\4", 4) == 0)
        status = undo_zip(in, &plain, path, err);
    else
        return TBP_OK;
    tbp_input_release(in);
    if (status == TBP_OK)
        *in = plain;
    return status;
}

int tbp_input_open(struct tbp_input *in, const char *path, struct tbp_error *err) {
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    *in = (struct tbp_input){0};
    if (fd < 0)
        return tbp_fail_errno(err, errno == ENOENT ? TBP_E_NOT_FOUND : TBP_E_IO, "cannot open '%s'",
                              path);
    int status = map_or_read(in, fd, path, err);
    if (!is_stdin)
        close(fd);
    return status ? status : unpack(in, path, err);
}

int tbp_file_stamp(struct tbp_file_stamp *stamp, const char *path, struct tbp_error *err) {
    struct stat st;
    if (stat(path, &st))
        return tbp_fail_errno(err, errno == ENOENT || errno == ENOTDIR ? TBP_E_NOT_FOUND : TBP_E_IO,
                              "cannot find '%s'", path);
    return stamp_of(stamp, &st, path, err);
}

static int stamp_fd(struct tbp_file_stamp *stamp, int fd, const char *path, struct tbp_error *err) {
    struct stat st;
    if (fstat(fd, &st))
        return tbp_fail_errno(err, TBP_E_IO, "cannot stat '%s'", path);
    return stamp_of(stamp, &st, path, err);
}

struct copying {
    uint8_t *data;
    size_t size;
    int fd;
    const char *path;
    _Atomic size_t end; /* of what could be read: size, or less if the file has become shorter */
};

static int copy_part(void *ctx, size_t part, struct tbp_error *err) {
    struct copying *c = ctx;
    size_t at = part * COPY_PART, end = c->size - at < COPY_PART ? c->size : at + COPY_PART;
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

/* At most size bytes; fewer if the file has become shorter. Huge pages are not asked for: they make
 * this twice as fast at best and five times as slow where the system has to make room for them
 * first. */
static int read_copy(struct tbp_input *in, int fd, size_t size, const char *path,
                     struct tbp_pool *pool, struct tbp_error *err) {
    struct copying c = {malloc(size ? size : 1), size, fd, path, size};
    if (!c.data)
        return tbp_fail(err, TBP_E_MEMORY, "no memory for '%s' (%zu bytes)", path, size);
    int status = tbp_pool_for(pool, (size + COPY_PART - 1) / COPY_PART, copy_part, &c, err);
    if (status) {
        free(c.data);
        return status;
    }
    *in = (struct tbp_input){.data = c.data, .size = c.end};
    return TBP_OK;
}

int tbp_input_open_copy(struct tbp_input *in, const char *path, struct tbp_file_stamp *stamp,
                        bool *is_torn, struct tbp_pool *pool, struct tbp_error *err) {
    *in = (struct tbp_input){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return tbp_fail_errno(err, errno == ENOENT ? TBP_E_NOT_FOUND : TBP_E_IO, "cannot open '%s'",
                              path);
    struct tbp_file_stamp after = {0};
    int status = stamp_fd(stamp, fd, path, err);
    if (!status)
        status = read_copy(in, fd, (size_t)stamp->size_bytes, path, pool, err);
    if (!status)
        status = stamp_fd(&after, fd, path, err);
    close(fd);
    if (status) {
        tbp_input_release(in);
        return status;
    }
    *is_torn = in->size != stamp->size_bytes || !tbp_file_stamp_eq(stamp, &after);
    return unpack(in, path, err);
}

void tbp_input_release(struct tbp_input *in) {
    if (in->mapped) {
        tbp_mapped_remove(in->data);
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
