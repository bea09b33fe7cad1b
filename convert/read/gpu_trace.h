/* SPDX-License-Identifier: Apache-2.0
 *
 * What profiles of GPUs have in common, whichever tool recorded them: kernels with their launch,
 * copies, fills, waits, ranges that the program marked, steps among these, devices. A reader says
 * what stands in its file in CUPTI's terms; this puts it into the words of the model
 * (trace_build.h). Times are whole nanoseconds.
 *
 * Steps are the ranges of one series whose whole names say so (step_name.h): that of the most
 * likely word, then the one that lasts longest in all; of the process that has most of them. Where
 * no range does, there are no steps.
 */
#ifndef TBP_CONVERT_READ_GPU_TRACE_H
#define TBP_CONVERT_READ_GPU_TRACE_H

#include "convert/read/trace_build.h"

struct tbp_gpu_device {
    uint32_t ordinal;
    struct tbp_str name;
    uint64_t clock_khz, n_sms, bandwidth_bytes_per_s, memory_bytes, major, minor;
    /* limits of a multiprocessor; 0: not known */
    uint64_t max_warps, max_blocks, registers, shared_bytes;
};

struct tbp_gpu_kernel {
    uint64_t registers, static_shared, dynamic_shared; /* per thread; bytes per block */
    uint64_t grid[3], block[3];
    uint32_t device;
};

/* CUPTI's numbers. */
enum tbp_gpu_copy_kind { TBP_GPU_HTOD = 1, TBP_GPU_DTOH = 2, TBP_GPU_DTOD = 8, TBP_GPU_PTOP = 10 };
enum tbp_gpu_memory_kind { TBP_GPU_UNKNOWN, TBP_GPU_PAGEABLE, TBP_GPU_PINNED, TBP_GPU_DEVICE };

struct tbp_gpu_mark { /* a range that may be a step */
    size_t row;
    uint32_t stem; /* text */
    unsigned rank;
    bool has_number, is_unsigned; /* the number: see step_name.h */
    int64_t number, process;
};

struct tbp_gpu_trace {
    struct tbp_trace t;
    uint32_t kernel_details, memcpy_details, memset_details, domain; /* texts */
    TBP_VEC(char) text;
    TBP_VEC(struct tbp_gpu_device) devices;
    TBP_VEC(struct tbp_gpu_mark) marks;
    TBP_VEC(size_t) open; /* rows of ranges without an end */
    int64_t last_ns;      /* end of the last event */
    uint64_t n_device;    /* events of devices */
    const char *vendor;   /* of the devices */
};

void tbp_gpu_trace_init(struct tbp_gpu_trace *g, struct tbp_host *host, const char *vendor);
void tbp_gpu_trace_release(struct tbp_gpu_trace *g);

void tbp_gpu_add_device(struct tbp_gpu_trace *g, const struct tbp_gpu_device *d);

/* Start and duration of an event from its two times; an end before the start is counted. */
void tbp_gpu_set_time(struct tbp_gpu_trace *g, struct tbp_trace_event *e, int64_t start_ns,
                      int64_t end_ns);
/* Event that has no start: counted. */
void tbp_gpu_no_time(struct tbp_gpu_trace *g);
/* Records that no page shows: counted. */
void tbp_gpu_not_shown(struct tbp_gpu_trace *g, uint64_t n);

/* e: with track, name, times and link. */
void tbp_gpu_add_kernel(struct tbp_gpu_trace *g, const struct tbp_trace_event *e,
                        const struct tbp_gpu_kernel *k);
/* The name is made of the kinds. */
void tbp_gpu_add_copy(struct tbp_gpu_trace *g, const struct tbp_trace_event *e, int64_t kind,
                      int64_t from, int64_t to, uint64_t bytes);
void tbp_gpu_add_memset(struct tbp_gpu_trace *g, const struct tbp_trace_event *e, int64_t kind,
                        uint64_t bytes);
/* Other work of a device. */
void tbp_gpu_add_work(struct tbp_gpu_trace *g, const struct tbp_trace_event *e);
/* A wait: kind of CUPTI's synchronizations. */
void tbp_gpu_add_wait(struct tbp_gpu_trace *g, const struct tbp_trace_event *e, int64_t kind);
/* Call of an API on the host. */
void tbp_gpu_add_call(struct tbp_gpu_trace *g, const struct tbp_trace_event *e);
/* A range of the program. is_nested: ranges of its thread nest, and what runs in it belongs to it;
 * else the track is a line of its own. domain: text or 0. */
struct tbp_gpu_range {
    bool is_nested, is_open;
    uint32_t domain;
    int64_t process;
};
void tbp_gpu_add_range(struct tbp_gpu_trace *g, const struct tbp_trace_event *e,
                       const struct tbp_gpu_range *r);

/* A line for what does not nest with the calls of a thread: "what process/thread". */
uint32_t tbp_gpu_line(struct tbp_gpu_trace *g, const char *what, int64_t a, int64_t b);
uint32_t tbp_gpu_stream(struct tbp_gpu_trace *g, int64_t device, int64_t stream);

/* A warning that pages tell. */
void tbp_gpu_warn(struct tbp_gpu_trace *g, struct tbp_str text);

/* Steps, devices, warnings; then tbp_trace_finish. */
void tbp_gpu_trace_finish(struct tbp_gpu_trace *g, struct tbp_pool *pool);

#endif
