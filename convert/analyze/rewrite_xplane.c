/* SPDX-License-Identifier: Apache-2.0
 *
 * Model back to profile file; see rewrite_xplane.h. Events are copied as the bytes they were read
 * from, unless one of the repairs concerns them or the file is damaged; then they are put together
 * again from what could be read. The repairs are those of ../shared/spec/pages/repair.py.
 */
#include "convert/analyze/rewrite_xplane.h"

#include "convert/analyze/file_marks.h"
#include "convert/analyze/gpu_pass.h"
#include "convert/analyze/host_notes.h"
#include "convert/analyze/run_environment.h"
#include "convert/model/stats.h"
#include "plugin_data/xspace_out.h"
#include "schemas/xplane_fields.h"

#define NEVER UINT64_MAX

struct rewrite {
    const struct tbp_host *h;
    bool repairs;     /* semantics */
    bool is_damaged;  /* copy nothing unseen */
    bool marks_steps; /* R1 was applied to this host */
    bool looks_for_shm;
    uint64_t shortest_ps; /* host events below it that nothing refers to are left out */
    uint64_t n_left_out;
    uint64_t n_marked[TBP_FILE_MARKS]; /* as the marks shall tell */
    struct tbp_str mark_names[TBP_FILE_MARKS];
    uint64_t *bytes_by_bits; /* of events that may be left out, by bits of their duration; NULL: not
                                asked */
    struct tbp_str damage;   /* what the file is going to say of it; empty: nothing */
    struct tbp_wire_out text; /* scratch */
};

struct plane_ids { /* stat names that repairs need; 0: not needed */
    int64_t root, tf_op, vendor, epoch, marks[TBP_FILE_MARKS];
    bool is_gpu;
};

/* ---- what needs repair ---- */

/* Texts that are no UTF-8 are no damage to us; protobuf refuses the whole file for one. */
static bool must_not_be_copied(const struct tbp_ledger *l) {
    return tbp_ledger_has_damage(l) || l->count[TBP_LEDGER_INVALID_UTF8];
}

static bool lacks_vendor(const struct tbp_plane *p) {
    struct tbp_stat st;
    return tbp_is_gpu_plane(p->name) &&
           !(tbp_plane_stat(p, TBP_STAT_DEVICE_VENDOR, &st) && tbp_stat_s(&st).n);
}

static bool is_unmarked_step(const struct tbp_line *l, size_t i) {
    return (l->ev.has[i] & (TBP_HAS_STEP_NUM | TBP_HAS_ROOT)) == TBP_HAS_STEP_NUM;
}

static bool has_unsigned_step(const struct tbp_line *l, size_t i) {
    struct tbp_stat st;
    return (l->ev.has[i] & TBP_HAS_STEP_NUM) && tbp_event_stat(l, i, TBP_STAT_STEP_NUM, &st) &&
           st.type == TBP_STAT_UINT64;
}

/* Position of "shm:" as a key of kernel_details, or n. */
static size_t find_shm(struct tbp_str s) {
    const char *end = s.p + s.n;
    for (const char *at = s.p; s.n && (at = memmem(at, (size_t)(end - at), "shm:", 4)); at++)
        if (at == s.p || at[-1] == ' ' || at[-1] == '\n')
            return (size_t)(at - s.p);
    return s.n;
}

static bool has_shm(const struct tbp_line *l, size_t i) {
    struct tbp_stat st;
    if (!(l->ev.has[i] & TBP_HAS_KERNEL) || !tbp_event_stat(l, i, TBP_STAT_KERNEL_DETAILS, &st))
        return false;
    struct tbp_str s = tbp_stat_s(&st);
    return find_shm(s) < s.n;
}

/* Stat "level 0" stands where tf_op would: it is renamed. */
static bool has_op_in_level_0(const struct tbp_line *l, size_t i) {
    struct tbp_stat st;
    if (!(l->ev.has[i] & TBP_HAS_LEVEL_0))
        return false;
    return !(l->ev.has[i] & TBP_HAS_TF_OP) || !tbp_event_stat(l, i, TBP_STAT_TF_OP, &st) ||
           !tbp_stat_s(&st).n;
}

