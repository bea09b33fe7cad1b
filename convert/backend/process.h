/* SPDX-License-Identifier: Apache-2.0
 *
 * The one backend of the process. Both interfaces of the library are plain functions without a
 * handle, because those who call them have none to give; this is the only state they stand on.
 * Made at first use from the environment, never freed: threads of the program may be answering when
 * it ends.
 */
#ifndef TBP_CONVERT_BACKEND_PROCESS_H
#define TBP_CONVERT_BACKEND_PROCESS_H

#include "convert/backend/answer.h"

/* NULL, with err filled, if memory did not suffice to make it. */
struct tbp_backend *tbp_process_backend(struct tbp_error *err);

/* TBPROF_BACKEND says that the official library answers everything. */
bool tbp_process_is_off(void);

void tbp_process_count(int status); /* of one answer */
void tbp_process_counts(uint64_t *n_answers, uint64_t *n_errors);

#endif
