/* SPDX-License-Identifier: Apache-2.0
 *
 * `tbprof stacks`: folded stacks for flame graphs, one line per distinct stack: frames from the
 * outermost, separated by ';', then whole microseconds. Looks at host, format, sort_by (the
 * metric), group_by (which frames). Source: reference trace_kernel_memory_import G.2.
 */
#include "convert/report/stacks.h"

#include "base/sort.h"
#include "convert/report/findings.h"
#include "convert/report/op_averages.h"
#include "convert/report/report.h"
#include "convert/report/stack_tree.h"

const char *const tbp_stacks_metric_choices[] = {"self_cpu_time_total", "self_cuda_time_total",
                                                 "self_device_time_total", NULL};
const char *const tbp_stacks_frame_choices[] = {"auto", "python", "all", NULL};

enum { PS_PER_US = 1000000 };

struct stacks {
    struct tbp_stack_tree tree;
    bool is_device;
    TBP_VEC(uint32_t) shown; /* nodes with a microsecond of their own or more */
    TBP_VEC(char) text;      /* of the stack being printed */
};

static int64_t metric(const struct stacks *s, uint32_t node) {
    const struct tbp_stack_node *n = &s->tree.nodes.at[node];
    return s->is_device ? n->device_ps : n->host_ps;
}

static void put_frame(struct stacks *s, struct tbp_str frame) {
    for (size_t i = 0; i < frame.n; i++) {
        char c = frame.p[i];
        *tbp_vec_push(&s->text) = c == ';' || c == 0x7f || (unsigned char)c <= ' ' ? '_' : c;
    }
}

static struct tbp_str stack_text(struct stacks *s, uint32_t node) {
    uint32_t path[TBP_MAX_NESTED + 1];
    size_t n = 0;
    for (; node && n <= TBP_MAX_NESTED; node = s->tree.nodes.at[node].parent)
        path[n++] = node;
    s->text.n = 0;
    while (n-- > 0) {
        put_frame(s, s->tree.names.strs[s->tree.nodes.at[path[n]].name]);
        if (n)
            *tbp_vec_push(&s->text) = ';';
    }
    return (struct tbp_str){s->text.at, s->text.n};
}

static const struct tbp_column columns[] = {
    {"stack", "Stack", TBP_CELL_TEXT, false, false},
    {"self_us", "Self", TBP_CELL_TIME, false, false},
};

static void cell(const void *ctx, size_t row, size_t column, struct tbp_cell *out) {
    struct stacks *s = *(struct stacks *const *)ctx;
    uint32_t node = s->shown.at[row];
    *out = column == 0 ? tbp_cell_text(stack_text(s, node)) : tbp_cell_i(metric(s, node));
}

/* Of all findings the one that spoils sums of several hosts: the others are for times of ops. */
static void put_findings(struct tbp_json *j, const struct tbp_session *session,
                         const struct tbp_unread *unread) {
    struct tbp_findings f;
    tbp_findings_init(&f);
    for (size_t i = 0; i < unread->list.n; i++)
        tbp_findings_add_unreadable(&f, tbp_session_host_name(session, unread->list.at[i].host),
                                    unread->list.at[i].text);
    tbp_json_lit(j, ",\"findings\":");
    tbp_findings_json(j, &f);
    tbp_findings_release(&f);
}

static void put(struct tbp_json *j, struct stacks *s, const struct tbp_session *session,
                const struct tbp_report_request *r) {
    struct tbp_table t = {columns, sizeof columns / sizeof *columns, s->shown.n, cell, &s};
    if (r->format == TBP_REPORT_JSON) {
        tbp_json_printf(j, "{\"schema\":\"tbprof.stacks/1\",\"metric\":\"%s\"",
                        tbp_stacks_metric_choices[r->sort_by]);
        put_findings(j, session, r->unread);
        tbp_json_lit(j, ",\"stacks\":");
        tbp_table_json(j, &t);
        tbp_json_lit(j, "}\n");
    } else if (r->format == TBP_REPORT_CSV) {
        tbp_table_csv(j, &t);
    } else {
        for (size_t i = 0; i < s->shown.n; i++) {
            tbp_put_shown(j, stack_text(s, s->shown.at[i]));
            tbp_json_printf(j, " %lld\n", (long long)(metric(s, s->shown.at[i]) / PS_PER_US));
        }
    }
}

