/* SPDX-License-Identifier: Apache-2.0
 *
 * Converting a run whose xplane is more than readers of protobuf take; the limit is the test's.
 */
#include "cli/convert_run.h"
#include "tests/support/xpt.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TOOLS = 64 };

struct bench {
    struct tbp_arena arena;
    char folder[32];
    struct tbp_runs runs;
    struct tbp_convert_result result;
};

static const char *in_folder(struct bench *b, const char *name) {
    return tbp_arena_printf(&b->arena, "%s/%s", b->folder, name);
}

static void convert(struct bench *b, const char *name, struct tbp_str bytes, uint64_t max_bytes) {
    struct tbp_error err = {0};
    struct tbp_common common = {0};
    struct tbp_cli cli = {.arena = &b->arena, .common = &common};
    struct tbp_progress progress;
    bool wanted[MAX_TOOLS];
    memset(wanted, true, sizeof wanted);
    memset(b, 0, sizeof *b);
    tbp_arena_init(&b->arena);
    snprintf(b->folder, sizeof b->folder, "/tmp/tbprof-unit-XXXXXX");
    cr_assert_not_null(mkdtemp(b->folder));
    FILE *f = fopen(in_folder(b, name), "wb");
    cr_assert_eq(fwrite(bytes.p, 1, bytes.n, f), bytes.n);
    fclose(f);
    cr_assert_eq(tbp_find_runs(&b->runs, &b->arena, in_folder(b, name), &err), TBP_OK);
    tbp_progress_begin(&progress, TBP_PROGRESS_OFF, stderr, 1);
    struct tbp_convert_job job = {.cli = &cli,
                                  .run = &b->runs.list.at[0],
                                  .logdir = in_folder(b, "log"),
                                  .folder = in_folder(b, "log/plugins/profile/r"),
                                  .has_xplane = true,
                                  .max_xplane_bytes = max_bytes,
                                  .is_tool_wanted = wanted,
                                  .progress = &progress};
    cr_assert_eq(tbp_convert_run(&job, &b->arena, &b->result, &err), TBP_OK, "%s", err.message);
    cr_assert_eq(b->result.hosts[0].status, TBP_OK, "%s", b->result.hosts[0].err.message);
    tbp_progress_end(&progress);
}

/* Of a file of the run; -1: there is none. */
static long size_of(struct bench *b, const char *name) {
    struct stat st;
    const char *path = tbp_arena_printf(&b->arena, "%s/log/plugins/profile/r/%s", b->folder, name);
    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

static void done(struct bench *b) {
    const char *command = tbp_arena_printf(&b->arena, "rm -r %s", b->folder);
    cr_expect_eq(system(command), 0);
    tbp_convert_result_release(&b->result);
    tbp_runs_release(&b->runs);
    tbp_arena_release(&b->arena);
}

static struct tbp_wire_out bytes_of(const char *text) {
    struct tbp_wire_out out = {0};
    struct tbp_error err = {0};
    cr_assert_eq(tbp_xpt_parse(tbp_str_c(text), &out, &err), TBP_OK, "%s", err.message);
    return out;
}

static const char json[] =
    "{\"traceEvents\":[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1,\"name\":\"a\"}]}";

Test(convert_run, without_an_xplane_where_it_is_too_large_the_pages_are_there) {
    struct bench b;
    convert(&b, "h.json", tbp_str_c(json), 20);
    cr_expect(b.result.hosts[0].lacks_xplane);
    cr_expect_gt(b.result.hosts[0].too_large_bytes, 20);
    cr_expect_eq(b.result.hosts[0].ledger.events_emitted, 1);
    cr_expect_eq(size_of(&b, "h.xplane.pb"), -1);
    cr_expect_gt(size_of(&b, "h.overview_page.json"), 0);
    cr_expect_gt(size_of(&b, "h.trace.json.gz"), 0);
    done(&b);
    convert(&b, "h.json", tbp_str_c(json), 0);
    cr_expect_not(b.result.hosts[0].lacks_xplane);
    cr_expect_eq(b.result.hosts[0].too_large_bytes, 0);
    cr_expect_gt(size_of(&b, "h.xplane.pb"), 20);
    done(&b);
}

/* Of an xplane that would get a host plane added, and of one that is whole. */
Test(convert_run, copies_an_xplane_that_is_too_large) {
    static const char *const texts[] = {
        "plane 1 \"/device:GPU:0\"\n  line 1 \"s\" at 1us\n    0 +1us \"k\"\n",
        "plane 1 \"/host:CPU\"\n  line 1 \"s\" at 1us\n    0 +1us \"k\"\n"};
    for (size_t i = 0; i < 2; i++) {
        struct bench b;
        struct tbp_wire_out out = bytes_of(texts[i]);
        convert(&b, "h.xplane.pb", (struct tbp_str){(const char *)out.at, out.n}, 20);
        cr_expect_not(b.result.hosts[0].lacks_xplane);
        cr_expect_geq(b.result.hosts[0].too_large_bytes, out.n);
        cr_expect_eq(size_of(&b, "h.xplane.pb"), (long)out.n);
        cr_expect_gt(size_of(&b, "h.overview_page.json"), 0);
        done(&b);
        tbp_wire_out_release(&out);
    }
}
