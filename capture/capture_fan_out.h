/* SPDX-License-Identifier: Apache-2.0
 *
 * NewSession: one server asks all workers of a list for their profiles and writes them into one run
 * on its own disk. On a thread of its own ("tbprof-fan-out") for the time of the call, since this
 * server may be one of the workers. One at a time. Other machines are asked only if allowed; files
 * go only where allowed (capture_save.h).
 */
#ifndef TBP_CAPTURE_CAPTURE_FAN_OUT_H
#define TBP_CAPTURE_CAPTURE_FAN_OUT_H

#include "capture/grpc_conn.h"

struct tbp_fan_out_config {
    const char *allowed; /* folders, with ':' between them */
    uint64_t max_duration_ms;
    bool allows_remote;
    void (*wake)(void *ctx);
    void *ctx;
};

struct tbp_fan_out;
/* *slot NULL: none runs. False: refused or failed, *reply says why. */
bool tbp_fan_out_start(struct tbp_fan_out **slot, const struct tbp_fan_out_config *config,
                       const struct tbp_grpc_call *call, struct tbp_grpc_reply *reply);
/* The answer of one that is over; *slot is then NULL again. */
bool tbp_fan_out_take(struct tbp_fan_out **slot, uint64_t *call_id, struct tbp_grpc_reply *reply);
void tbp_fan_out_cancel(struct tbp_fan_out *f); /* it will be over soon; NULL is fine */
void tbp_fan_out_free(struct tbp_fan_out *f);   /* cancels and joins; NULL is fine */

#endif
