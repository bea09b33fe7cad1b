/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that allocates what tests/capture/test_preload.py counts: 1000 blocks of 64 KiB, all of
 * them freed again, and one mapping of 8 MiB.
 *
 *     LD_PRELOAD=libtbprof_malloc.so malloc_program LOGDIR sampled|all
 */
#include "capture/tbprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { BLOCKS = 1000, BLOCK_BYTES = 64 << 10, MAPPED_BYTES = 8 << 20 };

int main(int argc, char **argv) {
    static void *blocks[BLOCKS];
    tbprof_options options;
    tbprof_options_init(&options);
    if (argc != 3 || tbprof_options_set(&options, "memory_mode", argv[2]) != TBPROF_OK ||
        tbprof_start(argv[1], &options) != TBPROF_OK) {
        fprintf(stderr, "%s\n", tbprof_last_error());
        return 2;
    }
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = i % 2 ? malloc(BLOCK_BYTES) : calloc(BLOCK_BYTES / 8, 8);
    for (int i = 0; i < BLOCKS; i += 4)
        blocks[i] = realloc(blocks[i], BLOCK_BYTES);
    void *mapped =
        mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(mapped, MAPPED_BYTES);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return tbprof_stop(1) == TBPROF_OK ? 0 : 1;
}
