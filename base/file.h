/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening input bytes: a file mapped read-only (or read where it cannot be mapped, e.g. a pipe),
 * gzip undone. What is read or unpacked takes a bounded part of memory (spill.h). Thread-safe.
 */
#ifndef TBP_BASE_FILE_H
#define TBP_BASE_FILE_H

#include "base/input.h"
#include "base/pool.h"

/* Parts of a file, ascending. Those less than a page apart are one, and what does not find room
 * extends the last one. */
enum { TBP_RANGES_MOST = 64 };
struct tbp_range {
    uint64_t offset, size;
};
struct tbp_ranges {
    struct tbp_range at[TBP_RANGES_MOST];
    size_t n;
};
/* offset is not below those of before. */
void tbp_ranges_add(struct tbp_ranges *r, uint64_t offset, uint64_t size);
/* Adds the parts of an open file that are needed; none: all of it is. */
typedef void tbp_choose_fn(struct tbp_ranges *out, int fd, uint64_t size);

/* path "-" is standard input. gzip is recognised by content and undone (all members), so is a zip
 * of one file, or the file of a zip that "FILE.zip:MEMBER" names (zip.h). What grows beyond any
 * profile's measure is refused (TBP_E_LIMIT). Directories, missing and unreadable files fail with
 * TBP_E_IO / TBP_E_NOT_FOUND naming the path. */
int tbp_input_open(struct tbp_input *in, const char *path, struct tbp_error *err);
int tbp_input_open_watched(struct tbp_input *in, const char *path, const struct tbp_watch *watch,
                           struct tbp_error *err);
/* As tbp_input_open for a regular file (anything else is refused, never waited for), but the bytes
 * are a copy: for processes which must live on when somebody truncates the file, since touching a
 * mapping beyond the end of its file is a fatal signal. choose: NULL, or the copy is of these parts
 * alone, each at its place in the file, with zeros between them. *stamp is that of the bytes read;
 * *is_torn tells that the file changed while it was read. pool may be NULL. */
int tbp_input_open_copy(struct tbp_input *in, const char *path, tbp_choose_fn *choose,
                        struct tbp_file_stamp *stamp, bool *is_torn, struct tbp_pool *pool,
                        struct tbp_error *err);
#endif
