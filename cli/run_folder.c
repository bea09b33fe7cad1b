/* SPDX-License-Identifier: Apache-2.0
 *
 * mkdir -p.
 */
#include "cli/run_folder.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

int tbp_run_folder_make(const char *folder, struct tbp_error *err) {
    char path[PATH_MAX];
    size_t n = strlen(folder);
    if (n == 0 || n >= sizeof path)
        return tbp_fail(err, TBP_E_USAGE, "path of %zu bytes is too long", n);
    for (size_t i = 1; i <= n; i++) {
        if (folder[i] != '/' && folder[i] != '\0')
            continue;
        memcpy(path, folder, i);
        path[i] = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return tbp_fail_errno(err, TBP_E_IO, "cannot make folder '%s'", path);
    }
    return TBP_OK;
}
