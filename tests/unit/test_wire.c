/* SPDX-License-Identifier: Apache-2.0
 *
 * Wire format against byte strings written by hand from the public encoding description.
 */
#include "schemas/wire.h"

#include <criterion/criterion.h>
#include <string.h>

Test(wire, reads_varint_of_two_bytes) {
    struct tbp_wire w = tbp_wire_of("\xac\x02", 2);
    uint64_t v;
    cr_assert_eq(tbp_wire_varint(&w, &v), TBP_OK);
    cr_assert_eq(v, 300);
    cr_assert_eq(w.at, w.end);
}

Test(wire, rejects_varint_longer_than_ten_bytes) {
    struct tbp_wire w = tbp_wire_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    const uint8_t *start = w.at;
    uint64_t v;
    cr_assert_eq(tbp_wire_varint(&w, &v), TBP_E_VARINT);
    cr_assert_eq(w.at, start);
}

/* The quick ways agree with the careful one on numbers of every length. */
Test(wire, quick_varints_are_those_read_with_care) {
    static const uint64_t numbers[] = {0,          1,         127,        128,        300,
                                       1u << 14,   1u << 21,  UINT32_MAX, 1ull << 49, 1ull << 55,
                                       1ull << 56, INT64_MAX, 1ull << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct tbp_wire_out o = {0};
        tbp_wire_put_varint(&o, numbers[i]);
        uint8_t bytes[2 * TBP_WIRE_SLACK];
        memset(bytes, 0xff, sizeof bytes);
        memcpy(bytes, o.at, o.n);
        uint64_t v;
        cr_assert_eq(tbp_wire_quick(bytes, &v), bytes + o.n, "%zu", i);
        cr_assert_eq(v, numbers[i], "%zu", i);
        cr_assert_eq(tbp_wire_quick_end(bytes), bytes + o.n, "%zu", i);
        cr_assert_eq(tbp_wire_sized(bytes, o.n), numbers[i], "%zu", i);
        tbp_wire_out_release(&o);
    }
}

Test(wire, quick_varints_end_after_ten_bytes) {
    uint8_t bytes[2 * TBP_WIRE_SLACK];
    uint64_t v;
    memset(bytes, 0xff, sizeof bytes);
    cr_assert_null(tbp_wire_quick(bytes, &v));
    cr_assert_null(tbp_wire_quick_end(bytes));
}

Test(wire, rejects_length_past_the_end) {
    struct tbp_wire w = tbp_wire_of("\x0a\x05"
                                    "abc",
                                    5);
    struct tbp_wire_field f;
    cr_assert_eq(tbp_wire_next(&w, &f), TBP_E_TRUNCATED);
}

Test(wire, rejects_field_number_zero_and_groups) {
    struct tbp_wire_field f;
    struct tbp_wire zero = tbp_wire_of("\x00\x01", 2), group = tbp_wire_of("\x0b", 1);
    cr_assert_eq(tbp_wire_next(&zero, &f), TBP_E_FORMAT);
    cr_assert_eq(tbp_wire_next(&group, &f), TBP_E_FORMAT);
}

Test(wire, writes_what_it_reads) {
    struct tbp_wire_out o = {0};
    size_t mark = tbp_wire_begin(&o, 3);
    tbp_wire_put_u64(&o, 1, UINT64_MAX);
    tbp_wire_put_double(&o, 2, -1.5);
    tbp_wire_end(&o, mark);
    struct tbp_wire w = tbp_wire_of(o.at, o.n);
    struct tbp_wire_field f;
    cr_assert_eq(tbp_wire_next(&w, &f), 1);
    cr_assert_eq(f.number, 3);
    struct tbp_wire inner = f.bytes;
    cr_assert_eq(tbp_wire_next(&inner, &f), 1);
    cr_assert_eq(f.value, UINT64_MAX);
    cr_assert_eq(tbp_wire_next(&inner, &f), 1);
    cr_assert_eq(tbp_wire_double(f.value), -1.5);
    cr_assert_eq(tbp_wire_next(&inner, &f), 0);
    tbp_wire_out_release(&o);
}
