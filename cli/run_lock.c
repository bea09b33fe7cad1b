/* SPDX-License-Identifier: Apache-2.0
 *
 * Locking of run folders; see run_lock.h. A conversion that fails takes its empty folders back, so
 * a folder may vanish between being made, opened and locked: then it is made anew.
 */
#include "cli/run_lock.h"

#include "plugin_data/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100 };

static bool is_still_there(int fd, const char *folder) {
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(folder, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* False: no lock to be had here. */
static bool lock(int fd, const char *folder, const struct tbp_cli *cli) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno != EWOULDBLOCK)
        return false;
    tbp_cli_note(cli, "waiting for another tbprof that writes to '%s'", folder);
    int status;
    while ((status = flock(fd, LOCK_EX)) != 0 && errno == EINTR)
        ;
    return status == 0;
}

int tbp_run_lock_take(struct tbp_run_lock *l, const char *folder, const struct tbp_cli *cli,
                      struct tbp_error *err) {
    l->fd = -1;
    for (int i = 0; i < TRIES; i++) {
        int status = tbp_rundir_make(folder, err);
        if (status)
            return status;
        int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0)
            return tbp_fail_errno(err, TBP_E_IO, "cannot open folder '%s'", folder);
        bool is_locked = lock(fd, folder, cli);
        if (is_locked && !is_still_there(fd, folder)) {
            close(fd);
            continue;
        }
        if (is_locked)
            l->fd = fd;
        else
            close(fd);
        return TBP_OK;
    }
    return tbp_fail(err, TBP_E_IO, "folder '%s' vanishes again and again", folder);
}

void tbp_run_lock_release(struct tbp_run_lock *l) {
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}
