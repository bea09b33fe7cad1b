/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of capture servers: what is taken, what is refused with which advice, and ranges of
 * peers. The table is that of the public reports behind it (IPv6 targets split at every colon).
 */
#include "capture/target_address.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>

static struct tbp_arena arena;

static void setup(void) {
    tbp_arena_init(&arena);
}

static void teardown(void) {
    tbp_arena_release(&arena);
}

TestSuite(target_address, .init = setup, .fini = teardown);

static void takes(const char *text, const char *host, uint16_t port) {
    struct tbp_targets t;
    struct tbp_error err = {0};
    cr_assert_eq(tbp_targets_parse(&t, &arena, tbp_str_c(text), &err), TBP_OK, "%s: %s", text,
                 err.message);
    cr_assert_eq(t.n, 1);
    cr_assert_str_eq(t.at[0].host, host);
    cr_assert_eq(t.at[0].port, port);
}

static void refuses(const char *text, const char *advice) {
    struct tbp_targets t;
    struct tbp_error err = {0};
    cr_assert_eq(tbp_targets_parse(&t, &arena, tbp_str_c(text), &err), TBP_E_USAGE, "%s", text);
    cr_assert(strstr(err.message, advice), "%s: %s", text, err.message);
}

Test(target_address, takes_names_ip_addresses_and_the_grpc_prefix) {
    takes("localhost:6009", "localhost", 6009);
    takes("10.1.2.3:6009", "10.1.2.3", 6009);
    takes("[::1]:6009", "::1", 6009);
    takes("[fe80::1%eth0]:6009", "fe80::1%eth0", 6009);
    takes("grpc://host-a:6009", "host-a", 6009);
    takes(" host-a:6009 ", "host-a", 6009);
    takes("host-a:65535", "host-a", 65535);
}

Test(target_address, takes_several) {
    struct tbp_targets t;
    cr_assert_eq(tbp_targets_parse(&t, &arena, TBP_STR("host-a:6009,host-b:6009"), NULL), TBP_OK);
    cr_assert_eq(t.n, 2);
    cr_assert_str_eq(t.at[1].host, "host-b");
    cr_assert_eq(tbp_targets_parse(&t, &arena, TBP_STR("[::1]:6009,host-b:7000"), NULL), TBP_OK);
    cr_assert_eq(t.n, 2);
    cr_assert_str_eq(t.at[0].host, "::1");
    cr_assert_eq(t.at[1].port, 7000);
}

Test(target_address, refuses_the_same_twice) {
    const char *const twice[] = {"a:1,b:2,a:1", "a:1, A:1",        "grpc://a:1,a:1",
                                 "a:1,a:01",    "unix:/s,unix:/s", "[::1]:1,[::1]:1"};
    struct tbp_targets t;
    struct tbp_error err = {0};
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        cr_assert_eq(tbp_targets_parse(&t, &arena, tbp_str_c(twice[i]), &err), TBP_E_USAGE);
        cr_assert(strstr(err.message, "is given twice: each server is asked once"));
    }
    cr_assert_eq(tbp_targets_parse(&t, &arena, tbp_str_c("a:1,a:2,unix:/s,unix:/S"), &err), TBP_OK);
}

Test(target_address, takes_unix_sockets) {
    struct tbp_target t;
    cr_assert_eq(tbp_target_parse(&t, &arena, TBP_STR("unix:/run/tb.sock"), NULL), TBP_OK);
    cr_assert(t.is_unix);
    cr_assert_str_eq(t.host, "/run/tb.sock");
    cr_assert_eq(tbp_target_parse(&t, &arena, TBP_STR("unix:///run/tb.sock"), NULL), TBP_OK);
    cr_assert_str_eq(t.host, "/run/tb.sock");
    refuses("unix:", "unix:/path");
}

Test(target_address, refuses_and_says_how_to_write_it) {
    refuses("::1:6009", "ambiguous: write [::1]:6009");
    refuses("host-a", "no port");
    refuses("host-a:0", "1 to 65535");
    refuses("host-a:65536", "1 to 65535");
    refuses("host-a:99999999999999999999", "1 to 65535");
    refuses("host-a:6009x", "not a number");
    refuses("host-a:+6009", "not a number");
    refuses("host-a:", "not a number");
    refuses("host-a:6009,,host-b:1", "empty");
    refuses("host-a:6009,", "empty");
    refuses("", "empty");
    refuses("https://host-a:6009", "plain gRPC");
    refuses(":6009", "no host");
    refuses("[::1]", "no port");
    refuses("[::1:6009", "bracket");
    refuses("[host]:6009", "no IPv6 address");
    refuses("[::1%]:6009", "no IPv6 address");
    refuses("host/a:6009", "no name of a host");
}

static bool is_in(const char *list, const char *peer) {
    struct tbp_peer_ranges ranges;
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    cr_assert_eq(tbp_peer_ranges_parse(&ranges, &arena, tbp_str_c(list), NULL), TBP_OK, "%s", list);
    if (inet_pton(AF_INET, peer, &v4.sin_addr) == 1)
        return tbp_peer_is_in(&ranges, (struct sockaddr *)&v4);
    cr_assert_eq(inet_pton(AF_INET6, peer, &v6.sin6_addr), 1);
    return tbp_peer_is_in(&ranges, (struct sockaddr *)&v6);
}

Test(target_address, ranges_of_peers) {
    cr_assert(is_in("10.0.0.0/8", "10.255.3.4"));
    cr_assert_not(is_in("10.0.0.0/8", "11.0.0.1"));
    cr_assert(is_in("192.168.1.0/25,172.16.0.1", "192.168.1.127"));
    cr_assert_not(is_in("192.168.1.0/25,172.16.0.1", "192.168.1.128"));
    cr_assert(is_in("192.168.1.0/25, 172.16.0.1", "172.16.0.1"));
    cr_assert(is_in("10.0.0.0/8", "::ffff:10.1.2.3"), "IPv4 seen through an IPv6 socket");
    cr_assert(is_in("fd00::/8", "fdab::1"));
    cr_assert_not(is_in("fd00::/8", "fe80::1"));
    cr_assert(is_in("0.0.0.0/0", "8.8.8.8"));
    cr_assert_not(is_in("0.0.0.0/0", "2001:db8::1"));
}

Test(target_address, refuses_bad_ranges) {
    struct tbp_peer_ranges ranges;
    const char *const bad[] = {"", "10.0.0.0/33", "::/129", "10.0.0/8", "host-a", "10.0.0.0/8,"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(tbp_peer_ranges_parse(&ranges, &arena, tbp_str_c(bad[i]), NULL), TBP_E_USAGE,
                     "%s", bad[i]);
}
