/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target of the xplane reader and of all that hangs on it. Start it with the samples as
 * corpus: build/fuzz/fuzz_xplane -max_total_time=60 CORPUS samples/...
 */
#include "fuzz/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* the size chooses whose numbers, so that one corpus of plain files serves all three */
    everything(data, size, (enum tbp_semantics)(size % 3), NULL, NULL);
    return 0;
}
