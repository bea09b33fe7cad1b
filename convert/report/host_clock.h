/* SPDX-License-Identifier: Apache-2.0
 *
 * One clock for the hosts of a run. Times of a host count from where its profile says, on a clock
 * of its own; collectives end together on all ranks, so their ends tell how far clocks are apart.
 *
 * A clock is corrected only where there is evidence: at least three collectives whose ends lie
 * apart by one and the same amount, give or take less than a collective takes to transfer, and by
 * more than that; or where the user states it. Otherwise it stays as it is. Nothing of this changes
 * a page: it concerns what compares hosts, which says so.
 */
#ifndef TBP_CONVERT_REPORT_HOST_CLOCK_H
#define TBP_CONVERT_REPORT_HOST_CLOCK_H

#include "base/status.h"
#include "convert/model/model.h"
#include "plugin_data/json_out.h"

enum tbp_clock_state {
    TBP_CLOCK_UNKNOWN, /* no wall clock, and nothing to compare it by */
    TBP_CLOCK_AS_TOLD, /* nothing to compare it by, so as the profile says */
    TBP_CLOCK_AGREES,  /* with the first host that has collectives */
    TBP_CLOCK_ALIGNED, /* corrected by collectives */
    TBP_CLOCK_STATED,  /* corrected by --clock-offset */
};

struct tbp_host_clock {
    enum tbp_clock_state state;
    bool has_wall;
    uint64_t base_ps;  /* moment of the model's 0, modulo 2^64: only differences mean anything */
    int64_t ahead_ps;  /* taken off its times */
    size_t n_ends;     /* collectives it was compared by */
    int64_t spread_ps; /* how far they disagree: the median */
};

/* What the host itself says. */
struct tbp_host_clock tbp_host_clock_of(const struct tbp_host *h);
/* A moment of the model on the common clock, modulo 2^64. */
static inline uint64_t tbp_common_ps(const struct tbp_host_clock *c, uint64_t model_ps) {
    return c->base_ps + model_ps - (uint64_t)c->ahead_ps;
}

/* HOST=TIME of --clock-offset: a host by its name, or by its rank. */
struct tbp_clock_offset {
    struct tbp_str host;
    int64_t ahead_ps;
};
int tbp_clock_offset_parse(struct tbp_clock_offset *out, const char *text, struct tbp_error *err);
/* Rank in a distributed job as the profile tells, else the name of its file; -1 if neither does.
 * told_by (may be NULL): "file", "name" or NULL. */
int64_t tbp_host_rank(const struct tbp_host *h, const char **told_by);
bool tbp_clock_offset_is_of(const struct tbp_clock_offset *o, struct tbp_str host, int64_t rank);

/* Sets the clock by the differences of ends to those of the first host (own minus first), which are
 * sorted here; transfer_ps: how long the collectives take at least. */
void tbp_host_clock_align(struct tbp_host_clock *c, int64_t *apart_ps, size_t n,
                          int64_t transfer_ps);

const char *tbp_clock_state_text(enum tbp_clock_state state);
/* One line for people; nothing of a clock that is as told. */
void tbp_host_clock_text(struct tbp_json *out, const struct tbp_host_clock *c, struct tbp_str host,
                         struct tbp_str first);
/* An object of a JSON list. */
void tbp_host_clock_json(struct tbp_json *out, const struct tbp_host_clock *c, struct tbp_str host,
                         bool is_first);

#endif
