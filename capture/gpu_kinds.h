/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a GPU is recorded: words of the option `gpu_kinds`, and the kinds of CUPTI behind them.
 * Pure.
 */
#ifndef TBP_CAPTURE_GPU_KINDS_H
#define TBP_CAPTURE_GPU_KINDS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define TBP_GPU_KINDS_DEFAULT "kernel,memcpy,memset,api,sync,memory,overhead,facts"

/* Bits of the words; NULL and "" are the default. Fails with TBP_E_OPTION. */
int tbp_gpu_kinds_parse(const char *words, uint32_t *mask, struct tbp_error *err);

enum tbp_gpu_need {
    TBP_GPU_NEEDED,  /* without it there is nothing to record */
    TBP_GPU_WANTED,  /* that it cannot be had is told */
    TBP_GPU_WELCOME, /* what is there anyway is known without it */
};
struct tbp_gpu_kind_row {
    const char *word;
    uint32_t cupti_kind;
    enum tbp_gpu_need need;
    uint32_t since; /* release of CUPTI */
};
/* In the order in which they are switched on; word NULL ends it. Bit n of a mask: the nth word. */
extern const struct tbp_gpu_kind_row tbp_gpu_kind_rows[];
/* Is the kind among those of the mask? */
bool tbp_gpu_kinds_have(uint32_t mask, uint32_t cupti_kind);
/* Bit of a row's word. */
uint32_t tbp_gpu_kind_bit(const struct tbp_gpu_kind_row *row);

#endif
