/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of what the plugin writes beside the xplanes: may it do so, of which version are its
 * caches, and are they older than the xplanes they were made of. All ask the same first: does the
 * installed plugin read the cache, and what becomes of the caches of this run before they are
 * shown?
 */
#include "cli/doctor.h"
#include "cli/plugin_caches.h"

#include <stdio.h>

static const uint32_t first_with_gate = TBP_RELEASE(2, 20, 1);

enum { VERSION_TEXT = 64 };

/* Releases [from, to) read caches of that name; of names not here, all do. */
static const struct {
    const char *ending;
    uint32_t from, to;
} readers[] = {
    {".op_stats.pb", TBP_RELEASE(2, 19, 1), TBP_RELEASE(2, 22, 0)},
    {".op_stats_v2.pb", TBP_RELEASE(2, 22, 0), UINT32_MAX},
    {".flat_op_stats_v2.pb", TBP_RELEASE(2, 22, 0), UINT32_MAX},
    {".smart_suggestion.pb", TBP_RELEASE(2, 22, 2), UINT32_MAX},
};

/* Texts that hold no page: of which version caches are; which pages there are, of which files. */
static bool is_about_caches(const struct tbp_doctor_file *file) {
    struct tbp_str name = tbp_str_c(file->name);
    return tbp_str_ends(name, "cache_version.txt") || tbp_str_ends(name, "cached_tools.json");
}

/* A cache which the installed plugin, or some plugin if none is known, would show. */
static bool is_shown(const struct tbp_doctor *d, const struct tbp_doctor_file *file) {
    if (file->kind != TBP_FILE_CACHE || is_about_caches(file))
        return false;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (tbp_str_ends(tbp_str_c(file->name), readers[i].ending))
            return !tbp_doctor_plugin_within(d, 1, UINT32_MAX) ||
                   tbp_doctor_plugin_within(d, readers[i].from, readers[i].to);
    }
    return true;
}

static const struct tbp_doctor_file *first_shown(const struct tbp_doctor *d,
                                                 const struct tbp_doctor_folder *run) {
    for (size_t i = 0; i < run->files.n; i++) {
        if (is_shown(d, &run->files.at[i]))
            return &run->files.at[i];
    }
    return NULL;
}

/* First line of cache_version.txt; empty if it is not there. */
static struct tbp_str cache_version(struct tbp_arena *arena, const struct tbp_doctor_folder *run) {
    char line[VERSION_TEXT] = "";
    FILE *f = fopen(tbp_arena_printf(arena, "%s/cache_version.txt", run->path), "rb");
    if (!f)
        return TBP_STR_NONE;
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)line[i] <= ' ' || (unsigned char)line[i] > '~')
            n = i;
    }
    return tbp_arena_str(arena, (struct tbp_str){line, n});
}

enum fate {
    CACHES_SHOWN,
    CACHES_REMADE,
    CACHES_IN_THE_WAY, /* to be made again, but the old ones cannot be removed */
};

/* The plugin compares versions as texts, and none is less than any: caches of a version that is
 * not less than its own are taken. Releases before the comparison take whatever is there. */
static enum fate fate_of(const struct tbp_doctor *d, const struct tbp_doctor_folder *run) {
    if (!tbp_doctor_plugin_within(d, first_with_gate, UINT32_MAX) ||
        tbp_str_cmp(cache_version(d->arena, run), tbp_str_c(d->python.profile->version)) >= 0)
        return CACHES_SHOWN;
    return run->is_writable ? CACHES_REMADE : CACHES_IN_THE_WAY;
}

bool tbp_doctor_uses_cache(const struct tbp_doctor *d, const struct tbp_doctor_folder *run,
                           const struct tbp_doctor_file *cache) {
    if (is_about_caches(cache))
        return !tbp_doctor_plugin_within(d, 1, first_with_gate);
    return is_shown(d, cache) && fate_of(d, run) == CACHES_SHOWN;
}

static bool is_from_elsewhere(const struct tbp_doctor *d, const struct tbp_doctor_folder *run) {
    struct tbp_str theirs = cache_version(d->arena, run);
    bool has_gate = tbp_doctor_plugin_within(d, first_with_gate, UINT32_MAX);
    return theirs.n ? !tbp_str_eq(tbp_str_c(d->python.profile->version), theirs) : has_gate;
}

static void check_version(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                          const struct tbp_doctor_folder *run) {
    static const char *const consequences[] = {
        [CACHES_SHOWN] = "shows them as if they were its own",
        [CACHES_REMADE] = "makes them again when a page is opened",
        [CACHES_IN_THE_WAY] = "cannot remove them here, and each page that it makes fails",
    };
    const struct tbp_doctor_file *cache = first_shown(d, run);
    if (!cache || !is_from_elsewhere(d, run))
        return;
    const enum fate fate = fate_of(d, run);
    const bool is_harmless = fate == CACHES_REMADE;
    struct tbp_finding *f =
        tbp_doctor_report(d, self, is_harmless ? TBP_NOTE : TBP_PROBLEM, run->path);
    struct tbp_str version = cache_version(d->arena, run);
    f->what = tbp_arena_printf(d->arena, "has caches ('%s') of version %s: %s %s", cache->name,
                               version.n ? version.p : "unknown", tbp_doctor_plugin_text(d),
                               consequences[fate]);
    f->advice = "remove cache_version.txt, .cached_tools.json, *.SSTABLE and *op_stats*.pb there";
}

