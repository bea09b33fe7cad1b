/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters of what was read; see ledger.h.
 */
#include "convert/model/ledger.h"

#include <string.h>

static const struct {
    const char *name, *help;
    bool is_loss;
    enum tbp_damage damage;
} counters[] = {
#define X(id, key, text, loss, damage) {key, text, loss, TBP_DAMAGE_##damage},
    TBP_LEDGER_COUNTERS(X)
#undef X
};

void tbp_ledger_init(struct tbp_ledger *l) {
    *l = (struct tbp_ledger){0};
    for (int k = 0; k < TBP_LEDGER_KEYS; k++)
        l->first_offset[k] = TBP_NO_OFFSET;
}

void tbp_ledger_count(struct tbp_ledger *l, enum tbp_ledger_key key, uint64_t n, uint64_t offset) {
    if (n == 0)
        return;
    /* Answers are made side by side of one host, and some count what they leave out. */
    __atomic_fetch_add(&l->count[key], n, __ATOMIC_RELAXED);
    uint64_t first = __atomic_load_n(&l->first_offset[key], __ATOMIC_RELAXED);
    while (offset < first && !__atomic_compare_exchange_n(&l->first_offset[key], &first, offset,
                                                          true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

void tbp_ledger_add(struct tbp_ledger *into, const struct tbp_ledger *from) {
    into->events_read += from->events_read;
    into->events_emitted += from->events_emitted;
    into->events_merged += from->events_merged;
    into->events_quarantined += from->events_quarantined;
    into->events_dropped += from->events_dropped;
    for (int k = 0; k < TBP_LEDGER_KEYS; k++)
        tbp_ledger_count(into, (enum tbp_ledger_key)k, from->count[k], from->first_offset[k]);
}

/* Records of a kind that no page shows are dropped, and none that anybody lacks. */
static bool lacks_shown(const struct tbp_ledger *l) {
    return l->events_dropped > l->count[TBP_LEDGER_NOT_SHOWN];
}

bool tbp_ledger_has_loss(const struct tbp_ledger *l) {
    for (int k = 0; k < TBP_LEDGER_KEYS; k++)
        if (counters[k].is_loss && l->count[k])
            return true;
    return lacks_shown(l);
}

bool tbp_ledger_has_damage(const struct tbp_ledger *l) {
    for (int k = 0; k < TBP_LEDGER_KEYS; k++)
        if (counters[k].damage == TBP_DAMAGE_FILE && l->count[k])
            return true;
    return false;
}

enum tbp_damage tbp_ledger_damage_of(enum tbp_ledger_key key) {
    return counters[key].damage;
}

/* Names of repairs begin so: that is part of the contract of their names. */
bool tbp_ledger_is_repair(enum tbp_ledger_key key) {
    return strncmp(counters[key].name, "repair_", strlen("repair_")) == 0;
}

bool tbp_ledger_is_as_expected(const struct tbp_ledger *l) {
    for (int k = 0; k < TBP_LEDGER_KEYS; k++)
        if (l->count[k] && k != TBP_LEDGER_NOT_SHOWN &&
            !tbp_ledger_is_repair((enum tbp_ledger_key)k))
            return false;
    return !lacks_shown(l) && l->events_quarantined == 0;
}

bool tbp_ledger_is_clean(const struct tbp_ledger *l) {
    for (int k = 0; k < TBP_LEDGER_KEYS; k++)
        if (l->count[k])
            return false;
    return tbp_ledger_is_as_expected(l);
}

const char *tbp_ledger_name(enum tbp_ledger_key key) {
    return counters[key].name;
}

const char *tbp_ledger_help(enum tbp_ledger_key key) {
    return counters[key].help;
}
