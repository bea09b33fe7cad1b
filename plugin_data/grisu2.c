/* SPDX-License-Identifier: Apache-2.0
 *
 * Digit generation for data tables. The official writer prints doubles with Grisu2 (F. Loitsch,
 * "Printing Floating-Point Numbers Quickly and Accurately with Integers", 2010), whose digits
 * always read back but are not always the shortest; equal bytes need the same algorithm, cached
 * powers of ten in steps of eight included.
 */
#include "plugin_data/grisu2.h"

#include "base/status.h"

#include <string.h>

enum { POWER_FIRST = -300, POWER_STEP = 8, POWERS = 80, ALPHA = -60 };

/* 10^(POWER_FIRST + POWER_STEP*i) = powers[i] * 2^power_exponent(k), rounded to nearest, 64 bits
 * each. */
static const uint64_t powers[POWERS] = {
    0xab70fe17c79ac6ca, 0xff77b1fcbebcdc4f, 0xbe5691ef416bd60c, 0x8dd01fad907ffc3c,
    0xd3515c2831559a83, 0x9d71ac8fada6c9b5, 0xea9c227723ee8bcb, 0xaecc49914078536d,
    0x823c12795db6ce57, 0xc21094364dfb5637, 0x9096ea6f3848984f, 0xd77485cb25823ac7,
    0xa086cfcd97bf97f4, 0xef340a98172aace5, 0xb23867fb2a35b28e, 0x84c8d4dfd2c63f3b,
    0xc5dd44271ad3cdba, 0x936b9fcebb25c996, 0xdbac6c247d62a584, 0xa3ab66580d5fdaf6,
    0xf3e2f893dec3f126, 0xb5b5ada8aaff80b8, 0x87625f056c7c4a8b, 0xc9bcff6034c13053,
    0x964e858c91ba2655, 0xdff9772470297ebd, 0xa6dfbd9fb8e5b88f, 0xf8a95fcf88747d94,
    0xb94470938fa89bcf, 0x8a08f0f8bf0f156b, 0xcdb02555653131b6, 0x993fe2c6d07b7fac,
    0xe45c10c42a2b3b06, 0xaa242499697392d3, 0xfd87b5f28300ca0e, 0xbce5086492111aeb,
    0x8cbccc096f5088cc, 0xd1b71758e219652c, 0x9c40000000000000, 0xe8d4a51000000000,
    0xad78ebc5ac620000, 0x813f3978f8940984, 0xc097ce7bc90715b3, 0x8f7e32ce7bea5c70,
    0xd5d238a4abe98068, 0x9f4f2726179a2245, 0xed63a231d4c4fb27, 0xb0de65388cc8ada8,
    0x83c7088e1aab65db, 0xc45d1df942711d9a, 0x924d692ca61be758, 0xda01ee641a708dea,
    0xa26da3999aef774a, 0xf209787bb47d6b85, 0xb454e4a179dd1877, 0x865b86925b9bc5c2,
    0xc83553c5c8965d3d, 0x952ab45cfa97a0b3, 0xde469fbd99a05fe3, 0xa59bc234db398c25,
    0xf6c69a72a3989f5c, 0xb7dcbf5354e9bece, 0x88fcf317f22241e2, 0xcc20ce9bd35c78a5,
    0x98165af37b2153df, 0xe2a0b5dc971f303a, 0xa8d9d1535ce3b396, 0xfb9b7cd9a4a7443c,
    0xbb764c4ca7a44410, 0x8bab8eefb6409c1a, 0xd01fef10a657842c, 0x9b10a4e5e9913129,
    0xe7109bfba19c0c9d, 0xac2820d9623bf429, 0x80444b5e7aa7cf85, 0xbf21e44003acdd2d,
    0x8e679c2f5e44ff8f, 0xd433179d9c8cb841, 0x9e19db92b4e31ba9, 0xeb96bf6ebadf77d9,
};

static const uint32_t small_powers[] = {1,      10,      100,      1000,      10000,
                                        100000, 1000000, 10000000, 100000000, 1000000000};

