/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces in JSON, read by one thread and ahead by two in pieces of many lengths: the model and the
 * ledger must be the same, whatever the bytes.
 *
 *     ahead CUTS FLIPS FILE...     each whole, cut at CUTS places, and FLIPS times with one to four
 *                                  bytes changed, seeded; other files are passed over
 */
#include "base/pool.h"
#include "convert/read/json_trace.h"
#include "tests/support/same_host.h"

#include <stdio.h>
#include <stdlib.h>

struct tried {
    struct tbp_pool *pool;
    const char *path;
    unsigned n, n_different;
};

/* 0: as long as they are for users. */
static const size_t pieces[] = {64, 300, 1000, 4096, 30000, 0};
enum { PIECES = sizeof pieces / sizeof *pieces };

static void try_piece(struct tried *t, const char *what, unsigned at, const struct tbp_input *in,
                      size_t piece) {
    const struct tbp_reader *reader = tbp_reader_of(in);
    const char *difference = reading_difference(reader ? reader : &tbp_reader_chrome, in->data,
                                                in->size, t->pool, piece);
    t->n++;
    if (!difference)
        return;
    t->n_different++;
    printf("%s, %s %u, pieces of %zu: %s differs\n", t->path, what, at, piece, difference);
}

/* xorshift64*: the same places every time. */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static void flip(struct tried *t, const struct tbp_input *in, unsigned flips) {
    uint64_t state = 88172645463325252u;
    uint8_t *copy = malloc(in->size + 1);
    for (unsigned i = 0; i < flips && in->size; i++) {
        struct tbp_input flipped = {.data = copy, .size = in->size};
        memcpy(copy, in->data, in->size);
        for (uint64_t k = next_random(&state) % 4 + 1; k; k--)
            copy[next_random(&state) % in->size] = (uint8_t)next_random(&state);
        try_piece(t, "flip", i, &flipped, pieces[i % PIECES]);
    }
    free(copy);
}

static void try_file(struct tried *t, const char *path, unsigned cuts, unsigned flips) {
    struct tbp_input in;
    struct tbp_error err;
    if (tbp_input_open(&in, path, &err) != TBP_OK)
        return;
    t->path = path;
    if (tbp_json_trace_looks_so(in.data, in.size)) {
        for (unsigned i = 0; i < PIECES; i++)
            try_piece(t, "whole", 0, &in, pieces[i]);
        for (unsigned i = 0; i < cuts; i++) {
            struct tbp_input cut = {.data = in.data, .size = (size_t)((double)in.size * i / cuts)};
            try_piece(t, "cut", i, &cut, pieces[i % PIECES]);
        }
        flip(t, &in, flips);
    }
    tbp_input_release(&in);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fputs("usage: ahead CUTS FLIPS FILE...\n", stderr);
        return 2;
    }
    struct tried t = {.pool = tbp_pool_new(2)};
    for (int i = 3; i < argc; i++)
        try_file(&t, argv[i], (unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]));
    tbp_pool_free(t.pool);
    printf("%u of %u readings differ\n", t.n_different, t.n);
    return t.n == 0 || t.n_different > 0;
}