static bool event_needs_repair(const struct tbp_line *l, size_t i, bool is_gpu) {
    return (is_gpu && (has_op_in_level_0(l, i) || has_shm(l, i))) || has_unsigned_step(l, i);
}

/* Kernel details tell the version of the profiler, which is one for the whole file: the first
 * events of a line will do. */
static bool starts_with_shm(const struct tbp_line *l) {
    enum { N_FIRST = 16 };
    for (size_t i = 0; i < l->ev.n && i < N_FIRST; i++)
        if (has_shm(l, i))
            return true;
    return false;
}

static bool uses_shm(const struct tbp_host *h) {
    for (size_t p = 0; p < h->n_planes; p++)
        for (size_t k = 0; k < h->planes[p].n_lines && tbp_is_gpu_plane(h->planes[p].name); k++)
            if (starts_with_shm(&h->planes[p].lines[k]))
                return true;
    return false;
}

static bool line_needs_repair(const struct tbp_line *l, bool is_gpu) {
    for (size_t i = 0; i < l->ev.n; i++)
        if ((l->ev.has[i] & (TBP_HAS_STEP_NUM | TBP_HAS_LEVEL_0)) &&
            event_needs_repair(l, i, is_gpu))
            return true;
    return false;
}

static bool plane_needs_repair(const struct tbp_plane *p) {
    bool is_gpu = tbp_is_gpu_plane(p->name);
    if (lacks_vendor(p))
        return true;
    for (size_t i = 0; i < p->n_lines; i++)
        if (line_needs_repair(&p->lines[i], is_gpu))
            return true;
    return false;
}

/* Now, not when the file was written. */
static bool has_repaired(const struct tbp_host *h, enum tbp_ledger_key key) {
    return h->ledger.count[key] > tbp_repairs_told(h, key);
}

static bool lacks_host_plane(const struct tbp_host *h) {
    return !tbp_host_plane(h, TBP_HOST_PLANE) && !h->had_added_plane;
}

bool tbp_rewrite_xplane_is_needed(const struct tbp_session *s, const struct tbp_host *h) {
    if (h->is_foreign || h->has_given_steps || must_not_be_copied(&h->ledger) ||
        lacks_host_plane(h))
        return true;
    if (tbp_session_semantics(s) != TBP_SEMANTICS_REPAIR)
        return false;
    if (has_repaired(h, TBP_LEDGER_REPAIR_STEP_NUM) || has_repaired(h, TBP_LEDGER_REPAIR_LOOPS) ||
        has_repaired(h, TBP_LEDGER_REPAIR_ORDER) || uses_shm(h) || h->epoch_ns)
        return true;
    for (size_t i = 0; i < h->n_planes; i++)
        if (plane_needs_repair(&h->planes[i]))
            return true;
    return false;
}

/* ---- names ---- */

static int64_t stat_id(const struct tbp_plane *p, enum tbp_stat_key key, int64_t *next) {
    for (size_t i = 1; i < p->n_stat_metas; i++)
        if (p->stat_metas[i].key == key)
            return p->stat_metas[i].id;
    return (*next)++;
}

static int64_t named_stat_id(const struct tbp_plane *p, struct tbp_str name, int64_t *next) {
    for (size_t i = 1; i < p->n_stat_metas; i++)
        if (tbp_str_eq(p->stat_metas[i].name, name))
            return p->stat_metas[i].id;
    return (*next)++;
}

static struct plane_ids ids_of(const struct rewrite *rw, const struct tbp_plane *p) {
    struct plane_ids ids = {.is_gpu = tbp_is_gpu_plane(p->name)};
    int64_t next = 1;
    for (size_t i = 1; i < p->n_stat_metas; i++)
        if (p->stat_metas[i].id >= next && p->stat_metas[i].id < INT64_MAX)
            next = p->stat_metas[i].id + 1;
    if (rw->marks_steps && tbp_plane_has_stat(p, TBP_STAT_STEP_NUM))
        ids.root = stat_id(p, TBP_STAT_IS_ROOT, &next);
    if (rw->repairs && ids.is_gpu && tbp_plane_has_stat(p, TBP_STAT_LEVEL_0))
        ids.tf_op = stat_id(p, TBP_STAT_TF_OP, &next);
    if (rw->repairs && lacks_vendor(p))
        ids.vendor = stat_id(p, TBP_STAT_DEVICE_VENDOR, &next);
    if (rw->h->epoch_ns && p->index == 0)
        ids.epoch = named_stat_id(p, TBP_STR(TBP_MARK_EPOCH), &next);
    for (size_t k = 0; k < TBP_FILE_MARKS && p->index == 0; k++)
        if (rw->n_marked[k])
            ids.marks[k] = named_stat_id(p, rw->mark_names[k], &next);
    return ids;
}

