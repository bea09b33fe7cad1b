/* SPDX-License-Identifier: Apache-2.0
 *
 * THE TABLE of CUPTI's errors.
 */
#include "capture/cupti_errors.h"

#include <stdio.h>

static const struct {
    int code;
    bool of_kind;
    const char *meaning, *advice;
} errors[] = {
    {8, true, "CUPTI has no memory for it", "make max_device_bytes smaller"},
    {14, true,
     "it cannot be recorded now, or another library of the process uses the other of "
     "CUPTI's two interfaces",
     "record it in a process without another profiler"},
    {15, false,
     "CUPTI is not initialized: the driver is too old for it, or the program is about "
     "to end",
     "use the CUPTI of the driver's CUDA release, or a newer driver"},
    {26, true, "the hardware is in use by another profiler", "end the other profiler"},
    {27, true, "the device does not support it", "nothing: all else is recorded"},
    {33, false, "profiling is not enabled for this virtual GPU",
     "enable it in the configuration of the virtual GPU"},
    {TBP_CUPTI_NO_PRIVILEGE, false, "the driver lets only administrators profile",
     "load the kernel module with the option NVreg_RestrictProfilingToAdminUsers=0 (a line "
     "'options nvidia NVreg_RestrictProfilingToAdminUsers=0' in /etc/modprobe.d, then reboot), or "
     "run as root; in a container with the capability SYS_ADMIN (docker run --cap-add=SYS_ADMIN)"},
    {TBP_CUPTI_IS_TAKEN, false, "another tool records the GPU of this process",
     "end it first, there can be one at a time: Nsight Systems or Compute, compute-sanitizer, "
     "cuda-gdb, torch.profiler, jax.profiler, TensorFlow's profiler, a monitor (several only from "
     "CUDA 13.3 on, and only if all of them ask for it)"},
    {40, false, "this virtual GPU cannot be profiled", "use a GPU that is not virtual"},
    {41, false, "the GPU is in confidential-computing mode", "use it without"},
    {43, true, "the GPU is partitioned (MIG) in a way that cannot be profiled",
     "use an unpartitioned GPU"},
    {45, true, "Windows' subsystem for Linux does not support it", "use Linux itself"},
    {999, false, "there is no usable NVIDIA driver in this process",
     "see whether nvidia-smi works; in a container, whether it was started with the GPUs"},
};

static int find(int code) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code)
            return (int)i;
    return -1;
}

void tbp_cupti_explain(int code, const char *what, char *text, size_t size) {
    int i = find(code);
    if (i < 0)
        snprintf(text, size, "CUPTI error %d while %s", code, what);
    else
        snprintf(text, size, "%s (CUPTI error %d while %s); to do: %s", errors[i].meaning, code,
                 what, errors[i].advice);
}

const char *tbp_cupti_advice(int code) {
    int i = find(code);
    return i < 0 ? "see CUPTI's documentation of the number" : errors[i].advice;
}

bool tbp_cupti_is_of_kind(int code) {
    int i = find(code);
    return i >= 0 && errors[i].of_kind;
}
