/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of folders: is the path given the log directory, are the profiles where plugins look, may
 * they be read, and do older plugins find them (marker).
 */
#include "cli/doctor.h"

#include "plugin_data/marker.h"
#include "plugin_data/rundir.h"
#include "plugin_data/sink.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_NAMES = 100 };

static void run_level(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    static const char *const words[] = {
        [TBP_PLACE_FILE] = "is a file; TensorBoard wants the log directory",
        [TBP_PLACE_PLUGINS] = "is the folder 'plugins'; TensorBoard wants the one that holds it",
        [TBP_PLACE_PROFILE] = "is the folder 'plugins/profile'; TensorBoard wants the one that "
                              "holds 'plugins'",
        [TBP_PLACE_RUN] = "is a run folder; TensorBoard wants the log directory three levels above",
        [TBP_PLACE_BELOW] = "holds no profile, but a folder above does",
    };
    const struct tbp_tree *t = &d->tree;
    if (t->is_cut)
        tbp_doctor_report(d, self, TBP_NOTE, t->root)->what = tbp_arena_printf(
            d->arena, "has more than %zu folders below it; the rest was not looked at",
            t->n_folders);
    if (t->place == TBP_PLACE_LOGDIR)
        return;
    struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, t->given);
    f->what = words[t->place];
    f->advice = tbp_arena_printf(d->arena, "tensorboard --logdir '%s'", t->root);
    if (t->given_special)
        f->what = tbp_arena_printf(d->arena, "is %s; TensorBoard wants the log directory",
                                   t->given_special);
    else if (t->place == TBP_PLACE_FILE && !t->n_folders)
        f->advice = tbp_arena_printf(d->arena, "tbprof view '%s', or tbprof convert", t->given);
}

const struct tbp_doctor_check tbp_check_level = {
    .name = "level",
    .scope = TBP_CHECK_FILES,
    .help = "the path given is the log directory, no level below it",
    .run = run_level,
};

static bool has_runs(const struct tbp_tree *t) {
    return t->runs.n || t->strays.n;
}

static void run_no_data(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    const struct tbp_tree *t = &d->tree;
    if (has_runs(t) || t->locked.n || t->no_folders.n || !t->n_folders)
        return;
    struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, t->root);
    f->what = t->logdirs.n ? "has an empty folder plugins/profile: no run was saved here"
                           : "holds no profile: no plugins/profile/RUN with a file *.xplane.pb";
    f->advice = "record one; a recording of another machine lies on that machine's disk: copy it "
                "here";
    if (!t->foreign.name)
        return;
    f->what = tbp_arena_printf(d->arena, "holds no profile that plugins read, only files like '%s'",
                               t->foreign.name);
    f->advice = t->foreign.advice;
}

const struct tbp_doctor_check tbp_check_no_data = {
    .name = "no-data",
    .scope = TBP_CHECK_FILES,
    .help = "there is a profile at all",
    .run = run_no_data,
};

/* A locked folder somewhere beside runs that show need not have to do with profiles. */
static void check_locked(struct tbp_doctor *d, const struct tbp_doctor_check *self,
                         const char *path) {
    struct tbp_str below = tbp_str_c(path + strlen(d->tree.root));
    bool is_ours = tbp_str_has(below, "/plugins") || !has_runs(&d->tree);
    struct tbp_finding *f = tbp_doctor_report(d, self, is_ours ? TBP_PROBLEM : TBP_NOTE, path);
    f->what = "is a folder that this user may not look into";
    f->advice = tbp_arena_printf(d->arena, "chmod u+rx '%s' as its owner", path);
}

static void run_permission(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    const struct tbp_tree *t = &d->tree;
    for (size_t i = 0; i < t->locked.n; i++)
        check_locked(d, self, t->locked.at[i]);
    for (size_t i = 0; i < t->runs.n; i++) {
        const struct tbp_doctor_folder *run = &t->runs.at[i];
        for (size_t k = 0; k < run->files.n; k++) {
            const struct tbp_doctor_file *file = &run->files.at[k];
            if (file->is_readable || file->kind == TBP_FILE_OTHER)
                continue;
            struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, file->path);
            f->what = "is a file that this user may not read";
            f->advice = tbp_arena_printf(d->arena, "chmod u+r '%s' as its owner", file->path);
        }
    }
}

const struct tbp_doctor_check tbp_check_permission = {
    .name = "permission",
    .scope = TBP_CHECK_FILES,
    .help = "folders and files may be read by this user",
    .run = run_permission,
};

/* A file of the same name in some run: most likely it was made from this one. */
static bool is_in_a_run(const struct tbp_tree *t, const char *name) {
    for (size_t i = 0; i < t->runs.n; i++) {
        const struct tbp_doctor_folder *run = &t->runs.at[i];
        for (size_t k = 0; k < run->files.n; k++) {
            if (run->files.at[k].kind == TBP_FILE_XPLANE &&
                strcmp(run->files.at[k].name, name) == 0)
                return true;
        }
    }
    return false;
}

