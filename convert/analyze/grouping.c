/* SPDX-License-Identifier: Apache-2.0
 *
 * Grouping; see grouping.h. (Under construction: marks files that came grouped.)
 */
#include "convert/analyze/grouping.h"

void tbp_group_host(struct tbp_host *h, const struct tbp_grouping_options *options) {
    (void)options;
    h->was_grouped = true;
    for (size_t i = 0; i < h->n_planes; i++) {
        const struct tbp_plane *p = &h->planes[i];
        if (tbp_is_host_plane(p->name) || tbp_is_device_plane(p->name))
            h->was_grouped &= tbp_plane_has_stat(p, TBP_STAT_GROUP_ID);
    }
}
