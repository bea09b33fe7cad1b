/* SPDX-License-Identifier: Apache-2.0
 *
 * Event texts of trace_viewer@; see trace_stream_json.h.
 * Budget: about 1 us per event of an answer, the compression of it included.
 */
#include "convert/tool/trace_stream_json.h"

#include <math.h>
#include <string.h>

#define EXACT_INTEGERS (INT64_C(1) << 53)

static const char *const contexts[18] = {
    "",
    "",
    "tf_exec",
    "tfrt_exec",
    "batch_sched",
    "PjRt",
    "as_batch_sched",
    "tfrt_rt",
    "tpu_embed",
    "gpu_launch",
    "batcher",
    "tpu_stream",
    "tpu_launch",
    "pathways_exec",
    "pjrt_library_call",
    "threadpool_event",
    "jax_serving",
    "sparsecore_offload",
};

static inline void put(struct tbp_json *j, struct tbp_str s) {
    if (s.n) /* the pointer of an empty text may be NULL */
        tbp_json_raw(j, s.p, s.n);
}

void tbp_stream_scratch_release(struct tbp_stream_scratch *s) {
    tbp_trace_args_release(&s->args);
    tbp_vec_release(&s->all);
}

/* ---- arguments ---- */

static bool is_int(const struct tbp_trace_arg *a) {
    return a->type == TBP_STAT_INT64 || a->type == TBP_STAT_UINT64;
}

static bool is_field(enum tbp_trace_what what) {
    return what == TBP_TRACE_GROUP_ID || what == TBP_TRACE_FLOW || what == TBP_TRACE_ASYNC;
}

struct group {
    bool known;
    int64_t id;
};

static void take_args(const struct tbp_trace_plane *p, const struct tbp_trace_arg *args, size_t n,
                      struct tbp_stream_scratch *s, struct group *group) {
    for (size_t k = 0; k < n; k++) {
        const enum tbp_trace_what what = (enum tbp_trace_what)p->keys[args[k].key].what;
        if (is_int(&args[k]) && is_field(what)) {
            if (what == TBP_TRACE_GROUP_ID)
                *group = (struct group){true, args[k].i};
        } else if (args[k].type != TBP_STAT_BYTES) {
            *tbp_vec_push(&s->all) = args[k];
        }
    }
}

/* Fills s->all with what is an argument; long_name comes first. */
static struct group collect(const struct tbp_trace_line *l, size_t i,
                            struct tbp_stream_scratch *s) {
    const struct tbp_trace_meta *m = tbp_trace_meta_at(l, i);
    struct group group = {0};
    s->all.n = 0;
    if (m->has_long_name)
        *tbp_vec_push(&s->all) = (struct tbp_trace_arg){
            .key = l->plane->long_name, .type = TBP_STAT_STR, .s = m->full_name};
    take_args(l->plane, m->args, m->n_args, s, &group);
    tbp_trace_event_args(l, i, &s->args);
    take_args(l->plane, s->args.at.at, s->args.at.n, s, &group);
    return group;
}

/* Group alone, without looking at stats where the column tells it. */
static struct group group_of(const struct tbp_trace_line *l, size_t i,
                             struct tbp_stream_scratch *s) {
    const struct tbp_trace_meta *m = tbp_trace_meta_at(l, i);
    if (m->has_special)
        return collect(l, i, s);
    const uint8_t flags = l->line->ev.flags[i];
    const int32_t column = l->line->ev.group[i];
    if (l->made && (flags & TBP_EVENT_GROUPED))
        return (struct group){true, column};
    if (l->made || !(l->line->ev.has[i] & TBP_HAS_GROUP))
        return (struct group){0};
    const bool computed = flags & (TBP_EVENT_GROUPED | TBP_EVENT_INHERITED);
    if (column != TBP_GROUP_WIDE && (column != 0 || computed) && !l->plane->as_in_file)
        return (struct group){true, column};
    return collect(l, i, s); /* 0 may also stand for a number stored unsigned */
}

