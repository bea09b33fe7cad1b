/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that trains, in name, and can be asked for a profile while it does:
 *
 *     train_server PORT [STEP_MS]
 *
 * Prints the port, then works until standard input ends; then prints how many steps there were and
 * the longest time, in microseconds, for which an annotation made its thread wait. Time in which
 * the system gave the processor to somebody else is no waiting: only annotations in which the
 * thread gave it up itself are looked at.
 */
#include "capture/tbprof.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void spin(int64_t ns) {
    for (int64_t end = now_ns() + ns; now_ns() < end;)
        ;
}

static int input_goes_on(void) {
    struct pollfd in = {0, POLLIN, 0};
    char c;
    return poll(&in, 1, 0) == 0 || read(0, &c, 1) > 0;
}

struct moment {
    int64_t ns;
    long n_waits; /* times that this thread gave up the processor by itself */
};

static struct moment moment(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (struct moment){now_ns(), usage.ru_nvcsw};
}

static int64_t waited_ns(struct moment from) {
    struct moment to = moment();
    return to.n_waits == from.n_waits ? 0 : to.ns - from.ns;
}

/* Works in scopes; returns for how long the annotations made it wait. */
static int64_t train_step(int64_t step, int64_t step_ns) {
    struct moment before = moment();
    tbprof_step_begin("train", step);
    int64_t worst = waited_ns(before);
    {
        TBPROF_SCOPE("forward");
        spin(step_ns / 3);
    }
    {
        TBPROF_SCOPE("backward");
        spin(step_ns / 2);
    }
    before = moment();
    tbprof_step_end();
    int64_t waited = waited_ns(before);
    return waited > worst ? waited : worst;
}

int main(int argc, char **argv) {
    tbprof_server *server;
    int64_t step = 0, worst_ns = 0;
    if (argc < 2)
        return 2;
    int64_t step_ns = (argc > 2 ? strtol(argv[2], NULL, 10) : 10) * 1000000;
    if (tbprof_server_start((int)strtol(argv[1], NULL, 10), NULL, &server) != TBPROF_OK) {
        fprintf(stderr, "%s\n", tbprof_last_error());
        return 1;
    }
    printf("%d\n", tbprof_server_port(server));
    fflush(stdout);
    while (input_goes_on()) {
        int64_t ns = train_step(step++, step_ns);
        worst_ns = ns > worst_ns ? ns : worst_ns;
        usleep(1000);
    }
    tbprof_server_stop(server);
    printf("%lld steps, %lld us\n", (long long)step, (long long)(worst_ns / 1000));
    return 0;
}
