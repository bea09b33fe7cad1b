/* SPDX-License-Identifier: Apache-2.0
 *
 * What a file tells of an earlier reading; see file_marks.h.
 */
#include "convert/analyze/file_marks.h"

#include "convert/model/stats.h"

#include <string.h>

#define PREFIX "tbprof_"
#define MOST   ((int64_t)1 << 40) /* no profile has more events: the sums of many marks fit */

/* Behind the keys of the ledger: its sums of events. */
enum { MERGED = TBP_LEDGER_KEYS, QUARANTINED, DROPPED, VALUES };

static const int values[TBP_FILE_MARKS] = {
    TBP_LEDGER_REPAIR_STEP_NUM,
    TBP_LEDGER_REPAIR_LOOPS,
    TBP_LEDGER_REPAIR_LEVEL_0,
    TBP_LEDGER_REPAIR_SHM,
    TBP_LEDGER_REPAIR_VENDOR,
    TBP_LEDGER_REPAIR_UNSIGNED,
    TBP_LEDGER_REPAIR_EPOCH,
    TBP_LEDGER_REPAIR_ORDER,
    TBP_LEDGER_BAD_WIRE,
    TBP_LEDGER_TRUNCATED,
    TBP_LEDGER_EVENT_DROPPED,
    TBP_LEDGER_STAT_DROPPED,
    TBP_LEDGER_GZIP_DAMAGED,
    TBP_LEDGER_GZIP_TAIL,
    TBP_LEDGER_JSON_CUT,
    TBP_LEDGER_OTHER_CLOCK,
    TBP_LEDGER_NO_TIME,
    TBP_LEDGER_UNFINISHED,
    TBP_LEDGER_UNMATCHED_END,
    TBP_LEDGER_BAD_DURATION,
    TBP_LEDGER_NOT_SHOWN,
    TBP_LEDGER_TABLE_CUT,
    TBP_LEDGER_NO_TABLE,
    TBP_LEDGER_SHORT_ROW,
    TBP_LEDGER_TRACK_CAP,
    TBP_LEDGER_PLANE_CAP,
    MERGED,
    QUARANTINED,
    DROPPED,
};

static const char *name_of(int value) {
    switch (value) {
    case MERGED:
        return "events_merged";
    case QUARANTINED:
        return "events_quarantined";
    case DROPPED:
        return "events_dropped";
    }
    return tbp_ledger_name((enum tbp_ledger_key)value);
}

struct tbp_str tbp_file_mark_name(size_t k, struct tbp_arena *a) {
    return tbp_arena_cat(a, TBP_STR(PREFIX), tbp_str_c(name_of(values[k])));
}

/* VALUES: of none */
static int value_of(struct tbp_str stat_name) {
    if (!tbp_str_starts(stat_name, PREFIX))
        return VALUES;
    struct tbp_str name = tbp_str_sub(stat_name, strlen(PREFIX), stat_name.n);
    for (size_t k = 0; k < TBP_FILE_MARKS; k++)
        if (tbp_str_is(name, name_of(values[k])))
            return values[k];
    return VALUES;
}

bool tbp_is_file_mark(struct tbp_str stat_name) {
    return value_of(stat_name) != VALUES;
}

/* Steps that were given are not those that were repaired. */
static bool is_told(const struct tbp_host *h, int value) {
    bool of_steps = value == TBP_LEDGER_REPAIR_STEP_NUM || value == TBP_LEDGER_REPAIR_LOOPS;
    return value != VALUES && !(of_steps && h->has_given_steps);
}

static void add_plane(uint64_t n[VALUES], const struct tbp_plane *p) {
    for (size_t i = 0; i < p->n_stats; i++) {
        struct tbp_stat st;
        if (!tbp_stat_decode(p, tbp_wire_of(p->stats[i].p, p->stats[i].n), &st))
            continue;
        int value = value_of(st.meta->name);
        int64_t told = (int64_t)tbp_stat_iu(&st);
        if (is_told(p->host, value) && told > 0 && told <= MOST && n[value] == 0)
            n[value] = (uint64_t)told;
    }
}

/* What the marks tell, each once. */
static void read_marks(uint64_t n[VALUES], const struct tbp_host *h) {
    memset(n, 0, VALUES * sizeof *n);
    for (size_t p = 0; p < h->n_planes; p++)
        add_plane(n, &h->planes[p]);
}

static bool is_added(const struct tbp_plane *p) {
    struct tbp_stat st;
    return p->n_lines == 0 && tbp_str_is(p->name, TBP_HOST_PLANE) &&
           tbp_plane_stat_named(p, TBP_MARK_ADDED_PLANE, &st);
}

void tbp_file_marks_apply(struct tbp_host *h) {
    uint64_t n[VALUES];
    struct tbp_ledger *before = &h->lost_before;
    read_marks(n, h);
    h->had_added_plane = h->n_planes > 0 && is_added(&h->planes[h->n_planes - 1]);
    h->n_planes -= h->had_added_plane;
    for (int k = 0; k < TBP_LEDGER_KEYS; k++) {
        enum tbp_ledger_key key = (enum tbp_ledger_key)k;
        tbp_ledger_count(tbp_ledger_is_repair(key) ? &h->ledger : before, key, n[k], TBP_NO_OFFSET);
    }
    before->events_merged = n[MERGED];
    before->events_quarantined = n[QUARANTINED];
    before->events_dropped = n[DROPPED];
    before->events_read = n[MERGED] + n[QUARANTINED] + n[DROPPED];
}

uint64_t tbp_repairs_told(const struct tbp_host *h, enum tbp_ledger_key key) {
    uint64_t n[VALUES];
    read_marks(n, h);
    return n[key];
}

/* ---- what is to be told ---- */

static uint64_t value_in(const struct tbp_ledger *l, int value) {
    switch (value) {
    case MERGED:
        return l->events_merged;
    case QUARANTINED:
        return l->events_quarantined;
    case DROPPED:
        return l->events_dropped;
    }
    return l->count[value];
}

/* Events of a kind that no page shows are none that anybody lacks. */
static bool lacks_events(const struct tbp_ledger *l) {
    bool lacks = l->events_quarantined || l->events_dropped > l->count[TBP_LEDGER_NOT_SHOWN];
    for (size_t k = TBP_MARKS_OF_REPAIRS; k < TBP_MARKS_OF_REPAIRS + TBP_MARKS_OF_LOSSES; k++)
        lacks |= values[k] != TBP_LEDGER_NOT_SHOWN && l->count[values[k]];
    return lacks;
}

/* Of unsigned numbers those of steps alone: ids of tf.data stay as they are, and whoever reads the
 * file counts them again. */
void tbp_file_marks_of(uint64_t n[TBP_FILE_MARKS], const struct tbp_host *h) {
    struct tbp_ledger all = h->ledger;
    tbp_ledger_add(&all, &h->lost_before);
    all.count[TBP_LEDGER_REPAIR_UNSIGNED] =
        tbp_repairs_told(h, TBP_LEDGER_REPAIR_UNSIGNED) + h->n_unsigned_steps;
    bool lacks = lacks_events(&all);
    for (size_t k = 0; k < TBP_FILE_MARKS; k++)
        n[k] = k < TBP_MARKS_OF_REPAIRS || lacks ? value_in(&all, values[k]) : 0;
}
