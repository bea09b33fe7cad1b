/* SPDX-License-Identifier: Apache-2.0
 *
 * What NVTX (header-only, version 3) hands to a tool that it loads through NVTX_INJECTION64_PATH:
 * tables of pointers to function pointers, to be filled with the tool's own functions. Numbers and
 * layouts are those of NVTX's published headers (nvtxDetail/nvtxTypes.h, nvToolsExt.h); a test
 * compares them where the CUDA Toolkit is installed.
 */
#ifndef TBP_CAPTURE_NVTX_ABI_H
#define TBP_CAPTURE_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

enum tbp_nvtx_export { TBP_NVTX_EXPORT_CALLBACKS = 1 };
enum tbp_nvtx_module {
    TBP_NVTX_CORE = 1,
    TBP_NVTX_CUDA = 2,
    TBP_NVTX_CUDART = 4,
    TBP_NVTX_CORE2 = 5
};

typedef void tbp_nvtx_fn(void); /* stands for every signature */

struct tbp_nvtx_callbacks {
    size_t struct_size;
    int (*module_table)(int32_t module, tbp_nvtx_fn ****table, unsigned *n_entries);
};
typedef const void *tbp_nvtx_get_export(uint32_t id);

/* Positions in the table of the module CORE. */
enum tbp_nvtx_core {
    TBP_NVTX_MARK_EX = 1,
    TBP_NVTX_MARK_A,
    TBP_NVTX_MARK_W,
    TBP_NVTX_START_EX,
    TBP_NVTX_START_A,
    TBP_NVTX_START_W,
    TBP_NVTX_END,
    TBP_NVTX_PUSH_EX,
    TBP_NVTX_PUSH_A,
    TBP_NVTX_PUSH_W,
    TBP_NVTX_POP,
    TBP_NVTX_CATEGORY_A,
    TBP_NVTX_CATEGORY_W,
    TBP_NVTX_THREAD_A,
    TBP_NVTX_THREAD_W,
};
/* … of CORE2. */
enum tbp_nvtx_core2 {
    TBP_NVTX_DOMAIN_MARK_EX = 1,
    TBP_NVTX_DOMAIN_START_EX,
    TBP_NVTX_DOMAIN_END,
    TBP_NVTX_DOMAIN_PUSH_EX,
    TBP_NVTX_DOMAIN_POP,
    TBP_NVTX_RESOURCE_CREATE,
    TBP_NVTX_RESOURCE_DESTROY,
    TBP_NVTX_DOMAIN_CATEGORY_A,
    TBP_NVTX_DOMAIN_CATEGORY_W,
    TBP_NVTX_REGISTER_A,
    TBP_NVTX_REGISTER_W,
    TBP_NVTX_DOMAIN_CREATE_A,
    TBP_NVTX_DOMAIN_CREATE_W,
    TBP_NVTX_DOMAIN_DESTROY,
    TBP_NVTX_INITIALIZE,
};

/* … of CUDA: of the driver's interface. */
enum tbp_nvtx_cuda {
    TBP_NVTX_CU_DEVICE_A = 1,
    TBP_NVTX_CU_DEVICE_W,
    TBP_NVTX_CU_CONTEXT_A,
    TBP_NVTX_CU_CONTEXT_W,
    TBP_NVTX_CU_STREAM_A,
    TBP_NVTX_CU_STREAM_W,
};
/* … of CUDART: of the runtime library's. */
enum tbp_nvtx_cudart {
    TBP_NVTX_CUDA_DEVICE_A = 1,
    TBP_NVTX_CUDA_DEVICE_W,
    TBP_NVTX_CUDA_STREAM_A,
    TBP_NVTX_CUDA_STREAM_W,
};

enum tbp_nvtx_message { TBP_NVTX_ASCII = 1, TBP_NVTX_UNICODE = 2, TBP_NVTX_REGISTERED = 3 };
enum tbp_nvtx_payload {
    TBP_NVTX_U64 = 1,
    TBP_NVTX_I64,
    TBP_NVTX_DOUBLE,
    TBP_NVTX_U32,
    TBP_NVTX_I32,
    TBP_NVTX_FLOAT,
};

struct tbp_nvtx_event { /* nvtxEventAttributes_t; `size` tells how much of it is there */
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    const void *message;
};

#endif
