/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the readers of trace events; the first byte chooses the reader.
 */
#include "fuzz/one_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0)
        one_reader(data[0] & 1 ? &tbp_reader_kineto : &tbp_reader_chrome, data + 1, size - 1);
    return 0;
}
