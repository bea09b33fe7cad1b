/* SPDX-License-Identifier: Apache-2.0
 *
 * THE TABLE of readers, and the choice among them by content.
 */
#include "convert/read/reader.h"
#include "convert/read/strangers.h"

#include "base/unpack.h"
#include "convert/read/folder.h"
#include "convert/read/json_trace.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct tbp_reader *const tbp_readers[] = {
    &tbp_reader_xplane,  &tbp_reader_spool,     &tbp_reader_kineto,
    &tbp_reader_mxnet,   &tbp_reader_mindspore, &tbp_reader_ascend,
    &tbp_reader_rocprof, &tbp_reader_cntk,      &tbp_reader_perfetto,
    &tbp_reader_chrome,  &tbp_reader_nsys,      &tbp_reader_nvprof,
    &tbp_reader_rpd,     &tbp_reader_rocpd,     NULL,
};

enum { PROBE_BYTES = 1 << 16 };

static const struct tbp_reader *by_name(const char *name) {
    for (size_t i = 0; tbp_readers[i]; i++)
        if (strcmp(tbp_readers[i]->name, name) == 0)
            return tbp_readers[i];
    return NULL;
}

bool tbp_is_of_characters(const uint8_t *data, size_t size) {
    static const char moves[] = "\b\t\n\f\r\x1b";
    for (size_t i = 0; i < size && i < PROBE_BYTES; i++)
        if (data[i] < ' ' && (data[i] == 0 || !strchr(moves, data[i])))
            return false;
    return true;
}

bool tbp_looks_like_text(const uint8_t *data, size_t size) {
    size_t n = size < PROBE_BYTES ? size : PROBE_BYTES;
    return n && tbp_is_of_characters(data, n) && (memchr(data, ' ', n) || memchr(data, '\n', n));
}

static void keep_better(const struct tbp_reader *reader, int score, const struct tbp_reader **best,
                        int *best_score) {
    if (score > *best_score) {
        *best = reader;
        *best_score = score;
    }
}

/* Stretch by stretch, which leaves memory again; a text may lie across two. */
static void search_whole(const struct tbp_input *in, const struct tbp_reader **best,
                         int *best_score) {
    enum { STRETCH = 8 << 20, MOST_TEXT = 64 };
    for (size_t at = 0; at < in->size; at += STRETCH) {
        size_t left = in->size - at, n = left < STRETCH + MOST_TEXT ? left : STRETCH + MOST_TEXT;
        for (size_t i = 0; tbp_readers[i]; i++) {
            const struct tbp_reader *r = tbp_readers[i];
            if (r->telling_texts && r->telling_score > *best_score &&
                tbp_has_any_text(in->data + at, n, r->telling_texts))
                keep_better(r, r->telling_score, best, best_score);
        }
        if (in->size > 2 * STRETCH)
            tbp_input_drop_range(in, at, left < STRETCH ? left : STRETCH);
    }
}

const struct tbp_reader *tbp_reader_of(const struct tbp_input *in) {
    enum { SURE = 50 };
    const struct tbp_reader *best = NULL;
    int best_score = 0;
    size_t head = in->size < PROBE_BYTES ? in->size : PROBE_BYTES;
    for (size_t i = 0; tbp_readers[i]; i++)
        keep_better(tbp_readers[i], tbp_readers[i]->probe(in->data, head), &best, &best_score);
    bool is_sure = best_score >= SURE;
    for (size_t i = 0; tbp_readers[i] && !is_sure; i++) { /* more than one may like it */
        const struct tbp_reader *r = tbp_readers[i];
        if (r->probe_input)
            keep_better(r, r->probe_input(in), &best, &best_score);
        else if (r->telling_texts)
            keep_better(r, r->probe(in->data, in->size), &best, &best_score);
    }
    if (best && best_score < SURE && tbp_json_trace_looks_so(in->data, in->size))
        search_whole(in, &best, &best_score);
    return best;
}

