/* SPDX-License-Identifier: Apache-2.0
 *
 * What the general reader of trace events needs of the one of PyTorch's, for files whose first
 * bytes do not tell them apart.
 */
#ifndef TBP_CONVERT_READ_READ_KINETO_H
#define TBP_CONVERT_READ_READ_KINETO_H

#include "convert/read/reader.h"

bool tbp_kineto_is_dialect_of(const uint8_t *data, size_t size);
int tbp_kineto_read(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err);

#endif
