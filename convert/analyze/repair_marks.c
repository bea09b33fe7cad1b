/* SPDX-License-Identifier: Apache-2.0
 *
 * Repairs of before; see repair_marks.h.
 */
#include "convert/analyze/repair_marks.h"

#include "convert/model/stats.h"

#include <string.h>

#define PREFIX "tbprof_"
#define MOST   ((int64_t)1 << 40) /* no profile has more events: the sums of many marks fit */

const enum tbp_ledger_key tbp_repair_marks[TBP_REPAIR_MARKS] = {
    TBP_LEDGER_REPAIR_STEP_NUM, TBP_LEDGER_REPAIR_LOOPS,  TBP_LEDGER_REPAIR_LEVEL_0,
    TBP_LEDGER_REPAIR_SHM,      TBP_LEDGER_REPAIR_VENDOR, TBP_LEDGER_REPAIR_UNSIGNED,
    TBP_LEDGER_REPAIR_EPOCH,    TBP_LEDGER_REPAIR_ORDER,
};

struct tbp_str tbp_repair_mark_name(enum tbp_ledger_key key, struct tbp_arena *a) {
    return tbp_arena_cat(a, TBP_STR(PREFIX), tbp_str_c(tbp_ledger_name(key)));
}

/* TBP_LEDGER_KEYS: of none */
static enum tbp_ledger_key key_of(struct tbp_str stat_name) {
    if (!tbp_str_starts(stat_name, PREFIX))
        return TBP_LEDGER_KEYS;
    struct tbp_str name = tbp_str_sub(stat_name, strlen(PREFIX), stat_name.n);
    for (size_t k = 0; k < TBP_REPAIR_MARKS; k++)
        if (tbp_str_is(name, tbp_ledger_name(tbp_repair_marks[k])))
            return tbp_repair_marks[k];
    return TBP_LEDGER_KEYS;
}

bool tbp_is_repair_mark(struct tbp_str stat_name) {
    return key_of(stat_name) != TBP_LEDGER_KEYS;
}

/* Steps that were given are not those that were repaired. */
static bool is_told(const struct tbp_host *h, enum tbp_ledger_key key) {
    bool of_steps = key == TBP_LEDGER_REPAIR_STEP_NUM || key == TBP_LEDGER_REPAIR_LOOPS;
    return key != TBP_LEDGER_KEYS && !(of_steps && h->has_given_steps);
}

static void add_plane(uint64_t n[TBP_LEDGER_KEYS], const struct tbp_plane *p) {
    for (size_t i = 0; i < p->n_stats; i++) {
        struct tbp_stat st;
        if (!tbp_stat_decode(p, tbp_wire_of(p->stats[i].p, p->stats[i].n), &st))
            continue;
        enum tbp_ledger_key key = key_of(st.meta->name);
        int64_t told = tbp_stat_i(&st);
        if (is_told(p->host, key) && told > 0 && told <= MOST && n[key] == 0)
            n[key] = (uint64_t)told;
    }
}

/* What the marks tell, each repair once. */
static void read_marks(uint64_t n[TBP_LEDGER_KEYS], const struct tbp_host *h) {
    memset(n, 0, TBP_LEDGER_KEYS * sizeof *n);
    for (size_t p = 0; p < h->n_planes; p++)
        add_plane(n, &h->planes[p]);
}

static bool is_added(const struct tbp_plane *p) {
    struct tbp_stat st;
    return p->n_lines == 0 && tbp_str_is(p->name, TBP_HOST_PLANE) &&
           tbp_plane_stat_named(p, TBP_MARK_ADDED_PLANE, &st);
}

void tbp_repair_marks_apply(struct tbp_host *h) {
    uint64_t n[TBP_LEDGER_KEYS];
    h->had_added_plane = h->n_planes > 0 && is_added(&h->planes[h->n_planes - 1]);
    h->n_planes -= h->had_added_plane;
    read_marks(n, h);
    for (int key = 0; key < TBP_LEDGER_KEYS; key++)
        tbp_ledger_count(&h->ledger, (enum tbp_ledger_key)key, n[key], TBP_NO_OFFSET);
}

uint64_t tbp_repairs_told(const struct tbp_host *h, enum tbp_ledger_key key) {
    uint64_t n[TBP_LEDGER_KEYS];
    read_marks(n, h);
    return n[key];
}
