/* SPDX-License-Identifier: Apache-2.0
 *
 * Listening and accepting; see server_sockets.h.
 */
#include "capture/server_sockets.h"

#include "base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64 };

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
    struct sockaddr_storage storage;
};

static bool parse_ip(const char *text, uint16_t port, union address *a, socklen_t *size) {
    *a = (union address){0};
    if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons(port);
        *size = sizeof a->v4;
        return true;
    }
    if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) != 1)
        return false;
    a->v6.sin6_family = AF_INET6;
    a->v6.sin6_port = htons(port);
    *size = sizeof a->v6;
    return true;
}

static bool is_default(const char *bind) {
    return !bind || !*bind || strcmp(bind, "localhost") == 0;
}

bool tbp_server_is_open(const char *bind) {
    union address a;
    socklen_t size;
    if (is_default(bind) || strncmp(bind, "unix:", 5) == 0)
        return false;
    return !parse_ip(bind, 0, &a, &size) || !tbp_peer_is_loopback(&a.any);
}

int tbp_server_check_bind(const char *bind, struct tbp_error *err) {
    union address a;
    socklen_t size;
    if (is_default(bind) || strncmp(bind, "unix:", 5) == 0 || parse_ip(bind, 0, &a, &size))
        return TBP_OK;
    return tbp_fail(err, TBP_E_USAGE,
                    "listening on '%s' failed: give localhost, an IP address of this machine "
                    "without a port, or unix:/path",
                    bind);
}

static int open_listener(struct tbp_server_sockets *s, const union address *a, socklen_t size,
                         const char *shown, struct tbp_error *err) {
    int one = 1;
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return tbp_fail_errno(err, TBP_E_IO, "listening on '%s' failed", shown);
    if (a->any.sa_family != AF_UNIX)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (a->any.sa_family == AF_INET6 && !IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr))
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(fd, &a->any, size) != 0 || listen(fd, BACKLOG) != 0) {
        int status = tbp_fail_errno(err, TBP_E_IO, "listening on '%s' failed", shown);
        close(fd);
        return status;
    }
    s->fd[s->n++] = fd;
    return TBP_OK;
}

static int listen_ip(struct tbp_server_sockets *s, const char *ip, uint16_t port,
                     struct tbp_error *err) {
    union address a;
    socklen_t size;
    char shown[96];
    if (!parse_ip(ip, port, &a, &size))
        return tbp_server_check_bind(ip, err);
    snprintf(shown, sizeof shown, "%s port %u", ip, port);
    int status = open_listener(s, &a, size, shown, err);
    if (status)
        return status;
    size = sizeof a;
    if (getsockname(s->fd[s->n - 1], &a.any, &size) == 0)
        s->port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
    return TBP_OK;
}

/* Without IPv6, or with the port taken there, IPv4 alone will do. */
static int listen_loopback(struct tbp_server_sockets *s, uint16_t port, struct tbp_error *err) {
    int status = listen_ip(s, "127.0.0.1", port, err);
    if (!status)
        (void)listen_ip(s, "::1", s->port, NULL);
    return status;
}

/* A socket file whose server is gone refuses connections; anything else is left alone. */
static void remove_stale(const struct sockaddr_un *un) {
    struct stat st;
    if (lstat(un->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)un, sizeof *un) != 0 && errno == ECONNREFUSED)
        unlink(un->sun_path);
    close(fd);
}

static int listen_unix(struct tbp_server_sockets *s, const char *path, struct tbp_error *err) {
    union address a = {.un = {.sun_family = AF_UNIX}};
    struct stat st;
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof a.un.sun_path)
        return tbp_fail(err, TBP_E_USAGE,
                        "listening on 'unix:%s' failed: paths of sockets have 1 "
                        "to 107 bytes",
                        path);
    memcpy(a.un.sun_path, path, n);
    remove_stale(&a.un);
    int status = open_listener(s, &a, sizeof a.un, path, err);
    if (status)
        return status;
    memcpy(s->unix_path, path, n + 1);
    if (chmod(path, 0600) == 0 && lstat(path, &st) == 0) {
        s->unix_device = st.st_dev;
        s->unix_inode = st.st_ino;
    }
    return TBP_OK;
}

int tbp_server_listen(struct tbp_server_sockets *s, const char *bind, uint16_t port,
                      struct tbp_error *err) {
    *s = (struct tbp_server_sockets){0};
    if (is_default(bind))
        return listen_loopback(s, port, err);
    if (strncmp(bind, "unix:", 5) == 0)
        return listen_unix(s, bind + 5, err);
    return listen_ip(s, bind, port, err);
}

void tbp_server_close(struct tbp_server_sockets *s) {
    struct stat st;
    for (size_t i = 0; i < s->n; i++)
        close(s->fd[i]);
    s->n = 0;
    if (s->unix_path[0] && lstat(s->unix_path, &st) == 0 && st.st_dev == s->unix_device &&
        st.st_ino == s->unix_inode)
        unlink(s->unix_path);
}

static bool is_same_user(int fd) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return false;
    return peer.uid == geteuid() || peer.uid == 0;
}

int tbp_server_accept(int listener, const struct tbp_peer_ranges *allowed, bool anyone,
                      bool *is_local) {
    union address peer = {0};
    socklen_t size = sizeof peer;
    int one = 1;
    int fd = accept4(listener, &peer.any, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return -1;
    *is_local = tbp_peer_is_loopback(&peer.any);
    bool may = peer.any.sa_family == AF_UNIX
                   ? is_same_user(fd)
                   : *is_local || anyone || tbp_peer_is_in(allowed, &peer.any);
    if (!may) {
        tbp_log(TBP_LOG_WARNING, "profiler server: a peer that is not allowed was refused");
        close(fd);
        return -1;
    }
    if (peer.any.sa_family != AF_UNIX)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}
