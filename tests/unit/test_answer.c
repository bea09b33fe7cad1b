/* SPDX-License-Identifier: Apache-2.0
 *
 * Query parameters as the backend takes them: unknown ones mean nothing, known ones are looked at.
 * Packed bodies hold the plain ones.
 */
#include "base/unpack.h"
#include "convert/backend/answer.h"
#include "tests/support/tiny_run.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tiny_host host;
static struct tbp_bytes bytes;
static struct tbp_backend *backend;

static void setup(void) {
    struct tbp_backend_options o = {.budget_bytes = 1 << 20, .n_threads = 1};
    memset(&host, 0, sizeof host);
    tiny_plane(&host, "/host:CPU");
    tiny_line(&host, 1);
    tiny_event(&host, "first", 1000, 2000);
    tiny_event(&host, "second", 5000, 2000);
    struct tbp_str b = tiny_bytes(&host);
    bytes = (struct tbp_bytes){b.p, b.n};
    backend = tbp_backend_new(&o);
}

static void teardown(void) {
    tbp_backend_free(backend);
}

TestSuite(answer, .init = setup, .fini = teardown);

static int put(struct tbp_question q, struct tbp_sink_memory *out) {
    static const char *const paths[] = {"h.xplane.pb"};
    struct tbp_error err;
    q.paths = paths;
    q.n_paths = 1;
    tbp_sink_memory_init(out, 0);
    return tbp_backend_answer_bytes(backend, &q, &bytes, out, &err);
}

static int ask(const char *tool, const struct tbp_tool_option *options, size_t n,
               struct tbp_sink_memory *out) {
    return put((struct tbp_question){.tool = tool, .options = options, .n_options = n}, out);
}

Test(answer, unknown_parameters_mean_nothing) {
    static const struct tbp_tool_option unknown[] = {
        {"use_saved_result", "true"}, {"start_time", "x"}, {"", "y"}};
    for (size_t i = 0; tbp_tools[i]; i++) {
        struct tbp_sink_memory plain, with;
        int status = ask(tbp_tools[i]->name, NULL, 0, &plain);
        cr_assert_eq(ask(tbp_tools[i]->name, unknown, 3, &with), status, "%s", tbp_tools[i]->name);
        cr_assert_eq(plain.size, with.size);
        cr_assert(plain.size == 0 || memcmp(plain.data, with.data, plain.size) == 0);
        tbp_sink_memory_release(&plain);
        tbp_sink_memory_release(&with);
    }
}

Test(answer, parameters_in_the_table_are_looked_at) {
    static const char *const numbers[] = {"start_time_ms", "end_time_ms", "resolution",
                                          "duration_ms", "unique_id"};
    const struct tbp_tool *tool = &tbp_tool_trace_viewer_stream;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct tbp_tool_option option = {numbers[i], "no number"};
        struct tbp_sink_memory out;
        size_t k = 0;
        while (tool->params[k].key && strcmp(tool->params[k].key, numbers[i]) != 0)
            k++;
        cr_assert(tool->params[k].key, "'%s' is not in the table", numbers[i]);
        cr_assert_eq(ask(tool->name, &option, 1, &out), TBP_E_OPTION, "%s", numbers[i]);
        tbp_sink_memory_release(&out);
    }
}

Test(answer, packed_is_the_same_body) {
    for (size_t i = 0; tbp_tools[i]; i++) {
        struct tbp_sink_memory plain, packed;
        int status = ask(tbp_tools[i]->name, NULL, 0, &plain);
        struct tbp_question q = {.tool = tbp_tools[i]->name, .is_packed = true};
        cr_assert_eq(put(q, &packed), status, "%s", tbp_tools[i]->name);
        struct tbp_input in = {.data = packed.data, .size = packed.size, .is_borrowed = true};
        if (status == TBP_OK) {
            cr_assert(tbp_is_packed(&in));
            cr_assert_eq(tbp_unpack(&in, NULL, "body", NULL), TBP_OK);
            cr_assert(!in.damaged && in.size == plain.size);
            cr_assert_eq(memcmp(in.data, plain.data, in.size), 0);
        }
        tbp_input_release(&in);
        tbp_sink_memory_release(&plain);
        tbp_sink_memory_release(&packed);
    }
}

/* ---- answers that are repeated ---- */

/* The run of one host in `folder`, whose events begin with this name, at a time long past. */
static void write_run(const char *path, const char *event, long mtime_s) {
    struct tiny_host h = {0};
    tiny_plane(&h, "/host:CPU");
    tiny_line(&h, 1);
    tiny_event(&h, event, 1000, 2000);
    struct tbp_str b = tiny_bytes(&h);
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(b.p, 1, b.n, f), b.n);
    fclose(f);
    struct timespec times[2] = {{1700000000 + mtime_s, 0}, {1700000000 + mtime_s, 0}};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    tbp_wire_out_release(&h.bytes);
}

/* Whether the packed trace of the file, whole or searched, has the word in it. */
static bool trace_has(const char *path, const struct tbp_tool_option *search, const char *word) {
    struct tbp_question q = {.paths = &path,
                             .n_paths = 1,
                             .tool = "trace_viewer@",
                             .options = search,
                             .n_options = search ? 2 : 0,
                             .is_packed = true};
    struct tbp_sink_memory out;
    struct tbp_error err = {0};
    bool is_foreign;
    tbp_sink_memory_init(&out, 0);
    cr_assert_eq(tbp_backend_answer(backend, &q, &out, &is_foreign, &err), TBP_OK, "%s",
                 err.message);
    struct tbp_input in = {.data = out.data, .size = out.size, .is_borrowed = true};
    cr_assert_eq(tbp_unpack(&in, NULL, "body", NULL), TBP_OK);
    bool has = tbp_str_has((struct tbp_str){(const char *)in.data, in.size}, word);
    tbp_input_release(&in);
    tbp_sink_memory_release(&out);
    return has;
}

Test(answer, is_repeated_for_the_same_question_about_the_same_file) {
    static const struct tbp_tool_option search[] = {{"search_prefix", "x"}, {"resolution", "0"}};
    char folder[] = "/tmp/tbprof-answer-XXXXXX", path[64];
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/h.xplane.pb", folder);
    write_run(path, "before", 0);
    for (int i = 0; i < 2; i++) {
        cr_assert(trace_has(path, NULL, "before"));
        cr_assert_not(trace_has(path, search, "before"), "another question, another body");
    }
    write_run(path, "behind", 1);
    for (int i = 0; i < 2; i++) {
        cr_assert(trace_has(path, NULL, "behind"));
        cr_assert_not(trace_has(path, NULL, "before"));
    }
    unlink(path);
    cr_assert_eq(rmdir(folder), 0);
}
