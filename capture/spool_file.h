/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a spool lies: its folder, file, lock and space on disk. Ownership: descriptors are the
 * caller's. No state.
 */
#ifndef TBP_CAPTURE_SPOOL_FILE_H
#define TBP_CAPTURE_SPOOL_FILE_H

#include "base/status.h"

#include <stdbool.h>

/* The folder for spools: `wish` if given, else $TBPROF_SPOOL_DIR, $TMPDIR, /tmp. Network file
 * systems and folders that TensorBoard lists as runs are refused with TBP_E_UNSUPPORTED. */
int tbp_spool_folder(const char *wish, const char **folder, struct tbp_error *err);

/* Makes `<folder>/<session>/<file>`, mode 0600, locked for as long as this process lives. */
int tbp_spool_file_create(const char *path_folder, const char *path, int *fd,
                          struct tbp_error *err);

/* Space on disk for [from, to); false: there is none. */
bool tbp_spool_file_back(int fd, uint64_t from, uint64_t to);

#endif
