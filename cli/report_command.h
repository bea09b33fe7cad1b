/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands that print a report have in common: input, host, format, and what is told about
 * losses.
 */
#ifndef TBP_CLI_REPORT_COMMAND_H
#define TBP_CLI_REPORT_COMMAND_H

#include "cli/cli.h"
#include "cli/run_session.h"
#include "convert/report/report.h"

struct tbp_report_values {
    struct tbp_common common;
    const char *host, *run, *from, *steps;
    struct tbp_given limit;
    bool csv;
    struct tbp_opt_list clock_offsets;
};

/* Rows of an option table; `type` is the command's struct, which begins with struct
 * tbp_report_values as `base`. */
#define TBP_REPORT_OPTIONS                                                                         \
    {"host",       0,                                                                              \
     TBP_OPT_TEXT, offsetof(struct tbp_report_values, host),                                       \
     "HOST",       "one host of a run of several; without: all together",                          \
     NULL},                                                                                        \
        {"run",        0,                                                                          \
         TBP_OPT_TEXT, offsetof(struct tbp_report_values, run),                                    \
         "NAME",       "which run of a log directory",                                             \
         NULL},                                                                                    \
        TBP_STEPS_OPTION(offsetof(struct tbp_report_values, steps)),                               \
        TBP_FROM_OPTION(offsetof(struct tbp_report_values, from))

#define TBP_REPORT_LIMIT_OPTION                                                                    \
    {                                                                                              \
        "limit", 0, TBP_OPT_GIVEN, offsetof(struct tbp_report_values, limit), "N",                 \
            "rows shown; 0: all. Without: 20 as text, all as CSV and JSON", NULL                   \
    }

#define TBP_REPORT_CSV_OPTION                                                                      \
    {                                                                                              \
        "csv", 0, TBP_OPT_FLAG, offsetof(struct tbp_report_values, csv), NULL,                     \
            "comma-separated values with a header line", NULL                                      \
    }

#define TBP_REPORT_CLOCK_OPTION(without)                                                           \
    {                                                                                              \
        "clock-offset", 0, TBP_OPT_LIST, offsetof(struct tbp_report_values, clock_offsets),        \
            "HOST=TIME",                                                                           \
            "by how much the clock of a host or rank is ahead, as 1=2.5ms (" TBP_TIME_UNITS        \
            "); may be repeated. "                                                                 \
            "Without: " without,                                                                   \
            NULL                                                                                   \
    }

uint32_t tbp_report_limit(const struct tbp_report_values *v); /* rows that --limit means */

/* Finds the run, makes the session and writes the report to standard output. The request's host,
 * format and color are set here. */
int tbp_run_report(struct tbp_cli *cli, const struct tbp_report *report,
                   const struct tbp_report_values *v, const char *input,
                   struct tbp_report_request *request, struct tbp_error *err);

#endif
