/* SPDX-License-Identifier: Apache-2.0
 *
 * Damaged inputs in one process: whatever the bytes, no crash, no hang, valid JSON, a ledger that
 * adds up. What takes too long is told by CPU time, which other processes do not change; whatever
 * ends the process, the input is named.
 *
 *     damage whole FILE...          each as it is
 *     damage cuts COUNT FILE...     each cut at COUNT places
 *     damage flips COUNT FILE...    COUNT times one to four bytes changed, seeded
 *
 * Meant for builds with sanitizers, which turn what is wrong into an abort.
 */
#include "fuzz/everything.h"

#include "base/file.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { CPU_SECONDS_PER_INPUT = 60 };

struct place {
    const char *path;
    char what[64];
};

/* The one that is tried; for those who are called without a context. */
static const struct place *now;

/* Of the sanitizers' runtime: called before it ends the process. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static void say(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(1);
}

static void name_input(void) {
    if (!now)
        return;
    say("damage: ");
    say(now->path);
    say(" (");
    say(now->what);
    say(")");
}

static void on_death(void) {
    name_input();
    say(" ended the process\n");
}

static void on_signal(int number) {
    name_input();
    say(number == SIGPROF ? " takes more CPU time than it may\n" : " ended the process\n");
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void check_answer(void *ctx, const char *kind, const uint8_t *data, size_t size) {
    const struct place *at = ctx;
    json_error_t err;
    if (strcmp(kind, "pb") == 0 || strcmp(kind, "xplane") == 0)
        return;
    json_t *j = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &err);
    if (!j && json_error_code(&err) == json_error_null_byte_in_key)
        return; /* legal JSON that this library cannot hold */
    if (!j) {
        fprintf(stderr, "%s (%s): answer of %s is no JSON: %s at %d\n", at->path, at->what, kind,
                err.text, err.position);
        abort();
    }
    json_decref(j);
}

static bool try_input(const struct place *at, const uint8_t *data, size_t size, unsigned n) {
    struct itimerval limit = {.it_value.tv_sec = CPU_SECONDS_PER_INPUT}, none = {{0}, {0}};
    now = at;
    setitimer(ITIMER_PROF, &limit, NULL);
    bool is_read =
        everything(data, size, (enum tbp_semantics)(n % 3), check_answer, (void *)(uintptr_t)at);
    setitimer(ITIMER_PROF, &none, NULL);
    now = NULL;
    return is_read;
}

/* xorshift64*: the same places every time. */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static unsigned cuts(const char *path, const struct tbp_input *in, unsigned count) {
    struct place at = {.path = path};
    unsigned n_read = 0;
    for (unsigned i = 0; i < count; i++) {
        size_t size = (size_t)((double)in->size * i / count);
        snprintf(at.what, sizeof at.what, "cut at %zu", size);
        n_read += try_input(&at, in->data, size, i);
    }
    return n_read;
}

static unsigned flips(const char *path, const struct tbp_input *in, unsigned count) {
    struct place at = {.path = path};
    uint64_t state = 88172645463325252u;
    unsigned n_read = 0;
    uint8_t *copy = malloc(in->size + 1);
    for (unsigned i = 0; i < count && in->size; i++) {
        memcpy(copy, in->data, in->size);
        for (uint64_t k = next_random(&state) % 4 + 1; k; k--)
            copy[next_random(&state) % in->size] = (uint8_t)next_random(&state);
        snprintf(at.what, sizeof at.what, "flip %u", i);
        n_read += try_input(&at, copy, in->size, i);
    }
    free(copy);
    return n_read;
}

static void damage(const char *mode, unsigned count, const char *path) {
    struct tbp_input in;
    struct tbp_error err;
    if (tbp_input_open(&in, path, &err) != TBP_OK) {
        printf("%s: not opened (%s)\n", path, err.message);
        return;
    }
    struct place at = {path, "whole"};
    unsigned n_read = 0;
    if (strcmp(mode, "whole") == 0)
        n_read = try_input(&at, in.data, in.size, 0);
    else if (strcmp(mode, "cuts") == 0)
        n_read = cuts(path, &in, count);
    else
        n_read = flips(path, &in, count);
    printf("%s: %u of %u read\n", path, n_read, count);
    tbp_input_release(&in);
}

int main(int argc, char **argv) {
    bool is_whole = argc > 2 && strcmp(argv[1], "whole") == 0;
    if (argc < 3 || (!is_whole && argc < 4)) {
        fputs("usage: damage whole FILE... | damage cuts|flips COUNT FILE...\n", stderr);
        return 2;
    }
    signal(SIGPROF, on_signal);
    signal(SIGABRT, on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(on_death);
    setvbuf(stdout, NULL, _IOLBF, 0);
    unsigned count = is_whole ? 1 : (unsigned)strtoul(argv[2], NULL, 10);
    for (int i = is_whole ? 2 : 3; i < argc; i++)
        damage(argv[1], count, argv[i]);
    return 0;
}
