/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing output files without ever destroying what others wrote; see convert_output.h.
 */
#include "cli/convert_output.h"

#include "base/log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Hands the bytes on to every file of an output and sums them on the way. */
struct tee_sink {
    struct tbp_sink base;
    struct tbp_sink_file *files[TBP_MAX_TARGETS];
    uint64_t size_bytes;
    uint32_t crc32;
};

static int tee_write(struct tbp_sink *base, const void *p, size_t n, struct tbp_error *err) {
    struct tee_sink *t = (struct tee_sink *)base;
    t->crc32 = tbp_sum_bytes(t->crc32, p, n);
    t->size_bytes += n;
    for (int k = 0; k < TBP_MAX_TARGETS; k++) {
        int status =
            t->files[k] ? tbp_sink_write(tbp_sink_file_base(t->files[k]), p, n, err) : TBP_OK;
        if (status)
            return status;
    }
    return TBP_OK;
}

static int tee_finish(struct tbp_sink *base, struct tbp_error *err) {
    struct tee_sink *t = (struct tee_sink *)base;
    for (int k = 0; k < TBP_MAX_TARGETS; k++) {
        int status = t->files[k] ? tbp_sink_finish(tbp_sink_file_base(t->files[k]), err) : TBP_OK;
        if (status)
            return status;
    }
    return TBP_OK;
}

static int add_target(struct tbp_outputs *o, const char *folder, bool is_pages_only,
                      struct tbp_error *err) {
    struct tbp_output_target *t = &o->targets[o->n_targets++];
    t->folder = folder;
    t->is_pages_only = is_pages_only;
    t->receipt_path = tbp_arena_printf(&o->arena, "%s/%s.tbprof.json", folder, o->stem);
    tbp_receipt_read(&t->before, &o->arena, t->receipt_path);
    if (t->before.is_foreign)
        return tbp_fail(err, TBP_E_USAGE,
                        "'%s' is there and not a receipt of tbprof: choose another folder",
                        t->receipt_path);
    return TBP_OK;
}

int tbp_outputs_init(struct tbp_outputs *o, const char *stem, const struct tbp_output_where *where,
                     const struct tbp_receipt_facts *facts, struct tbp_error *err) {
    memset(o, 0, sizeof *o);
    tbp_arena_init(&o->arena);
    o->where = where;
    o->stem = stem;
    o->facts = *facts;
    int status = add_target(o, where->folder, where->is_pages_only, err);
    if (!status && where->pages_folder)
        status = add_target(o, where->pages_folder, true, err);
    return status;
}

void tbp_outputs_release(struct tbp_outputs *o) {
    for (size_t i = 0; i < o->files.n; i++) {
        for (int k = 0; k < TBP_MAX_TARGETS; k++)
            tbp_sink_file_free(o->files.at[i].held[k]);
    }
    for (unsigned k = 0; k < o->n_targets; k++) {
        tbp_sink_file_free(o->targets[k].announced);
        tbp_sink_file_free(o->targets[k].receipt);
        tbp_receipt_release(&o->targets[k].before);
    }
    tbp_vec_release(&o->files);
    tbp_vec_release(&o->caches.list);
    tbp_arena_release(&o->arena);
}

/* Whether the entry `name` of a folder is what an input was named by; other links to the same file
 * do not matter, since entries are replaced and files never written to. */
static bool is_input(const struct tbp_outputs *o, const char *folder, struct tbp_str name) {
    char real[PATH_MAX];
    if (!realpath(folder, real))
        return false;
    struct tbp_str above = tbp_str_c(real);
    for (const char *const *input = o->where->inputs; *input; input++) {
        struct tbp_str path = tbp_str_c(*input);
        size_t slash = tbp_str_rfind(path, '/');
        if (slash < path.n && tbp_str_eq(tbp_str_sub(path, slash + 1, path.n), name) &&
            tbp_str_eq(tbp_str_sub(path, 0, slash), above))
            return true;
    }
    return false;
}

