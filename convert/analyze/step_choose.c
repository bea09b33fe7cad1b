/* SPDX-License-Identifier: Apache-2.0
 *
 * Which stretches of time are steps, as the user said; see step_source.h. Source of the choices:
 * reference users D (U31-U37), trace_kernel_memory_import F.1.6.
 */
#include "base/sort.h"
#include "convert/analyze/step_source.h"
#include "convert/model/stats.h"

/* ---- the option's text ---- */

static const struct {
    const char *word;
    enum tbp_step_source_kind kind;
    const char *value; /* what it needs, or NULL */
} words[] = {
    {"auto", TBP_STEPS_AUTO, NULL},
    {"markers", TBP_STEPS_MARKERS, NULL},
    {"none", TBP_STEPS_NONE, NULL},
    {"whole", TBP_STEPS_WHOLE, NULL},
    {"every", TBP_STEPS_EVERY, "a time with its unit (" TBP_TIME_UNITS "), as in every=10ms"},
    {"name", TBP_STEPS_NAME, "a name, as in 'name=train_step*'"},
    {"from", TBP_STEPS_FROM, "a name, as in 'from=zero_grad*'"},
};

int tbp_step_source_parse(struct tbp_step_source *out, const char *text, struct tbp_error *err) {
    struct tbp_str s = tbp_str_c(text ? text : "auto");
    size_t n = 0, found = 0;
    while (n < s.n && s.p[n] != '=' && s.p[n] != ' ')
        n++;
    struct tbp_str word = tbp_str_sub(s, 0, n);
    struct tbp_str value = tbp_str_sub(s, n < s.n ? n + 1 : n, s.n);
    while (found < sizeof words / sizeof *words && !tbp_str_is(word, words[found].word))
        found++;
    if (found == sizeof words / sizeof *words)
        return tbp_fail(err, TBP_E_OPTION,
                        "'steps' takes auto, markers, none, whole, every=TIME, name=PATTERN or "
                        "from=PATTERN, not '%s'",
                        text);
    *out = (struct tbp_step_source){.kind = words[found].kind, .pattern = value, .text = s};
    if (!words[found].value)
        return n == s.n ? TBP_OK
                        : tbp_fail(err, TBP_E_OPTION, "'steps' takes '%s' alone, not '%s'",
                                   words[found].word, text);
    int64_t ps = 0;
    bool is_good = out->kind == TBP_STEPS_EVERY ? tbp_str_to_ps(value, &ps) && ps > 0 : value.n > 0;
    out->every_ps = (uint64_t)ps;
    if (is_good)
        return TBP_OK;
    return tbp_fail(err, TBP_E_OPTION, "'steps' needs %s, not '%s'", words[found].value, text);
}

