/* SPDX-License-Identifier: Apache-2.0
 *
 * Category and one more text of an event, decoded once per distinct body.
 */
#include "convert/report/event_texts.h"

#include "convert/report/event_role.h"

static uint32_t find_stat(const struct tbp_plane *p, const char *name) {
    for (uint32_t i = 1; i < p->n_stat_metas; i++)
        if (tbp_str_is(p->stat_metas[i].name, name))
            return i;
    return 0;
}

void tbp_event_texts_init(struct tbp_event_texts *t, const struct tbp_line *line,
                          const char *const *details) {
    t->line = line;
    t->category = find_stat(line->plane, TBP_CATEGORY_STAT);
    t->detail = t->spare = 0;
    for (size_t i = 0; details && details[i] && !t->detail; i++)
        t->detail = find_stat(line->plane, details[i]);
    memset(t->cache, 0, sizeof t->cache);
}

void tbp_event_texts_spare(struct tbp_event_texts *t, enum tbp_stat_key key) {
    for (uint32_t i = 1; i < t->line->plane->n_stat_metas && !t->spare; i++)
        t->spare = t->line->plane->stat_metas[i].key == key ? i : 0;
}

static void read_texts(const struct tbp_event_texts *t, size_t event, struct tbp_str *category,
                       struct tbp_str *detail) {
    const struct tbp_stat_meta *metas = t->line->plane->stat_metas;
    struct tbp_stat_iter it = tbp_stat_iter_event(t->line, event);
    struct tbp_str spare = TBP_STR_NONE;
    for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
        if (t->category && st.meta == &metas[t->category])
            *category = tbp_stat_s(&st);
        else if (t->detail && st.meta == &metas[t->detail])
            *detail = tbp_stat_s(&st);
        else if (t->spare && st.meta == &metas[t->spare])
            spare = tbp_stat_s(&st);
    }
    *detail = detail->n ? *detail : spare;
}

void tbp_event_texts_get(struct tbp_event_texts *t, size_t event, struct tbp_str *category,
                         struct tbp_str *detail) {
    const struct tbp_line *l = t->line;
    uint64_t body = tbp_event_body(&l->ev, event);
    *category = *detail = TBP_STR_NONE;
    if ((!t->category && !t->detail && !t->spare) || !(l->ev.has[event] & TBP_HAS_STATS))
        return;
    size_t slot = (body ^ body >> 8) % TBP_TEXTS_CACHE;
    if (t->cache[slot].body_1 != body + 1) {
        read_texts(t, event, category, detail);
        t->cache[slot].body_1 = body + 1;
        t->cache[slot].category = *category;
        t->cache[slot].detail = *detail;
        return;
    }
    *category = t->cache[slot].category;
    *detail = t->cache[slot].detail;
}
