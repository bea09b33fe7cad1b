/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target of the wire reader: it never leaves its bytes, always comes forward, and what it
 * read is read again the same when written anew.
 */
#include "schemas/wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_field(struct tbp_wire_out *out, const struct tbp_wire_field *f) {
    if (f->type == TBP_WIRE_VARINT)
        tbp_wire_put_u64(out, f->number, f->value);
    else if (f->type == TBP_WIRE_FIXED64)
        tbp_wire_put_double(out, f->number, tbp_wire_double(f->value));
    else if (f->type == TBP_WIRE_BYTES)
        tbp_wire_put_str(out, f->number, tbp_wire_str(f->bytes));
}

static void check_round_trip(const struct tbp_wire_field *f) {
    struct tbp_wire_out out = {0};
    struct tbp_wire_field again;
    write_field(&out, f);
    if (out.n == 0)
        return; /* fields of 32 bits are only read */
    struct tbp_wire w = tbp_wire_of(out.at, out.n);
    bool is_same = tbp_wire_next(&w, &again) == 1 && again.number == f->number &&
                   again.type == f->type && w.at == w.end;
    if (is_same && f->type == TBP_WIRE_BYTES)
        is_same = tbp_str_eq(tbp_wire_str(again.bytes), tbp_wire_str(f->bytes));
    else if (is_same)
        is_same = again.value == f->value;
    if (!is_same)
        abort();
    tbp_wire_out_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tbp_wire w = tbp_wire_of(data, size);
    struct tbp_wire_field f;
    for (const uint8_t *before = w.at; tbp_wire_next(&w, &f) > 0; before = w.at) {
        if (w.at <= before || w.at > w.end)
            abort();
        check_round_trip(&f);
    }
    return 0;
}
