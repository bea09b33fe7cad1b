/* SPDX-License-Identifier: Apache-2.0
 *
 * The roofline of one op: its rates over its total time against the peaks of the run environment.
 * Source: spec tables/RULES.md 4.
 */
#include "convert/analyze/run_environment.h"

static double giga_to_gibi(double x) {
    return x / (1073741824 / 1e9);
}

/* The strictly largest utilisation names the resource. */
static void offer(struct tbp_roofline *r, double *best, const char *name, double utilisation) {
    if (*best < utilisation) {
        *best = utilisation;
        r->bound_by = name;
    }
}

static void offer_tpu_memories(struct tbp_roofline *r, double *best, const struct tbp_op *op,
                               const struct tbp_run_environment *env, double ns) {
    static const char *const names[] = {"CMEM Read", "CMEM Write", "VMEM Read", "VMEM Write"};
    for (int i = 0; i < 4; i++) {
        uint64_t bytes = op->bytes_by[TBP_BYTES_CMEM_READ + i];
        double peak = giga_to_gibi(env->peak_gbs[TBP_BW_CMEM_READ + i]);
        if (bytes != 0 && peak != 0) {
            offer(r, best, names[i], tbp_ratio(giga_to_gibi(tbp_ratio((double)bytes, ns)), peak));
        }
    }
}

struct tbp_roofline tbp_op_roofline(const struct tbp_op *op,
                                    const struct tbp_run_environment *env) {
    double ns = (double)op->time_ps / 1e3;
    struct tbp_roofline r = {
        .gflops = tbp_ratio(op->flops, ns),
        .model_gflops = tbp_ratio(op->model_flops, ns),
        .gibs = giga_to_gibi(tbp_ratio((double)op->bytes, ns)),
        .flop_per_byte = tbp_ratio(op->flops, (double)op->bytes),
        .bound_by = "Unknown",
    };
    uint64_t hbm_bytes = op->has_breakdown ? op->bytes_by[TBP_BYTES_HBM] : op->bytes;
    double hbm_gibs = giga_to_gibi(tbp_ratio((double)hbm_bytes, ns)), best = 0;
    offer(&r, &best, "Compute", tbp_ratio(r.gflops, env->peak_tflops * 1e3));
    offer(&r, &best, "HBM", tbp_ratio(hbm_gibs, giga_to_gibi(env->peak_gbs[TBP_BW_HBM])));
    if (env->hardware == TBP_HARDWARE_TPU) {
        offer_tpu_memories(&r, &best, op, env, ns);
    }
    double shared = giga_to_gibi(env->peak_gbs[TBP_BW_SRAM_WRITE]);
    if (env->hardware == TBP_HARDWARE_GPU && shared != 0) {
        offer(&r, &best, "Shm/L1", tbp_ratio(hbm_gibs, shared));
    }
    return r;
}
