/* SPDX-License-Identifier: Apache-2.0
 *
 * Stable sorts: bottom-up merge of natural runs for records, radix for big index arrays; see
 * sort.h.
 */
#include "base/sort.h"

#include "base/guard.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef int compare_fn(const void *a, const void *b, void *ctx);

static void *scratch(size_t n, size_t size) {
    void *p = malloc(n * size);
    if (!p)
        tbp_out_of_memory(n * size);
    return p;
}

/* End of the ascending run that starts at item `from`. */
static size_t run_end(const char *items, size_t from, size_t n, size_t size, compare_fn *cmp,
                      void *ctx) {
    size_t i = from + 1;
    while (i < n && cmp(items + (i - 1) * size, items + i * size, ctx) <= 0)
        i++;
    return i < n ? i : n;
}

static void merge(const char *src, char *dst, size_t lo, size_t mid, size_t hi, size_t size,
                  compare_fn *cmp, void *ctx) {
    size_t a = lo, b = mid, k = lo;
    while (a < mid && b < hi) {
        bool left = cmp(src + a * size, src + b * size, ctx) <= 0;
        memcpy(dst + k++ * size, src + (left ? a++ : b++) * size, size);
    }
    memcpy(dst + k * size, src + a * size, (mid - a) * size);
    memcpy(dst + (k + mid - a) * size, src + b * size, (hi - b) * size);
}

void tbp_sort(void *items, size_t n, size_t size, compare_fn *cmp, void *ctx) {
    if (n < 2 || run_end(items, 0, n, size, cmp, ctx) == n)
        return;
    char *src = items, *tmp = scratch(n, size), *dst = tmp;
    for (bool merged = true; merged;) {
        merged = false;
        for (size_t lo = 0; lo < n;) {
            size_t mid = run_end(src, lo, n, size, cmp, ctx);
            size_t hi = mid < n ? run_end(src, mid, n, size, cmp, ctx) : n;
            merge(src, dst, lo, mid, hi, size, cmp, ctx);
            merged |= lo > 0 || hi < n;
            lo = hi;
        }
        char *swap = src;
        src = dst;
        dst = swap;
    }
    if (src != items)
        memcpy(items, src, n * size);
    free(tmp);
}

struct index_keys {
    const uint64_t *key, *second;
};

static bool in_order(const struct index_keys *k, uint32_t a, uint32_t b) {
    if (k->key[a] != k->key[b])
        return k->key[a] < k->key[b];
    return !k->second || k->second[a] >= k->second[b];
}

static size_t index_run_end(const uint32_t *idx, size_t from, size_t n,
                            const struct index_keys *k) {
    size_t i = from + 1;
    while (i < n && in_order(k, idx[i - 1], idx[i]))
        i++;
    return i < n ? i : n;
}

static void index_merge(const uint32_t *src, uint32_t *dst, size_t lo, size_t mid, size_t hi,
                        const struct index_keys *k) {
    size_t a = lo, b = mid, at = lo;
    while (a < mid && b < hi)
        dst[at++] = in_order(k, src[a], src[b]) ? src[a++] : src[b++];
    memcpy(dst + at, src + a, (mid - a) * sizeof *dst);
    memcpy(dst + at + (mid - a), src + b, (hi - b) * sizeof *dst);
}

void tbp_sort_index_u64(uint32_t *idx, size_t n, const uint64_t *key, const uint64_t *second_desc) {
    const struct index_keys k = {key, second_desc};
    if (n < 2 || index_run_end(idx, 0, n, &k) == n)
        return;
    uint32_t *tmp = scratch(n, sizeof *tmp), *src = idx, *dst = tmp;
    for (bool merged = true; merged;) {
        merged = false;
        for (size_t lo = 0; lo < n;) {
            size_t mid = index_run_end(src, lo, n, &k);
            size_t hi = mid < n ? index_run_end(src, mid, n, &k) : n;
            index_merge(src, dst, lo, mid, hi, &k);
            merged |= lo > 0 || hi < n;
            lo = hi;
        }
        uint32_t *swap = src;
        src = dst;
        dst = swap;
    }
    if (src != idx)
        memcpy(idx, src, n * sizeof *idx);
    free(tmp);
}

static bool is_ascending(const uint32_t *v, size_t n) {
    size_t i = 1;
    while (i < n && v[i - 1] <= v[i])
        i++;
    return i >= n;
}

/* One pass by the digit at `shift`; false if all numbers have the same there, so that nothing
 * moved. */
static bool radix_pass(const uint32_t *src, uint32_t *dst, size_t n, unsigned shift) {
    enum { BITS = 11, DIGITS = 1 << BITS };
    size_t next[DIGITS + 1] = {0};
    for (size_t i = 0; i < n; i++)
        next[(src[i] >> shift & (DIGITS - 1)) + 1]++;
    if (next[(src[0] >> shift & (DIGITS - 1)) + 1] == n)
        return false;
    for (size_t d = 0; d < DIGITS; d++)
        next[d + 1] += next[d];
    for (size_t i = 0; i < n; i++)
        dst[next[src[i] >> shift & (DIGITS - 1)]++] = src[i];
    return true;
}

void tbp_sort_u32(uint32_t *v, size_t n) {
    enum { FEW = 96 };
    if (is_ascending(v, n))
        return;
    for (size_t i = 1; i < n && n <= FEW; i++) {
        uint32_t x = v[i];
        size_t k = i;
        for (; k > 0 && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
    if (n <= FEW)
        return;
    uint32_t *tmp = scratch(n, sizeof *tmp), *src = v, *dst = tmp;
    for (unsigned shift = 0; shift < 32; shift += 11)
        if (radix_pass(src, dst, n, shift)) {
            uint32_t *swap = src;
            src = dst;
            dst = swap;
        }
    if (src != v)
        memcpy(v, src, n * sizeof *v);
    free(tmp);
}

size_t tbp_count_up_to(const void *items, size_t n, size_t item_size, size_t offset,
                       uint64_t limit) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        uint64_t value;
        memcpy(&value, (const char *)items + mid * item_size + offset, sizeof value);
        if (value <= limit)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}