static bool is_copied(const struct tbp_tree *t, const struct tbp_doctor_folder *stray) {
    size_t n = 0;
    while (n < stray->files.n && is_in_a_run(t, stray->files.at[n].name))
        n++;
    return n == stray->files.n;
}

static void run_layout(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    const struct tbp_tree *t = &d->tree;
    for (size_t i = 0; i < t->strays.n; i++) {
        const struct tbp_doctor_folder *s = &t->strays.at[i];
        struct tbp_finding *f =
            tbp_doctor_report(d, self, is_copied(t, s) ? TBP_NOTE : TBP_PROBLEM, s->path);
        f->what = tbp_arena_printf(d->arena,
                                   "holds '%s'%s where no plugin looks: runs are the folders "
                                   "LOGDIR/plugins/profile/RUN",
                                   s->files.at[0].name, s->files.n > 1 ? " and others" : "");
        f->advice = "tbprof doctor --fix links the files into such a folder";
        f->subject = s;
    }
}

/* A new folder name below `profile`: the wish, or with a number behind it. */
static const char *free_name(struct tbp_arena *arena, const char *profile, const char *wish) {
    for (unsigned i = 0; i < MAX_NAMES; i++) {
        const char *path =
            tbp_arena_printf(arena, "%s/%s", profile, tbp_rundir_numbered(arena, wish, i));
        if (access(path, F_OK) != 0)
            return path;
    }
    return NULL;
}

/* Run name of a flat folder: its own if it says something, else the time of its newest file, which
 * is how producers name runs. */
static const char *name_of_stray(const struct tbp_doctor *d, const struct tbp_doctor_folder *s) {
    char *name = TBP_NEW_N(d->arena, char, TBP_RUNDIR_TIME_NAME);
    int64_t newest_s = 0;
    bool is_root = strcmp(s->path, d->tree.root) == 0;
    if (!is_root && strcmp(s->name, "profile") != 0 && strcmp(s->name, "plugins") != 0)
        return s->name;
    for (size_t i = 0; i < s->files.n; i++)
        newest_s = s->files.at[i].mtime_s > newest_s ? s->files.at[i].mtime_s : newest_s;
    tbp_rundir_time_name(name, (time_t)newest_s);
    return name;
}

/* The log directory whose plugins/profile the stray lies in, else the root. */
static const char *logdir_of_stray(const struct tbp_doctor *d, const struct tbp_doctor_folder *s) {
    for (size_t i = 0; i < d->tree.logdirs.n; i++) {
        const char *path = d->tree.logdirs.at[i].path;
        if (tbp_str_starts(tbp_str_c(s->path), tbp_arena_printf(d->arena, "%s/plugins", path)))
            return path;
    }
    return d->tree.root;
}

static int write_marker(const char *logdir, int64_t time_s, struct tbp_error *err) {
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    return tbp_marker_write(logdir, host, time_s, err);
}

static int copy_file(const char *from, const char *to, struct tbp_error *err) {
    struct tbp_sink_file *f;
    int status = tbp_sink_file_new(&f, to, err);
    if (status)
        return status;
    status = tbp_sink_file_copy(f, from, err);
    tbp_sink_file_free(f);
    return status;
}

/* The file itself under a second name, which stays when the first is removed; on another file
 * system, or where that is not allowed, a link to it; a copy where there are no links. What is
 * linked to is the file, so that no way to it has to stay. */
static int bring_file(const char *from, const char *to, struct tbp_error *err) {
    char real[PATH_MAX];
    if (!realpath(from, real))
        return tbp_fail_errno(err, TBP_E_IO, "opening '%s' failed", from);
    if (link(real, to) == 0 || symlink(real, to) == 0)
        return TBP_OK;
    return copy_file(real, to, err);
}

static int fix_layout(struct tbp_doctor *d, const struct tbp_finding *f, const char **did,
                      struct tbp_error *err) {
    const struct tbp_doctor_folder *s = f->subject;
    const char *logdir = logdir_of_stray(d, s);
    const char *profile = tbp_arena_printf(d->arena, "%s/" TBP_RUNDIR_MIDDLE, logdir);
    const char *folder = free_name(d->arena, profile, name_of_stray(d, s));
    if (!folder)
        return tbp_fail(err, TBP_E_LIMIT, "no free run name in '%s'", profile);
    int status = tbp_rundir_make(folder, err);
    for (size_t i = 0; i < s->files.n && !status; i++) {
        const struct tbp_doctor_file *file = &s->files.at[i];
        const char *to = tbp_rundir_file(d->arena, folder, file->host, TBP_RUNDIR_XPLANE);
        status = bring_file(file->path, to, err);
    }
    if (status) {
        rmdir(folder); /* if nothing is in it */
        return status;
    }
    *did = tbp_arena_printf(d->arena, "linked into '%s'", folder);
    return write_marker(logdir, s->files.at[0].mtime_s, err);
}