/* Goes back to the last '*' only: linear in name times pattern. */
bool tbp_step_name_matches(struct tbp_str pattern, struct tbp_str name) {
    size_t p = 0, n = 0, star = SIZE_MAX, star_n = 0;
    while (n < name.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            star_n = n;
        } else if (p < pattern.n && (pattern.p[p] == '?' || pattern.p[p] == name.p[n])) {
            p++;
            n++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++star_n;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}

/* ---- events that are steps, or begin them ---- */

struct choosing {
    struct tbp_given_steps *out;
    const struct tbp_step_source *source;
    struct tbp_arena scratch;
};

static void choose_line(struct choosing *c, const struct tbp_line *l, const uint8_t *is_wanted) {
    const bool by_number = c->source->kind == TBP_STEPS_MARKERS;
    for (size_t i = 0; i < l->ev.n; i++) {
        struct tbp_stat st;
        struct tbp_given_step s = {.start_ps = l->ev.start_ps[i],
                                   .end_ps = tbp_event_end(l, i),
                                   .name = tbp_event_name(l, i),
                                   .line = l,
                                   .event = i};
        if (!by_number && !is_wanted[l->ev.meta[i]])
            continue;
        s.has_number =
            l->ev.has[i] & TBP_HAS_STEP_NUM && tbp_event_stat(l, i, TBP_STAT_STEP_NUM, &st);
        if (by_number && !s.has_number)
            continue;
        if (s.end_ps < s.start_ps || (s.end_ps == s.start_ps && c->source->kind == TBP_STEPS_NAME))
            continue; /* a mark of no length includes nothing */
        s.number = s.has_number ? (int64_t)tbp_stat_iu(&st) : 0;
        *tbp_vec_push(&c->out->list) = s;
    }
}

static void choose_events(struct choosing *c, const struct tbp_host *h, bool of_host) {
    for (size_t p = 0; p < h->n_planes; p++) {
        const struct tbp_plane *plane = &h->planes[p];
        if (of_host ? !tbp_is_host_plane(plane->name) : !tbp_is_device_plane(plane->name))
            continue;
        uint8_t *is_wanted = TBP_NEW_N(&c->scratch, uint8_t, plane->n_metas + 1);
        for (size_t m = 0; m < plane->n_metas; m++)
            is_wanted[m] = tbp_step_name_matches(c->source->pattern, plane->metas[m].name);
        for (size_t k = 0; k < plane->n_lines; k++)
            if (!plane->lines[k].is_derived)
                choose_line(c, &plane->lines[k], is_wanted);
    }
}

static int by_start(const void *a, const void *b, void *ctx) {
    const struct tbp_given_step *x = a, *y = b;
    (void)ctx;
    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    return (x->end_ps < y->end_ps) - (x->end_ps > y->end_ps); /* the longer first */
}

/* A range within one of the same thread is a part of that step (recorded functions log twice). */
static void drop_nested(struct tbp_given_steps *s) {
    struct tbp_idmap last = {0}; /* line -> index of its last step */
    size_t kept = 0;
    bool is_new;
    for (size_t i = 0; i < s->list.n; i++) {
        uint32_t *of = tbp_idmap_put(&last, (uint64_t)(uintptr_t)s->list.at[i].line, &is_new);
        if (!is_new && s->list.at[i].end_ps <= s->list.at[*of].end_ps)
            continue;
        *of = (uint32_t)kept;
        s->list.at[kept++] = s->list.at[i];
    }
    s->list.n = kept;
    tbp_idmap_release(&last);
}

/* Number at the end of the name. */
static bool number_of(struct tbp_str name, int64_t *number) {
    size_t n = name.n;
    while (n && name.p[n - 1] >= '0' && name.p[n - 1] <= '9')
        n--;
    return n < name.n && tbp_str_to_i64(tbp_str_sub(name, n, name.n), number);
}

/* Numbers of the marks, else of their names, if all have one and no two the same; else 1, 2 … */
static void number_steps(struct tbp_given_steps *s) {
    struct tbp_idmap seen = {0};
    bool has_all = true, is_new = true;
    for (size_t i = 0; i < s->list.n && has_all; i++) {
        struct tbp_given_step *x = &s->list.at[i];
        has_all = x->has_number || number_of(x->name, &x->number);
        *tbp_idmap_put(&seen, (uint64_t)x->number, &is_new) = 1;
        has_all &= is_new;
    }
    for (size_t i = 0; i < s->list.n && !has_all; i++)
        s->list.at[i].number = (int64_t)i + 1;
    tbp_idmap_release(&seen);
}

/* ---- stretches of time ---- */

struct window {
    uint64_t first_ps, last_ps;
};

static struct window window_of(const struct tbp_host *h) {
    struct window w = {UINT64_MAX, 0};
    for (size_t p = 0; p < h->n_planes; p++) {
        for (size_t k = 0; k < h->planes[p].n_lines; k++) {
            const struct tbp_line *l = &h->planes[p].lines[k];
            for (size_t i = 0; i < l->ev.n && !l->is_derived; i++) {
                uint64_t start_ps = l->ev.start_ps[i], end_ps = tbp_event_end(l, i);
                w.first_ps = start_ps < w.first_ps ? start_ps : w.first_ps;
                w.last_ps = end_ps > w.last_ps && end_ps >= start_ps ? end_ps : w.last_ps;
            }
        }
    }
    return w;
}

static int fail_many(const struct tbp_step_source *s, uint64_t n, struct tbp_error *err) {
    return tbp_fail(err, TBP_E_OPTION, "'steps' as '%.*s' would make %llu steps, more than %d",
                    (int)s->text.n, s->text.p, (unsigned long long)n, (int)TBP_MOST_GIVEN_STEPS);
}

static int cut_window(struct tbp_given_steps *out, struct window w, const struct tbp_step_source *s,
                      struct tbp_error *err) {
    if (w.last_ps <= w.first_ps)
        return TBP_OK;
    uint64_t all_ps = w.last_ps - w.first_ps;
    uint64_t each_ps = s->kind == TBP_STEPS_WHOLE ? all_ps : s->every_ps;
    uint64_t n = (all_ps - 1) / each_ps + 1;
    if (n > TBP_MOST_GIVEN_STEPS)
        return fail_many(s, n, err);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t start_ps = w.first_ps + i * each_ps;
        *tbp_vec_push(&out->list) = (struct tbp_given_step){
            .number = (int64_t)i + 1,
            .start_ps = start_ps,
            .end_ps = i + 1 < n ? start_ps + each_ps : w.last_ps,
            .name = s->kind == TBP_STEPS_WHOLE ? TBP_STR("whole profile") : TBP_STR("step")};
    }
    return TBP_OK;
}

