/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the reader "nvprof". Seeds: tests/cli/sqlite_fixtures.py FOLDER.
 */
#include "fuzz/one_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    one_reader(&tbp_reader_nvprof, data, size);
    return 0;
}