const struct tbp_doctor_check tbp_check_layout = {
    .name = "layout",
    .scope = TBP_CHECK_FILES,
    .help = "xplane files lie in LOGDIR/plugins/profile/RUN (--fix links them there)",
    .run = run_layout,
    .fix = fix_layout,
};

/* Would a pattern of file names, which this path is to the plugin, fail to fit the path itself? So
 * it is with every pair of brackets within one name. */
static bool is_pattern(const char *path) {
    for (const char *p = path; (p = strchr(p, '[')); p++) {
        const char *end = p + 1 + (p[1] == '!');
        end += *end == ']';
        end += strcspn(end, "]/");
        if (*end == ']')
            return true;
    }
    return false;
}

/* The log directory as TensorBoard gets it: made absolute, links kept. */
static const char *path_told(const struct tbp_doctor *d) {
    char here[PATH_MAX];
    const struct tbp_tree *t = &d->tree;
    if (t->place != TBP_PLACE_LOGDIR || !getcwd(here, sizeof here))
        return t->root;
    return *t->given == '/' ? t->given : tbp_arena_printf(d->arena, "%s/%s", here, t->given);
}

/* Plugins from 2.19.5 on look for folders plugins/profile themselves, with a pattern. */
static void run_not_listed(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    const struct tbp_tree *t = &d->tree;
    if (tbp_doctor_plugin_within(d, 1, TBP_RELEASE(2, 19, 5)))
        return;
    enum tbp_finding_level level = d->python.profile ? TBP_PROBLEM : TBP_NOTE;
    bool has_brackets = is_pattern(path_told(d));
    for (size_t i = 0; i < t->logdirs.n; i++) {
        const struct tbp_doctor_logdir *l = &t->logdirs.at[i];
        if (!l->n_shown || !*l->below || (!has_brackets && !l->is_behind_link))
            continue;
        struct tbp_finding *f = tbp_doctor_report(d, self, level, l->path);
        if (has_brackets) {
            f->what = "is not found by plugins from 2.19.5 on: '[' and ']' in the path of the log "
                      "directory are a pattern to them";
            f->advice = "rename that folder, or give a link to it whose path has no brackets";
        } else {
            f->what = "lies behind a link, and plugins from 2.19.5 on pass by links to folders";
            f->advice = "give it as --logdir, or make folders of the links up to 'plugins' and "
                        "link 'profile' only";
        }
    }
}

const struct tbp_doctor_check tbp_check_not_listed = {
    .name = "not-listed",
    .scope = TBP_CHECK_FILES,
    .help = "the way to the profiles has no links and patterns that hide them from the plugin",
    .run = run_not_listed,
};

static void run_marker(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    const struct tbp_tree *t = &d->tree;
    bool needs_none = tbp_doctor_plugin_within(d, TBP_RELEASE(2, 19, 5), UINT32_MAX);
    for (size_t i = 0; i < t->logdirs.n; i++) {
        const struct tbp_doctor_logdir *l = &t->logdirs.at[i];
        if (!l->n_shown || l->has_events)
            continue;
        bool is_problem = *l->below && !needs_none;
        struct tbp_finding *f =
            tbp_doctor_report(d, self, is_problem ? TBP_PROBLEM : TBP_NOTE, l->path);
        f->what = l->empty_marker ? "has a marker event file of 0 bytes"
                                  : "has no marker event file (events.out.tfevents.*)";
        f->what = tbp_arena_printf(d->arena, "%s: plugins up to 2.19.4 find its profiles only %s",
                                   f->what,
                                   *l->below ? "when it is the log directory itself"
                                             : "as long as it is the log directory itself");
        f->advice = "tbprof doctor --fix writes one";
        f->subject = l;
    }
}

static int fix_marker(struct tbp_doctor *d, const struct tbp_finding *f, const char **did,
                      struct tbp_error *err) {
    const struct tbp_doctor_logdir *l = f->subject;
    int64_t time_s = 0;
    for (size_t i = 0; i < d->tree.runs.n; i++) {
        const struct tbp_doctor_folder *run = &d->tree.runs.at[i];
        for (size_t k = 0; k < run->files.n && &d->tree.logdirs.at[run->logdir] == l; k++)
            time_s = run->files.at[k].mtime_s > time_s ? run->files.at[k].mtime_s : time_s;
    }
    if (l->empty_marker && unlink(l->empty_marker) != 0 && errno != ENOENT)
        return tbp_fail_errno(err, TBP_E_IO, "removing '%s' failed", l->empty_marker);
    *did = "marker written";
    return write_marker(l->path, time_s, err);
}

const struct tbp_doctor_check tbp_check_marker = {
    .name = "marker",
    .scope = TBP_CHECK_FILES,
    .help = "folders above plugins/ have an event file, for older plugins (--fix writes it)",
    .run = run_marker,
    .fix = fix_marker,
};
