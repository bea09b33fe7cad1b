/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_report.h. A report that cannot be written is no reason to trouble the program.
 */
#include "capture/run_report.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Lines of several processes do not mix: each is one write at the end of the file. */
static void append(const char *text, size_t n) {
    const char *path = getenv(TBP_RUN_REPORT_VARIABLE);
    int fd = path && *path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    ssize_t ignored = n ? write(fd, text, n) : 0;
    (void)ignored;
    close(fd);
}

void tbp_run_report_loaded(void) {
    append("", 0);
}

void tbp_run_report_failed(void) {
    append("\n", 1);
}

void tbp_run_report_written(const char *run_folder) {
    char line[PATH_MAX + 1];
    int n = snprintf(line, sizeof line, "%s\n", run_folder);
    if (n > 0 && (size_t)n < sizeof line)
        append(line, (size_t)n);
}
