/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of the files of each run by name and size: which releases of the plugin show them.
 * Releases and their rules: plugin_data/README.md.
 */
#include "cli/doctor.h"
#include "cli/receipt.h"
#include "plugin_data/rundir.h"

/* Files *.xplane.pb only from here on; pages as written up to here; see plugin_data/README.md */
static const uint32_t first_with_xplane = TBP_RELEASE(2, 4, 0);
static const uint32_t first_xplane_alone = TBP_RELEASE(2, 11, 2);
static const uint32_t first_without_hidden = TBP_RELEASE(2, 18, 0);
static const uint32_t first_without_pages = TBP_RELEASE(2, 19, 1);
static const uint32_t first_with_workers = TBP_RELEASE(2, 20, 7);
static const uint32_t first_with_riegeli = TBP_RELEASE(2, 23, 0);
static const uint32_t first_without_workers = TBP_RELEASE(2, 24, 0);

static bool has_data(const struct tbp_doctor_folder *run) {
    return run->count[TBP_FILE_XPLANE] || run->count[TBP_FILE_RIEGELI] || run->count[TBP_FILE_PAGE];
}

static const struct tbp_doctor_file *first_of(const struct tbp_doctor_folder *run,
                                              enum tbp_file_kind kind) {
    for (size_t i = 0; i < run->files.n; i++) {
        if (run->files.at[i].kind == kind)
            return &run->files.at[i];
    }
    return NULL;
}

static bool has_strays_below(const struct tbp_tree *t, const struct tbp_doctor_folder *run) {
    size_t n = strlen(run->path);
    for (size_t i = 0; i < t->strays.n; i++) {
        const char *path = t->strays.at[i].path;
        if (strncmp(path, run->path, n) == 0 && path[n] == '/')
            return true;
    }
    return false;
}

/* Why a run is without data: names that no plugin reads, no files, a folder too deep. */
static bool is_told_elsewhere(const struct tbp_tree *t, const struct tbp_doctor_folder *run) {
    return run->count[TBP_FILE_FOREIGN] || run->count[TBP_FILE_SPECIAL] || has_strays_below(t, run);
}

/* What is there instead may be profiles under other names, so that nothing is said of removing it.
 */
static void report_other_files(struct tbp_doctor *d, struct tbp_finding *f,
                               const struct tbp_doctor_folder *run) {
    size_t more = run->files.n - 1;
    f->what = tbp_arena_printf(
        d->arena, "is a run without profile data: no *.xplane.pb is in it, but '%s'%s",
        run->files.at[0].name, more ? tbp_arena_printf(d->arena, " and %zu more", more) : "");
    f->advice = "copy the *.xplane.pb of each host here, or record again; a profile under another "
                "name is to be called HOST.xplane.pb, an archive to be unpacked";
}

static void run_empty_run(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        if (has_data(run) || is_told_elsewhere(&d->tree, run))
            continue;
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, run->path);
        f->what = "is a run folder with no file in it";
        f->advice = "copy the *.xplane.pb of each host here, record again, or remove the folder";
        if (run->files.n)
            report_other_files(d, f, run);
    }
}

const struct tbp_doctor_check tbp_check_empty_run = {
    .name = "empty-run",
    .scope = TBP_CHECK_FILES,
    .help = "every run folder has profile data",
    .run = run_empty_run,
};

static void report_xplane_too_new(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                                  const struct tbp_doctor_file *file) {
    struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, file->path);
    f->what = tbp_arena_printf(d->arena, "has a name that the installed %s does not know",
                               tbp_doctor_plugin_text(d));
    f->advice = "pip install --upgrade xprof";
}

