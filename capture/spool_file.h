/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a spool lies: its folder, file, lock and space on disk. Ownership: descriptors are the
 * caller's. Thread-safety: one call at a time.
 */
#ifndef TBP_CAPTURE_SPOOL_FILE_H
#define TBP_CAPTURE_SPOOL_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* The folder for spools: `wish` if given, else $TBPROF_SPOOL_DIR, $TMPDIR, /tmp. Network file
 * systems and folders that TensorBoard lists as runs are refused with TBP_E_UNSUPPORTED. */
int tbp_spool_folder(const char *wish, const char **folder, struct tbp_error *err);

/* Makes `<folder>/<session>/<file>`, mode 0600, locked for as long as this process lives. */
int tbp_spool_file_create(const char *folder, const char *path, int *fd, struct tbp_error *err);

/* One that is there, of another process; -1: errno says why. */
int tbp_spool_file_open(const char *path);

/* Whether another process has the file locked: it is alive. */
bool tbp_spool_file_is_held(int fd);

/* The right to make a run of it, until the descriptor is closed. False: another process still has
 * it when wait_ms are over. Where there are no locks everybody has it. */
bool tbp_spool_file_begin_writing(int fd, int wait_ms);
void tbp_spool_file_close(int fd);
/* Its first bytes, shared, to read and write; fd -1: of memory. A mapping keeps the lock as a
 * descriptor does, so no child of a fork gets it. NULL: errno says why. */
void *tbp_spool_file_map(int fd, uint64_t size_bytes);
/* Around a fork, in the parent: no file is just being opened, mapped or closed. */
void tbp_spool_files_hold(void);
void tbp_spool_files_unhold(void);
/* In the child of a fork: closes what the parent has open. Through a descriptor that the child
 * kept, the lock, and with it the file, would look alive for as long as the child is. */
void tbp_spool_files_after_fork(void);

/* Space on disk for [from, to); false: there is none. */
bool tbp_spool_file_back(int fd, uint64_t from, uint64_t to);

#endif
