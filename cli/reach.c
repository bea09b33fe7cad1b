/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking up a name cannot be given a time limit, so a child process does it and is ended when the
 * time is over.
 */
#include "cli/reach.h"

#include "cli/child.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_BODY = 64 * 1024, STEP_MS = 10 };

/* In the child: 0 if some address of the host accepts a connection. */
static int connect_to(const char *host, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int failed = 1;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return 1;
    for (struct addrinfo *a = found; a && failed; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
        if (fd < 0)
            continue;
        failed = connect(fd, a->ai_addr, a->ai_addrlen) != 0;
        close(fd);
    }
    freeaddrinfo(found);
    return failed;
}

bool tbp_reach(struct tbp_arena *arena, const char *address, unsigned timeout_ms) {
    struct tbp_str s = tbp_str_c(address);
    size_t colon = tbp_str_rfind(s, ':');
    const char *host = tbp_arena_str(arena, tbp_str_sub(s, 0, colon)).p;
    const char *port = colon < s.n ? address + colon + 1 : "443";
    uint64_t end_ms = tbp_clock_ms() + timeout_ms;
    int exit_code = 1;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGTERM, SIG_DFL);
        _exit(connect_to(host, port));
    }
    if (pid < 0)
        return false;
    while (!tbp_child_ended(pid, &exit_code)) {
        if (tbp_clock_ms() > end_ms) {
            tbp_child_stop(pid);
            return false;
        }
        tbp_sleep_ms(STEP_MS);
    }
    return exit_code == 0;
}

static struct sockaddr_in loopback(uint16_t port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

int tbp_free_port(uint16_t *port, struct tbp_error *err) {
    struct sockaddr_in a = loopback(0);
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool is_found = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
                    getsockname(fd, (struct sockaddr *)&a, &size) == 0;
    int status = is_found ? TBP_OK : tbp_fail_errno(err, TBP_E_IO, "no free port");
    if (fd >= 0)
        close(fd);
    *port = ntohs(a.sin_port);
    return status;
}

static size_t talk(int fd, const char *request, size_t n, char *answer, uint64_t end_ms) {
    size_t got = 0;
    if (send(fd, request, n, MSG_NOSIGNAL) != (ssize_t)n)
        return 0;
    while (got < MAX_BODY) {
        uint64_t now_ms = tbp_clock_ms();
        struct pollfd p = {fd, POLLIN, 0};
        if (now_ms >= end_ms || poll(&p, 1, (int)(end_ms - now_ms)) <= 0)
            break;
        ssize_t k = recv(fd, answer + got, MAX_BODY - got, 0);
        if (k <= 0)
            break;
        got += (size_t)k;
    }
    return got;
}

/* "HTTP/1.1 200 OK" -> 200 */
static unsigned status_of(struct tbp_str answer) {
    static const size_t at = sizeof "HTTP/1.1 " - 1;
    uint64_t status;
    if (answer.n < at + 3 || !tbp_str_starts(answer, "HTTP/1.") ||
        !tbp_str_to_u64(tbp_str_sub(answer, at, at + 3), &status))
        return 0;
    return (unsigned)status;
}

unsigned tbp_http_get(struct tbp_arena *arena, uint16_t port, const char *path, unsigned timeout_ms,
                      struct tbp_str *body) {
    struct sockaddr_in a = loopback(port);
    struct tbp_str answer = TBP_STR_NONE;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0) {
        char *bytes = TBP_NEW_N(arena, char, MAX_BODY + 1);
        const char *request = tbp_arena_printf(
            arena, "GET %s HTTP/1.0\r\nHost: 127.0.0.1:%u\r\nAccept-Encoding: identity\r\n\r\n",
            path, (unsigned)port);
        size_t n = talk(fd, request, strlen(request), bytes, tbp_clock_ms() + timeout_ms);
        answer = (struct tbp_str){bytes, n};
    }
    if (fd >= 0)
        close(fd);
    const char *head_end = strstr(answer.p, "\r\n\r\n");
    size_t from = head_end ? (size_t)(head_end - answer.p) + 4 : answer.n;
    *body = tbp_str_sub(answer, from, answer.n);
    return status_of(answer);
}
