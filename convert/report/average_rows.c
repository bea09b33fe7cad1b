/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of the averages: found by name, category, side and group, and what is added to them.
 */
#include "convert/report/average_rows.h"

#include <math.h>

uint32_t tbp_averages_row(struct tbp_averages *a, const struct tbp_average_key *k) {
    bool is_new;
    uint64_t pair_key = (uint64_t)k->name << 32 | k->category << 1 | k->is_device;
    uint32_t *pair = tbp_idmap_put(&a->name_pairs, pair_key, &is_new);
    if (is_new)
        *pair = (uint32_t)a->name_pairs.n;
    uint32_t *row = tbp_idmap_put(&a->by_key, (uint64_t)*pair << 32 | k->group, &is_new);
    if (!is_new)
        return *row;
    *row = (uint32_t)a->rows.n;
    *tbp_vec_push(&a->rows) = (struct tbp_average){.name = a->names.strs[k->name],
                                                   .category = a->categories.strs[k->category],
                                                   .group = a->groups.strs[k->group],
                                                   .is_device = k->is_device,
                                                   .min_ps = UINT64_MAX};
    return *row;
}

void tbp_average_count(struct tbp_average *r, uint64_t dur_ps) {
    double d = (double)dur_ps - r->mean_ps;
    r->count++;
    r->mean_ps += d / (double)r->count;
    r->spread += d * ((double)dur_ps - r->mean_ps);
    r->min_ps = dur_ps < r->min_ps ? dur_ps : r->min_ps;
    r->max_ps = dur_ps > r->max_ps ? dur_ps : r->max_ps;
}

double tbp_average_stddev_ps(const struct tbp_average *a) {
    return a->count ? sqrt(a->spread / (double)a->count) : 0;
}

void tbp_averages_release(struct tbp_averages *a) {
    tbp_vec_release(&a->rows);
    tbp_strtab_release(&a->names);
    tbp_strtab_release(&a->categories);
    tbp_strtab_release(&a->groups);
    tbp_idmap_release(&a->by_key);
    tbp_idmap_release(&a->name_pairs);
}
