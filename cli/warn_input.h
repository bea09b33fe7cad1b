/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells the user in plain words, on standard error, when an input was damaged, empty or passed
 * over: a page made of half a profile looks like a whole one.
 */
#ifndef TBP_CLI_WARN_INPUT_H
#define TBP_CLI_WARN_INPUT_H

#include "cli/cli.h"
#include "cli/find_runs.h"
#include "convert/model/ledger.h"
#include "plugin_data/json_out.h"

/* One line for the file of a host, none if it is sound. */
void tbp_warn_input(const struct tbp_cli *cli, struct tbp_str path, uint64_t size_bytes,
                    const struct tbp_ledger *l);

/* A line for each thing that was passed over; true if a profile was. */
bool tbp_warn_skipped(const struct tbp_cli *cli, const struct tbp_runs *runs);
/* ,"skipped":[{"path":…,"why":…}…] */
void tbp_json_skipped(struct tbp_json *j, const struct tbp_runs *runs);

#endif
