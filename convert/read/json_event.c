/* SPDX-License-Identifier: Apache-2.0
 *
 * One trace event as it stands in JSON; see json_event.h.
 */
#include "convert/read/json_event.h"

static struct tbp_str raw_since(const struct tbp_json_pull *j, uint64_t offset) {
    return (struct tbp_str){(const char *)j->start + offset, (size_t)(j->at - j->start) - offset};
}

static void read_value(struct tbp_json_pull *j, struct tbp_json_value *v) {
    v->token = tbp_json_pull_next(j);
    if (v->token == TBP_JSON_OBJECT || v->token == TBP_JSON_ARRAY) {
        uint64_t offset = j->offset;
        tbp_json_pull_skip(j, v->token);
        v->text = raw_since(j, offset);
        v->is_plain = false;
        return;
    }
    v->text = j->text;
    v->is_plain = j->is_plain;
}

static void read_args(struct tbp_json_pull *j, struct tbp_json_event *e) {
    enum tbp_json_token token;
    if (!tbp_json_pull_opens(j, TBP_JSON_OBJECT))
        return;
    while ((token = tbp_json_pull_next(j)) == TBP_JSON_KEY) {
        if (e->n_args == TBP_JSON_MAX_ARGS) {
            tbp_json_pull_skip(j, token);
            continue;
        }
        struct tbp_json_arg *a = &e->args[e->n_args++];
        a->key = j->text;
        a->key_is_plain = j->is_plain;
        read_value(j, &a->value);
    }
}

static void read_scoped_id(struct tbp_json_pull *j, struct tbp_json_event *e) {
    if (!tbp_json_pull_opens(j, TBP_JSON_OBJECT))
        return;
    while (tbp_json_pull_next(j) == TBP_JSON_KEY)
        read_value(j, tbp_str_is(j->text, "local") ? &e->id_local : &e->id_global);
}

static bool is(struct tbp_str s, const char *text, size_t n) {
    return s.n == n && memcmp(s.p, text, n) == 0;
}
#define IS(s, text) is((s), (text), sizeof(text) - 1)

/* Where the value of this member goes; NULL: nowhere. */
static struct tbp_json_value *member(struct tbp_json_event *e, struct tbp_str key) {
    if (IS(key, "ts"))
        return &e->ts;
    if (IS(key, "dur"))
        return &e->dur;
    if (IS(key, "pid"))
        return &e->pid;
    if (IS(key, "tid"))
        return &e->tid;
    if (IS(key, "cat"))
        return &e->cat;
    if (IS(key, "name"))
        return &e->name;
    if (IS(key, "id"))
        return &e->id;
    if (IS(key, "scope"))
        return &e->scope;
    return IS(key, "bind_id") ? &e->flow : NULL;
}

/* By name, so that it does not matter in which order they are written. */
static void sort_args(struct tbp_json_event *e) {
    for (size_t i = 1; i < e->n_args; i++) {
        struct tbp_json_arg a = e->args[i];
        size_t k = i;
        for (; k > 0 && tbp_str_cmp(a.key, e->args[k - 1].key) < 0; k--)
            e->args[k] = e->args[k - 1];
        e->args[k] = a;
    }
}

void tbp_json_event_read(struct tbp_json_pull *j, struct tbp_json_event *e, bool sorts_args) {
    static const struct tbp_json_value nothing = {
        .text = {"", 0}, .token = TBP_JSON_END, .is_plain = true};
    e->name = e->cat = e->ts = e->dur = e->pid = e->tid = nothing;
    e->id = e->id_local = e->id_global = e->scope = e->flow = nothing;
    e->ph = 0;
    e->is_empty = true;
    e->n_args = 0;
    e->offset = j->offset;
    while (tbp_json_pull_next(j) == TBP_JSON_KEY) {
        struct tbp_json_value *v = member(e, j->text), phase = nothing;
        e->is_empty = false;
        if (v) {
            read_value(j, v);
        } else if (IS(j->text, "args")) {
            read_args(j, e);
        } else if (IS(j->text, "ph")) {
            read_value(j, &phase);
            e->ph = phase.token == TBP_JSON_STRING && phase.text.n == 1 ? phase.text.p[0] : '?';
        } else if (IS(j->text, "id2")) {
            read_scoped_id(j, e);
        } else {
            tbp_json_pull_skip(j, TBP_JSON_KEY);
        }
    }
    if (sorts_args || e->ph == 'C')
        sort_args(e);
}