size_t tbp_outputs_plan(struct tbp_outputs *o, const char *suffix, bool first_only) {
    struct tbp_output_file f = {0};
    f.entry.name = tbp_str_c(tbp_arena_printf(&o->arena, "%s.%s", o->stem, suffix));
    for (unsigned k = 0; k < o->n_targets && (k == 0 || !first_only); k++) {
        const struct tbp_output_target *t = &o->targets[k];
        bool is_read = is_input(o, t->folder, f.entry.name);
        if (!is_read && tbp_receipt_owns(&t->before, &o->arena, t->folder, f.entry.name)) {
            f.path[k] = tbp_arena_printf(&o->arena, "%s/%s", t->folder, f.entry.name.p);
            continue;
        }
        o->n_kept++;
        tbp_log(is_read ? TBP_LOG_INFO : TBP_LOG_WARNING, "kept '%s/%s': it %s", t->folder,
                f.entry.name.p, is_read ? "is the input" : "was not written by tbprof");
    }
    *tbp_vec_push(&o->files) = f;
    return o->files.n - 1;
}

bool tbp_outputs_wants(const struct tbp_outputs *o, size_t i) {
    return o->files.at[i].path[0] || o->files.at[i].path[1];
}

static const struct tbp_output_file *find_planned(const struct tbp_outputs *o, unsigned target,
                                                  struct tbp_str name) {
    for (size_t i = 0; i < o->files.n; i++) {
        const struct tbp_output_file *f = &o->files.at[i];
        if (f->path[target] && tbp_str_eq(f->entry.name, name))
            return f;
    }
    return NULL;
}

static bool is_xplane(const struct tbp_outputs *o, struct tbp_str name) {
    static const char ending[] = ".xplane.pb";
    return name.n == strlen(o->stem) + sizeof ending - 1 && tbp_str_starts(name, o->stem) &&
           tbp_str_ends(name, ending);
}

/* Of the former receipt: does the file stay, and stay ours, although this conversion does not write
 * it? Yes, if it tells of the same input in the same reading. */
static bool stays(const struct tbp_outputs *o, unsigned target, struct tbp_str name) {
    const struct tbp_output_target *t = &o->targets[target];
    if (is_input(o, t->folder, name))
        return true;
    return !find_planned(o, target, name) && !(t->is_pages_only && is_xplane(o, name)) &&
           tbp_receipt_same_source(&t->before.facts, &o->facts);
}

static void carry_over(const struct tbp_outputs *o, unsigned target, struct tbp_receipt *r) {
    const struct tbp_receipt *before = &o->targets[target].before;
    for (size_t i = 0; i < before->files.n; i++) {
        if (stays(o, target, before->files.at[i].name))
            *tbp_vec_push(&r->files) = before->files.at[i];
    }
}

/* A receipt may come from anywhere: only files of its host are ever removed on its word. */
static bool is_of_host(const struct tbp_outputs *o, struct tbp_str name) {
    size_t n = strlen(o->stem);
    return name.n > n + 1 && tbp_str_starts(name, o->stem) && name.p[n] == '.' &&
           tbp_str_find(name, '/') == name.n;
}

static void remove_file(struct tbp_outputs *o, const struct tbp_output_target *t,
                        struct tbp_str name) {
    const char *path = tbp_arena_printf(&o->arena, "%s/%.*s", t->folder, (int)name.n, name.p);
    if (is_of_host(o, name) && !is_input(o, t->folder, name) &&
        tbp_receipt_owns(&t->before, &o->arena, t->folder, name) && unlink(path) == 0)
        o->n_removed++;
}

/* What the former conversion wrote and this one neither writes nor keeps. */
static void remove_leftovers(struct tbp_outputs *o, unsigned target) {
    const struct tbp_output_target *t = &o->targets[target];
    for (size_t i = 0; i < t->before.files.n; i++) {
        struct tbp_str name = t->before.files.at[i].name;
        const struct tbp_output_file *f = find_planned(o, target, name);
        if (!(f && f->is_written) && !stays(o, target, name))
            remove_file(o, t, name);
    }
}

void tbp_outputs_drop(struct tbp_outputs *o) {
    for (unsigned k = 0; k < o->n_targets; k++) {
        const struct tbp_output_target *t = &o->targets[k];
        for (size_t i = 0; i < t->before.files.n; i++)
            remove_file(o, t, t->before.files.at[i].name);
        if (t->before.facts.version.n)
            unlink(t->receipt_path);
    }
}

const struct tbp_receipt_facts *tbp_outputs_former(const struct tbp_outputs *o) {
    for (unsigned k = 0; k < o->n_targets; k++) {
        const struct tbp_receipt *before = &o->targets[k].before;
        if (before->files.n && !tbp_receipt_same_outcome(&before->facts, &o->facts))
            return &before->facts;
    }
    return NULL;
}

