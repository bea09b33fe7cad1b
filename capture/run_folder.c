/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_folder.h. Only operations that fail when the name is taken decide who gets it: rename of
 * a folder onto one that is not empty, link, mkdir.
 */
#include "capture/run_folder.h"

#include "plugin_data/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN_FOLDER ".tbprof"
enum { MAX_SUFFIX = 100000 };

static bool is_taken(int code) {
    return code == EEXIST || code == ENOTEMPTY || code == ENOTDIR;
}

static void sync_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd); /* file systems that cannot do it do not need it */
    close(fd);
}

/* Never through a link: who else may write to the log directory would choose where it leads. */
static int open_folder(const char *path) {
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static DIR *list_folder(const char *path) {
    int fd = open_folder(path);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !d)
        close(fd);
    return d;
}

/* Removes a folder of files. */
static void remove_folder(const char *path) {
    DIR *d = list_folder(path);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0); /* "." and ".." refuse */
    closedir(d);
    rmdir(path);
}

/* Where a pid means this process and no other: machine, boot and pid namespace. A log directory
 * may be shared by several, in all of which there is a process 1. */
static uint64_t place_of_pids(void) {
    char text[512] = "";
    struct stat ns = {0};
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, 64);
    if (fd >= 0)
        close(fd);
    n = n > 0 ? n : 0;
    gethostname(text + n, sizeof text - 1 - (size_t)n);
    stat("/proc/self/ns/pid", &ns);
    return tbp_str_hash(tbp_str_c(text)) ^ (uint64_t)ns.st_ino * UINT64_C(0x9e3779b97f4a7c15);
}

/* What names of this place's staging folders begin with. */
static const char *staging_prefix(struct tbp_arena *arena) {
    return tbp_arena_printf(arena, "run-%016llx-", (unsigned long long)place_of_pids());
}

/* Staging folders of processes of this place that died while they wrote. */
static void remove_stale(struct tbp_arena *arena, const char *own, const char *prefix) {
    size_t n = strlen(prefix);
    DIR *d = opendir(own);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        char *end;
        long pid = strncmp(e->d_name, prefix, n) == 0 ? strtol(e->d_name + n, &end, 10) : 0;
        if (pid > 0 && *end == '-' && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            remove_folder(tbp_arena_printf(arena, "%s/%s", own, e->d_name));
    }
    closedir(d);
}

/* The folder for all staging folders goes with the last of them: another process may just have
 * removed it. */
static int make_staging(struct tbp_run_folder *f, const char *own, struct tbp_error *err) {
    static atomic_uint number;
    enum { TRIES = 100 };
    const char *prefix = staging_prefix(f->arena), *staging = own;
    for (int i = 0; i < TRIES; i++) {
        int status = tbp_rundir_make(own, err);
        if (status)
            return status;
        remove_stale(f->arena, own, prefix);
        staging = tbp_arena_printf(f->arena, "%s/%s%ld-%u", own, prefix, (long)getpid(),
                                   atomic_fetch_add(&number, 1));
        if (mkdir(staging, 0777) == 0) {
            f->staging = staging;
            return TBP_OK;
        }
        if (errno != ENOENT && errno != EEXIST)
            break;
    }
    return tbp_fail_errno(err, TBP_E_IO, "cannot make folder '%s'", staging);
}

int tbp_run_folder_begin(struct tbp_run_folder *f, struct tbp_arena *arena, const char *logdir,
                         struct tbp_str host, struct tbp_error *err) {
    const char *own = tbp_arena_printf(arena, "%s/" OWN_FOLDER, logdir);
    *f = (struct tbp_run_folder){.arena = arena, .logdir = logdir};
    int status = make_staging(f, own, err);
    if (status) {
        rmdir(own);
        return status;
    }
    f->stem = tbp_rundir_clean_host(arena, host);
    f->file = tbp_rundir_file(arena, f->staging, tbp_str_c(f->stem), TBP_RUNDIR_XPLANE);
    return TBP_OK;
}

void tbp_run_folder_discard(struct tbp_run_folder *f) {
    if (f->staging)
        remove_folder(f->staging);
    f->staging = NULL;
    rmdir(tbp_arena_printf(f->arena, "%s/" OWN_FOLDER, f->logdir)); /* if it is empty */
}

/* The staging folder becomes the run. False: errno says why. */
static bool become(struct tbp_run_folder *f, const char *target) {
    const char *to = tbp_rundir_file(f->arena, target, tbp_str_c(f->stem), TBP_RUNDIR_XPLANE);
    if (rename(f->staging, target) != 0) {
        if (is_taken(errno) || errno == ENOSPC || errno == EDQUOT || errno == EROFS)
            return false;
        /* Some network and object file systems rename files only. */
        if (mkdir(target, 0777) != 0 || rename(f->file, to) != 0)
            return false;
    }
    f->file = to;
    return true;
}

/* Results that were made of fewer hosts than there are now. */
static void remove_combined(const char *target) {
    static const char prefix[] = TBP_RUNDIR_ALL_HOSTS ".";
    DIR *d = list_folder(target);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));)
        if (strncmp(e->d_name, prefix, sizeof prefix - 1) == 0)
            unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
}