static void write_added_name(struct tbp_xspace_out *o, const struct tbp_plane *p, int64_t id,
                             enum tbp_stat_key key) {
    if (id && !tbp_plane_has_stat(p, key))
        tbp_xspace_stat_name(o, id, tbp_stat_key_text(key));
}

static bool has_stat_name(const struct tbp_plane *p, int64_t id) {
    return tbp_plane_stat_meta_index(p, id) != 0;
}

static void write_stat_names(const struct rewrite *rw, struct tbp_xspace_out *o,
                             const struct tbp_plane *p, const struct plane_ids *ids) {
    for (size_t i = 1; i < p->n_stat_metas; i++)
        tbp_xspace_stat_name(o, p->stat_metas[i].id, p->stat_metas[i].name);
    write_added_name(o, p, ids->root, TBP_STAT_IS_ROOT);
    write_added_name(o, p, ids->tf_op, TBP_STAT_TF_OP);
    write_added_name(o, p, ids->vendor, TBP_STAT_DEVICE_VENDOR);
    if (ids->epoch && !has_stat_name(p, ids->epoch))
        tbp_xspace_stat_name(o, ids->epoch, TBP_STR(TBP_MARK_EPOCH));
    for (size_t k = 0; k < TBP_FILE_MARKS; k++)
        if (ids->marks[k] && !has_stat_name(p, ids->marks[k]))
            tbp_xspace_stat_name(o, ids->marks[k], rw->mark_names[k]);
}

static void write_stat(struct tbp_xspace_out *o, const struct tbp_stat *st, int64_t id) {
    switch (st->type) {
    case TBP_STAT_DOUBLE:
        tbp_xspace_stat_double(o, id, st->d);
        break;
    case TBP_STAT_UINT64:
        tbp_xspace_stat_u64(o, id, st->u);
        break;
    case TBP_STAT_INT64:
        tbp_xspace_stat_i64(o, id, st->i);
        break;
    case TBP_STAT_STR:
    case TBP_STAT_REF: /* its text: the name it refers to may be a damaged one */
        tbp_xspace_stat_str(o, id, st->s);
        break;
    case TBP_STAT_BYTES:
        tbp_xspace_stat_bytes(o, id, st->s);
        break;
    case TBP_STAT_NONE:
        break;
    }
}

/* Names that analyses added (no bytes of the file) only where an event that is written uses them.
 */
static void write_event_name(struct tbp_xspace_out *o, const struct rewrite *rw,
                             const struct tbp_plane *p, const struct tbp_meta *m) {
    if (m->wire.n && !rw->is_damaged) {
        tbp_xspace_event_name_raw(o, m->id, m->wire);
        return;
    }
    tbp_xspace_event_name(o, m->id, m->name, m->display);
    struct tbp_stat_iter it = tbp_stat_iter_meta(p, m);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);)
        write_stat(o, &st, st.meta->id);
}

/* ---- events ---- */

/* "shm:8 …" as "static_shared:8 dynamic_shared:0 …". */
static struct tbp_str without_shm(struct rewrite *rw, struct tbp_str s) {
    size_t at = find_shm(s), end = at;
    while (end < s.n && s.p[end] != ' ' && s.p[end] != '\n')
        end++;
    struct tbp_wire_out *t = &rw->text;
    t->n = 0;
    tbp_wire_put_raw(t, s.p, at);
    tbp_wire_put_raw(t, "static_shared:", 14);
    tbp_wire_put_raw(t, s.p + at + 4, end - at - 4);
    tbp_wire_put_raw(t, " dynamic_shared:0", 17);
    tbp_wire_put_raw(t, s.p + end, s.n - end);
    return (struct tbp_str){(const char *)t->at, t->n};
}

