/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of the option gpu_kinds, CUPTI's numbers, and its errors as sentences.
 */
#include "capture/cupti_errors.h"
#include "capture/cupti_load.h"
#include "capture/cupti_records.h"
#include "capture/gpu_kinds.h"

#include <criterion/criterion.h>

static bool has(uint32_t mask, uint32_t cupti_kind) {
    for (size_t i = 0; tbp_gpu_kind_rows[i].word; i++)
        if (tbp_gpu_kind_rows[i].cupti_kind == cupti_kind)
            return mask & tbp_gpu_kind_bit(&tbp_gpu_kind_rows[i]);
    return false;
}

Test(gpu_kinds, words_stand_for_kinds) {
    uint32_t mask;
    cr_assert_eq(tbp_gpu_kinds_parse("api,kernel", &mask, NULL), TBP_OK);
    cr_assert(has(mask, TBP_CUPTI_RUNTIME) && has(mask, TBP_CUPTI_DRIVER));
    cr_assert(has(mask, TBP_CUPTI_KERNEL));
    cr_assert(!has(mask, TBP_CUPTI_MEMCPY) && !has(mask, TBP_CUPTI_GRAPH_TRACE));
}

Test(gpu_kinds, nothing_said_is_all_but_what_costs) {
    uint32_t mask, same;
    cr_assert_eq(tbp_gpu_kinds_parse(NULL, &mask, NULL), TBP_OK);
    cr_assert_eq(tbp_gpu_kinds_parse("", &same, NULL), TBP_OK);
    cr_assert_eq(mask, same);
    cr_assert(has(mask, TBP_CUPTI_MEMORY2) && has(mask, TBP_CUPTI_MEMCPY2));
    cr_assert(has(mask, TBP_CUPTI_DEVICE) && has(mask, TBP_CUPTI_NAME));
    cr_assert(!has(mask, TBP_CUPTI_GRAPH_TRACE));
    cr_assert(!has(mask, TBP_CUPTI_JIT) && !has(mask, TBP_CUPTI_UNIFIED_MEMORY));
}

Test(gpu_kinds, wrong_words_are_named) {
    uint32_t mask;
    struct tbp_error err = {0};
    cr_assert_eq(tbp_gpu_kinds_parse("kernel,kernels", &mask, &err), TBP_E_OPTION);
    cr_assert(strstr(err.message, "'kernels' is none of kernel, memcpy"), "%s", err.message);
    cr_assert_eq(tbp_gpu_kinds_parse(",", &mask, NULL), TBP_E_OPTION);
}

Test(gpu_kinds, releases_have_names) {
    static const struct {
        uint32_t version;
        const char *release;
    } known[] = {{15, "11.2"},      {18, "11.8"},
                 {19, "12.0"},      {22, "12.4"},
                 {28, "12.9.1"},    {130000, "13.0"},
                 {130001, "13.0"},  {130300, "13.3"},
                 {12, "before 11"}, {140000, "newer than 13"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        cr_assert_str_eq(tbp_cupti_release(known[i].version), known[i].release);
}

Test(gpu_kinds, later_fields_are_not_read_from_older_records) {
    uint8_t record[256];
    struct tbp_cupti_record r;
    memset(record, 0x11, sizeof record);
    memcpy(record, &(uint32_t){TBP_CUPTI_OVERHEAD}, 4);
    cr_assert(tbp_cupti_read(&r, record, TBP_CUPTI_12_2));
    cr_assert_eq(r.correlation, 0);
    cr_assert(tbp_cupti_read(&r, record, TBP_CUPTI_12_4));
    cr_assert_eq(r.correlation, 0x11111111);
    memcpy(record, &(uint32_t){59}, 4);
    cr_assert(!tbp_cupti_read(&r, record, TBP_CUPTI_13_0), "a kind that nobody knows");
}

Test(gpu_kinds, errors_say_what_to_do) {
    char text[800];
    tbp_cupti_explain(35, "subscribing", text, sizeof text);
    cr_assert(strstr(text, "NVreg_RestrictProfilingToAdminUsers=0") && strstr(text, "SYS_ADMIN"));
    tbp_cupti_explain(39, "subscribing", text, sizeof text);
    cr_assert(strstr(text, "torch.profiler"));
    tbp_cupti_explain(1234, "subscribing", text, sizeof text);
    cr_assert_str_eq(text, "CUPTI error 1234 while subscribing");
    cr_assert(tbp_cupti_is_of_kind(27) && !tbp_cupti_is_of_kind(35) && !tbp_cupti_is_of_kind(1));
}
