/* SPDX-License-Identifier: Apache-2.0
 *
 * Scopes and steps: the annotations that nest. A scope's handle holds the session, the thread and
 * the depth, so that an end in the wrong session or on the wrong thread is seen without looking
 * anything up, and an end that comes twice or too late ends nothing.
 */
#include "capture/record.h"
#include "capture/string_table.h"

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline tbprof_scope handle(const struct tbp_thread *t) {
    return (uint64_t)t->tag << 32 | t->depth;
}

static inline void set_depth(struct tbp_thread *t, uint32_t depth) {
    __atomic_store_n(&t->depth, depth, __ATOMIC_RELAXED);
}

static bool is_too_deep(struct tbp_thread *t) {
    if (!UNLIKELY(t->depth >= TBP_RECORD_MAX_DEPTH))
        return false;
    tbp_record_drop(t, TBP_DROP_DEPTH);
    return true;
}

/* Room for a record that opens a scope: its end must fit, too. */
static inline struct tbp_spool_slot *room_to_begin(struct tbp_thread *t, unsigned n) {
    if (is_too_deep(t))
        return NULL;
    return tbp_record_room(t, n, tbp_record_held(t) + 1);
}

/* Number of a site's name, looked up at its first use. */
static inline uint32_t site_id(tbprof_site *site) {
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_ACQUIRE);
    if (UNLIKELY(!id)) {
        id = tbp_string_id(site->name, strlen(site->name));
        __atomic_store_n(&site->id, id, __ATOMIC_RELEASE);
    }
    return id;
}

/* The record of a site's scope, inside; 0: dropped. */
static inline tbprof_scope begin_site(struct tbp_thread *t, tbprof_site *site, uint64_t ticks) {
    uint32_t id = site_id(site);
    struct tbp_spool_slot *slot = room_to_begin(t, 1);
    if (UNLIKELY(!slot || !id)) {
        if (slot)
            tbp_record_drop(t, TBP_DROP_NO_CHUNK);
        return 0;
    }
    if (!ticks)
        ticks = tbp_record_ticks(t); /* last: what was slow before is not in the scope */
    slot->head = TBP_SPOOL_HEAD(ticks, TBP_REC_BEGIN, 0);
    slot->name = id;
    slot->aux = TBP_SPOOL_AUX(0, site->level, site->category & 31);
    tbp_record_commit(t, 1, ticks);
    set_depth(t, t->depth + 1);
    return handle(t);
}

tbprof_scope tbprof_scope_begin_slow(tbprof_site *site) {
    struct tbp_thread *t = tbp_record_enter();
    if (UNLIKELY(!t))
        return 0;
    tbprof_scope scope = begin_site(t, site, 0);
    tbp_record_leave(t);
    return scope;
}

tbprof_scope tbprof_scope_begin_dyn_slow(const char *name, size_t size, int level, int category) {
    struct tbp_thread *t = tbp_record_enter();
    if (UNLIKELY(!t))
        return 0;
    struct tbp_record_text text = tbp_record_text(name, size);
    struct tbp_spool_slot *slot = room_to_begin(t, 1 + text.slots);
    tbprof_scope scope = 0;
    if (slot) {
        if (UNLIKELY(text.flags))
            tbp_record_drop(t, TBP_DROP_NAME_CUT);
        tbp_record_put_text(slot + 1, &text);
        uint64_t ticks = tbp_record_ticks(t);
        slot->head = TBP_SPOOL_HEAD(ticks, TBP_REC_BEGIN, text.slots);
        slot->name = TBP_SPOOL_NAME_INLINE;
        slot->aux = TBP_SPOOL_AUX(text.size, (uint8_t)level, category & 31) | text.flags;
        tbp_record_commit(t, 1 + text.slots, ticks);
        set_depth(t, t->depth + 1);
        scope = handle(t);
    }
    tbp_record_leave(t);
    return scope;
}

/* Whether the scope is open on this thread; *n: how many scopes its end ends. */
static inline bool is_open(const struct tbp_thread *t, tbprof_scope scope, uint32_t *n) {
    uint32_t depth = (uint32_t)scope;
    *n = t->depth - depth + 1;
    return scope >> 32 == t->tag && depth != 0 && depth <= t->depth;
}

static inline void end_scopes(struct tbp_thread *t, uint32_t n, uint64_t ticks) {
    struct tbp_spool_slot *slot = tbp_record_room(t, 1, 0);
    if (!UNLIKELY(!slot)) {
        slot->head = TBP_SPOOL_HEAD(ticks, TBP_REC_END, 0);
        slot->name = 0;
        slot->aux = TBP_SPOOL_AUX(n, 0, 0);
        tbp_record_commit(t, 1, ticks);
    }
    set_depth(t, t->depth - n);
}

void tbprof_scope_end_slow(tbprof_scope scope) {
    uint32_t n;
    struct tbp_thread *t = tbp_record_enter();
    if (UNLIKELY(!t))
        return;
    if (is_open(t, scope, &n))
        end_scopes(t, n, tbp_record_ticks(t));
    tbp_record_leave(t);
}

