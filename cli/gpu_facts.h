/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a GPU could be recorded here: `tbprof doctor --gpu`. The facts are gathered first, the
 * checks (doctor_gpu.c, THE TABLE is in doctor_checks.c) judge them. Loads NVIDIA's libraries,
 * subscribes to CUPTI and switches the recording of kernels on for a moment, since some drivers
 * refuse only that; initializes no device.
 */
#ifndef TBP_CLI_GPU_FACTS_H
#define TBP_CLI_GPU_FACTS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct tbp_gpu_facts {
    bool has_driver;             /* libcuda.so.1 */
    int driver_version;          /* 12040: CUDA 12.4; 0: not known */
    const char *kernel_module;   /* its version; NULL: it is not loaded */
    const char *cupti, *failure; /* path of libcupti, or why there is none */
    const char *cupti_release;   /* "12.4" */
    uint32_t cupti_version;
    int subscribing;       /* CUPTI's answer to a subscriber; 0: welcome; -1: not asked */
    int enabling;          /* and to the wish for kernels */
    int refusal;           /* which of the two is an error; 0: none */
    const char *doing;     /* when it refused: "subscribing, as 'X' has done" */
    bool is_shared;        /* others may subscribe beside us */
    int admin_only;        /* the kernel module's restriction: 1 yes, 0 no, -1 not known */
    bool may_administer;   /* root's rights over devices: CAP_SYS_ADMIN or CAP_PERFMON */
    const char *container; /* what kind; NULL: none is seen */
    bool has_device_files; /* /dev/nvidiactl */
    const char *injected;  /* variable by which another tool gets into CUDA programs; NULL */
    const char *injected_value;
};

/* Files of the system below root ("" for the real one; tests make others). */
void tbp_gpu_facts_gather(struct tbp_gpu_facts *g, struct tbp_arena *arena, const char *root);

#endif
