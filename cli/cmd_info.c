/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof info: what is in a profile, before any filtering: format, hosts, planes, lines, events,
 * time span, steps, defects.
 */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/json_parts.h"
#include "cli/receipt.h"
#include "cli/run_session.h"
#include "cli/warn_input.h"
#include "convert/analyze/step_table.h"
#include "convert/model/stats.h"
#include "convert/report/collective_calls.h"
#include "convert/report/step_marks.h"

#include <inttypes.h>
#include <unistd.h>

struct info_values {
    struct tbp_common common;
    const char *from, *steps;
    uint32_t jobs;
};

#define AT(member) offsetof(struct info_values, member)
static const struct tbp_opt info_options[] = {
    TBP_FROM_OPTION(AT(from)),
    TBP_STEPS_OPTION(AT(steps)),
    TBP_JOBS_OPTION(AT(jobs)),
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const info_examples[] = {
    "tbprof info host.xplane.pb",
    "planes, events, time span and defects of a file",
    "tbprof info logdir --json",
    "the same of every run of a log directory, for scripts",
    NULL,
};

struct span {
    uint64_t first_ps, last_ps, events;
};

static void add_line(struct span *s, const struct tbp_line *l) {
    for (size_t i = 0; i < l->ev.n; i++) {
        uint64_t start = l->ev.start_ps[i], end = tbp_event_end(l, i);
        if (s->events == 0 || start < s->first_ps)
            s->first_ps = start;
        if (s->events == 0 || end > s->last_ps)
            s->last_ps = end;
        s->events++;
    }
}

static struct span plane_span(const struct tbp_plane *p) {
    struct span s = {0};
    for (size_t i = 0; i < p->n_lines; i++)
        add_line(&s, &p->lines[i]);
    return s;
}

static struct span host_span(const struct tbp_host *h) {
    struct span s = {0};
    for (size_t p = 0; p < h->n_planes; p++) {
        for (size_t i = 0; i < h->planes[p].n_lines; i++)
            add_line(&s, &h->planes[p].lines[i]);
    }
    return s;
}

static double span_ms(const struct span *s) {
    return (double)(s->last_ps - s->first_ps) / 1e9;
}

enum { NAME_WIDTH = 28 };

static void text_plane(FILE *out, const struct tbp_plane *p) {
    struct span s = plane_span(p);
    fputs("    ", out);
    size_t width = tbp_cli_print(out, p->name);
    fprintf(out, "%*s %4zu line%-1s %10" PRIu64 " event%-1s  %12.3f ms\n",
            width < NAME_WIDTH ? (int)(NAME_WIDTH - width) : 0, "", p->n_lines,
            tbp_plural(p->n_lines), s.events, tbp_plural(s.events), span_ms(&s));
}

static void text_rank(FILE *out, const struct tbp_host *h) {
    const char *told_by;
    int64_t rank = tbp_host_rank(h, &told_by);
    if (told_by)
        fprintf(out, "    rank %" PRId64 ", as the %s tells\n", rank,
                *told_by == 'n' ? "file's name" : "file");
}

static void json_rank(struct tbp_json *j, const struct tbp_host *h) {
    const char *told_by;
    int64_t rank = tbp_host_rank(h, &told_by);
    if (told_by)
        tbp_json_printf(j, ",\"rank\":%" PRId64 ",\"rank_told_by\":\"%s\"", rank, told_by);
    else
        tbp_json_lit(j, ",\"rank\":null");
}

static void text_host(FILE *out, const struct tbp_host *h) {
    struct span s = host_span(h);
    fputs("  host ", out);
    tbp_cli_print(out, h->name);
    fprintf(out, ": %s, %" PRIu64 " byte%s, %zu plane%s, %" PRIu64 " event%s, %.3f ms\n", h->format,
            h->size_bytes, tbp_plural(h->size_bytes), h->n_planes, tbp_plural(h->n_planes),
            s.events, tbp_plural(s.events), span_ms(&s));
    for (size_t i = 0; i < h->n_planes; i++)
        text_plane(out, &h->planes[i]);
}

/* What the recording says about itself. */
static void text_notes(FILE *out, const struct tbp_host *h) {
    for (size_t i = 0; i < h->n_errors + h->n_warnings; i++) {
        bool is_error = i < h->n_errors;
        fputs(is_error ? "    error: " : "    warning: ", out);
        tbp_cli_print(out, is_error ? h->errors[i] : h->warnings[i - h->n_errors]);
        fputc('\n', out);
    }
}

static void json_notes(struct tbp_json *j, const char *key, const struct tbp_str *texts, size_t n) {
    tbp_json_printf(j, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++)
        tbp_json_item(j, i, texts[i]);
    tbp_json_char(j, ']');
}

static void text_ledger(FILE *out, const struct tbp_ledger *l, const char *indent) {
    for (int k = 0; k < TBP_LEDGER_KEYS; k++) {
        enum tbp_ledger_key key = (enum tbp_ledger_key)k;
        if (!l->count[k])
            continue;
        fprintf(out, "%s%s %" PRIu64 ": %s", indent, tbp_ledger_name(key), l->count[k],
                tbp_ledger_help(key));
        if (l->first_offset[k] != TBP_NO_OFFSET)
            fprintf(out, " (first at byte %" PRIu64 ")", l->first_offset[k]);
        fputc('\n', out);
    }
}

/* What the file was converted from lacked, or it lacks of that. */
static void text_before(FILE *out, const struct tbp_ledger *l) {
    if (tbp_ledger_is_clean(l))
        return;
    fputs("    converted from an input with\n", out);
    text_ledger(out, l, "      ");
}

static void json_before(struct tbp_json *j, const struct tbp_ledger *l) {
    tbp_json_lit(j, ",\"lost_before\":");
    if (tbp_ledger_is_clean(l))
        tbp_json_lit(j, "null");
    else
        tbp_receipt_write_ledger(j, l);
}

static void json_number(struct tbp_json *j, const char *key, uint64_t n) {
    tbp_json_printf(j, ",\"%s\":", key);
    tbp_json_u64(j, n);
}

static void json_span(struct tbp_json *j, const struct span *s) {
    json_number(j, "events", s->events);
    json_number(j, "first_ps", s->first_ps);
    json_number(j, "last_ps", s->last_ps);
}

/* What the file says of the plane: versions, device properties, … */
static void json_plane_stats(struct tbp_json *j, const struct tbp_plane *p) {
    struct tbp_arena scratch;
    const char *comma = "";
    tbp_arena_init(&scratch);
    uint8_t *is_told = TBP_NEW_N(&scratch, uint8_t, p->n_stat_metas + 1);
    tbp_json_lit(j, ",\"stats\":{");
    for (size_t i = 0; i < p->n_stats; i++) {
        struct tbp_stat st;
        if (!tbp_stat_decode(p, tbp_wire_of(p->stats[i].p, p->stats[i].n), &st) ||
            st.type == TBP_STAT_NONE || st.type == TBP_STAT_BYTES || st.meta->name.n == 0 ||
            is_told[st.meta - p->stat_metas]++)
            continue;
        tbp_json_lit(j, comma);
        tbp_json_str(j, st.meta->name, TBP_JSON_GVIZ);
        tbp_json_char(j, ':');
        if (st.type == TBP_STAT_DOUBLE)
            tbp_json_proto_number(j, st.d);
        else if (st.type == TBP_STAT_INT64)
            tbp_json_i64(j, st.i);
        else if (st.type == TBP_STAT_UINT64)
            tbp_json_u64(j, st.u);
        else
            tbp_json_str(j, tbp_stat_s(&st), TBP_JSON_GVIZ);
        comma = ",";
    }
    tbp_arena_release(&scratch);
    tbp_json_char(j, '}');
}

static void json_plane(struct tbp_json *j, const struct tbp_plane *p) {
    struct span all = plane_span(p);
    tbp_json_lit(j, "{\"name\":");
    tbp_json_str(j, p->name, TBP_JSON_GVIZ);
    json_number(j, "event_names", p->n_metas ? p->n_metas - 1 : 0);
    json_span(j, &all);
    json_plane_stats(j, p);
    tbp_json_lit(j, ",\"lines\":[");
    for (size_t i = 0; i < p->n_lines; i++) {
        const struct tbp_line *l = &p->lines[i];
        struct span s = {0};
        add_line(&s, l);
        tbp_json_lit(j, i ? ",{\"name\":" : "{\"name\":");
        tbp_json_str(j, l->name, TBP_JSON_GVIZ);
        tbp_json_lit(j, ",\"id\":");
        tbp_json_i64(j, l->id);
        json_span(j, &s);
        tbp_json_char(j, '}');
    }
    tbp_json_lit(j, "]}");
}

static void json_host(struct tbp_json *j, const struct tbp_host *h) {
    struct span s = host_span(h);
    tbp_json_printf(j, ",\"format\":\"%s\"", h->format);
    json_rank(j, h);
    json_number(j, "bytes", h->size_bytes);
    json_span(j, &s);
    tbp_json_lit(j, ",\"planes\":[");
    for (size_t i = 0; i < h->n_planes; i++) {
        if (i)
            tbp_json_char(j, ',');
        json_plane(j, &h->planes[i]);
    }
    tbp_json_lit(j, "]");
}

static int count_marks(struct tbp_session *s, uint32_t host, size_t *n, struct tbp_error *err) {
    const struct tbp_host *h = tbp_session_host(s, host, err);
    struct tbp_step_marks marks = {.n_again = 0};
    if (!h)
        return err->code;
    tbp_step_marks_collect(&marks, h);
    *n = marks.list.n;
    tbp_step_marks_release(&marks);
    return TBP_OK;
}

/* The pages count groups of eager ops as steps, too; they pass over steps in which nothing ran, and
 * over all of a profile of TensorFlow up to 2.8 whose groups are iterations of loops. */
static void print_marked(size_t n_steps, size_t n_marked) {
    if (n_marked != n_steps)
        printf("; %zu marked ('tbprof steps'): the pages %s", n_marked,
               n_marked < n_steps ? "count groups of ops that ran one by one, too"
                                  : "show fewer; --steps markers shows all");
    putchar('\n');
}

/* Steps as the pages list them, how many more there are, cut off at both ends of the host, and how
 * many the program marked. */
static int show_steps(struct tbp_session *s, uint32_t host, struct tbp_json *j,
                      struct tbp_error *err) {
    const struct tbp_step_table *all = tbp_steps(s, host, err);
    const struct tbp_step_table *rows = all ? tbp_trimmed_steps(s, host, err) : NULL;
    if (!rows)
        return err->code;
    size_t n_cut = all->n_steps - rows->n_steps, n_marked = 0;
    if (count_marks(s, host, &n_marked, err))
        return err->code;
    if (j) {
        json_number(j, "steps", rows->n_steps);
        json_number(j, "incomplete_steps", n_cut);
        json_number(j, "marked_steps", n_marked);
        return TBP_OK;
    }
    printf("    %zu step%s", rows->n_steps, tbp_plural(rows->n_steps));
    if (n_cut)
        printf(", and %zu incomplete at the ends", n_cut);
    print_marked(all->n_steps, n_marked);
    return TBP_OK;
}

/* First the file as it is, then what grouping finds in it (which may add events). */
static int tell_host(struct tbp_session *s, const struct tbp_run *run, uint32_t host,
                     struct tbp_json *j, struct tbp_error *err) {
    const struct tbp_host *h = tbp_session_raw_host(s, host, err);
    if (!h)
        return err->code;
    if (j) {
        json_host(j, h);
    } else {
        text_host(stdout, h);
        text_rank(stdout, h);
    }
    int status = show_steps(s, host, j, err);
    if (!status)
        status = tbp_session_count_all(s, host, err);
    h = status ? NULL : tbp_session_host(s, host, err);
    if (!h)
        return err->code;
    if (j) {
        json_notes(j, "errors", h->errors, h->n_errors);
        json_notes(j, "warnings", h->warnings, h->n_warnings);
        tbp_json_lit(j, ",\"ledger\":");
        tbp_receipt_write_ledger(j, &h->ledger);
        json_before(j, &h->lost_before);
    } else {
        text_notes(stdout, h);
        text_ledger(stdout, &h->ledger, "    ");
        text_before(stdout, &h->lost_before);
    }
    status = tbp_check_unchanged(h, &run->hosts[host], err);
    tbp_session_release_events(s, host);
    return status;
}

struct info {
    struct tbp_cli *cli;
    const struct info_values *v;
    struct tbp_step_source steps;
    struct tbp_runs runs;
    struct tbp_json *json; /* NULL without --json */
    int worst;             /* the status of the highest exit code */
    struct tbp_error last; /* of those that were met, the one that is not printed yet */
};

/* What cannot be told of does not keep the rest from being told of. */
static void note_failure(struct info *w, const struct tbp_error *err) {
    if (w->worst)
        tbp_cli_error(w->cli, &w->last);
    if (tbp_exit_code(err->code) > tbp_exit_code(w->worst))
        w->worst = err->code;
    w->last = *err;
}

static void json_error(struct tbp_json *j, const struct tbp_error *err) {
    char text[1024];
    tbp_json_lit(j, ",\"error\":");
    tbp_json_str(j, tbp_str_c(tbp_error_text(err, text, sizeof text)), TBP_JSON_GVIZ);
}

static void show_host(struct info *w, struct tbp_session *s, const struct tbp_run *run,
                      uint32_t host) {
    struct tbp_error err = {0};
    if (w->json) {
        tbp_json_lit(w->json, host ? ",{\"host\":" : "{\"host\":");
        tbp_json_str(w->json, run->hosts[host].host, TBP_JSON_GVIZ);
    }
    int status = tell_host(s, run, host, w->json, &err);
    if (status)
        note_failure(w, &err);
    if (status && w->json)
        json_error(w->json, &err);
    if (w->json)
        tbp_json_char(w->json, '}');
}

/* How far the clocks of the hosts are apart; nothing of hosts that cannot be read. */
static void show_clocks(struct info *w, struct tbp_session *s) {
    struct tbp_error ignored = {0};
    struct tbp_collectives c;
    struct tbp_unread unread; /* told before */
    tbp_collectives_init(&c);
    tbp_unread_init(&unread);
    struct tbp_json *j = w->json ? w->json : TBP_NEW(&c.arena, struct tbp_json);
    int status =
        tbp_collectives_collect(&c, s, 0, tbp_session_n_hosts(s), NULL, 0, &unread, &ignored);
    size_t n = status ? 0 : c.hosts.n;
    if (w->json) {
        tbp_json_lit(j, ",\"clocks\":[");
    } else {
        fflush(stdout);
        tbp_json_init(j, &w->cli->answer->base);
    }
    for (size_t i = 0; i < n; i++) {
        if (w->json)
            tbp_host_clock_json(j, &c.hosts.at[i].clock, c.hosts.at[i].name, i == 0);
        else
            tbp_host_clock_text(j, &c.hosts.at[i].clock, c.hosts.at[i].name,
                                c.hosts.at[c.first_host].name);
    }
    if (w->json)
        tbp_json_char(j, ']');
    else if (tbp_json_finish(j, &ignored) != TBP_OK)
        note_failure(w, &ignored);
    tbp_unread_release(&unread);
    tbp_collectives_release(&c);
}

static void show_run(struct info *w, const struct tbp_run *run) {
    struct tbp_json *j = w->json;
    struct tbp_run_loader loader = {run, w->v->from, TBP_WANTED_ALL, w->steps, NULL};
    struct tbp_pool *pool = tbp_pool_new(w->v->jobs);
    struct tbp_session *s = tbp_run_session(&loader, TBP_SEMANTICS_REPAIR, w->cli->arena, pool);
    if (j) {
        tbp_json_lit(j, "{\"run\":");
        tbp_json_str(j, tbp_str_c(run->name), TBP_JSON_GVIZ);
        tbp_json_lit(j, ",\"hosts\":[");
    } else {
        fputs("run ", stdout);
        tbp_cli_print(stdout, tbp_str_c(run->name));
        printf(": %zu host%s\n", run->n_hosts, tbp_plural(run->n_hosts));
    }
    for (uint32_t i = 0; i < run->n_hosts; i++)
        show_host(w, s, run, i);
    if (j)
        tbp_json_char(j, ']');
    if (run->n_hosts > 1)
        show_clocks(w, s);
    if (j)
        tbp_json_char(j, '}');
    tbp_session_free(s);
    tbp_pool_free(pool);
}

static void note_input(struct info *w, const char *input, const struct tbp_error *err) {
    if (w->json) {
        tbp_json_lit(w->json, w->worst ? ",{\"input\":" : "{\"input\":");
        tbp_json_str(w->json, tbp_str_c(input), TBP_JSON_GVIZ);
        json_error(w->json, err);
        tbp_json_char(w->json, '}');
    }
    note_failure(w, err);
}

/* The runs of each INPUT; those that hold none stand under "errors". */
static void find_each(struct info *w, char **inputs, size_t n) {
    struct tbp_error err = {0};
    for (size_t i = 0; i < n; i++) {
        if (tbp_find_runs(&w->runs, w->cli->arena, inputs[i], &err) != TBP_OK)
            note_input(w, inputs[i], &err);
    }
    /* nothing but what is passed over */
    if (!w->worst && tbp_find_all_runs(&w->runs, w->cli->arena, inputs, 0, &err) != TBP_OK)
        note_input(w, inputs[0], &err);
}

static int run_info(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                    struct tbp_error *err) {
    struct info w = {.cli = cli, .v = values};
    int status = tbp_check_format(w.v->from, err);
    if (!status)
        status = tbp_step_source_parse(&w.steps, w.v->steps, err);
    if (status)
        return status;
    if (w.v->common.json) {
        w.json = TBP_NEW(cli->arena, struct tbp_json);
        tbp_json_init(w.json, &cli->answer->base);
    }
    if (w.json)
        tbp_json_lit(w.json, "{\"errors\":[");
    find_each(&w, args, n_args);
    tbp_warn_skipped(cli, &w.runs);
    if (w.json)
        tbp_json_lit(w.json, "],\"runs\":[");
    for (size_t i = 0; i < w.runs.list.n; i++) {
        if (w.json && i)
            tbp_json_char(w.json, ',');
        show_run(&w, &w.runs.list.at[i]);
    }
    if (w.json) {
        tbp_json_char(w.json, ']');
        tbp_json_skipped(w.json, &w.runs);
        tbp_json_lit(w.json, "}\n");
        status = tbp_json_finish(w.json, err);
    }
    tbp_runs_release(&w.runs);
    if (status || !w.worst)
        return status;
    *err = w.last;
    return w.worst;
}

const struct tbp_command tbp_command_info = {
    .name = "info",
    .args = "INPUT...",
    .help = "tell what is in a profile",
    .about =
        "Tells format, hosts, planes, lines, events, time span, steps and defects of each "
        "INPUT: a file, a run "
        "folder, a log directory or '-'. What cannot be read is told, and the rest goes on; the "
        "exit code is the highest of all.",
    .examples = info_examples,
    .options = info_options,
    .values_size = sizeof(struct info_values),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .run = run_info,
};
