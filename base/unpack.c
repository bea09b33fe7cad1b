/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip undone by zlib member after member, and a file of a zip, which may be gzip once more. What a
 * damaged stream still yields is kept, since intact planes before the damage are worth having.
 */
#include "base/unpack.h"

#include "base/guard.h"
#include "base/spill.h"
#include "base/zip.h"

#include <string.h>
#include <zlib.h>

/* More than this many times its size, beyond a size that does no harm, no profile comes to: it is
 * made to fill the disk. (What deflate can do at most is 1032 times.) */
enum { HARMLESS_BYTES = 64 << 20, MOST_TIMES = 200, STRETCH_BYTES = 1 << 20 };

enum packing { GZIP, DEFLATE, STORED };

struct inflating {
    z_stream z;
    const struct tbp_input *packed;
    enum packing packing;
    double worth;     /* bytes on disk for each of the packed ones */
    size_t fed, left; /* left: packed bytes before it have left memory */
    bool is_damaged;
    struct tbp_spill out;
};

/* One call of zlib: its status in *zlib. */
static int inflate_some(struct inflating *f, int *zlib, struct tbp_error *err) {
    const size_t most = 1u << 30;
    uint8_t *at;
    size_t room, give = f->packed->size - f->fed;
    int status = tbp_spill_room(&f->out, &at, &room, err);
    if (status)
        return status;
    f->z.next_in = (Bytef *)(uintptr_t)(f->packed->data + f->fed);
    f->z.avail_in = (uInt)(give = give < most ? give : most);
    f->z.next_out = at;
    f->z.avail_out = (uInt)room;
    *zlib = inflate(&f->z, Z_NO_FLUSH);
    f->fed += give - f->z.avail_in;
    f->out.n += room - f->z.avail_out;
    uint64_t size = tbp_spill_size(&f->out);
    if (*zlib == Z_MEM_ERROR)
        return tbp_fail(err, TBP_E_MEMORY, "no memory to inflate '%s'", f->out.path);
    if (size > HARMLESS_BYTES && (double)size / MOST_TIMES > (double)f->fed * f->worth)
        return tbp_fail(err, TBP_E_LIMIT,
                        "'%s' is packed more than %d times (%llu bytes, and there is more): no "
                        "profile is",
                        f->out.path, MOST_TIMES, (unsigned long long)size);
    return TBP_OK;
}

static void tell(struct inflating *f) {
    if (f->fed - f->left < STRETCH_BYTES)
        return;
    tbp_input_drop_range(f->packed, f->left, f->fed - f->left);
    f->left = f->fed;
    if (f->packed->watch)
        f->packed->watch->tell(f->packed->watch->ctx, (double)f->fed / (double)f->packed->size / 2);
}

