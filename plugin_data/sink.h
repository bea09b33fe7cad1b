/* SPDX-License-Identifier: Apache-2.0
 *
 * Where output bytes go. A sink is pushed to (write …, then finish once); sinks stack: JSON writer
 * -> gzip -> file. write and finish return TBP_OK or a failure which is final for the sink. finish
 * flushes and commits, also what is below (the file sink renames its temporary into place); a sink
 * released without finish leaves nothing behind and older files untouched.
 * Ownership: whoever made a sink releases it; a stacked sink borrows the next one.
 * Thread-safety: one thread at a time per sink.
 */
#ifndef TBP_PLUGIN_DATA_SINK_H
#define TBP_PLUGIN_DATA_SINK_H

#include "base/pool.h"
#include "base/status.h"

struct tbp_sink {
    int (*write)(struct tbp_sink *s, const void *p, size_t n, struct tbp_error *err);
    int (*finish)(struct tbp_sink *s, struct tbp_error *err);
};
static inline int tbp_sink_write(struct tbp_sink *s, const void *p, size_t n,
                                 struct tbp_error *err) {
    return s->write(s, p, n, err);
}
static inline int tbp_sink_finish(struct tbp_sink *s, struct tbp_error *err) {
    return s->finish(s, err);
}

/* Bytes in memory. */
struct tbp_sink_memory {
    struct tbp_sink base;
    uint8_t *data;
    size_t size, cap, limit; /* limit 0: none; over it: TBP_E_LIMIT */
};
void tbp_sink_memory_init(struct tbp_sink_memory *s, size_t limit);
void tbp_sink_memory_release(struct tbp_sink_memory *s);

/* A file descriptor that stays open and the caller's (standard output). Any failure, EPIPE
 * included, is TBP_E_IO. */
struct tbp_sink_fd {
    struct tbp_sink base;
    int fd;
    bool has_written;
};
void tbp_sink_fd_init(struct tbp_sink_fd *s, int fd);

/* A file that appears whole or not at all: written to a temporary beside `path`, renamed by finish.
 * An existing file with the same bytes is left alone, times included. The folder must exist.
 * new fails with TBP_E_IO, or TBP_E_LIMIT when too many files are being written at once. */
struct tbp_sink_file;
int tbp_sink_file_new(struct tbp_sink_file **out, const char *path, struct tbp_error *err);
struct tbp_sink *tbp_sink_file_base(struct tbp_sink_file *f);

/* finish returns when the bytes are on disk: for what cannot be made again. */
void tbp_sink_file_make_durable(struct tbp_sink_file *f);

/* For sets of files that appear together: finish of a held file completes the temporary and stops
 * there; commit, later, is the renaming alone. */
void tbp_sink_file_hold(struct tbp_sink_file *f);
int tbp_sink_file_commit(struct tbp_sink_file *f, struct tbp_error *err);
/* Of a held file: whether commit changes what is at path; not if the same bytes are there. */
bool tbp_sink_file_is_news(const struct tbp_sink_file *f);
/* Instead of writing and finish: the bytes of `source` as they are now. Where the file system can,
 * they share its blocks, and part when one of the two is written to; never is it a link. */
int tbp_sink_file_copy(struct tbp_sink_file *f, const char *source, struct tbp_error *err);
void tbp_sink_file_free(struct tbp_sink_file *f); /* NULL is fine; unfinished: temporary removed */

/* Removes the temporaries of all unfinished file sinks; for signal handlers (async-signal-safe). */
void tbp_sink_file_remove_temporaries(void);
/* Removes those whose owner was left by a jump out of exhausted memory (base/guard.h); only while
 * no thread of the process writes files. */
void tbp_sink_file_remove_abandoned(void);
/* Removes what killed conversions left in a folder: temporaries whose process is gone. */
void tbp_sink_file_remove_stale(const char *folder);

/* gzip: one member, no name, no time; the bytes depend on the input alone. With a pool of n threads
 * up to n - 1 helper threads compress beside the writer, who helps when the helpers fall behind;
 * NULL: all on the writer's thread. Memory is bounded: about 1.3 MiB per thread. Where new fails
 * there is nothing to free. */
struct tbp_sink_gzip;
int tbp_sink_gzip_new(struct tbp_sink_gzip **out, struct tbp_sink *next, struct tbp_pool *pool,
                      struct tbp_error *err);
struct tbp_sink *tbp_sink_gzip_base(struct tbp_sink_gzip *g);
void tbp_sink_gzip_free(struct tbp_sink_gzip *g); /* NULL is fine */

#endif
