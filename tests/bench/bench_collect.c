/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast a spool becomes a profile, and with how much memory. Makes a spool of the given size in
 * a file, as eight threads would leave it: steps of nested scopes, every fourth with an argument,
 * an allocation and a free per step. The profile goes nowhere, so that only the collector counts.
 *
 *     bench_collect [MIB [FILE]]          256 MiB in a nameless file of the current folder
 *
 * Prints records per second of processor time and the growth of private memory.
 */
#include "plugin_data/collect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { CHUNKS_OFFSET = 131072, THREADS = 8, NAMES = 200, SLOT = TBP_SPOOL_SLOT_BYTES };

static uint8_t *spool;
static uint64_t spool_bytes, n_records;

static struct tbp_spool_chunk *chunk_at(uint64_t i) {
    return (void *)(spool + CHUNKS_OFFSET + i * TBP_SPOOL_CHUNK_BYTES);
}

static struct tbp_spool_chunk *begin_chunk(uint64_t i, enum tbp_spool_chunk_kind kind) {
    struct tbp_spool_chunk *c = chunk_at(i);
    *c = (struct tbp_spool_chunk){.magic = TBP_SPOOL_CHUNK_MAGIC,
                                  .kind = (uint16_t)kind,
                                  .state = TBP_SPOOL_CHUNK_FULL,
                                  .generation = 1,
                                  .thread = (uint32_t)(i % THREADS) + 1,
                                  .tid = (int32_t)(i % THREADS) + 100,
                                  .sequence = i / THREADS};
    return c;
}

static struct tbp_spool_slot *put(struct tbp_spool_chunk *c, uint64_t ticks,
                                  enum tbp_spool_kind kind, uint32_t name, uint32_t aux,
                                  unsigned extra) {
    struct tbp_spool_slot *at = (void *)((uint8_t *)(c + 1) + c->committed);
    *at = (struct tbp_spool_slot){TBP_SPOOL_HEAD(ticks, kind, extra), name, aux};
    c->committed += (1 + extra) * SLOT;
    n_records++;
    return at;
}

static void put_arg(struct tbp_spool_chunk *c, uint64_t ticks, enum tbp_spool_kind kind,
                    uint32_t name, uint32_t aux, struct tbp_spool_arg arg) {
    memcpy(put(c, ticks, kind, name, aux, 1) + 1, &arg, sizeof arg);
}

/* One step of 44 records; *ticks goes on. */
static void put_step(struct tbp_spool_chunk *c, uint64_t *ticks, uint64_t number) {
    static const struct tbp_spool_memory block = {.requested_bytes = 1000, .allocated_bytes = 1024};
    struct tbp_spool_memory memory = block;
    memory.address = number * 64;
    put_arg(c, *ticks += 50, TBP_REC_BEGIN, 1, 1 << 16,
            (struct tbp_spool_arg){2, TBP_ARG_I64, 0, 0, number});
    memcpy(put(c, *ticks += 50, TBP_REC_MEMORY_ALLOC, 3, 0, 4) + 1, &memory, sizeof memory);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t name = 4 + (uint32_t)(number * 10 + i) % (NAMES - 4);
        put(c, *ticks += 50, TBP_REC_BEGIN, name, 1 << 16, 0);
        put_arg(c, *ticks += 50, TBP_REC_BEGIN, name, 2 << 16,
                (struct tbp_spool_arg){2, TBP_ARG_I64, 0, 0, i});
        put(c, *ticks += 50, TBP_REC_END, 0, 1, 0);
        put(c, *ticks += 50, TBP_REC_END, 0, 1, 0);
    }
    put_arg(c, *ticks += 50, TBP_REC_MEMORY_FREE, 3, 0,
            (struct tbp_spool_arg){0, TBP_ARG_U64, 0, 0, memory.address});
    put(c, *ticks += 50, TBP_REC_END, 0, 1, 0);
}

