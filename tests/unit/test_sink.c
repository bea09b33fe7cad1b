/* SPDX-License-Identifier: Apache-2.0
 *
 * Sinks: files appear whole or not at all, gzip is one member that zlib undoes, the same bytes for
 * every number of threads.
 */
#include "plugin_data/sink.h"

#include "base/file.h"
#include "base/guard.h"
#include "base/pool.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char folder[64], path[96];

static void make_folder(void) {
    strcpy(folder, "/tmp/tbp_test_sink_XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/answer.json", folder);
}

static unsigned count_files(void) {
    unsigned n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static void remove_folder(void) {
    unlink(path);
    rmdir(folder);
}

TestSuite(sink_file, .init = make_folder, .fini = remove_folder);

static void put_file(const char *text) {
    struct tbp_sink_file *f;
    cr_assert_eq(tbp_sink_file_new(&f, path, NULL), TBP_OK);
    cr_assert_eq(tbp_sink_write(tbp_sink_file_base(f), text, strlen(text), NULL), TBP_OK);
    cr_assert_eq(tbp_sink_finish(tbp_sink_file_base(f), NULL), TBP_OK);
    tbp_sink_file_free(f);
}

static void expect_file(const char *text) {
    char buf[64] = "";
    int fd = open(path, O_RDONLY);
    cr_assert(fd >= 0);
    ssize_t n = read(fd, buf, sizeof buf - 1);
    close(fd);
    cr_assert_eq((size_t)n, strlen(text));
    cr_assert_str_eq(buf, text);
}

Test(sink_file, appears_only_at_finish_and_leaves_no_temporary) {
    struct tbp_sink_file *f;
    cr_assert_eq(tbp_sink_file_new(&f, path, NULL), TBP_OK);
    cr_assert_eq(tbp_sink_write(tbp_sink_file_base(f), "abc", 3, NULL), TBP_OK);
    cr_assert_neq(access(path, F_OK), 0);
    cr_assert_eq(count_files(), 1);
    cr_assert_eq(tbp_sink_finish(tbp_sink_file_base(f), NULL), TBP_OK);
    tbp_sink_file_free(f);
    expect_file("abc");
    cr_assert_eq(count_files(), 1);
}

Test(sink_file, unfinished_leaves_the_old_file_untouched) {
    put_file("old");
    struct tbp_sink_file *f;
    cr_assert_eq(tbp_sink_file_new(&f, path, NULL), TBP_OK);
    cr_assert_eq(tbp_sink_write(tbp_sink_file_base(f), "half", 4, NULL), TBP_OK);
    tbp_sink_file_free(f);
    expect_file("old");
    cr_assert_eq(count_files(), 1);
}

Test(sink_file, signal_clean_up_removes_what_is_unfinished) {
    put_file("old");
    struct tbp_sink_file *f;
    cr_assert_eq(tbp_sink_file_new(&f, path, NULL), TBP_OK);
    cr_assert_eq(count_files(), 2);
    tbp_sink_file_remove_temporaries();
    cr_assert_eq(count_files(), 1);
    expect_file("old");
    tbp_sink_file_free(f);
}

Test(sink_file, identical_file_is_left_alone) {
    put_file("same");
    struct timespec then[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    cr_assert_eq(utimensat(AT_FDCWD, path, then, 0), 0);
    struct stat st;
    put_file("same");
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mtim.tv_sec, 1000);
    put_file("diff");
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_neq(st.st_mtim.tv_sec, 1000);
    expect_file("diff");
    cr_assert_eq(count_files(), 1);
}

Test(sink_file, missing_folder_is_an_error_that_names_the_path) {
    struct tbp_sink_file *f = NULL;
    struct tbp_error err;
    cr_assert_eq(tbp_sink_file_new(&f, "/tmp/tbp_no_such_folder/x.json", &err), TBP_E_IO);
    cr_assert_not_null(strstr(err.message, "/tmp/tbp_no_such_folder/x.json"));
}

Test(sink_fd, closed_pipe_is_an_error) {
    signal(SIGPIPE, SIG_IGN);
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    close(ends[0]);
    struct tbp_sink_fd s;
    tbp_sink_fd_init(&s, ends[1]);
    cr_assert_eq(tbp_sink_write(&s.base, "x", 1, NULL), TBP_E_IO);
    close(ends[1]);
}

static int write_input(void *ctx, struct tbp_error *e) {
    const struct tbp_input *in = ctx;
    struct tbp_sink_fd s;
    int ends[2]; /* unlike /dev/null, a pipe copies what is written */
    cr_assert_eq(pipe(ends), 0);
    tbp_sink_fd_init(&s, ends[1]);
    int status = tbp_sink_write(&s.base, in->data, in->size, e);
    close(ends[0]), close(ends[1]);
    return status;
}

/* The system copies by itself and says EFAULT where a copy of ours would raise SIGBUS. */
Test(sink_fd, input_that_becomes_shorter_is_told_as_such) {
    struct tbp_input in;
    struct tbp_error err;
    make_folder();
    put_file("the bytes of an input");
    cr_assert_eq(tbp_input_open(&in, path, NULL), TBP_OK);
    cr_assert(in.mapped);
    cr_assert_eq(tbp_guard_run(write_input, &in, &err), TBP_OK);
    cr_assert_eq(truncate(path, 0), 0);
    cr_assert_eq(tbp_guard_run(write_input, &in, &err), TBP_E_TRUNCATED);
    cr_assert_not_null(strstr(err.message, path));
    tbp_input_release(&in);
}

/* ---- gzip ---- */

/* Like a trace: few words, many digits, some noise. */
static uint8_t *make_text(size_t n, unsigned seed, unsigned kind) {
    uint8_t *p = malloc(n + 64);
    uint64_t x = seed * 2654435761u + 1;
    for (size_t i = 0; i < n;) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        unsigned r = (unsigned)(x >> 40);
        if (kind == 0)
            i += (size_t)sprintf((char *)p + i, "{\"ph\":\"X\",\"ts\":%u.%u,\"name\":\"op_%u\"},",
                                 r, r % 7, r % 50);
        else if (kind == 1)
            p[i++] = (uint8_t)(r >> 3);
        else
            p[i++] = kind == 2 ? 'a' : (uint8_t) "ab"[r >> 5 & 1];
    }
    return p;
}