/* Up to n bytes from the beginning of a regular file. */
static ssize_t read_head(const char *path, uint8_t *to, size_t n) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    ssize_t got = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? pread(fd, to, n, 0) : -1;
    close(fd);
    return got;
}

struct tbp_str tbp_file_head(const char *path, size_t n, struct tbp_arena *arena) {
    uint8_t *packed = TBP_NEW_N(arena, uint8_t, 2 * n), *head = packed;
    ssize_t size = read_head(path, packed, n);
    struct tbp_input in = {.data = packed, .size = size < 0 ? 0 : (size_t)size};
    if (tbp_is_gzip(&in)) {
        head = packed + n;
        size = tbp_unpack_head(packed, in.size, head, n);
    }
    return (struct tbp_str){(const char *)head, size < 0 ? 0 : (size_t)size};
}

/* head has room for n bytes more, for what is packed in it. */
static bool is_known(uint8_t *head, size_t n) {
    struct tbp_input in = {.data = head, .size = n};
    if (tbp_is_gzip(&in)) {
        ssize_t size = tbp_unpack_head(head, n, head + n, n);
        in = (struct tbp_input){.data = head + n, .size = size < 0 ? 0 : (size_t)size};
        return size >= 0 && tbp_reader_of(&in);
    }
    return tbp_reader_of(&in) || tbp_is_packed(&in);
}

bool tbp_file_may_be_profile(const char *path) {
    enum { SHORT_BYTES = 1 << 12 }; /* tells nearly always; else what every reader looks at */
    uint8_t first[2 * SHORT_BYTES];
    ssize_t n = read_head(path, first, SHORT_BYTES);
    if (n < 0)
        return false;
    if (is_known(first, (size_t)n))
        return true;
    if (n < SHORT_BYTES)
        return false;
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    uint8_t *head = TBP_NEW_N(&arena, uint8_t, 2 * PROBE_BYTES);
    n = read_head(path, head, PROBE_BYTES);
    bool is_one = n >= 0 && is_known(head, (size_t)n);
    tbp_arena_release(&arena);
    return is_one;
}

static bool is_folder(const char *path) {
    struct stat st;
    return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool tbp_is_profile_folder(const char *path) {
    struct tbp_input names;
    if (!is_folder(path) || tbp_folder_pack_names(&names, path, NULL) != TBP_OK)
        return false;
    bool is_known = tbp_reader_of(&names) != NULL;
    tbp_input_release(&names);
    return is_known;
}

static const char *const stranger_texts[TBP_STRANGERS] = {
    [TBP_STRANGER_BZIP2] = "compressed with bzip2, which is not read: unpack it with 'bunzip2'",
    [TBP_STRANGER_EVENTS] = "an event file of TensorBoard, no profile",
    [TBP_STRANGER_GIT_LFS] = "a pointer of Git LFS, not the file: fetch it with 'git lfs pull'",
    [TBP_STRANGER_GZIP] = "packed more often than is undone: unpack it with 'gunzip'",
    [TBP_STRANGER_TAR] = "a tar archive, which is not read: unpack it",
    [TBP_STRANGER_XZ] = "compressed with xz, which is not read: unpack it with 'unxz'",
    [TBP_STRANGER_ZIP] = "a zip in another archive, which is not read: unpack the outer one",
    [TBP_STRANGER_ZIP_EMPTY] = "a zip without files",
    [TBP_STRANGER_ZSTD] = "compressed with zstd, which is not read: unpack it with 'zstd -d'",
};

/* By its mark, or by a zero beside each of the first letters. */
static const char *wide_encoding(const struct tbp_input *in) {
    static const uint8_t byte_order_32[] = {0xff, 0xfe, 0, 0};
    const uint8_t *p = in->data;
    if (in->size < 4)
        return NULL;
    if (memcmp(p, byte_order_32, 4) == 0 || (p[0] >= ' ' && !p[1] && !p[2] && !p[3]))
        return "UTF-32";
    if ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff))
        return "UTF-16";
    bool is_wide = (p[0] == 0 && p[1] >= ' ' && p[2] == 0 && p[3]) ||
                   (p[0] >= ' ' && p[1] == 0 && p[2] && p[3] == 0);
    return is_wide ? "UTF-16" : NULL;
}

