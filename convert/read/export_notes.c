/* SPDX-License-Identifier: Apache-2.0
 *
 * What an export of ours says beside its events; see export_notes.h.
 */
#include "convert/read/export_notes.h"

enum { MOST_MARKS = 64, MOST_TEXTS = 10000 };

/* Marks know themselves by their names: any number of that kind is kept. */
static void read_marks(struct tbp_json_trace *jt) {
    struct tbp_json_pull *j = &jt->json;
    enum tbp_json_token token;
    if (!tbp_json_pull_opens(j, TBP_JSON_OBJECT))
        return;
    for (unsigned n = 0; tbp_json_pull_next(j) == TBP_JSON_KEY;) {
        struct tbp_str key = j->text;
        bool is_mark = j->is_plain && tbp_str_starts(key, "tbprof_") && n < MOST_MARKS;
        int64_t v;
        token = tbp_json_pull_next(j);
        if (!is_mark || token != TBP_JSON_NUMBER || !tbp_json_id(j->text, &v)) {
            tbp_json_pull_skip(j, token);
            continue;
        }
        n++;
        tbp_trace_plane_u64(&jt->trace, 0,
                            tbp_arena_printf(&jt->host->arena, "%.*s", (int)key.n, key.p),
                            (uint64_t)v);
    }
}

static void read_texts(struct tbp_json_trace *jt, struct tbp_str **list, size_t *n) {
    struct tbp_json_pull *j = &jt->json;
    struct tbp_host *h = jt->host;
    enum tbp_json_token token;
    if (!tbp_json_pull_opens(j, TBP_JSON_ARRAY))
        return;
    while ((token = tbp_json_pull_next(j)) != TBP_JSON_ARRAY_END && token != TBP_JSON_END) {
        if (token != TBP_JSON_STRING || *n >= MOST_TEXTS) {
            tbp_json_pull_skip(j, token);
            continue;
        }
        struct tbp_json_value v = {j->text, token, j->is_plain};
        tbp_host_add_text(h, list, n, tbp_arena_str(&h->arena, tbp_json_trace_text(jt, &v)));
    }
}

void tbp_export_notes_read(struct tbp_json_trace *jt) {
    struct tbp_json_pull *j = &jt->json;
    struct tbp_host *h = jt->host;
    if (!tbp_json_pull_opens(j, TBP_JSON_OBJECT))
        return;
    while (tbp_json_pull_next(j) == TBP_JSON_KEY) {
        if (tbp_str_is(j->text, "lost"))
            read_marks(jt);
        else if (tbp_str_is(j->text, "errors"))
            read_texts(jt, &h->errors, &h->n_errors);
        else if (tbp_str_is(j->text, "warnings"))
            read_texts(jt, &h->warnings, &h->n_warnings);
        else
            tbp_json_pull_skip(j, TBP_JSON_KEY);
    }
}
