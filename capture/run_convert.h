/* SPDX-License-Identifier: Apache-2.0
 *
 * Option `convert`: the pages of a run that has just been written are made by the tbprof program,
 * as a child, since the library does not hold the converter.
 */
#ifndef TBP_CAPTURE_RUN_CONVERT_H
#define TBP_CAPTURE_RUN_CONVERT_H

#include "base/status.h"

/* Runs `tbprof convert` on the run folder and waits. The program is $TBPROF_EXECUTABLE, else the
 * one beside the library, else the one on PATH. */
int tbp_run_convert(const char *run_folder, struct tbp_error *err);

#endif
