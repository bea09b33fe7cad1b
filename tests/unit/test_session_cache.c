/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache of sessions: what is read again and what is not, what goes and what stays; and the
 * choice of a run's files from the paths that are asked with. Runs are two-event files in a
 * temporary folder. How it holds under many threads is tests/stress/stress_backend.c.
 */
#include "convert/backend/answer.h"
#include "tests/support/tiny_run.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { PATH_BYTES = 256 };
static const uint64_t plenty = UINT64_C(1) << 30;

static char folder[64];
static struct tbp_arena arena;

static void init(void) {
    snprintf(folder, sizeof folder, "/tmp/tbprof-cache-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    tbp_arena_init(&arena);
}

static void release(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
    tbp_arena_release(&arena);
}

TestSuite(session_cache, .init = init, .fini = release);

/* Neither of its times is within the clock's grain afterwards. */
static void age(const char *path, long seconds) {
    struct timespec times[2] = {{1700000000 + seconds, 0}, {1700000000 + seconds, 0}};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    usleep(30000);
}

static const char *host_path(const char *host) {
    return tbp_arena_printf(&arena, "%s/%s.xplane.pb", folder, host);
}

static const char *write_host(const char *host, const char *event) {
    struct tiny_host h = {0};
    tiny_plane(&h, "/host:CPU");
    tiny_line(&h, 1);
    tiny_event(&h, event, 0, 10);
    struct tbp_str bytes = tiny_bytes(&h);
    const char *path = host_path(host);
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes.p, 1, bytes.n, f), bytes.n);
    fclose(f);
    age(path, 0);
    tbp_wire_out_release(&h.bytes);
    return path;
}

static struct tbp_held *acquire_for(struct tbp_session_cache *c, const char *path,
                                    enum tbp_wanted wanted) {
    struct tbp_run_files files;
    struct tbp_held *held;
    cr_assert_eq(tbp_run_files_find(&files, &arena, NULL, &path, 1, NULL), TBP_OK);
    cr_assert_eq(tbp_session_cache_acquire(c, &files, wanted, &held, NULL), TBP_OK);
    return held;
}

static struct tbp_held *acquire(struct tbp_session_cache *c, const char *path) {
    return acquire_for(c, path, TBP_WANTED_ALL);
}

static const char *first_event(struct tbp_held *held) {
    const struct tbp_host *h = tbp_session_host(tbp_held_session(held), 0, NULL);
    if (!h || h->n_planes == 0 || h->planes[0].n_lines == 0)
        return "";
    return tbp_arena_str(&arena, tbp_event_name(&h->planes[0].lines[0], 0)).p;
}

static struct tbp_session_cache_stats stats_of(struct tbp_session_cache *c) {
    struct tbp_session_cache_stats s;
    tbp_session_cache_stats(c, &s);
    return s;
}

Test(session_cache, a_run_is_read_once_and_shared) {
    const char *path = write_host("h", "a:A");
    struct tbp_session_cache *c = tbp_session_cache_new(plenty, TBP_SEMANTICS_REPAIR, NULL);
    struct tbp_held *first = acquire(c, path), *second = acquire(c, path);
    cr_assert_eq(first, second);
    cr_assert_str_eq(first_event(first), "a:A");
    cr_assert_not(tbp_session_cache_put_back(c, first));
    cr_assert_not(tbp_session_cache_put_back(c, second));
    cr_assert_eq(acquire(c, path), first);
    cr_assert_str_eq(first_event(first), "a:A");
    tbp_session_cache_put_back(c, first);
    struct tbp_session_cache_stats s = stats_of(c);
    cr_assert_eq(s.n_files_read, 1);
    cr_assert_eq(s.n_misses, 1);
    cr_assert_eq(s.n_hits, 2);
    cr_assert_eq(s.n_sessions, 1);
    tbp_session_cache_free(c);
}

enum { HOST_EVENTS = 5000 };

/* Events of the host, then a kernel; the run without its last `cut_bytes`. */
static const char *write_mixed(size_t cut_bytes) {
    struct tiny_host h = {0};
    tiny_plane(&h, "/host:CPU");
    tiny_line(&h, 1);
    for (int i = 0; i < HOST_EVENTS; i++)
        tiny_event(&h, "a:A", i, 10);
    tiny_plane(&h, "/device:GPU:0");
    tiny_line(&h, 1);
    tiny_event(&h, "kernel", 0, 1000);
    struct tbp_str bytes = tiny_bytes(&h);
    const char *path = host_path("mixed");
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes.p, 1, bytes.n - cut_bytes, f), bytes.n - cut_bytes);
    fclose(f);
    age(path, 0);
    tbp_wire_out_release(&h.bytes);
    return path;
}

