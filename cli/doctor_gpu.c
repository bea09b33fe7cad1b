/* SPDX-License-Identifier: Apache-2.0
 *
 * The doctor's checks of what could be recorded of a GPU; see gpu_facts.h.
 */
#include "capture/cupti_errors.h"
#include "capture/cupti_load.h"
#include "cli/doctor.h"
#include "cli/gpu_facts.h"

#include <stdlib.h>

/* In a container the files of the host's driver are there only if it was started with them. */
static const char *driver_advice(const struct tbp_doctor *d) {
    if (d->gpu->container)
        return tbp_arena_printf(d->arena,
                                "start the container (%s) with the GPUs (docker run --gpus all, "
                                "with NVIDIA's container toolkit on the host)",
                                d->gpu->container);
    return "install NVIDIA's driver, or use a machine with a GPU; see whether nvidia-smi works";
}

static void run_driver(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    const struct tbp_gpu_facts *g = d->gpu;
    if (!g->has_driver) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, "libcuda.so.1");
        f->what = "is not found: there is no NVIDIA driver";
        f->advice = driver_advice(d);
    } else if (!g->kernel_module && !g->has_device_files) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, "/dev/nvidiactl");
        f->what = "is not there: the driver's library has no kernel module to talk to";
        f->advice = driver_advice(d);
    }
}

const struct tbp_doctor_check tbp_check_gpu_driver = {
    .name = "gpu-driver",
    .scope = TBP_CHECK_GPU,
    .help = "NVIDIA's driver is there, its library and its kernel module",
    .run = run_driver,
};

static void run_cupti(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    const struct tbp_gpu_facts *g = d->gpu;
    unsigned driver = (unsigned)g->driver_version / 1000;
    if (!g->cupti) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, "libcupti");
        f->what = g->failure;
        return;
    }
    unsigned release = (unsigned)strtoul(g->cupti_release, NULL, 10);
    if (driver && release > driver) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, g->cupti);
        f->what =
            tbp_arena_printf(d->arena, "is of CUDA %s, the driver of CUDA %u.%u", g->cupti_release,
                             driver, (unsigned)g->driver_version % 1000 / 10);
        f->advice = tbp_arena_printf(d->arena,
                                     "use the CUPTI of CUDA %u (TBPROF_CUPTI_PATH), or a newer "
                                     "driver",
                                     driver);
    }
}

const struct tbp_doctor_check tbp_check_gpu_cupti = {
    .name = "gpu-cupti",
    .scope = TBP_CHECK_GPU,
    .help = "CUPTI is there, in a release that the driver serves",
    .run = run_cupti,
};

static void run_permission(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    const struct tbp_gpu_facts *g = d->gpu;
    bool is_refused = g->refusal == TBP_CUPTI_NO_PRIVILEGE;
    if (!is_refused && (g->admin_only != 1 || g->may_administer))
        return;
    struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, "/proc/driver/nvidia/params");
    f->what = is_refused ? "CUPTI answers that this user may not profile"
                         : "says RmProfilingAdminOnly: 1, and this process may not administer";
    f->advice = tbp_cupti_advice(TBP_CUPTI_NO_PRIVILEGE);
}

const struct tbp_doctor_check tbp_check_gpu_permission = {
    .name = "gpu-permission",
    .scope = TBP_CHECK_GPU,
    .help = "this user may profile",
    .run = run_permission,
};

static void run_conflicts(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    const struct tbp_gpu_facts *g = d->gpu;
    if (g->injected) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_NOTE, g->injected);
        f->what = tbp_arena_printf(d->arena,
                                   "is set ('%.200s'): another tool gets into programs that use "
                                   "CUDA, and may hold CUPTI",
                                   g->injected_value);
        f->advice = "unset it for programs that tbprof records";
    }
    if (g->refusal != 0 && g->refusal != TBP_CUPTI_NO_PRIVILEGE) {
        char text[800];
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, "CUPTI");
        tbp_cupti_explain(g->refusal, g->doing, text, sizeof text);
        f->what = tbp_arena_printf(d->arena, "refuses: %s", text);
    }
}

const struct tbp_doctor_check tbp_check_gpu_conflict = {
    .name = "gpu-conflict",
    .scope = TBP_CHECK_GPU,
    .help = "CUPTI takes a subscriber and records, no other tool is in the way",
    .run = run_conflicts,
};