static void write_repaired_stat(struct rewrite *rw, struct tbp_xspace_out *o,
                                const struct tbp_stat_iter *it, struct tbp_wire message,
                                const struct plane_ids *ids, bool takes_level_0) {
    struct tbp_stat st;
    if (!tbp_stat_decode_next(it, message, &st))
        return;
    enum tbp_stat_key key = st.meta->key;
    if (rw->repairs && key == TBP_STAT_STEP_NUM && st.type == TBP_STAT_UINT64) {
        tbp_xspace_stat_i64(o, st.meta->id, (int64_t)st.u);
    } else if (takes_level_0 && key == TBP_STAT_LEVEL_0) {
        write_stat(o, &st, ids->tf_op);
    } else if (takes_level_0 && key == TBP_STAT_TF_OP) {
        return; /* the empty one */
    } else if (rw->repairs && ids->is_gpu && key == TBP_STAT_KERNEL_DETAILS &&
               find_shm(tbp_stat_s(&st)) < tbp_stat_s(&st).n) {
        tbp_xspace_stat_str(o, st.meta->id, without_shm(rw, tbp_stat_s(&st)));
    } else if (rw->is_damaged) {
        write_stat(o, &st, st.meta->id);
    } else {
        tbp_xspace_stat_raw(o, tbp_wire_str(message));
    }
}

/* Head of an event as the file has it; the model does not keep ids that lead nowhere. */
static void write_head(struct tbp_xspace_out *o, const struct tbp_line *l, size_t i) {
    int64_t name_id = l->metas[l->ev.meta[i]].id, n_occurrences = 0;
    bool is_count = l->ev.has[i] & TBP_HAS_OCCURRENCES;
    struct tbp_wire w = tbp_stat_iter_event(l, i).w;
    for (struct tbp_wire_field f; tbp_wire_next(&w, &f) > 0;) {
        if (f.type != TBP_WIRE_VARINT)
            continue;
        if (f.number == TBP_XEVENT_METADATA_ID)
            name_id = (int64_t)f.value;
        else if (f.number == TBP_XEVENT_NUM_OCCURRENCES)
            n_occurrences = (int64_t)f.value;
    }
    if (is_count)
        tbp_xspace_event_count(o, name_id, n_occurrences, (int64_t)l->ev.dur_ps[i]);
    else
        tbp_xspace_event(o, name_id, tbp_event_offset(l, i), (int64_t)l->ev.dur_ps[i]);
}

/* An event of another format: its head is the model's, its stats are made by us, one behind the
 * other with nothing between them. */
static void write_foreign_event(struct tbp_xspace_out *o, const struct tbp_line *l, size_t i) {
    tbp_xspace_event(o, l->metas[l->ev.meta[i]].id, tbp_event_offset(l, i),
                     (int64_t)l->ev.dur_ps[i]);
    tbp_xspace_stats_raw(o, tbp_wire_str(tbp_stat_iter_event(l, i).w));
}

/* An event put together again: repaired, or of a damaged file, or without bytes in the file. */
static void write_event(struct rewrite *rw, struct tbp_xspace_out *o, const struct tbp_line *l,
                        size_t i, const struct plane_ids *ids) {
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    bool takes_level_0 = ids->tf_op && has_op_in_level_0(l, i);
    write_head(o, l, i);
    for (struct tbp_wire w; tbp_stat_next_message(&it, &w);)
        write_repaired_stat(rw, o, &it, w, ids, takes_level_0);
    if (ids->root && is_unmarked_step(l, i))
        tbp_xspace_stat_i64(o, ids->root, 1);
}

/* Made by grouping, not by whoever recorded the profile. */
static bool is_result(const struct tbp_line *l, size_t i) {
    return (l->ev.flags[i] & TBP_EVENT_MADE) &&
           (l->is_derived || tbp_event_kind_at(l, i) == TBP_EVENT_THREADPOOL_REGION);
}

static bool may_be_left_out(const struct tbp_line *l, size_t i) {
    return (l->ev.has[i] & ~(uint32_t)TBP_HAS_STATS) == 0 && tbp_is_host_plane(l->plane->name);
}

