/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_viewer@: a window of the trace of one or several hosts, a search in it, or the details of
 * one event. Options are those of the page's request (rule 7 of the trace views).
 */
#include "convert/tool/tool.h"
#include "convert/tool/trace_stream_json.h"

#include <string.h>

enum { PIDS_PER_HOST = 1000, RESOLUTION_OF_PAGE = 8000 };

struct question {
    enum { ASKS_WINDOW, ASKS_SEARCH, ASKS_EVENT } kind;
    struct tbp_str text; /* prefix, or name of the event */
    double start_ms, end_ms, duration_ms, resolution, serial;
    bool with_args, full_dma;
};

/* A run of picked events of one track. */
struct piece {
    uint32_t host, track;
    size_t from, to;
};

struct answer {
    struct tbp_stream_host *hosts; /* those with processes */
    uint32_t n_hosts;
    struct question q;
    bool has_tpu, is_legacy;
    struct tbp_stack_frames frames;
    TBP_VEC(struct piece) pieces;
};

/* ---- the question ---- */

static bool is_true(const char *text) {
    return tbp_str_starts_nocase(tbp_str_c(text), "true") && strlen(text) == 4;
}

static int read_number(const struct tbp_request *r, const char *key, double fallback, double *out,
                       struct tbp_error *err) {
    if (tbp_request_number(r, key, fallback, out))
        return TBP_OK;
    return tbp_fail(err, TBP_E_OPTION, "'%s' of trace_viewer@ is no number", key);
}

static int read_question(const struct tbp_request *r, struct question *q, struct tbp_error *err) {
    const char *name = tbp_request_option(r, "event_name", "");
    const char *prefix = tbp_request_option(r, "search_prefix", "");
    *q = (struct question){.kind = name[0] ? ASKS_EVENT : prefix[0] ? ASKS_SEARCH : ASKS_WINDOW};
    q->text = tbp_str_c(name[0] ? name : prefix);
    q->full_dma = is_true(tbp_request_option(r, "full_dma", ""));
    q->with_args = q->kind == ASKS_EVENT || (q->kind == ASKS_SEARCH &&
                                             is_true(tbp_request_option(r, "search_metadata", "")));
    int status = read_number(r, "start_time_ms", 0, &q->start_ms, err);
    if (!status)
        status = read_number(r, "end_time_ms", 0, &q->end_ms, err);
    if (!status)
        status = read_number(r, "duration_ms", 0, &q->duration_ms, err);
    if (!status)
        status = read_number(r, "resolution", RESOLUTION_OF_PAGE, &q->resolution, err);
    if (!status)
        status = read_number(r, "unique_id", 0, &q->serial, err);
    return status;
}

static int64_t whole(double v) {
    if (!(v > -9e18))
        return 0;
    return v < 9e18 ? (int64_t)v : INT64_MAX;
}

/* ---- hosts ---- */

static int failed(const struct tbp_error *err) {
    return err ? err->code : TBP_E_INTERNAL;
}

static bool has_tpu(const struct tbp_trace *t) {
    for (size_t i = 0; i < t->n_planes; i++)
        if (t->planes[i].n_lines && tbp_is_tpu_plane(t->planes[i].name))
            return true;
    return false;
}

static int pick_window(struct answer *a, struct tbp_stream_host *h, struct tbp_session *s,
                       uint32_t host, struct tbp_error *err) {
    const struct question *q = &a->q;
    const struct tbp_trace_window w = {q->start_ms, q->end_ms, whole(q->resolution),
                                       has_tpu(h->index->trace) && !q->full_dma};
    const enum tbp_window_needs needs = tbp_trace_window_needs(h->index, &w);
    const struct tbp_trace_levels *levels = NULL;
    const struct tbp_level_lists *lists = NULL;
    if (needs == TBP_WINDOW_NEEDS_LEVELS && !(levels = tbp_trace_levels(s, host, err)))
        return failed(err);
    if (needs == TBP_WINDOW_NEEDS_LISTS && !(lists = tbp_level_lists(s, host, err)))
        return failed(err);
    return tbp_trace_pick_window(h->index, levels, lists, &w, tbp_session_pool(s), &h->arena,
                                 &h->picks, err);
}

static int pick(struct answer *a, struct tbp_stream_host *h, struct tbp_session *s, uint32_t host,
                struct tbp_error *err) {
    const struct question *q = &a->q;
    if (q->kind == ASKS_WINDOW)
        return pick_window(a, h, s, host, err);
    if (q->kind == ASKS_SEARCH) {
        const struct tbp_trace_levels *levels = tbp_trace_levels(s, host, err);
        const struct tbp_trace_names *names = levels ? tbp_trace_names(s, host, err) : NULL;
        if (!names)
            return failed(err);
        tbp_trace_pick_prefix(levels, names, q->text, &h->arena, &h->picks);
        return TBP_OK;
    }
    tbp_trace_pick_event(h->index, q->text, q->start_ms, q->duration_ms, whole(q->serial),
                         &h->arena, &h->picks);
    if (h->picks.n == 0)
        return tbp_fail(err, TBP_E_NOT_FOUND, "event '%.*s' not found", (int)q->text.n, q->text.p);
    return TBP_OK;
}