/* Nothing reads these bytes: what they are, where that helps. */
static int refuse(const struct tbp_input *in, const char *path, struct tbp_error *err) {
    const char *what = stranger_texts[tbp_stranger_of(in->data, in->size)];
    if (what)
        return tbp_fail_at(err, TBP_E_FORMAT, path, TBP_NO_OFFSET, "%s", what);
    const char *encoding = wide_encoding(in);
    if (encoding)
        return tbp_fail_at(err, TBP_E_FORMAT, path, 0,
                           "text in %s, which is not read: make UTF-8 of it with "
                           "'iconv -f %s -t UTF-8'",
                           encoding, encoding);
    if (tbp_looks_like_text(in->data, in->size))
        return tbp_fail_at(err, TBP_E_FORMAT, path, TBP_NO_OFFSET,
                           "not a profile in a known format: it looks like text");
    return tbp_fail_at(err, TBP_E_FORMAT, path, 0, "not a profile in a known format");
}

static int read_opened(struct tbp_host *host, const char *path, const char *from,
                       struct tbp_pool *pool, struct tbp_error *err) {
    const struct tbp_input *in = &host->input;
    const struct tbp_reader *reader = from ? by_name(from) : tbp_reader_of(in);
    if (!reader && from)
        return tbp_fail(err, TBP_E_USAGE, "unknown format '%s' (see `tbprof tools`)", from);
    if (in->damaged && in->size == 0)
        return tbp_fail_at(err, TBP_E_TRUNCATED, path, in->damage_offset,
                           "compressed input is cut or damaged before its first byte");
    if (!reader)
        return refuse(in, path, err);
    host->size_bytes = in->size;
    host->format = in->size ? reader->name : TBP_FORMAT_EMPTY;
    if (in->damaged)
        tbp_ledger_count(&host->ledger, TBP_LEDGER_GZIP_DAMAGED, 1, in->damage_offset);
    if (in->tail_bytes)
        tbp_ledger_count(&host->ledger, TBP_LEDGER_GZIP_TAIL, in->tail_bytes, in->tail_offset);
    return reader->read(host, pool, err);
}

static void begin_host(struct tbp_host *host, const char *path, struct tbp_str host_name) {
    tbp_host_init(host);
    host->name = tbp_arena_str(&host->arena, host_name);
    host->path = tbp_arena_str(&host->arena, tbp_str_c(path));
}

int tbp_read_host(struct tbp_host *host, const char *path, struct tbp_str host_name,
                  const struct tbp_read_how *how, struct tbp_pool *pool, struct tbp_error *err) {
    begin_host(host, path, host_name);
    host->wanted = how->wanted;
    int status = is_folder(path) ? tbp_folder_pack(&host->input, path, err)
                                 : tbp_input_open_watched(&host->input, path, how->watch, err);
    if (status == TBP_OK)
        status = read_opened(host, path, how->from, pool, err);
    host->input.watch = NULL; /* it has been read */
    if (status)
        tbp_host_release(host);
    return status;
}

int tbp_read_host_input(struct tbp_host *host, const char *path, struct tbp_str host_name,
                        struct tbp_input *input, enum tbp_wanted wanted, struct tbp_pool *pool,
                        struct tbp_error *err) {
    begin_host(host, path, host_name);
    host->wanted = wanted;
    host->input = *input;
    *input = (struct tbp_input){0};
    int status = read_opened(host, path, NULL, pool, err);
    if (status)
        tbp_host_release(host);
    return status;
}
