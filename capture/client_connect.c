/* SPDX-License-Identifier: Apache-2.0
 *
 * Connecting to one address after another; see client_connect.h.
 */
#include "capture/client_connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ONE_ADDRESS_NS 5000000000 /* for one address, before the next is tried */

static void note(struct tbp_connect *c, const char *why) {
    size_t n = strlen(c->text);
    snprintf(c->text + n, sizeof c->text - n, "%s%s: %s", n ? "; " : "", c->shown, why);
}

void tbp_connect_begin(struct tbp_connect *c, const struct tbp_target *target) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    char port[8];
    *c = (struct tbp_connect){.fd = -1, .target = target};
    if (target->is_unix)
        return;
    snprintf(port, sizeof port, "%u", target->port);
    /* no host means the loopback addresses, which is what this name means (RFC 6761), known to the
     * system or not */
    const char *host = strcasecmp(target->host, "localhost") == 0 ? NULL : target->host;
    int code = getaddrinfo(host, port, &hints, &c->found);
    c->next = c->found;
    if (code) {
        snprintf(c->shown, sizeof c->shown, "%.60s", target->host);
        note(c, code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
    }
}

static bool begin(struct tbp_connect *c, const struct sockaddr *address, socklen_t size) {
    int one = 1;
    c->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) {
        note(c, strerror(errno));
        return false;
    }
    if (address->sa_family != AF_UNIX)
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(c->fd, address, size) == 0 || errno == EINPROGRESS)
        return true;
    note(c, strerror(errno));
    close(c->fd);
    c->fd = -1;
    return false;
}

static bool begin_unix(struct tbp_connect *c) {
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    if (c->tried_unix)
        return false;
    c->tried_unix = true;
    snprintf(c->shown, sizeof c->shown, "%.60s", c->target->host);
    memcpy(un.sun_path, c->target->host, strlen(c->target->host)); /* fits: target_address.c */
    return begin(c, (const struct sockaddr *)&un, sizeof un);
}

/* False: there is no further address. */
static bool begin_next(struct tbp_connect *c) {
    if (c->target->is_unix)
        return begin_unix(c);
    while (c->next) {
        const struct addrinfo *a = c->next;
        c->next = a->ai_next;
        getnameinfo(a->ai_addr, a->ai_addrlen, c->shown, sizeof c->shown, NULL, 0, NI_NUMERICHOST);
        if (begin(c, a->ai_addr, a->ai_addrlen))
            return true;
    }
    return false;
}

/* Of the address being tried: 0 if it has taken the connection, -1 if that is open yet. */
static int outcome(const struct tbp_connect *c) {
    int code = 0;
    socklen_t size = sizeof code;
    struct sockaddr_storage peer;
    socklen_t peer_size = sizeof peer;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0 || code)
        return code ? code : errno;
    return getpeername(c->fd, (struct sockaddr *)&peer, &peer_size) == 0 ? 0 : -1;
}

enum tbp_connect_state tbp_connect_step(struct tbp_connect *c, int64_t now_ns, int64_t *give_up_ns,
                                        int64_t deadline_ns) {
    for (;;) {
        int code = c->is_trying ? outcome(c) : 0;
        if (c->is_trying && code == 0)
            return TBP_CONNECT_DONE;
        if (c->is_trying && code == -1 && now_ns < *give_up_ns)
            return TBP_CONNECT_PENDING;
        if (c->is_trying) {
            note(c, code == -1 ? "no answer" : strerror(code));
            close(c->fd);
            c->fd = -1;
        }
        c->is_trying = begin_next(c);
        if (!c->is_trying)
            return TBP_CONNECT_FAILED;
        *give_up_ns = now_ns + ONE_ADDRESS_NS;
        *give_up_ns = *give_up_ns > deadline_ns ? deadline_ns : *give_up_ns;
    }
}

void tbp_connect_close(struct tbp_connect *c) {
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    if (c->found)
        freeaddrinfo(c->found);
    c->found = c->next = NULL;
}

void tbp_connect_authority(const struct tbp_target *target, char *to, size_t size) {
    size_t zone = strcspn(target->host, "%");
    if (target->is_unix)
        snprintf(to, size, "localhost");
    else if (strchr(target->host, ':'))
        snprintf(to, size, "[%.*s]:%u", (int)zone, target->host, target->port);
    else
        snprintf(to, size, "%s:%u", target->host, target->port);
}