static void run_file_names(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        const struct tbp_doctor_file *foreign = first_of(run, TBP_FILE_FOREIGN);
        const struct tbp_doctor_file *riegeli = first_of(run, TBP_FILE_RIEGELI);
        bool has_xplane = run->count[TBP_FILE_XPLANE] > 0;
        if (riegeli && !has_xplane && tbp_doctor_plugin_within(d, 1, first_with_riegeli))
            report_xplane_too_new(d, self, riegeli);
        if (has_xplane && !run->count[TBP_FILE_PAGE] &&
            tbp_doctor_plugin_within(d, 1, first_with_xplane))
            report_xplane_too_new(d, self, first_of(run, TBP_FILE_XPLANE));
        if (!foreign || has_data(run))
            continue;
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, foreign->path);
        f->what = tbp_arena_printf(d->arena, "has a name that no plugin reads%s",
                                   run->count[TBP_FILE_FOREIGN] > 1 ? ", as others beside it" : "");
        f->advice = foreign->advice;
    }
}

const struct tbp_doctor_check tbp_check_file_names = {
    .name = "file-names",
    .scope = TBP_CHECK_FILES,
    .help = "file names are those which the installed plugin reads",
    .run = run_file_names,
};

static bool has_control(const char *text) {
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 127)
            return true;
    }
    return false;
}

/* Why a name of a run or host does not come through the page's requests, or NULL. */
static const char *fault_of_name(const struct tbp_doctor *d, const char *name) {
    struct tbp_str text = tbp_str_c(name);
    if (tbp_utf8_valid_prefix(text) < text.n)
        return "is not UTF-8: the page cannot ask for it";
    if (has_control(name) && tbp_python_tbprof_answers(&d->python))
        return "has control characters, with which tbprof answers no request";
    return NULL;
}

static const char *fault_of_host(const struct tbp_doctor *d, const struct tbp_doctor_folder *run,
                                 const struct tbp_doctor_file *file) {
    const char *fault = fault_of_name(d, file->name);
    if (!fault && memchr(file->host.p, '\n', file->host.n))
        return "has a line break, with which the plugin finds no host in it";
    if (!fault && tbp_doctor_is_hidden(file) && file->size_bytes && !file->damage &&
        tbp_doctor_plugin_within(d, first_without_hidden, UINT32_MAX))
        return "is hidden: the plugin takes no host from its name";
    if (!fault && run->count[TBP_FILE_XPLANE] > 1 &&
        tbp_str_eq(file->host, TBP_STR(TBP_RUNDIR_ALL_HOSTS)))
        return "has the name that stands for all hosts together, so that one of the two is hidden";
    return fault;
}

static void report_name(struct tbp_doctor *d, const struct tbp_doctor_check *self, const char *path,
                        const char *fault) {
    if (!fault)
        return;
    struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, path);
    f->what = fault;
    f->advice = "rename it";
}

static void run_names(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        const char *below = run->path + strlen(d->tree.root);
        report_name(d, self, run->path, fault_of_name(d, below));
        for (size_t k = 0; k < run->files.n; k++) {
            const struct tbp_doctor_file *file = &run->files.at[k];
            if (file->kind == TBP_FILE_XPLANE || file->kind == TBP_FILE_RIEGELI)
                report_name(d, self, file->path, fault_of_host(d, run, file));
        }
    }
}

const struct tbp_doctor_check tbp_check_names = {
    .name = "names",
    .scope = TBP_CHECK_FILES,
    .help = "the page can ask for every run and host by its name",
    .run = run_names,
};

/* RUN_pages beside RUN is what `convert --for all` writes: nothing is missing. */
static bool has_twin(const struct tbp_tree *t, const struct tbp_doctor_folder *pages) {
    static const char ending[] = "_pages";
    struct tbp_str path = tbp_str_c(pages->path);
    if (!tbp_str_ends(path, ending))
        return false;
    path.n -= sizeof ending - 1;
    for (size_t i = 0; i < t->runs.n; i++) {
        if (tbp_str_eq(tbp_str_c(t->runs.at[i].path), path))
            return true;
    }
    return false;
}

