/* SPDX-License-Identifier: Apache-2.0
 *
 * Input bytes in memory, and the state of the file they are of. file.h opens them. Ownership:
 * tbp_input owns the bytes until release; views into them must not outlive it.
 */
#ifndef TBP_BASE_INPUT_H
#define TBP_BASE_INPUT_H

#include "base/status.h"

/* Which file stands at a path, and in which state: two equal stamps mean the same bytes, as far as
 * the system tells. Who copies files may give them the time of what they are copies of (mtime); the
 * time of the change itself (ctime) nobody can set. */
struct tbp_file_stamp {
    uint64_t device, inode, size_bytes;
    int64_t mtime_ns, ctime_ns;
};
static inline bool tbp_file_stamp_eq(const struct tbp_file_stamp *a,
                                     const struct tbp_file_stamp *b) {
    return a->device == b->device && a->inode == b->inode && a->size_bytes == b->size_bytes &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/* Made within the grain of the clock that file times are taken from: a later write may not show. */
bool tbp_file_stamp_is_hasty(const struct tbp_file_stamp *stamp);

/* Fails with TBP_E_NOT_FOUND, or TBP_E_IO for what is no regular file. */
int tbp_file_stamp(struct tbp_file_stamp *stamp, const char *path, struct tbp_error *err);
/* The same of one that is open; `path` is for messages. */
int tbp_file_stamp_fd(struct tbp_file_stamp *stamp, int fd, const char *path,
                      struct tbp_error *err);

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
    uint64_t absent_bytes;  /* of size: zeros for what was left out; if any, data are fresh pages */
    uint64_t tail_bytes;    /* behind the last gzip member, none of them; 0 if there is nothing */
    uint64_t tail_offset;   /* in the file on disk */
    size_t piece_bytes;     /* of what one thread reads at a time; 0: as the reader likes it */
};

/* For who reads it: everything before data[at] was read. */
void tbp_input_tell(const struct tbp_input *in, uint64_t at);

void tbp_input_release(struct tbp_input *in);
/* Whether the file that is mapped was written to since: then the bytes read may be of two files. A
 * new file in its place does no harm. path is where it was opened. */
bool tbp_input_is_torn(const struct tbp_input *in, const char *path);
/* Tells the system that the pages of data[from … from+size) may be dropped; they come back from
 * disk when touched. Ranges below a megabyte are not worth the call and are left alone. */
void tbp_input_drop_range(const struct tbp_input *in, uint64_t from, uint64_t size);
void tbp_input_drop_pages(const struct tbp_input *in); /* all of them */

#endif