/* What the file gets shorter by without the event, at least. */
static uint64_t bytes_saved(const struct tbp_line *l, size_t i) {
    struct tbp_wire w = tbp_stat_iter_event(l, i).w;
    uint64_t body = tbp_event_body(&l->ev, i);
    return body == TBP_NO_BODY ? 0 : 1 + (uint64_t)(w.end - (l->base + body));
}

static unsigned bits_of(uint64_t v) {
    return v ? 64u - (unsigned)__builtin_clzll(v) : 0;
}

static bool is_left_out(struct rewrite *rw, const struct tbp_line *l, size_t i) {
    if (!rw->bytes_by_bits && rw->shortest_ps == 0)
        return false;
    if (!may_be_left_out(l, i))
        return false;
    if (rw->bytes_by_bits)
        rw->bytes_by_bits[bits_of(l->ev.dur_ps[i])] += bytes_saved(l, i);
    bool leave = l->ev.dur_ps[i] < rw->shortest_ps;
    rw->n_left_out += leave;
    return leave;
}

struct run { /* neighbouring events that are copied as they lie in the file */
    const uint8_t *at, *end;
};

static void write_run(struct tbp_xspace_out *o, struct run *r) {
    if (r->end > r->at)
        tbp_xspace_events_raw(o, tbp_wire_str(tbp_wire_of(r->at, (size_t)(r->end - r->at))));
    r->at = r->end = NULL;
}

/* Adds the event's bytes to the run; the key before them takes one byte in every file that is not
 * made to be odd. */
static void copy_event(struct tbp_xspace_out *o, struct run *r, const struct tbp_line *l,
                       size_t i) {
    enum { KEY = TBP_XLINE_EVENTS << 3 | TBP_WIRE_BYTES };
    struct tbp_wire w = tbp_stat_iter_event(l, i).w;
    uint64_t body = tbp_event_body(&l->ev, i);
    const uint8_t *key = l->base + body - 1;
    if (body == 0 || *key != KEY) {
        write_run(o, r);
        tbp_xspace_event_raw(o, tbp_wire_str(w));
        return;
    }
    if (key != r->end) {
        write_run(o, r);
        r->at = key;
    }
    r->end = w.end;
}

static void write_events(struct rewrite *rw, struct tbp_xspace_out *o, const struct tbp_line *l,
                         const struct plane_ids *ids) {
    struct run run = {NULL, NULL};
    uint32_t concerned = rw->repairs ? TBP_HAS_STEP_NUM : 0;
    if (rw->repairs && ids->is_gpu)
        concerned |= TBP_HAS_LEVEL_0 | (rw->looks_for_shm ? TBP_HAS_KERNEL : 0);
    for (size_t i = 0; i < l->ev.n; i++) {
        if (is_result(l, i) || is_left_out(rw, l, i))
            continue;
        bool anew = rw->is_damaged || l->is_rebuilt || tbp_event_body(&l->ev, i) == TBP_NO_BODY ||
                    (l->ev.flags[i] & TBP_EVENT_MADE);
        if (!anew && (l->ev.has[i] & concerned))
            anew = event_needs_repair(l, i, ids->is_gpu) || (ids->root && is_unmarked_step(l, i));
        if (anew) {
            write_run(o, &run);
            write_event(rw, o, l, i, ids);
        } else if (rw->h->is_foreign) {
            write_foreign_event(o, l, i);
        } else {
            copy_event(o, &run, l, i);
        }
    }
    write_run(o, &run);
}

static void write_line(struct rewrite *rw, struct tbp_xspace_out *o, const struct tbp_line *l,
                       const struct plane_ids *ids) {
    if (l->is_derived && l->ev.n && is_result(l, 0))
        return;
    tbp_xspace_line(o, &(struct tbp_xspace_line){l->id, l->display_id, l->name, l->display_name,
                                                 l->timestamp_ns, l->duration_ps});
    write_events(rw, o, l, ids);
}

/* ---- planes ---- */

/* Names that have no bytes in the file: written only where an event needs them, not for results of
 * analyses. */
