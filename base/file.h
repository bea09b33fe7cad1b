/* SPDX-License-Identifier: Apache-2.0
 *
 * Input bytes: a file mapped read-only (or read where it cannot be mapped, e.g. a pipe), gzip
 * undone. What is read or unpacked takes a bounded part of memory (spill.h). Ownership: tbp_input
 * owns the bytes until release; views into them must not outlive it.
 */
#ifndef TBP_BASE_FILE_H
#define TBP_BASE_FILE_H

#include "base/pool.h"

/* Which file stands at a path, and in which state: two equal stamps mean the same bytes, as far as
 * the system tells. */
struct tbp_file_stamp {
    uint64_t device, inode, size_bytes;
    int64_t mtime_ns;
};
static inline bool tbp_file_stamp_eq(const struct tbp_file_stamp *a,
                                     const struct tbp_file_stamp *b) {
    return a->device == b->device && a->inode == b->inode && a->size_bytes == b->size_bytes &&
           a->mtime_ns == b->mtime_ns;
}

/* Told how far the reading of an input is, as a part of it from 0 to 1, by the thread that reads.
 */
struct tbp_watch {
    void (*tell)(void *ctx, double part);
    void *ctx;
};

struct tbp_input {
    const uint8_t *data;
    size_t size;
    bool mapped;                   /* else heap */
    struct tbp_file_stamp stamp;   /* of the file that is mapped, when it was; 0: of no file */
    const struct tbp_watch *watch; /* or NULL; borrowed */
    bool is_unpacked;              /* half of the reading is done */
    bool is_borrowed;       /* the bytes are somebody else's and stay when the input is released */
    bool damaged;           /* gzip member was cut or wrong: data holds what could be undone */
    uint64_t damage_offset; /* in the file on disk */
    uint64_t tail_bytes;    /* behind the last gzip member, none of them; 0 if there is nothing */
    uint64_t tail_offset;   /* in the file on disk */
};

/* path "-" is standard input. gzip is recognised by content and undone (all members), so is a zip
 * of one file, or the file of a zip that "FILE.zip:MEMBER" names (zip.h). What grows beyond any
 * profile's measure is refused (TBP_E_LIMIT). Directories, missing and unreadable files fail with
 * TBP_E_IO / TBP_E_NOT_FOUND naming the path. */
int tbp_input_open(struct tbp_input *in, const char *path, struct tbp_error *err);
int tbp_input_open_watched(struct tbp_input *in, const char *path, const struct tbp_watch *watch,
                           struct tbp_error *err);
/* For who reads it: everything before data[at] was read. */
void tbp_input_tell(const struct tbp_input *in, uint64_t at);

/* Fails with TBP_E_NOT_FOUND, or TBP_E_IO for what is no regular file. */
int tbp_file_stamp(struct tbp_file_stamp *stamp, const char *path, struct tbp_error *err);

/* As tbp_input_open for a regular file (anything else is refused, never waited for), but the bytes
 * are a copy: for processes which must live on when somebody truncates the file, since touching a
 * mapping beyond the end of its file is a fatal signal. *stamp is that of the bytes read; *is_torn
 * tells that the file changed while it was read. pool may be NULL. */
int tbp_input_open_copy(struct tbp_input *in, const char *path, struct tbp_file_stamp *stamp,
                        bool *is_torn, struct tbp_pool *pool, struct tbp_error *err);
void tbp_input_release(struct tbp_input *in);
/* Whether the file that is mapped was written to since: then the bytes read may be of two files. A
 * new file in its place does no harm. path is where it was opened. */
bool tbp_input_is_torn(const struct tbp_input *in, const char *path);
/* Tells the system that the pages of data[from … from+size) may be dropped; they come back from
 * disk when touched. Ranges below a megabyte are not worth the call and are left alone. */
void tbp_input_drop_range(const struct tbp_input *in, uint64_t from, uint64_t size);
void tbp_input_drop_pages(const struct tbp_input *in); /* all of them */

#endif
