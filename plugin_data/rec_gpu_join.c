/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_gpu_join.h.
 */
#include "plugin_data/rec_gpu_join.h"

#include "plugin_data/rec_scopes.h"
#include "plugin_data/rec_text.h"

enum { MAX_PATH = 960, NOT_ASKED = UINT32_MAX };

struct joining {
    struct tbp_rec_gpu *g;
    int64_t base_ps;
    uint32_t hint;
    TBP_VEC(struct tbp_str) open, annotations; /* names */
    uint32_t op;                               /* of what is open now; NOT_ASKED since it changed */
    size_t next, end;                          /* calls of the thread */
};

static struct tbp_str path_of(const struct joining *j, char *path) {
    size_t n = 0;
    for (size_t i = 0; i < j->annotations.n && n < MAX_PATH; i++) {
        struct tbp_str s = j->annotations.at[i];
        size_t room = MAX_PATH - n - (i > 0 && n < MAX_PATH);
        if (i > 0 && n < MAX_PATH)
            path[n++] = '/';
        memcpy(path + n, s.p, s.n < room ? s.n : room);
        n += s.n < room ? s.n : room;
    }
    return (struct tbp_str){path, n};
}

/* Number + 1 of the name of what is open; 0: nothing is. */
static uint32_t op_now(struct joining *j) {
    char path[MAX_PATH];
    struct tbp_str name = TBP_STR_NONE;
    if (j->op != NOT_ASKED)
        return j->op;
    if (j->annotations.n > 0)
        name = path_of(j, path);
    else if (j->open.n > 0)
        name = j->open.at[j->open.n - 1];
    if (name.n == 0)
        return j->op = 0;
    uint32_t known = tbp_strtab_get(&j->g->texts, name);
    if (known == TBP_MAP_NONE)
        known = tbp_strtab_put(&j->g->texts, tbp_arena_str(j->g->arena, name));
    return j->op = known + 1;
}

/* Calls that began before that moment. */
static void name_calls(struct joining *j, int64_t until_ps) {
    while (j->next < j->end && j->g->calls.at[j->next].span.start_ps < until_ps)
        j->g->calls.at[j->next++].op = op_now(j);
}

static void follow(struct joining *j, const struct tbp_rec *r) {
    struct tbp_str name, pairs;
    if (r->kind == TBP_REC_BEGIN) {
        tbp_rec_text_split(tbp_rec_name(j->g->recording, r), &name, &pairs);
        if (j->open.n < TBP_REC_MAX_OPEN)
            *tbp_vec_push(&j->open) = name;
    } else if (r->kind == TBP_REC_END) {
        size_t n = tbp_rec_ends(r);
        j->open.n -= n < j->open.n ? n : j->open.n;
    } else if (r->kind == TBP_REC_ANNOTATION) {
        if (j->annotations.n < TBP_REC_MAX_OPEN)
            *tbp_vec_push(&j->annotations) = tbp_rec_name(j->g->recording, r);
    } else if (r->kind == TBP_REC_ANNOTATION_END) {
        j->annotations.n -= j->annotations.n > 0;
    } else {
        return;
    }
    j->op = NOT_ASKED;
}

static void join_thread(struct joining *j, const struct tbp_rec_thread *t,
                        const struct tbp_rec_gpu_carried *carried) {
    const struct tbp_recording *s = j->g->recording;
    struct tbp_rec r;
    j->open.n = j->annotations.n = 0;
    j->hint = 0;
    j->op = NOT_ASKED;
    for (size_t i = 0; i < carried->n; i++) {
        r = tbp_rec_at(s, carried->slots[i]);
        follow(j, &r);
    }
    for (size_t i = 0; i < t->n_runs && j->next < j->end; i++) {
        struct tbp_rec_walk w = tbp_rec_walk_of(s, &t->runs[i]);
        if (t->runs[i].after_gap) {
            j->open.n = 0;
            j->op = NOT_ASKED;
        }
        while (j->next < j->end && tbp_rec_next(&w, &r)) {
            name_calls(j, tbp_rec_clock_ps(&s->clock, r.ticks, &j->hint) - j->base_ps);
            follow(j, &r);
        }
    }
    name_calls(j, INT64_MAX);
}

void tbp_rec_gpu_join(struct tbp_rec_gpu *g, int64_t base_ps,
                      const struct tbp_rec_gpu_carried *carried) {
    struct joining j = {.g = g, .base_ps = base_ps};
    while (j.next < g->calls.n) {
        uint32_t thread = g->calls.at[j.next].thread;
        j.end = j.next;
        while (j.end < g->calls.n && g->calls.at[j.end].thread == thread)
            j.end++;
        join_thread(&j, &g->recording->threads[thread], &carried[thread]);
        j.next = j.end;
    }
    tbp_vec_release(&j.open);
    tbp_vec_release(&j.annotations);
}
