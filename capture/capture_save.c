/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing under an allowed root; see capture_save.h. From the root on, every folder is opened by
 * its name in the one before, without following links: what is checked is what is written to.
 */
#include "capture/capture_save.h"

#include "capture/capture_request.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(struct tbp_error *err, const char *why) {
    return tbp_fail(err, TBP_E_USAGE, "writing on this host is not allowed: %s", why);
}

enum { MAX_DEPTH = 16 }; /* of folders made for a client */

/* No "." and "..", no empty parts but at the end, and not too many. */
static bool is_plain(struct tbp_str path) {
    for (int depth = 0; path.n; depth++) {
        size_t slash = tbp_str_find(path, '/');
        struct tbp_str part = tbp_str_sub(path, 0, slash);
        if (depth == MAX_DEPTH || part.n == 0 || tbp_str_is(part, ".") || tbp_str_is(part, ".."))
            return false;
        path = tbp_str_sub(path, slash < path.n ? slash + 1 : slash, path.n);
    }
    return true;
}

/* What of `root` lies below the folder `allowed`; false: it does not. Texts, as they stand: a
 * client that goes through links names another folder than was allowed. */
static bool below(struct tbp_str root, struct tbp_str allowed, struct tbp_str *rest) {
    while (allowed.n > 1 && allowed.p[allowed.n - 1] == '/')
        allowed.n--;
    if (root.n < allowed.n || memcmp(root.p, allowed.p, allowed.n) != 0)
        return false;
    *rest = tbp_str_sub(root, allowed.n, root.n);
    if (rest->n && rest->p[0] != '/' && allowed.p[allowed.n - 1] != '/')
        return false;
    if (rest->n && rest->p[0] == '/')
        *rest = tbp_str_sub(*rest, 1, rest->n);
    return true;
}

