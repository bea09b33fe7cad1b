/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of inputs, whatever the number of threads.
 */
#include "cli/receipt.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static uint32_t sum_of(const uint8_t *data, size_t size, struct tbp_pool *pool) {
    const struct tbp_input in = {.data = data, .size = size};
    uint32_t crc = 1;
    cr_assert_eq(tbp_input_sum(&in, pool, &crc, NULL), TBP_OK);
    return crc;
}

Test(receipt, the_sum_of_an_input_is_that_of_gzip) {
    cr_expect_eq(sum_of((const uint8_t *)"123456789", 9, NULL), 0xcbf43926u);
    cr_expect_eq(sum_of(NULL, 0, NULL), 0);
}

Test(receipt, parts_that_are_summed_apart_make_the_same_sum) {
    enum { PART = 8 << 20 };
    static const size_t sizes[] = {PART - 1, PART, PART + 1, 3 * PART + 12345};
    uint8_t *data = malloc(4 * PART);
    for (uint32_t i = 0; i < 4 * PART; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 24);
    struct tbp_pool *pool = tbp_pool_new(3);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t whole = tbp_sum_bytes(0, data, sizes[i]);
        cr_expect_eq(sum_of(data, sizes[i], NULL), whole);
        cr_expect_eq(sum_of(data, sizes[i], pool), whole);
    }
    tbp_pool_free(pool);
    free(data);
}
