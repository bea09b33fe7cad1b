/* SPDX-License-Identifier: Apache-2.0
 *
 * What `tbprof run` learns from the processes that it records: the file that TBPROF_RUN_REPORT
 * names is made by the first of them that loads the runtime, each run that one of them writes is a
 * line of it, and an empty line stands for a process that could not record, and said why. So it can
 * tell a program that never loaded the runtime from one that had nothing to say. No file is made
 * where the variable is not set. Thread-safe, any number of processes.
 */
#ifndef TBP_CAPTURE_RUN_REPORT_H
#define TBP_CAPTURE_RUN_REPORT_H

#define TBP_RUN_REPORT_VARIABLE "TBPROF_RUN_REPORT"

void tbp_run_report_loaded(void);
void tbp_run_report_failed(void);
void tbp_run_report_written(const char *run_folder);

#endif
