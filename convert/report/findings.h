/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a profile fit to draw conclusions from? What speaks against it, each with its figure, what it
 * spoils and what to do. `tbprof check` lists all; other reports repeat what spoils their figures.
 *
 *     tbp_findings_init(&f);
 *     tbp_findings_collect(&f, session, first_host, end_host, TBP_SPOILS_ALL, err);
 *     … f.list …
 *     tbp_findings_release(&f);
 */
#ifndef TBP_CONVERT_REPORT_FINDINGS_H
#define TBP_CONVERT_REPORT_FINDINGS_H

#include "base/vec.h"
#include "convert/analyze/session.h"
#include "convert/report/host_clock.h"
#include "plugin_data/json_out.h"

enum tbp_spoils {
    TBP_SPOILS_HOST = 1,   /* times of the host */
    TBP_SPOILS_DEVICE = 2, /* times of devices */
    TBP_SPOILS_STEPS = 4,  /* times of steps */
    TBP_SPOILS_RANKS = 8,  /* what compares hosts */
    TBP_SPOILS_ALL = 15,
};

struct tbp_finding {
    const char *key;
    struct tbp_str host; /* empty: the run as a whole */
    bool is_serious;     /* else: worth knowing, the profile is fit all the same */
    unsigned spoils;     /* enum tbp_spoils bits */
    uint64_t count, of;  /* the figure; of 0: there is no whole */
    const char *text, *advice;
};

struct tbp_findings {
    TBP_VEC(struct tbp_finding) list;
    struct tbp_arena arena;                       /* texts */
    const struct tbp_clock_offset *clock_offsets; /* set before collect; or NULL */
    size_t n_clock_offsets;
    const int64_t *ahead_ps; /* in place of these, of each host that can be read; or NULL */
    size_t n_unreadable;     /* hosts, set by collect: found, and left out of all else */
};

void tbp_findings_init(struct tbp_findings *f);
void tbp_findings_release(struct tbp_findings *f);
/* A host whose file cannot be read; text: of the error. For reports that collect host by host. */
void tbp_findings_add_unreadable(struct tbp_findings *f, struct tbp_str host, const char *text);
/* Of hosts first … end-1; only what spoils one of `wanted`. A host whose file cannot be read is a
 * finding, and a failure if there is none that can be. */
int tbp_findings_collect(struct tbp_findings *f, struct tbp_session *s, uint32_t first,
                         uint32_t end, unsigned wanted, struct tbp_error *err);
size_t tbp_findings_serious(const struct tbp_findings *f);

/* Keys of all that may be found, up to NULL. */
extern const char *const tbp_finding_keys[];
/* Lines for people: one per finding, and what to do. */
void tbp_findings_text(struct tbp_json *out, const struct tbp_findings *f, bool color);
/* A JSON list of objects. */
void tbp_findings_json(struct tbp_json *out, const struct tbp_findings *f);

/* ---- for the files that find ---- */
/* Adds a finding, with a copy of its host; a zero count adds none. */
void tbp_finding_add(struct tbp_findings *f, const struct tbp_finding *what);
/* What hosts are compared by. */
struct tbp_host_facts {
    struct tbp_str name;
    uint64_t start_ns, window_ps; /* start on the wall clock, 0: not known */
    int64_t rank, world_size;     /* -1: not known */
    const int64_t *steps;         /* numbers, ascending */
    size_t n_steps;
};
void tbp_check_records(struct tbp_findings *f, const struct tbp_host *h);
void tbp_check_devices(struct tbp_findings *f, const struct tbp_host *h);
void tbp_check_steps(struct tbp_findings *f, const struct tbp_host *h,
                     struct tbp_host_facts *facts);
void tbp_check_ranks(struct tbp_findings *f, const struct tbp_host_facts *hosts, size_t n);

#endif