static const struct tbp_host *part_of(struct tbp_session_cache *c, struct tbp_held **held,
                                      const char *path) {
    *held = acquire_for(c, path, TBP_WANTED_KERNELS);
    return tbp_session_host(tbp_held_session(*held), 0, NULL);
}

Test(session_cache, planes_that_are_not_wanted_are_not_copied) {
    struct tbp_session_cache *c = tbp_session_cache_new(plenty, TBP_SEMANTICS_REPAIR, NULL);
    struct tbp_held *held;
    const struct tbp_host *h = part_of(c, &held, write_mixed(0));
    cr_assert_geq(h->input.absent_bytes, 2u * HOST_EVENTS); /* no event fits into two bytes */
    cr_assert(tbp_str_is(h->planes[0].name, "/host:CPU"));
    cr_assert_eq(h->planes[0].n_lines, 0);
    cr_assert(tbp_str_is(tbp_event_name(&h->planes[1].lines[0], 0), "kernel"));
    cr_assert(tbp_ledger_is_clean(&h->ledger));
    tbp_session_cache_put_back(c, held);
    uint64_t part_bytes = stats_of(c).memory_bytes;
    held = acquire(c, host_path("mixed"));
    cr_assert_eq(tbp_host_count_events(tbp_session_host(tbp_held_session(held), 0, NULL)),
                 HOST_EVENTS + 1);
    tbp_session_cache_put_back(c, held);
    cr_assert_gt(stats_of(c).memory_bytes, part_bytes + 2u * HOST_EVENTS);
    tbp_session_cache_free(c);
}

Test(session_cache, a_damaged_file_is_copied_as_a_whole) {
    struct tbp_session_cache *c = tbp_session_cache_new(plenty, TBP_SEMANTICS_REPAIR, NULL);
    struct tbp_held *held;
    const struct tbp_host *h = part_of(c, &held, write_mixed(1));
    cr_assert_eq(h->input.absent_bytes, 0);
    cr_assert_gt(h->ledger.count[TBP_LEDGER_TRUNCATED], 0);
    tbp_session_cache_put_back(c, held);
    tbp_session_cache_free(c);
}

static uint64_t n_events(struct tbp_held *held) {
    return tbp_host_count_events(tbp_session_host(tbp_held_session(held), 0, NULL));
}

/* The event is one of the host, not of a device. */
Test(session_cache, a_part_of_the_events_is_read_if_no_more_is_wanted) {
    const char *path = write_host("h", "a:A");
    struct tbp_session_cache *c = tbp_session_cache_new(plenty, TBP_SEMANTICS_REPAIR, NULL);
    struct tbp_held *part = acquire_for(c, path, TBP_WANTED_KERNELS);
    cr_assert_eq(n_events(part), 0);
    cr_assert_eq(acquire_for(c, path, TBP_WANTED_KERNELS), part);
    tbp_session_cache_put_back(c, part);

    struct tbp_held *all = acquire_for(c, path, TBP_WANTED_MEMORY); /* others: all, from now on */
    cr_assert_neq(all, part);
    cr_assert_eq(n_events(all), 1);
    cr_assert_eq(n_events(part), 0, "who holds it goes on");
    tbp_session_cache_put_back(c, part);
    cr_assert_eq(acquire(c, path), all);
    cr_assert_eq(acquire_for(c, path, TBP_WANTED_KERNELS), all);
    for (int i = 0; i < 3; i++)
        tbp_session_cache_put_back(c, all);

    struct tbp_session_cache_stats s = stats_of(c);
    cr_assert_eq(s.n_sessions, 1);
    cr_assert_eq(s.n_files_read, 2);
    cr_assert_eq(s.n_misses, 2);
    cr_assert_eq(s.n_changed, 0);
    tbp_session_cache_free(c);
}

