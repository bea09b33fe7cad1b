/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the readers of trace events. The first byte chooses the reader; the ledger must add up and
 * every stat must be readable.
 */
#include "convert/model/stats.h"
#include "convert/read/reader.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const struct tbp_line *l) {
    for (size_t i = 0; i < l->ev.n; i++) {
        struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
        for (struct tbp_stat st; tbp_stat_next(&it, &st);)
            if (st.meta->name.p == NULL || l->ev.meta[i] >= l->plane->n_metas)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    uint8_t *copy = malloc(size);
    memcpy(copy, data + 1, size - 1);
    struct tbp_host h;
    tbp_host_init(&h);
    h.name = h.path = TBP_STR("fuzz");
    h.input = (struct tbp_input){.data = copy, .size = size - 1};
    const struct tbp_reader *reader = data[0] & 1 ? &tbp_reader_kineto : &tbp_reader_chrome;
    struct tbp_error err;
    if (reader->read(&h, NULL, &err) == TBP_OK) {
        const struct tbp_ledger *l = &h.ledger;
        if (l->events_read !=
            l->events_emitted + l->events_merged + l->events_quarantined + l->events_dropped) {
            fputs("the ledger does not add up\n", stderr);
            abort();
        }
        for (size_t p = 0; p < h.n_planes; p++)
            for (size_t i = 0; i < h.planes[p].n_lines; i++)
                walk(&h.planes[p].lines[i]);
    }
    tbp_host_release(&h);
    return 0;
}
