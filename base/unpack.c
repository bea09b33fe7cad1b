/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip undone by zlib member after member, and a file of a zip. What a damaged stream still
 * yields is kept, since intact planes before the damage are worth having.
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

struct inflating {
    z_stream z;
    const struct tbp_input *packed;
    bool is_gzip;
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
    if (size > HARMLESS_BYTES && size / MOST_TIMES > f->fed)
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
        bool more = f->is_gzip && in->size - f->fed >= 2 && in->data[f->fed] == 0x1f &&
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

/* from: where the packed bytes begin. */
static int undo(const struct tbp_input *packed, size_t from, bool is_gzip, struct tbp_input *out,
                const char *path, struct tbp_error *err) {
    struct inflating f = {.packed = packed, .is_gzip = is_gzip, .fed = from};
    if (inflateInit2(&f.z, is_gzip ? 15 + 16 : -15) != Z_OK)
        return tbp_fail(err, TBP_E_MEMORY, "no memory to inflate '%s'", path);
    tbp_spill_init(&f.out, path);
    int status = tbp_guard_run(inflate_all, &f, err); /* the file may become shorter meanwhile */
    inflateEnd(&f.z);
    if (status)
        tbp_spill_release(&f.out);
    else
        status = tbp_spill_finish(&f.out, out, err);
    if (status)
        return status;
    out->is_unpacked = true;
    out->damaged = f.is_damaged;
    out->damage_offset = f.fed;
    if (!f.is_damaged && is_gzip)
        note_tail(out, packed, f.fed);
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
    return undo(&packed, file.from, false, out, path, err);
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
        status = undo(in, 0, true, &plain, path, err);
    else
        return TBP_OK;
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
