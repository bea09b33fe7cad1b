/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of the service as bytes. Profiles are not copied: their messages are written around them.
 */
#ifndef TBP_CAPTURE_CAPTURE_REPLY_H
#define TBP_CAPTURE_CAPTURE_REPLY_H

#include "capture/capture_worker.h"

/* Takes the job's profile. bytes_free: what gives it back. */
void tbp_capture_reply_of(struct tbp_grpc_reply *reply, struct tbp_capture_job *job,
                          void (*bytes_free)(uint8_t *bytes));

#endif
