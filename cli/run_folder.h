/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the folders of an output path.
 */
#ifndef TBP_CLI_RUN_FOLDER_H
#define TBP_CLI_RUN_FOLDER_H

#include "base/status.h"

/* The folder and all above it; those that are there are fine. */
int tbp_run_folder_make(const char *folder, struct tbp_error *err);

#endif