static bool is_utilization(struct tbp_str name) {
    return tbp_str_ends(name, "(util %)") || tbp_str_ends(name, " (MB/sec)");
}

static void put_double(struct tbp_json *j, struct tbp_str name, double v) {
    if (is_utilization(name))
        tbp_json_printf(j, "%.2f", v);
    else
        j->n += tbp_number_g17(tbp_json_room(j, TBP_NUMBER_MAX), v);
}

static void put_int(struct tbp_json *j, const struct tbp_trace_arg *a) {
    const bool quoted = a->type == TBP_STAT_UINT64
                            ? a->u > (uint64_t)EXACT_INTEGERS
                            : a->i > EXACT_INTEGERS || a->i < -EXACT_INTEGERS;
    if (quoted)
        tbp_json_char(j, '"');
    if (a->type == TBP_STAT_UINT64)
        tbp_json_u64(j, a->u);
    else
        tbp_json_i64(j, a->i);
    if (quoted)
        tbp_json_char(j, '"');
}

static void put_text_arg(struct tbp_json *j, const struct tbp_trace_plane *p,
                         const struct tbp_trace_arg *a) {
    struct tbp_str text = tbp_trace_text(p, a);
    const bool is_cut = tbp_trace_is_cut(p, a);
    tbp_json_text(j, is_cut ? tbp_trace_cut(text) : text, TBP_JSON_TRACE);
    tbp_json_lit(j, is_cut ? TBP_CUT_MARK : "");
    tbp_json_char(j, '"');
}

static void put_number_arg(struct tbp_json *j, struct tbp_str name, const struct tbp_trace_arg *a) {
    if (is_int(a))
        put_int(j, a);
    else if (isnan(a->d))
        tbp_json_lit(j, "\"NaN\"");
    else if (isinf(a->d))
        tbp_json_lit(j, "\"Infinity\""); /* also for the negative one */
    else
        put_double(j, name, a->d);
}

/* ---- events ---- */

static void put_args(struct tbp_json *j, const struct tbp_stream_host *h,
                     const struct tbp_trace_line *l, bool comma,
                     const struct tbp_stack_frames *frames, const struct tbp_stream_scratch *s,
                     uint32_t *frame) {
    const struct tbp_trace_plane *p = l->plane;
    const struct tbp_trace_texts *texts = &h->texts->planes[p - h->index->trace->planes];
    for (size_t k = 0; k < s->all.n; k++) {
        const struct tbp_trace_arg *a = &s->all.at[k];
        const bool is_text = a->type == TBP_STAT_STR || a->type == TBP_STAT_REF;
        const bool framed = tbp_trace_is_frame(p, a);
        if (framed && *frame == 0) {
            struct tbp_arena scratch;
            tbp_arena_init(&scratch);
            *frame = tbp_strtab_get(&frames->texts, tbp_trace_frame_text(&scratch, p, a)) + 1;
            tbp_arena_release(&scratch);
            continue;
        }
        if (comma)
            tbp_json_char(j, ',');
        comma = true;
        tbp_json_char(j, '"');
        put(j, texts->keys[a->key]);
        tbp_json_lit(j, is_text ? framed ? "\":\"@@" : "\":\"" : "\":");
        if (is_text)
            put_text_arg(j, p, a);
        else
            put_number_arg(j, p->keys[a->key].name, a);
    }
}

static void put_name(struct tbp_json *j, const struct tbp_stream_host *h,
                     const struct tbp_trace_line *l, size_t i) {
    const struct tbp_trace_texts *texts = &h->texts->planes[l->plane - h->index->trace->planes];
    const bool named = l->line->ev.flags[i] & TBP_EVENT_STEP_NAMED;
    const bool may = named || (!l->made && (l->line->ev.has[i] & TBP_HAS_STEP_NAME)) ||
                     tbp_trace_meta_at(l, i)->has_special;
    if (may)
        tbp_json_text(j, tbp_trace_event_name(l, i), TBP_JSON_TRACE);
    else
        put(j, (l->made ? texts->made : texts->metas)[l->line->ev.meta[i]]);
}