static void add_frames(struct answer *a, const struct tbp_stream_host *h) {
    if (a->q.kind != ASKS_EVENT) { /* frames of all events, shown or not */
        for (size_t i = 0; i < h->texts->n_frames; i++)
            tbp_strtab_put(&a->frames.texts, h->texts->frames[i]);
        return;
    }
    for (size_t k = 0; k < h->index->n_tracks; k++)
        if (h->picks.tracks[k].n) {
            struct tbp_track_ref r = tbp_track_at(&h->index->tracks[k], h->picks.tracks[k].at[0]);
            tbp_trace_frames_of_event(&a->frames.texts, &a->frames.arena, h->index->lines[r.line],
                                      r.event);
        }
}

/* position: of the host in the request, from 1. */
static int add_host(struct answer *a, struct tbp_session *s, uint32_t host, uint32_t position,
                    struct tbp_error *err) {
    struct tbp_stream_host *h = &a->hosts[a->n_hosts];
    /* Older plugins ask for one host only and show its ids as they are. */
    h->pid_shift = a->is_legacy && tbp_session_n_hosts(s) == 1 ? 0 : PIDS_PER_HOST * position;
    h->index = tbp_trace_index(s, host, err);
    h->texts = h->index ? tbp_host_texts(s, host, err) : NULL;
    if (!h->texts)
        return failed(err);
    tbp_arena_init(&h->arena);
    a->n_hosts++;
    int status = pick(a, h, s, host, err);
    if (status)
        return status;
    a->has_tpu |= has_tpu(h->index->trace);
    add_frames(a, h);
    return TBP_OK;
}

/* ---- the head of the document ---- */

static void put_processes(struct tbp_json *j, const struct tbp_str *names, uint32_t host,
                          const struct tbp_stream_host *h, struct tbp_arena *a, bool *any) {
    size_t n_threads = 0, n = 0, n_processes = 0;
    for (size_t i = 0; i < h->index->trace->n_planes; i++)
        n_threads += h->index->trace->planes[i].n_lines;
    struct tbp_trace_thread *p = TBP_NEW_N(a, struct tbp_trace_thread, h->index->trace->n_planes);
    struct tbp_trace_thread *t = TBP_NEW_N(a, struct tbp_trace_thread, n_threads);
    for (size_t i = 0; i < h->index->trace->n_planes; i++) {
        const struct tbp_trace_plane *plane = &h->index->trace->planes[i];
        if (plane->n_lines == 0)
            continue;
        p[n_processes++] = (struct tbp_trace_thread){plane->pid, 0, plane->pid, plane->name};
        for (size_t k = 0; k < plane->n_lines; k++) {
            const struct tbp_trace_line *l = &plane->lines[k];
            if (l->line->ev.n && !tbp_trace_is_counter(l))
                t[n++] = (struct tbp_trace_thread){plane->pid, l->tid, l->tid, l->name};
        }
    }
    n_processes = tbp_trace_threads_sort(p, n_processes);
    n = tbp_trace_threads_sort(t, n);
    for (size_t i = 0, k = 0, end = 0; i < n_processes; i++, k = end) {
        while (end < n && t[end].pid == p[i].pid)
            end++;
        const uint32_t pid = p[i].pid + h->pid_shift;
        tbp_json_lit(j, *any ? ",{\"args\":{\"name\":\"" : "{\"args\":{\"name\":\"");
        *any = true;
        tbp_json_text(j, names[host], TBP_JSON_TRACE);
        tbp_json_char(j, ' ');
        tbp_json_text(j, p[i].name, TBP_JSON_TRACE);
        tbp_json_printf(
            j, "\"},\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,\"thread_count\":%zu},", pid,
            end - k);
        tbp_json_printf(j,
                        "{\"args\":{\"sort_index\":%u},\"name\":\"process_sort_index\",\"ph\":"
                        "\"M\",\"pid\":%u}",
                        pid, pid);
        for (; k < end; k++) {
            tbp_json_lit(j, ",{\"args\":{\"name\":\"");
            tbp_json_text(j, t[k].name, TBP_JSON_TRACE);
            tbp_json_printf(j, "\"},\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u},",
                            pid, t[k].tid);
            tbp_json_printf(j,
                            "{\"args\":{\"sort_index\":%u},\"name\":\"thread_sort_index\",\"ph\":"
                            "\"M\",\"pid\":%u,"
                            "\"tid\":%u}",
                            t[k].tid, pid, t[k].tid);
        }
    }
}

