/* SPDX-License-Identifier: Apache-2.0
 *
 * fork and exec instead of posix_spawn, which cannot bind the life of a child to ours.
 */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

static atomic_int listened_to; /* leader of the group whose output is read; 0: none */

enum { MAX_OUTPUT = 4 << 20, STOP_GRACE_MS = 5000, STOP_STEP_MS = 20 };

void tbp_sleep_ms(unsigned ms) {
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

uint64_t tbp_clock_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Only async-signal-safe calls. */
_Noreturn static void become(const char *const *argv, int out_fd, bool leads_group, pid_t parent,
                             int failure_fd) {
    sigset_t none;
    sigemptyset(&none);
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (leads_group)
        setpgid(0, 0);
    tbp_child_end_with(parent);
    int in_fd = open("/dev/null", O_RDONLY);
    if (in_fd >= 0 && dup2(in_fd, STDIN_FILENO) >= 0 && dup2(out_fd, STDOUT_FILENO) >= 0 &&
        dup2(out_fd, STDERR_FILENO) >= 0) {
        close(in_fd);
        /* argv of the exec family is not const for historical reasons only */
        execvp(argv[0], (char *const *)(uintptr_t)argv);
    }
    int failure = errno;
    ssize_t n = write(failure_fd, &failure, sizeof failure);
    _exit(n < 0 ? 126 : 127);
}

void tbp_child_end_with(pid_t parent) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    if (getppid() != parent)
        _exit(128 + SIGTERM); /* it ended before that was said */
}

/* A pipe that closes when the program is executed tells whether it is. */
static int spawn(pid_t *pid, const char *const *argv, int out_fd, bool leads_group,
                 struct tbp_error *err) {
    int ends[2], failure = 0;
    pid_t parent = getpid();
    if (pipe(ends) != 0)
        return tbp_fail_errno(err, TBP_E_IO, "making a pipe failed");
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    *pid = fork();
    if (*pid == 0)
        become(argv, out_fd, leads_group, parent, ends[1]);
    failure = *pid < 0 ? errno : 0;
    close(ends[1]);
    while (*pid > 0 && read(ends[0], &failure, sizeof failure) < 0 && errno == EINTR)
        ;
    close(ends[0]);
    if (!failure)
        return TBP_OK;
    if (*pid > 0)
        waitpid(*pid, NULL, 0);
    errno = failure;
    return tbp_fail_errno(err, failure == ENOENT ? TBP_E_NOT_FOUND : TBP_E_IO,
                          "starting '%s' failed", argv[0]);
}

static int exit_code_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct output {
    char *at;
    size_t n, cap;
};

/* Until it is reaped, its id and that of its group are nobody else's. */
static bool waits_to_be_reaped(pid_t pid) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

static bool wait_for_end(pid_t pid, uint64_t end_ms) {
    while (!waits_to_be_reaped(pid)) {
        if (tbp_clock_ms() >= end_ms)
            return false;
        tbp_sleep_ms(1);
    }
    return true;
}

static void make_room(struct output *out, struct tbp_arena *arena) {
    if (out->n < out->cap)
        return;
    size_t cap = out->cap ? 2 * out->cap : 4096;
    char *at = TBP_NEW_N(arena, char, cap);
    if (out->n)
        memcpy(at, out->at, out->n);
    out->at = at;
    out->cap = cap;
}

/* Reads until the end, the limit or the time is reached; true at the end. That is there, too, when
 * the child has ended and all it wrote was read: what it started may hold the pipe open for ever.
 */
static bool read_all(int fd, pid_t pid, struct tbp_arena *arena, struct output *out,
                     uint64_t end_ms) {
    while (out->n <= MAX_OUTPUT && tbp_clock_ms() < end_ms) {
        struct pollfd p = {fd, POLLIN, 0};
        bool has_ended = waits_to_be_reaped(pid);
        int n_ready = poll(&p, 1, has_ended ? 0 : STOP_STEP_MS);
        if (n_ready == 0 && has_ended)
            return true;
        if (n_ready <= 0)
            continue;
        make_room(out, arena);
        ssize_t n = read(fd, out->at + out->n, out->cap - out->n);
        if (n == 0 || (n < 0 && errno != EINTR))
            return n == 0;
        out->n += n > 0 ? (size_t)n : 0;
    }
    return false;
}

/* Ends the child, if it still runs, and whatever of its group is left. */
static int end_group(pid_t pid) {
    int status = 0;
    if (!waits_to_be_reaped(pid)) {
        kill(-pid, SIGTERM);
        wait_for_end(pid, tbp_clock_ms() + STOP_GRACE_MS);
    }
    kill(-pid, SIGKILL);
    atomic_store(&listened_to, 0);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return exit_code_of(status);
}

void tbp_child_kill_captured(void) {
    pid_t pid = atomic_load(&listened_to);
    if (pid > 0)
        kill(-pid, SIGKILL);
}

int tbp_child_capture(struct tbp_arena *arena, const char *const *argv, unsigned timeout_ms,
                      struct tbp_str *text, int *exit_code, struct tbp_error *err) {
    uint64_t end_ms = tbp_clock_ms() + timeout_ms;
    struct output out = {0};
    int ends[2];
    pid_t pid;
    if (pipe(ends) != 0)
        return tbp_fail_errno(err, TBP_E_IO, "making a pipe failed");
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    int status = spawn(&pid, argv, ends[1], true, err);
    atomic_store(&listened_to, status ? 0 : pid);
    close(ends[1]);
    bool is_whole =
        !status && read_all(ends[0], pid, arena, &out, end_ms) && wait_for_end(pid, end_ms);
    close(ends[0]);
    if (status)
        return status;
    *exit_code = end_group(pid);
    if (!is_whole)
        return tbp_fail(err, TBP_E_LIMIT, "'%s' took longer than %u s, or wrote without end",
                        argv[0], timeout_ms / 1000);
    *text = (struct tbp_str){out.n ? out.at : "", out.n};
    return TBP_OK;
}

int tbp_child_start(pid_t *pid, const char *const *argv, const char *log_path,
                    struct tbp_error *err) {
    int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log < 0)
        return tbp_fail_errno(err, TBP_E_IO, "making '%s' failed", log_path);
    int status = spawn(pid, argv, log, false, err);
    close(log);
    return status;
}

bool tbp_child_ended(pid_t pid, int *exit_code) {
    int status;
    pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    *exit_code = got == pid ? exit_code_of(status) : 0;
    return true;
}

void tbp_child_stop(pid_t pid) {
    int ignored;
    kill(pid, SIGTERM);
    if (!wait_for_end(pid, tbp_clock_ms() + STOP_GRACE_MS))
        kill(pid, SIGKILL);
    while (!tbp_child_ended(pid, &ignored))
        tbp_sleep_ms(STOP_STEP_MS);
}
