/* SPDX-License-Identifier: Apache-2.0
 *
 * The server's poll loop; see grpc_server.h. One slot per connection; what a socket does not take
 * stays with its connection, so that memory does not grow with slow peers.
 */
#include "capture/grpc_server.h"

#include "base/guard.h"
#include "base/log.h"
#include "base/quiet_thread.h"
#include "capture/server_sockets.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, MAX_TURN_BYTES = 1 << 20, MAX_FDS = 1 + TBP_SERVER_MAX_SOCKETS };
enum { MAX_ACCEPTS_PER_S = 100 }; /* more wait in the system's queue */
static const int64_t SECOND_NS = 1000000000, CLOSING_NS = 1000000000;
/* The end: after the last answer, and if there never is one. */
static const int64_t PARTING_NS = 5000000000, LONGEST_END_NS = 60000000000;

struct slot {
    int fd; /* -1: free */
    struct tbp_grpc_conn *conn;
    const uint8_t *out; /* taken from the connection, not yet by the socket */
    size_t out_n;
    int64_t closing_ns; /* not 0: nothing is read any more, and then it is over at the latest */
    bool is_shut;       /* all is said, and the peer is given time to hear it */
    int64_t used_ns;
};

struct tbp_grpc_server {
    struct tbp_arena arena; /* holds this struct */
    struct tbp_grpc_server_config config;
    struct tbp_server_sockets sockets;
    int wake_fd;
    pthread_t thread;
    bool is_running;
    atomic_bool stop;
    int64_t end_ns; /* when it stops at the latest */
    uint32_t last_serial;
    int64_t second_ns; /* in which so many were accepted */
    unsigned n_accepted;
    struct slot slots[TBP_GRPC_MAX_CONNS];
    uint8_t buffer[READ_BYTES];
};

/* ---- connections ---- */

static void slot_close(struct slot *slot) {
    tbp_grpc_conn_free(slot->conn);
    if (slot->fd >= 0)
        close(slot->fd);
    *slot = (struct slot){.fd = -1};
}

/* A free slot, if need be that of the peer that has been silent for the longest time. */
static struct slot *slot_for_new(struct tbp_grpc_server *s) {
    struct slot *oldest = NULL;
    for (size_t i = 0; i < TBP_GRPC_MAX_CONNS; i++) {
        struct slot *slot = &s->slots[i];
        if (slot->fd < 0)
            return slot;
        if ((slot->closing_ns || tbp_grpc_conn_open_calls(slot->conn) == 0) &&
            (!oldest || slot->used_ns < oldest->used_ns))
            oldest = slot;
    }
    if (oldest)
        slot_close(oldest);
    return oldest;
}

static bool may_accept(const struct tbp_grpc_server *s) {
    return s->n_accepted < MAX_ACCEPTS_PER_S || tbp_monotonic_ns() - s->second_ns >= SECOND_NS;
}

static void accept_one(struct tbp_grpc_server *s, int listener) {
    bool is_local = false;
    if (tbp_monotonic_ns() - s->second_ns >= SECOND_NS) {
        s->second_ns = tbp_monotonic_ns();
        s->n_accepted = 0;
    }
    s->n_accepted++;
    int fd =
        tbp_server_accept(listener, &s->config.allowed, s->config.service.token != NULL, &is_local);
    if (fd < 0)
        return;
    struct slot *slot = slot_for_new(s);
    if (!slot) {
        tbp_log(TBP_LOG_WARNING, "profiler server: more than %d connections, one was refused",
                TBP_GRPC_MAX_CONNS);
        close(fd);
        return;
    }
    int64_t now = tbp_monotonic_ns();
    *slot = (struct slot){.fd = fd, .used_ns = now};
    if (tbp_grpc_conn_new(&slot->conn, &s->config.service, ++s->last_serial, is_local, now, NULL))
        slot_close(slot);
}

