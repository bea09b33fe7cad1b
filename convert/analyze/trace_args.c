/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments and flows of one event as the trace viewers see them; see trace_model.h.
 * Hot path: every shown event passes here once; about 10 ns per stat. Stats are decoded straight
 * from the wire bytes, since references must stay numbers of metadata entries (whose texts the
 * tools have prepared).
 */
#include "convert/analyze/trace_model.h"
#include "convert/model/stat_parts.h"

#include <string.h>

enum {
    RUN_ID_BITS = 27,
    FLOW_IN = 1,
    FLOW_OUT = 2,
    FLOW_ID_BITS = 56,
    CONTEXT_GPU_LAUNCH = 9,
    CONTEXTS = 18
};

void tbp_trace_args_release(struct tbp_trace_args *a) {
    tbp_vec_release(&a->at);
    tbp_vec_release(&a->text);
}

int tbp_trace_key_cmp(const struct tbp_trace_key *a, const struct tbp_trace_key *b) {
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix ? -1 : 1;
    return tbp_str_cmp(a->name, b->name);
}

/* ---- wire ---- */

/* See trace_model.h. */
bool tbp_trace_decode(const struct tbp_trace_plane *p, struct tbp_wire w,
                      struct tbp_trace_arg *out) {
    *out = (struct tbp_trace_arg){.type = TBP_STAT_NONE};
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) > 0) {
        if (f.type == TBP_WIRE_VARINT && f.number == TBP_XSTAT_METADATA_ID) {
            out->key = tbp_plane_stat_meta_index(p->plane, (int64_t)f.value);
        } else if (f.type == TBP_WIRE_VARINT && f.number == TBP_XSTAT_INT64) {
            out->type = TBP_STAT_INT64;
            out->u = f.value;
        } else if (f.type == TBP_WIRE_VARINT && f.number == TBP_XSTAT_UINT64) {
            out->type = TBP_STAT_UINT64;
            out->u = f.value;
        } else if (f.type == TBP_WIRE_VARINT && f.number == TBP_XSTAT_REF) {
            out->type = TBP_STAT_REF;
            out->ref = tbp_plane_stat_meta_index(p->plane, (int64_t)f.value);
        } else if (f.type == TBP_WIRE_BYTES &&
                   (f.number == TBP_XSTAT_STR || f.number == TBP_XSTAT_BYTES)) {
            out->type = f.number == TBP_XSTAT_STR ? TBP_STAT_STR : TBP_STAT_BYTES;
            out->s = tbp_wire_str(f.bytes);
        } else if (f.type == TBP_WIRE_FIXED64 && f.number == TBP_XSTAT_DOUBLE) {
            out->type = TBP_STAT_DOUBLE;
            out->d = tbp_wire_double(f.value);
        }
    }
    return got == 0;
}

static bool decode_quick(const struct tbp_plane *p, struct tbp_wire w, struct tbp_trace_arg *out) {
    struct tbp_stat_parts s;
    if (!tbp_stat_split(p, w, &s))
        return false;
    out->key = s.meta;
    switch (s.key) {
    case TBP_KEY(TBP_XSTAT_INT64, VARINT):
        out->type = TBP_STAT_INT64;
        out->u = tbp_stat_parts_number(&s);
        break;
    case TBP_KEY(TBP_XSTAT_UINT64, VARINT):
        out->type = TBP_STAT_UINT64;
        out->u = tbp_stat_parts_number(&s);
        break;
    case TBP_KEY(TBP_XSTAT_REF, VARINT):
        out->type = TBP_STAT_REF;
        out->ref = tbp_plane_stat_meta_index(p, (int64_t)tbp_stat_parts_number(&s));
        break;
    case TBP_KEY(TBP_XSTAT_DOUBLE, FIXED64):
        out->type = TBP_STAT_DOUBLE;
        out->d = tbp_stat_parts_double(&s);
        break;
    default:
        out->type = s.key == TBP_KEY(TBP_XSTAT_STR, BYTES) ? TBP_STAT_STR : TBP_STAT_BYTES;
        out->s = tbp_stat_parts_text(&s);
        break;
    }
    return true;
}

/* ---- values that preprocessing sets ---- */

/* What is still to be set; the first stat of the name is overwritten, else one is appended. */
struct pending {
    bool group, eager, step_name, run_id;
    int64_t group_value, eager_value;
    struct tbp_str step_text;
};

static struct pending pending_of(const struct tbp_trace_line *tl, size_t i) {
    const struct tbp_line *l = tl->line;
    const uint8_t flags = l->ev.flags[i];
    if (tl->plane->as_in_file)
        return (struct pending){0};
    struct pending p = {.group = flags & TBP_EVENT_GROUPED,
                        .eager = flags & TBP_EVENT_EAGER_SET,
                        .eager_value = (flags & TBP_EVENT_EAGER) != 0};
    if (flags & TBP_EVENT_GROUPED)
        p.group_value = l->ev.group[i];
    if (flags & TBP_EVENT_STEP_NAMED) {
        int64_t group = 0;
        p.step_name = tbp_event_group(l, i, &group) &&
                      tbp_host_group_name(tl->plane->plane->host, group, &p.step_text);
    }
    if (tl->plane->links.rewrites) {
        enum tbp_event_kind kind = tbp_event_kind_at(l, i);
        p.run_id = kind == TBP_EVENT_DO_ENQUEUE_PROGRAM || kind == TBP_EVENT_COMPLETE_CALLBACKS ||
                   kind == TBP_EVENT_DO_ENQUEUE_CONTINUATION;
    }
    return p;
}

