/* SPDX-License-Identifier: Apache-2.0
 *
 * One walk over the stats of a GPU event. Budget: 50 ns for ten stats (tests/bench): the id of a stat
 * leads by one table look-up to its key; stats nobody asks for are skipped unread.
 */
#include "convert/analyze/gpu_stats.h"

#include "schemas/xplane_fields.h"

enum { SLOTS_MAX = 1 << 16, TAG_ID = TBP_XSTAT_METADATA_ID << 3 };

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
    for (size_t i = 0; i + 1 < plane->n_stat_metas; i++) {
        int64_t id = plane->stat_metas[i].id;
        if (id >= 0 && id < SLOTS_MAX && (size_t)id >= n) {
            n = (size_t)id + 1;
        }
    }
    bool repair = semantics != TBP_SEMANTICS_OFFICIAL;
    uint8_t *slots = TBP_NEW_N(a, uint8_t, n + 1);
    for (size_t id = 0; id < n; id++) {
        uint32_t meta = tbp_plane_stat_meta_index(plane, (int64_t)id);
        enum tbp_stat_key key = plane->stat_metas[meta].key;
        slots[id] = is_wanted(key, repair) ? (uint8_t)key : 0;
    }
    *d = (struct tbp_gpu_decoder){
        .plane = plane, .slots = slots, .n_slots = n, .repair = repair};
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

/* Key of the stat in message w when it can be told from the first bytes, else TBP_STAT_KEYS. */
static unsigned quick_key(const struct tbp_gpu_decoder *d, struct tbp_wire w) {
    size_t n = (size_t)(w.end - w.at);
    if (n < 2 || w.at[0] != TAG_ID) {
        return TBP_STAT_KEYS;
    }
    uint64_t id = w.at[1];
    if (id >= 0x80) {
        if (n < 3 || w.at[2] >= 0x80) {
            return TBP_STAT_KEYS;
        }
        id = (id & 0x7f) | (uint64_t)w.at[2] << 7;
    }
    return id < d->n_slots ? d->slots[id] : TBP_STAT_KEYS;
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
        unsigned key = quick_key(d, f.bytes);
        struct tbp_stat s;
        if (key == 0 || !tbp_stat_decode(d->plane, f.bytes, &s)) {
            continue;
        }
        if (is_wanted(s.meta->key, d->repair)) {
            take(out, &level_0, s.meta->key, &s);
        }
    }
    if (out->tf_op.n == 0 && level_0.n > 0) {
        out->tf_op = level_0;
        out->tf_op_from_level_0 = true;
    }
}

void tbp_gpu_stats_read(const struct tbp_gpu_decoder *d, const struct tbp_line *l, size_t i,
                        struct tbp_gpu_stats *out) {
    *out = (struct tbp_gpu_stats){.tf_op = TBP_STR_NONE, .equation = TBP_STR_NONE,
                                  .kernel_details = TBP_STR_NONE, .hlo_op_path = TBP_STR_NONE,
                                  .hlo_op = TBP_STR_NONE, .hlo_module = TBP_STR_NONE};
    if (l->ev.body[i] != TBP_NO_BODY && (l->ev.has[i] & TBP_HAS_STATS)) {
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