static int fill_receipt(struct tbp_sink *sink, const struct tbp_receipt *r,
                        const struct tbp_ledger *ledger, struct tbp_error *err) {
    struct tbp_json j;
    tbp_json_init(&j, sink);
    tbp_receipt_write(&j, r, ledger);
    int status = tbp_json_finish(&j, err);
    return status ? status : tbp_sink_finish(sink, err);
}

static int write_receipt(struct tbp_sink_file **held, const char *path, const struct tbp_receipt *r,
                         const struct tbp_ledger *ledger, struct tbp_error *err) {
    struct tbp_sink_file *file;
    int status = tbp_sink_file_new(&file, path, err);
    if (status)
        return status;
    tbp_sink_file_hold(file);
    status = fill_receipt(tbp_sink_file_base(file), r, ledger, err);
    if (status)
        tbp_sink_file_free(file);
    else
        *held = file;
    return status;
}

/* The receipt of what is about to appear, so that a kill from here on leaves no strangers. Files of
 * before that are going to be removed are still in it. */
static int announce(struct tbp_outputs *o, struct tbp_output_target *t, struct tbp_error *err) {
    unsigned target = (unsigned)(t - o->targets);
    struct tbp_receipt r = {.facts = o->facts};
    for (size_t i = 0; i < o->files.n; i++) {
        if (o->files.at[i].path[target])
            *tbp_vec_push(&r.files) = (struct tbp_receipt_file){.name = o->files.at[i].entry.name};
    }
    for (size_t i = 0; i < t->before.files.n; i++) {
        if (!find_planned(o, target, t->before.files.at[i].name))
            *tbp_vec_push(&r.files) = t->before.files.at[i];
    }
    int status = write_receipt(&t->announced, t->receipt_path, &r, NULL, err);
    tbp_receipt_release(&r);
    return status;
}

/* The receipt of what appeared. */
static int conclude(struct tbp_outputs *o, struct tbp_output_target *t,
                    const struct tbp_ledger *ledger, struct tbp_error *err) {
    unsigned target = (unsigned)(t - o->targets);
    struct tbp_receipt r = {.facts = o->facts, .is_complete = true};
    for (size_t i = 0; i < o->files.n; i++) {
        if (o->files.at[i].path[target] && o->files.at[i].is_written)
            *tbp_vec_push(&r.files) = o->files.at[i].entry;
    }
    carry_over(o, target, &r);
    int status = write_receipt(&t->receipt, t->receipt_path, &r, ledger, err);
    tbp_receipt_release(&r);
    return status;
}

int tbp_outputs_prepare(struct tbp_outputs *o, const struct tbp_ledger *ledger,
                        struct tbp_error *err) {
    int status = TBP_OK;
    for (unsigned k = 0; k < o->n_targets && !status; k++) {
        status = conclude(o, &o->targets[k], ledger, err);
        /* a receipt that stays the same names all of them already */
        if (!status && tbp_sink_file_is_news(o->targets[k].receipt))
            status = announce(o, &o->targets[k], err);
    }
    return status;
}

static int open_files(struct tee_sink *t, const struct tbp_output_file *f, struct tbp_error *err) {
    *t = (struct tee_sink){.base = {tee_write, tee_finish}};
    for (int k = 0; k < TBP_MAX_TARGETS; k++) {
        int status = f->path[k] ? tbp_sink_file_new(&t->files[k], f->path[k], err) : TBP_OK;
        if (status)
            return status;
        if (t->files[k])
            tbp_sink_file_hold(t->files[k]);
    }
    return TBP_OK;
}

static int fill(struct tee_sink *t, bool gzip, struct tbp_pool *pool, tbp_output_fn *fn, void *ctx,
                struct tbp_error *err) {
    struct tbp_sink_gzip *zip = NULL;
    struct tbp_sink *sink = &t->base;
    int status = gzip ? tbp_sink_gzip_new(&zip, sink, pool, err) : TBP_OK;
    if (status)
        return status;
    if (zip)
        sink = tbp_sink_gzip_base(zip);
    status = fn(ctx, sink, err);
    if (!status)
        status = tbp_sink_finish(sink, err);
    tbp_sink_gzip_free(zip);
    return status;
}

