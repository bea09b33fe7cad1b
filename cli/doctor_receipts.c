/* SPDX-License-Identifier: Apache-2.0
 *
 * Check of what belongs together in a run: receipts and the files they tell of.
 */
#include "cli/doctor.h"
#include "cli/receipt.h"

static const char receipt_ending[] = ".tbprof.json";

static const struct tbp_doctor_file *file_named(const struct tbp_doctor_folder *run,
                                                struct tbp_str name) {
    for (size_t i = 0; i < run->files.n; i++) {
        if (tbp_str_eq(tbp_str_c(run->files.at[i].name), name))
            return &run->files.at[i];
    }
    return NULL;
}

static bool has_entry(const struct tbp_receipt *r, struct tbp_str name) {
    for (size_t i = 0; i < r->files.n; i++) {
        if (tbp_str_eq(r->files.at[i].name, name))
            return true;
    }
    return false;
}

struct receipt_look {
    struct tbp_doctor *d;
    const struct tbp_doctor_check *self;
    const struct tbp_doctor_folder *run;
    const char *name; /* of the receipt */
};

/* Sizes are compared first; only files of the right size are read. */
static void compare(const struct receipt_look *l, const struct tbp_receipt_file *told,
                    const char *what_told) {
    const struct tbp_doctor_file *file = file_named(l->run, told->name);
    uint64_t size_bytes = file ? file->size_bytes : 0;
    uint32_t crc32 = 0;
    if (!file || !file->is_readable)
        return;
    if (size_bytes == told->size_bytes &&
        (!tbp_file_sum(file->path, &size_bytes, &crc32) ||
         (size_bytes == told->size_bytes && crc32 == told->crc32)))
        return;
    struct tbp_finding *f = tbp_doctor_report(l->d, l->self, TBP_PROBLEM, file->path);
    f->what = tbp_arena_printf(l->d->arena, "is not the file that '%s' tells of (%s): it has %s",
                               l->name, what_told,
                               size_bytes == told->size_bytes ? "other bytes" : "another size");
    f->advice = "convert the profile again, into a new run if this file is to stay";
}

static void report_missing(const struct receipt_look *l, const struct tbp_receipt *r) {
    const char *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < r->files.n; i++) {
        if (file_named(l->run, r->files.at[i].name))
            continue;
        first = first ? first : r->files.at[i].name.p;
        n++;
    }
    if (!n)
        return;
    const char *where = tbp_arena_printf(l->d->arena, "%s/%s", l->run->path, l->name);
    struct tbp_finding *f = tbp_doctor_report(l->d, l->self, TBP_NOTE, where);
    f->what = tbp_arena_printf(l->d->arena, "tells of %zu file%s not there ('%s')", n,
                               n == 1 ? " that is" : "s that are", first);
    f->advice = "convert the profile again if they are missed";
}

static void look_at_receipt(const struct receipt_look *l) {
    struct tbp_receipt r;
    const char *path = tbp_arena_printf(l->d->arena, "%s/%s", l->run->path, l->name);
    tbp_receipt_read(&r, l->d->arena, path);
    if (!r.is_foreign && !r.is_complete) {
        struct tbp_finding *f = tbp_doctor_report(l->d, l->self, TBP_PROBLEM, path);
        f->what = "tells of a conversion that did not come to its end";
        f->advice = "convert the profile again";
    }
    if (!r.is_foreign && r.is_complete)
        report_missing(l, &r);
    for (size_t i = 0; i < r.files.n; i++) {
        if (r.files.at[i].has_sum)
            compare(l, &r.files.at[i], "written");
    }
    /* an xplane converted in place is the input */
    if (r.is_complete && tbp_str_ends(r.facts.input, ".xplane.pb") &&
        !has_entry(&r, r.facts.input)) {
        struct tbp_receipt_file input = {r.facts.input, r.facts.input_bytes, r.facts.input_crc32,
                                         true};
        compare(l, &input, "what the pages were made of");
    }
    tbp_receipt_release(&r);
}

static void run_receipt(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        for (size_t k = 0; k < run->files.n; k++) {
            struct receipt_look look = {d, self, run, run->files.at[k].name};
            if (tbp_str_ends(tbp_str_c(look.name), receipt_ending))
                look_at_receipt(&look);
        }
    }
}

const struct tbp_doctor_check tbp_check_receipt = {
    .name = "receipt",
    .scope = TBP_CHECK_FILES,
    .help = "files are those that the receipts of conversions tell of",
    .run = run_receipt,
};
