/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders as input; see folder.h. Packed: a line of magic, of each file a line "SIZE NAME", an
 * empty line, the bytes of all files one after the other. What has the name of a table and is no
 * regular file has "-" for its size.
 */
#include "convert/read/folder.h"

#include "base/arena.h"
#include "base/sort.h"
#include "base/spill.h"
#include "base/vec.h"
#include "convert/read/csv_rows.h"
#include "convert/read/text_lines.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static const char magic[] = "tbprof folder\n";

enum { MAX_FILES = 4096, MAX_NAME = 1024 };
#define MAX_BYTES ((size_t)1 << 31)

struct listed {
    const char *path, *name;
    bool is_folder, is_unreadable;
    struct tbp_input in;
};

struct packing {
    struct tbp_arena arena;
    TBP_VEC(struct listed) files;
    struct tbp_spill out;
};

static bool is_table(const char *name) {
    struct tbp_str s = tbp_str_c(name);
    return tbp_str_ends(s, ".csv") || tbp_str_ends(s, ".json") || tbp_str_ends(s, ".txt");
}

static int by_name(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return strcmp(((const struct listed *)a)->name, ((const struct listed *)b)->name);
}

/* The entry under the path; false if it is gone. Links to nothing have a state of zeros. */
static bool look_at(const char *path, struct stat *st) {
    if (stat(path, st) == 0)
        return true;
    bool is_link = lstat(path, st) == 0 && S_ISLNK(st->st_mode);
    *st = (struct stat){0};
    return is_link;
}

/* A folder may have the name of a table: then it is both, one that cannot be read. */
static void add_entry(struct packing *p, const char *path, const char *name, mode_t mode) {
    if (!S_ISREG(mode) && is_table(name))
        *tbp_vec_push(&p->files) =
            (struct listed){.path = path, .name = name, .is_unreadable = true};
    if (S_ISDIR(mode))
        *tbp_vec_push(&p->files) = (struct listed){
            .path = path, .name = tbp_arena_printf(&p->arena, "%s/", name), .is_folder = true};
    if (S_ISREG(mode))
        *tbp_vec_push(&p->files) = (struct listed){.path = path, .name = name};
}

/* Adds what is in the folder; below: "" or "SUB/". */
static int list(struct packing *p, const char *path, const char *below, struct tbp_error *err) {
    DIR *dir = opendir(path);
    if (!dir)
        return tbp_fail_errno(err, errno == ENOENT ? TBP_E_NOT_FOUND : TBP_E_IO,
                              "opening folder '%s' failed", path);
    for (struct dirent *d; (d = readdir(dir)) && p->files.n < MAX_FILES;) {
        struct stat st;
        const char *full = tbp_arena_printf(&p->arena, "%s/%s", path, d->d_name);
        if (d->d_name[0] != '.' && !strchr(d->d_name, '\n') && strlen(d->d_name) <= MAX_NAME / 4 &&
            look_at(full, &st))
            add_entry(p, full, tbp_arena_printf(&p->arena, "%s%s", below, d->d_name), st.st_mode);
    }
    closedir(dir);
    return TBP_OK;
}

static int open_file(struct listed *file, size_t *total, struct tbp_error *err) {
    if (file->is_folder || file->is_unreadable || !is_table(file->name))
        return TBP_OK;
    int status = tbp_input_open(&file->in, file->path, err);
    if (status)
        return status;
    *total += file->in.size;
    return *total <= MAX_BYTES
               ? TBP_OK
               : tbp_fail(err, TBP_E_LIMIT, "'%s': tables of more than 2 GiB in one folder",
                          file->path);
}

static int put_all(struct packing *p, struct tbp_error *err) {
    char line[MAX_NAME];
    int status = tbp_spill_put(&p->out, magic, sizeof magic - 1, err);
    for (size_t i = 0; i < p->files.n && !status; i++) {
        const struct listed *f = &p->files.at[i];
        int n = f->is_unreadable ? snprintf(line, sizeof line, "- %s\n", f->name)
                                 : snprintf(line, sizeof line, "%zu %s\n", f->in.size, f->name);
        status = tbp_spill_put(&p->out, line, (size_t)n, err);
    }
    if (!status)
        status = tbp_spill_put(&p->out, "\n", 1, err);
    for (size_t i = 0; i < p->files.n && !status; i++) {
        const struct tbp_input *in = &p->files.at[i].in;
        status = tbp_spill_put(&p->out, in->data, in->size, err);
        tbp_input_drop_pages(in);
    }
    return status;
}

/* Everything that is listed, opened or not. */
static int pack(struct packing *p, const char *path, struct tbp_input *in, int status,
                struct tbp_error *err) {
    tbp_spill_init(&p->out, path);
    if (!status)
        status = put_all(p, err);
    for (size_t i = 0; i < p->files.n; i++)
        tbp_input_release(&p->files.at[i].in);
    tbp_vec_release(&p->files);
    tbp_arena_release(&p->arena);
    if (!status)
        return tbp_spill_finish(&p->out, in, err);
    tbp_spill_release(&p->out);
    return status;
}

