/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the demangler: no name takes long or becomes longer than it may.
 */
#include "base/demangle.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { LONGEST = 1 << 16 };
    struct tbp_arena a;
    tbp_arena_init(&a);
    struct tbp_str name =
        tbp_arena_cat(&a, TBP_STR("_Z"), (struct tbp_str){(const char *)data, size});
    struct tbp_str readable = tbp_demangle(name, &a);
    if (readable.n > LONGEST && readable.n != name.n)
        abort();
    tbp_arena_release(&a);
    return 0;
}