static uint8_t *find_used_names(const struct tbp_plane *p, struct tbp_arena *a) {
    uint8_t *used = TBP_NEW_N(a, uint8_t, p->n_metas);
    for (size_t k = 0; k < p->n_lines; k++)
        for (size_t i = 0; i < p->lines[k].ev.n && p->lines[k].metas == p->metas; i++)
            if ((p->host->is_foreign || p->lines[k].is_rebuilt ||
                 (p->lines[k].ev.flags[i] & TBP_EVENT_MADE)) &&
                !is_result(&p->lines[k], i))
                used[p->lines[k].ev.meta[i]] = 1;
    return used;
}

static void write_plane_stats(const struct rewrite *rw, struct tbp_xspace_out *o,
                              const struct tbp_plane *p, const struct plane_ids *ids) {
    for (size_t i = 0; i < p->n_stats; i++) {
        struct tbp_stat st;
        bool is_read = tbp_stat_decode(p, tbp_wire_of(p->stats[i].p, p->stats[i].n), &st);
        if (ids->vendor && st.meta->key == TBP_STAT_DEVICE_VENDOR)
            continue; /* the empty one */
        if (rw->repairs && tbp_is_file_mark(st.meta->name))
            continue; /* counted among those that are written */
        if (!rw->is_damaged)
            tbp_xspace_stat_raw(o, p->stats[i]);
        else if (is_read)
            write_stat(o, &st, st.meta->id);
    }
    if (ids->vendor)
        tbp_xspace_stat_str(o, ids->vendor, TBP_STR("Nvidia"));
    if (ids->epoch)
        tbp_xspace_stat_i64(o, ids->epoch, rw->h->epoch_ns);
    for (size_t k = 0; k < TBP_FILE_MARKS; k++)
        if (ids->marks[k])
            tbp_xspace_stat_i64(o, ids->marks[k], (int64_t)rw->n_marked[k]);
}

static void write_plane(struct rewrite *rw, struct tbp_xspace_out *o, const struct tbp_plane *p) {
    struct plane_ids ids = ids_of(rw, p);
    tbp_xspace_plane(o, p->id, p->name);
    write_plane_stats(rw, o, p, &ids);
    for (size_t i = 0; i < p->n_lines; i++)
        write_line(rw, o, &p->lines[i], &ids);
    struct tbp_arena a;
    tbp_arena_init(&a);
    const uint8_t *is_used = find_used_names(p, &a);
    for (size_t i = 1; i < p->n_metas; i++)
        if (p->metas[i].wire.n || is_used[i])
            write_event_name(o, rw, p, &p->metas[i]);
    tbp_arena_release(&a);
    write_stat_names(rw, o, p, &ids);
}

/* Plugin 2.19.0 needs a plane of the host; it stands last. Marks have no other where nothing else
 * is left. */
static void add_host_plane(struct tbp_xspace_out *o, const struct rewrite *rw) {
    const struct tbp_host *h = rw->h;
    enum { ADDED = 1, FIRST_MARK };
    int64_t id = 1;
    for (size_t i = 0; i < h->n_planes; i++)
        if (h->planes[i].id >= id && h->planes[i].id < INT64_MAX)
            id = h->planes[i].id + 1;
    tbp_xspace_plane(o, id, TBP_STR(TBP_HOST_PLANE));
    tbp_xspace_stat_i64(o, ADDED, 1);
    for (size_t k = 0; k < TBP_FILE_MARKS && h->n_planes == 0; k++)
        if (rw->n_marked[k])
            tbp_xspace_stat_i64(o, FIRST_MARK + (int64_t)k, (int64_t)rw->n_marked[k]);
    tbp_xspace_stat_name(o, ADDED, TBP_STR(TBP_MARK_ADDED_PLANE));
    for (size_t k = 0; k < TBP_FILE_MARKS && h->n_planes == 0; k++)
        if (rw->n_marked[k])
            tbp_xspace_stat_name(o, FIRST_MARK + (int64_t)k, rw->mark_names[k]);
}

static int source(void *ctx, struct tbp_xspace_out *o, struct tbp_error *err) {
    struct rewrite *rw = ctx;
    const struct tbp_host *h = rw->h;
    (void)err;
    rw->n_left_out = 0;
    for (size_t i = 0; i < h->n_planes; i++)
        write_plane(rw, o, &h->planes[i]);
    if (rw->repairs && !tbp_host_plane(h, TBP_HOST_PLANE))
        add_host_plane(o, rw);
    for (size_t i = 0; i < h->n_errors; i++)
        tbp_xspace_error(o, h->errors[i]);
    for (size_t i = 0; i < h->n_warnings; i++)
        tbp_xspace_warning(o, h->warnings[i]);
    if (rw->damage.n)
        tbp_xspace_warning(o, rw->damage);
    for (size_t i = 0; i < h->n_hostnames; i++)
        tbp_xspace_hostname(o, h->hostnames[i]);
    return TBP_OK;
}

