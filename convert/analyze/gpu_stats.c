/* SPDX-License-Identifier: Apache-2.0
 *
 * One walk over the stats of a GPU event. Budget: 50 ns for ten stats (tests/bench): the id of a
 * stat leads by one table look-up to its key; stats nobody asks for are skipped unread.
 */
#include "convert/analyze/gpu_stats.h"

#include "schemas/xplane_fields.h"

enum { IDS_MAX = 1 << 16, TAG_ID = TBP_XSTAT_METADATA_ID << 3 };

static bool is_wanted(enum tbp_stat_key key, bool repair) {
    switch (key) {
    case TBP_STAT_TF_OP:
    case TBP_STAT_EQUATION:
    case TBP_STAT_KERNEL_DETAILS:
    case TBP_STAT_HLO_OP:
    case TBP_STAT_HLO_MODULE:
    case TBP_STAT_PROGRAM_ID:
    case TBP_STAT_GROUP_ID:
    case TBP_STAT_IS_EAGER:
    case TBP_STAT_FLOPS:
    case TBP_STAT_BYTES_ACCESSED:
        return true;
    case TBP_STAT_LEVEL_0:
        return repair;
    default:
        return false;
    }
}

void tbp_gpu_decoder_init(struct tbp_gpu_decoder *d, const struct tbp_plane *plane,
                          enum tbp_semantics semantics, struct tbp_arena *a) {
    size_t n = 0;
    for (size_t i = 1; i < plane->n_stat_metas; i++) {
        int64_t id = plane->stat_metas[i].id;
        if (id >= 0 && id < IDS_MAX && (size_t)id >= n) {
            n = (size_t)id + 1;
        }
    }
    bool repair = semantics != TBP_SEMANTICS_OFFICIAL;
    uint8_t *keys = TBP_NEW_N(a, uint8_t, n);
    struct tbp_str *names = TBP_NEW_N(a, struct tbp_str, n);
    for (size_t id = 0; id < n; id++) {
        const struct tbp_stat_meta *m =
            &plane->stat_metas[tbp_plane_stat_meta_index(plane, (int64_t)id)];
        keys[id] = is_wanted(m->key, repair) ? (uint8_t)m->key : 0;
        names[id] = m->name;
    }
    *d = (struct tbp_gpu_decoder){
        .plane = plane, .keys = keys, .names = names, .n_ids = n, .repair = repair};
}

static void set_hlo_op(struct tbp_gpu_stats *out, struct tbp_str path) {
    size_t last = 0;
    for (size_t at = 0; at + 1 < path.n; at++) {
        if (path.p[at] == ':' && path.p[at + 1] == ':') {
            last = at + 2;
            at++;
        }
    }
    out->has_hlo_op = true;
    out->hlo_op_path = path;
    out->hlo_op = tbp_str_sub(path, last, path.n);
}

static void take(struct tbp_gpu_stats *out, struct tbp_str *level_0, enum tbp_stat_key key,
                 const struct tbp_stat *s) {
    switch (key) {
    case TBP_STAT_TF_OP:
        out->tf_op = tbp_stat_s(s);
        break;
    case TBP_STAT_LEVEL_0:
        *level_0 = tbp_stat_s(s);
        break;
    case TBP_STAT_EQUATION:
        out->equation = tbp_stat_s(s);
        break;
    case TBP_STAT_KERNEL_DETAILS:
        out->kernel_details = tbp_stat_s(s);
        break;
    case TBP_STAT_HLO_OP:
        set_hlo_op(out, tbp_stat_s(s));
        break;
    case TBP_STAT_HLO_MODULE:
        out->hlo_module = tbp_stat_s(s);
        break;
    case TBP_STAT_PROGRAM_ID:
        out->program_id = tbp_stat_iu(s);
        out->has_program_id = true;
        break;
    case TBP_STAT_GROUP_ID:
        out->group = tbp_stat_i(s);
        out->has_group = true;
        break;
    case TBP_STAT_IS_EAGER:
        out->is_eager = tbp_stat_b(s);
        break;
    case TBP_STAT_FLOPS:
        out->flops = tbp_stat_iu(s);
        out->has_flops = true;
        break;
    default:
        out->bytes_accessed = tbp_stat_iu(s);
        out->has_bytes = true;
        break;
    }
}

