/* SPDX-License-Identifier: Apache-2.0
 *
 * From the paths that the plugin asks with to the run they belong to.
 *
 * The plugin names the files of one host, or of several. The session that answers is always that of
 * the whole run folder: so all tools and hosts share one model, and what is decided over all hosts
 * (repairs of steps) does not depend on which host was asked for first. Order is that of the file
 * names, byte by byte, whatever the order of the paths.
 * Ownership: all texts and arrays lie in the arena given.
 */
#ifndef TBP_CONVERT_BACKEND_RUN_FILES_H
#define TBP_CONVERT_BACKEND_RUN_FILES_H

#include "base/arena.h"
#include "base/file.h"
#include "convert/backend/looks.h"

struct tbp_run_member {
    const char *name; /* of the file */
    const char *path;
    struct tbp_str host; /* NUL-terminated */
    struct tbp_file_stamp stamp;
};

struct tbp_run_files {
    struct tbp_run_member *at;
    uint32_t n;
    uint32_t picked; /* the host asked for, or TBP_ALL_HOSTS */
    uint64_t size_bytes;
    const char *left_out; /* names of the folder's files that cannot be read, as a text; or NULL */
};

/* True if the paths are local files called <host>.xplane.pb, which is all that is read here. */
bool tbp_run_files_are_ours(const char *const *paths, size_t n);

/* Looks at the disk. Some of several hosts, but not all, are a run of their own. Files that cannot
 * be read (gone, no file, no profile) are left out; if none of the paths can be, that of the first
 * is the failure, TBP_E_NOT_FOUND if it is not there. looks: what earlier calls saw, or NULL. */
int tbp_run_files_find(struct tbp_run_files *out, struct tbp_arena *arena, struct tbp_looks *looks,
                       const char *const *paths, size_t n, struct tbp_error *err);
/* The same for names of files which are not on disk. */
void tbp_run_files_named(struct tbp_run_files *out, struct tbp_arena *arena,
                         const char *const *paths, size_t n);

#endif
