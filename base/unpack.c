/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip undone by zlib member after member, and a zip of one file. What a damaged stream still
 * yields is kept, since intact planes before the damage are worth having.
 */
#include "base/unpack.h"

#include "base/guard.h"
#include "base/spill.h"

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
    return undo(in, at, false, out, path, err);
}

int tbp_unpack(struct tbp_input *in, const char *path, struct tbp_error *err) {
    struct tbp_input plain = {0};
    int status;
    if (in->size >= 2 && in->data[0] == 0x1f && in->data[1] == 0x8b)
        status = undo(in, 0, true, &plain, path, err);
    else if (in->size >= 4 && memcmp(in->data, "PK\3\4", 4) == 0)
        status = undo_zip(in, &plain, path, err);
    else
        return TBP_OK;
    plain.watch = in->watch;
    tbp_input_release(in);
    if (status == TBP_OK)
        *in = plain;
    return status;
}
