/* SPDX-License-Identifier: Apache-2.0
 *
 * Huffman codes of bounded length for deflate. Pure, thread-safe, no allocation.
 */
#ifndef TBP_PLUGIN_DATA_HUFFMAN_H
#define TBP_PLUGIN_DATA_HUFFMAN_H

#include <stdint.h>

enum { TBP_HUFFMAN_SYMBOLS = 288, TBP_HUFFMAN_BITS = 15 };

/* length[i] = bits of symbol i, 0 for those that never occur; a complete code of at least two
 * symbols, none longer than max_bits (2^max_bits >= n). n <= TBP_HUFFMAN_SYMBOLS. */
void tbp_huffman_lengths(const uint32_t *count, unsigned n, unsigned max_bits, uint8_t *length);

/* Canonical codes of the lengths, their bits reversed as deflate stores them. */
void tbp_huffman_codes(const uint8_t *length, unsigned n, uint16_t *code);

#endif
