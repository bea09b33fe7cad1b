/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the devices: one row per kernel, launch geometry and op, the 1000 longest, and their
 * sums per op. Source: spec tables/RULES.md 9, 11 and 14 (hosts are listed together, not united).
 *
 * Times are picoseconds. The official reading cuts every event to whole nanoseconds before summing;
 * the repaired one sums picoseconds (has_sub_ns then tells that it made a difference).
 * Ownership: the session's arena; texts borrow from the hosts' bytes. Const after creation.
 */
#ifndef TBP_CONVERT_ANALYZE_KERNEL_TABLE_H
#define TBP_CONVERT_ANALYZE_KERNEL_TABLE_H

#include "convert/analyze/session.h"

enum { TBP_KERNELS_MAX = 1000 };

/* What the launch looked like, from the text of stat kernel_details. */
struct tbp_kernel_launch {
    uint32_t grid[3], block[3];
    uint32_t registers, static_shmem_bytes, dynamic_shmem_bytes;
    float occupancy_pct;
    bool has_shm; /* repaired: `shm:` read as static shared memory */
};

struct tbp_kernel {
    struct tbp_str name, op_name;
    struct tbp_kernel_launch launch;
    bool uses_tensor_core, is_op_eligible; /* eligible for tensor cores */
    bool has_sub_ns;
    uint64_t occurrences, total_ps, min_ps, max_ps;
};

struct tbp_kernel_op {
    struct tbp_str name;
    bool is_eligible; /* any of its kernels is */
    uint64_t total_ps, tensor_core_ps;
};

struct tbp_kernel_table {
    struct tbp_kernel *kernels; /* by total time descending, then by identity */
    size_t n_kernels;
    struct tbp_kernel_op *ops; /* by name */
    size_t n_ops;
};

extern const struct tbp_analysis tbp_analysis_kernels;
const struct tbp_kernel_table *tbp_kernels(struct tbp_session *s, uint32_t host,
                                           struct tbp_error *err);
/* Sums of the kernels of this op, NULL if it launched none. */
const struct tbp_kernel_op *tbp_kernel_op_find(const struct tbp_kernel_table *t,
                                               struct tbp_str op_name);

/* ---- rules, for tests and other analyses ---- */
void tbp_kernel_launch_parse(struct tbp_kernel_launch *out, struct tbp_str details, bool repair);
enum tbp_gpu_vendor { TBP_VENDOR_OTHER, TBP_VENDOR_NVIDIA, TBP_VENDOR_AMD };
bool tbp_kernel_name_uses_tensor_core(struct tbp_str kernel_name, enum tbp_gpu_vendor vendor);
bool tbp_op_is_tensor_core_eligible(struct tbp_str op_name);
bool tbp_equation_is_tensor_core_eligible(struct tbp_str equation);

/* Unites equal kernels if asked to (the first one's occupancy stays), orders them, keeps the
 * longest and sums by op. `kernels` is reordered. */
struct tbp_kernel_table *tbp_kernel_table_make(struct tbp_kernel *kernels, size_t n,
                                               bool unite_equal, struct tbp_arena *a);

#endif