static int by_parent_and_name(const void *a, const void *b, void *ctx) {
    const struct tbp_stack_tree *t = ctx;
    const struct tbp_stack_node *x = &t->nodes.at[*(const uint32_t *)a];
    const struct tbp_stack_node *y = &t->nodes.at[*(const uint32_t *)b];
    return x->parent != y->parent ? (x->parent < y->parent ? -1 : 1)
                                  : tbp_str_cmp(t->names.strs[x->name], t->names.strs[y->name]);
}

/* Frames of one parent by name, each followed by what it called: whichever thread came first. */
static void choose_shown(struct stacks *s, struct tbp_arena *a) {
    const struct tbp_stack_tree *t = &s->tree;
    uint32_t n = (uint32_t)t->nodes.n;
    uint32_t *sorted = TBP_NEW_N(a, uint32_t, n + 1);
    uint32_t *end = TBP_NEW_N(a, uint32_t, n + 1); /* of the children of a node in sorted */
    TBP_VEC(uint32_t) open = {0};
    for (uint32_t i = 1; i < n; i++)
        sorted[i - 1] = i;
    tbp_sort(sorted, n ? n - 1 : 0, sizeof *sorted, by_parent_and_name, &s->tree);
    for (uint32_t i = 0; i + 1 < n; i++)
        end[t->nodes.at[sorted[i]].parent] = i + 1;
    *tbp_vec_push(&open) = 0;
    while (open.n) {
        uint32_t node = open.at[--open.n];
        if (node && metric(s, node) >= PS_PER_US)
            *tbp_vec_push(&s->shown) = node;
        for (uint32_t i = end[node]; i-- > 0 && t->nodes.at[sorted[i]].parent == node;)
            *tbp_vec_push(&open) = sorted[i];
    }
    tbp_vec_release(&open);
}

/* Nothing of the metric was found, or nothing that --frames python could show. */
static void check_shown(const struct stacks *s, const struct tbp_report_request *r) {
    bool has_any = false;
    for (size_t i = 1; i < s->tree.nodes.n; i++)
        has_any |= metric(s, (uint32_t)i) != 0;
    if (s->shown.n)
        return;
    if (s->tree.nodes.n > 1 && !has_any && s->is_device)
        tbp_report_lacks(r, "no device times below these frames: no stacks for this --metric");
    else if (s->tree.nodes.n > 1 && has_any)
        tbp_report_lacks(r, "no stack of a microsecond or more");
    else if (r->group_by == TBP_FRAMES_PYTHON)
        tbp_report_lacks(r, "no Python functions: --frames all shows every event");
    else
        tbp_report_lacks(r, "no events that nest: no stacks");
}

static int collect(struct stacks *s, struct tbp_session *session,
                   const struct tbp_report_request *r, struct tbp_error *err) {
    for (uint32_t i = tbp_report_first_host(r); i < tbp_report_end_host(session, r); i++) {
        const struct tbp_host *h;
        int status = tbp_unread_load(r->unread, session, i, &h, err);
        if (status)
            return status;
        if (!h)
            continue;
        tbp_stack_tree_add(&s->tree, h, (enum tbp_frames)r->group_by);
        tbp_session_release_events(session, i);
    }
    return tbp_unread_check(r->unread, err);
}

static int write(struct tbp_session *session, const struct tbp_report_request *r,
                 struct tbp_sink *out, struct tbp_error *err) {
    struct stacks s = {.is_device = r->sort_by > 0};
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    int status = collect(&s, session, r, err);
    if (!status) {
        choose_shown(&s, &arena);
        check_shown(&s, r);
        struct tbp_json *j = TBP_NEW(&arena, struct tbp_json);
        tbp_json_init(j, out);
        put(j, &s, session, r);
        status = tbp_json_finish(j, err);
    }
    tbp_stack_tree_release(&s.tree);
    tbp_vec_release(&s.shown);
    tbp_vec_release(&s.text);
    tbp_arena_release(&arena);
    return status;
}

const struct tbp_report tbp_report_stacks = {
    .name = "stacks",
    .help = "folded stacks for flame graphs",
    .write = write,
};
