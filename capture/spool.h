/* SPDX-License-Identifier: Apache-2.0
 *
 * The spool of a session: a file shared with the system (schemas/spool_format.h), cut into chunks
 * which threads take, fill and leave. Chunks are handed out with their pages present, so that who
 * records does not fault; a helper (capture/janitor.c) keeps a stock of them. Space on disk is
 * reserved before a chunk is handed out, since a full disk would else be a fatal signal. Where no
 * file can be had the spool is plain memory, and does not outlive the process.
 *
 * Who records takes chunks from a stack and puts full ones on another without a lock: it waits for
 * nobody, nor calls the system, as long as the stock lasts. Only where records come faster than the
 * disk takes them it has to wait for space, since they would be lost else.
 *
 * Ownership: the session owns the spool, a chunk belongs to the thread that took it until it is
 * full. Thread-safety: take, full, stock, detach, attach.
 */
#ifndef TBP_CAPTURE_SPOOL_H
#define TBP_CAPTURE_SPOOL_H

#include "base/status.h"
#include "schemas/spool_format.h"

#include <pthread.h>
#include <stdbool.h>

struct tbp_spool {
    uint8_t *base;
    struct tbp_spool_header *header; /* = base */
    uint64_t reserved_bytes;         /* of addresses */
    uint64_t backed_bytes;           /* of the file: space on disk is ours; atomic */
    int fd;                          /* -1: memory */
    char path[4096], folder[4096];   /* "" for memory */

    pthread_mutex_t growing; /* the file, which takes its time; never wanted while `lock` is held */
    uint64_t free_top;       /* atomic: stack of chunks with their pages present; in its high half
                                how often it changed */
    uint32_t n_free;         /* atomic: in it, or about to be */
    uint32_t newly_full;     /* atomic: stack of chunks that are not in the queue yet */
    uint32_t *next;          /* in a list, by chunk */
    size_t list_bytes;
    pthread_mutex_t lock;              /* all below; held for a moment only */
    uint32_t max_chunks, all_chunks;   /* for records, atomic; also for strings */
    uint32_t n_begun;                  /* atomic: chunks that have left the untouched end */
    uint32_t oldest_full, newest_full; /* queue in order of becoming full */
    uint32_t oldest_read;              /* the same of those that a collector reads */
    uint32_t wanted_free;              /* atomic: what the janitor keeps in stock */
    bool was_stocked;                  /* that much has been there since it was last raised */
    bool is_ring;
    bool is_read;      /* a collector reads: from detach to attach */
    bool is_low;       /* atomic: the stock is small, and there is more to bring */
    bool is_exhausted; /* atomic: no chunk will come before a snapshot gives some back */
    enum tbp_spool_drop exhausted_why;
};

struct tbp_spool_request {
    const char *folder;         /* NULL: the environment's choice; "memory" */
    const char *session;        /* the spool lies in <folder>/tbprof-<session>/ … */
    const char *session_folder; /* … or in this one, if given … */
    const char *file;           /* … under this name */
    uint64_t max_bytes;         /* of chunks; UINT64_MAX: as many as there are addresses and disk */
    uint32_t n_writers;         /* that will all want chunks at once */
    uint32_t generation;
    bool is_ring;
    char *warning; /* out: why the spool is not what was asked for; untouched if it is */
    size_t warning_size;
};

int tbp_spool_open(struct tbp_spool **out, const struct tbp_spool_request *request,
                   struct tbp_error *err);
/* Unmaps; with `remove_file` the file and its folder go. */
void tbp_spool_close(struct tbp_spool *spool, bool remove_file);
/* For the child of a fork: the mapping is not there, the file is the parent's. */
void tbp_spool_forget(struct tbp_spool *spool);

/* A chunk to write; NULL: none (the reason is exhausted_why). Who takes it fills the header's
 * thread, names and numbers, then begins it. */
struct tbp_spool_chunk *tbp_spool_take(struct tbp_spool *spool, enum tbp_spool_chunk_kind kind);
void tbp_spool_begin(struct tbp_spool_chunk *chunk);
/* The chunk is complete. */
void tbp_spool_full(struct tbp_spool *spool, struct tbp_spool_chunk *chunk);

/* Brings n more chunks into the stock, at most up to wanted_free, and lets a ring forget as many of
 * its oldest ahead of need; false: there is nothing to do. */
bool tbp_spool_stock(struct tbp_spool *spool, uint32_t n);

/* Full chunks are READING from detach to attach; attach gives back for use those that a collector
 * has taken completely. */
void tbp_spool_detach(struct tbp_spool *spool);
void tbp_spool_attach(struct tbp_spool *spool);

/* Of the file, up to the last chunk that was begun. */
static inline uint64_t tbp_spool_used_bytes(const struct tbp_spool *spool) {
    const struct tbp_spool_header *h = spool->header;
    return h->chunks_offset +
           (uint64_t)__atomic_load_n(&h->n_chunks, __ATOMIC_ACQUIRE) * TBP_SPOOL_CHUNK_BYTES;
}

static inline void tbp_spool_count(struct tbp_spool *spool, enum tbp_spool_drop why, uint64_t n) {
    __atomic_fetch_add(&spool->header->n_dropped[why], n, __ATOMIC_RELAXED);
}

#endif
