/* SPDX-License-Identifier: Apache-2.0
 *
 * Annotations that do not nest: activities across threads, spans, instants, counters, flows, memory
 * and names. Each is one record. Texts that need not stay are copied into it.
 */
#include "base/str.h"
#include "capture/last_error.h"
#include "capture/record.h"
#include "capture/string_table.h"

/* A record being written. */
struct writing {
    struct tbp_thread *thread;
    struct tbp_spool_slot *slot, *args; /* args: behind the name */
    unsigned n;                         /* slots */
};

static bool enter_any(struct writing *w) {
    w->thread = tbp_record_enter();
    return w->thread != NULL;
}

/* Enters if the session takes records of the level and with the flag. */
static bool enter(struct writing *w, uint8_t level, uint64_t flag) {
    uint64_t state = __atomic_load_n(&tbprof_g_state, __ATOMIC_RELAXED);
    if (__builtin_expect(!tbprof_wants(state, level, 0) || (state & flag) != flag, 1))
        return false;
    return enter_any(w);
}

/* Room for a record of n slots in all; false: dropped and left. */
static bool make_room(struct writing *w, unsigned n) {
    w->n = n;
    w->slot = tbp_record_room(w->thread, n, TBP_RECORD_HELD);
    if (!w->slot)
        tbp_record_leave(w->thread);
    return w->slot != NULL;
}

/* A record of a named kind with `n_args` slots behind the name, which the caller fills; then it
 * finishes the record. */
static bool begin(struct writing *w, enum tbp_spool_kind kind, struct tbp_str name, unsigned n_args,
                  uint32_t aux) {
    struct tbp_record_text text = tbp_record_text(name.p, name.n);
    if (text.slots + n_args > TBP_SPOOL_MAX_EXTRA) {
        text = tbp_record_text(name.p, (TBP_SPOOL_MAX_EXTRA - n_args) * TBP_SPOOL_SLOT_BYTES);
        text.flags = TBP_SPOOL_NAME_CUT;
    }
    if (!make_room(w, 1 + text.slots + n_args))
        return false;
    if (text.flags)
        tbp_record_drop(w->thread, TBP_DROP_NAME_CUT);
    uint64_t ticks = tbp_record_ticks(w->thread);
    w->slot->head = TBP_SPOOL_HEAD(ticks, kind, w->n - 1);
    w->slot->name = TBP_SPOOL_NAME_INLINE;
    w->slot->aux = TBP_SPOOL_AUX(text.size, 0, 0) | text.flags | aux;
    tbp_record_put_text(w->slot + 1, &text);
    w->args = w->slot + 1 + text.slots;
    return true;
}

/* The same for a record whose name has a number, or which has none. */
static bool begin_id(struct writing *w, enum tbp_spool_kind kind, uint32_t name, unsigned n_args,
                     uint32_t aux) {
    if (!make_room(w, 1 + n_args))
        return false;
    w->slot->head = TBP_SPOOL_HEAD(tbp_record_ticks(w->thread), kind, n_args);
    w->slot->name = name;
    w->slot->aux = aux;
    w->args = w->slot + 1;
    return true;
}

static void finish(struct writing *w) {
    tbp_record_commit(w->thread, w->n);
    tbp_record_leave(w->thread);
}

/* ---- work across threads ---- */

uint64_t tbprof_activity_start(const char *name, size_t size, int level) {
    static uint64_t n_started;
    struct writing w;
    if (!enter(&w, (uint8_t)level, 0) ||
        !begin(&w, TBP_REC_ASYNC_BEGIN, (struct tbp_str){name, size}, 1,
               TBP_SPOOL_AUX(0, (uint8_t)level, 0)))
        return 0;
    struct tbp_thread *t = w.thread;
    uint64_t number = __atomic_add_fetch(&n_started, 1, __ATOMIC_RELAXED);
    uint64_t id = (uint64_t)tbp_thread_generation(t) << 48 |
                  (number & UINT64_C(0xffffffffffff)); /* of the session */
    tbp_record_put_arg(w.args, 0, TBP_ARG_U64, id);
    __atomic_store_n(&t->n_activities, t->n_activities + 1, __ATOMIC_RELAXED);
    finish(&w);
    return id;
}

void tbprof_activity_end(uint64_t activity) {
    struct writing w;
    if (!activity || !enter_any(&w))
        return;
    struct tbp_thread *t = w.thread;
    if (activity >> 48 != tbp_thread_generation(t)) {
        tbp_record_leave(t);
        return;
    }
    __atomic_store_n(&t->n_activities, t->n_activities - 1, __ATOMIC_RELAXED);
    if (!begin_id(&w, TBP_REC_ASYNC_END, 0, 1, 0))
        return;
    tbp_record_put_arg(w.args, 0, TBP_ARG_U64, activity);
    finish(&w);
}

void tbprof_span(const char *name, size_t size, int64_t start_ns, int64_t duration_ns) {
    struct writing w;
    if (!enter(&w, 1, 0) || !begin(&w, TBP_REC_SPAN, (struct tbp_str){name, size}, 2, 0))
        return;
    tbp_record_put_arg(w.args, 0, TBP_ARG_SPAN, (uint64_t)start_ns);
    ((struct tbp_spool_arg *)w.args)->extra = 1;
    w.args[1] = (struct tbp_spool_slot){(uint64_t)duration_ns, 0, 0};
    finish(&w);
}

/* ---- points in time ---- */

void tbprof_instant(const char *name, int instant_scope) {
    struct writing w;
    if (enter(&w, 1, 0) &&
        begin(&w, TBP_REC_INSTANT, tbp_str_c(name), 0, TBP_SPOOL_AUX(0, 1, instant_scope & 31)))
        finish(&w);
}

