/* SPDX-License-Identifier: Apache-2.0
 *
 * For small programs that record themselves: tests and benchmarks of the capture runtime. All
 * inline, since each is one file.
 */
#ifndef TBP_TESTS_SUPPORT_RECORDING_H
#define TBP_TESTS_SUPPORT_RECORDING_H

#include "capture/tbprof.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

/* Exit code 2 with the reason if a call of the runtime failed. */
static inline void must(tbprof_status status) {
    if (status == TBPROF_OK)
        return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, tbprof_last_error());
    exit(2);
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *where) {
    (void)st, (void)type, (void)where;
    return remove(path);
}

static inline void remove_folder(const char *path) {
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