static void put_flow(struct tbp_json *j, uint64_t flow) {
    static const char *const ends[] = {"", ",\"flow_in\":true", ",\"flow_out\":true",
                                       ",\"flow_in\":true,\"flow_out\":true"};
    tbp_json_lit(j, ",\"bind_id\":");
    tbp_json_u64(j, tbp_flow_id(flow));
    const char *context = contexts[tbp_flow_context(flow)];
    if (context[0]) {
        tbp_json_lit(j, ",\"cat\":\"");
        tbp_json_lit(j, context);
        tbp_json_char(j, '"');
    }
    tbp_json_lit(j, ends[tbp_flow_direction(flow)]);
}

static void put_async(struct tbp_json *j, uint64_t flow, enum tbp_flow_direction direction) {
    static const char *const phases[] = {"", ",\"ph\":\"e\"", ",\"ph\":\"b\"", ",\"ph\":\"b\""};
    tbp_json_lit(j, ",\"id\":");
    tbp_json_u64(j, tbp_flow_id(flow));
    tbp_json_lit(j, ",\"cat\":\"");
    tbp_json_lit(j, contexts[tbp_flow_context(flow)]);
    tbp_json_char(j, '"');
    tbp_json_lit(j, phases[direction]);
}

static void put_serial(struct tbp_json *j, uint32_t serial) {
    if (serial) {
        tbp_json_lit(j, ",\"z\":");
        tbp_json_u64(j, serial);
    }
    tbp_json_char(j, '}');
}

static void put_group(struct tbp_json *j, struct group group) {
    if (group.known) {
        tbp_json_lit(j, "\"group_id\":");
        tbp_json_i64(j, group.id);
    }
}

/* Up to ts, which has no comma behind. */
static void put_start(struct tbp_json *j, const struct tbp_stream_host *h,
                      const struct tbp_track *t, struct tbp_track_ref r, uint64_t begin_ps) {
    const struct tbp_trace_line *l = h->index->lines[r.line];
    tbp_json_lit(j, ",{\"pid\":");
    tbp_json_u64(j, t->pid + h->pid_shift);
    if (t->has_tid) {
        tbp_json_lit(j, ",\"tid\":");
        tbp_json_u64(j, t->tid);
    }
    tbp_json_lit(j, ",\"name\":\"");
    put_name(j, h, l, r.event);
    tbp_json_lit(j, "\",\"ts\":");
    tbp_json_us17(j, begin_ps);
}

/* End of a thread-less event that both takes and passes on its flow. */
static void put_twin(struct tbp_json *j, const struct tbp_stream_host *h, const struct tbp_track *t,
                     struct tbp_track_ref r, uint32_t serial, struct group group) {
    put_start(j, h, t, r, tbp_index_begin(h->index, r) + tbp_index_dur(h->index, r));
    put_async(j, tbp_index_flow(h->index, r), TBP_FLOW_END);
    if (group.known) {
        tbp_json_lit(j, ",\"args\":{");
        put_group(j, group);
        tbp_json_char(j, '}');
    }
    put_serial(j, serial);
}

void tbp_stream_event(struct tbp_json *j, const struct tbp_stream_host *h,
                      const struct tbp_track *t, size_t at, const struct tbp_stack_frames *frames,
                      struct tbp_stream_scratch *s) {
    const struct tbp_track_ref r = tbp_track_at(t, at);
    const struct tbp_trace_line *l = h->index->lines[r.line];
    const uint64_t dur = tbp_index_dur(h->index, r), flow = tbp_index_flow(h->index, r);
    put_start(j, h, t, r, tbp_index_begin(h->index, r));
    if (t->has_tid) {
        tbp_json_lit(j, ",\"dur\":");
        tbp_json_us17(j, dur ? dur : 1);
        if (flow != TBP_NO_FLOW)
            put_flow(j, flow);
        tbp_json_lit(j, ",\"ph\":\"X\"");
    } else {
        put_async(j, flow, tbp_flow_direction(flow));
    }
    tbp_json_lit(j, ",\"args\":{");
    const struct group group = frames ? collect(l, r.event, s) : group_of(l, r.event, s);
    put_group(j, group);
    uint32_t frame = 0;
    if (frames) {
        put_args(j, h, l, group.known, frames, s, &frame);
    } else {
        tbp_json_lit(j, group.known ? ",\"uid\":" : "\"uid\":");
        tbp_json_u64(j, t->serial[at]);
    }
    tbp_json_char(j, '}');
    if (frame) {
        tbp_json_lit(j, ",\"sf\":");
        tbp_json_u64(j, frame);
    }
    put_serial(j, t->serial[at]);
    if (!t->has_tid && tbp_flow_direction(flow) == TBP_FLOW_MID)
        put_twin(j, h, t, r, t->serial[at], group);
}

