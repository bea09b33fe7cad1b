/* SPDX-License-Identifier: Apache-2.0
 *
 * See gpu_kinds.h.
 */
#include "capture/gpu_kinds.h"

#include "base/str.h"
#include "capture/cupti_load.h"
#include "capture/cupti_records.h"

/* Numbers that tie a kernel to its call are given only while calls are recorded. */
const struct tbp_gpu_kind_row tbp_gpu_kind_rows[] = {
    {"facts", TBP_CUPTI_DEVICE, TBP_GPU_WELCOME, TBP_CUPTI_11_1},
    {"facts", TBP_CUPTI_NAME, TBP_GPU_WELCOME, TBP_CUPTI_11_1},
    {"api", TBP_CUPTI_RUNTIME, TBP_GPU_WANTED, TBP_CUPTI_11_1},
    {"api", TBP_CUPTI_DRIVER, TBP_GPU_WANTED, TBP_CUPTI_11_1},
    {"kernel", TBP_CUPTI_KERNEL, TBP_GPU_NEEDED, TBP_CUPTI_11_1},
    {"memcpy", TBP_CUPTI_MEMCPY, TBP_GPU_WANTED, TBP_CUPTI_11_1},
    {"memcpy", TBP_CUPTI_MEMCPY2, TBP_GPU_WANTED, TBP_CUPTI_11_1},
    {"memset", TBP_CUPTI_MEMSET, TBP_GPU_WANTED, TBP_CUPTI_11_1},
    {"sync", TBP_CUPTI_SYNCHRONIZATION, TBP_GPU_WANTED, TBP_CUPTI_11_1},
    {"memory", TBP_CUPTI_MEMORY2, TBP_GPU_WANTED, TBP_CUPTI_11_1},
    {"memory", TBP_CUPTI_MEMORY_POOL, TBP_GPU_WELCOME, TBP_CUPTI_11_2},
    {"overhead", TBP_CUPTI_OVERHEAD, TBP_GPU_WANTED, TBP_CUPTI_11_1},
    {"graph", TBP_CUPTI_GRAPH_TRACE, TBP_GPU_WANTED, TBP_CUPTI_11_1},
    {"jit", TBP_CUPTI_JIT, TBP_GPU_WANTED, TBP_CUPTI_11_8},
    {"unified", TBP_CUPTI_UNIFIED_MEMORY, TBP_GPU_WANTED, TBP_CUPTI_11_1},
    {NULL, 0, TBP_GPU_WELCOME, 0},
};

static uint32_t bit_of_word(struct tbp_str word) {
    for (uint32_t i = 0; tbp_gpu_kind_rows[i].word; i++)
        if (tbp_str_is(word, tbp_gpu_kind_rows[i].word))
            return UINT32_C(1) << i; /* the word's first row */
    return 0;
}

uint32_t tbp_gpu_kind_bit(const struct tbp_gpu_kind_row *row) {
    return bit_of_word(tbp_str_c(row->word));
}

bool tbp_gpu_kinds_have(uint32_t mask, uint32_t cupti_kind) {
    for (const struct tbp_gpu_kind_row *row = tbp_gpu_kind_rows; row->word; row++)
        if (row->cupti_kind == cupti_kind && mask & tbp_gpu_kind_bit(row))
            return true;
    return false;
}

int tbp_gpu_kinds_parse(const char *words, uint32_t *mask, struct tbp_error *err) {
    struct tbp_str rest = tbp_str_c(words && *words ? words : TBP_GPU_KINDS_DEFAULT);
    *mask = 0;
    while (rest.n > 0) {
        size_t comma = tbp_str_find(rest, ',');
        comma = comma < rest.n ? comma : rest.n;
        struct tbp_str word = tbp_str_sub(rest, 0, comma);
        uint32_t bit = bit_of_word(word);
        if (!bit)
            return tbp_fail(err, TBP_E_OPTION,
                            "option 'gpu_kinds': '%.*s' is none of kernel, memcpy, memset, api, "
                            "sync, memory, overhead, facts, graph, jit, unified",
                            (int)word.n, word.p);
        *mask |= bit;
        rest = tbp_str_sub(rest, comma < rest.n ? comma + 1 : rest.n, rest.n);
    }
    return TBP_OK;
}