Test(session_cache, a_changed_file_is_read_again_while_the_old_answer_goes_on) {
    const char *path = write_host("h", "a:A");
    struct tbp_session_cache *c = tbp_session_cache_new(plenty, TBP_SEMANTICS_REPAIR, NULL);
    struct tbp_held *old = acquire(c, path);
    cr_assert_str_eq(first_event(old), "a:A");
    write_host("h", "b:B"); /* same size and inode: only the time tells */
    age(path, 1);
    struct tbp_held *new = acquire(c, path);
    cr_assert_neq(new, old);
    cr_assert_str_eq(first_event(new), "b:B");
    cr_assert_str_eq(first_event(old), "a:A");
    cr_assert_not(tbp_session_cache_put_back(c, old));
    cr_assert_not(tbp_session_cache_put_back(c, new));
    cr_assert_eq(stats_of(c).n_sessions, 1);
    cr_assert_eq(stats_of(c).n_changed, 1);
    tbp_session_cache_free(c);
}

Test(session_cache, a_file_that_changed_before_it_was_read_makes_the_session_stale) {
    const char *path = write_host("h", "a:A");
    struct tbp_session_cache *c = tbp_session_cache_new(plenty, TBP_SEMANTICS_REPAIR, NULL);
    struct tbp_held *held = acquire(c, path);
    age(path, 5);
    cr_assert_str_eq(first_event(held), "a:A");
    cr_assert(tbp_session_cache_put_back(c, held));
    cr_assert_eq(stats_of(c).n_sessions, 0);
    cr_assert_eq(stats_of(c).memory_bytes, 0);
    tbp_session_cache_free(c);
}

Test(session_cache, a_file_truncated_after_reading_does_no_harm) {
    const char *path = write_host("h", "a:A");
    struct tbp_session_cache *c = tbp_session_cache_new(plenty, TBP_SEMANTICS_REPAIR, NULL);
    struct tbp_held *held = acquire(c, path);
    cr_assert_not_null(tbp_session_host(tbp_held_session(held), 0, NULL));
    cr_assert_eq(truncate(path, 0), 0);
    cr_assert_str_eq(first_event(held), "a:A");
    tbp_session_cache_put_back(c, held);
    held = acquire(c, path);
    cr_assert_str_eq(first_event(held), "");
    tbp_session_cache_put_back(c, held);
    tbp_session_cache_free(c);
}