static void put_frames(struct tbp_json *j, const struct tbp_stack_frames *f) {
    tbp_json_lit(j, "\"stackFrames\":{");
    for (size_t i = 0; i < f->texts.n; i++) {
        tbp_json_printf(j, "%s\"%zu\":{\"name\":\"", i ? "," : "", i + 1);
        tbp_json_text(j, f->texts.strs[i], TBP_JSON_TRACE);
        tbp_json_lit(j, "\"}");
    }
    tbp_json_lit(j, "},");
}

static bool has_processes(const struct tbp_stream_host *h) {
    for (size_t i = 0; i < h->index->trace->n_planes; i++)
        if (h->index->trace->planes[i].n_lines)
            return true;
    return false;
}

static void put_timespan(struct tbp_json *j, const struct answer *a) {
    bool any_low = false, any_high = false;
    uint64_t low = 0, high = 0;
    for (uint32_t i = 0; i < a->n_hosts; i++) {
        const struct tbp_trace_index *x = a->hosts[i].index;
        if (!has_processes(&a->hosts[i]) || !x->has_low || !x->has_high)
            continue;
        low = any_low && low < x->low_ps ? low : x->low_ps;
        high = any_high && high > x->high_ps ? high : x->high_ps;
        any_low = any_high = true;
    }
    tbp_json_printf(j, "\"filteredByVisibility\":%s,\"fullTimespan\":[%.6g,%.6g],",
                    a->is_legacy ? "false" : "true", (double)low / 1e9, (double)high / 1e9);
}

static void put_details(struct tbp_json *j, const struct answer *a) {
    if (a->is_legacy)
        return;
    tbp_json_lit(j, "\"details\":[{\"name\":\"mpmd_pipeline_view\",\"value\":false}");
    if (a->has_tpu)
        tbp_json_printf(j, ",{\"name\":\"full_dma\",\"value\":%s}",
                        a->q.full_dma ? "true" : "false");
    tbp_json_lit(j, "],");
}

static void put_head(struct tbp_json *j, const struct answer *a) {
    size_t n = 0;
    for (uint32_t i = 0; i < a->n_hosts; i++)
        n += a->hosts[i].picks.n;
    tbp_json_lit(j, "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true}, ");
    tbp_json_lit(j, "\"codeLink\":\"\",\"useNewBackend\": false,");
    put_details(j, a);
    tbp_json_printf(j, "\"returnedEventsSize\":%zu,", n);
    put_timespan(j, a);
    put_frames(j, &a->frames);
    tbp_json_lit(j, "\"traceEvents\":[");
}

/* ---- events ---- */

static void add_track_pieces(struct answer *a, uint32_t host, uint32_t track) {
    const struct tbp_track_picks *p = &a->hosts[host].picks.tracks[track];
    /* Samples of a counter are one object, so a thread-less track is one piece. */
    const size_t step = a->hosts[host].index->tracks[track].has_tid ? TBP_PIECE_EVENTS : p->n;
    for (size_t i = 0; i < p->n; i += step)
        *tbp_vec_push(&a->pieces) =
            (struct piece){host, track, i, p->n - i < step ? p->n : i + step};
}

/* By process: thread-less tracks by name, then threads. Tracks are sorted the other way round. */
static void add_pieces(struct answer *a, uint32_t host) {
    const struct tbp_trace_index *x = a->hosts[host].index;
    for (uint32_t from = 0, to = 0; from < x->n_tracks; from = to) {
        while (to < x->n_tracks && x->tracks[to].pid == x->tracks[from].pid)
            to++;
        for (uint32_t k = from; k < to; k++)
            if (!x->tracks[k].has_tid)
                add_track_pieces(a, host, k);
        for (uint32_t k = from; k < to; k++)
            if (x->tracks[k].has_tid)
                add_track_pieces(a, host, k);
    }
}

static void put_piece(void *ctx, size_t number, struct tbp_json *j) {
    const struct answer *a = ctx;
    const struct piece *p = &a->pieces.at[number];
    const struct tbp_stream_host *h = &a->hosts[p->host];
    const struct tbp_track *t = &h->index->tracks[p->track];
    const struct tbp_track_picks *picks = &h->picks.tracks[p->track];
    struct tbp_stream_scratch s = {0};
    if (!t->has_tid)
        tbp_stream_counters(j, h, t, picks, &s);
    for (size_t i = p->from; i < p->to && !j->status; i++) {
        struct tbp_track_ref r = tbp_track_at(t, picks->at[i]);
        if (t->has_tid || !tbp_trace_is_counter(h->index->lines[r.line]))
            tbp_stream_event(j, h, t, picks->at[i], a->q.with_args ? &a->frames : NULL, &s);
    }
    tbp_stream_scratch_release(&s);
}