/* Undoes all members (of gzip, else the only one); stops at the first damage. */
static int inflate_all(void *ctx, struct tbp_error *err) {
    struct inflating *f = ctx;
    const struct tbp_input *in = f->packed;
    int zlib = Z_OK, status = TBP_OK;
    while (!status && (zlib == Z_OK || zlib == Z_BUF_ERROR)) {
        status = inflate_some(f, &zlib, err);
        tell(f);
        bool more = f->packing == GZIP && in->size - f->fed >= 2 && in->data[f->fed] == 0x1f &&
                    in->data[f->fed + 1] == 0x8b;
        if (zlib == Z_STREAM_END && more)
            zlib = inflateReset(&f->z);
        else if (zlib == Z_BUF_ERROR && f->fed == in->size)
            break; /* cut */
    }
    f->is_damaged = zlib != Z_STREAM_END;
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

static int copy_all(void *ctx, struct tbp_error *err) {
    struct inflating *f = ctx;
    int status = TBP_OK;
    while (!status && f->fed < f->packed->size) {
        size_t left = f->packed->size - f->fed, n = left < STRETCH_BYTES ? left : STRETCH_BYTES;
        status = tbp_spill_put(&f->out, f->packed->data + f->fed, n, err);
        f->fed += n;
        tell(f);
    }
    return status;
}

/* The packed bytes begin at f->fed; f->out gets what they hold. */
static int fill(struct inflating *f, const char *path, struct tbp_error *err) {
    enum { RAW = -15, WITH_HEADER = 15 + 16 };
    tbp_spill_init(&f->out, path);
    if (f->packing == STORED)
        return tbp_guard_run(copy_all, f, err);
    if (inflateInit2(&f->z, f->packing == GZIP ? WITH_HEADER : RAW) != Z_OK)
        return tbp_fail(err, TBP_E_MEMORY, "no memory to inflate '%s'", path);
    int status = tbp_guard_run(inflate_all, f, err); /* the file may become shorter meanwhile */
    inflateEnd(&f->z);
    return status;
}

static int undo(struct inflating *f, struct tbp_input *out, const char *path,
                struct tbp_error *err) {
    int status = fill(f, path, err);
    if (status)
        tbp_spill_release(&f->out);
    else
        status = tbp_spill_finish(&f->out, out, err);
    if (status)
        return status;
    out->is_unpacked = true;
    out->damaged = f->is_damaged;
    out->damage_offset = f->fed;
    if (!f->is_damaged && f->packing == GZIP)
        note_tail(out, f->packed, f->fed);
    return TBP_OK;
}

static int undo_zip(const struct tbp_input *in, const char *member, struct tbp_input *out,
                    const char *path, struct tbp_error *err) {
    struct tbp_zip_file file;
    struct tbp_input packed = *in;
    int status = tbp_zip_find(&file, in, member, path, err);
    if (status)
        return status;
    packed.size = file.end;
    struct inflating f = {.packed = &packed,
                          .packing = file.is_stored ? STORED : DEFLATE,
                          .worth = 1,
                          .fed = file.from};
    status = undo(&f, out, path, err);
    if (status == TBP_OK)
        out->damaged |= file.is_cut;
    return status;
}

static int undo_gzip(const struct tbp_input *in, double worth, struct tbp_input *out,
                     const char *path, struct tbp_error *err) {
    struct inflating f = {.packed = in, .packing = GZIP, .worth = worth};
    return undo(&f, out, path, err);
}

/* What was unpacked may be gzip itself: traces in artifacts of build servers, downloads that a
 * server packed once more. Bounds count from the bytes on disk. */
static int undo_inner(struct tbp_input *in, size_t disk_bytes, const char *path,
                      struct tbp_error *err) {
    struct tbp_input plain = {0};
    double part = (double)disk_bytes / (double)in->size;
    int status = undo_gzip(in, part < 1 ? part : 1, &plain, path, err);
    if (status == TBP_OK && in->damaged) {
        plain.damaged = true;
        plain.damage_offset = in->damage_offset;
    }
    tbp_input_release(in);
    if (status == TBP_OK)
        *in = plain;
    return status;
}

bool tbp_is_gzip(const struct tbp_input *in) {
    return in->size >= 2 && in->data[0] == 0x1f && in->data[1] == 0x8b;
}

bool tbp_is_packed(const struct tbp_input *in) {
    return tbp_zip_is(in) || tbp_is_gzip(in);
}

int tbp_unpack(struct tbp_input *in, const char *member, const char *path, struct tbp_error *err) {
    struct tbp_input plain = {0};
    int status;
    if (tbp_zip_is(in))
        status = undo_zip(in, member, &plain, path, err);
    else if (member)
        status = tbp_fail(err, TBP_E_NOT_FOUND, "'%s' names a file in what is no zip", path);
    else if (tbp_is_gzip(in))
        status = undo_gzip(in, 1, &plain, path, err);
    else
        return TBP_OK;
    if (status == TBP_OK && tbp_is_gzip(&plain))
        status = undo_inner(&plain, in->size, path, err);
    plain.watch = in->watch;
    tbp_input_release(in);
    if (status == TBP_OK)
        *in = plain;
    return status;
}

ssize_t tbp_unpack_head(const uint8_t *packed, size_t n, uint8_t *to, size_t room) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)packed, .avail_in = (uInt)n};
    z.next_out = to;
    z.avail_out = (uInt)room;
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return -1;
    int zlib = inflate(&z, Z_SYNC_FLUSH);
    size_t got = room - z.avail_out;
    inflateEnd(&z);
    return got || zlib == Z_STREAM_END ? (ssize_t)got : -1;
}
