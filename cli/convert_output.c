/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing output files without ever destroying what others wrote; see convert_output.h.
 */
#include "cli/convert_output.h"

#include "base/log.h"

#include <fcntl.h>
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

static int add_target(struct tbp_outputs *o, const char *folder, struct tbp_error *err) {
    struct tbp_output_target *t = &o->targets[o->n_targets++];
    t->folder = folder;
    t->receipt_path = tbp_arena_printf(&o->arena, "%s/%s.tbprof.json", folder, o->stem);
    tbp_receipt_read(&t->before, &o->arena, t->receipt_path);
    if (t->before.is_foreign)
        return tbp_fail(err, TBP_E_USAGE,
                        "'%s' is there and not a receipt of tbprof: choose another folder",
                        t->receipt_path);
    return TBP_OK;
}

int tbp_outputs_init(struct tbp_outputs *o, const char *stem, const char *folder,
                     const char *pages_folder, const struct tbp_receipt_facts *facts,
                     struct tbp_error *err) {
    memset(o, 0, sizeof *o);
    tbp_arena_init(&o->arena);
    o->stem = stem;
    o->facts = *facts;
    int status = add_target(o, folder, err);
    if (!status && pages_folder)
        status = add_target(o, pages_folder, err);
    return status;
}

void tbp_outputs_release(struct tbp_outputs *o) {
    for (unsigned k = 0; k < o->n_targets; k++)
        tbp_receipt_release(&o->targets[k].before);
    tbp_vec_release(&o->files);
    tbp_arena_release(&o->arena);
}

size_t tbp_outputs_plan(struct tbp_outputs *o, const char *suffix, bool first_only) {
    struct tbp_output_file f = {0};
    f.entry.name = tbp_str_c(tbp_arena_printf(&o->arena, "%s.%s", o->stem, suffix));
    for (unsigned k = 0; k < o->n_targets && (k == 0 || !first_only); k++) {
        const struct tbp_output_target *t = &o->targets[k];
        if (tbp_receipt_owns(&t->before, &o->arena, t->folder, f.entry.name)) {
            f.path[k] = tbp_arena_printf(&o->arena, "%s/%s", t->folder, f.entry.name.p);
            continue;
        }
        o->n_kept++;
        tbp_log(TBP_LOG_WARNING, "kept '%s/%s': it was not written by tbprof", t->folder,
                f.entry.name.p);
    }
    *tbp_vec_push(&o->files) = f;
    return o->files.n - 1;
}

bool tbp_outputs_wants(const struct tbp_outputs *o, size_t i) {
    return o->files.at[i].path[0] || o->files.at[i].path[1];
}

static bool is_planned(const struct tbp_outputs *o, unsigned target, struct tbp_str name) {
    for (size_t i = 0; i < o->files.n; i++) {
        if (o->files.at[i].path[target] && tbp_str_eq(o->files.at[i].entry.name, name))
            return true;
    }
    return false;
}

/* Files of the former receipt that this conversion does not touch stay ours. */
static void carry_over(const struct tbp_outputs *o, unsigned target, struct tbp_receipt *r) {
    const struct tbp_receipt *before = &o->targets[target].before;
    for (size_t i = 0; i < before->files.n; i++) {
        if (!is_planned(o, target, before->files.at[i].name))
            *tbp_vec_push(&r->files) = before->files.at[i];
    }
}

static int write_receipt(const char *path, const struct tbp_receipt *r,
                         const struct tbp_ledger *ledger, struct tbp_error *err) {
    struct tbp_sink_file *file;
    struct tbp_json j;
    int status = tbp_sink_file_new(&file, path, err);
    if (status)
        return status;
    tbp_json_init(&j, tbp_sink_file_base(file));
    tbp_receipt_write(&j, r, ledger);
    status = tbp_json_finish(&j, err);
    if (!status)
        status = tbp_sink_finish(tbp_sink_file_base(file), err);
    tbp_sink_file_free(file);
    return status;
}

/* Would the same conversion write the same bytes over the same files? Then nothing needs
 * announcing. */
static bool is_repetition(const struct tbp_outputs *o, unsigned target) {
    const struct tbp_receipt *before = &o->targets[target].before;
    if (!before->is_complete || !tbp_receipt_same_facts(&before->facts, &o->facts))
        return false;
    for (size_t i = 0; i < o->files.n; i++) {
        bool is_known = !o->files.at[i].path[target];
        for (size_t k = 0; k < before->files.n && !is_known; k++)
            is_known = tbp_str_eq(before->files.at[k].name, o->files.at[i].entry.name);
        if (!is_known)
            return false;
    }
    return true;
}

static int announce_target(struct tbp_outputs *o, unsigned target, struct tbp_error *err) {
    if (is_repetition(o, target))
        return TBP_OK;
    struct tbp_receipt r = {.facts = o->facts};
    for (size_t i = 0; i < o->files.n; i++) {
        if (o->files.at[i].path[target])
            *tbp_vec_push(&r.files) = (struct tbp_receipt_file){.name = o->files.at[i].entry.name};
    }
    carry_over(o, target, &r);
    int status = write_receipt(o->targets[target].receipt_path, &r, NULL, err);
    tbp_receipt_release(&r);
    return status;
}

int tbp_outputs_announce(struct tbp_outputs *o, struct tbp_error *err) {
    int status = TBP_OK;
    for (unsigned k = 0; k < o->n_targets && !status; k++)
        status = announce_target(o, k, err);
    return status;
}

static int open_files(struct tee_sink *t, const struct tbp_output_file *f, struct tbp_error *err) {
    *t = (struct tee_sink){.base = {tee_write, tee_finish}};
    for (int k = 0; k < TBP_MAX_TARGETS; k++) {
        int status = f->path[k] ? tbp_sink_file_new(&t->files[k], f->path[k], err) : TBP_OK;
        if (status)
            return status;
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
    for (int k = 0; k < TBP_MAX_TARGETS; k++)
        tbp_sink_file_free(tee.files[k]);
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

static bool is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int tbp_outputs_link(struct tbp_outputs *o, size_t i, const char *source, const void *bytes,
                     size_t n, struct tbp_error *err) {
    struct tbp_output_file *f = &o->files.at[i];
    struct copy copy = {bytes, n};
    /* link() makes the name whole or not at all; where it is taken, the file sink compares and
     * replaces */
    if (source && (is_same_file(source, f->path[0]) ||
                   linkat(AT_FDCWD, source, AT_FDCWD, f->path[0], AT_SYMLINK_FOLLOW) == 0)) {
        f->entry.size_bytes = n;
        f->entry.crc32 = tbp_sum_bytes(0, bytes, n);
        f->entry.has_sum = f->is_written = true;
        return TBP_OK;
    }
    return tbp_outputs_write(o, i, false, NULL, write_copy, &copy, err);
}

int tbp_outputs_finish(struct tbp_outputs *o, const struct tbp_ledger *ledger,
                       struct tbp_error *err) {
    int status = TBP_OK;
    for (unsigned k = 0; k < o->n_targets && !status; k++) {
        struct tbp_receipt r = {.facts = o->facts, .is_complete = true};
        for (size_t i = 0; i < o->files.n; i++) {
            if (o->files.at[i].path[k] && o->files.at[i].is_written)
                *tbp_vec_push(&r.files) = o->files.at[i].entry;
        }
        carry_over(o, k, &r);
        status = write_receipt(o->targets[k].receipt_path, &r, ledger, err);
        tbp_receipt_release(&r);
    }
    return status;
}