/* The file gets a name in a run that another rank has made. False: errno says why. */
static bool join_at(struct tbp_run_folder *f, const char *target, int fd) {
    for (int i = 0; i < MAX_SUFFIX; i++) {
        const char *stem = f->stem;
        if (i == 1)
            stem = tbp_arena_printf(f->arena, "%s_%ld", f->stem, (long)getpid());
        else if (i > 1)
            stem = tbp_arena_printf(f->arena, "%s_%ld_%d", f->stem, (long)getpid(), i);
        const char *to = tbp_rundir_file(f->arena, target, tbp_str_c(stem), TBP_RUNDIR_XPLANE);
        const char *name = strrchr(to, '/') + 1;
        bool is_there = linkat(AT_FDCWD, f->file, fd, name, 0) == 0;
        if (!is_there && (errno == EPERM || errno == ENOTSUP || errno == ENOSYS)) /* no links */
            is_there = renameat2(AT_FDCWD, f->file, fd, name, RENAME_NOREPLACE) == 0;
        if (is_there) {
            f->file = to;
            return true;
        }
        if (errno != EEXIST)
            return false;
    }
    return false;
}

static bool join(struct tbp_run_folder *f, const char *target) {
    int fd = open_folder(target);
    bool is_there = fd >= 0 && join_at(f, target, fd);
    int code = errno == ELOOP ? ENOTDIR : errno; /* what is no folder is as good as taken */
    if (fd >= 0)
        close(fd);
    errno = code;
    return is_there;
}

/* The n-th name that a run may have. */
static const char *run_path(struct tbp_run_folder *f, const char *profile, const char *run, int n) {
    return tbp_arena_printf(f->arena, "%s/%s", profile,
                            tbp_rundir_numbered(f->arena, run, (unsigned)n));
}

/* A number from 1 on whose name is free, in few steps: a second can have hundreds of runs. */
static int find_free(struct tbp_run_folder *f, const char *profile, const char *run) {
    int taken = 0, unused = 1;
    while (unused < MAX_SUFFIX && access(run_path(f, profile, run, unused), F_OK) == 0) {
        taken = unused;
        unused *= 2;
    }
    while (unused - taken > 1) {
        int between = taken + (unused - taken) / 2;
        bool is_there = access(run_path(f, profile, run, between), F_OK) == 0;
        *(is_there ? &taken : &unused) = between;
    }
    return unused;
}

static const char *find_in_run(struct tbp_run_folder *f, const char *run, uint64_t inode) {
    const char *found = NULL;
    struct stat st;
    DIR *d = list_folder(run);
    if (!d)
        return NULL;
    for (struct dirent *e; !found && (e = readdir(d));)
        if (tbp_str_ends(tbp_str_c(e->d_name), "." TBP_RUNDIR_XPLANE) &&
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == inode)
            found = tbp_arena_printf(f->arena, "%s/%s", run, e->d_name);
    closedir(d);
    return found;
}

const char *tbp_run_folder_find(struct tbp_run_folder *f, uint64_t inode) {
    const char *profile = tbp_arena_printf(f->arena, "%s/" TBP_RUNDIR_MIDDLE, f->logdir);
    const char *found = NULL;
    DIR *d = opendir(profile);
    if (!d)
        return NULL;
    for (struct dirent *e; !found && (e = readdir(d));)
        if (e->d_name[0] != '.')
            found = find_in_run(f, tbp_arena_printf(f->arena, "%s/%s", profile, e->d_name), inode);
    closedir(d);
    return found;
}

bool tbp_run_folder_replace(struct tbp_run_folder *f, const char *older) {
    const char *slash = strrchr(older, '/');
    if (!slash)
        return false;
    const char *run = tbp_arena_printf(f->arena, "%.*s", (int)(slash - older), older);
    int fd = open_folder(run);
    bool is_there = fd >= 0 && renameat(AT_FDCWD, f->file, fd, slash + 1) == 0;
    if (fd >= 0)
        close(fd);
    if (!is_there)
        return false;
    f->run = run;
    f->file = tbp_arena_printf(f->arena, "%s", older);
    return true;
}

int tbp_run_folder_publish(struct tbp_run_folder *f, const char *run, bool is_shared,
                           struct tbp_error *err) {
    const char *profile = tbp_arena_printf(f->arena, "%s/" TBP_RUNDIR_MIDDLE, f->logdir);
    int status = tbp_rundir_make(profile, err);
    if (status)
        return status;
    for (int i = 0; i < MAX_SUFFIX; i = i || is_shared ? i + 1 : find_free(f, profile, run)) {
        const char *target = run_path(f, profile, run, i);
        if (become(f, target) || (is_taken(errno) && is_shared && join(f, target))) {
            f->run = target;
            return TBP_OK;
        }
        if (!is_taken(errno))
            break;
    }
    return tbp_fail_errno(err, TBP_E_IO, "cannot make run '%s' in '%s'", run, profile);
}

void tbp_run_folder_settle(struct tbp_run_folder *f) {
    const char *slash = strrchr(f->run, '/');
    remove_combined(f->run);
    sync_folder(f->run); /* was the staging folder, as a rule: once will do for both */
    sync_folder(tbp_arena_printf(f->arena, "%.*s", (int)(slash - f->run), f->run));
    tbp_run_folder_discard(f);
}