static int open_allowed(struct tbp_str allowed) {
    char path[PATH_MAX];
    if (allowed.n == 0 || allowed.p[0] != '/' || allowed.n >= sizeof path)
        return -1;
    memcpy(path, allowed.p, allowed.n);
    path[allowed.n] = '\0';
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The allowed folder that holds the root, open, and the way from there; -1: none does. */
static int find_allowed(const struct tbp_save_target *t, struct tbp_str *rest) {
    struct tbp_str all = tbp_str_c(t->allowed ? t->allowed : ""), root = tbp_str_c(t->root);
    while (root.n > 1 && root.p[root.n - 1] == '/')
        root.n--;
    while (all.n) {
        size_t colon = tbp_str_find(all, ':');
        struct tbp_str one = tbp_str_sub(all, 0, colon);
        all = tbp_str_sub(all, colon < all.n ? colon + 1 : colon, all.n);
        int fd = one.n && below(root, one, rest) && is_plain(*rest) ? open_allowed(one) : -1;
        if (fd >= 0)
            return fd;
    }
    return -1;
}

/* Opens (and makes) one folder in another, which is closed. */
static int step_into(int fd, struct tbp_str part, bool makes) {
    char name[NAME_MAX + 1];
    int next = -1;
    if (part.n < sizeof name) {
        memcpy(name, part.p, part.n);
        name[part.n] = '\0';
        if (makes && mkdirat(fd, name, 0777) != 0 && errno != EEXIST) {
            close(fd);
            return -1;
        }
        next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    } else {
        errno = ENAMETOOLONG;
    }
    int kept = errno;
    close(fd);
    errno = kept;
    return next;
}

static int walk(int fd, struct tbp_str rest, bool makes) {
    while (rest.n && fd >= 0) {
        size_t slash = tbp_str_find(rest, '/');
        fd = step_into(fd, tbp_str_sub(rest, 0, slash), makes);
        rest = tbp_str_sub(rest, slash < rest.n ? slash + 1 : slash, rest.n);
    }
    return fd;
}

/* The run's folder, open; -1: errno says why not. *root: what holds it, or -1; the caller's, too.
 */
static int open_run(const struct tbp_save_target *t, bool makes, int *root) {
    struct tbp_str rest;
    int fd = find_allowed(t, &rest);
    *root = fd < 0 ? fd : walk(fd, rest, makes);
    return *root < 0 ? -1 : step_into(fcntl(*root, F_DUPFD_CLOEXEC, 0), tbp_str_c(t->run), makes);
}

/* Links are not followed, and a file is no folder: a client may not ask for either. By errno. */
static int refuse_way(const struct tbp_save_target *t, struct tbp_error *err) {
    if (errno == ELOOP || errno == ENOTDIR)
        return refuse(err, "a symbolic link or a file stands where a folder of the run would be");
    return tbp_fail_errno(err, TBP_E_IO, "opening the run folder '%s' failed", t->run);
}

static void close_both(int run, int root) {
    if (run >= 0)
        close(run);
    if (root >= 0)
        close(root);
}

int tbp_capture_save_check(const struct tbp_save_target *t, struct tbp_error *err) {
    struct tbp_str rest;
    int root;
    if (!tbp_capture_is_name(tbp_str_c(t->run)) || !tbp_capture_is_name(tbp_str_c(t->host)))
        return refuse(err, "session_id and host_name must name files");
    int fd = find_allowed(t, &rest);
    if (fd < 0)
        return refuse(err, "repository_root is not below a folder that the server was given");
    close(fd);
    int run = open_run(t, false, &root);
    int status = run < 0 && errno != ENOENT ? refuse_way(t, err) : TBP_OK;
    close_both(run, root);
    return status;
}

bool tbp_capture_save_exists(const struct tbp_save_target *t) {
    static const struct tbp_str middle = {"plugins/profile", 15};
    struct tbp_str rest;
    if (tbp_capture_save_check(t, NULL) != TBP_OK)
        return false;
    int fd = find_allowed(t, &rest);
    if (tbp_str_ends(rest, middle.p))
        rest.n -= middle.n;
    while (rest.n && rest.p[rest.n - 1] == '/')
        rest.n--;
    if (fd >= 0)
        fd = walk(fd, rest, false);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

static void file_name(const struct tbp_save_target *t, char *to, size_t size) {
    snprintf(to, size, "%s.xplane.pb", t->host);
    for (char *c = to; *c; c++)
        *c = *c == ':' ? '_' : *c;
}

bool tbp_capture_save_is_taken(const struct tbp_save_target *t) {
    char name[TBP_CAPTURE_NAME_MAX + 16];
    struct stat st;
    int root;
    if (tbp_capture_save_check(t, NULL) != TBP_OK)
        return false;
    int run = open_run(t, false, &root);
    file_name(t, name, sizeof name);
    bool is_taken = run >= 0 && fstatat(run, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    close_both(run, root);
    return is_taken;
}

static int write_all(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t done = write(fd, p, n > 1 << 30 ? 1 << 30 : n);
        if (done < 0 && errno != EINTR)
            return -1;
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return fsync(fd);
}

/* Never over a file that is there; some file systems know only one of the two ways. */
static int publish(int folder, const char *temporary, const char *name) {
    if (renameat2(folder, temporary, folder, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (linkat(folder, temporary, folder, name, 0) != 0)
        return -1;
    unlinkat(folder, temporary, 0);
    return 0;
}

static int write_in(int folder, const char *name, const void *bytes, size_t n,
                    struct tbp_error *err) {
    char temporary[64];
    snprintf(temporary, sizeof temporary, ".tbprof-capture.%ld.tmp", (long)getpid());
    unlinkat(folder, temporary, 0); /* of a process with our number that died */
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return tbp_fail_errno(err, TBP_E_IO, "writing '%s' failed", name);
    int failed = write_all(fd, bytes, n);
    failed |= close(fd);
    failed = failed || publish(folder, temporary, name) != 0;
    if (!failed)
        return TBP_OK;
    int status = errno == EEXIST
                     ? tbp_fail(err, TBP_E_USAGE,
                                "the run has a '%s' already, which is not overwritten", name)
                     : tbp_fail_errno(err, TBP_E_IO, "writing '%s' failed", name);
    unlinkat(folder, temporary, 0);
    return status;
}

int tbp_capture_save(const struct tbp_save_target *t, const void *bytes, size_t size_bytes,
                     struct tbp_error *err) {
    char name[TBP_CAPTURE_NAME_MAX + 16];
    int root, status = tbp_capture_save_check(t, err);
    if (status)
        return status;
    file_name(t, name, sizeof name);
    int run = open_run(t, true, &root);
    status = run < 0 ? refuse_way(t, err) : write_in(run, name, bytes, size_bytes, err);
    if (status && root >= 0)
        unlinkat(root, t->run, AT_REMOVEDIR); /* if it is empty: it would show as a run */
    close_both(run, root);
    return status;
}
