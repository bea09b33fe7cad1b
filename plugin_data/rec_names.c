/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_names.h. A number is the place in the interner plus one; what we write ourselves comes
 * first, so that the enums are the numbers.
 */
#include "plugin_data/rec_names.h"

#include "plugin_data/rec_text.h"

static const struct tbp_str known_stats[] = {
#define X(id, text) TBP_STR_INIT(text),
    TBP_REC_STATS(X)
#undef X
};

static const struct tbp_str known_events[] = {
    TBP_STR_INIT("(more names)"),
    TBP_STR_INIT("MemoryAllocation"),
    TBP_STR_INIT("MemoryDeallocation"),
    TBP_STR_INIT("produce"),
    TBP_STR_INIT("consume"),
    TBP_STR_INIT("tbprof: records dropped"),
    TBP_STR_INIT("tbprof: paused"),
    TBP_STR_INIT("tbprof: resumed"),
};
_Static_assert(sizeof known_events / sizeof *known_events == TBP_REC_EVENTS_KNOWN - 1,
               "one text each");

/* Source: reference host_and_op_analysis 0.3. */
static const struct tbp_str signed_stats[] = {
    TBP_STR_INIT("group_id"), TBP_STR_INIT("step_num"),   TBP_STR_INIT("iter_num"),
    TBP_STR_INIT("id"),       TBP_STR_INIT("_r"),         TBP_STR_INIT("_a"),
    TBP_STR_INIT("_pt"),      TBP_STR_INIT("_ct"),        TBP_STR_INIT("parent_id"),
    TBP_STR_INIT("is_eager"), TBP_STR_INIT("element_id"), TBP_STR_INIT("is_func"),
};
static const struct tbp_str unsigned_stats[] = {
    TBP_STR_INIT("correlation_id"),
    TBP_STR_INIT("device_id"),
};

static bool is_among(struct tbp_str s, const struct tbp_str *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (tbp_str_eq(s, list[i]))
            return true;
    return false;
}
#define IS_AMONG(s, list) is_among(s, list, sizeof(list) / sizeof *(list))

void tbp_rec_names_init(struct tbp_rec_names *n, const struct tbp_recording *s,
                        struct tbp_arena *arena) {
    *n = (struct tbp_rec_names){.recording = s};
    for (size_t i = 0; i < sizeof known_events / sizeof *known_events; i++)
        tbp_strtab_put(&n->events, known_events[i]);
    n->n_types = TBP_REC_MAX_KEYS + 2;
    n->types = TBP_NEW_N(arena, uint8_t, n->n_types);
    n->label_of_string = TBP_NEW_N(arena, struct tbp_rec_label, (size_t)s->n_strings + 1);
    n->stat_of_string = TBP_NEW_N(arena, uint32_t, (size_t)s->n_strings + 1);
    for (size_t i = 0; i < sizeof known_stats / sizeof *known_stats; i++)
        tbp_rec_names_key_text(n, known_stats[i]);
}

void tbp_rec_names_release(struct tbp_rec_names *n) {
    tbp_strtab_release(&n->events);
    tbp_strtab_release(&n->stats);
}

static struct tbp_rec_label label_of(struct tbp_rec_names *n, struct tbp_str text) {
    struct tbp_rec_label label = {.pairs = TBP_STR_NONE, .own = TBP_STR_NONE};
    struct tbp_str name;
    tbp_rec_text_split(text, &name, &label.pairs);
    if (n->events.n < TBP_REC_MAX_NAMES) {
        label.event = tbp_strtab_put(&n->events, name) + 1;
        return label;
    }
    label.event = tbp_strtab_get(&n->events, name) + 1; /* none + 1 = 0 */
    if (label.event == 0) {
        label.event = TBP_REC_EVENT_OTHER;
        label.own = name;
    }
    return label;
}

struct tbp_rec_label tbp_rec_names_label(struct tbp_rec_names *n, const struct tbp_rec *r) {
    uint32_t id = r->at->name;
    if (id >= n->recording->n_strings)
        return label_of(n, tbp_rec_name(n->recording, r));
    struct tbp_rec_label *label = &n->label_of_string[id];
    if (label->event == 0)
        *label = label_of(n, tbp_rec_string(n->recording, id));
    return *label;
}

struct tbp_str tbp_rec_names_text(const struct tbp_rec_names *n, uint32_t event) {
    return event > 0 && event <= n->events.n ? n->events.strs[event - 1] : TBP_STR_NONE;
}

uint32_t tbp_rec_names_key_text(struct tbp_rec_names *n, struct tbp_str key) {
    if (n->stats.n >= TBP_REC_MAX_KEYS && tbp_strtab_get(&n->stats, key) == TBP_MAP_NONE)
        return TBP_REC_STAT_VALUE;
    uint32_t stat = tbp_strtab_put(&n->stats, key) + 1;
    if (stat < n->n_types && stat == n->stats.n) {
        n->types[stat] = IS_AMONG(key, signed_stats)     ? TBP_REC_TYPE_I64
                         : IS_AMONG(key, unsigned_stats) ? TBP_REC_TYPE_U64
                                                         : TBP_REC_TYPE_ANY;
    }
    return stat;
}

uint32_t tbp_rec_names_key(struct tbp_rec_names *n, uint32_t string_id) {
    if (string_id == 0 || string_id >= n->recording->n_strings)
        return TBP_REC_STAT_VALUE;
    uint32_t *stat = &n->stat_of_string[string_id];
    if (*stat == 0)
        *stat = tbp_rec_names_key_text(n, tbp_rec_string(n->recording, string_id));
    return *stat;
}

uint32_t tbp_rec_names_value(struct tbp_rec_names *n, uint32_t string_id) {
    return tbp_rec_names_key(n, string_id);
}

enum tbp_rec_type tbp_rec_names_type(const struct tbp_rec_names *n, uint32_t stat) {
    return stat < n->n_types ? (enum tbp_rec_type)n->types[stat] : TBP_REC_TYPE_ANY;
}

_Static_assert(TBP_REC_STATS_KNOWN <= 64 && TBP_REC_EVENTS_KNOWN <= 64, "a bit each");

void tbp_rec_names_write(const struct tbp_rec_names *n, struct tbp_xspace_out *o) {
    for (size_t i = 1; i <= n->events.n; i++)
        if (i >= TBP_REC_EVENTS_KNOWN || n->used_events >> i & 1)
            tbp_xspace_event_name(o, (int64_t)i, n->events.strs[i - 1], TBP_STR_NONE);
    for (size_t i = 1; i <= n->stats.n; i++)
        if (i >= TBP_REC_STATS_KNOWN || n->used_stats >> i & 1)
            tbp_xspace_stat_name(o, (int64_t)i, n->stats.strs[i - 1]);
}
