/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target of the xplane reader and of all that hangs on it. Start it with the samples as
 * corpus: build/fuzz/tests/fuzz_xplane -max_total_time=60 CORPUS samples/...
 */
#include "fuzz/everything.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    /* the first byte chooses whose numbers, so that one corpus serves all three */
    everything(data + 1, size - 1, (enum tbp_semantics)(data[0] % 3), NULL, NULL);
    return 0;
}
