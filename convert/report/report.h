/* SPDX-License-Identifier: Apache-2.0
 *
 * What a report is: a table or text for the console and for scripts, made from any input. Unlike a
 * tool (a page of the Profile tab) it answers to nobody's contract but docs/reports.md. Adding one
 * = a file with a `const struct tbp_report`, one line in reports.c.
 *
 * write streams the answer into the sink; it asks the session for hosts and tables and keeps
 * nothing.
 */
#ifndef TBP_CONVERT_REPORT_REPORT_H
#define TBP_CONVERT_REPORT_REPORT_H

#include "convert/analyze/session.h"
#include "convert/report/host_clock.h"
#include "convert/report/table_out.h"
#include "convert/report/unread.h"

/* What was asked for and is not in the profile, each as "no device times: what was done instead".
 */
struct tbp_report_lacks {
    const char *what[2];
    size_t n;
};

/* How the question was put; each report says in its file which members it looks at. */
struct tbp_report_request {
    uint32_t host; /* index, or TBP_ALL_HOSTS */
    enum tbp_report_format format;
    bool color;
    uint32_t limit; /* rows shown; 0: all */
    unsigned sort_by, group_by, depth, kind;
    bool is_ascending, with_advice;
    const char **ignored; /* keys of findings */
    size_t n_ignored;
    const char *fp_point, *bp_point; /* names of ops, or NULL */
    const struct tbp_clock_offset *clock_offsets;
    size_t n_clock_offsets;
    struct tbp_report_lacks *lacks; /* filled by write; may be NULL */
    struct tbp_unread *unread;      /* filled by write, which is of the other hosts */
};

struct tbp_report {
    const char *name; /* of the command */
    const char *help; /* one line */
    int (*write)(struct tbp_session *s, const struct tbp_report_request *r, struct tbp_sink *out,
                 struct tbp_error *err);
};

extern const struct tbp_report tbp_report_stats;
extern const struct tbp_report tbp_report_steps;
extern const struct tbp_report tbp_report_collectives;
extern const struct tbp_report tbp_report_stacks;
extern const struct tbp_report tbp_report_export;
extern const struct tbp_report tbp_report_check;
extern const struct tbp_report *const tbp_reports[]; /* reports.c: THE TABLE; NULL-terminated */

static inline void tbp_report_lacks(const struct tbp_report_request *r, const char *what) {
    struct tbp_report_lacks *l = r->lacks;
    if (l && l->n < sizeof l->what / sizeof *l->what)
        l->what[l->n++] = what;
}

/* Hosts from … to of a request. */
static inline uint32_t tbp_report_first_host(const struct tbp_report_request *r) {
    return r->host == TBP_ALL_HOSTS ? 0 : r->host;
}
static inline uint32_t tbp_report_end_host(const struct tbp_session *s,
                                           const struct tbp_report_request *r) {
    return r->host == TBP_ALL_HOSTS ? tbp_session_n_hosts(s) : r->host + 1;
}

#endif
