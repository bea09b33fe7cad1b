/* SPDX-License-Identifier: Apache-2.0
 *
 * One reader over bytes in memory; see one_reader.h.
 */
#include "fuzz/one_reader.h"

#include "convert/model/stats.h"

#include <stdio.h>
#include <stdlib.h>

static void walk(const struct tbp_line *l) {
    for (size_t i = 0; i < l->ev.n; i++) {
        struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
        for (struct tbp_stat st; tbp_stat_next(&it, &st);)
            if (st.meta->name.p == NULL || l->ev.meta[i] >= l->plane->n_metas)
                abort();
    }
}

static void check(const struct tbp_host *h) {
    const struct tbp_ledger *l = &h->ledger;
    if (l->events_read !=
        l->events_emitted + l->events_merged + l->events_quarantined + l->events_dropped) {
        fputs("the ledger does not add up\n", stderr);
        abort();
    }
    for (size_t p = 0; p < h->n_planes; p++)
        for (size_t i = 0; i < h->planes[p].n_lines; i++)
            walk(&h->planes[p].lines[i]);
}

bool one_reader(const struct tbp_reader *reader, const uint8_t *data, size_t size) {
    struct tbp_host h;
    struct tbp_error err;
    uint8_t *copy = malloc(size ? size : 1); /* exactly as long: sanitizers see overreads */
    if (size)
        memcpy(copy, data, size);
    tbp_host_init(&h);
    h.name = h.path = TBP_STR("fuzz");
    h.input = (struct tbp_input){.data = copy, .size = size};
    bool is_read = reader->read(&h, NULL, &err) == TBP_OK;
    if (is_read)
        check(&h);
    tbp_host_release(&h);
    return is_read;
}
