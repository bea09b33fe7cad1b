/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_strings.h. Ids count up from 1 in a sound spool, so a table by id is dense; an id far
 * beyond the number of records seen is taken for damage and bounds the table.
 */
#include "plugin_data/rec_strings.h"

enum { SPARE_IDS = 65536 };

void tbp_rec_strings_init(struct tbp_rec_strings *t, struct tbp_arena *arena) {
    *t = (struct tbp_rec_strings){.arena = arena};
}

/* Makes room for the id. */
static bool reach(struct tbp_rec_strings *t, uint32_t id) {
    if (id == 0 || id > t->n_records + SPARE_IDS)
        return false;
    while (t->texts.n <= id)
        *tbp_vec_push(&t->texts) = (struct tbp_str){NULL, 0};
    return true;
}

static void close_open(struct tbp_rec_strings *t) {
    if (t->open_id && t->open.n > t->texts.at[t->open_id].n)
        t->texts.at[t->open_id] =
            tbp_arena_str(t->arena, (struct tbp_str){(const char *)t->open.at, t->open.n});
    t->open_id = 0;
    t->open.n = 0;
}

static bool take_string(struct tbp_rec_strings *t, const struct tbp_rec *r) {
    uint32_t id = r->at->name;
    size_t n = r->at->aux & 0xffff;
    struct tbp_str text = {(const char *)(r->at + 1), n};
    if (n > (size_t)r->extra * TBP_SPOOL_SLOT_BYTES || id == TBP_SPOOL_NAME_INLINE)
        return false;
    t->n_records++;
    if (id == t->open_id) {
        tbp_wire_put_raw(&t->open, text.p, n);
        return true;
    }
    close_open(t);
    if (!reach(t, id) || t->texts.at[id].p)
        return false;
    t->texts.at[id] = text;
    t->open_id = id;
    tbp_wire_put_raw(&t->open, text.p, n);
    return true;
}

uint64_t tbp_rec_strings_take(struct tbp_rec_strings *t, struct tbp_rec_walk w) {
    struct tbp_rec r;
    uint64_t n_bad = 0;
    while (tbp_rec_next(&w, &r))
        n_bad += r.kind != TBP_REC_STRING || !take_string(t, &r);
    return n_bad;
}

void tbp_rec_strings_finish(struct tbp_rec_strings *t, struct tbp_str **texts, uint32_t *n) {
    close_open(t);
    *n = (uint32_t)t->texts.n;
    *texts = TBP_NEW_N(t->arena, struct tbp_str, t->texts.n + 1);
    if (t->texts.n)
        memcpy(*texts, t->texts.at, t->texts.n * sizeof **texts);
    tbp_vec_release(&t->texts);
    tbp_wire_out_release(&t->open);
}
