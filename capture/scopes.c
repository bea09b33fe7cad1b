/* SPDX-License-Identifier: Apache-2.0
 *
 * Scopes and steps: the annotations that nest. A scope's handle holds the session, the thread and
 * the depth, so that an end in the wrong session or on the wrong thread is seen without looking
 * anything up, and an end that comes twice or too late ends nothing.
 */
#include "capture/record.h"
#include "capture/step_schedule.h"
#include "capture/string_table.h"

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* n scopes deeper; the handle of the innermost. */
static inline tbprof_scope deeper(struct tbp_thread *t, int64_t n) {
    uint64_t handle = __atomic_load_n(&t->handle, __ATOMIC_RELAXED) + (uint64_t)n;
    __atomic_store_n(&t->handle, handle, __ATOMIC_RELAXED);
    return handle;
}

static bool is_too_deep(struct tbp_thread *t) {
    if (!UNLIKELY((uint32_t)t->handle >= TBP_RECORD_MAX_DEPTH))
        return false;
    tbp_record_drop(t, TBP_DROP_DEPTH);
    return true;
}

/* Room for a record that opens a scope: its end must fit, too. */
static inline struct tbp_spool_slot *room_to_begin(struct tbp_thread *t, unsigned n) {
    if (is_too_deep(t))
        return NULL;
    return tbp_record_room(t, n, TBP_RECORD_HELD);
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

/* A slot's name and aux are the last eight bytes of a site (little endian, as the spool is). */
static inline uint64_t name_and_aux(uint32_t id, uint32_t aux) {
    return (uint64_t)aux << 32 | id;
}
_Static_assert(offsetof(tbprof_site, id) % 8 == 0 &&
                   offsetof(tbprof_site, level) == offsetof(tbprof_site, id) + 6 &&
                   offsetof(tbprof_site, category) == offsetof(tbprof_site, id) + 7,
               "a site ends as a slot does");

/* 0 in the low half while the name has no number. */
static inline uint64_t site_word(const tbprof_site *site) {
    return __atomic_load_n((const uint64_t *)(const void *)&site->id, __ATOMIC_ACQUIRE);
}

/* The head of a BEGIN or END is the clock less one number (capture/thread.h): what is before the
 * base of ticks by mistake would take from the kind, so the base lies early (capture/session.c). */
static inline tbprof_scope write_begin(struct tbp_thread *t, uint64_t word, uint64_t ticks) {
    struct tbp_spool_slot *slot = tbp_record_slot(t);
    slot->head = ticks - t->begin_base;
    memcpy(&slot->name, &word, sizeof word);
    tbp_record_publish(t, 1);
    return deeper(t, 1);
}

static inline tbprof_scope write_begin_text(struct tbp_thread *t,
                                            const struct tbp_record_text *text, uint32_t aux) {
    struct tbp_spool_slot *slot = tbp_record_slot(t);
    tbp_record_put_text(slot + 1, text);
    uint64_t ticks = tbp_record_ticks(t); /* last: what was slow before is not in the scope */
    slot->head = TBP_SPOOL_HEAD(ticks, TBP_REC_BEGIN, text->slots);
    slot->name = TBP_SPOOL_NAME_INLINE;
    slot->aux = aux | text->size | text->flags;
    tbp_record_commit(t, 1 + text->slots);
    return deeper(t, 1);
}

static inline void write_end(struct tbp_thread *t, uint32_t n, uint64_t ticks) {
    struct tbp_spool_slot *slot = tbp_record_slot(t);
    uint64_t word = name_and_aux(0, n);
    slot->head = ticks - t->end_base;
    memcpy(&slot->name, &word, sizeof word);
    tbp_record_publish(t, 1);
    deeper(t, -(int64_t)n);
}

/* ---- the ways of a scope when something is unusual ---- */

static inline uint64_t raw_ticks(const struct tbp_thread *t) {
    return tbp_clock_ticks(t->is_tsc);
}

static tbprof_scope begin_site(struct tbp_thread *t, tbprof_site *site) {
    if (!site_id(site)) {
        tbp_record_drop(t, TBP_DROP_NO_CHUNK);
        return 0;
    }
    if (!room_to_begin(t, 1))
        return 0;
    return write_begin(t, site_word(site), raw_ticks(t));
}

static void end_scopes(struct tbp_thread *t, uint32_t n, uint64_t ticks) {
    if (tbp_record_room(t, 1, 0))
        write_end(t, n, ticks);
    else
        deeper(t, -(int64_t)n);
}

static __attribute__((noinline, cold)) tbprof_scope begin_slowly(tbprof_site *site) {
    struct tbp_thread *t = tbp_record_enter();
    if (!t)
        return 0;
    tbprof_scope scope = begin_site(t, site);
    tbp_record_leave(t);
    return scope;
}

static __attribute__((noinline, cold)) tbprof_scope
begin_text_slowly(const struct tbp_record_text *text, uint32_t aux) {
    struct tbp_thread *t = tbp_record_enter();
    if (!t)
        return 0;
    tbprof_scope scope = 0;
    if (text->flags)
        tbp_record_drop(t, TBP_DROP_NAME_CUT);
    if (room_to_begin(t, 1 + text->slots))
        scope = write_begin_text(t, text, aux);
    tbp_record_leave(t);
    return scope;
}

/* Whether the scope is open on this thread; *n: how many scopes its end ends. */
static inline bool is_open(const struct tbp_thread *t, tbprof_scope scope, uint32_t *n) {
    uint64_t handle = __atomic_load_n(&t->handle, __ATOMIC_RELAXED);
    uint64_t inside = handle - scope; /* huge: not ours */
    *n = (uint32_t)inside + 1;
    return inside < (uint32_t)handle;
}

static __attribute__((noinline, cold)) void end_slowly(tbprof_scope scope) {
    uint32_t n;
    struct tbp_thread *t = tbp_record_enter();
    if (!t)
        return;
    if (is_open(t, scope, &n))
        end_scopes(t, n, raw_ticks(t));
    tbp_record_leave(t);
}

/* ---- the quick ways ---- */

/* Slots from here on that the cache is told of: a chunk's memory is cold, and waiting for it would
 * cost a tenth of a scope. Behind the chunk's end it does no harm. */
enum { AHEAD = 64 };

/* A BEGIN of one slot fits below the first, an END below the second. */
enum {
    BEGIN_LIMIT = TBP_SPOOL_BODY_BYTES - TBP_RECORD_HELD * TBP_SPOOL_SLOT_BYTES,
    END_LIMIT = TBP_SPOOL_BODY_BYTES,
};

/* Whether a record may go there: nobody was inside (also no handler a moment ago, who may have
 * recorded), and the quick way is open. */
static inline bool is_usual(const struct tbp_spool_chunk *chunk, uint32_t offset, uint32_t limit) {
    return offset == chunk->committed && offset < limit;
}

/* The record that ends at that offset is complete. */
static inline void step_out_with(struct tbp_thread *t, struct tbp_spool_chunk *chunk,
                                 uint32_t offset) {
    __atomic_store_n(&chunk->committed, offset, __ATOMIC_RELEASE);
    tbp_record_step_out(t, offset);
}

static inline struct tbp_spool_chunk *quick_chunk(const struct tbp_thread *t) {
    return __atomic_load_n(&t->quick, __ATOMIC_ACQUIRE);
}

/* The clock between stepping in and the checks. Some processors read it only when all that was
 * loaded before is there: with half of the loads on either side of it, those of an end and of the
 * begin behind it are waited for side by side, and not one after the other (a tenth of a scope). */
static inline uint64_t quick_ticks(void) {
    uint64_t ticks = tbp_clock_tsc();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return ticks;
}

tbprof_scope tbprof_scope_begin_slow(tbprof_site *site) {
    struct tbp_thread *t = tbp_thread_self;
    if (UNLIKELY(!t))
        return begin_slowly(site);
    uint32_t offset = tbp_record_step_in(t);
    struct tbp_spool_chunk *chunk = quick_chunk(t);
    uint64_t word = site_word(site);
    uint64_t ticks = quick_ticks();
    if (UNLIKELY(!is_usual(chunk, offset, BEGIN_LIMIT) || !(uint32_t)word)) {
        tbp_record_step_out(t, offset);
        return begin_slowly(site);
    }
    struct tbp_spool_slot *slot = tbp_record_slot_at(chunk, offset);
    __builtin_prefetch(slot + AHEAD, 1);
    slot->head = ticks - t->begin_base;
    memcpy(&slot->name, &word, sizeof word);
    tbprof_scope scope = deeper(t, 1);
    step_out_with(t, chunk, offset + sizeof *slot);
    return scope;
}

tbprof_scope tbprof_scope_begin_dyn_slow(const char *name, size_t size, int level, int category) {
    struct tbp_record_text text = tbp_record_text(name, size);
    uint32_t aux = TBP_SPOOL_AUX(0, (uint8_t)level, category & 31);
    struct tbp_thread *t = tbp_thread_self;
    if (UNLIKELY(!t))
        return begin_text_slowly(&text, aux);
    uint32_t offset = tbp_record_step_in(t), extra = text.slots * sizeof(struct tbp_spool_slot);
    struct tbp_spool_chunk *chunk = quick_chunk(t);
    if (UNLIKELY(!is_usual(chunk, offset, BEGIN_LIMIT - extra) || text.flags)) {
        tbp_record_step_out(t, offset);
        return begin_text_slowly(&text, aux);
    }
    struct tbp_spool_slot *slot = tbp_record_slot_at(chunk, offset);
    uint64_t word = name_and_aux(TBP_SPOOL_NAME_INLINE, aux | text.size);
    __builtin_prefetch(slot + AHEAD, 1);
    tbp_record_put_text(slot + 1, &text);
    memcpy(&slot->name, &word, sizeof word);
    tbp_record_count_extra(t, text.slots);
    tbprof_scope scope = deeper(t, 1);
    /* last: what was slow before is not in the scope */
    slot->head = tbp_clock_tsc() - t->begin_base + TBP_SPOOL_HEAD(0, 0, text.slots);
    step_out_with(t, chunk, offset + extra + sizeof *slot);
    return scope;
}

/* Ends the innermost scope: most are. */
void tbprof_scope_end_slow(tbprof_scope scope) {
    struct tbp_thread *t = tbp_thread_self;
    if (UNLIKELY(!t))
        return;
    uint32_t offset = tbp_record_step_in(t);
    uint64_t ticks = quick_ticks();
    struct tbp_spool_chunk *chunk = quick_chunk(t);
    if (UNLIKELY(!is_usual(chunk, offset, END_LIMIT) ||
                 scope != __atomic_load_n(&t->handle, __ATOMIC_RELAXED))) {
        tbp_record_step_out(t, offset);
        end_slowly(scope);
        return;
    }
    struct tbp_spool_slot *slot = tbp_record_slot_at(chunk, offset);
    uint64_t word = name_and_aux(0, 1);
    slot->head = ticks - t->end_base;
    memcpy(&slot->name, &word, sizeof word);
    __atomic_store_n(&t->handle, scope - 1, __ATOMIC_RELAXED);
    step_out_with(t, chunk, offset + sizeof *slot);
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
    uint32_t id = is_wanted ? site_id(site) : 0;
    uint64_t ticks = raw_ticks(t);
    if (is_open(t, scope, &n))
        end_scopes(t, n, ticks);
    scope = id && room_to_begin(t, 1) ? write_begin(t, site_word(site), ticks) : 0;
    tbp_record_leave(t);
    return scope;
}

/* ---- arguments ---- */

/* A record of arguments of an open scope, for `n` slots of them, behind the first; NULL: left. */
static struct tbp_spool_slot *begin_args(struct tbp_thread **out, tbprof_scope scope, unsigned n) {
    uint32_t n_scopes;
    struct tbp_thread *t = scope ? tbp_record_enter() : NULL;
    if (!t)
        return NULL;
    struct tbp_spool_slot *slot = NULL;
    if (is_open(t, scope, &n_scopes))
        slot = tbp_record_room(t, 1 + n, TBP_RECORD_HELD);
    if (!slot) {
        tbp_record_leave(t);
        return NULL;
    }
    slot->head = TBP_SPOOL_HEAD(0, TBP_REC_ARGS, n);
    slot->name = 0;
    slot->aux = TBP_SPOOL_AUX(n_scopes - 1, 0, 0);
    *out = t;
    return slot;
}

static void put_number(tbprof_scope scope, const char *key, uint8_t type, uint64_t value) {
    struct tbp_thread *t;
    struct tbp_spool_slot *slot = begin_args(&t, scope, 1);
    if (!slot)
        return;
    tbp_record_put_arg(slot + 1, tbp_string_id_of_key(key), type, value);
    tbp_record_commit(t, 2);
    tbp_record_leave(t);
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
    tbp_record_commit(t, 2 + text.slots);
    tbp_record_leave(t);
}

/* ---- steps ---- */

/* The BEGIN of a step, with its two arguments. */
static tbprof_scope write_step(struct tbp_thread *t, const struct tbp_record_text *text,
                               int64_t step_num, uint64_t ticks) {
    uint32_t num_key = tbp_string_id_of_key("step_num"), root_key = tbp_string_id_of_key("_r");
    struct tbp_spool_slot *slot = room_to_begin(t, 3 + text->slots);
    if (!slot)
        return 0;
    slot->head = TBP_SPOOL_HEAD(ticks, TBP_REC_BEGIN, 2 + text->slots);
    slot->name = TBP_SPOOL_NAME_INLINE;
    slot->aux = TBP_SPOOL_AUX(text->size, 1, 0) | text->flags;
    tbp_record_put_text(slot + 1, text);
    tbp_record_put_arg(slot + 1 + text->slots, num_key, TBP_ARG_I64, (uint64_t)step_num);
    tbp_record_put_arg(slot + 2 + text->slots, root_key, TBP_ARG_I64, 1);
    tbp_record_commit(t, 3 + text->slots);
    return deeper(t, 1);
}

void tbprof_step_begin(const char *name, int64_t step_num) {
    uint32_t n;
    if (UNLIKELY(tbp_state_load() & TBP_STATE_STEPS))
        tbp_step_schedule_begin();
    if (!tbprof_wants(__atomic_load_n(&tbprof_g_state, __ATOMIC_RELAXED), 1, 0))
        return;
    struct tbp_thread *t = tbp_record_enter();
    if (!t)
        return;
    struct tbp_record_text text = tbp_record_text(name, strlen(name));
    uint64_t ticks = raw_ticks(t);
    if (is_open(t, t->step, &n))
        end_scopes(t, n, ticks);
    t->step = write_step(t, &text, step_num, ticks - t->ticks_base);
    tbp_record_leave(t);
}

void tbprof_step_end(void) {
    struct tbp_thread *t = tbp_thread_self;
    if (t && t->step)
        tbprof_scope_end_slow(t->step);
    if (UNLIKELY(tbp_state_load() & TBP_STATE_STEPS))
        tbp_step_schedule_end();
}
