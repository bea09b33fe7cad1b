/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing derived lines on spans worked out by hand.
 */
#include "convert/analyze/derived_grow.h"

#include <criterion/criterion.h>

static struct tbp_grow_scope no_scope;

static void add(struct tbp_grow *g, uint32_t meta, uint64_t begin, uint64_t end) {
    struct tbp_grow_span s = {.begin_ps = begin, .end_ps = end};
    tbp_grow_add(g, meta, &s, no_scope, 0);
}

static void add_path(struct tbp_grow *g, const uint32_t *metas, size_t n, uint64_t begin,
                     uint64_t end) {
    struct tbp_grow_span s = {.begin_ps = begin, .end_ps = end};
    tbp_grow_add_levels(g, metas, n, &s, NULL);
}

static uint64_t dur_of(const struct tbp_grow *g, uint32_t meta) {
    for (size_t i = 0; i < g->events.n; i++)
        if (g->events.at[i].meta == meta)
            return g->events.at[i].end_ps - g->events.at[i].begin_ps;
    return 0;
}

static void release(struct tbp_grow *g) {
    tbp_vec_release(&g->events);
    tbp_vec_release(&g->stats);
    tbp_vec_release(&g->last);
}

/* Kernels under a/b/c/d/e, a/b/c/d/f and a/g: while a and its path are equal they are one event;
 * spans equal to their parent's are shortened by one more nanosecond per level when they end, as
 * far as the innermost (2 ns: one) allows. */
Test(derived_grow, shortens_equal_levels_when_they_end) {
    enum { A, B, C, D, E, F, G };
    struct tbp_grow g;
    tbp_grow_init(&g, true, 1, TBP_STR("Framework Name Scope"));
    add_path(&g, (uint32_t[]){A, B, C, D, E}, 5, 0, 10000);
    add_path(&g, (uint32_t[]){A, B, C, D, F}, 5, 10000, 12000);
    add_path(&g, (uint32_t[]){A, G}, 2, 20000, 50000);
    cr_expect_eq(g.events.n, 7);
    const uint64_t want[] = {50000, 12000, 11000, 11000, 10000, 1000, 30000};
    for (uint32_t m = A; m <= G; m++)
        cr_expect_eq(dur_of(&g, m), want[m], "level %u lasts %lu", m, (unsigned long)dur_of(&g, m));
    release(&g);
}

Test(derived_grow, merges_neighbours_of_one_name_over_any_gap_on_gpus) {
    struct tbp_grow g;
    tbp_grow_init(&g, true, 1, TBP_STR("x"));
    add(&g, 0, 0, 10);
    add(&g, 0, 1000, 1010);
    add(&g, 1, 2000, 2010);
    add(&g, 0, 3000, 3010);
    cr_expect_eq(g.events.n, 3);
    cr_expect_eq(g.events.at[0].end_ps, 1010);
    release(&g);
}

Test(derived_grow, merges_without_group_only_over_small_gaps_on_tpus) {
    struct tbp_grow g;
    tbp_grow_init(&g, false, 1, TBP_STR("x"));
    add(&g, 0, 0, 10);
    add(&g, 0, 30, 40);   /* gap 20 = twice 10 */
    add(&g, 0, 121, 130); /* gap 81 > twice 40 */
    cr_expect_eq(g.events.n, 2);
    release(&g);
}

Test(derived_grow, groups_and_scopes_keep_neighbours_apart) {
    struct tbp_grow g;
    tbp_grow_init(&g, true, 1, TBP_STR("x"));
    struct tbp_grow_span s = {0, 10, true, 1}, other = {10, 20, true, 2};
    tbp_grow_add(&g, 0, &s, (struct tbp_grow_scope){true, 5}, 0);
    tbp_grow_add(&g, 0, &s, (struct tbp_grow_scope){true, 6}, 0);
    tbp_grow_add(&g, 0, &s, no_scope, 0); /* unknown scope goes with any */
    tbp_grow_add(&g, 0, &other, no_scope, 0);
    cr_expect_eq(g.events.n, 3);
    release(&g);
}

Test(derived_grow, a_new_module_ends_what_is_below_it) {
    struct tbp_grow ops, modules;
    tbp_grow_init(&ops, true, 1, TBP_STR("ops"));
    tbp_grow_init(&modules, true, 2, TBP_STR("modules"));
    modules.below[0] = &ops;
    for (uint32_t k = 0; k < 2; k++) { /* the same op in two modules */
        add(&modules, k, 100 * k, 100 * k + 10);
        add(&ops, 7, 100 * k, 100 * k + 10);
    }
    cr_expect_eq(ops.events.n, 2);
    release(&ops);
    release(&modules);
}
