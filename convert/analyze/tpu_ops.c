/* SPDX-License-Identifier: Apache-2.0
 *
 * Device ops of TPU planes; see tpu_ops.h.
 */
#include "convert/analyze/tpu_ops.h"

int tbp_tpu_ops_add(const struct tbp_host *host, struct tbp_arena *arena,
                    struct tbp_op_builder *into, struct tbp_error *err) {
    (void)host;
    (void)arena;
    (void)into;
    (void)err;
    return TBP_OK;
}
