/* SPDX-License-Identifier: Apache-2.0
 *
 * See unread.h.
 */
#include "convert/report/unread.h"

void tbp_unread_init(struct tbp_unread *u) {
    *u = (struct tbp_unread){.n_read = 0};
    tbp_arena_init(&u->arena);
}

void tbp_unread_release(struct tbp_unread *u) {
    tbp_vec_release(&u->list);
    tbp_arena_release(&u->arena);
}

bool tbp_is_of_the_file(int code) {
    return (code <= TBP_E_FORMAT && code >= TBP_E_UTF8) || code == TBP_E_LIMIT ||
           code == TBP_E_UNSUPPORTED;
}

int tbp_unread_load(struct tbp_unread *u, struct tbp_session *s, uint32_t host,
                    const struct tbp_host **h, struct tbp_error *err) {
    char text[TBP_ERROR_TEXT * 2];
    struct tbp_error why = {.code = TBP_OK};
    *h = tbp_session_raw_host(s, host, &why);
    if (*h) {
        u->n_read++;
        return TBP_OK;
    }
    if (!tbp_is_of_the_file(why.code)) {
        if (err)
            *err = why;
        return why.code;
    }
    if (u->list.n == 0)
        u->first = why;
    *tbp_vec_push(&u->list) = (struct tbp_unread_host){
        host, tbp_arena_printf(&u->arena, "%s", tbp_error_text(&why, text, sizeof text))};
    return TBP_OK;
}

int tbp_unread_check(const struct tbp_unread *u, struct tbp_error *err) {
    if (u->n_read || u->list.n == 0)
        return TBP_OK;
    if (err)
        *err = u->first;
    return u->first.code;
}

bool tbp_unread_has(const struct tbp_unread *u, uint32_t host) {
    for (size_t i = 0; i < u->list.n; i++)
        if (u->list.at[i].host == host)
            return true;
    return false;
}