static void counter(const char *name, uint8_t type, uint64_t value) {
    struct writing w;
    if (!enter(&w, 1, 0) || !begin(&w, TBP_REC_COUNTER, tbp_str_c(name), 1, 0))
        return;
    tbp_record_put_arg(w.args, 0, type, value);
    finish(&w);
}

void tbprof_counter_i64(const char *name, int64_t value) {
    counter(name, TBP_ARG_I64, (uint64_t)value);
}

void tbprof_counter_f64(const char *name, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    counter(name, TBP_ARG_F64, bits);
}

static void flow(enum tbp_spool_kind kind, int context_type, uint64_t id) {
    struct writing w;
    if (!enter(&w, 1, 0) || !begin_id(&w, kind, 0, 1, TBP_SPOOL_AUX(context_type & 0xffff, 0, 0)))
        return;
    tbp_record_put_arg(w.args, 0, TBP_ARG_U64, id);
    finish(&w);
}

void tbprof_flow_produce(int context_type, uint64_t id) {
    flow(TBP_REC_FLOW_OUT, context_type, id);
}

void tbprof_flow_consume(int context_type, uint64_t id) {
    flow(TBP_REC_FLOW_IN, context_type, id);
}

/* ---- names of work ---- */

void tbprof_annotation_push(const char *name, size_t size) {
    struct writing w;
    if (!enter(&w, 1, 0) || !begin(&w, TBP_REC_ANNOTATION, (struct tbp_str){name, size}, 0, 0))
        return;
    w.thread->n_annotations++;
    finish(&w);
}

void tbprof_annotation_pop(void) {
    struct writing w;
    if (!tbp_thread_self || !tbp_thread_self->n_annotations || !enter_any(&w))
        return;
    if (w.thread->n_annotations == 0) { /* it was pushed in an earlier session */
        tbp_record_leave(w.thread);
        return;
    }
    w.thread->n_annotations--;
    if (begin_id(&w, TBP_REC_ANNOTATION_END, 0, 0, 0))
        finish(&w);
}

/* ---- memory ---- */

static bool enter_memory(struct writing *w) {
    return enter(w, 0, TBP_STATE_MEMORY);
}

static void put_memory(struct writing *w, enum tbp_spool_kind kind, const char *allocator,
                       const struct tbp_spool_memory *memory) {
    enum { SLOTS = sizeof *memory / TBP_SPOOL_SLOT_BYTES };
    if (!begin_id(w, kind, tbp_string_id_of_key(allocator), SLOTS, 0))
        return;
    memcpy(w->args, memory, sizeof *memory);
    finish(w);
}

void tbprof_memory_alloc(const tbprof_allocation *a) {
    struct writing w;
    if (!enter_memory(&w))
        return;
    struct tbp_spool_memory memory = {
        .address = a->address,
        .requested_bytes = a->requested_bytes,
        .allocated_bytes = a->allocated_bytes,
        .region_id = tbp_string_id_of_key(a->region_type),
        .shape_id = a->shape ? tbp_string_id(a->shape, strlen(a->shape)) : 0,
        .data_type = a->data_type,
    };
    put_memory(&w, TBP_REC_MEMORY_ALLOC, a->allocator, &memory);
}

void tbprof_memory_free(const char *allocator, uint64_t address) {
    struct writing w;
    if (!enter_memory(&w) ||
        !begin_id(&w, TBP_REC_MEMORY_FREE, tbp_string_id_of_key(allocator), 1, 0))
        return;
    tbp_record_put_arg(w.args, 0, TBP_ARG_U64, address);
    finish(&w);
}

void tbprof_memory_baseline(const char *allocator, uint64_t capacity_bytes, uint64_t in_use_bytes,
                            uint64_t peak_bytes) {
    struct writing w;
    struct tbp_spool_memory memory = {
        .address = capacity_bytes, .requested_bytes = in_use_bytes, .allocated_bytes = peak_bytes};
    if (enter_memory(&w))
        put_memory(&w, TBP_REC_MEMORY_BASE, allocator, &memory);
}

/* ---- about the thread and the session ---- */

void tbprof_thread_name(const char *name) {
    struct writing w;
    struct tbp_thread *t = tbp_thread_self ? tbp_thread_self : tbp_thread_register();
    if (!t)
        return;
    tbp_thread_set_name(t, name);
    if (enter_any(&w) && begin(&w, TBP_REC_THREAD_NAME, tbp_str_c(name), 0, 0))
        finish(&w);
}

tbprof_status tbprof_metadata_set(const char *key, const char *value) {
    struct writing w;
    if (!key || !*key || !value)
        return tbp_last_error_set(TBPROF_INVALID_ARGUMENT, "metadata needs a key and a value");
    if (!enter_any(&w))
        return tbp_last_error_set(TBPROF_UNAVAILABLE, "no profiler session is running");
    uint32_t id = tbp_string_id(value, strlen(value));
    if (!begin(&w, TBP_REC_METADATA, tbp_str_c(key), 1, 0))
        return tbp_last_error_set(TBPROF_RESOURCE_EXHAUSTED, "the profile is full");
    tbp_record_put_arg(w.args, 0, TBP_ARG_ID, id);
    finish(&w);
    return TBPROF_OK;
}

void tbprof_warn(const char *text) {
    struct writing w;
    if (enter_any(&w) && begin_id(&w, TBP_REC_WARNING, tbp_string_id(text, strlen(text)), 0, 0))
        finish(&w);
}

void tbp_record_mark(enum tbp_spool_kind kind) {
    struct writing w;
    if (enter_any(&w) && begin_id(&w, kind, 0, 0, 0))
        finish(&w);
}
