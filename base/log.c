/* SPDX-License-Identifier: Apache-2.0
 *
 * One line per message to standard error, written in one call so that threads do not interleave.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static _Atomic int threshold = TBP_LOG_WARNING;

void tbp_log_set_level(enum tbp_log_level level) {
    atomic_store_explicit(&threshold, (int)level, memory_order_relaxed);
}

void tbp_log(enum tbp_log_level level, const char *fmt, ...) {
    static const char *const names[] = {"error", "warning", "info", "debug"};
    if ((int)level > atomic_load_explicit(&threshold, memory_order_relaxed))
        return;
    char line[1024];
    int n = snprintf(line, sizeof line, "tbprof: %s: ", names[level]);
    va_list args;
    va_start(args, fmt);
    int more = vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, args);
    va_end(args);
    n = more < 0 ? n : n + more;
    if (n > (int)sizeof line - 2)
        n = (int)sizeof line - 2;
    for (int i = 0; i < n; i++) /* names of files may hold anything */
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7F)
            line[i] = '?';
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return; /* nowhere to tell it */
}
