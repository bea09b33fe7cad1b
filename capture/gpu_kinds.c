/* SPDX-License-Identifier: Apache-2.0
 *
 * See gpu_kinds.h.
 */
#include "capture/gpu_kinds.h"

#include "base/str.h"
#include "capture/cupti_records.h"

/* Numbers that tie a kernel to its call are given only while calls are recorded. */
const struct tbp_gpu_kind_row tbp_gpu_kind_rows[] = {
    {"api", TBP_CUPTI_RUNTIME, false},
    {"api", TBP_CUPTI_DRIVER, false},
    {"kernel", TBP_CUPTI_KERNEL, true},
    {"memcpy", TBP_CUPTI_MEMCPY, false},
    {"memcpy", TBP_CUPTI_MEMCPY2, false},
    {"memset", TBP_CUPTI_MEMSET, false},
    {"sync", TBP_CUPTI_SYNCHRONIZATION, false},
    {"memory", TBP_CUPTI_MEMORY2, false},
    {"overhead", TBP_CUPTI_OVERHEAD, false},
    {"graph", TBP_CUPTI_GRAPH_TRACE, false},
    {NULL, 0, false},
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
                            "sync, memory, overhead, graph",
                            (int)word.n, word.p);
        *mask |= bit;
        rest = tbp_str_sub(rest, comma < rest.n ? comma + 1 : rest.n, rest.n);
    }
    return TBP_OK;
}
