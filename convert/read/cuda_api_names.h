/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of CUDA's functions by CUPTI's numbers, for profiles that keep the number only. Empty: not
 * known. A look-up walks the list: keep the answer.
 */
#ifndef TBP_CONVERT_READ_CUDA_API_NAMES_H
#define TBP_CONVERT_READ_CUDA_API_NAMES_H

#include "base/str.h"

struct tbp_str tbp_cuda_runtime_name(int64_t id);
struct tbp_str tbp_cuda_driver_name(int64_t id);

#endif
