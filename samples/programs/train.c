/* SPDX-License-Identifier: Apache-2.0
 *
 * A C program with its recording: ten steps that wait for input and compute.
 *
 *     cc train.c -ltbprof && ./a.out logdir && tensorboard --logdir logdir
 */
#include <tbprof/tbprof.h>

#include <stdio.h>
#include <time.h>

static void spend_ms(long ms) {
    struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&rest, NULL);
}

static void load(void) {
    TBPROF_SCOPE("IteratorGetNext load"); /* what begins so is time waited for input */
    spend_ms(2);
}

static void forward(int layers) {
    TBPROF_FUNCTION; /* a scope from here to the end of the block, named "forward" */
    for (int i = 0; i < layers; i++) {
        char name[32];
        int n = snprintf(name, sizeof name, "layer_%d", i);
        tbprof_scope scope = tbprof_scope_begin_dyn(name, (size_t)n, 2);
        tbprof_scope_arg_i64(scope, "units", 64 << i);
        spend_ms(1);
        tbprof_scope_end(scope);
    }
}

int main(int argc, char **argv) {
    if (tbprof_start(argc > 1 ? argv[1] : "logdir", NULL) != TBPROF_OK)
        fprintf(stderr, "%s; the program goes on without\n", tbprof_last_error());
    for (int step = 0; step < 10; step++) {
        tbprof_step_begin("train", step);
        load();
        forward(3);
        tbprof_counter_f64("loss", 1.0 / (step + 1));
        tbprof_step_end();
    }
    if (tbprof_stop(1) != TBPROF_OK)
        fprintf(stderr, "%s\n", tbprof_last_error());
    else
        printf("%s\n", tbprof_last_run());
    return 0;
}