/* Sends what there is and fits, up to a turn's worth. False: the connection is over. */
static bool flush(struct slot *slot, int64_t now) {
    for (size_t sent = 0; sent < MAX_TURN_BYTES;) {
        if (slot->out_n == 0 &&
            tbp_grpc_conn_output(slot->conn, &slot->out, &slot->out_n, now, NULL) != TBP_OK)
            return false;
        if (slot->out_n == 0 && slot->closing_ns)
            slot->is_shut = shutdown(slot->fd, SHUT_WR) == 0;
        if (slot->out_n == 0)
            return slot->closing_ns ? slot->is_shut : !tbp_grpc_conn_is_done(slot->conn);
        ssize_t n = send(slot->fd, slot->out, slot->out_n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        slot->out += n;
        slot->out_n -= (size_t)n;
        sent += (size_t)n;
    }
    return true;
}

struct turn {
    struct tbp_grpc_server *server;
    struct slot *slot;
    short events;
    int64_t now_ns;
};

static bool read_some(struct tbp_grpc_server *s, struct slot *slot, int64_t now) {
    ssize_t n = recv(slot->fd, s->buffer, sizeof s->buffer, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    slot->used_ns = now;
    if (tbp_grpc_conn_input(slot->conn, s->buffer, (size_t)n, now, NULL) != TBP_OK)
        slot->closing_ns = now + CLOSING_NS;
    return true;
}

static int serve_slot(void *ctx, struct tbp_error *err) {
    struct turn *t = ctx;
    bool goes_on = true;
    (void)err;
    if (t->slot->closing_ns) /* with unread bytes: closing at once would take back what was said */
        goes_on = t->now_ns < t->slot->closing_ns && !(t->events & (POLLHUP | POLLERR));
    else if (t->events & (POLLIN | POLLHUP | POLLERR))
        goes_on = read_some(t->server, t->slot, t->now_ns);
    goes_on = goes_on && tbp_grpc_conn_tick(t->slot->conn, t->now_ns, NULL) == TBP_OK &&
              flush(t->slot, t->now_ns);
    if (!goes_on)
        slot_close(t->slot);
    return TBP_OK;
}

/* A connection for which there is no memory is left as it is, but for its socket: what it owns may
 * be half changed. */
static void serve_guarded(struct turn *t) {
    if (tbp_guard_run(serve_slot, t, NULL) == TBP_OK)
        return;
    tbp_log(TBP_LOG_WARNING, "profiler server: out of memory, a connection was closed");
    close(t->slot->fd);
    *t->slot = (struct slot){.fd = -1};
}

/* ---- the loop ---- */

static bool wants_write(const struct slot *slot) {
    return !slot->is_shut && (slot->out_n != 0 || tbp_grpc_conn_wants_output(slot->conn));
}

static size_t fill_fds(struct tbp_grpc_server *s, struct pollfd *fds, struct slot **of) {
    size_t n = 0;
    fds[n++] = (struct pollfd){s->wake_fd, POLLIN, 0};
    for (size_t i = 0; i < s->sockets.n; i++)
        fds[n++] = (struct pollfd){s->sockets.fd[i], may_accept(s) ? POLLIN : 0, 0};
    for (size_t i = 0; i < TBP_GRPC_MAX_CONNS; i++) {
        struct slot *slot = &s->slots[i];
        if (slot->fd < 0)
            continue;
        of[n] = slot;
        short events = (short)((slot->closing_ns ? 0 : POLLIN) | (wants_write(slot) ? POLLOUT : 0));
        fds[n++] = (struct pollfd){slot->fd, events, 0};
    }
    return n;
}

static int64_t slot_due_ns(const struct slot *slot) {
    if (slot->fd < 0)
        return TBP_GRPC_FOREVER;
    return slot->closing_ns ? slot->closing_ns : tbp_grpc_conn_due_ns(slot->conn);
}

/* Milliseconds until a connection wants its tick, or a new one may come; -1: never. */
static int timeout_ms(const struct tbp_grpc_server *s) {
    int64_t due = may_accept(s) ? s->end_ns : s->second_ns + SECOND_NS;
    for (size_t i = 0; i < TBP_GRPC_MAX_CONNS; i++) {
        int64_t at = slot_due_ns(&s->slots[i]);
        due = at < due ? at : due;
    }
    if (due == TBP_GRPC_FOREVER)
        return -1;
    int64_t ms = (due - tbp_monotonic_ns()) / 1000000 + 1;
    return ms < 0 ? 0 : ms > 600000 ? 600000 : (int)ms;
}

static void drain_wake(struct tbp_grpc_server *s) {
    uint64_t n;
    if (read(s->wake_fd, &n, sizeof n) < 0 && errno != EAGAIN)
        tbp_log(TBP_LOG_WARNING, "profiler server: its wake-up is broken");
    if (s->config.woken)
        s->config.woken(s->config.service.ctx);
}

static void one_round(struct tbp_grpc_server *s) {
    struct pollfd fds[MAX_FDS + TBP_GRPC_MAX_CONNS];
    struct slot *of[MAX_FDS + TBP_GRPC_MAX_CONNS] = {0};
    size_t n = fill_fds(s, fds, of);
    int ready = poll(fds, n, timeout_ms(s));
    if (ready < 0)
        return;
    if (fds[0].revents)
        drain_wake(s);
    int64_t now = tbp_monotonic_ns();
    for (size_t i = 1 + s->sockets.n; i < n; i++)
        serve_guarded(&(struct turn){s, of[i], fds[i].revents, now});
    for (size_t i = 0; i < s->sockets.n; i++) {
        if (fds[1 + i].revents)
            accept_one(s, s->sockets.fd[i]);
    }
}

/* At once, since nothing may wake the loop before the peer hears of it. */
static void say_goodbye(struct tbp_grpc_server *s, struct slot *slot, int64_t now) {
    slot->closing_ns = now + CLOSING_NS;
    serve_guarded(&(struct turn){s, slot, 0, now});
}

/* Takes leave of all to whom nothing is owed; true while there is anybody. */
static bool part(struct tbp_grpc_server *s, int64_t latest_ns) {
    bool is_anybody = false;
    int64_t now = tbp_monotonic_ns();
    for (size_t i = 0; i < TBP_GRPC_MAX_CONNS; i++) {
        struct slot *slot = &s->slots[i];
        if (slot->fd < 0)
            continue;
        is_anybody = true;
        struct tbp_grpc_owed owed = tbp_grpc_conn_owed(slot->conn);
        if (owed.waiting)
            s->end_ns = now + PARTING_NS < latest_ns ? now + PARTING_NS : latest_ns;
        else if (!owed.taking && !slot->out_n && !slot->closing_ns)
            say_goodbye(s, slot, now);
    }
    return is_anybody && now < s->end_ns;
}

static void *serve(void *ctx) {
    struct tbp_grpc_server *s = ctx;
    while (!atomic_load(&s->stop))
        one_round(s);
    int64_t stop_ns = tbp_monotonic_ns();
    s->end_ns = stop_ns + PARTING_NS;
    tbp_server_close(&s->sockets);
    if (s->config.stopping)
        s->config.stopping(s->config.service.ctx);
    while (part(s, stop_ns + LONGEST_END_NS))
        one_round(s);
    for (size_t i = 0; i < TBP_GRPC_MAX_CONNS; i++)
        slot_close(&s->slots[i]);
    return NULL;
}

int tbp_grpc_server_new(struct tbp_grpc_server **out, const struct tbp_grpc_server_config *config,
                        struct tbp_error *err) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct tbp_grpc_server *s = TBP_NEW(&arena, struct tbp_grpc_server);
    s->arena = arena;
    s->config = *config;
    s->end_ns = TBP_GRPC_FOREVER;
    for (size_t i = 0; i < TBP_GRPC_MAX_CONNS; i++)
        s->slots[i].fd = -1;
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int status = s->wake_fd < 0 ? tbp_fail_errno(err, TBP_E_IO, "starting the server failed")
                                : tbp_server_listen(&s->sockets, config->bind, config->port, err);
    *out = s;
    if (status) {
        tbp_grpc_server_free(s);
        *out = NULL;
    }
    return status;
}

int tbp_grpc_server_run(struct tbp_grpc_server *s, struct tbp_error *err) {
    int status = tbp_quiet_thread(&s->thread, "tbprof-server", serve, s, err);
    s->is_running = status == TBP_OK;
    return status;
}

uint16_t tbp_grpc_server_port(const struct tbp_grpc_server *s) {
    return s->sockets.port;
}

void tbp_grpc_server_wake(struct tbp_grpc_server *s) {
    uint64_t one = 1;
    if (write(s->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN)
        tbp_log(TBP_LOG_WARNING, "profiler server: its wake-up is broken");
}

void tbp_grpc_server_reply(struct tbp_grpc_server *s, uint64_t call_id,
                           struct tbp_grpc_reply *reply) {
    for (size_t i = 0; i < TBP_GRPC_MAX_CONNS; i++) {
        struct slot *slot = &s->slots[i];
        if (slot->fd >= 0 && tbp_grpc_conn_serial(slot->conn) == (uint32_t)(call_id >> 32)) {
            tbp_grpc_conn_reply(slot->conn, call_id, reply);
            return;
        }
    }
    tbp_grpc_reply_release(reply);
}

void tbp_grpc_server_stop(struct tbp_grpc_server *s) {
    if (s->is_running) {
        atomic_store(&s->stop, true);
        tbp_grpc_server_wake(s);
        pthread_join(s->thread, NULL);
        s->is_running = false;
    }
    tbp_server_close(&s->sockets);
}

void tbp_grpc_server_free(struct tbp_grpc_server *s) {
    if (!s)
        return;
    tbp_grpc_server_stop(s);
    if (s->wake_fd >= 0)
        close(s->wake_fd);
    struct tbp_arena arena = s->arena;
    tbp_arena_release(&arena);
}

void tbp_grpc_server_forget(struct tbp_grpc_server *s) {
    for (size_t i = 0; i < s->sockets.n; i++)
        close(s->sockets.fd[i]);
    for (size_t i = 0; i < TBP_GRPC_MAX_CONNS; i++) {
        if (s->slots[i].fd >= 0)
            close(s->slots[i].fd);
    }
    close(s->wake_fd);
}
