/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a profile was taken: device type, counts, peak rates; and the roofline of an op against
 * them. Source: spec tables/RULES.md 4 and 14. Ownership: the session's arena. Const after
 * creation.
 */
#ifndef TBP_CONVERT_ANALYZE_RUN_ENVIRONMENT_H
#define TBP_CONVERT_ANALYZE_RUN_ENVIRONMENT_H

#include "convert/analyze/kernel_table.h"
#include "convert/analyze/op_table.h"

/* In rising order: hosts together have the largest of theirs. */
enum tbp_hardware {
    TBP_HARDWARE_UNKNOWN,
    TBP_HARDWARE_CPU_ONLY,
    TBP_HARDWARE_GPU,
    TBP_HARDWARE_TPU
};

enum tbp_bandwidth {
    TBP_BW_HBM,
    TBP_BW_SRAM_READ, /* GPU: shared memory / L1 */
    TBP_BW_SRAM_WRITE,
    TBP_BW_CMEM_READ, /* from here TPU only */
    TBP_BW_CMEM_WRITE,
    TBP_BW_VMEM_READ,
    TBP_BW_VMEM_WRITE,
    TBP_BW_KINDS
};

struct tbp_run_environment {
    struct tbp_str device_type; /* "Nvidia GPU (Volta)", "GPU", "CPU", "TPU v4" … */
    enum tbp_hardware hardware;
    uint64_t core_count; /* device planes */
    uint32_t n_hosts, n_tasks;
    const struct tbp_str *hostnames; /* distinct, in order of the hosts; "localhost" if not told */
    size_t n_hostnames;
    bool is_training;                /* some program computes gradients; the last host decides */
    double peak_tflops;              /* 10^12 FLOP/s of all cores */
    double peak_gbs[TBP_BW_KINDS];   /* 10^9 bytes/s */
    unsigned n_peak_gbs;             /* how many are told; 0 without a device */
    double ridge_point;              /* FLOP per byte; may be NaN or inf without HBM */
    double mxu_percent, hbm_percent; /* performance counters of the host plane; mean over hosts */
};

extern const struct tbp_analysis tbp_analysis_run_environment;
const struct tbp_run_environment *tbp_run_environment(struct tbp_session *s, uint32_t host,
                                                      struct tbp_error *err);
/* "UNKNOWN_HARDWARE", "CPU_ONLY", "GPU", "TPU". */
const char *tbp_hardware_text(enum tbp_hardware h);

/* Capabilities of one device plane. */
struct tbp_device_caps {
    double clock_ghz;
    uint64_t cores, bandwidth, memory_bytes, major, minor; /* bandwidth: bytes/s */
    struct tbp_str vendor_text, name;
    enum tbp_gpu_vendor vendor;
    bool vendor_repaired;
};
void tbp_device_caps_read(struct tbp_device_caps *c, const struct tbp_plane *plane,
                          enum tbp_semantics semantics);

/* The device planes that count: all TPU planes, or if there are none all GPU planes. Made in a. */
size_t tbp_device_planes(const struct tbp_host *h, struct tbp_arena *a,
                         const struct tbp_plane ***planes, bool *are_tpu);

struct tbp_roofline {
    double gflops, model_gflops; /* 10^9 FLOP/s over the op's total time */
    double gibs;                 /* 2^30 bytes/s */
    double flop_per_byte;
    const char *bound_by; /* "Compute", "HBM", "Shm/L1", … "Unknown" */
};
struct tbp_roofline tbp_op_roofline(const struct tbp_op *op, const struct tbp_run_environment *env);

#endif