static void run_caches(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        if (tbp_doctor_plugin_within(d, 1, UINT32_MAX))
            check_version(d, self, &d->tree.runs.at[i]);
    }
}

const struct tbp_doctor_check tbp_check_caches = {
    .name = "caches",
    .scope = TBP_CHECK_FILES,
    .help = "caches of the plugin are of the version installed",
    .run = run_caches,
};

/* The newest xplane, if it is newer than a cache made of it, or NULL. */
static const struct tbp_doctor_file *newest_xplane(const struct tbp_doctor_folder *run,
                                                   const struct tbp_doctor_file *cache) {
    const struct tbp_doctor_file *newest = cache;
    for (size_t i = 0; i < run->files.n; i++) {
        const struct tbp_doctor_file *file = &run->files.at[i];
        if (file->kind == TBP_FILE_XPLANE && file->mtime_s > newest->mtime_s &&
            tbp_plugin_cache_is_of(tbp_str_c(cache->name), file->host))
            newest = file;
    }
    return newest == cache ? NULL : newest;
}

/* Copied without their times, files are as old as the copy, in the order in which it was made. */
enum { COPIED_TOGETHER_S = 60 };

static void report_old_cache(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                             const struct tbp_doctor_file *cache,
                             const struct tbp_doctor_file *xplane) {
    int64_t older_s = xplane->mtime_s - cache->mtime_s;
    bool is_sure = older_s > COPIED_TOGETHER_S;
    struct tbp_finding *f =
        tbp_doctor_report(d, self, is_sure ? TBP_PROBLEM : TBP_NOTE, cache->path);
    f->advice = "remove it; the plugin makes it again when the page is opened";
    if (is_sure)
        f->what = tbp_arena_printf(d->arena,
                                   "is a cache of the plugin, older than '%s': its page shows "
                                   "the profile that was there before",
                                   xplane->name);
    else
        f->what = tbp_arena_printf(d->arena,
                                   "is a cache of the plugin, %d s older than '%s': its page may "
                                   "show a profile that was there before, unless both were copied "
                                   "without their times",
                                   (int)older_s, xplane->name);
}

static void check_age(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                      const struct tbp_doctor_folder *run) {
    for (size_t i = 0; i < run->files.n; i++) {
        const struct tbp_doctor_file *cache = &run->files.at[i], *xplane;
        if (is_shown(d, cache) && (xplane = newest_xplane(run, cache)))
            report_old_cache(d, self, cache, xplane);
    }
}

static void run_old_cache(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        if (fate_of(d, &d->tree.runs.at[i]) == CACHES_SHOWN)
            check_age(d, self, &d->tree.runs.at[i]);
    }
}

const struct tbp_doctor_check tbp_check_old_cache = {
    .name = "old-cache",
    .scope = TBP_CHECK_FILES,
    .help = "caches of the plugin are not older than the xplanes they were made of",
    .run = run_old_cache,
};

/* Plugins write the programs of a run beside it, or a file that says that there are none, when they
 * are asked for the list of its pages, and give none if they cannot. */
static bool has_list_of_pages(const struct tbp_doctor_folder *run) {
    for (size_t i = 0; i < run->files.n; i++) {
        struct tbp_str name = tbp_str_c(run->files.at[i].name);
        if (tbp_str_ends(name, ".hlo_proto.pb") || tbp_str_is(name, ".cached_tools.json"))
            return true;
    }
    return false;
}

static void check_rights(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                         const struct tbp_doctor_folder *run) {
    bool is_lost = !tbp_python_tbprof_answers(&d->python) && !has_list_of_pages(run);
    struct tbp_finding *f = tbp_doctor_report(d, self, is_lost ? TBP_PROBLEM : TBP_NOTE, run->path);
    f->what = tbp_arena_printf(
        d->arena, "may not be written by this user: %s %s", tbp_doctor_plugin_text(d),
        is_lost ? "lists no page of such a run before it has written beside it"
                : "cannot keep caches there, without which its trace viewer stays empty");
    f->advice = "allow writing, or use a copy; with tbprof's package its pages show as they are";
    if (tbp_python_tbprof_answers(&d->python)) {
        f->what = "may not be written by this user: pages that tbprof does not make are made anew "
                  "each time, and those of programs are missing";
        f->advice = "allow writing, or use a copy, if they are missed";
    }
}

/* With caches of its own version the plugin shows all; others are told by the check of caches. */
static void run_read_only(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    if (!tbp_doctor_plugin_within(d, TBP_RELEASE(2, 19, 0), UINT32_MAX))
        return;
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        bool has_xplane = run->count[TBP_FILE_XPLANE] || run->count[TBP_FILE_RIEGELI];
        if (has_xplane && !run->is_writable && !first_shown(d, run))
            check_rights(d, self, run);
    }
}

const struct tbp_doctor_check tbp_check_read_only = {
    .name = "read-only",
    .scope = TBP_CHECK_FILES,
    .help = "the plugin may write beside xplanes, without which it lists no pages",
    .run = run_read_only,
};