static size_t count_samples(const struct answer *a) {
    size_t n = 0;
    for (size_t k = 0; k < a->pieces.n; k++) {
        const struct piece *p = &a->pieces.at[k];
        const struct tbp_trace_index *x = a->hosts[p->host].index;
        const struct tbp_track *t = &x->tracks[p->track];
        for (size_t i = p->from; i < p->to && !t->has_tid; i++) {
            uint32_t at = a->hosts[p->host].picks.tracks[p->track].at[i];
            n += tbp_trace_is_counter(x->lines[tbp_track_at(t, at).line]);
        }
    }
    return n;
}

static int write_answer(struct answer *a, struct tbp_session *s, const uint32_t *numbers,
                        struct tbp_sink *out, struct tbp_error *err) {
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    struct tbp_json *j = TBP_NEW(&scratch, struct tbp_json);
    struct tbp_str *names = TBP_NEW_N(&scratch, struct tbp_str, a->n_hosts);
    tbp_json_init(j, out);
    put_head(j, a);
    bool any = false;
    for (uint32_t i = 0; i < a->n_hosts; i++) {
        names[i] = tbp_session_host_name(s, numbers[i]);
        put_processes(j, names, i, &a->hosts[i], &scratch, &any);
        add_pieces(a, i);
    }
    int status = tbp_json_finish(j, err);
    if (!status)
        status = tbp_write_pieces(tbp_session_pool(s), out, a->pieces.n, put_piece, a, err);
    if (!status) {
        tbp_json_init(j, out);
        if (a->is_legacy)
            tbp_json_lit(j, "]}");
        else
            tbp_json_printf(j, "], \"showCounterMessage\": \"\" ,\"totalCounterEvents\":%zu}",
                            count_samples(a));
        status = tbp_json_finish(j, err);
    }
    tbp_arena_release(&scratch);
    return status;
}

static int write_stream(struct tbp_session *s, const struct tbp_request *r, struct tbp_sink *out,
                        struct tbp_error *err) {
    struct answer a = {0};
    int status = read_question(r, &a.q, err);
    if (status)
        return status;
    a.is_legacy = r->dialect == TBP_DIALECT_LEGACY;
    a.q.with_args |= a.is_legacy;
    const bool all = r->host == TBP_ALL_HOSTS;
    const uint32_t n = all ? tbp_session_n_hosts(s) : 1;
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    tbp_arena_init(&a.frames.arena);
    a.hosts = TBP_NEW_N(&arena, struct tbp_stream_host, n);
    uint32_t *numbers = TBP_NEW_N(&arena, uint32_t, n);
    for (uint32_t i = 0; i < n && !status; i++) {
        numbers[i] = all ? i : r->host;
        status = add_host(&a, s, numbers[i], i + 1, err);
    }
    if (!status)
        status = write_answer(&a, s, numbers, out, err);
    for (uint32_t i = 0; i < a.n_hosts; i++)
        tbp_arena_release(&a.hosts[i].arena);
    tbp_vec_release(&a.pieces);
    tbp_strtab_release(&a.frames.texts);
    tbp_arena_release(&a.frames.arena);
    tbp_arena_release(&arena);
    return status;
}

static const struct tbp_tool_param params[] = {
    {"start_time_ms", "begin of the window; of an event: its start", TBP_PARAM_NUMBER},
    {"end_time_ms", "end of the window", TBP_PARAM_NUMBER},
    {"resolution", "width of the view in pixels: how much detail is shown; 0: everything",
     TBP_PARAM_NUMBER},
    {"full_dma", "true: transfers of TPUs, too", TBP_PARAM_SWITCH},
    {"search_prefix", "events whose name begins so", TBP_PARAM_TEXT},
    {"search_metadata", "true: found events come with their details", TBP_PARAM_SWITCH},
    {"event_name", "details of the event of this name", TBP_PARAM_TEXT},
    {"duration_ms", "its duration", TBP_PARAM_NUMBER},
    {"unique_id", "its number, where several are alike", TBP_PARAM_NUMBER},
    {NULL, NULL, TBP_PARAM_TEXT},
};

const struct tbp_tool tbp_tool_trace_viewer_stream = {
    .name = "trace_viewer@",
    .params = params,
    .help = "window, search or details of the timeline (start_time_ms, end_time_ms, resolution, "
            "search_prefix, event_name …)",
    .scope = TBP_SCOPE_HOST | TBP_SCOPE_ALL_HOSTS,
    .write = write_stream,
};
