/* SPDX-License-Identifier: Apache-2.0
 *
 * TFRecord framing of event files: length, masked CRC-32C of the length, data, masked CRC-32C of
 * the data, all little endian. Pure but for the sink.
 */
#ifndef TBP_PLUGIN_DATA_TFRECORD_H
#define TBP_PLUGIN_DATA_TFRECORD_H

#include "plugin_data/sink.h"

/* CRC-32C (Castagnoli) of n bytes; crc is that of the bytes before, 0 at first. */
uint32_t tbp_crc32c(uint32_t crc, const void *p, size_t n);
/* The form in which records hold a CRC, so that a CRC over bytes with CRCs in them stays useful. */
uint32_t tbp_crc32c_mask(uint32_t crc);

int tbp_tfrecord_write(struct tbp_sink *out, const void *data, size_t n, struct tbp_error *err);

#endif
