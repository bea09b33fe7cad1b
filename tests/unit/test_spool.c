/* SPDX-License-Identifier: Apache-2.0
 *
 * Where spools lie.
 */
#include "base/str.h"
#include "capture/fork.h"
#include "capture/spool.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Containers that share a place have processes of the same number, and even name, at one time. */
Test(spool, sessions_of_one_name_have_folders_of_their_own) {
    enum { N = 3 };
    static const char *const files[N] = {"host_1.tbs", "other_1.tbs", "host_1.tbs"};
    static const char *const folders[N] = {"tbprof-now-1-1", "tbprof-now-1-1-1",
                                           "tbprof-now-1-1-2"};
    char place[] = "/tmp/tbprof-unit-XXXXXX", expected[128], warning[256] = "";
    struct tbp_spool *spools[N];
    struct tbp_error err = {0};
    cr_assert_not_null(mkdtemp(place));
    for (int i = 0; i < N; i++) {
        struct tbp_spool_request request = {.folder = place,
                                            .session = "now-1-1",
                                            .file = files[i],
                                            .max_bytes = 1 << 22,
                                            .generation = 1,
                                            .warning = warning,
                                            .warning_size = sizeof warning};
        cr_assert_eq(tbp_spool_open(&spools[i], &request, &err), TBP_OK, "%s", err.message);
        cr_expect_str_eq(warning, "");
        snprintf(expected, sizeof expected, "%s/%s/%s", place, folders[i], files[i]);
        cr_expect_str_eq(spools[i]->path, expected);
    }
    for (int i = 0; i < N; i++)
        tbp_spool_close(spools[i], true);
    cr_expect_eq(rmdir(place), 0); /* nothing is left */
}

static bool has_spool(void) {
    char link[64], target[512];
    bool is_found = false;
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(link, sizeof link, "/proc/self/fd/%.20s", e->d_name);
        ssize_t n = readlink(link, target, sizeof target);
        is_found |= n > 0 && tbp_str_ends((struct tbp_str){target, (size_t)n}, ".tbs");
    }
    if (d)
        closedir(d);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(target, sizeof target, maps))
        is_found |= strstr(target, ".tbs") != NULL;
    if (maps)
        fclose(maps);
    return is_found;
}

static void *fork_on_and_on(void *is_over) {
    intptr_t n_held = 0;
    while (!__atomic_load_n((bool *)is_over, __ATOMIC_ACQUIRE)) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(has_spool());
        if (child > 0 && waitpid(child, &status, 0) == child)
            n_held += status != 0;
    }
    return (void *)n_held;
}

/* Through what it has open or mapped the spool would look alive for as long as it is. */
Test(spool, who_is_forked_while_a_spool_is_made_does_not_have_it) {
    enum { TIMES = 400, FORKERS = 3 };
    char place[] = "/tmp/tbprof-unit-XXXXXX";
    bool is_over = false;
    pthread_t threads[FORKERS];
    struct tbp_spool *spool;
    struct tbp_spool_request request = {
        .folder = place, .session = "s", .file = "f.tbs", .max_bytes = 1 << 22, .generation = 1};
    cr_assert_not_null(mkdtemp(place));
    tbp_fork_init();
    for (int i = 0; i < FORKERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, fork_on_and_on, &is_over), 0);
    for (int i = 0; i < TIMES; i++) {
        cr_assert_eq(tbp_spool_open(&spool, &request, NULL), TBP_OK);
        tbp_spool_close(spool, true);
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    for (int i = 0; i < FORKERS; i++) {
        void *n_held;
        pthread_join(threads[i], &n_held);
        cr_expect_eq((intptr_t)n_held, 0);
    }
    cr_expect_eq(rmdir(place), 0);
}

/* Two chunks each and four more are there, and disk for as many again, before anybody asks. */
Test(spool, threads_that_are_known_find_chunks) {
    enum { CHUNKS = 4 + 2 * 8 };
    char place[] = "/tmp/tbprof-unit-XXXXXX";
    struct tbp_spool *spool;
    struct tbp_spool_request request = {.folder = place,
                                        .session = "s",
                                        .file = "f.tbs",
                                        .max_bytes = 1 << 24,
                                        .n_writers = 8,
                                        .generation = 1};
    cr_assert_not_null(mkdtemp(place));
    cr_assert_eq(tbp_spool_open(&spool, &request, NULL), TBP_OK);
    cr_expect_eq(spool->n_free, CHUNKS);
    cr_expect_geq(spool->backed_bytes, 2 * CHUNKS * (uint64_t)TBP_SPOOL_CHUNK_BYTES);
    tbp_spool_close(spool, true);
    cr_expect_eq(rmdir(place), 0);
}
