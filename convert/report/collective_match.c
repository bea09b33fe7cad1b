/* SPDX-License-Identifier: Apache-2.0
 *
 * Which calls of several hosts are one collective, and what follows: waiting, transfer, who was
 * late, and how far clocks are apart. See collective_calls.h.
 */
#include "base/sort.h"
#include "convert/report/collective_calls.h"
#include "convert/report/collective_names.h"

bool tbp_collective_speed(const struct tbp_collectives *c, const struct tbp_collective_call *call,
                          bool bus, double *bytes_per_s) {
    const char *kind = c->ops.at[call->op].kind;
    double ps = (double)(call->is_matched ? (uint64_t)call->transfer_ps : call->dur_ps);
    double n = (double)call->group_size, factor = 1;
    if (!call->bytes || ps <= 0 || (bus && n < 2))
        return false;
    if (bus && tbp_collective_is_of_all(kind))
        factor = (strcmp(kind, "all-reduce") == 0 ? 2 : 1) * (n - 1) / n;
    *bytes_per_s = (double)call->bytes / ps * 1e12 * factor;
    return true;
}

/* ---- places ---- */

static int order_of(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

static int by_host_and_start(const void *a, const void *b, void *ctx) {
    const struct tbp_collective_call *x = a, *y = b;
    (void)ctx;
    int order = order_of(x->host, y->host);
    return order ? order : order_of(x->start_ps, y->start_ps);
}

/* Op, step, then its place on each host. */
static int by_place(const void *a, const void *b, void *ctx) {
    const struct tbp_collective_call *x = a, *y = b;
    (void)ctx;
    int order = order_of(x->op, y->op);
    if (!order)
        order = x->step < y->step ? -1 : x->step > y->step;
    if (!order)
        order = order_of(x->nth, y->nth);
    return order ? order : order_of(x->host, y->host);
}

static bool is_same_place(const struct tbp_collective_call *a,
                          const struct tbp_collective_call *b) {
    return a->op == b->op && a->step == b->step;
}

struct counter {
    int64_t step;
    uint32_t n;
};

/* Numbers the calls of each op within each step; a step is visited once, so the last one will do.
 */
static void number_places(struct tbp_collectives *c) {
    struct tbp_idmap at = {0};
    tbp_sort(c->calls.at, c->calls.n, sizeof *c->calls.at, by_host_and_start, NULL);
    for (size_t i = 0; i < c->calls.n; i++) {
        struct tbp_collective_call *x = &c->calls.at[i];
        bool is_new;
        if (i && x[-1].host != x->host)
            tbp_idmap_release(&at);
        uint64_t key = ((uint64_t)x->step * 0x9e3779b97f4a7c15u) ^ x->op;
        uint32_t *n = tbp_idmap_put(&at, key, &is_new);
        *n = is_new ? 0 : *n + 1;
        x->nth = *n;
    }
    tbp_idmap_release(&at);
}

/* ---- medians ---- */

static int by_host_op_and_size(const void *a, const void *b, void *ctx) {
    const struct tbp_collective_call *x = a, *y = b;
    (void)ctx;
    int order = order_of(x->host, y->host);
    if (!order)
        order = order_of(x->op, y->op);
    return order ? order : order_of(x->dur_ps, y->dur_ps);
}

static void find_medians(struct tbp_collectives *c) {
    struct tbp_collective_call *v = c->calls.at;
    tbp_sort(v, c->calls.n, sizeof *v, by_host_op_and_size, NULL);
    for (size_t from = 0, to; from < c->calls.n; from = to) {
        for (to = from; to < c->calls.n && v[to].host == v[from].host && v[to].op == v[from].op;)
            to++;
        uint64_t low = v[from + (to - from - 1) / 2].dur_ps,
                 high = v[from + (to - from) / 2].dur_ps;
        for (size_t i = from; i < to; i++)
            v[i].median_ps = (int64_t)(low + (high - low) / 2);
    }
}

/* ---- one collective ---- */

static void fill_collective(struct tbp_collectives *c, struct tbp_collective_call *v, size_t n) {
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < n; i++) {
        least = v[i].dur_ps < least ? v[i].dur_ps : least;
        most = v[i].dur_ps > most ? v[i].dur_ps : most;
    }
    for (size_t i = 0; i < n; i++) {
        struct tbp_collective_host *h = &c->hosts.at[v[i].host];
        v[i].is_matched = true;
        v[i].wait_ps = (int64_t)(v[i].dur_ps - least);
        v[i].transfer_ps = (int64_t)least;
        v[i].skew_ps = (int64_t)(most - least);
        v[i].is_late = v[i].wait_ps == 0 && most > least;
        h->n_matched++;
        h->n_late += v[i].is_late;
        h->waited_ps += v[i].wait_ps;
        h->transfer_ps += v[i].transfer_ps;
        h->waited_for_ps += v[i].is_late ? v[i].skew_ps : 0;
    }
    c->n_matched += n;
}

/* Calls of one op in one step: every host that has some has as many. */
static bool is_complete(const struct tbp_collective_call *v, size_t n) {
    size_t of_first = 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && v[to].nth == v[from].nth;)
            to++;
        of_first = from ? of_first : to - from;
        if (to - from != of_first || of_first < 2)
            return false;
    }
    return true;
}

