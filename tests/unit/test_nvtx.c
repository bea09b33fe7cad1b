/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX injection, called through tables as NVTX's headers would hand them over: what every function
 * answers, what becomes of names. What lands in a profile is tested in
 * tests/capture/test_preload.py.
 */
#include "capture/nvtx_abi.h"
#include "capture/nvtx_names.h"
#include "capture/tbprof.h"

#include <criterion/criterion.h>

TBPROF_API int InitializeInjectionNvtx2(tbp_nvtx_get_export *get_export);

static tbp_nvtx_fn *core[16], *core2[16];
static tbp_nvtx_fn **core_table[16], **core2_table[16];

static int module_table(int32_t module, tbp_nvtx_fn ****table, unsigned *n) {
    *table = module == TBP_NVTX_CORE ? core_table : module == TBP_NVTX_CORE2 ? core2_table : NULL;
    *n = 16;
    return *table != NULL;
}

static const void *get_export(uint32_t id) {
    static const struct tbp_nvtx_callbacks callbacks = {sizeof callbacks, module_table};
    return id == TBP_NVTX_EXPORT_CALLBACKS ? &callbacks : NULL;
}

static void inject(void) {
    for (int i = 0; i < 16; i++) {
        core_table[i] = &core[i];
        core2_table[i] = &core2[i];
    }
    cr_assert_eq(InitializeInjectionNvtx2(get_export), 1);
}

static int push(const char *name) {
    return ((int (*)(const char *))core[TBP_NVTX_PUSH_A])(name);
}
static int pop(void) {
    return ((int (*)(void))core[TBP_NVTX_POP])();
}
static int domain_push(void *domain, const char *name) {
    struct tbp_nvtx_event e = {.size = sizeof e, .message_type = TBP_NVTX_ASCII, .message = name};
    return ((int (*)(void *, const void *))core2[TBP_NVTX_DOMAIN_PUSH_EX])(domain, &e);
}
static int domain_pop(void *domain) {
    return ((int (*)(void *))core2[TBP_NVTX_DOMAIN_POP])(domain);
}

Test(nvtx, answers_depths_also_while_nothing_is_recorded, .init = inject) {
    cr_assert_eq(push("a"), 0);
    cr_assert_eq(push("b"), 1);
    cr_assert_eq(pop(), 1);
    cr_assert_eq(pop(), 0);
    cr_assert_eq(pop(), -2, "nothing is open");
}

Test(nvtx, a_pop_takes_the_innermost_range_of_its_own_domain, .init = inject) {
    void *domain = ((void *(*)(const char *))core2[TBP_NVTX_DOMAIN_CREATE_A])("lib");
    cr_assert_not_null(domain);
    cr_assert_eq(push("a"), 0);
    cr_assert_eq(domain_push(domain, "x"), 1);
    cr_assert_eq(pop(), 0);
    cr_assert_eq(pop(), -2);
    cr_assert_eq(domain_pop(domain), 0);
    cr_assert_eq(domain_pop(domain), -2);
}

Test(nvtx, survives_ranges_deeper_than_it_keeps, .init = inject) {
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(push("deep"), i);
    for (int i = 1000; i-- > 0;)
        cr_assert_eq(pop(), i);
    cr_assert_eq(pop(), -2);
}

Test(nvtx, refuses_what_is_no_nvtx) {
    cr_assert_eq(InitializeInjectionNvtx2(NULL), 0);
}

Test(nvtx, one_handle_per_name) {
    struct tbp_nvtx_name *a = tbp_nvtx_domain(TBP_STR("a"));
    cr_assert_eq(a, tbp_nvtx_domain(TBP_STR("a")));
    cr_assert_neq(a, tbp_nvtx_domain(TBP_STR("b")));
    struct tbp_nvtx_name *s = tbp_nvtx_string(a, TBP_STR("text"));
    cr_assert_eq(s, tbp_nvtx_string(a, TBP_STR("text")));
    cr_assert_neq(s, tbp_nvtx_string(NULL, TBP_STR("text")));
    cr_assert(tbp_str_is(tbp_nvtx_name_text(s), "text"));
}

Test(nvtx, a_category_can_be_named_anew) {
    cr_assert_eq(tbp_nvtx_category(NULL, 7).n, 0);
    tbp_nvtx_category_set(NULL, 7, TBP_STR("io"));
    tbp_nvtx_category_set(NULL, 7, TBP_STR("disk"));
    cr_assert(tbp_str_is(tbp_nvtx_category(NULL, 7), "disk"));
    cr_assert_eq(tbp_nvtx_category(tbp_nvtx_domain(TBP_STR("c")), 7).n, 0);
}

Test(nvtx, wide_text_becomes_utf8) {
    char to[32];
    struct tbp_str s = tbp_nvtx_utf8(to, sizeof to, L"a\u00e4\u20ac\U0001f600");
    cr_assert(tbp_str_is(s, "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
    cr_assert(tbp_str_is(tbp_nvtx_utf8(to, sizeof to, (wchar_t[]){0xd800, 0}), "\xef\xbf\xbd"));
    cr_assert_eq(tbp_nvtx_utf8(to, sizeof to, NULL).n, 0);
    cr_assert_eq(tbp_nvtx_utf8(to, 6, L"abcdef").n, 3, "four bytes are kept free for the next");
}