static void set_int(struct tbp_trace_arg *a, bool *pending, int64_t v) {
    if (!*pending)
        return;
    a->type = TBP_STAT_INT64;
    a->i = v;
    *pending = false;
}

static size_t put(char *to, size_t n, struct tbp_str s) {
    memcpy(to + n, s.p, s.n);
    return n + s.n;
}

size_t tbp_trace_repaired_details(struct tbp_str s, char *to) {
    const struct tbp_str shared = TBP_STR("static_shared:"), tail = TBP_STR(" dynamic_shared:0");
    bool in_value = false;
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        const char c = s.p[i];
        const bool starts = i == 0 || s.p[i - 1] == ' ' || s.p[i - 1] == '\n';
        if (in_value && (c == ' ' || c == '\n')) {
            n = put(to, n, tail);
            in_value = false;
        }
        if (starts && s.n - i > 4 && memcmp(s.p + i, "shm:", 4) == 0) {
            n = put(to, n, shared);
            i += 3;
            in_value = true;
        } else {
            to[n++] = c;
        }
    }
    return in_value ? put(to, n, tail) : n;
}

/* The text must not move while its event is used, so only the first value of an event is repaired.
 */
static void repair_details(struct tbp_trace_args *out, struct tbp_trace_arg *a) {
    if (a->type != TBP_STAT_STR || out->text.n || !tbp_str_has(a->s, "shm:"))
        return;
    tbp_vec_reserve(&out->text, a->s.n * 8 + 64);
    out->text.n = tbp_trace_repaired_details(a->s, out->text.at);
    a->s = (struct tbp_str){out->text.at, out->text.n};
}

/* Applies preprocessing to a stat of the file; false if the stat is not shown. */
static bool adjust(const struct tbp_trace_plane *p, struct tbp_trace_arg *a, struct pending *set,
                   struct tbp_trace_args *out) {
    switch (p->keys[a->key].what) {
    case TBP_TRACE_HIDDEN:
        return false;
    case TBP_TRACE_GROUP_ID:
        set_int(a, &set->group, set->group_value);
        break;
    case TBP_TRACE_IS_EAGER:
        set_int(a, &set->eager, set->eager_value);
        break;
    case TBP_TRACE_RUN_ID:
        if (a->type == TBP_STAT_INT64 || a->type == TBP_STAT_UINT64)
            set_int(a, &set->run_id, a->i & ((1 << RUN_ID_BITS) - 1));
        else
            set_int(a, &set->run_id, 0);
        break;
    case TBP_TRACE_STEP_NAME:
        if (set->step_name) {
            a->type = TBP_STAT_STR;
            a->s = set->step_text;
            set->step_name = false;
        }
        break;
    case TBP_TRACE_KERNEL_DETAILS:
        if (p->repairs_details)
            repair_details(out, a);
        break;
    default:
        break;
    }
    return a->type != TBP_STAT_NONE;
}

static struct tbp_trace_arg *append(struct tbp_trace_args *out, const struct tbp_trace_plane *p,
                                    enum tbp_made_key key, enum tbp_stat_type type) {
    struct tbp_trace_arg *a = tbp_vec_push(&out->at);
    *a = (struct tbp_trace_arg){.key = p->made_keys + (uint32_t)key, .type = (uint8_t)type};
    return a;
}

static void append_rest(const struct tbp_trace_line *l, size_t i, const struct pending *set,
                        struct tbp_trace_args *out) {
    const struct tbp_trace_plane *p = l->plane;
    uint64_t flow;
    if (p->makes_flows && tbp_trace_flow(l, i, &flow))
        append(out, p, TBP_MADE_FLOW, TBP_STAT_UINT64)->u = flow;
    if (set->group)
        append(out, p, TBP_MADE_GROUP_ID, TBP_STAT_INT64)->i = set->group_value;
    if (set->step_name)
        append(out, p, TBP_MADE_STEP_NAME, TBP_STAT_STR)->s = set->step_text;
    if (set->eager)
        append(out, p, TBP_MADE_IS_EAGER, TBP_STAT_INT64)->i = set->eager_value;
    int64_t group;
    if (!p->as_in_file && (l->line->ev.flags[i] & TBP_EVENT_INHERITED) &&
        tbp_event_group(l->line, i, &group))
        append(out, p, TBP_MADE_GROUP_ID, TBP_STAT_INT64)->i = group;
}

