/* SPDX-License-Identifier: Apache-2.0
 *
 * See zip.h. Archives beyond 4 GiB or 65535 files (Zip64) are not read.
 */
#include "base/zip.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { DEFLATED = 8, NAMES_TOLD = 10 };

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

/* ---- the directory ---- */

struct directory {
    const struct tbp_input *in;
    size_t at, end; /* of the entries that are left */
};

struct entry {
    struct tbp_str name;
    unsigned method;
    size_t size, header; /* packed bytes; where its own header stands */
};

/* By the record at the end of the archive; without it there are no entries. */
static struct directory directory_of(const struct tbp_input *in) {
    enum { RECORD = 22, REACH = 66000, SIZE = 12, OFFSET = 16 };
    struct directory d = {in, 0, 0};
    size_t least = in->size > REACH ? in->size - REACH : 0;
    for (size_t i = in->size < RECORD ? 0 : in->size - RECORD + 1; i-- > least;) {
        const uint8_t *p = in->data + i;
        if (memcmp(p, "PK\5\6", 4) != 0)
            continue;
        if (le32(p + OFFSET) <= i && le32(p + SIZE) <= i - le32(p + OFFSET)) {
            d.at = le32(p + OFFSET);
            d.end = d.at + le32(p + SIZE);
        }
        break;
    }
    return d;
}

/* The next file; folders have entries, too. */
static bool next_file(struct directory *d, struct entry *e) {
    enum { ENTRY = 46, METHOD = 10, SIZE = 20, NAME = 28, EXTRA = 30, COMMENT = 32, HEADER = 42 };
    while (d->end - d->at >= ENTRY && memcmp(d->in->data + d->at, "PK\1\2", 4) == 0) {
        const uint8_t *p = d->in->data + d->at;
        size_t n = le16(p + NAME), rest = n + le16(p + EXTRA) + le16(p + COMMENT);
        if (rest > d->end - d->at - ENTRY)
            return false;
        *e = (struct entry){
            {(const char *)p + ENTRY, n}, le16(p + METHOD), le32(p + SIZE), le32(p + HEADER)};
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

static int place_of(struct tbp_zip_file *out, const struct tbp_input *in, const struct entry *e,
                    const char *path, struct tbp_error *err) {
    enum { HEADER = 30, METHOD = 8, NAME = 26, EXTRA = 28 };
    bool has_header = e->header <= in->size && in->size - e->header >= HEADER &&
                      memcmp(in->data + e->header, "PK\3\4", 4) == 0;
    const uint8_t *p = in->data + e->header;
    size_t from = has_header ? e->header + HEADER + le16(p + NAME) + le16(p + EXTRA) : in->size;
    unsigned method = has_header && !e->name.n ? le16(p + METHOD) : e->method;
    if (from >= in->size || method != DEFLATED)
        return tbp_fail(err, TBP_E_UNSUPPORTED,
                        "'%s' is a zip that is not packed by deflate: unpack it first", path);
    size_t room = in->size - from;
    *out = (struct tbp_zip_file){from, from + (e->size < room ? e->size : room)};
    return TBP_OK;
}

int tbp_zip_find(struct tbp_zip_file *out, const struct tbp_input *in, const char *member,
                 const char *path, struct tbp_error *err) {
    struct directory d = directory_of(in);
    struct entry e, found = {TBP_STR_NONE, 0, SIZE_MAX, 0}; /* without a directory: the first */
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
