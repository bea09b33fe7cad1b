/* SPDX-License-Identifier: Apache-2.0
 *
 * What a reader of a profile format is. Adding one = a file with a `const struct tbp_reader` and
 * one line in readers.c.
 *
 * probe looks at the first bytes only and answers 0 (not mine) … 100 (certain). Where they tell too
 * little, probe_input (NULL: none) may look into all of the input, if no reader is sure; with
 * telling texts probe itself is asked again with all of it, and samples that; if still nobody is
 * sure, JSON that has one of them anywhere is of that format, with that score: events may stand in
 * any order. read fills an initialised host from
 * host->input (already opened and inflated; host owns it). Damage is counted in host->ledger and
 * survived; read fails only if nothing of use is there.
 */
#ifndef TBP_CONVERT_READ_READER_H
#define TBP_CONVERT_READ_READER_H

#include "base/file.h"
#include "convert/model/model.h"

struct tbp_reader {
    const char *name; /* value of --from */
    const char *help; /* one line */
    int (*probe)(const uint8_t *data, size_t size);
    int (*probe_input)(const struct tbp_input *in);
    const char *const *telling_texts; /* NULL: none; else NULL-terminated, each short */
    int telling_score;
    int (*read)(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err);
};

extern const struct tbp_reader *const tbp_readers[]; /* readers.c: THE TABLE; NULL-terminated */
extern const struct tbp_reader tbp_reader_xplane;
extern const struct tbp_reader tbp_reader_spool;
extern const struct tbp_reader tbp_reader_kineto;
extern const struct tbp_reader tbp_reader_mxnet;
extern const struct tbp_reader tbp_reader_mindspore;
extern const struct tbp_reader tbp_reader_ascend;
extern const struct tbp_reader tbp_reader_rocprof;
extern const struct tbp_reader tbp_reader_cntk;
extern const struct tbp_reader tbp_reader_perfetto;
extern const struct tbp_reader tbp_reader_chrome;
extern const struct tbp_reader tbp_reader_nsys;
extern const struct tbp_reader tbp_reader_nvprof;
extern const struct tbp_reader tbp_reader_rpd;
extern const struct tbp_reader tbp_reader_rocpd;

/* A folder that is one profile, and no run of the Profile tab: its tables are packed into one input
 * (folder.h). Told from the names in it. */
bool tbp_is_profile_folder(const char *path);
/* No byte at the beginning that is no character and moves no pen. */
bool tbp_is_of_characters(const uint8_t *data, size_t size);
/* Lines or words that people read: of characters, where the first fields of a binary format have
 * other bytes, with blanks. For readers of formats whose bytes text may resemble. */
bool tbp_looks_like_text(const uint8_t *data, size_t size);
/* The reader for these bytes, chosen by content; NULL if none knows them. */
const struct tbp_reader *tbp_reader_of(const struct tbp_input *in);
/* False if the file is certainly none that can be read: gone, no regular file, not permitted, or
 * begins like no known format. Looks at its first bytes only, and never waits. */
bool tbp_file_may_be_profile(const char *path);
/* The first n bytes of a regular file, in the arena; of gzip what they hold, up to as much. Empty
 * where nothing can be read. Never waits. */
struct tbp_str tbp_file_head(const char *path, size_t n, struct tbp_arena *arena);
/* Finds the parts of a file, if it is an xplane, that are read for these events; NULL: all are. */
tbp_choose_fn *tbp_file_parts(enum tbp_wanted wanted);
struct tbp_read_how {
    const char *from; /* the format; NULL: detected */
    enum tbp_wanted wanted;
    const struct tbp_watch *watch; /* or NULL */
};
/* Opens path and reads it into host, which it initialises. On failure the host is released. */
int tbp_read_host(struct tbp_host *host, const char *path, struct tbp_str host_name,
                  const struct tbp_read_how *how, struct tbp_pool *pool, struct tbp_error *err);
/* The same from bytes already in memory, which the host owns from now on, also when reading fails.
 */
int tbp_read_host_input(struct tbp_host *host, const char *path, struct tbp_str host_name,
                        struct tbp_input *input, enum tbp_wanted wanted, struct tbp_pool *pool,
                        struct tbp_error *err);

#endif
