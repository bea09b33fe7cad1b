/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing of target addresses and of ranges of peers; see target_address.h.
 */
#include "capture/target_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/un.h>

static struct tbp_str trimmed(struct tbp_str s) {
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = tbp_str_sub(s, 1, s.n);
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static int bad(struct tbp_error *err, struct tbp_str text, const char *why) {
    return tbp_fail(err, TBP_E_USAGE, "reading the address '%.*s' failed: %s",
                    (int)(text.n < 100 ? text.n : 100), text.p, why);
}

static int parse_port(struct tbp_target *t, struct tbp_str port, struct tbp_str whole,
                      struct tbp_error *err) {
    uint64_t n;
    bool is_digits = port.n > 0;
    for (size_t i = 0; i < port.n; i++)
        is_digits = is_digits && port.p[i] >= '0' && port.p[i] <= '9';
    if (!is_digits)
        return bad(err, whole, "the port is not a number; write host:port");
    if (!tbp_str_to_u64(port, &n) || n < 1 || n > 65535)
        return bad(err, whole, "the port must be within 1 to 65535");
    t->port = (uint16_t)n;
    return TBP_OK;
}

static bool is_host_char(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_';
}

static int parse_unix(struct tbp_target *t, struct tbp_arena *arena, struct tbp_str text,
                      struct tbp_error *err) {
    struct tbp_str path = tbp_str_sub(text, 5, text.n);
    if (tbp_str_starts(path, "//")) /* unix:///absolute */
        path = tbp_str_sub(path, 2, path.n);
    if (path.n == 0 || memchr(path.p, 0, path.n))
        return bad(err, text, "write unix:/path/of/the/socket");
    if (path.n >= sizeof((struct sockaddr_un *)0)->sun_path)
        return bad(err, text, "paths of sockets are at most 107 bytes long");
    t->is_unix = true;
    t->host = tbp_arena_str(arena, path).p;
    return TBP_OK;
}

static int parse_bracketed(struct tbp_target *t, struct tbp_arena *arena, struct tbp_str text,
                           struct tbp_error *err) {
    size_t close = tbp_str_find(text, ']');
    if (close + 1 >= text.n || text.p[close + 1] != ':')
        return bad(err, text, "no port after the bracket; write [address]:port");
    struct tbp_str inside = tbp_str_sub(text, 1, close);
    size_t zone = tbp_str_find(inside, '%');
    uint8_t address[16];
    const char *plain = tbp_arena_str(arena, tbp_str_sub(inside, 0, zone)).p;
    if (inet_pton(AF_INET6, plain, address) != 1 || zone + 1 == inside.n)
        return bad(err, text, "what stands in brackets is no IPv6 address");
    for (size_t i = zone + 1; i < inside.n; i++) {
        if (!is_host_char(inside.p[i]))
            return bad(err, text, "what stands behind % is no interface");
    }
    t->host = tbp_arena_str(arena, inside).p;
    return parse_port(t, tbp_str_sub(text, close + 2, text.n), text, err);
}

static int parse_named(struct tbp_target *t, struct tbp_arena *arena, struct tbp_str text,
                       struct tbp_error *err) {
    size_t colon = tbp_str_find(text, ':'), last = tbp_str_rfind(text, ':');
    if (colon == text.n)
        return bad(err, text, "no port; write host:port");
    if (colon != last) {
        const char *hint = tbp_arena_printf(arena, "ambiguous: write [%.*s]:%.*s", (int)last,
                                            text.p, (int)(text.n - last - 1), text.p + last + 1);
        return bad(err, text, hint);
    }
    struct tbp_str host = tbp_str_sub(text, 0, colon);
    if (host.n == 0)
        return bad(err, text, "no host before the colon; write host:port");
    if (host.n > 253)
        return bad(err, text, "names of hosts are at most 253 bytes long");
    for (size_t i = 0; i < host.n; i++) {
        if (!is_host_char(host.p[i]))
            return bad(err, text, "this is no name of a host; write host:port");
    }
    t->host = tbp_arena_str(arena, host).p;
    return parse_port(t, tbp_str_sub(text, colon + 1, text.n), text, err);
}

int tbp_target_parse(struct tbp_target *target, struct tbp_arena *arena, struct tbp_str text,
                     struct tbp_error *err) {
    text = trimmed(text);
    *target = (struct tbp_target){0};
    if (tbp_str_starts(text, "grpc://"))
        text = tbp_str_sub(text, 7, text.n);
    if (text.n == 0)
        return bad(err, text, "it is empty; write host:port");
    target->text = tbp_arena_str(arena, text).p;
    if (tbp_str_starts(text, "unix:"))
        return parse_unix(target, arena, text, err);
    if (tbp_str_has(text, "://"))
        return bad(err, text, "capture servers speak plain gRPC only; write host:port");
    if (text.p[0] == '[')
        return parse_bracketed(target, arena, text, err);
    return parse_named(target, arena, text, err);
}

static bool is_same(const struct tbp_target *a, const struct tbp_target *b) {
    int (*compare)(const char *, const char *) = a->is_unix ? strcmp : strcasecmp;
    return a->is_unix == b->is_unix && a->port == b->port && compare(a->host, b->host) == 0;
}

int tbp_targets_check(const struct tbp_targets *targets, struct tbp_error *err) {
    for (size_t i = 1; i < targets->n; i++)
        for (size_t k = 0; k < i; k++)
            if (is_same(&targets->at[i], &targets->at[k]))
                return tbp_fail(err, TBP_E_USAGE,
                                "address '%s' is given twice: each server is asked once",
                                targets->at[i].text);
    return TBP_OK;
}

int tbp_targets_parse(struct tbp_targets *targets, struct tbp_arena *arena, struct tbp_str text,
                      struct tbp_error *err) {
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == ',';
    if (n > TBP_TARGETS_MAX)
        return tbp_fail(err, TBP_E_LIMIT, "reading addresses failed: more than %d of them",
                        TBP_TARGETS_MAX);
    targets->at = TBP_NEW_N(arena, struct tbp_target, n);
    targets->n = 0;
    while (targets->n < n) {
        size_t comma = tbp_str_find(text, ',');
        int status =
            tbp_target_parse(&targets->at[targets->n++], arena, tbp_str_sub(text, 0, comma), err);
        if (status)
            return status;
        text = tbp_str_sub(text, comma < text.n ? comma + 1 : comma, text.n);
    }
    return tbp_targets_check(targets, err);
}

static void as_v6(uint8_t out[16], const struct in_addr *v4) {
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    memcpy(out, mapped, sizeof mapped);
    memcpy(out + 12, v4, 4);
}

static int parse_range(struct tbp_peer_range *r, struct tbp_arena *arena, struct tbp_str text,
                       struct tbp_error *err) {
    size_t slash = tbp_str_find(text, '/');
    const char *address = tbp_arena_str(arena, tbp_str_sub(text, 0, slash)).p;
    struct in_addr v4;
    unsigned most = 128, shift = 0;
    uint64_t bits;
    if (inet_pton(AF_INET, address, &v4) == 1) {
        as_v6(r->address, &v4);
        most = 32;
        shift = 96;
    } else if (inet_pton(AF_INET6, address, r->address) != 1) {
        return bad(err, text, "this is no IP address or range; write 10.0.0.0/8");
    }
    bits = most;
    if (slash < text.n &&
        (!tbp_str_to_u64(tbp_str_sub(text, slash + 1, text.n), &bits) || bits > most))
        return bad(err, text, "the number of bits behind '/' is wrong");
    r->bits = (unsigned)bits + shift;
    return TBP_OK;
}

int tbp_peer_ranges_parse(struct tbp_peer_ranges *ranges, struct tbp_arena *arena,
                          struct tbp_str text, struct tbp_error *err) {
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == ',';
    ranges->at = TBP_NEW_N(arena, struct tbp_peer_range, n);
    ranges->n = 0;
    while (ranges->n < n) {
        size_t comma = tbp_str_find(text, ',');
        int status =
            parse_range(&ranges->at[ranges->n++], arena, trimmed(tbp_str_sub(text, 0, comma)), err);
        if (status)
            return status;
        text = tbp_str_sub(text, comma < text.n ? comma + 1 : comma, text.n);
    }
    return TBP_OK;
}

/* False for what is no internet address. */
static bool peer_bytes(uint8_t out[16], const struct sockaddr *peer) {
    if (peer->sa_family == AF_INET) {
        as_v6(out, &((const struct sockaddr_in *)(const void *)peer)->sin_addr);
        return true;
    }
    if (peer->sa_family != AF_INET6)
        return false;
    memcpy(out, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, 16);
    return true;
}

static bool is_in_range(const struct tbp_peer_range *r, const uint8_t address[16]) {
    unsigned whole = r->bits / 8, rest = r->bits % 8;
    if (memcmp(r->address, address, whole) != 0)
        return false;
    uint8_t mask = (uint8_t)(0xff00u >> rest);
    return rest == 0 || ((r->address[whole] ^ address[whole]) & mask) == 0;
}

bool tbp_peer_is_in(const struct tbp_peer_ranges *ranges, const struct sockaddr *peer) {
    uint8_t address[16];
    if (!peer_bytes(address, peer))
        return false;
    for (size_t i = 0; i < ranges->n; i++) {
        if (is_in_range(&ranges->at[i], address))
            return true;
    }
    return false;
}

bool tbp_peer_is_loopback(const struct sockaddr *peer) {
    static const struct tbp_peer_range v4 = {{[10] = 0xff, [11] = 0xff, [12] = 127}, 104},
                                       v6 = {{[15] = 1}, 128};
    uint8_t address[16];
    if (!peer_bytes(address, peer))
        return peer->sa_family == AF_UNIX;
    return is_in_range(&v4, address) || is_in_range(&v6, address);
}
