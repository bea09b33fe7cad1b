/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/child.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

TestSuite(child, .timeout = 120);

static int run(struct tbp_arena *arena, const char *script, unsigned timeout_ms, int *exit_code,
               struct tbp_str *text, struct tbp_error *err) {
    const char *const argv[] = {"sh", "-c", script, NULL};
    return tbp_child_capture(arena, argv, timeout_ms, text, exit_code, err);
}

Test(child, output_and_exit_code) {
    struct tbp_arena arena;
    struct tbp_error err;
    struct tbp_str text;
    int exit_code = 0;
    tbp_arena_init(&arena);
    cr_assert_eq(run(&arena, "echo out; echo err >&2; exit 3", 60000, &exit_code, &text, &err), 0);
    cr_assert(tbp_str_is(text, "out\nerr\n"));
    cr_assert_eq(exit_code, 3);
    cr_assert_eq(run(&arena, "kill -KILL $$", 60000, &exit_code, &text, &err), 0);
    cr_assert_eq(exit_code, 128 + SIGKILL);
    tbp_arena_release(&arena);
}

/* The end of a pipe that all of them inherit is seen once the last of them is gone. */
Test(child, what_hangs_is_ended_with_all_that_it_started) {
    struct tbp_arena arena;
    struct tbp_error err;
    struct tbp_str text;
    int exit_code = 0, ends[2];
    char byte;
    cr_assert_eq(pipe(ends), 0);
    tbp_arena_init(&arena);
    cr_assert_eq(run(&arena, "sleep 600 & sleep 600", 200, &exit_code, &text, &err), TBP_E_LIMIT);
    close(ends[1]);
    struct pollfd p = {ends[0], POLLIN, 0};
    cr_assert_eq(poll(&p, 1, 60000), 1);
    cr_assert_eq(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    tbp_arena_release(&arena);
}
