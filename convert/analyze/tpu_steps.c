/* SPDX-License-Identifier: Apache-2.0
 *
 * TPU steps. (Under construction: hosts with TPU planes have no steps.)
 */
#include "convert/analyze/tpu_steps.h"

bool tbp_host_has_tpu(const struct tbp_host *h) {
    for (size_t i = 0; i < h->n_planes; i++)
        if (tbp_is_tpu_plane(h->planes[i].name))
            return true;
    return false;
}

void tbp_tpu_steps_make(const struct tbp_host *h, struct tbp_arena *out, struct tbp_step_table *t) {
    (void)h;
    (void)out;
    *t = (struct tbp_step_table){0};
}
