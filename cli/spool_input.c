/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies a stream into an unlinked temporary file and names it through /dev/fd.
 */
#include "cli/spool_input.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 64 * 1024, SILENCE_MS = 1000 };

static int copy_stream(int from, FILE *to, const char *path, struct tbp_error *err) {
    char chunk[CHUNK];
    for (;;) {
        ssize_t n = read(from, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tbp_fail_errno(err, TBP_E_IO, "cannot read '%s'", path);
        if (n == 0)
            break;
        if (fwrite(chunk, 1, (size_t)n, to) != (size_t)n)
            return tbp_fail_errno(err, TBP_E_IO, "cannot keep a copy of '%s'", path);
    }
    return fflush(to) == 0 ? TBP_OK
                           : tbp_fail_errno(err, TBP_E_IO, "cannot keep a copy of '%s'", path);
}

/* Pipes and sockets end; of devices nobody knows, and opening them may already do something. */
static int check_stream(const char *path, bool is_stdin, struct tbp_error *err) {
    struct stat st;
    if ((is_stdin ? fstat(STDIN_FILENO, &st) : stat(path, &st)) != 0)
        return tbp_fail_errno(err, TBP_E_IO, "cannot read '%s'", path);
    if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode))
        return TBP_OK;
    if (is_stdin)
        return tbp_fail(err, TBP_E_USAGE, "standard input is a %s: give a profile to it",
                        isatty(STDIN_FILENO) ? "terminal" : "device");
    return tbp_fail(err, TBP_E_USAGE, "'%s' is a device, not a profile", path);
}

/* A pipe into which nobody writes is no reason to hang in silence. */
static void await_data(int from, const char *path) {
    struct pollfd p = {.fd = from, .events = POLLIN};
    int n = poll(&p, 1, SILENCE_MS);
    if (n == 0)
        tbp_log(TBP_LOG_WARNING, "waiting for data from '%s'", path);
    while (n == 0 || (n < 0 && errno == EINTR))
        n = poll(&p, 1, -1);
}

/* Opening a named pipe must not wait for its writer; reading must. */
static int open_stream(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fcntl(fd, F_SETFL, 0) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int tbp_spool_input(const char **copy, struct tbp_arena *arena, const char *path,
                    struct tbp_error *err) {
    bool is_stdin = strcmp(path, "-") == 0;
    int status = check_stream(path, is_stdin, err);
    if (status)
        return status;
    int from = is_stdin ? STDIN_FILENO : open_stream(path);
    if (from < 0)
        return tbp_fail_errno(err, TBP_E_IO, "cannot open '%s'", path);
    await_data(from, is_stdin ? "standard input" : path);
    FILE *file = tmpfile(); /* stays open: it is the copy */
    status = file ? copy_stream(from, file, path, err)
                  : tbp_fail_errno(err, TBP_E_IO, "cannot make a temporary file for '%s'", path);
    if (!is_stdin)
        close(from);
    if (status)
        return status;
    *copy = tbp_arena_printf(arena, "/dev/fd/%d", fileno(file));
    return TBP_OK;
}