static void made_args(const struct tbp_trace_line *l, size_t i, struct tbp_trace_args *out) {
    const struct tbp_made_line *m = l->made;
    if (m->line.ev.flags[i] & TBP_EVENT_GROUPED)
        append(out, l->plane, TBP_MADE_GROUP_ID, TBP_STAT_INT64)->i = m->line.ev.group[i];
    for (uint32_t k = m->first_stat ? m->first_stat[i] : 0;
         m->first_stat && k < m->first_stat[i + 1]; k++) {
        struct tbp_trace_arg *a = append(out, l->plane, m->stats[k].key, m->stats[k].type);
        if (m->stats[k].type == TBP_STAT_STR)
            a->s = m->stats[k].s;
        else
            a->u = m->stats[k].u;
    }
}

void tbp_trace_event_args(const struct tbp_trace_line *l, size_t i, struct tbp_trace_args *out) {
    out->at.n = out->text.n = 0;
    if (l->made) {
        made_args(l, i, out);
        return;
    }
    struct pending set = pending_of(l, i);
    struct tbp_stat_iter it = tbp_stat_iter_event(l->line, i);
    for (struct tbp_wire w; tbp_stat_next_message(&it, &w);) {
        struct tbp_trace_arg *a = tbp_vec_push(&out->at);
        bool is_read =
            (it.has_slack && decode_quick(it.plane, w, a)) || tbp_trace_decode(l->plane, w, a);
        if (!is_read || !adjust(l->plane, a, &set, out))
            out->at.n--;
    }
    append_rest(l, i, &set, out);
}

/* ---- flows ---- */

/* Any 64-bit mix will do: only equality of flow ids is visible. */
static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
}

static uint64_t flow_value(uint64_t id, unsigned direction, uint64_t context) {
    return (id & ((UINT64_C(1) << FLOW_ID_BITS) - 1)) << 2 | direction | context << 58;
}

static uint64_t safe_context(uint64_t type) {
    return type < CONTEXTS ? type : 0;
}

/* Flow by correlation: only unsigned values are read, others count as 0. The last stat counts. */
static bool correlation_flow(const struct tbp_trace_line *l, size_t i, uint64_t *flow) {
    if (!(l->line->ev.has[i] & TBP_HAS_CORRELATION))
        return false;
    uint64_t value = 0;
    struct tbp_stat_iter it = tbp_stat_iter_event(l->line, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);)
        if (st.meta->key == TBP_STAT_CORRELATION_ID)
            value = tbp_stat_u(&st);
    unsigned direction = l->plane->is_device ? FLOW_IN : FLOW_OUT;
    *flow = flow_value(mix(l->plane->host_hash, value), direction, CONTEXT_GPU_LAUNCH);
    return true;
}

static bool computed_flow(const struct tbp_trace_line *l, size_t i, uint64_t *flow) {
    struct tbp_links links;
    tbp_event_links(l->line, i, &l->plane->links, &links);
    const uint64_t salt = mix(l->plane->host_hash, 1);
    if (links.has_consumer) {
        uint64_t context = safe_context(links.consumer_type_iu);
        *flow = flow_value(mix(mix(salt, links.consumer_id), context), FLOW_IN, context);
    } else if (links.has_producer) {
        uint64_t context = safe_context(links.producer_type_iu);
        *flow = flow_value(mix(mix(salt, links.producer_id), context), FLOW_OUT, context);
    } else {
        return correlation_flow(l, i, flow);
    }
    return true;
}

static bool file_flow(const struct tbp_trace_line *l, size_t i, uint64_t *flow) {
    bool found = false;
    if (!(l->line->ev.has[i] & TBP_HAS_FLOW))
        return false;
    struct tbp_stat_iter it = tbp_stat_iter_event(l->line, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);)
        if (st.meta->key == TBP_STAT_FLOW &&
            (st.type == TBP_STAT_INT64 || st.type == TBP_STAT_UINT64)) {
            *flow = st.u;
            found = true;
        }
    return found;
}

static bool meta_flow(const struct tbp_trace_line *l, size_t i, uint64_t *flow) {
    const struct tbp_trace_meta *m = tbp_trace_meta_at(l, i);
    bool found = false;
    for (uint32_t k = 0; m->has_special && k < m->n_args; k++) {
        const struct tbp_trace_arg *a = &m->args[k];
        if (l->plane->keys[a->key].what == TBP_TRACE_FLOW &&
            (a->type == TBP_STAT_INT64 || a->type == TBP_STAT_UINT64)) {
            *flow = a->u;
            found = true;
        }
    }
    return found;
}

bool tbp_trace_flow(const struct tbp_trace_line *l, size_t i, uint64_t *flow) {
    if (l->made)
        return meta_flow(l, i, flow);
    if (l->plane->makes_flows && !(l->line->ev.flags[i] & TBP_EVENT_MADE)) {
        const uint32_t needed = TBP_HAS_CORRELATION | TBP_HAS_LINK | TBP_HAS_RUN | TBP_HAS_ITER_NUM;
        if ((l->line->ev.has[i] & needed) && computed_flow(l, i, flow))
            return true;
    }
    return file_flow(l, i, flow) || meta_flow(l, i, flow);
}