int tbp_outputs_write(struct tbp_outputs *o, size_t i, bool gzip, struct tbp_pool *pool,
                      tbp_output_fn *fn, void *ctx, struct tbp_error *err) {
    struct tbp_output_file *f = &o->files.at[i];
    struct tee_sink tee;
    int status = open_files(&tee, f, err);
    if (!status)
        status = fill(&tee, gzip, pool, fn, ctx, err);
    for (int k = 0; k < TBP_MAX_TARGETS; k++) {
        if (status)
            tbp_sink_file_free(tee.files[k]);
        else
            f->held[k] = tee.files[k];
    }
    if (status)
        return status;
    f->entry.size_bytes = tee.size_bytes;
    f->entry.crc32 = tee.crc32;
    f->entry.has_sum = f->is_written = true;
    return TBP_OK;
}

struct copy {
    const void *bytes;
    size_t n;
};

static int write_copy(void *ctx, struct tbp_sink *sink, struct tbp_error *err) {
    const struct copy *c = ctx;
    return tbp_sink_write(sink, c->bytes, c->n, err);
}

/* Copies the file that was read; false if that cannot be or another stands in its place by now. */
static bool copy_file(struct tbp_output_file *f, const char *source, const struct tbp_input *in) {
    struct tbp_sink_file *file;
    struct tbp_file_stamp stamp;
    if (!in->stamp.inode || tbp_sink_file_new(&file, f->path[0], NULL) != TBP_OK)
        return false;
    tbp_sink_file_hold(file);
    if (tbp_sink_file_copy(file, source, NULL) != TBP_OK ||
        tbp_file_stamp(&stamp, source, NULL) != TBP_OK || !tbp_file_stamp_eq(&stamp, &in->stamp)) {
        tbp_sink_file_free(file);
        return false;
    }
    f->held[0] = file;
    return true;
}

int tbp_outputs_copy(struct tbp_outputs *o, size_t i, const char *source,
                     const struct tbp_input *in, struct tbp_error *err) {
    struct tbp_output_file *f = &o->files.at[i];
    struct copy copy = {in->data, in->size};
    if (!copy_file(f, source, in))
        return tbp_outputs_write(o, i, false, NULL, write_copy, &copy, err);
    f->entry.size_bytes = in->size;
    f->entry.crc32 = o->facts.input_crc32;
    f->entry.has_sum = f->is_written = true;
    return TBP_OK;
}

static int commit_file(struct tbp_sink_file *held, struct tbp_error *err) {
    return held ? tbp_sink_file_commit(held, err) : TBP_OK;
}

static int commit_files(struct tbp_outputs *o, struct tbp_error *err) {
    for (size_t i = 0; i < o->files.n; i++) {
        for (int k = 0; k < TBP_MAX_TARGETS; k++) {
            int status = commit_file(o->files.at[i].held[k], err);
            if (status)
                return status;
        }
    }
    return TBP_OK;
}

/* The host's xplane is about to be another one: what the plugin made of the former is worthless. */
static bool is_xplane_news(const struct tbp_outputs *o) {
    for (size_t i = 0; i < o->files.n; i++) {
        const struct tbp_output_file *f = &o->files.at[i];
        if (f->held[0] && is_xplane(o, f->entry.name))
            return tbp_sink_file_is_news(f->held[0]);
    }
    return false;
}

static void remove_caches(struct tbp_outputs *o) {
    const struct tbp_output_target *t = &o->targets[0];
    tbp_plugin_caches_remove(t->folder, tbp_str_c(o->stem), t->before.files.n > 0, &o->caches);
}

int tbp_outputs_commit(struct tbp_outputs *o, struct tbp_error *err) {
    int status = TBP_OK;
    for (unsigned k = 0; k < o->n_targets && !status; k++)
        status = commit_file(o->targets[k].announced, err);
    bool has_news = !status && is_xplane_news(o);
    if (has_news)
        remove_caches(o); /* before, lest a kill leave them beside the new xplane */
    if (!status)
        status = commit_files(o, err);
    if (has_news)
        remove_caches(o); /* and after: a page may have been opened meanwhile */
    for (unsigned k = 0; k < o->n_targets && !status; k++) {
        remove_leftovers(o, k);
        status = commit_file(o->targets[k].receipt, err);
    }
    return status;
}
