/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading a library in a child, which sends what it found as text; see library_check.h.
 */
#include "cli/library_check.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID = 160 };

/* Nothing is said of a library that has everything. */
_Noreturn static void look_in_child(const char *path, const char *const *names, int out) {
    clearenv(); /* what asks the library to do something when it is loaded */
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    const char *separator = "has no function ";
    if (!library)
        dprintf(out, "cannot be loaded: %s", dlerror());
    for (size_t i = 0; library && names[i]; i++) {
        if (dlsym(library, names[i]))
            continue;
        dprintf(out, "%s'%s'", separator, names[i]);
        separator = ", ";
    }
    _exit(0);
}

static size_t read_text(int fd, char *text, size_t size) {
    size_t n = 0;
    char rest[SAID];
    for (;;) {
        bool is_full = n + 1 >= size;
        ssize_t k = is_full ? read(fd, rest, sizeof rest) : read(fd, text + n, size - 1 - n);
        if (k == 0 || (k < 0 && errno != EINTR))
            break;
        n += k > 0 && !is_full ? (size_t)k : 0;
    }
    text[n] = '\0';
    return n;
}

int tbp_library_check(const char *path, const char *const *names, struct tbp_error *err) {
    char said[SAID];
    int ends[2], state = 0;
    if (pipe(ends) != 0)
        return tbp_fail_errno(err, TBP_E_IO, "making a pipe failed");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        look_in_child(path, names, ends[1]);
    close(ends[1]);
    size_t n = child > 0 ? read_text(ends[0], said, sizeof said) : 0;
    close(ends[0]);
    if (child < 0)
        return tbp_fail_errno(err, TBP_E_IO, "looking into '%s' failed", path);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    if (n)
        return tbp_fail(err, TBP_E_UNSUPPORTED, "'%s' %s", path, said);
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        return tbp_fail(err, TBP_E_UNSUPPORTED, "loading '%s' ends the program that does it", path);
    return TBP_OK;
}
