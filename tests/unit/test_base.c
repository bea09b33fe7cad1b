/* SPDX-License-Identifier: Apache-2.0
 *
 * The lowest layer: text, arena, maps, sorts, pool, errors.
 */
#include "base/arena.h"
#include "base/file.h"
#include "base/guard.h"
#include "base/map.h"
#include "base/mapped.h"
#include "base/pool.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/vec.h"
#include "cli/signals.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(str, numbers_must_fill_the_text_and_the_type) {
    uint64_t u;
    int64_t i;
    cr_assert(tbp_str_to_u64(TBP_STR("18446744073709551615"), &u));
    cr_assert_eq(u, UINT64_MAX);
    cr_assert_not(tbp_str_to_u64(TBP_STR("18446744073709551616"), &u));
    cr_assert_not(tbp_str_to_u64(TBP_STR("1 "), &u));
    cr_assert_not(tbp_str_to_u64(TBP_STR(""), &u));
    cr_assert(tbp_str_to_i64(TBP_STR("-9223372036854775808"), &i));
    cr_assert_eq(i, INT64_MIN);
    cr_assert_not(tbp_str_to_i64(TBP_STR("9223372036854775808"), &i));
}

Test(str, utf8_stops_at_the_first_bad_byte) {
    cr_assert_eq(tbp_utf8_valid_prefix(TBP_STR("plain text of more than eight")), 29);
    cr_assert_eq(tbp_utf8_valid_prefix(TBP_STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")), 9);
    cr_assert_eq(tbp_utf8_valid_prefix(TBP_STR("ab\xff")), 2);
    cr_assert_eq(tbp_utf8_valid_prefix(TBP_STR("\xc0\x80")), 0, "overlong");
    cr_assert_eq(tbp_utf8_valid_prefix(TBP_STR("a\xed\xa0\x80")), 1, "surrogate");
    cr_assert_eq(tbp_utf8_valid_prefix(TBP_STR("abc\xe2\x82")), 3, "cut");
}

Test(str, compares_bytes_then_length) {
    cr_assert_lt(tbp_str_cmp(TBP_STR("ab"), TBP_STR("abc")), 0);
    cr_assert_gt(tbp_str_cmp(TBP_STR("b"), TBP_STR("abc")), 0);
    cr_assert_gt(tbp_str_cmp(TBP_STR("\xc3"), TBP_STR("z")), 0, "bytes are unsigned");
}

Test(arena, memory_is_zeroed_and_apart) {
    struct tbp_arena a;
    tbp_arena_init(&a);
    char *first = tbp_arena_alloc(&a, 100, 1), *big = tbp_arena_alloc(&a, 3 << 20, 1);
    char *second = tbp_arena_alloc(&a, 100, 1);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(first[i] | second[i] | big[i], 0);
    memset(first, 1, 100);
    memset(big, 2, 3 << 20);
    memset(second, 3, 100);
    cr_assert_eq(first[99], 1);
    cr_assert_eq(second[0], 3);
    tbp_arena_release(&a);
}

static int want_too_much(void *ctx, struct tbp_error *err) {
    (void)err;
    tbp_arena_alloc(ctx, SIZE_MAX / 2, 4);
    return TBP_OK;
}

Test(guard, exhausted_memory_is_a_status) {
    struct tbp_arena a;
    struct tbp_error err = {0};
    tbp_arena_init(&a);
    cr_assert_eq(tbp_guard_run(want_too_much, &a, &err), TBP_E_MEMORY);
    tbp_arena_release(&a);
}

/* An input of three pages which is being cut down to nothing. */
struct shrinking {
    char path[64];
    struct tbp_input in;
};

static void open_shrinking(struct shrinking *f) {
    strcpy(f->path, "/tmp/tbp_test_bus_XXXXXX");
    int fd = mkstemp(f->path);
    cr_assert(fd >= 0 && ftruncate(fd, 3 * 4096) == 0);
    close(fd);
    cr_assert_eq(tbp_input_open(&f->in, f->path, NULL), TBP_OK);
    cr_assert(f->in.mapped);
}

static int sum_bytes(void *ctx, struct tbp_error *e) {
    const struct tbp_input *in = ctx;
    volatile unsigned sum = 0;
    (void)e;
    for (size_t i = 0; i < in->size; i++)
        sum += in->data[i];
    return TBP_OK;
}

static int sum_job(void *ctx, size_t i, struct tbp_error *e) {
    (void)i;
    return sum_bytes(ctx, e);
}

Test(guard, input_that_becomes_shorter_is_a_status) {
    struct shrinking f;
    struct tbp_error e;
    tbp_signals_install();
    open_shrinking(&f);
    cr_assert_eq(tbp_guard_run(sum_bytes, &f.in, &e), TBP_OK);
    cr_assert_not(tbp_input_is_torn(&f.in, f.path));
    cr_assert_eq(truncate(f.path, 0), 0);
    cr_assert(tbp_input_is_torn(&f.in, f.path));
    for (int i = 0; i < 2; i++) { /* again: the signal is not blocked afterwards */
        cr_assert_eq(tbp_guard_run(sum_bytes, &f.in, &e), TBP_E_TRUNCATED);
        cr_assert(strstr(e.message, f.path), "%s", e.message);
    }
    tbp_input_release(&f.in);
    unlink(f.path);
}

Test(guard, input_that_becomes_shorter_fails_its_jobs_alone) {
    struct shrinking f;
    struct tbp_error e;
    tbp_signals_install();
    open_shrinking(&f);
    cr_assert_eq(truncate(f.path, 0), 0);
    struct tbp_pool *pool = tbp_pool_new(3);
    cr_assert_eq(tbp_pool_for(pool, 8, sum_job, &f.in, &e), TBP_E_TRUNCATED);
    cr_assert_eq(tbp_pool_for(NULL, 8, sum_job, &f.in, &e), TBP_E_TRUNCATED);
    tbp_pool_free(pool);
    tbp_input_release(&f.in);
    unlink(f.path);
}

Test(mapped, addresses_belong_to_files_until_they_are_given_back) {
    static const char pages[100];
    tbp_mapped_add(pages, sizeof pages, "a/long/path");
    cr_assert_str_eq(tbp_mapped_path(pages), "a/long/path");
    cr_assert_str_eq(tbp_mapped_path(pages + 99), "a/long/path");
    cr_assert_null(tbp_mapped_path(pages + 100));
    tbp_mapped_remove(pages);
    cr_assert_null(tbp_mapped_path(pages));
}

Test(arena, owns_heap_arrays_that_it_is_given) {
    struct tbp_arena a;
    tbp_arena_init(&a);
    size_t before_bytes = a.reserved_bytes;
    TBP_VEC(uint32_t) v = {0};
    for (uint32_t i = 0; i < 1000; i++)
        *tbp_vec_push(&v) = i;
    tbp_arena_own(&a, v.at, v.cap * sizeof *v.at);
    cr_expect_eq(v.at[999], 999, "it stays where it is");
    cr_expect_geq(a.reserved_bytes, before_bytes + 4000);
    tbp_arena_release(&a);
    cr_expect_eq(a.reserved_bytes, 0);
}

Test(vec, pages_that_are_dropped_are_no_others) {
    enum { PAGE = 4096, N = 8 * PAGE };
    TBP_VEC(uint32_t) v = {0};
    for (uint32_t i = 0; i < N; i++)
        *tbp_vec_push(&v) = i + 1;
    tbp_vec_drop(&v, 5, 6);
    cr_expect_eq(v.at[5], 6, "less than a page stays");
    tbp_vec_drop(&v, PAGE, 3 * PAGE);
    for (uint32_t i = 0; i < N; i++)
        if (i < PAGE || i >= 3 * PAGE)
            cr_assert_eq(v.at[i], i + 1);
    tbp_vec_release(&v);
}

Test(map, every_key_and_value_is_legal) {
    struct tbp_idmap m = {0};
    uint64_t keys[] = {0, UINT64_MAX, 1, 1ull << 63};
    for (uint32_t i = 0; i < 4; i++)
        *tbp_idmap_put(&m, keys[i], NULL) = i;
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(tbp_idmap_get(&m, keys[i]), i);
    cr_assert_eq(tbp_idmap_get(&m, 2), TBP_MAP_NONE);
    for (uint64_t k = 100; k < 5000; k++)
        *tbp_idmap_put(&m, k, NULL) = (uint32_t)k;
    cr_assert_eq(tbp_idmap_get(&m, UINT64_MAX), 1, "kept while growing");
    cr_assert_eq(tbp_idmap_get(&m, 4999), 4999);
    tbp_idmap_release(&m);
}

Test(map, room_that_was_asked_for_moves_nothing) {
    enum { KEYS = 1000 };
    struct tbp_idmap m = {0};
    *tbp_idmap_put(&m, UINT64_MAX, NULL) = 7;
    tbp_idmap_reserve(&m, KEYS + 1);
    const uint64_t *keys = m.keys;
    for (uint64_t k = 0; k < KEYS; k++)
        *tbp_idmap_put(&m, k << 32, NULL) = (uint32_t)k;
    cr_expect_eq(m.keys, keys);
    cr_expect_eq(m.n, KEYS + 1);
    cr_expect_eq(tbp_idmap_get(&m, UINT64_MAX), 7, "what was there stays");
    cr_expect_eq(tbp_idmap_get(&m, UINT64_C(999) << 32), 999);
    tbp_idmap_reserve(&m, 3);
    cr_expect_eq(m.keys, keys, "less than there is");
    tbp_idmap_release(&m);
}

Test(map, texts_are_numbered_in_order_of_arrival) {
    struct tbp_strtab t = {0};
    cr_assert_eq(tbp_strtab_put(&t, TBP_STR("b")), 0);
    cr_assert_eq(tbp_strtab_put(&t, TBP_STR("")), 1);
    cr_assert_eq(tbp_strtab_put(&t, TBP_STR("b")), 0);
    cr_assert_eq(tbp_strtab_get(&t, TBP_STR("c")), TBP_MAP_NONE);
    tbp_strtab_release(&t);
}

struct item {
    int key, place;
};
static int by_key(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return ((const struct item *)a)->key - ((const struct item *)b)->key;
}

Test(sort, is_stable_on_every_size) {
    srand(7);
    for (int n = 0; n < 300; n += 7) {
        struct item items[300];
        for (int i = 0; i < n; i++)
            items[i] = (struct item){rand() % 5, i};
        tbp_sort(items, (size_t)n, sizeof *items, by_key, NULL);
        for (int i = 1; i < n; i++) {
            cr_assert_leq(items[i - 1].key, items[i].key);
            if (items[i - 1].key == items[i].key)
                cr_assert_lt(items[i - 1].place, items[i].place);
        }
    }
}

Test(sort, index_goes_by_first_key_then_second_descending) {
    uint64_t start[] = {5, 1, 5, 1}, dur[] = {1, 2, 9, 2};
    uint32_t idx[] = {0, 1, 2, 3}, expected[] = {1, 3, 2, 0};
    tbp_sort_index_u64(idx, 4, start, dur);
    cr_assert_arr_eq(idx, expected, sizeof idx);
}

static int add_job(void *ctx, size_t i, struct tbp_error *err) {
    atomic_fetch_add((_Atomic size_t *)ctx, i);
    return i == 3 || i == 5 ? tbp_fail(err, TBP_E_FORMAT, "job %zu", i) : TBP_OK;
}

Test(pool, runs_every_job_and_reports_the_lowest_failure) {
    unsigned threads[] = {1, 2, 4};
    for (int t = 0; t < 3; t++) {
        struct tbp_pool *p = tbp_pool_new(threads[t]);
        _Atomic size_t sum = 0;
        struct tbp_error err = {0};
        cr_assert_eq(tbp_pool_for(p, 100, add_job, &sum, &err), TBP_E_FORMAT);
        cr_assert_eq(sum, 4950);
        cr_assert_str_eq(err.message, "job 3");
        tbp_pool_free(p);
    }
}

enum { SIZED_JOBS = 50 };
struct sized {
    atomic_bool largest_began;
    _Atomic size_t sum;
};
static uint64_t size_of_job(void *ctx, size_t i) {
    (void)ctx;
    return i;
}
/* None gets on before the largest, which is numbered last, has begun. */
static int sized_job(void *ctx, size_t i, struct tbp_error *err) {
    struct sized *s = ctx;
    if (i == SIZED_JOBS - 1)
        atomic_store(&s->largest_began, true);
    while (!atomic_load(&s->largest_began))
        sched_yield();
    return add_job(&s->sum, i, err);
}

Test(pool, begins_with_the_largest_job, .timeout = 60) {
    struct tbp_pool *p = tbp_pool_new(2);
    struct sized s = {0};
    struct tbp_error err = {0};
    cr_assert_eq(tbp_pool_for_sized(p, SIZED_JOBS, size_of_job, sized_job, &s, &err), TBP_E_FORMAT);
    cr_assert_eq(s.sum, 1225);
    cr_assert_str_eq(err.message, "job 3");
    tbp_pool_free(p);
}

struct nested {
    struct tbp_pool *pool;
    _Atomic size_t sum;
};
static int outer_job(void *ctx, size_t i, struct tbp_error *err) {
    struct nested *n = ctx;
    _Atomic size_t sum = 0;
    (void)i;
    tbp_pool_for(n->pool, 3, add_job, &sum, err);
    atomic_fetch_add(&n->sum, sum);
    return TBP_OK;
}

Test(pool, may_be_used_inside_a_job, .timeout = 20) {
    struct nested n = {.pool = tbp_pool_new(3)};
    cr_assert_eq(tbp_pool_for(n.pool, 50, outer_job, &n, NULL), TBP_OK);
    cr_assert_eq(n.sum, 150);
    tbp_pool_free(n.pool);
}

struct meeting {
    struct tbp_pool *pool;
    pthread_t caller;
    _Atomic size_t outer, inner; /* jobs begun */
};
static void wait_for_two(_Atomic size_t *begun) {
    atomic_fetch_add(begun, 1);
    while (atomic_load(begun) < 2)
        sched_yield();
}
static int meet_inside(void *ctx, size_t i, struct tbp_error *err) {
    (void)i, (void)err;
    wait_for_two(&((struct meeting *)ctx)->inner);
    return TBP_OK;
}
/* One job for each thread; only that of the other thread opens jobs in turn. */
static int meet(void *ctx, size_t i, struct tbp_error *err) {
    struct meeting *m = ctx;
    (void)i;
    wait_for_two(&m->outer);
    return pthread_equal(pthread_self(), m->caller) ? TBP_OK
                                                    : tbp_pool_for(m->pool, 2, meet_inside, m, err);
}

Test(pool, a_caller_that_waits_works_on_what_its_jobs_have_opened, .timeout = 20) {
    struct meeting m = {.pool = tbp_pool_new(2), .caller = pthread_self()};
    cr_assert_eq(tbp_pool_for(m.pool, 2, meet, &m, NULL), TBP_OK);
    cr_expect_eq(m.inner, 2);
    tbp_pool_free(m.pool);
}

Test(status, text_has_input_offset_and_causes) {
    struct tbp_error err = {0};
    char text[256];
    tbp_fail_at(&err, TBP_E_TRUNCATED, "a.pb", 17, "varint cut");
    tbp_cause(&err, "while reading plane %d", 3);
    cr_assert_str_eq(tbp_error_text(&err, text, sizeof text),
                     "a.pb: varint cut at byte 17 (while reading plane 3)");
    cr_assert_str_eq(tbp_error_text(&err, text, 8), "a.pb: v", "cut, never past the buffer");
}

/* Long names: the reason stays, what was cut is marked, and quotes are closed. */
Test(status, long_texts_are_cut_where_it_shows) {
    struct tbp_error err = {0};
    char name[1000], want[1000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    errno = ENOENT;
    tbp_fail_errno(&err, TBP_E_IO, "opening '%s' failed", name);
    const char *why = "…': No such file or directory"; /* fills the text to its last byte but one */
    size_t n = TBP_ERROR_TEXT - 1 - strlen(why);
    cr_assert_str_eq(err.message + n, why);
    cr_assert_eq(memcmp(err.message, "opening 'xxx", 12), 0);
    tbp_fail(&err, TBP_E_IO, "%s", name);
    cr_assert_str_eq(err.message + strlen(err.message) - 4, "x…");
    tbp_cause(&err, "while writing '%s'", name);
    cr_assert_str_eq(err.causes[0] + TBP_ERROR_CAUSE_TEXT - 6, "x…'");
    for (size_t i = 0; i < 3; i++) { /* a character of three bytes at each place of the cut */
        snprintf(want, sizeof want, "%.*s", (int)i, name);
        for (size_t k = i; k + 3 < sizeof want; k += 3)
            memcpy(want + k, "€", 4);
        tbp_fail(&err, TBP_E_IO, "%s", want);
        struct tbp_str text = tbp_str_c(err.message);
        cr_assert_eq(tbp_utf8_valid_prefix(text), text.n);
        cr_assert(tbp_str_ends(text, "€…"));
    }
}

Test(input, cut_gzip_keeps_what_it_has) {
    /* gzip of 1000 bytes 'a' without its last 8 bytes (crc, size) */
    char path[] = "/tmp/tbprof_test_XXXXXX";
    int fd = mkstemp(path);
    static const unsigned char head[] = {0x1f, 0x8b, 8, 0,    0,    0,    0,
                                         0,    0,    3, 0x4b, 0x4c, 0x04, 0x00};
    cr_assert_eq(write(fd, head, sizeof head), (ssize_t)sizeof head);
    close(fd);
    struct tbp_input in;
    struct tbp_error err = {0};
    cr_assert_eq(tbp_input_open(&in, path, &err), TBP_OK);
    cr_assert(in.damaged);
    cr_assert_eq(in.size, 2); /* the block above says "aa" … */
    cr_assert_eq(in.data[0], 'a');
    tbp_input_release(&in);
    unlink(path);
}

Test(input, missing_file_is_named) {
    struct tbp_input in;
    struct tbp_error err = {0};
    cr_assert_eq(tbp_input_open(&in, "/nonexistent/x", &err), TBP_E_NOT_FOUND);
    cr_assert(strstr(err.message, "/nonexistent/x") != NULL);
}

Test(input, copies_in_parts_are_the_file) {
    enum { WORDS = 5000000 }; /* 20 MB: several parts, the last one short */
    char path[] = "/tmp/tbprof_test_XXXXXX";
    uint32_t *words = malloc(WORDS * sizeof *words);
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i * 2654435761u;
    FILE *f = fdopen(mkstemp(path), "wb");
    cr_assert_eq(fwrite(words, sizeof *words, WORDS, f), WORDS);
    fclose(f);
    struct tbp_input in;
    struct tbp_file_stamp stamp, again;
    bool is_torn = true;
    struct tbp_pool *pool = tbp_pool_new(3);
    cr_assert_eq(tbp_input_open_copy(&in, path, NULL, &stamp, &is_torn, pool, NULL), TBP_OK);
    cr_assert_not(is_torn);
    cr_assert_not(in.mapped);
    cr_assert_eq(in.size, WORDS * sizeof *words);
    cr_assert_eq(memcmp(in.data, words, in.size), 0);
    cr_assert_eq(tbp_file_stamp(&again, path, NULL), TBP_OK);
    cr_assert(tbp_file_stamp_eq(&stamp, &again));
    tbp_input_release(&in);
    tbp_pool_free(pool);
    free(words);
    unlink(path);
    cr_assert_eq(tbp_input_open_copy(&in, path, NULL, &stamp, &is_torn, NULL, NULL),
                 TBP_E_NOT_FOUND);
    cr_assert_eq(tbp_input_open_copy(&in, "/dev/zero", NULL, &stamp, &is_torn, NULL, NULL),
                 TBP_E_IO);
    cr_assert_eq(tbp_input_open_copy(&in, "/tmp", NULL, &stamp, &is_torn, NULL, NULL), TBP_E_IO);
}

static void choose_two(struct tbp_ranges *out, int fd, uint64_t size) {
    (void)fd;
    tbp_ranges_add(out, 0, 10);
    tbp_ranges_add(out, size - 10, 10);
}

Test(input, copies_of_parts_are_zero_between_them) {
    enum { BYTES = 200000 };
    char path[] = "/tmp/tbprof_test_XXXXXX";
    uint8_t *bytes = malloc(BYTES);
    memset(bytes, 7, BYTES);
    FILE *f = fdopen(mkstemp(path), "wb");
    cr_assert_eq(fwrite(bytes, 1, BYTES, f), BYTES);
    fclose(f);
    struct tbp_input in;
    struct tbp_file_stamp stamp;
    bool is_torn = true;
    cr_assert_eq(tbp_input_open_copy(&in, path, choose_two, &stamp, &is_torn, NULL, NULL), TBP_OK);
    memset(bytes + 10, 0, BYTES - 20);
    cr_assert_not(is_torn);
    cr_assert_eq(in.size, BYTES);
    cr_assert_eq(in.absent_bytes, BYTES - 20);
    cr_assert_eq(memcmp(in.data, bytes, BYTES), 0);
    tbp_input_release(&in);
    free(bytes);
    unlink(path);
}

Test(input, ranges_that_are_near_are_one_and_the_last_takes_the_rest) {
    enum { FAR = 1 << 20 };
    struct tbp_ranges r = {.n = 0};
    tbp_ranges_add(&r, 0, 10);
    tbp_ranges_add(&r, 4000, 100);
    tbp_ranges_add(&r, 4050, 10);
    cr_assert_eq(r.n, 1);
    cr_assert_eq(r.at[0].size, 4100);
    for (uint64_t i = 1; i <= TBP_RANGES_MOST; i++)
        tbp_ranges_add(&r, i * FAR, 1);
    cr_assert_eq(r.n, TBP_RANGES_MOST);
    cr_assert_eq(r.at[TBP_RANGES_MOST - 1].offset, (TBP_RANGES_MOST - 1) * FAR);
    cr_assert_eq(r.at[TBP_RANGES_MOST - 1].size, FAR + 1);
}

Test(sort, counts_what_comes_up_to_a_limit) {
    const struct {
        uint32_t other;
        uint64_t at;
    } items[] = {{9, 10}, {8, 20}, {7, 20}, {6, 30}};
    const uint64_t limits[] = {0, 9, 10, 19, 20, 29, 30, UINT64_MAX};
    const size_t right[] = {0, 0, 1, 1, 3, 3, 4, 4};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        cr_assert_eq(tbp_count_up_to(items, 4, sizeof *items, 8, limits[i]), right[i]);
    cr_assert_eq(tbp_count_up_to(NULL, 0, sizeof *items, 8, 5), 0u);
}

Test(base, lengths_of_time_have_a_unit) {
    static const struct {
        const char *text;
        int64_t ps;
    } right[] = {{"10ms", 10000000000},     {"-0.5 us", -500000},  {"1ns", 1000},
                 {"2min", 120000000000000}, {"3s", 3000000000000}, {"0s", 0}};
    static const char *const wrong[] = {"", "10", "ms", "1h", "nans", "1e30s", "1 0ms"};
    int64_t ps;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        cr_assert(tbp_str_to_ps(tbp_str_c(right[i].text), &ps), "%s", right[i].text);
        cr_assert_eq(ps, right[i].ps, "%s", right[i].text);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_not(tbp_str_to_ps(tbp_str_c(wrong[i]), &ps), "%s", wrong[i]);
}

Test(base, numbers_are_sorted_ascending) {
    enum { MANY = 5000 };
    static uint32_t v[MANY];
    for (size_t n = 0; n <= MANY; n = n * 3 + 1) {
        uint64_t sum = 0, sorted_sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += v[i] = (uint32_t)(i * 2654435761u) >> (n % 2 ? 0 : 12);
        tbp_sort_u32(v, n);
        for (size_t i = 0; i < n; i++)
            sorted_sum += v[i];
        for (size_t i = 1; i < n; i++)
            cr_assert(v[i - 1] <= v[i]);
        cr_expect_eq(sum, sorted_sum);
    }
}
