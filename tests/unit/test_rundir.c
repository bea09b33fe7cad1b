/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of run folders and files, the marker event file, record checksums.
 */
#include "plugin_data/rundir.h"

#include "plugin_data/marker.h"
#include "plugin_data/tfrecord.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tbp_arena arena;

static void init(void) {
    tbp_arena_init(&arena);
}

static void release(void) {
    tbp_arena_release(&arena);
}

TestSuite(rundir, .init = init, .fini = release);

static void expect_split(const char *name, const char *host, const char *suffix) {
    struct tbp_str h, s;
    cr_assert(tbp_rundir_split(tbp_str_c(name), &h, &s), "%s", name);
    cr_assert(tbp_str_is(h, host), "%s", name);
    cr_assert(tbp_str_is(s, suffix), "%s", name);
}

Test(rundir, file_names_split_at_the_suffix_that_plugins_know) {
    struct tbp_str h, s;
    expect_split("a.b.xplane.pb", "a.b", "xplane.pb");
    expect_split("h.xplane.pb.gz", "h", "xplane.pb.gz");
    expect_split("10.0.0.2_8466.trace.json.gz", "10.0.0.2_8466", "trace.json.gz");
    expect_split("overview_page.json", "", "overview_page.json");
    cr_assert_not(tbp_rundir_split(TBP_STR("xxplane.pb"), &h, &s));
    cr_assert_not(tbp_rundir_split(TBP_STR("h.trace.json"), &h, &s));
    cr_assert_not(tbp_rundir_split(TBP_STR(""), &h, &s));
}

static void expect_local(const char *given, const char *path) {
    struct tbp_error err;
    const char *folder = given;
    cr_assert_eq(tbp_rundir_local(&folder, &err), path ? TBP_OK : TBP_E_OPTION, "%s", given);
    if (path)
        cr_assert_str_eq(folder, path);
    else
        cr_assert_not_null(strstr(err.message, given), "%s", err.message);
}

Test(rundir, folders_are_told_from_urls) {
    static const char *const local[] = {"",     "log",    "/log",    "./gs://x", "gs:/x",  "gs:x",
                                        "://x", "1s://x", "a b://x", "file:/x",  "a/b://x"};
    static const char *const urls[] = {"gs://bucket/x", "s3://b",    "hdfs://host:1/x",
                                       "S3A+x.y-1://b", "gs://",     "file://host/x",
                                       "file://",       "memory://x"};
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        expect_local(local[i], local[i]);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        expect_local(urls[i], NULL);
    expect_local("file:///a/b", "/a/b");
}

Test(rundir, numbered_names_sort_as_the_numbers_do) {
    static const struct {
        unsigned n;
        const char *name;
    } names[] = {{0, "run"},
                 {1, "run_1"},
                 {9, "run_9"},
                 {10, "run_a10"},
                 {99, "run_a99"},
                 {100, "run_b100"},
                 {999, "run_b999"},
                 {1000, "run_c1000"},
                 {99999, "run_d99999"},
                 {100000, "run_e100000"},
                 {UINT_MAX, "run_i4294967295"}};
    const char *before = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cr_expect_str_eq(tbp_rundir_numbered(&arena, "run", names[i].n), names[i].name);
        cr_expect_lt(strcmp(before, names[i].name), 0, "%s", names[i].name);
        before = names[i].name;
    }
}

Test(rundir, paths_split_into_log_directory_and_run) {
    struct tbp_str l, r;
    cr_assert(
        tbp_rundir_split_path(TBP_STR("/x/train/plugins/profile/2026_01_01_00_00_00//"), &l, &r));
    cr_assert(tbp_str_is(l, "/x/train"));
    cr_assert(tbp_str_is(r, "2026_01_01_00_00_00"));
    cr_assert(tbp_rundir_split_path(TBP_STR("plugins/profile/r"), &l, &r));
    cr_assert(tbp_str_is(l, ""));
    cr_assert(tbp_rundir_split_path(TBP_STR("/plugins/profile/r"), &l, &r));
    cr_assert(tbp_str_is(l, "/"));
    cr_assert_not(tbp_rundir_split_path(TBP_STR("/x/myplugins/profile/r"), &l, &r));
    cr_assert_not(tbp_rundir_split_path(TBP_STR("/x/plugins/profile"), &l, &r));
    cr_assert_not(tbp_rundir_split_path(TBP_STR("r"), &l, &r));
}

Test(rundir, run_names_are_one_visible_component) {
    cr_assert(tbp_rundir_is_run_name(TBP_STR("my run")));
    cr_assert_not(tbp_rundir_is_run_name(TBP_STR("")));
    cr_assert_not(tbp_rundir_is_run_name(TBP_STR("..")));
    cr_assert_not(tbp_rundir_is_run_name(TBP_STR("a/b")));
    cr_assert_not(tbp_rundir_is_run_name(TBP_STR("a\0b")));
}

Test(rundir, time_names_are_local_time) {
    char name[TBP_RUNDIR_TIME_NAME];
    setenv("TZ", "UTC-1", 1);
    tzset();
    tbp_rundir_time_name(name, 0);
    cr_assert_str_eq(name, "1970_01_01_01_00_00");
}

