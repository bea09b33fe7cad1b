/* SPDX-License-Identifier: Apache-2.0
 *
 * Header blocks as gRPC's own servers write them: names and values as they stand, never indexed, no
 * Huffman code. libnghttp2 always takes the shorter form; clients and tools that only look for
 * "grpc-status" in the bytes do not find it then.
 */
#ifndef TBP_CAPTURE_H2_PLAIN_H
#define TBP_CAPTURE_H2_PLAIN_H

#include <stddef.h>
#include <stdint.h>

enum { TBP_H2_FRAME_HEAD = 9, TBP_H2_PLAIN_MAX = 16384 };

/* Rewrites one whole HEADERS frame without padding and priority, whose fields were sent with "never
 * index". Returns the size, or 0: leave it as it is. */
size_t tbp_h2_plain_headers(uint8_t to[TBP_H2_PLAIN_MAX], const uint8_t *frame, size_t n);

#endif
