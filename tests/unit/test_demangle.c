/* SPDX-License-Identifier: Apache-2.0
 *
 * Mangled names of C++; the readable ones are those of binutils' c++filt.
 */
#include "base/demangle.h"

#include <criterion/criterion.h>

static const struct {
    const char *mangled, *readable;
} known[] = {
    {"_Z4axpyPfS_i", "axpy(float*, float*, int)"},
    {"_ZN5mlops4gemmIfLi128EEEvPKT_S3_PS1_",
     "void mlops::gemm<float, 128>(float const*, float const*, float*)"},
    {"_Z1fPFviE", "f(void (*)(int))"},
    {"_Z1fRA4_Ki", "f(int const (&) [4])"},
    {"_Z1fM1ai", "f(int a::*)"},
    {"_ZN1aC1Ev", "a::a()"},
    {"_ZN1aplERKS_", "a::operator+(a const&)"},
    {"_ZNK1a1bEv", "a::b() const"},
    {"_Z1fIJifEEvDpT_", "void f<int, float>(int, float)"},
    {"_Z1fILb1ELj3ELm4EEvv", "void f<true, 3u, 4ul>()"},
    {"_Z1fILN1a1bE2EEvv", "void f<(a::b)2>()"},
    {"_Z1fIRiEvOT_", "void f<int&>(int&)"},
    {"_ZN12_GLOBAL__N_11kEv", "(anonymous namespace)::k()"},
    {"_Z1fSt6vectorIiSaIiEE", "f(std::vector<int, std::allocator<int> >)"},
    {"_ZN6thrust4cuda14launch_closureINS_6detail3absIfEEEEvT_",
     "void thrust::cuda::launch_closure<thrust::detail::abs<float> >(thrust::detail::abs<float>)"},
    {"_ZZ1fvENUliE_4callEi", "f()::{lambda(int)#1}::call(int)"},
};

Test(demangle, names_become_those_of_a_known_tool) {
    struct tbp_arena a;
    tbp_arena_init(&a);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct tbp_str s = tbp_demangle(tbp_str_c(known[i].mangled), &a);
        cr_expect(tbp_str_is(s, known[i].readable), "%s became %.*s", known[i].mangled, (int)s.n,
                  s.p);
    }
    tbp_arena_release(&a);
}

Test(demangle, what_is_no_mangled_name_stays) {
    static const char *const names[] = {
        "",       "gemm",     "_Z",         "_Z9", "_Z4ax",      "_ZN",         "_Z1fS_",
        "_Z1fT_", "_Z1fIiE9", "_ZN1a1bEv!", "_ZZ", "_Z1fILi1Ev", "_Z999999999a"};
    struct tbp_arena a;
    tbp_arena_init(&a);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct tbp_str s = tbp_demangle(tbp_str_c(names[i]), &a);
        cr_expect(tbp_str_is(s, names[i]), "%s became %.*s", names[i], (int)s.n, s.p);
    }
    tbp_arena_release(&a);
}

/* a<a, a>, then each twice in the next: 2^30 texts, were it written. S_ is a; S0_ the first of
 * them, and so on. */
Test(demangle, a_name_that_doubles_itself_stays, .timeout = 10) {
    enum { LEVELS = 30 };
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[LEVELS * 10 + 32] = "_Z1f1aS_IS_S_E";
    size_t n = strlen(name);
    for (int i = 0; i < LEVELS; i++) {
        char level[] = {'S', '_', 'I', 'S', digits[i], '_', 'S', digits[i], '_', 'E'};
        memcpy(name + n, level, sizeof level);
        n += sizeof level;
    }
    struct tbp_str doubled = {name, n};
    struct tbp_arena a;
    tbp_arena_init(&a);
    cr_expect(tbp_str_eq(tbp_demangle(doubled, &a), doubled));
    tbp_arena_release(&a);
}

Test(demangle, depth_is_bounded) {
    char name[4096] = "_Z1f";
    memset(name + 4, 'P', sizeof name - 6);
    name[sizeof name - 2] = 'i';
    struct tbp_arena a;
    tbp_arena_init(&a);
    cr_expect(tbp_str_is(tbp_demangle(tbp_str_c(name), &a), name));
    tbp_arena_release(&a);
}