struct scaled {
    uint64_t f;
    int e;
};

/* floor(k * log2(10)) - 63, exact for the range of the table. */
static int power_exponent(int k) {
    return (k * 217706 >> 16) - 63;
}

/* Upper half of the product, rounded. */
static struct scaled multiply(struct scaled x, struct scaled y) {
    unsigned __int128 p = (unsigned __int128)x.f * y.f + ((uint64_t)1 << 63);
    return (struct scaled){(uint64_t)(p >> 64), x.e + y.e + 64};
}

/* The cached power that brings a 64-bit number of exponent e into the range of digit generation. */
static struct scaled cached_power(int e, int *k) {
    int f = ALPHA - e - 1; /* k = ceil(f * log10(2)), rounded up to the table's grid */
    int want = f >= 0 ? (f * 78913 >> 18) + (f > 0) : -(-f * 78913 >> 18);
    int i = (want - POWER_FIRST + POWER_STEP - 1) / POWER_STEP;
    TBP_BUG_IF(i < 0 || i >= POWERS);
    *k = POWER_FIRST + POWER_STEP * i;
    return (struct scaled){powers[i], power_exponent(*k)};
}

/* Lowers the last digit while that comes closer to the value itself. */
static void round_last(char *last, uint64_t dist, uint64_t delta, uint64_t rest, uint64_t ten) {
    while (rest < dist && delta - rest >= ten &&
           (rest + ten < dist || dist - rest > rest + ten - dist)) {
        --*last;
        rest += ten;
    }
}

static unsigned digits_of(uint32_t v) {
    unsigned n = 1;
    while (n < 10 && v >= small_powers[n])
        ++n;
    return n;
}

/* Digits of hi until what is left is inside [lo, hi]; exp10 is the exponent of the last digit. */
static unsigned generate(char *to, struct scaled w, uint64_t lo, uint64_t hi, int *exp10) {
    uint64_t delta = hi - lo, dist = hi - w.f, one = (uint64_t)1 << -w.e;
    uint32_t whole = (uint32_t)(hi >> -w.e);
    uint64_t part = hi & (one - 1);
    unsigned n = 0;
    for (unsigned left = digits_of(whole); left > 0;) {
        uint32_t ten = small_powers[--left];
        to[n++] = (char)('0' + whole / ten);
        whole %= ten;
        uint64_t rest = ((uint64_t)whole << -w.e) + part;
        if (rest <= delta) {
            round_last(&to[n - 1], dist, delta, rest, (uint64_t)ten << -w.e);
            *exp10 = (int)left;
            return n;
        }
    }
    *exp10 = 0;
    do {
        part *= 10;
        to[n++] = (char)('0' + (part >> -w.e));
        part &= one - 1;
        delta *= 10;
        dist *= 10;
        --*exp10;
    } while (part > delta);
    round_last(&to[n - 1], dist, delta, part, one);
    return n;
}

unsigned tbp_grisu2(double x, char digits[TBP_GRISU2_DIGITS], int *exp10) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int biased = (int)(bits >> 52);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    struct scaled v = {biased ? fraction | (uint64_t)1 << 52 : fraction,
                       biased ? biased - 1075 : -1074};
    /* Half way to the neighbours, both in the exponent of the normalised upper one. */
    bool closer_below = fraction == 0 && biased > 1;
    struct scaled above = {2 * v.f + 1, v.e - 1};
    struct scaled below = closer_below ? (struct scaled){4 * v.f - 1, v.e - 2}
                                       : (struct scaled){2 * v.f - 1, v.e - 1};
    int up = __builtin_clzll(above.f);
    above.f <<= up;
    above.e -= up;
    below.f <<= below.e - above.e;
    v.f <<= v.e - above.e;
    below.e = v.e = above.e;
    int k;
    struct scaled power = cached_power(above.e, &k);
    struct scaled w = multiply(v, power);
    uint64_t lo = multiply(below, power).f + 1, hi = multiply(above, power).f - 1;
    unsigned n = generate(digits, w, lo, hi, exp10);
    *exp10 -= k;
    return n;
}