/* ---- counters ---- */

static void put_sample_value(struct tbp_json *j, const struct tbp_trace_plane *p,
                             const struct tbp_trace_arg *a) {
    if (a->type == TBP_STAT_INT64) {
        tbp_json_i64(j, a->i);
    } else if (a->type == TBP_STAT_UINT64) {
        tbp_json_u64(j, a->u);
    } else if (a->type == TBP_STAT_DOUBLE && !isfinite(a->d)) {
        tbp_json_lit(j, "null");
    } else if (a->type == TBP_STAT_DOUBLE) {
        put_double(j, p->keys[a->key].name, a->d);
    } else {
        tbp_json_char(j, '"');
        put_text_arg(j, p, a);
    }
}

static void put_sample(struct tbp_json *j, const struct tbp_trace_plane *p, uint64_t begin_ps,
                       const struct tbp_stream_scratch *s, bool is_first) {
    tbp_json_lit(j, is_first ? "[" : ",[");
    tbp_json_us17(j, begin_ps);
    for (size_t k = 0; k < s->all.n; k++) {
        tbp_json_char(j, ',');
        put_sample_value(j, p, &s->all.at[k]);
    }
    tbp_json_char(j, ']');
}

static void put_counter_head(struct tbp_json *j, const struct tbp_stream_host *h,
                             const struct tbp_track *t, const struct tbp_trace_line *l,
                             const struct tbp_stream_scratch *s) {
    tbp_json_lit(j, ",{\"pid\":");
    tbp_json_u64(j, t->pid + h->pid_shift);
    tbp_json_lit(j, ",\"name\":\"");
    tbp_json_text(j, t->name, TBP_JSON_TRACE);
    tbp_json_lit(j, "\",\"ph\":\"C\"");
    if (s->all.n) {
        tbp_json_lit(j, ",\"event_stats\":\"");
        tbp_json_text(j, l->plane->keys[s->all.at[0].key].name, TBP_JSON_TRACE);
        tbp_json_char(j, '"');
    }
    tbp_json_lit(j, ",\"entries\":[");
}

size_t tbp_stream_counters(struct tbp_json *j, const struct tbp_stream_host *h,
                           const struct tbp_track *t, const struct tbp_track_picks *picks,
                           struct tbp_stream_scratch *s) {
    size_t samples = 0;
    bool is_first = true;
    for (size_t k = 0; k < picks->n; k++) {
        const struct tbp_track_ref r = tbp_track_at(t, picks->at[k]);
        const struct tbp_trace_line *l = h->index->lines[r.line];
        if (!tbp_trace_is_counter(l))
            continue;
        collect(l, r.event, s);
        if (samples++ == 0)
            put_counter_head(j, h, t, l, s);
        if (s->all.n == 0)
            continue; /* a sample without value would leave no valid JSON */
        if (s->all.at[0].type == TBP_STAT_DOUBLE && !isfinite(s->all.at[0].d))
            continue; /* the page draws the first value: officially a bare inf, which is no JSON */
        put_sample(j, l->plane, tbp_index_begin(h->index, r), s, is_first);
        is_first = false;
    }
    if (samples)
        tbp_json_lit(j, "]}");
    return samples;
}
