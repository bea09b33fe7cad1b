/* SPDX-License-Identifier: Apache-2.0
 *
 * From CUPTI's records to those of the spool (schemas/spool_gpu.h): names get numbers, times the
 * session's clock, allocations their running totals; what cannot be placed in time is counted.
 * Used by the GPU worker alone, on its own thread. Memory: names, allocations that are alive, and
 * the allocations of one flush.
 */
#ifndef TBP_CAPTURE_GPU_WRITE_H
#define TBP_CAPTURE_GPU_WRITE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "capture/cuda_load.h"
#include "capture/cupti_load.h"
#include "capture/cupti_records.h"
#include "capture/gpu_clock.h"
#include "capture/gpu_names.h"
#include "plugin_data/rec_live.h"

enum { TBP_GPU_DEVICES = 64, TBP_GPU_ALLOCATORS = 64, TBP_GPU_NAMES = 4096 };

struct tbp_gpu_allocator {
    uint64_t key; /* device, kind of memory, pool */
    uint32_t name;
    uint64_t in_use_bytes, peak_bytes, capacity_bytes;
};
struct tbp_gpu_given {      /* a name that the program gave */
    enum tbp_gpu_kind kind; /* NAMED, THREAD */
    struct tbp_spool_gpu bearer;
    uint32_t name;
};
struct tbp_gpu_writer {
    const struct tbp_cupti *cupti;
    const struct tbp_cuda *cuda;
    struct tbp_gpu_clock clock;
    struct tbp_arena arena;
    struct tbp_strtab names;  /* as CUPTI gives them … */
    TBP_VEC(uint32_t) ids;    /* … and their numbers in the spool */
    struct tbp_idmap threads; /* tid -> 1: its name is written */
    struct tbp_idmap calls;   /* domain and function -> number in the spool, 0: not recorded */
    uint64_t told_devices;    /* bit n: the record of device n is written */
    struct tbp_spool_gpu_device devices[TBP_GPU_DEVICES]; /* what is known of them */
    uint32_t device_names[TBP_GPU_DEVICES];
    TBP_VEC(struct tbp_gpu_given) given;
    size_t n_told; /* of these, written */
    struct tbp_gpu_allocator allocators[TBP_GPU_ALLOCATORS];
    unsigned n_allocators;
    struct tbp_rec_live live;                /* address of an allocator -> bytes */
    TBP_VEC(struct tbp_cupti_record) memory; /* not written yet */
    uint64_t n_losses[TBP_GPU_LOSSES];       /* not written yet */
    uint64_t n_records;
};

void tbp_gpu_writer_init(struct tbp_gpu_writer *w, const struct tbp_cupti *cupti,
                         const struct tbp_cuda *cuda, int64_t start_monotonic_ns);
void tbp_gpu_writer_release(struct tbp_gpu_writer *w);

void tbp_gpu_writer_take(struct tbp_gpu_writer *w, const struct tbp_cupti_record *r);
/* A name that the program gave to something of the GPU. */
void tbp_gpu_writer_name(struct tbp_gpu_writer *w, const struct tbp_gpu_name *name);
/* Writes what was kept to be put in order, and what was counted. */
void tbp_gpu_writer_flush(struct tbp_gpu_writer *w);
/* Devices and names are told again: what comes goes into another profile. */
void tbp_gpu_writer_again(struct tbp_gpu_writer *w);

#endif