static void run_pages_only(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    if (tbp_doctor_plugin_within(d, 1, first_without_pages))
        return;
    bool is_known = tbp_doctor_plugin_within(d, first_without_pages, UINT32_MAX);
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        if (!run->count[TBP_FILE_PAGE] || run->count[TBP_FILE_XPLANE] ||
            run->count[TBP_FILE_RIEGELI])
            continue;
        bool is_problem = is_known && !has_twin(&d->tree, run);
        struct tbp_finding *f =
            tbp_doctor_report(d, self, is_problem ? TBP_PROBLEM : TBP_NOTE, run->path);
        f->what = tbp_arena_printf(
            d->arena, "has pages of older plugins ('%s') and no *.xplane.pb: %s shows an empty run",
            first_of(run, TBP_FILE_PAGE)->name,
            is_known ? tbp_doctor_plugin_text(d) : "every plugin from 2.19.1 on");
        f->advice =
            "copy the *.xplane.pb here, or pip install 'tensorboard-plugin-profile<=2.19.0'";
    }
}

const struct tbp_doctor_check tbp_check_pages_only = {
    .name = "pages-only",
    .scope = TBP_CHECK_FILES,
    .help = "no run consists of pages that only older plugins show",
    .run = run_pages_only,
};

static void run_hidden_files(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    bool xplane_wins = tbp_doctor_plugin_within(d, first_xplane_alone, first_without_pages);
    if (!xplane_wins && !tbp_doctor_plugin_within(d, first_with_xplane, first_xplane_alone))
        return;
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        if (!run->count[TBP_FILE_PAGE] || !run->count[TBP_FILE_XPLANE])
            continue;
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_NOTE, run->path);
        f->what = tbp_arena_printf(
            d->arena,
            xplane_wins ? "has pages ('%s') that %s does not show: the xplane beside "
                          "them hides them"
                        : "has pages ('%s') that %s shows instead of converting the "
                          "xplane beside them",
            first_of(run, TBP_FILE_PAGE)->name, tbp_doctor_plugin_text(d));
        f->advice = xplane_wins ? "tbprof convert --for all writes the pages as a run of their own"
                                : "remove the pages to see the plugin's own";
    }
}

const struct tbp_doctor_check tbp_check_hidden_files = {
    .name = "hidden-files",
    .scope = TBP_CHECK_FILES,
    .help = "pages and xplanes of a run do not hide each other",
    .run = run_hidden_files,
};

bool tbp_doctor_shows_pages(const struct tbp_doctor *d, const struct tbp_doctor_folder *run) {
    bool is_hidden = run->count[TBP_FILE_XPLANE] &&
                     tbp_doctor_plugin_within(d, first_xplane_alone, first_without_pages);
    return !is_hidden && !tbp_doctor_plugin_within(d, first_without_pages, UINT32_MAX);
}

static void run_empty_file(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        bool shows_pages = tbp_doctor_shows_pages(d, run);
        for (size_t k = 0; k < run->files.n; k++) {
            const struct tbp_doctor_file *file = &run->files.at[k];
            /* an empty table is 0 bytes of protobuf */
            bool is_page = file->kind == TBP_FILE_PAGE && shows_pages &&
                           !tbp_str_ends(tbp_str_c(file->name), ".pb");
            if (file->size_bytes || (file->kind != TBP_FILE_XPLANE && !is_page))
                continue;
            struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, file->path);
            f->what = "has 0 bytes: nothing was saved";
            f->advice = tbp_doctor_is_hidden(file)
                            ? "remove it: no plugin needs a hidden file"
                            : "record again; if it stays empty, record less (a message over 2 GB "
                              "is not written), and look for a full disk";
        }
    }
}

const struct tbp_doctor_check tbp_check_empty_file = {
    .name = "empty-file",
    .scope = TBP_CHECK_FILES,
    .help = "no profile has 0 bytes",
    .run = run_empty_file,
};

static void run_no_file(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    for (size_t i = 0; i < d->tree.no_folders.n; i++) {
        const struct tbp_no_folder *n = &d->tree.no_folders.at[i];
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, n->path);
        f->what =
            tbp_arena_printf(d->arena, "is %s where a folder should be: no run is found", n->what);
        f->advice = "put the folder itself there, or a link to it, or remove this";
    }
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        for (size_t k = 0; k < run->files.n; k++) {
            const struct tbp_doctor_file *file = &run->files.at[k];
            if (file->kind != TBP_FILE_SPECIAL)
                continue;
            struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, file->path);
            f->what = tbp_arena_printf(
                d->arena, "is %s, no file: the plugin opens what is called so, and fails or waits",
                file->special);
            f->advice = "put the file itself here, or remove it";
        }
    }
}

