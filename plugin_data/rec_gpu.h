/* SPDX-License-Identifier: Apache-2.0
 *
 * What a GPU did, out of a recording (schemas/spool_gpu.h): work becomes planes /device:GPU:N with
 * a line per stream, calls and allocations events on the lines of the threads that made them. A
 * call that launched work and the work have one correlation number; the scope that was open on the
 * calling thread names the work (stat tf_op), and the Profile tab finds its step over the call.
 *
 * Memory: 32 bytes per event. Ownership: tables are the holder's, texts views into the recording or
 * in the arena. One thread at a time.
 */
#ifndef TBP_PLUGIN_DATA_REC_GPU_H
#define TBP_PLUGIN_DATA_REC_GPU_H

#include "base/map.h"
#include "plugin_data/rec_names.h"
#include "schemas/spool_gpu.h"

struct tbp_rec_span {
    int64_t start_ps, dur_ps;
    uint32_t slot;
};
struct tbp_rec_gpu_call { /* in order of arrival; after placing in that of threads and time */
    struct tbp_rec_span span;
    uint32_t thread;
    uint32_t correlation;
    uint32_t op;    /* number of the text + 1 */
    bool is_hidden; /* the driver's part of a call of the runtime library */
};
struct tbp_rec_gpu_event { /* on a line of a device, or of the host */
    struct tbp_rec_span span;
    uint32_t line;
};
struct tbp_rec_gpu_line { /* a stream; or one of the two of the host */
    uint32_t device, context, stream;
    size_t first, n; /* of the events */
};
/* No sound spool comes near; further streams are taken together, further devices left out. */
enum { TBP_REC_GPU_MAX_LINES = 4096, TBP_REC_GPU_MAX_DEVICES = 1024 };
enum { TBP_REC_GPU_SYNC_LINE, TBP_REC_GPU_OVERHEAD_LINE, TBP_REC_GPU_HOST_LINES };

struct tbp_rec_gpu {
    const struct tbp_recording *recording;
    struct tbp_arena *arena;
    TBP_VEC(struct tbp_rec_gpu_call) calls;
    TBP_VEC(struct tbp_rec_gpu_call) memory;  /* allocations and frees */
    TBP_VEC(struct tbp_rec_gpu_event) events; /* the rest */
    TBP_VEC(struct tbp_rec_gpu_line) lines;   /* the host's first */
    struct tbp_idmap devices;                 /* ordinal -> slot of the last record of it */
    struct tbp_idmap given;                   /* device, context or stream -> number of its name */
    TBP_VEC(uint32_t) ordinals;               /* of devices that did something, ascending */
    TBP_VEC(struct tbp_rec_span) host;        /* calls and memory by thread and time … */
    size_t *host_first;                       /* … from here on, by thread; one more at the end */
    size_t n_threads;
    struct tbp_idmap call_of; /* correlation -> place in calls */
    struct tbp_strtab texts;  /* of ops */
    uint64_t n_losses[TBP_GPU_LOSSES];
    uint64_t n_early, n_without_call;
};

/* Finds all there is; threads that called and recorded nothing else are added to the recording. */
void tbp_rec_gpu_read(struct tbp_rec_gpu *g, struct tbp_recording *s, struct tbp_arena *arena);
/* Puts it in order of time since base_ps. carried(ctx, thread, &n): slots of what is open at the
 * begin of the thread's records (collect_state.h). */
struct tbp_rec_gpu_carried {
    const uint32_t *slots;
    size_t n;
};
void tbp_rec_gpu_place(struct tbp_rec_gpu *g, int64_t base_ps,
                       const struct tbp_rec_gpu_carried *carried);
void tbp_rec_gpu_release(struct tbp_rec_gpu *g);

static inline bool tbp_rec_gpu_is_empty(const struct tbp_rec_gpu *g) {
    return g->calls.n + g->memory.n + g->events.n == 0;
}

/* Calls and allocations of a thread, in order. */
static inline const struct tbp_rec_span *tbp_rec_gpu_host(const struct tbp_rec_gpu *g,
                                                          size_t thread, size_t *n) {
    if (thread >= g->n_threads || g->host.n == 0) {
        *n = 0;
        return NULL;
    }
    *n = g->host_first[thread + 1] - g->host_first[thread];
    return g->host.at + g->host_first[thread];
}

/* The name that the program gave it; empty: none. */
struct tbp_str tbp_rec_gpu_given(const struct tbp_rec_gpu *g, enum tbp_gpu_named what,
                                 uint32_t device, uint32_t context, uint32_t stream);
/* The parts of a record; NULL: it is not whole. */
const struct tbp_spool_gpu *tbp_rec_gpu_base(const struct tbp_rec *r, size_t more_bytes);
static inline enum tbp_gpu_kind tbp_rec_gpu_kind(const struct tbp_rec *r) {
    return (enum tbp_gpu_kind)(r->at->aux & 0xffff);
}
/* Name of what launched or asked for it; empty: not known. */
struct tbp_str tbp_rec_gpu_op(const struct tbp_rec_gpu *g, uint32_t correlation);

#endif
