/* SPDX-License-Identifier: Apache-2.0
 *
 * See zip.h. What does not fit 32 bits stands elsewhere (Zip64): in a second record at the end, in
 * an extra field of an entry. Archives in several parts are not read.
 */
#include "base/zip.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { STORED = 0, DEFLATED = 8, NAMES_TOLD = 10, ELSEWHERE = UINT32_MAX };

bool tbp_zip_path_split(struct tbp_zip_path *out, const char *path) {
    static const char end[] = ".zip:";
    struct stat st;
    if (stat(path, &st) == 0)
        return false;
    for (const char *p = path; (p = strstr(p, end)); p++) {
        size_t n = (size_t)(p - path) + sizeof end - 2;
        out->member = path + n + 1;
        if (n >= sizeof out->file || !*out->member)
            return false;
        memcpy(out->file, path, n);
        out->file[n] = '\0';
        if (stat(out->file, &st) == 0 && S_ISREG(st.st_mode))
            return true;
    }
    return false;
}

bool tbp_zip_is(const struct tbp_input *in) {
    return in->size >= 4 && memcmp(in->data, "PK\3\4", 4) == 0;
}

static unsigned le16(const uint8_t *p) {
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

static uint32_t le32(const uint8_t *p) {
    return le16(p) | (uint32_t)le16(p + 2) << 16;
}

static uint64_t le64(const uint8_t *p) {
    return le32(p) | (uint64_t)le32(p + 4) << 32;
}

/* ---- the directory ---- */

struct directory {
    const struct tbp_input *in;
    size_t at, end; /* of the entries that are left */
};

struct entry {
    struct tbp_str name;
    unsigned method, flags;
    uint64_t size, header; /* packed bytes; where its own header stands */
};

/* Where the entries lie, of what the record at `end` tells, or that of Zip64 before it. */
static struct directory entries_of(const struct tbp_input *in, size_t end) {
    enum { SIZE = 12, OFFSET = 16, LOCATOR = 20, RECORD64 = 56, SIZE64 = 40, OFFSET64 = 48 };
    const uint8_t *record = in->data + end;
    uint64_t size = le32(record + SIZE), at = le32(record + OFFSET);
    if (end >= LOCATOR && memcmp(record - LOCATOR, "PK\6\7", 4) == 0) {
        uint64_t where = le64(record - LOCATOR + 8);
        bool is_there = where <= end - LOCATOR && end - LOCATOR - where >= RECORD64;
        if (is_there && memcmp(in->data + where, "PK\6\6", 4) == 0) {
            size = le64(in->data + where + SIZE64);
            at = le64(in->data + where + OFFSET64);
        }
    }
    bool fits = at <= end && size <= end - at;
    return (struct directory){in, fits ? (size_t)at : 0, fits ? (size_t)(at + size) : 0};
}

/* By the record at the end of the archive; without it there are no entries. */
static struct directory directory_of(const struct tbp_input *in) {
    enum { RECORD = 22, REACH = 66000 };
    size_t least = in->size > REACH ? in->size - REACH : 0;
    for (size_t i = in->size < RECORD ? 0 : in->size - RECORD + 1; i-- > least;)
        if (memcmp(in->data + i, "PK\5\6", 4) == 0)
            return entries_of(in, i);
    return (struct directory){in, 0, 0};
}

/* Numbers of an entry that do not fit 32 bits, from its extra fields: those that are asked for
 * stand there, in this order. */
static void read_extra(struct entry *e, uint32_t plain_size, struct tbp_str extra) {
    enum { ZIP64 = 1, HEAD = 4 };
    const uint8_t *p = (const uint8_t *)extra.p, *end = p + extra.n;
    while (end - p >= HEAD && end - p - HEAD >= le16(p + 2)) {
        const uint8_t *at = p + HEAD, *to = at + le16(p + 2);
        bool is_it = le16(p) == ZIP64;
        p = to;
        if (!is_it)
            continue;
        at += plain_size == ELSEWHERE ? 8 : 0;
        for (int i = 0; i < 2; i++) {
            uint64_t *number = i == 0 ? &e->size : &e->header;
            if (*number != ELSEWHERE || to - at < 8)
                continue;
            *number = le64(at);
            at += 8;
        }
    }
}

/* The next file; folders have entries, too. */
static bool next_file(struct directory *d, struct entry *e) {
    enum { ENTRY = 46, FLAGS = 8, METHOD = 10, SIZE = 20, PLAIN_SIZE = 24, HEADER = 42 };
    enum { NAME = 28, EXTRA = 30, COMMENT = 32 };
    while (d->end - d->at >= ENTRY && memcmp(d->in->data + d->at, "PK\1\2", 4) == 0) {
        const uint8_t *p = d->in->data + d->at;
        size_t n = le16(p + NAME), rest = n + le16(p + EXTRA) + le16(p + COMMENT);
        if (rest > d->end - d->at - ENTRY)
            return false;
        *e = (struct entry){{(const char *)p + ENTRY, n},
                            le16(p + METHOD),
                            le16(p + FLAGS),
                            le32(p + SIZE),
                            le32(p + HEADER)};
        read_extra(e, le32(p + PLAIN_SIZE),
                   (struct tbp_str){(const char *)p + ENTRY + n, le16(p + EXTRA)});
        d->at += ENTRY + rest;
        if (n && e->name.p[n - 1] != '/')
            return true;
    }
    return false;
}

/* "'a', 'b' and 3 more" */
static void tell_names(const struct tbp_input *in, char *text, size_t size) {
    struct directory d = directory_of(in);
    struct entry e;
    size_t n = 0, at = 0;
    snprintf(text, size, "%s", "nothing that its directory names");
    for (; next_file(&d, &e); n++)
        if (n < NAMES_TOLD && at < size)
            at += (size_t)snprintf(text + at, size - at, "%s'%.*s'", n ? ", " : "",
                                   (int)(e.name.n < 60 ? e.name.n : 60), e.name.p);
    if (n > NAMES_TOLD && at < size)
        snprintf(text + at, size - at, " and %zu more", n - NAMES_TOLD);
}

/* ---- one file ---- */

/* What its own header says where no directory does. */
static void read_header(struct entry *e, const uint8_t *header) {
    enum { FLAGS = 6, METHOD = 8, SIZE = 18, SIZE_FOLLOWS = 8 };
    e->flags = le16(header + FLAGS);
    e->method = le16(header + METHOD);
    e->size = le32(header + SIZE);
    if (e->flags & SIZE_FOLLOWS || e->size == ELSEWHERE)
        e->size = SIZE_MAX;
}

static int place_of(struct tbp_zip_file *out, const struct tbp_input *in, struct entry *e,
                    const char *path, struct tbp_error *err) {
    enum { HEADER = 30, NAME = 26, EXTRA = 28, ENCRYPTED = 1 };
    bool has_header = e->header <= in->size && in->size - e->header >= HEADER &&
                      memcmp(in->data + e->header, "PK\3\4", 4) == 0;
    const uint8_t *p = has_header ? in->data + e->header : NULL;
    size_t from = p ? (size_t)e->header + HEADER + le16(p + NAME) + le16(p + EXTRA) : in->size;
    if (from >= in->size)
        return tbp_fail(err, TBP_E_TRUNCATED, "'%s' is a zip that is damaged or cut short", path);
    if (!e->name.n)
        read_header(e, p);
    if (e->flags & ENCRYPTED)
        return tbp_fail(err, TBP_E_UNSUPPORTED, "'%s' is encrypted: unpack it first", path);
    if (e->method != DEFLATED && e->method != STORED)
        return tbp_fail(err, TBP_E_UNSUPPORTED,
                        "'%s' is packed by method %u of zip, not by deflate: unpack it first", path,
                        e->method);
    size_t room = in->size - from;
    *out = (struct tbp_zip_file){.from = from,
                                 .end = from + (e->size < room ? (size_t)e->size : room),
                                 .is_stored = e->method == STORED,
                                 .is_cut = e->method == STORED && e->size > room};
    return TBP_OK;
}

int tbp_zip_find(struct tbp_zip_file *out, const struct tbp_input *in, const char *member,
                 const char *path, struct tbp_error *err) {
    struct directory d = directory_of(in);
    struct entry e, found = {0}; /* without a directory: the first */
    char names[TBP_ERROR_TEXT];
    unsigned n = 0;
    for (; next_file(&d, &e); n++) {
        bool is_it = member ? tbp_str_is(e.name, member) : n == 0;
        found = is_it ? e : found;
    }
    if (member ? found.name.n > 0 : n < 2)
        return place_of(out, in, &found, path, err);
    tell_names(in, names, sizeof names);
    if (member)
        return tbp_fail(err, TBP_E_NOT_FOUND, "no file '%s' in the zip; it holds %s", member,
                        names);
    return tbp_fail(err, TBP_E_UNSUPPORTED,
                    "'%s' is a zip of %u files: name one as FILE.zip:NAME; it holds %s", path, n,
                    names);
}