static void match_place(struct tbp_collectives *c, struct tbp_collective_call *v, size_t n) {
    if (!c->ops.at[v->op].makes_wait || !is_complete(v, n)) {
        c->n_unmatched += n;
        return;
    }
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && v[to].nth == v[from].nth;)
            to++;
        fill_collective(c, v + from, to - from);
    }
}

/* ---- clocks ---- */

static uint64_t common_end(const struct tbp_collectives *c, const struct tbp_collective_call *x) {
    return tbp_common_ps(&c->hosts.at[x->host].clock, x->start_ps + x->dur_ps);
}

/* Differences of the ends on `host` to those on the first one; calls are by place. */
static void align_host(struct tbp_collectives *c, uint32_t host) {
    TBP_VEC(int64_t) apart = {0};
    const struct tbp_collective_call *first = NULL;
    double transfer_ps = 0;
    for (size_t i = 0; i < c->calls.n; i++) {
        const struct tbp_collective_call *x = &c->calls.at[i];
        if (!x->is_matched)
            continue;
        if (x->host == c->first_host)
            first = x;
        if (x->host != host || !first || !is_same_place(first, x) || first->nth != x->nth)
            continue;
        *tbp_vec_push(&apart) = (int64_t)(common_end(c, x) - common_end(c, first));
        transfer_ps += (double)x->transfer_ps;
    }
    double mean_ps = apart.n ? transfer_ps / (double)apart.n : 0;
    tbp_host_clock_align(&c->hosts.at[host].clock, apart.at, apart.n, (int64_t)mean_ps);
    tbp_vec_release(&apart);
}

static void align_clocks(struct tbp_collectives *c) {
    c->first_host = 0;
    while (c->first_host < c->hosts.n && !c->hosts.at[c->first_host].n_matched)
        c->first_host++;
    for (uint32_t i = c->first_host + 1; i < c->hosts.n; i++)
        align_host(c, i);
    if (c->first_host == c->hosts.n)
        c->first_host = 0;
}

/* ---- numbers ---- */

struct numbering {
    struct tbp_collectives *c;
    uint64_t zero_ps;
};

static int64_t since_zero(const struct numbering *n, const struct tbp_collective_call *x) {
    return (int64_t)(tbp_common_ps(&n->c->hosts.at[x->host].clock, x->start_ps) - n->zero_ps);
}

static int by_common_start(const void *a, const void *b, void *ctx) {
    const struct tbp_collective_call *const *x = a, *const *y = b;
    int64_t s = since_zero(ctx, *x), t = since_zero(ctx, *y);
    return s < t ? -1 : s > t;
}

static int by_number(const void *a, const void *b, void *ctx) {
    const struct tbp_collective_call *x = a, *y = b;
    (void)ctx;
    int order = order_of(x->number, y->number);
    return order ? order : order_of(x->host, y->host);
}

/* By the begin of the first call, on the common clock. Calls are by place. */
static void number_collectives(struct tbp_collectives *c) {
    struct numbering n = {c, 0};
    TBP_VEC(struct tbp_collective_call *) firsts = {0};
    if (c->calls.n == 0)
        return;
    n.zero_ps = tbp_common_ps(&c->hosts.at[c->calls.at[0].host].clock, c->calls.at[0].start_ps);
    for (size_t from = 0, to; from < c->calls.n; from = to) {
        struct tbp_collective_call *v = c->calls.at, *first = &v[from];
        for (to = from; to < c->calls.n && is_same_place(&v[from], &v[to]) &&
                        v[to].nth == v[from].nth && (to == from || v[from].is_matched);
             to++)
            if (since_zero(&n, &v[to]) < since_zero(&n, first))
                first = &v[to];
        *tbp_vec_push(&firsts) = first;
    }
    tbp_sort(firsts.at, firsts.n, sizeof *firsts.at, by_common_start, &n);
    for (size_t i = 0; i < firsts.n; i++)
        firsts.at[i]->number = i + 1;
    for (size_t from = 0, to; from < c->calls.n; from = to) { /* from the first to all of it */
        struct tbp_collective_call *v = c->calls.at;
        uint64_t number = 0;
        for (to = from; to < c->calls.n && is_same_place(&v[from], &v[to]) &&
                        v[to].nth == v[from].nth && (to == from || v[from].is_matched);
             to++)
            number = v[to].number ? v[to].number : number;
        for (size_t i = from; i < to; i++)
            v[i].number = number;
    }
    tbp_vec_release(&firsts);
    tbp_sort(c->calls.at, c->calls.n, sizeof *c->calls.at, by_number, NULL);
}

void tbp_collectives_match(struct tbp_collectives *c) {
    find_medians(c);
    number_places(c);
    tbp_sort(c->calls.at, c->calls.n, sizeof *c->calls.at, by_place, NULL);
    for (size_t from = 0, to; from < c->calls.n; from = to) {
        for (to = from; to < c->calls.n && is_same_place(&c->calls.at[from], &c->calls.at[to]);)
            to++;
        match_place(c, &c->calls.at[from], to - from);
    }
    align_clocks(c);
    number_collectives(c);
}
