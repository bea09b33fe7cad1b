/* SPDX-License-Identifier: Apache-2.0
 *
 * A subscription to CUPTI, by whichever of its two interfaces can be had: the newer one (CUDA 13.3
 * and its driver) lets several tools record side by side, the older one has a single user. They
 * must not be mixed, so all calls that differ go through here. Ownership: `c` is the caller's. One
 * thread at a time.
 */
#ifndef TBP_CAPTURE_CUPTI_SUBSCRIPTION_H
#define TBP_CAPTURE_CUPTI_SUBSCRIPTION_H

#include "capture/cupti_load.h"

struct tbp_cupti_subscription {
    const struct tbp_cupti *c;
    void *handle;    /* NULL: none */
    bool is_shared;  /* by the newer interface */
    char holder[64]; /* who has it, where CUPTI tells; "" */
};

/* cuda_version: of the driver, 13030 for 13.3. Results, here and below, are CUPTI's numbers. */
int tbp_cupti_subscribe(struct tbp_cupti_subscription *s, const struct tbp_cupti *c,
                        int cuda_version);
void tbp_cupti_unsubscribe(struct tbp_cupti_subscription *s);
/* "subscribing" for tbp_cupti_explain, with the name of who was there before. */
void tbp_cupti_subscribing(const struct tbp_cupti_subscription *s, char *text, size_t size);

/* Before kinds are switched on: buffers come zeroed, threads go by the system's numbers; with
 * `graphs`, graphs are recorded as a whole. What cannot be set stays. */
void tbp_cupti_configure(const struct tbp_cupti_subscription *s, bool graphs);
/* Which changes of unified memory are of interest, before its kind is switched on. */
void tbp_cupti_configure_unified(const struct tbp_cupti_subscription *s, uint32_t n_devices);
/* Buffers of capture/cupti_buffers.h. */
int tbp_cupti_register(const struct tbp_cupti_subscription *s);
/* Records of devices come at once, where the release can do so. */
int tbp_cupti_enable(const struct tbp_cupti_subscription *s, uint32_t kind);
int tbp_cupti_disable(const struct tbp_cupti_subscription *s, uint32_t kind);

int tbp_cupti_next_record(const struct tbp_cupti_subscription *s, uint8_t *buffer,
                          size_t valid_bytes, const uint8_t **record);
/* Records dropped since the last time. */
size_t tbp_cupti_dropped(const struct tbp_cupti_subscription *s, void *context, uint32_t stream);
int tbp_cupti_timestamp(const struct tbp_cupti_subscription *s, uint64_t *ns);

#endif
