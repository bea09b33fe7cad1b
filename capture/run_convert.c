/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_convert.h. The child does not record itself: what makes our library start in it is taken
 * out of its environment.
 */
#include "capture/run_convert.h"

#include "base/arena.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *const places[] = {"tbprof", "../bin/tbprof", "../tbprof", "../../bin/tbprof",
                                     NULL};

/* The program beside the file that holds this code, or NULL. */
static const char *beside_library(struct tbp_arena *arena) {
    Dl_info info;
    if (dladdr((const void *)places, &info) == 0 || !info.dli_fname)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    for (size_t i = 0; places[i]; i++) {
        const char *path = tbp_arena_printf(arena, "%.*s%s", folder, info.dli_fname, places[i]);
        if (folder && access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

static const char *find_program(struct tbp_arena *arena) {
    const char *wish = getenv("TBPROF_EXECUTABLE");
    if (wish && *wish)
        return wish;
    const char *near = beside_library(arena);
    return near ? near : "tbprof";
}

static char **quiet_environment(struct tbp_arena *arena) {
    static const char *const out[] = {"LD_PRELOAD=",
                                      "TBPROF_AUTOSTART=",
                                      "MXNET_PROFILER_AUTOSTART=",
                                      "NVTX_INJECTION64_PATH=",
                                      "CUDA_INJECTION64_PATH=",
                                      NULL};
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **to = TBP_NEW_N(arena, char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (out[k] && strncmp(environ[i], out[k], strlen(out[k])) != 0)
            k++;
        if (!out[k])
            to[kept++] = environ[i];
    }
    return to;
}

static int wait_for(pid_t pid, const char *program, struct tbp_error *err) {
    int state;
    pid_t got;
    do
        got = waitpid(pid, &state, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0) /* the program that is recorded reaps all children: how it went is not known */
        return TBP_OK;
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return TBP_OK;
    return tbp_fail(err, TBP_E_IO, "'%s convert' ended with %s %d", program,
                    WIFSIGNALED(state) ? "signal" : "code",
                    WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
}

int tbp_run_convert(const char *run_folder, struct tbp_error *err) {
    struct tbp_arena arena;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;
    tbp_arena_init(&arena);
    const char *program = find_program(&arena);
    char *argv[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "convert",
                    (char *)(uintptr_t) "--quiet", (char *)(uintptr_t)run_folder, NULL};
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int code = posix_spawnp(&pid, program, NULL, &attributes, argv, quiet_environment(&arena));
    posix_spawnattr_destroy(&attributes);
    int status;
    if (code != 0) {
        errno = code;
        status = tbp_fail_errno(err, TBP_E_IO, "cannot run '%s'", program);
    } else {
        status = wait_for(pid, program, err);
    }
    tbp_arena_release(&arena);
    return status;
}