static struct tbp_sink_memory gzip(const uint8_t *p, size_t n, size_t piece, unsigned threads) {
    struct tbp_sink_memory m;
    tbp_sink_memory_init(&m, 0);
    struct tbp_pool *pool = tbp_pool_new(threads);
    struct tbp_sink_gzip *g;
    cr_assert_eq(tbp_sink_gzip_new(&g, &m.base, pool, NULL), TBP_OK);
    for (size_t i = 0; i < n; i += piece)
        cr_assert_eq(
            tbp_sink_write(tbp_sink_gzip_base(g), p + i, n - i < piece ? n - i : piece, NULL),
            TBP_OK);
    cr_assert_eq(tbp_sink_finish(tbp_sink_gzip_base(g), NULL), TBP_OK);
    tbp_sink_gzip_free(g);
    tbp_pool_free(pool);
    return m;
}

/* One gzip member that holds exactly the n bytes at p and nothing behind it. */
static void expect_gunzip(const struct tbp_sink_memory *m, const uint8_t *p, size_t n) {
    uint8_t *back = malloc(n + 1);
    z_stream z = {
        .next_in = m->data, .avail_in = (uInt)m->size, .next_out = back, .avail_out = (uInt)n + 1};
    cr_assert_eq(inflateInit2(&z, 15 + 16), Z_OK);
    cr_assert_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    cr_assert_eq(z.total_out, n);
    cr_assert_eq(z.avail_in, 0);
    cr_assert(n == 0 || memcmp(back, p, n) == 0);
    inflateEnd(&z);
    free(back);
}

Test(sink_gzip, zlib_undoes_every_size_and_kind) {
    static const size_t sizes[] = {0, 1, 2, 3, 100, 262143, 262144, 262145, 1000000};
    for (unsigned kind = 0; kind < 4; ++kind)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
            uint8_t *p = make_text(sizes[i], kind + 1, kind);
            struct tbp_sink_memory m = gzip(p, sizes[i], 70000, 1);
            expect_gunzip(&m, p, sizes[i]);
            tbp_sink_memory_release(&m);
            free(p);
        }
}

Test(sink_gzip, bytes_depend_on_neither_threads_nor_pieces) {
    size_t n = 3000000;
    uint8_t *p = make_text(n, 7, 0);
    struct tbp_sink_memory one = gzip(p, n, n, 1);
    for (unsigned threads = 1; threads <= 4; ++threads) {
        struct tbp_sink_memory m = gzip(p, n, 1000 * threads + 1, threads);
        cr_assert_eq(m.size, one.size);
        cr_assert_eq(memcmp(m.data, one.data, m.size), 0);
        tbp_sink_memory_release(&m);
    }
    expect_gunzip(&one, p, n);
    cr_assert_lt(one.size, n / 4);
    tbp_sink_memory_release(&one);
    free(p);
}

Test(sink_gzip, failure_below_is_returned_and_final) {
    struct tbp_sink_memory m;
    tbp_sink_memory_init(&m, 100000);
    struct tbp_pool *pool = tbp_pool_new(2);
    struct tbp_sink_gzip *g;
    cr_assert_eq(tbp_sink_gzip_new(&g, &m.base, pool, NULL), TBP_OK);
    uint8_t *p = make_text(2000000, 3, 1);
    int status = tbp_sink_write(tbp_sink_gzip_base(g), p, 2000000, NULL);
    if (status == TBP_OK)
        status = tbp_sink_finish(tbp_sink_gzip_base(g), NULL);
    cr_assert_eq(status, TBP_E_LIMIT);
    cr_assert_eq(tbp_sink_finish(tbp_sink_gzip_base(g), NULL), TBP_E_LIMIT);
    tbp_sink_gzip_free(g);
    tbp_pool_free(pool);
    tbp_sink_memory_release(&m);
    free(p);
}

Test(sink_gzip, zlib_undoes_many_small_inputs) {
    for (unsigned i = 0; i < 600; ++i) {
        uint8_t *p = make_text(i, i, i % 4);
        struct tbp_sink_memory m = gzip(p, i, 64, 1);
        expect_gunzip(&m, p, i);
        tbp_sink_memory_release(&m);
        free(p);
    }
}

Test(sink_gzip, noise_grows_by_less_than_a_thousandth) {
    size_t n = 2000000;
    uint8_t *p = make_text(n, 5, 1);
    struct tbp_sink_memory m = gzip(p, n, n, 1);
    cr_assert_lt(m.size, n + n / 1000);
    tbp_sink_memory_release(&m);
    free(p);
}

/* A disk without room for the header; under AddressSanitizer nothing may be lost either. */
Test(sink_gzip, fails_at_once_where_not_even_the_header_fits) {
    struct tbp_sink_memory m;
    struct tbp_sink_gzip *g = NULL;
    struct tbp_error err;
    tbp_sink_memory_init(&m, 5);
    cr_assert_eq(tbp_sink_gzip_new(&g, &m.base, NULL, &err), TBP_E_LIMIT);
    cr_assert_null(g);
    tbp_sink_memory_release(&m);
}