tbprof_scope tbprof_scope_next(tbprof_scope scope, tbprof_site *site) {
    uint32_t n;
    uint64_t state = __atomic_load_n(&tbprof_g_state, __ATOMIC_RELAXED);
    bool is_wanted = tbprof_wants(state, site->level, site->category);
    if (!scope && !is_wanted)
        return 0;
    struct tbp_thread *t = tbp_record_enter();
    if (UNLIKELY(!t))
        return 0;
    uint64_t ticks = tbp_record_ticks(t);
    if (is_open(t, scope, &n))
        end_scopes(t, n, ticks);
    scope = is_wanted ? begin_site(t, site, ticks) : 0;
    tbp_record_leave(t);
    return scope;
}

/* ---- arguments ---- */

/* A record of arguments of an open scope, for `n` slots of them; NULL: left. */
static struct tbp_spool_slot *begin_args(struct tbp_thread **out, tbprof_scope scope, unsigned n) {
    uint32_t n_scopes;
    struct tbp_thread *t = scope ? tbp_record_enter() : NULL;
    if (!t)
        return NULL;
    struct tbp_spool_slot *slot = NULL;
    if (is_open(t, scope, &n_scopes))
        slot = tbp_record_room(t, 1 + n, tbp_record_held(t));
    if (!slot) {
        tbp_record_leave(t);
        return NULL;
    }
    slot->head = TBP_SPOOL_HEAD(t->last_ticks, TBP_REC_ARGS, n);
    slot->name = 0;
    slot->aux = TBP_SPOOL_AUX(n_scopes - 1, 0, 0);
    *out = t;
    return slot;
}

static void end_args(struct tbp_thread *t, unsigned n) {
    tbp_record_commit(t, 1 + n, t->last_ticks);
    tbp_record_leave(t);
}

static void put_number(tbprof_scope scope, const char *key, uint8_t type, uint64_t value) {
    struct tbp_thread *t;
    struct tbp_spool_slot *slot = begin_args(&t, scope, 1);
    if (!slot)
        return;
    tbp_record_put_arg(slot + 1, tbp_string_id_of_key(key), type, value);
    end_args(t, 1);
}

void tbprof_scope_arg_i64(tbprof_scope scope, const char *key, int64_t value) {
    put_number(scope, key, TBP_ARG_I64, (uint64_t)value);
}

void tbprof_scope_arg_f64(tbprof_scope scope, const char *key, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_number(scope, key, TBP_ARG_F64, bits);
}

void tbprof_scope_arg_str(tbprof_scope scope, const char *key, const char *value, size_t size) {
    struct tbp_thread *t;
    struct tbp_record_text text = tbp_record_text(value, size);
    struct tbp_spool_slot *slot = begin_args(&t, scope, 1 + text.slots);
    if (!slot)
        return;
    if (text.flags)
        tbp_record_drop(t, TBP_DROP_TOO_LONG);
    *(struct tbp_spool_arg *)(slot + 1) = (struct tbp_spool_arg){
        tbp_string_id_of_key(key), TBP_ARG_TEXT, (uint8_t)text.slots, (uint16_t)text.size, 0};
    tbp_record_put_text(slot + 2, &text);
    end_args(t, 1 + text.slots);
}

/* ---- steps ---- */

void tbprof_step_begin(const char *name, int64_t step_num) {
    if (!tbprof_wants(__atomic_load_n(&tbprof_g_state, __ATOMIC_RELAXED), 1, 0))
        return;
    struct tbp_thread *t = tbp_record_enter();
    if (!t)
        return;
    uint32_t n, num_key = tbp_string_id_of_key("step_num"), root_key = tbp_string_id_of_key("_r");
    struct tbp_record_text text = tbp_record_text(name, strlen(name));
    uint64_t ticks = tbp_record_ticks(t);
    if (is_open(t, t->step, &n))
        end_scopes(t, n, ticks);
    t->step = 0;
    struct tbp_spool_slot *slot = room_to_begin(t, 3 + text.slots);
    if (slot) {
        slot->head = TBP_SPOOL_HEAD(ticks, TBP_REC_BEGIN, 2 + text.slots);
        slot->name = TBP_SPOOL_NAME_INLINE;
        slot->aux = TBP_SPOOL_AUX(text.size, 1, 0) | text.flags;
        tbp_record_put_text(slot + 1, &text);
        tbp_record_put_arg(slot + 1 + text.slots, num_key, TBP_ARG_I64, (uint64_t)step_num);
        tbp_record_put_arg(slot + 2 + text.slots, root_key, TBP_ARG_I64, 1);
        tbp_record_commit(t, 3 + text.slots, ticks);
        set_depth(t, t->depth + 1);
        t->step = handle(t);
    }
    tbp_record_leave(t);
}

void tbprof_step_end(void) {
    const struct tbp_thread *t = tbp_thread_self;
    if (t && t->step)
        tbprof_scope_end_slow(t->step);
}
