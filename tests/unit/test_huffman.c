/* SPDX-License-Identifier: Apache-2.0
 *
 * Huffman lengths: optimal where the bound allows, complete and bounded always.
 */
#include "plugin_data/huffman.h"

#include <criterion/criterion.h>

static uint64_t kraft_sum(const uint8_t *length, unsigned n, unsigned max_bits) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < n; ++i)
        if (length[i])
            sum += (uint64_t)1 << (max_bits - length[i]);
    return sum;
}

Test(huffman, textbook_counts_give_textbook_lengths) {
    static const uint32_t count[6] = {45, 13, 12, 16, 9, 5}; /* Cormen et al.: 1 3 3 3 4 4 */
    static const uint8_t want[6] = {1, 3, 3, 3, 4, 4};
    uint8_t length[6];
    tbp_huffman_lengths(count, 6, 15, length);
    cr_assert_arr_eq(length, want, 6);
}

Test(huffman, codes_are_canonical_and_reversed) {
    /* RFC 1951 3.2.2: lengths 3 3 3 3 3 2 4 4 give 010 011 100 101 110 00 1110 1111 */
    static const uint8_t length[8] = {3, 3, 3, 3, 3, 2, 4, 4};
    static const uint16_t want[8] = {2, 6, 1, 5, 3, 0, 7, 15};
    uint16_t code[8];
    tbp_huffman_codes(length, 8, code);
    cr_assert_arr_eq(code, want, sizeof want);
}

Test(huffman, one_or_no_symbol_still_gives_a_complete_code) {
    uint32_t count[30] = {0};
    uint8_t length[30];
    tbp_huffman_lengths(count, 30, 15, length);
    cr_assert_eq(kraft_sum(length, 30, 15), 1 << 15);
    count[7] = 3;
    tbp_huffman_lengths(count, 30, 15, length);
    cr_assert_eq(length[7], 1);
    cr_assert_eq(kraft_sum(length, 30, 15), 1 << 15);
}

Test(huffman, depth_stays_within_the_bound_and_the_code_complete) {
    uint32_t count[40], a = 1, b = 1; /* Fibonacci counts make the deepest tree */
    for (int i = 0; i < 40; ++i) {
        count[i] = a;
        uint32_t next = a + b;
        a = b;
        b = next;
    }
    for (unsigned max_bits = 6; max_bits <= 15; ++max_bits) {
        uint8_t length[40];
        tbp_huffman_lengths(count, 40, max_bits, length);
        cr_assert_eq(kraft_sum(length, 40, max_bits), (uint64_t)1 << max_bits);
        for (int i = 1; i < 40; ++i)
            cr_assert_geq(length[i - 1], length[i]);
        cr_assert_leq(length[0], max_bits);
    }
}