/* The value field in w, if it is the only thing there and of a common type. */
static bool quick_value(const struct tbp_gpu_decoder *d, struct tbp_wire w, struct tbp_stat *s) {
    struct tbp_wire_field f;
    if (tbp_wire_next(&w, &f) <= 0 || w.at != w.end) {
        return false;
    }
    switch (f.number << 3 | f.type) {
    case TBP_XSTAT_STR << 3 | TBP_WIRE_BYTES:
        s->type = TBP_STAT_STR;
        s->s = tbp_wire_str(f.bytes);
        return true;
    case TBP_XSTAT_REF << 3 | TBP_WIRE_VARINT:
        s->type = TBP_STAT_REF;
        s->s = f.value < d->n_ids ? d->names[f.value] : TBP_STR_NONE;
        return f.value < d->n_ids;
    case TBP_XSTAT_INT64 << 3 | TBP_WIRE_VARINT:
        s->type = TBP_STAT_INT64;
        s->i = (int64_t)f.value;
        return true;
    case TBP_XSTAT_UINT64 << 3 | TBP_WIRE_VARINT:
        s->type = TBP_STAT_UINT64;
        s->u = f.value;
        return true;
    default:
        return false;
    }
}

/* Key and value of the stat in message w; 0 if nobody asks for it. An id that comes first, where
 * every writer puts it, saves reading the rest of most stats. */
static enum tbp_stat_key read_stat(const struct tbp_gpu_decoder *d, struct tbp_wire w,
                                   struct tbp_stat *s) {
    struct tbp_wire rest = w;
    uint64_t id;
    if (rest.at < rest.end && *rest.at++ == TAG_ID && tbp_wire_varint(&rest, &id) == TBP_OK &&
        id < d->n_ids) {
        if (d->keys[id] == 0 || quick_value(d, rest, s)) {
            return (enum tbp_stat_key)d->keys[id];
        }
    }
    bool is_read = tbp_stat_decode(d->plane, w, s) && is_wanted(s->meta->key, d->repair);
    return is_read ? s->meta->key : TBP_STAT_OTHER;
}

static void read_file_stats(const struct tbp_gpu_decoder *d, const struct tbp_line *l, size_t i,
                            struct tbp_gpu_stats *out) {
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    struct tbp_wire_field f;
    struct tbp_str level_0 = TBP_STR_NONE;
    while (tbp_wire_next(&it.w, &f) > 0) {
        if (f.number != it.field || f.type != TBP_WIRE_BYTES) {
            continue;
        }
        struct tbp_stat s;
        enum tbp_stat_key key = read_stat(d, f.bytes, &s);
        if (key != TBP_STAT_OTHER) {
            take(out, &level_0, key, &s);
        }
    }
    if (out->tf_op.n == 0 && level_0.n > 0) {
        out->tf_op = level_0;
        out->tf_op_from_level_0 = true;
    }
}

void tbp_gpu_stats_read(const struct tbp_gpu_decoder *d, const struct tbp_line *l, size_t i,
                        struct tbp_gpu_stats *out) {
    *out = (struct tbp_gpu_stats){.tf_op = TBP_STR_NONE,
                                  .equation = TBP_STR_NONE,
                                  .kernel_details = TBP_STR_NONE,
                                  .hlo_op_path = TBP_STR_NONE,
                                  .hlo_op = TBP_STR_NONE,
                                  .hlo_module = TBP_STR_NONE};
    if (tbp_event_body(&l->ev, i) != TBP_NO_BODY && (l->ev.has[i] & TBP_HAS_STATS)) {
        read_file_stats(d, l, i, out);
    }
    uint8_t flags = l->ev.flags[i];
    if (flags & (TBP_EVENT_GROUPED | TBP_EVENT_INHERITED)) {
        out->has_group = tbp_event_group(l, i, &out->group);
    }
    if (flags & TBP_EVENT_EAGER_SET) {
        out->is_eager = (flags & TBP_EVENT_EAGER) != 0;
    }
}