/* As `cp -p` and `rsync -t` leave them. */
Test(session_cache, bytes_of_the_same_length_and_time_are_other_bytes) {
    struct tbp_session_cache *c = tbp_session_cache_new(plenty, TBP_SEMANTICS_REPAIR, NULL);
    const char *path = write_host("h", "a:A");
    struct tbp_held *held = acquire(c, path);
    cr_assert_str_eq(first_event(held), "a:A");
    tbp_session_cache_put_back(c, held);
    write_host("h", "b:B"); /* in place, with the time of before */
    held = acquire(c, path);
    cr_assert_str_eq(first_event(held), "b:B");
    tbp_session_cache_put_back(c, held);
    tbp_session_cache_free(c);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Writes, in name, and reads the file; false if it may have been old by then: others had the
 * processor. */
static bool reads_while_young(struct tbp_session_cache *c, const char *path) {
    int64_t written_ns = now_ns();
    struct timespec times[2] = {{written_ns / 1000000000, written_ns % 1000000000}};
    times[1] = times[0];
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    struct tbp_held *held = acquire(c, path);
    int64_t age_ns = now_ns() - written_ns;
    cr_assert_str_eq(first_event(held), "a:A");
    cr_assert_not(tbp_session_cache_put_back(c, held));
    return age_ns < 20000000;
}

Test(session_cache, a_file_just_written_is_read_once_more) {
    const char *path = write_host("h", "a:A");
    struct tbp_session_cache *c = tbp_session_cache_new(plenty, TBP_SEMANTICS_REPAIR, NULL);
    while (!reads_while_young(c, path)) {
        tbp_session_cache_free(c);
        c = tbp_session_cache_new(plenty, TBP_SEMANTICS_REPAIR, NULL);
    }
    for (int i = 0; i < 2; i++) {
        usleep(30000); /* more than the grain of the clock that is counted with */
        struct tbp_held *held = acquire(c, path);
        cr_assert_str_eq(first_event(held), "a:A");
        cr_assert_not(tbp_session_cache_put_back(c, held));
    }
    cr_assert_eq(stats_of(c).n_files_read, 2);
    tbp_session_cache_free(c);
}

Test(session_cache, the_least_recently_used_goes_and_what_is_held_stays) {
    const char *names[] = {"a", "b", "c"}, *paths[3];
    struct tbp_session_cache *c = tbp_session_cache_new(plenty, TBP_SEMANTICS_REPAIR, NULL);
    for (int i = 0; i < 3; i++) { /* a run each */
        const char *event = tbp_arena_printf(&arena, "%s:X", names[i]);
        const char *run = tbp_arena_printf(&arena, "%s/%s", folder, names[i]);
        cr_assert_eq(mkdir(run, 0777), 0);
        paths[i] = tbp_arena_printf(&arena, "%s/h.xplane.pb", run);
        cr_assert_eq(rename(write_host("h", event), paths[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        struct tbp_held *held = acquire(c, paths[i]);
        first_event(held);
        tbp_session_cache_put_back(c, held);
    }
    struct tbp_held *a = acquire(c, paths[0]);
    uint64_t all = stats_of(c).memory_bytes;
    cr_assert_gt(all, 0);
    tbp_session_cache_set_budget(c, all - 1); /* b is the oldest now */
    cr_assert_eq(stats_of(c).n_sessions, 2);
    cr_assert_eq(stats_of(c).n_evicted, 1);
    cr_assert_leq(stats_of(c).memory_bytes, all - 1);
    tbp_session_cache_set_budget(c, 0);
    cr_assert_eq(stats_of(c).n_sessions, 1);
    cr_assert_str_eq(first_event(a), "a:X");
    tbp_session_cache_put_back(c, a);
    cr_assert_eq(stats_of(c).n_sessions, 0);
    cr_assert_eq(stats_of(c).memory_bytes, 0);
    tbp_session_cache_free(c);
}

struct reader {
    struct tbp_session_cache *cache;
    struct tbp_run_files *files;
};

static void *read_one(void *ctx) {
    struct reader *r = ctx;
    struct tbp_held *held;
    if (tbp_session_cache_acquire(r->cache, r->files, TBP_WANTED_ALL, &held, NULL) == TBP_OK) {
        tbp_session_host(tbp_held_session(held), 0, NULL);
        tbp_session_cache_put_back(r->cache, held);
    }
    return NULL;
}

Test(session_cache, first_requests_at_once_read_the_run_once) {
    enum { THREADS = 16 };
    const char *path = write_host("h", "a:A");
    struct tbp_run_files files;
    struct tbp_session_cache *c = tbp_session_cache_new(plenty, TBP_SEMANTICS_REPAIR, NULL);
    struct reader r = {c, &files};
    pthread_t threads[THREADS];
    cr_assert_eq(tbp_run_files_find(&files, &arena, NULL, &path, 1, NULL), TBP_OK);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, read_one, &r), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(stats_of(c).n_files_read, 1);
    cr_assert_eq(stats_of(c).n_sessions, 1);
    tbp_session_cache_free(c);
}

/* ---- the files of a run ---- */

static const char *hosts_of(const struct tbp_run_files *f) {
    const char *text = "";
    for (uint32_t i = 0; i < f->n; i++)
        text = tbp_arena_printf(&arena, "%s%s ", text, f->at[i].host.p);
    return text;
}

Test(session_cache, one_host_of_a_run_stands_for_the_whole_run) {
    write_host("w-1", "a:A");
    write_host("w", "a:A");
    struct tbp_run_files f;
    const char *one = host_path("w"), *two[] = {one, host_path("w-1")};
    cr_assert_eq(tbp_run_files_find(&f, &arena, NULL, &one, 1, NULL), TBP_OK);
    cr_assert_str_eq(hosts_of(&f), "w-1 w "); /* '-' sorts before '.' */
    cr_assert_eq(f.picked, 1);
    cr_assert_eq(tbp_run_files_find(&f, &arena, NULL, two, 2, NULL), TBP_OK);
    cr_assert_str_eq(hosts_of(&f), "w-1 w ");
    cr_assert_eq(f.picked, TBP_ALL_HOSTS);
    write_host("x", "a:A");
    cr_assert_eq(tbp_run_files_find(&f, &arena, NULL, two, 2, NULL), TBP_OK);
    cr_assert_str_eq(hosts_of(&f), "w-1 w ");
    cr_assert_eq(f.picked, TBP_ALL_HOSTS);
    const char *missing = host_path("y");
    cr_assert_eq(tbp_run_files_find(&f, &arena, NULL, &missing, 1, NULL), TBP_E_NOT_FOUND);
}

Test(session_cache, what_is_no_profile_is_left_out_of_a_run_and_named) {
    struct tbp_run_files f;
    const char *all[] = {write_host("a", "a:A"), host_path("fifo"), host_path("gone"),
                         host_path("page"), write_host("z", "a:A")};
    FILE *page = fopen(all[3], "wb");
    cr_assert_not_null(page);
    fputs("<html><body>404</body></html>", page);
    fclose(page);
    cr_assert_eq(mkfifo(all[1], 0600), 0);
    cr_assert_eq(symlink("nowhere", all[2]), 0);
    cr_assert_eq(tbp_run_files_find(&f, &arena, NULL, all, 5, NULL), TBP_OK);
    cr_assert_str_eq(hosts_of(&f), "a z ");
    cr_assert_eq(f.picked, TBP_ALL_HOSTS);
    cr_assert_str_eq(f.left_out, "fifo.xplane.pb, gone.xplane.pb, page.xplane.pb");
    cr_assert_eq(tbp_run_files_find(&f, &arena, NULL, all + 3, 2, NULL), TBP_OK);
    cr_assert_eq(f.picked, 1); /* z */
    cr_assert_eq(tbp_run_files_find(&f, &arena, NULL, all + 1, 1, NULL), TBP_E_IO);
    cr_assert_eq(tbp_run_files_find(&f, &arena, NULL, all + 2, 1, NULL), TBP_E_NOT_FOUND);
}

static void pack(const char *path, const char *text, size_t n) {
    gzFile f = gzopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(gzwrite(f, text, (unsigned)n), (int)n);
    cr_assert_eq(gzclose(f), Z_OK);
}

/* Packed files are looked into: by name, and where only the first bytes tell. */
Test(session_cache, what_is_packed_is_no_profile_for_that_alone) {
    struct tbp_run_files f;
    struct tiny_host h = {0};
    const char *one = write_host("a", "a:A");
    tiny_line((tiny_plane(&h, "/host:CPU"), &h), 1);
    struct tbp_str bytes = tiny_bytes(&h);
    pack(tbp_arena_printf(&arena, "%s/good.xplane.pb.gz", folder), bytes.p, bytes.n);
    pack(tbp_arena_printf(&arena, "%s/nothing.xplane.pb.gz", folder), "", 0);
    pack(tbp_arena_printf(&arena, "%s/page.xplane.pb.gz", folder), "<html>404</html>", 16);
    pack(host_path("renamed"), "<html>404</html>", 16);
    FILE *cut = fopen(tbp_arena_printf(&arena, "%s/cut.xplane.pb.gz", folder), "wb");
    cr_assert_not_null(cut);
    cr_assert_eq(fwrite("\x1f\x8b\x08\0\0", 1, 5, cut), 5);
    fclose(cut);
    cr_assert_eq(tbp_run_files_find(&f, &arena, NULL, &one, 1, NULL), TBP_OK);
    cr_assert_str_eq(hosts_of(&f), "a good nothing ");
    cr_assert_str_eq(f.left_out, "cut.xplane.pb.gz, page.xplane.pb.gz, renamed.xplane.pb");
}

Test(session_cache, only_local_xplane_files_are_ours) {
    const char *ok[] = {"/a/h.xplane.pb", "b.c.xplane.pb"}, *remote = "gs://b/h.xplane.pb",
               *bare = "/a/xplane.pb", *other = "/a/h.xplane.riegeli", *dot = ".xplane.pb",
               *none = NULL;
    cr_assert(tbp_run_files_are_ours(ok, 2));
    cr_assert_not(tbp_run_files_are_ours(&remote, 1));
    cr_assert_not(tbp_run_files_are_ours(&bare, 1));
    cr_assert_not(tbp_run_files_are_ours(&other, 1));
    cr_assert_not(tbp_run_files_are_ours(&dot, 1));
    cr_assert_not(tbp_run_files_are_ours(&none, 1));
    cr_assert_not(tbp_run_files_are_ours(ok, 0));
}

Test(session_cache, a_pipe_is_refused_and_not_waited_for, .timeout = 5) {
    const char *path = host_path("pipe");
    cr_assert_eq(mkfifo(path, 0666), 0);
    struct tbp_run_files f;
    cr_assert_eq(tbp_run_files_find(&f, &arena, NULL, &path, 1, NULL), TBP_E_IO);
}
