/* SPDX-License-Identifier: Apache-2.0
 *
 * See capture_library.h. What cannot be loaded is found out before the program is started: the
 * loader would go on without it.
 */
#include "cli/capture_library.h"

#include "cli/library_check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char by_name[] = "libtbprof.so.1";

/* NULL: none is there. */
static const char *beside_program(struct tbp_arena *arena) {
    static const char *const places[] = {"", "../lib/", "../lib/x86_64-linux-gnu/",
                                         "../lib/aarch64-linux-gnu/", "../lib64/"};
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        const char *path =
            tbp_arena_printf(arena, "%.*s/%s%s", (int)(slash - self), self, places[i], by_name);
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

int tbp_capture_library_find(const char **out, struct tbp_arena *arena, struct tbp_error *err) {
    static const char *const functions[] = {"tbprof_start", "tbprof_stop", NULL};
    const char *wish = getenv("TBPROF_LIBRARY");
    bool is_wished = wish && *wish;
    *out = is_wished ? wish : beside_program(arena);
    if (*out) {
        int status = tbp_library_check(*out, functions, err);
        return status && is_wished ? tbp_cause(err, "loading $TBPROF_LIBRARY") : status;
    }
    *out = by_name;
    if (tbp_library_check(by_name, functions, NULL) == TBP_OK)
        return TBP_OK;
    return tbp_fail(err, TBP_E_NOT_FOUND,
                    "no %s beside this program nor where the loader looks: install it, or name it "
                    "with TBPROF_LIBRARY=FILE",
                    by_name);
}
