/* SPDX-License-Identifier: Apache-2.0
 *
 * The buffers that CUPTI fills, on threads of the program: a bounded number of equal ones, lent to
 * CUPTI, queued when it has filled them, given back when the worker has read them. What CUPTI wants
 * beyond the bound is refused where it takes a no for an answer (12.9 and later), else it gets one
 * common buffer whose contents are thrown away and counted.
 *
 * Ownership: memory is mapped, and stays for the life of the process while CUPTI holds any of it.
 * Thread-safe; held locks are short and never around a call into CUPTI.
 */
#ifndef TBP_CAPTURE_CUPTI_BUFFERS_H
#define TBP_CAPTURE_CUPTI_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TBP_CUPTI_BUFFER_BYTES = 1 << 20, TBP_CUPTI_MAX_BUFFERS = 4096 };

/* Once per session: the bound, and whether CUPTI may be refused. */
void tbp_cupti_buffers_open(size_t buffer_bytes, uint64_t max_bytes, bool may_refuse,
                            void (*wake)(void));
/* From here on everything is thrown away; buffers that are not lent go back to the system. */
void tbp_cupti_buffers_close(void);

/* CUPTI's callbacks. */
void tbp_cupti_buffers_request(uint8_t **buffer, size_t *size, size_t *max_records);
void tbp_cupti_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                size_t valid_size);

struct tbp_cupti_filled {
    uint8_t *data;
    size_t valid_bytes;
    void *context;
    uint32_t stream;
};
/* The next filled one, in the order in which they came; false: there is none. */
bool tbp_cupti_buffers_take(struct tbp_cupti_filled *filled);
void tbp_cupti_buffers_give(uint8_t *data);

/* Bytes thrown away since the last time, which held records that nobody knows. */
uint64_t tbp_cupti_buffers_refused_bytes(void);
void tbp_cupti_buffers_after_fork(void);

#endif
