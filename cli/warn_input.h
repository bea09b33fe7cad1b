/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells the user in plain words, on standard error, when an input was damaged or empty: a page made
 * of half a profile looks like a whole one.
 */
#ifndef TBP_CLI_WARN_INPUT_H
#define TBP_CLI_WARN_INPUT_H

#include "cli/cli.h"
#include "convert/model/ledger.h"

/* One line for the host, none if its input is sound. */
void tbp_warn_input(const struct tbp_cli *cli, struct tbp_str host, uint64_t size_bytes,
                    const struct tbp_ledger *l);

#endif