Test(rundir, hosts_lose_what_a_file_name_cannot_hold) {
    cr_assert_str_eq(tbp_rundir_file(&arena, "d", TBP_STR("a:1/b"), "x.json"), "d/a_1_b.x.json");
    cr_assert_str_eq(tbp_rundir_file(&arena, "d", TBP_STR("..x"), "x.json"), "d/_.x.x.json");
    cr_assert_str_eq(tbp_rundir_file(&arena, "d", TBP_STR(""), "x.json"), "d/_.x.json");
}

Test(rundir, makes_folders_and_refuses_files_in_their_place) {
    char root[] = "/tmp/tbp_test_rundir_XXXXXX";
    cr_assert_not_null(mkdtemp(root));
    const char *path = tbp_rundir_path(&arena, root, "r");
    cr_assert_eq(tbp_rundir_make(path, NULL), TBP_OK);
    cr_assert_eq(tbp_rundir_make(path, NULL), TBP_OK);
    struct stat st;
    cr_assert_eq(stat(path, &st), 0);
    cr_assert(S_ISDIR(st.st_mode));
    char *file = tbp_arena_printf(&arena, "%s/f", path);
    fclose(fopen(file, "w"));
    cr_assert_eq(tbp_rundir_make(file, NULL), TBP_E_IO);
    cr_assert_eq(tbp_rundir_make(tbp_arena_printf(&arena, "%s/g", file), NULL), TBP_E_IO);
    cr_assert_eq(system(tbp_arena_printf(&arena, "rm -r %s", root)), 0);
}

Test(rundir, takes_back_the_empty_folders_it_made) {
    char root[] = "/tmp/tbp_test_rundir_XXXXXX";
    cr_assert_not_null(mkdtemp(root));
    const char *empty = tbp_rundir_path(&arena, root, "empty"),
               *full = tbp_rundir_path(&arena, root, "full"),
               *other = tbp_arena_printf(&arena, "%s/other", root);
    cr_assert_eq(mkdir(other, 0777), 0);
    cr_assert_eq(tbp_rundir_make(other, NULL), TBP_OK);
    cr_assert_eq(tbp_rundir_make(full, NULL), TBP_OK);
    cr_assert_eq(tbp_rundir_make(empty, NULL), TBP_OK);
    fclose(fopen(tbp_arena_printf(&arena, "%s/f", full), "w"));
    tbp_rundir_remove_empty();
    cr_assert_neq(access(empty, F_OK), 0);
    cr_assert_eq(access(full, F_OK), 0);
    cr_assert_eq(access(other, F_OK), 0, "was there before");
    cr_assert_eq(system(tbp_arena_printf(&arena, "rm %s/f", full)), 0);
    tbp_rundir_remove_empty();
    cr_assert_neq(access(tbp_arena_printf(&arena, "%s/plugins", root), F_OK), 0);
    cr_assert_eq(system(tbp_arena_printf(&arena, "rm -r %s", root)), 0);
}

/* ---- records ---- */

Test(rundir, crc32c_gives_the_published_check_values) {
    cr_assert_eq(tbp_crc32c(0, "123456789", 9), 0xe3069283);
    uint8_t zeros[32] = {0}; /* RFC 3720 B.4 */
    cr_assert_eq(tbp_crc32c(0, zeros, 32), 0x8a9136aa);
    cr_assert_eq(tbp_crc32c(tbp_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

static const uint8_t marker[TBP_MARKER_BYTES] = {
    0x18, 0,    0,    0,    0,    0,    0,    0,    0xa3, 0x7f, 0x4b, 0x22, 0x09, 0,
    0,    0,    0x40, 0xfc, 0x54, 0xd9, 0x41, 0x1a, 0x0d, 0x62, 0x72, 0x61, 0x69, 0x6e,
    0x2e, 0x45, 0x76, 0x65, 0x6e, 0x74, 0x3a, 0x32, 0xec, 0xed, 0x8f, 0x9d};

Test(rundir, marker_has_the_bytes_that_tensorflow_writes) {
    struct tbp_sink_memory m;
    tbp_sink_memory_init(&m, 0);
    cr_assert_eq(tbp_marker_bytes(&m.base, 1700000000.0, NULL), TBP_OK);
    cr_assert_eq(m.size, sizeof marker);
    cr_assert_arr_eq(m.data, marker, sizeof marker);
    tbp_sink_memory_release(&m);
}

static unsigned count_files(const char *folder) {
    unsigned n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

Test(rundir, marker_is_written_once_under_its_name) {
    char root[] = "/tmp/tbp_test_marker_XXXXXX";
    cr_assert_not_null(mkdtemp(root));
    cr_assert_eq(tbp_marker_write(root, "h:1", 1700000000, NULL), TBP_OK);
    cr_assert_eq(tbp_marker_write(root, "other", 1700000001, NULL), TBP_OK);
    cr_assert_eq(count_files(root), 1);
    char *path =
        tbp_arena_printf(&arena, "%s/events.out.tfevents.1700000000.h_1.profile-empty", root);
    cr_assert_eq(access(path, R_OK), 0);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rmdir(root), 0);
    cr_assert_eq(tbp_marker_write(root, "h", 1700000000, NULL), TBP_E_IO);
}