/* Shortest duration to keep, so that the file loses at least `excess` bytes; everything that may go
 * if it must. */
static uint64_t shortest_kept(const uint64_t *bytes_by_bits, uint64_t excess) {
    uint64_t sum = 0;
    for (unsigned bits = 0; bits < 64; bits++) {
        sum += bytes_by_bits[bits];
        if (sum >= excess)
            return (uint64_t)1 << bits;
    }
    return NEVER;
}

/* Leaves out what must be for the file to stay below max_bytes. */
static int thin(struct rewrite *rw, uint64_t max_bytes, struct tbp_error *err) {
    uint64_t bytes_by_bits[65] = {0}, size_bytes = 0;
    rw->bytes_by_bits = bytes_by_bits;
    int status = tbp_xspace_measure(source, rw, &size_bytes, err);
    rw->bytes_by_bits = NULL;
    if (status || size_bytes < max_bytes)
        return status;
    rw->shortest_ps = shortest_kept(bytes_by_bits, size_bytes - max_bytes + 64);
    return TBP_OK;
}

/* Has everything counted that the file is going to be repaired of, and decides what it tells. */
static int make_marks(struct rewrite *rw, struct tbp_session *s, uint32_t host, struct tbp_arena *a,
                      struct tbp_error *err) {
    if (!tbp_session_table(s, &tbp_analysis_gpu_pass, host, err) ||
        !tbp_session_table(s, &tbp_analysis_run_environment, host, err))
        return err->code;
    tbp_file_marks_of(rw->n_marked, rw->h);
    for (size_t k = 0; k < TBP_FILE_MARKS; k++)
        rw->mark_names[k] = tbp_file_mark_name(k, a);
    return TBP_OK;
}

static int write_host(struct rewrite *rw, uint64_t max_bytes, struct tbp_sink *sink,
                      struct tbp_rewritten *out, struct tbp_error *err) {
    int status = TBP_OK;
    uint64_t size_bytes = 0;
    if (rw->h->size_bytes > max_bytes / 2) /* it may grow a little: smaller ones need no look */
        status = thin(rw, max_bytes, err);
    if (!status)
        status = tbp_xspace_write(sink, source, rw, max_bytes, &size_bytes, err);
    tbp_wire_out_release(&rw->text);
    if (!status)
        out->n_left_out = rw->n_left_out;
    else if (status == TBP_E_LIMIT && size_bytes > max_bytes)
        out->too_large_bytes = size_bytes;
    return status;
}

int tbp_rewrite_xplane(struct tbp_session *s, uint32_t host, uint64_t max_bytes,
                       struct tbp_sink *sink, struct tbp_rewritten *out, struct tbp_error *err) {
    const struct tbp_host *h = tbp_session_host(s, host, err);
    *out = (struct tbp_rewritten){0};
    if (!h)
        return err->code;
    struct rewrite rw = {.h = h, .repairs = tbp_session_semantics(s) == TBP_SEMANTICS_REPAIR};
    struct tbp_arena names;
    tbp_arena_init(&names);
    rw.is_damaged = !h->is_foreign && must_not_be_copied(&h->ledger);
    rw.marks_steps = rw.repairs && has_repaired(h, TBP_LEDGER_REPAIR_STEP_NUM);
    rw.looks_for_shm = rw.repairs && (h->is_foreign || uses_shm(h));
    rw.damage = rw.repairs ? tbp_host_damage_text(h, &names) : TBP_STR_NONE;
    int status = rw.repairs ? make_marks(&rw, s, host, &names, err) : TBP_OK;
    if (!status)
        status = write_host(&rw, max_bytes ? max_bytes : TBP_XSPACE_MAX_BYTES, sink, out, err);
    tbp_arena_release(&names);
    return status;
}