const struct tbp_doctor_check tbp_check_no_file = {
    .name = "no-file",
    .scope = TBP_CHECK_FILES,
    .help = "what is called like a profile is a file, and links lead somewhere",
    .run = run_no_file,
};

static bool has_file(const struct tbp_doctor_folder *run, struct tbp_str host, const char *ending) {
    for (size_t i = 0; i < run->files.n; i++) {
        struct tbp_str name = tbp_str_c(run->files.at[i].name);
        if (name.n == host.n + strlen(ending) && tbp_str_ends(name, ending) &&
            memcmp(name.p, host.p, host.n) == 0)
            return true;
    }
    return false;
}

/* With the statistics of every host in the cache no workers are asked. */
static bool has_all_op_stats(const struct tbp_doctor_folder *run) {
    static const char ending[] = ".op_stats_v2.pb";
    if (!has_file(run, TBP_STR("ALL_HOSTS"), ending))
        return false;
    for (size_t i = 0; i < run->files.n; i++) {
        const struct tbp_doctor_file *file = &run->files.at[i];
        if (file->kind == TBP_FILE_XPLANE && !has_file(run, file->host, ending))
            return false;
    }
    return true;
}

static void run_several_hosts(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    if (!tbp_doctor_plugin_within(d, first_with_workers, first_without_workers) ||
        tbp_python_tbprof_answers(&d->python))
        return;
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        if (run->count[TBP_FILE_XPLANE] < 2 || has_all_op_stats(run))
            continue;
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, run->path);
        f->what = tbp_arena_printf(d->arena,
                                   "has %zu hosts: %s answers their pages with \"No worker service "
                                   "stub available\", an empty page",
                                   run->count[TBP_FILE_XPLANE], tbp_doctor_plugin_text(d));
        f->advice = "pip install --upgrade xprof (2.24.0 or later), or install tbprof's package";
    }
}

const struct tbp_doctor_check tbp_check_several_hosts = {
    .name = "several-hosts",
    .scope = TBP_CHECK_FILES,
    .help = "the installed plugin shows runs of several hosts",
    .run = run_several_hosts,
};

struct sum {
    uint32_t crc32;
    bool was_tried, is_known;
};

static bool sum_once(struct sum *s, const struct tbp_doctor_file *file) {
    uint64_t size_bytes;
    if (!s->was_tried)
        s->is_known = tbp_file_sum(file->path, &size_bytes, &s->crc32);
    s->was_tried = true;
    return s->is_known;
}

/* An xplane before this one in the run that has the same bytes, or NULL. */
static const struct tbp_doctor_file *twin_of(const struct tbp_doctor_folder *run, size_t at,
                                             struct sum *sums) {
    const struct tbp_doctor_file *file = &run->files.at[at];
    for (size_t i = 0; i < at; i++) {
        const struct tbp_doctor_file *other = &run->files.at[i];
        if (other->kind != TBP_FILE_XPLANE || other->size_bytes != file->size_bytes)
            continue;
        if (other->identity == file->identity ||
            (sum_once(&sums[at], file) && sum_once(&sums[i], other) &&
             sums[at].crc32 == sums[i].crc32))
            return other;
    }
    return NULL;
}

static void run_twice(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        struct sum *sums = TBP_NEW_N(d->arena, struct sum, run->files.n);
        for (size_t k = 0; k < run->files.n; k++) {
            const struct tbp_doctor_file *file = &run->files.at[k], *twin;
            if (file->kind != TBP_FILE_XPLANE || !file->size_bytes ||
                !(twin = twin_of(run, k, sums)))
                continue;
            struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, file->path);
            f->what = tbp_arena_printf(
                d->arena, "has the same bytes as '%s': pages count that host twice", twin->name);
            f->advice = "remove one of the two";
        }
    }
}

const struct tbp_doctor_check tbp_check_twice = {
    .name = "twice",
    .scope = TBP_CHECK_FILES,
    .help = "no two xplane files of a run are copies of each other",
    .run = run_twice,
};
