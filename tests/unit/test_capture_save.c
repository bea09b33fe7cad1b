/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and places that clients send: nothing is written outside of what was allowed.
 */
#include "capture/capture_request.h"
#include "capture/capture_save.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64], outside[64];
static struct tbp_arena arena;

static void setup(void) {
    tbp_arena_init(&arena);
    snprintf(root, sizeof root, "/tmp/tbprof-save-XXXXXX");
    snprintf(outside, sizeof outside, "/tmp/tbprof-save-XXXXXX");
    cr_assert(mkdtemp(root) && mkdtemp(outside));
}

static void teardown(void) {
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s %s", root, outside);
    cr_assert_eq(system(command), 0);
    tbp_arena_release(&arena);
}

TestSuite(capture_save, .init = setup, .fini = teardown);

static const char *join(const char *a, const char *b) {
    return tbp_arena_printf(&arena, "%s/%s", a, b);
}

static int save(const char *repository_root, const char *run, const char *host) {
    struct tbp_save_target t = {root, repository_root, run, host};
    return tbp_capture_save(&t, "profile", 7, NULL);
}

static bool is_empty(const char *folder) {
    return rmdir(folder) == 0 && mkdir(folder, 0700) == 0;
}

Test(capture_save, writes_below_the_allowed_folder) {
    struct stat st;
    const char *profile = join(root, "plugins/profile");
    cr_assert_eq(save(profile, "run", "host:6009"), TBP_OK);
    cr_assert_eq(stat(join(profile, "run/host_6009.xplane.pb"), &st), 0);
    cr_assert_eq(st.st_size, 7);
    cr_assert_eq(save(join(root, "plugins/profile/"), "run", "host:6010"), TBP_OK);
}

Test(capture_save, never_over_a_file_that_is_there) {
    struct tbp_save_target t = {root, root, "run", "host:6009"};
    struct tbp_error err = {0};
    char kept[8] = "";
    cr_assert_not(tbp_capture_save_is_taken(&t));
    cr_assert_eq(tbp_capture_save(&t, "first", 5, NULL), TBP_OK);
    cr_assert(tbp_capture_save_is_taken(&t));
    cr_assert_eq(tbp_capture_save(&t, "second", 6, &err), TBP_E_USAGE);
    cr_assert_str_eq(err.message,
                     "the run has a 'host_6009.xplane.pb' already, which is not overwritten");
    FILE *f = fopen(join(root, "run/host_6009.xplane.pb"), "r");
    cr_assert_eq(fread(kept, 1, 7, f), 5);
    cr_assert_str_eq(kept, "first");
    fclose(f);
    remove(join(root, "run/host_6009.xplane.pb"));
    cr_assert(is_empty(join(root, "run")), "no temporary either");
}

Test(capture_save, a_failure_leaves_no_empty_run) {
    struct rlimit less = {3, 3};
    struct tbp_error err = {0};
    const char *profile = join(root, "plugins/profile");
    struct tbp_save_target t = {root, profile, "run", "h"};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &less), 0);
    cr_assert_eq(tbp_capture_save(&t, "profile", 7, &err), TBP_E_IO);
    cr_assert_str_eq(err.message, "writing 'h.xplane.pb' failed: File too large");
    cr_assert(is_empty(profile));
}

Test(capture_save, refuses_other_places) {
    const char *const elsewhere[] = {
        outside,
        join(root, "../elsewhere"),
        join(root, "a/../../elsewhere"),
        join(root, "./plugins"),
        join(root, "a//b"),
        tbp_arena_printf(&arena, "%sx/plugins/profile", root),
        "plugins/profile",
        "",
        "/",
    };
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        cr_assert_eq(save(elsewhere[i], "run", "host"), TBP_E_USAGE, "%s", elsewhere[i]);
    cr_assert(is_empty(outside));
    cr_assert(is_empty(root));
}

