/* SPDX-License-Identifier: Apache-2.0
 *
 * Two hosts compared; see same_host.h.
 */
#include "tests/support/same_host.h"

#include "convert/read/reader.h"

#include <stdlib.h>
#include <string.h>

#define DIFFERS_IF(condition, what)                                                                \
    do {                                                                                           \
        if (condition)                                                                             \
            return (what);                                                                         \
    } while (0)

static bool same_bytes(const void *a, const void *b, size_t n) {
    return n == 0 || memcmp(a, b, n) == 0;
}

static bool same_texts(const struct tbp_str *a, size_t n_a, const struct tbp_str *b, size_t n_b) {
    for (size_t i = 0; i < n_a && n_a == n_b; i++)
        if (!tbp_str_eq(a[i], b[i]))
            return false;
    return n_a == n_b;
}

static const char *line_difference(const struct tbp_line *a, const struct tbp_line *b) {
    const struct tbp_events *x = &a->ev, *y = &b->ev;
    size_t n = x->n;
    DIFFERS_IF(!tbp_str_eq(a->name, b->name) || !tbp_str_eq(a->display_name, b->display_name),
               "the name of a line");
    DIFFERS_IF(a->id != b->id || a->display_id != b->display_id, "the id of a line");
    DIFFERS_IF(a->timestamp_ns != b->timestamp_ns || a->duration_ps != b->duration_ps,
               "the time of a line");
    DIFFERS_IF(n != y->n, "the number of events");
    DIFFERS_IF(!same_bytes(x->start_ps, y->start_ps, n * sizeof *x->start_ps), "starts");
    DIFFERS_IF(!same_bytes(x->dur_ps, y->dur_ps, n * sizeof *x->dur_ps), "durations");
    DIFFERS_IF(!same_bytes(x->meta, y->meta, n * sizeof *x->meta), "names of events");
    DIFFERS_IF(!same_bytes(x->has, y->has, n * sizeof *x->has), "the column has");
    DIFFERS_IF(!same_bytes(x->group, y->group, n * sizeof *x->group), "groups");
    DIFFERS_IF(!same_bytes(x->flags, y->flags, n * sizeof *x->flags), "flags");
    DIFFERS_IF(!same_bytes(x->body_low, y->body_low, n * sizeof *x->body_low), "bodies");
    DIFFERS_IF(a->base_size != b->base_size || !same_bytes(a->base, b->base, a->base_size),
               "bytes of stats");
    return NULL;
}

static const char *plane_difference(const struct tbp_plane *a, const struct tbp_plane *b) {
    DIFFERS_IF(a->id != b->id || !tbp_str_eq(a->name, b->name), "the name of a plane");
    DIFFERS_IF(!same_texts(a->stats, a->n_stats, b->stats, b->n_stats), "stats of a plane");
    DIFFERS_IF(a->n_metas != b->n_metas, "the number of names");
    for (size_t i = 0; i < a->n_metas; i++) {
        const struct tbp_meta *x = &a->metas[i], *y = &b->metas[i];
        DIFFERS_IF(x->id != y->id || !tbp_str_eq(x->name, y->name) ||
                       !tbp_str_eq(x->display, y->display) || !tbp_str_eq(x->wire, y->wire),
                   "a name of events");
    }
    DIFFERS_IF(a->n_stat_metas != b->n_stat_metas, "the number of names of stats");
    for (size_t i = 0; i < a->n_stat_metas; i++)
        DIFFERS_IF(a->stat_metas[i].id != b->stat_metas[i].id ||
                       !tbp_str_eq(a->stat_metas[i].name, b->stat_metas[i].name),
                   "a name of stats");
    DIFFERS_IF(a->n_lines != b->n_lines, "the number of lines");
    for (size_t i = 0; i < a->n_lines; i++) {
        const char *what = line_difference(&a->lines[i], &b->lines[i]);
        DIFFERS_IF(what, what);
    }
    return NULL;
}

static const char *ledger_difference(const struct tbp_ledger *a, const struct tbp_ledger *b) {
    for (int k = 0; k < TBP_LEDGER_KEYS; k++)
        DIFFERS_IF(a->count[k] != b->count[k] || a->first_offset[k] != b->first_offset[k],
                   tbp_ledger_name((enum tbp_ledger_key)k));
    DIFFERS_IF(memcmp(a, b, sizeof *a) != 0, "sums of events");
    return NULL;
}

const char *host_difference(const struct tbp_host *a, const struct tbp_host *b) {
    const char *counter = ledger_difference(&a->ledger, &b->ledger);
    DIFFERS_IF(counter, counter);
    DIFFERS_IF(!same_texts(a->errors, a->n_errors, b->errors, b->n_errors), "errors");
    DIFFERS_IF(!same_texts(a->warnings, a->n_warnings, b->warnings, b->n_warnings), "warnings");
    DIFFERS_IF(a->n_unsigned_steps != b->n_unsigned_steps, "unsigned steps");
    DIFFERS_IF(a->n_planes != b->n_planes, "the number of planes");
    for (size_t i = 0; i < a->n_planes; i++) {
        const char *what = plane_difference(&a->planes[i], &b->planes[i]);
        DIFFERS_IF(what, what);
    }
    return NULL;
}

static int read_copy(struct tbp_host *h, const struct tbp_reader *reader, const uint8_t *data,
                     size_t size, struct tbp_pool *pool, size_t piece_bytes,
                     struct tbp_error *err) {
    uint8_t *copy = malloc(size ? size : 1); /* exactly as long: sanitizers see overreads */
    if (size)
        memcpy(copy, data, size);
    tbp_host_init(h);
    h->name = h->path = TBP_STR("twice");
    h->input = (struct tbp_input){.data = copy, .size = size, .piece_bytes = piece_bytes};
    return reader->read(h, pool, err);
}

const char *reading_difference(const struct tbp_reader *reader, const uint8_t *data, size_t size,
                               struct tbp_pool *pool, size_t piece_bytes) {
    struct tbp_host a, b;
    struct tbp_error err_a = {0}, err_b = {0};
    int one = read_copy(&a, reader, data, size, NULL, 0, &err_a);
    int many = read_copy(&b, reader, data, size, pool, piece_bytes, &err_b);
    const char *what = one != many                                 ? "the outcome"
                       : one == TBP_OK                             ? host_difference(&a, &b)
                       : strcmp(err_a.message, err_b.message) != 0 ? "the message"
                                                                   : NULL;
    tbp_host_release(&a);
    tbp_host_release(&b);
    return what;
}