static void put_strings(struct tbp_spool_chunk *c) {
    for (uint32_t i = 1; i < NAMES; i++) {
        char name[32] = "step_num";
        if (i != 2)
            snprintf(name, sizeof name, "layer_%u/MatMul", i);
        size_t n = strlen(name);
        memcpy(put(c, 0, TBP_REC_STRING, i, (uint32_t)n, (unsigned)(n + SLOT - 1) / SLOT) + 1, name,
               n);
    }
}

static void fill(void) {
    enum { STEP_BYTES = 1024 }; /* more than one step needs */
    struct tbp_spool_anchor anchors[] = {{0, 0, 1}, {1000000000, 1000000000, 1000000001}};
    uint64_t n_chunks = (spool_bytes - CHUNKS_OFFSET) / TBP_SPOOL_CHUNK_BYTES;
    uint64_t ticks[THREADS] = {0}, steps[THREADS] = {0};
    *(struct tbp_spool_header *)(void *)spool = (struct tbp_spool_header){
        .magic = TBP_SPOOL_MAGIC,
        .version = TBP_SPOOL_VERSION,
        .state = TBP_SPOOL_STOPPED,
        .generation = 1,
        .clock_is_tsc = 1,
        .anchors_offset = TBP_SPOOL_HEADER_BYTES,
        .n_anchors = 2,
        .chunk_bytes = TBP_SPOOL_CHUNK_BYTES,
        .chunks_offset = CHUNKS_OFFSET,
        .n_chunks = (uint32_t)n_chunks,
    };
    memcpy(spool + TBP_SPOOL_HEADER_BYTES, anchors, sizeof anchors);
    put_strings(begin_chunk(n_chunks - 1, TBP_SPOOL_CHUNK_STRINGS));
    n_records = 0;
    for (uint64_t i = 0; i + 1 < n_chunks; i++) {
        struct tbp_spool_chunk *c = begin_chunk(i, TBP_SPOOL_CHUNK_RECORDS);
        unsigned t = i % THREADS;
        while (c->committed + STEP_BYTES < TBP_SPOOL_CHUNK_BYTES - sizeof *c)
            put_step(c, &ticks[t], steps[t]++ * THREADS + t);
    }
}

static int nowhere_write(struct tbp_sink *s, const void *p, size_t n, struct tbp_error *err) {
    (void)s, (void)p, (void)n, (void)err;
    return TBP_OK;
}

static int nowhere_finish(struct tbp_sink *s, struct tbp_error *err) {
    (void)s, (void)err;
    return TBP_OK;
}

static double cpu_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long private_kib(void) {
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "RssAnon:", 8) == 0)
            kib = strtol(line + 8, NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

int main(int argc, char **argv) {
    spool_bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 256) << 20;
    int fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600)
                      : open(".", O_RDWR | O_TMPFILE, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)spool_bytes) != 0)
        return 2;
    spool = mmap(NULL, spool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (spool == MAP_FAILED)
        return 2;
    fill();
    struct tbp_sink nowhere = {nowhere_write, nowhere_finish};
    struct tbp_collect_request request = {
        .data = spool, .size_bytes = spool_bytes, .until_realtime_ns = INT64_MAX};
    struct tbp_collect_result result;
    struct tbp_collect *c;
    struct tbp_error err = {0};
    long before_kib = private_kib();
    double start_s = cpu_s();
    if (tbp_collect_open(&c, &request, &err) != TBP_OK ||
        tbp_collect_write(c, &nowhere, &result, &err) != TBP_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    double took_s = cpu_s() - start_s;
    printf("%llu records in %.2f s of processor time: %.1f million records/s; %llu events, %.0f MB "
           "of profile; %.1f MiB of private memory\n",
           (unsigned long long)n_records, took_s, (double)n_records / took_s / 1e6,
           (unsigned long long)result.n_events, (double)result.size_bytes / 1e6,
           (double)(private_kib() - before_kib) / 1024);
    tbp_collect_free(c);
    return 0;
}