/* From each begin to the next; the last one to the end of all. Only begins count: a range that
 * nobody ended includes all later ones. Of those that begin together the longest is the step. */
static void close_borders(struct tbp_given_steps *s, uint64_t last_ps) {
    size_t kept = 0;
    for (size_t i = 0; i < s->list.n; i++) {
        struct tbp_given_step x = s->list.at[i];
        x.line = NULL;
        if (kept && s->list.at[kept - 1].start_ps == x.start_ps)
            continue;
        if (kept)
            s->list.at[kept - 1].end_ps = x.start_ps;
        x.end_ps = last_ps;
        if (x.end_ps > x.start_ps)
            s->list.at[kept++] = x;
    }
    s->list.n = kept;
}

static int choose_named(struct tbp_given_steps *out, const struct tbp_host *h,
                        const struct tbp_step_source *s, struct tbp_error *err) {
    struct choosing c = {.out = out, .source = s};
    tbp_arena_init(&c.scratch);
    choose_events(&c, h, true);
    if (out->list.n == 0 && s->kind != TBP_STEPS_MARKERS) {
        choose_events(&c, h, false);
        for (size_t i = 0; i < out->list.n && s->kind == TBP_STEPS_NAME; i++)
            out->list.at[i].has_number = false;
    }
    tbp_arena_release(&c.scratch);
    tbp_sort(out->list.at, out->list.n, sizeof *out->list.at, by_start, NULL);
    if (s->kind == TBP_STEPS_FROM)
        close_borders(out, window_of(h).last_ps);
    else
        drop_nested(out);
    if (s->kind != TBP_STEPS_MARKERS)
        number_steps(out);
    return out->list.n > TBP_MOST_GIVEN_STEPS ? fail_many(s, out->list.n, err) : TBP_OK;
}

int tbp_steps_choose(struct tbp_given_steps *out, const struct tbp_host *h,
                     const struct tbp_step_source *s, struct tbp_error *err) {
    switch (s->kind) {
    case TBP_STEPS_WHOLE:
    case TBP_STEPS_EVERY:
        return cut_window(out, window_of(h), s, err);
    case TBP_STEPS_MARKERS:
    case TBP_STEPS_NAME:
    case TBP_STEPS_FROM:
        return choose_named(out, h, s, err);
    case TBP_STEPS_AUTO:
    case TBP_STEPS_NONE:
        break;
    }
    return TBP_OK;
}

size_t tbp_given_step_at(const struct tbp_given_steps *s, uint64_t time_ps) {
    size_t n = tbp_vec_count_up_to(&s->list, struct tbp_given_step, start_ps, time_ps);
    return n && time_ps < s->list.at[n - 1].end_ps ? n - 1 : SIZE_MAX;
}
