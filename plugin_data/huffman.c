/* SPDX-License-Identifier: Apache-2.0
 *
 * Huffman's two-queue construction over sorted counts; depths beyond the bound are cut and paid
 * back until Kraft's sum is exactly one again.
 */
#include "plugin_data/huffman.h"

#include <stdbool.h>
#include <string.h>

/* Leaves sorted by (count, symbol): keys are count << 16 | symbol. */
static unsigned sorted_leaves(const uint32_t *count, unsigned n, uint64_t *keys) {
    static const unsigned gaps[] = {57, 23, 10, 4, 1};
    unsigned used = 0;
    for (unsigned i = 0; i < n; ++i)
        if (count[i])
            keys[used++] = (uint64_t)count[i] << 16 | i;
    for (unsigned i = 0; used < 2; ++i) /* a code needs two symbols to be complete */
        if (!count[i])
            keys[used++] = (uint64_t)1 << 16 | i;
    for (unsigned g = 0; g < sizeof gaps / sizeof gaps[0]; ++g)
        for (unsigned i = gaps[g]; i < used; ++i) {
            uint64_t key = keys[i];
            unsigned j = i;
            for (; j >= gaps[g] && keys[j - gaps[g]] > key; j -= gaps[g])
                keys[j] = keys[j - gaps[g]];
            keys[j] = key;
        }
    return used;
}

/* How many leaves lie at each depth of the tree. Nodes: leaves 0 … n-1, then inner ones as made. */
static void count_depths(const uint64_t *keys, unsigned n, unsigned max_bits, unsigned *at_depth) {
    uint64_t weight[2 * TBP_HUFFMAN_SYMBOLS];
    uint16_t parent[2 * TBP_HUFFMAN_SYMBOLS], depth[2 * TBP_HUFFMAN_SYMBOLS];
    for (unsigned i = 0; i < n; ++i)
        weight[i] = keys[i] >> 16;
    unsigned leaf = 0, inner = n;
    for (unsigned made = n; made < 2 * n - 1; ++made) {
        weight[made] = 0;
        for (int child = 0; child < 2; ++child) {
            bool take_leaf = leaf < n && (inner == made || weight[leaf] <= weight[inner]);
            unsigned node = take_leaf ? leaf++ : inner++;
            weight[made] += weight[node];
            parent[node] = (uint16_t)made;
        }
    }
    depth[2 * n - 2] = 0;
    for (unsigned i = 2 * n - 2; i-- > 0;) {
        depth[i] = (uint16_t)(depth[parent[i]] + 1);
        if (i < n)
            ++at_depth[depth[i] < max_bits ? depth[i] : max_bits];
    }
}

/* Kraft's sum in units of 2^-max_bits must become exactly 2^max_bits: leaves move one level down
 * (the deepest first, which costs least) until the sum fits, then up where there is room. */
static void balance(unsigned *at_depth, unsigned max_bits) {
    uint64_t whole = (uint64_t)1 << max_bits, sum = 0;
    for (unsigned d = 1; d <= max_bits; ++d)
        sum += (uint64_t)at_depth[d] << (max_bits - d);
    while (sum > whole) {
        unsigned d = max_bits - 1;
        while (at_depth[d] == 0)
            --d;
        --at_depth[d];
        ++at_depth[d + 1];
        sum -= (uint64_t)1 << (max_bits - d - 1);
    }
    for (unsigned d = max_bits; sum < whole;) {
        if (at_depth[d] == 0 || whole - sum < (uint64_t)1 << (max_bits - d)) {
            --d;
            continue;
        }
        --at_depth[d];
        ++at_depth[d - 1];
        sum += (uint64_t)1 << (max_bits - d);
        d = max_bits;
    }
}

void tbp_huffman_lengths(const uint32_t *count, unsigned n, unsigned max_bits, uint8_t *length) {
    uint64_t keys[TBP_HUFFMAN_SYMBOLS];
    unsigned at_depth[TBP_HUFFMAN_BITS + 1] = {0};
    unsigned used = sorted_leaves(count, n, keys), next = 0;
    count_depths(keys, used, max_bits, at_depth);
    balance(at_depth, max_bits);
    memset(length, 0, n);
    for (unsigned d = max_bits; d > 0; --d) /* the rarest symbols are the deepest */
        for (unsigned i = 0; i < at_depth[d]; ++i)
            length[keys[next++] & 0xffff] = (uint8_t)d;
}

static uint16_t reversed(unsigned code, unsigned bits) {
    unsigned r = 0;
    for (; bits > 0; --bits, code >>= 1)
        r = r << 1 | (code & 1);
    return (uint16_t)r;
}

void tbp_huffman_codes(const uint8_t *length, unsigned n, uint16_t *code) {
    unsigned first[TBP_HUFFMAN_BITS + 2] = {0}, at_length[TBP_HUFFMAN_BITS + 1] = {0};
    for (unsigned i = 0; i < n; ++i)
        ++at_length[length[i]];
    at_length[0] = 0;
    for (unsigned d = 1; d <= TBP_HUFFMAN_BITS; ++d)
        first[d + 1] = (first[d] + at_length[d]) << 1;
    for (unsigned i = 0; i < n; ++i)
        code[i] = length[i] ? reversed(first[length[i]]++, length[i]) : 0;
}
