/* SPDX-License-Identifier: Apache-2.0
 *
 * See host_clock.h. Source: reference users 3 (case 21), decisions 4 (integers of picoseconds).
 */
#include "convert/report/host_clock.h"

#include "base/sort.h"
#include "convert/analyze/file_marks.h"
#include "convert/model/stats.h"
#include "convert/report/table_out.h"

enum { FEWEST_ENDS = 3 };

struct tbp_host_clock tbp_host_clock_of(const struct tbp_host *h) {
    struct tbp_host_clock c = {0};
    struct tbp_stat st;
    if (h->epoch_ns)
        return (struct tbp_host_clock){
            .state = TBP_CLOCK_AS_TOLD, .has_wall = true, .base_ps = (uint64_t)h->epoch_ns * 1000u};
    for (size_t p = 0; p < h->n_planes; p++) {
        const struct tbp_plane *plane = &h->planes[p];
        bool was_moved = tbp_plane_stat_named(plane, TBP_MARK_EPOCH, &st);
        if (!was_moved && !tbp_plane_stat_named(plane, "profile_start_time", &st))
            continue;
        if (tbp_stat_iu(&st)) {
            c.has_wall = true;
            c.base_ps = tbp_stat_iu(&st) * 1000u;
        }
        if (was_moved)
            break; /* told by the lines themselves, once */
    }
    c.state = c.has_wall ? TBP_CLOCK_AS_TOLD : TBP_CLOCK_UNKNOWN;
    return c;
}

int64_t tbp_host_rank(const struct tbp_host *h, const char **told_by) {
    const char *unused;
    struct tbp_stat st;
    told_by = told_by ? told_by : &unused;
    *told_by = "file";
    for (size_t p = 0; p < h->n_planes; p++)
        if (tbp_plane_stat_named(&h->planes[p], "distributed_rank", &st))
            return (int64_t)tbp_stat_iu(&st);
    *told_by = h->has_file_rank ? "name" : NULL;
    return h->has_file_rank ? h->file_rank : -1;
}

int tbp_clock_offset_parse(struct tbp_clock_offset *out, const char *text, struct tbp_error *err) {
    struct tbp_str s = tbp_str_c(text);
    size_t equals = tbp_str_rfind(s, '=');
    out->host = tbp_str_sub(s, 0, equals < s.n ? equals : 0);
    if (out->host.n && tbp_str_to_ps(tbp_str_sub(s, equals + 1, s.n), &out->ahead_ps))
        return TBP_OK;
    return tbp_fail(err, TBP_E_OPTION,
                    "'clock-offset' takes HOST=TIME or RANK=TIME, the time with its "
                    "unit (" TBP_TIME_UNITS "), as in 1=2.5ms, not '%s'",
                    text);
}

bool tbp_clock_offset_is_of(const struct tbp_clock_offset *o, struct tbp_str host, int64_t rank) {
    int64_t number;
    return tbp_str_eq(o->host, host) ||
           (rank >= 0 && tbp_str_to_i64(o->host, &number) && number == rank);
}

static int by_size(const void *a, const void *b, void *ctx) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    (void)ctx;
    return (x > y) - (x < y);
}

static int64_t sorted_median(int64_t *v, size_t n) {
    tbp_sort(v, n, sizeof *v, by_size, NULL);
    int64_t low = v[(n - 1) / 2], high = v[n / 2];
    return low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
}

static int64_t size_of(int64_t v) {
    return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v;
}

void tbp_host_clock_align(struct tbp_host_clock *c, int64_t *apart_ps, size_t n,
                          int64_t transfer_ps) {
    c->n_ends = n;
    if (n == 0)
        return;
    int64_t median_ps = sorted_median(apart_ps, n);
    for (size_t i = 0; i < n; i++)
        apart_ps[i] = size_of((int64_t)((uint64_t)apart_ps[i] - (uint64_t)median_ps));
    c->spread_ps = sorted_median(apart_ps, n);
    if (c->state == TBP_CLOCK_STATED || n < FEWEST_ENDS || c->spread_ps > transfer_ps)
        return;
    c->state = TBP_CLOCK_AGREES;
    if (c->has_wall && size_of(median_ps) <= transfer_ps)
        return;
    c->state = TBP_CLOCK_ALIGNED;
    c->ahead_ps = median_ps;
}

const char *tbp_clock_state_text(enum tbp_clock_state state) {
    static const char *const texts[] = {"unknown", "as_told", "agrees", "aligned", "stated"};
    return texts[state];
}

static void put_time(struct tbp_json *out, int64_t ps) {
    char text[TBP_VALUE_MAX];
    tbp_json_raw(out, text, tbp_time_text(text, ps));
}

void tbp_host_clock_text(struct tbp_json *out, const struct tbp_host_clock *c, struct tbp_str host,
                         struct tbp_str first) {
    if (c->state == TBP_CLOCK_AS_TOLD)
        return;
    tbp_json_lit(out, "clock of ");
    tbp_put_shown(out, host);
    if (c->state == TBP_CLOCK_UNKNOWN) {
        tbp_json_lit(out, ": unknown, and there are too few collectives to tell\n");
        return;
    }
    if (c->state == TBP_CLOCK_AGREES) {
        tbp_json_lit(out, ": agrees with ");
    } else {
        tbp_json_lit(out, ": ");
        put_time(out, c->ahead_ps);
        tbp_json_lit(out, c->state == TBP_CLOCK_STATED ? " taken off, as --clock-offset says; "
                                                       : " taken off, which brings it to ");
    }
    if (c->state != TBP_CLOCK_STATED)
        tbp_put_shown(out, first);
    tbp_json_printf(out, "%s%zu collective%s that end together, within ",
                    c->state == TBP_CLOCK_STATED ? "by " : ", by ", c->n_ends,
                    c->n_ends == 1 ? "" : "s");
    put_time(out, c->spread_ps);
    tbp_json_char(out, '\n');
}

void tbp_host_clock_json(struct tbp_json *out, const struct tbp_host_clock *c, struct tbp_str host,
                         bool is_first) {
    tbp_json_lit(out, is_first ? "{\"host\":" : ",{\"host\":");
    tbp_json_str(out, host, TBP_JSON_GVIZ);
    tbp_json_printf(out, ",\"clock\":\"%s\"", tbp_clock_state_text(c->state));
    tbp_put_us(out, ",\"clock_ahead_us\":", c->ahead_ps);
    tbp_json_printf(out, ",\"compared_by\":%zu", c->n_ends);
    tbp_put_us(out, ",\"clock_spread_us\":", c->spread_ps);
    tbp_json_char(out, '}');
}
