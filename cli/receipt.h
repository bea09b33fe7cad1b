/* SPDX-License-Identifier: Apache-2.0
 *
 * The receipt <host>.tbprof.json: which files a conversion wrote for a host, and what became of the
 * events it read (the ledger). It lies beside the outputs. A later conversion reads it to tell its
 * own files, which it may replace, from those of others, which it never touches.
 *
 * Written twice: before the first output with the names alone ("complete":false), so that a killed
 * conversion leaves no file that looks like someone else's; and at the end, with sizes and
 * checksums. Same input, same bytes: no times and no paths are in it.
 */
#ifndef TBP_CLI_RECEIPT_H
#define TBP_CLI_RECEIPT_H

#include "base/arena.h"
#include "base/input.h"
#include "base/pool.h"
#include "base/vec.h"
#include "convert/model/ledger.h"
#include "plugin_data/json_out.h"

struct tbp_receipt_file {
    struct tbp_str name;
    uint64_t size_bytes;
    uint32_t crc32;
    bool has_sum; /* size and checksum are known */
};

/* What a conversion depends on: when none of it changed, the outputs will be the same bytes again.
 */
struct tbp_receipt_facts {
    struct tbp_str version, input, format, semantics; /* input: base name */
    uint64_t input_bytes;
    uint32_t input_crc32;
};

struct tbp_receipt {
    struct tbp_receipt_facts facts;
    bool is_complete;
    TBP_VEC(struct tbp_receipt_file) files;
    bool is_foreign; /* a file of that name is there, but it is no receipt */
};

/* Reads the receipt at path; none there: an empty one. Texts lie in the arena. */
void tbp_receipt_read(struct tbp_receipt *r, struct tbp_arena *arena, const char *path);
void tbp_receipt_release(struct tbp_receipt *r);

/* May a conversion write `folder`/`name`? Yes if nothing is there, or if what is there is what the
 * receipt says. */
bool tbp_receipt_owns(const struct tbp_receipt *r, struct tbp_arena *arena, const char *folder,
                      struct tbp_str name);

/* l: the ledger, NULL in the receipt of ALL_HOSTS and before it is known. */
void tbp_receipt_write(struct tbp_json *j, const struct tbp_receipt *r, const struct tbp_ledger *l);
/* The same bytes in the same reading, by whatever version. */
bool tbp_receipt_same_source(const struct tbp_receipt_facts *a, const struct tbp_receipt_facts *b);
/* The same bytes in the same reading by the same version, whatever the file was called. */
bool tbp_receipt_same_outcome(const struct tbp_receipt_facts *a, const struct tbp_receipt_facts *b);

/* {"events":{…},"counters":{…}}: the part that `info` and `convert --json` show too. */
void tbp_receipt_write_ledger(struct tbp_json *j, const struct tbp_ledger *l);

uint32_t tbp_sum_bytes(uint32_t crc, const void *p, size_t n); /* crc32 as in gzip; starts with 0 */
/* The same of an input; parts of a large one leave memory again once they are read. Fails as
 * reading does: the file became shorter. */
int tbp_input_sum(const struct tbp_input *in, struct tbp_pool *pool, uint32_t *crc,
                  struct tbp_error *err);
/* Size and crc32 of a file; false if it cannot be read. */
bool tbp_file_sum(const char *path, uint64_t *size_bytes, uint32_t *crc);

#endif