static void sort(struct packing *p) {
    tbp_sort(p->files.at, p->files.n, sizeof *p->files.at, by_name, NULL);
}

int tbp_folder_pack(struct tbp_input *in, const char *path, struct tbp_error *err) {
    struct packing p = {0};
    size_t total = 0;
    tbp_arena_init(&p.arena);
    int status = list(&p, path, "", err);
    size_t n = p.files.n;
    for (size_t i = 0; i < n && !status; i++) {
        struct listed sub = p.files.at[i];
        if (sub.is_folder) /* one that cannot be read is known by name */
            list(&p, sub.path, sub.name, NULL);
    }
    sort(&p);
    for (size_t i = 0; i < p.files.n && !status; i++)
        status = open_file(&p.files.at[i], &total, err);
    return pack(&p, path, in, status, err);
}

/* What holds no more than these is no profile. */
static void drop_unreadable(struct packing *p) {
    size_t kept = 0;
    for (size_t i = 0; i < p->files.n; i++)
        if (!p->files.at[i].is_unreadable)
            p->files.at[kept++] = p->files.at[i];
    p->files.n = kept;
}

int tbp_folder_pack_names(struct tbp_input *in, const char *path, struct tbp_error *err) {
    struct packing p = {0};
    tbp_arena_init(&p.arena);
    int status = list(&p, path, "", err);
    drop_unreadable(&p);
    sort(&p);
    return pack(&p, path, in, status, err);
}

bool tbp_folder_is(const uint8_t *data, size_t size) {
    return size >= sizeof magic - 1 && memcmp(data, magic, sizeof magic - 1) == 0;
}

struct tbp_folder_walk tbp_folder_walk(const uint8_t *data, size_t size) {
    struct tbp_folder_walk w = {data + size, data + size, data + size};
    if (!tbp_folder_is(data, size))
        return w;
    w.at = data + sizeof magic - 1;
    const uint8_t *gap = memmem(w.at - 1, (size_t)(w.end - w.at) + 1, "\n\n", 2);
    w.bytes = gap ? gap + 2 : w.end;
    return w;
}

bool tbp_folder_next(struct tbp_folder_walk *w, struct tbp_folder_file *f) {
    size_t left = (size_t)(w->end - w->at);
    const uint8_t *line_end = left ? memchr(w->at, '\n', left < MAX_NAME ? left : MAX_NAME) : NULL;
    uint64_t size = 0;
    if (!line_end)
        return false;
    struct tbp_str line = {(const char *)w->at, (size_t)(line_end - w->at)};
    size_t blank = tbp_str_find(line, ' ');
    struct tbp_str number = tbp_str_sub(line, 0, blank);
    f->is_unreadable = tbp_str_is(number, "-");
    if (blank == line.n || (!f->is_unreadable && !tbp_str_to_u64(number, &size)))
        return false;
    left = (size_t)(w->end - w->bytes);
    f->name = tbp_str_sub(line, blank + 1, line.n);
    f->bytes = (struct tbp_str){(const char *)w->bytes, size < left ? size : left};
    w->at = line_end + 1;
    w->bytes += f->bytes.n;
    return true;
}

bool tbp_folder_numbered(struct tbp_str name, const char *prefix, const char *suffix,
                         uint32_t *id) {
    uint64_t n = 0;
    if (!tbp_str_starts(name, prefix) || !tbp_str_ends(name, suffix) ||
        name.n < strlen(prefix) + strlen(suffix))
        return false;
    struct tbp_str number = tbp_str_sub(name, strlen(prefix), name.n - strlen(suffix));
    if (number.n && (!tbp_str_to_u64(number, &n) || n > UINT16_MAX))
        return false;
    *id = (uint32_t)n;
    return true;
}

static bool has_digit(struct tbp_str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] >= '0' && s.p[i] <= '9')
            return true;
    return false;
}

static bool lacks_columns(struct tbp_str bytes, const char *needs) {
    struct tbp_csv c;
    tbp_csv_init(&c, bytes);
    bool lacks = !tbp_csv_has_columns(&c, needs);
    tbp_csv_release(&c);
    return lacks;
}

/* UTF-16, whose letters pass for those of columns, has zeros in its first line. */
static bool is_strange(const struct tbp_folder_file *f, const char *needs) {
    struct tbp_str text = f->bytes, line;
    if (f->is_unreadable)
        return true;
    do {
        if (!tbp_text_next_line(&text, &line))
            return false;
    } while (tbp_text_is_empty(line));
    if (needs)
        return tbp_str_find(line, 0) < line.n || lacks_columns(f->bytes, needs);
    if (!tbp_str_ends(f->name, ".json"))
        return !has_digit(f->bytes);
    while (tbp_text_is_blank(*line.p))
        line = tbp_str_sub(line, 1, line.n);
    return *line.p != '{' && *line.p != '[';
}

void tbp_folder_check(struct tbp_ledger *l, const struct tbp_input *in,
                      const struct tbp_folder_file *f, const char *needs) {
    if (is_strange(f, needs))
        tbp_ledger_count(l, TBP_LEDGER_NO_TABLE, 1,
                         (uint64_t)((const uint8_t *)f->bytes.p - in->data));
}