Test(capture_save, refuses_names_that_are_paths) {
    const char *const bad[] = {
        "",         ".",   "..", ".hidden",   "a/b",      "../a",   "a\\b",  "a\nb", "a\x7f",
        "\xff\xfe", "-rf", " a", "a ",        "a.",       "$(a)",   "a;b",   "<a>",  "a\"b",
        "a'b",      "`a`", "a*", "ALL_HOSTS", "a\u202eb", "\u200b", "\u3000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_not(tbp_capture_is_name(tbp_str_c(bad[i])), "%zu", i);
        cr_assert_eq(save(root, bad[i], "host"), TBP_E_USAGE);
        cr_assert_eq(save(root, "run", bad[i]), TBP_E_USAGE);
    }
    const char *const good[] = {"2026_01_02_03_04_05",  "lauf 7 (groß)", "[::1]:6009",
                                "a.b-c_d=e@f,g+h~1",    "実行",          "10.0.0.1:6009",
                                "unix:_run_tbprof.sock"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_assert(tbp_capture_is_name(tbp_str_c(good[i])), "%zu", i);
    char name[TBP_CAPTURE_NAME_MAX + 2];
    memset(name, 'a', sizeof name);
    cr_assert(tbp_capture_is_name((struct tbp_str){name, TBP_CAPTURE_NAME_MAX}));
    cr_assert_not(tbp_capture_is_name((struct tbp_str){name, TBP_CAPTURE_NAME_MAX + 1}));
    cr_assert(is_empty(root));
}

Test(capture_save, does_not_follow_links_out) {
    cr_assert_eq(symlink(outside, join(root, "plugins")), 0);
    cr_assert_eq(save(join(root, "plugins/profile"), "run", "host"), TBP_E_USAGE);
    cr_assert_eq(save(join(root, "plugins"), "run", "host"), TBP_E_USAGE);
    cr_assert(is_empty(outside));
}

Test(capture_save, a_link_as_the_run_or_the_file_is_not_followed) {
    struct stat st;
    cr_assert_eq(symlink(outside, join(root, "run")), 0);
    cr_assert_eq(save(root, "run", "host"), TBP_E_USAGE);
    cr_assert(is_empty(outside));
    cr_assert_eq(mkdir(join(root, "other"), 0700), 0);
    cr_assert_eq(symlink(join(outside, "target"), join(root, "other/host.xplane.pb")), 0);
    cr_assert_eq(save(root, "other", "host"), TBP_E_USAGE);
    cr_assert_eq(lstat(join(root, "other/host.xplane.pb"), &st), 0);
    cr_assert(S_ISLNK(st.st_mode), "it stays, and leads to nothing new");
    cr_assert(is_empty(outside));
}

Test(capture_save, a_link_or_file_in_the_way_is_told_before_anything_is_recorded) {
    struct tbp_save_target t = {root, join(root, "plugins/profile"), "run", "host"};
    cr_assert_eq(tbp_capture_save_check(&t, NULL), TBP_OK, "what is not there can be made");
    cr_assert_eq(symlink(outside, join(root, "plugins")), 0);
    cr_assert_eq(tbp_capture_save_check(&t, NULL), TBP_E_USAGE);
    t.root = root;
    fclose(fopen(join(root, "run"), "w"));
    cr_assert_eq(tbp_capture_save_check(&t, NULL), TBP_E_USAGE);
    cr_assert_not(tbp_capture_save_exists(&t));
}

Test(capture_save, an_allowed_folder_may_be_a_link_itself) {
    char link[80];
    snprintf(link, sizeof link, "%s-link", root);
    cr_assert_eq(symlink(root, link), 0);
    struct tbp_save_target t = {link, join(link, "plugins/profile"), "run", "host"};
    int status = tbp_capture_save(&t, "x", 1, NULL);
    unlink(link);
    cr_assert_eq(status, TBP_OK);
}

Test(capture_save, nothing_is_allowed_without_a_folder) {
    struct tbp_save_target t = {NULL, root, "run", "host"};
    cr_assert_eq(tbp_capture_save_check(&t, NULL), TBP_E_USAGE);
    cr_assert_not(tbp_capture_save_exists(&t));
}

Test(capture_save, exists_where_the_log_directory_does) {
    struct tbp_save_target t = {root, join(root, "plugins/profile"), "run", "host"};
    cr_assert(tbp_capture_save_exists(&t), "the folder above plugins/ is there");
    t.root = join(root, "other/plugins/profile");
    cr_assert_not(tbp_capture_save_exists(&t));
    cr_assert_eq(mkdir(join(root, "other"), 0700), 0);
    cr_assert(tbp_capture_save_exists(&t));
}

Test(capture_save, depth_is_bounded) {
    char deep[4096];
    size_t n = (size_t)snprintf(deep, sizeof deep, "%s", root);
    for (int i = 0; i < 200; i++)
        n += (size_t)snprintf(deep + n, sizeof deep - n, "/a");
    cr_assert_eq(save(deep, "run", "host"), TBP_E_USAGE);
    cr_assert(is_empty(root));
}
