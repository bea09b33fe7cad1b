/* SPDX-License-Identifier: Apache-2.0
 *
 * cupti_oracle LIBCUPTI: NVIDIA's own library steps through buffers made by our table of record
 * sizes, of each kind alone and of all kinds mixed. Needs no GPU and no driver; releases that want
 * one nevertheless are skipped (exit code 77).
 */
#include "capture/cupti_errors.h"
#include "capture/cupti_load.h"
#include "capture/cupti_records.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { EACH = 3, ROUNDS = 20, SKIPPED = 77 };

static const uint32_t kinds[] = {
    TBP_CUPTI_MEMCPY,      TBP_CUPTI_MEMSET,
    TBP_CUPTI_DRIVER,      TBP_CUPTI_RUNTIME,
    TBP_CUPTI_DEVICE,      TBP_CUPTI_CONTEXT,
    TBP_CUPTI_KERNEL,      TBP_CUPTI_NAME,
    TBP_CUPTI_OVERHEAD,    TBP_CUPTI_MEMCPY2,
    TBP_CUPTI_STREAM,      TBP_CUPTI_SYNCHRONIZATION,
    TBP_CUPTI_MEMORY2,     TBP_CUPTI_EXTERNAL_CORRELATION,
    TBP_CUPTI_MEMORY_POOL, TBP_CUPTI_GRAPH_TRACE,
    TBP_CUPTI_JIT,         TBP_CUPTI_UNIFIED_MEMORY,
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static int (*next_record)(uint8_t *buffer, size_t valid, uint8_t **record);
static uint32_t version;
static _Alignas(8) uint8_t buffer[1 << 20];

static size_t append(size_t at, uint32_t kind) {
    memcpy(buffer + at, &kind, sizeof kind);
    return at + tbp_cupti_record_bytes(kind, version);
}

static bool is_known(uint32_t kind) {
    return tbp_cupti_record_bytes(kind, version) > 0;
}

/* Number of places where the library and the table differ. */
static int step(const uint32_t *order, int n, size_t valid, const char *what) {
    uint8_t *record = NULL;
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        int rc = next_record(buffer, valid, &record);
        if (rc != TBP_CUPTI_OK || record != buffer + at) {
            printf("%s: record %d (kind %u) is at %zu, expected %zu (result %d)\n", what, i,
                   order[i], record ? (size_t)(record - buffer) : 0, at, rc);
            return 1;
        }
        at += tbp_cupti_record_bytes(order[i], version);
    }
    int rc = next_record(buffer, valid, &record);
    if (rc != TBP_CUPTI_END)
        printf("%s: no end after %d records (result %d)\n", what, n, rc);
    return rc != TBP_CUPTI_END;
}

static int check_kind(uint32_t kind) {
    uint32_t order[EACH];
    char what[32];
    size_t at = 0;
    memset(buffer, 0, sizeof buffer);
    for (int i = 0; i < EACH; i++) {
        order[i] = kind;
        at = append(at, kind);
    }
    snprintf(what, sizeof what, "kind %u", kind);
    printf(" %u:%zu", kind, tbp_cupti_record_bytes(kind, version));
    return step(order, EACH, at, what);
}

static int check_mixed(void) {
    uint32_t order[ROUNDS * N_KINDS], state = 1;
    size_t at = 0;
    memset(buffer, 0, sizeof buffer);
    for (size_t i = 0; i < ROUNDS * N_KINDS; i++) {
        state = state * 1664525u + 1013904223u;
        order[i] = kinds[(state >> 16) % N_KINDS];
        if (!is_known(order[i]))
            order[i] = TBP_CUPTI_KERNEL;
        at = append(at, order[i]);
    }
    return step(order, ROUNDS * N_KINDS, at, "mixed");
}

int main(int argc, char **argv) {
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*get_version)(uint32_t *), n_wrong = 0;
    if (!library) {
        printf("%s\n", argc == 2 ? dlerror() : "cupti_oracle LIBCUPTI");
        return 2;
    }
    *(void **)(void *)&get_version = dlsym(library, "cuptiGetVersion");
    *(void **)(void *)&next_record = dlsym(library, "cuptiActivityGetNextRecord");
    if (!get_version || !next_record || get_version(&version) != TBP_CUPTI_OK) {
        printf("skipped: '%s' does nothing without a driver\n", argv[1]);
        return SKIPPED;
    }
    printf("CUPTI %s (%u)", tbp_cupti_release(version), version);
    for (size_t i = 0; i < N_KINDS; i++)
        n_wrong += is_known(kinds[i]) && check_kind(kinds[i]);
    n_wrong += check_mixed();
    printf("\n%d passed, %d failed\n", (int)N_KINDS + 1 - n_wrong, n_wrong);
    return n_wrong != 0;
}
