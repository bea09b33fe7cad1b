/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs in real folders: names, what is shared, what stays when something fails.
 */
#include "capture/run_folder.h"
#include "capture/run_job.h"
#include "capture/run_out.h"
#include "plugin_data/rundir.h"
#include "tests/support/spool_maker.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct spool_maker m;
static char logdir[64];
static struct tbp_run_result result;
static struct tbp_error err;

static void begin(void) {
    static const char *const jobs[] = {"WORLD_SIZE",
                                       "RANK",
                                       "LOCAL_WORLD_SIZE",
                                       "SLURM_NTASKS",
                                       "SLURM_JOB_ID",
                                       "SLURM_PROCID",
                                       "OMPI_COMM_WORLD_SIZE",
                                       "TORCHELASTIC_RUN_ID",
                                       "MASTER_ADDR",
                                       "MASTER_PORT",
                                       "TBPROF_AUTOSTART",
                                       "TBPROF_RUN_SHARED",
                                       NULL};
    for (size_t i = 0; jobs[i]; i++)
        unsetenv(jobs[i]);
    setenv("TZ", "UTC", 1);
    snprintf(logdir, sizeof logdir, "/tmp/tbprof-unit-XXXXXX");
    cr_assert_not_null(mkdtemp(logdir));
    spool_maker_init(&m);
    spool_chunk(&m, 1, SPOOL_MAKER_TID, 0);
    spool_begin(&m, 10, spool_string(&m, "a"));
    spool_end(&m, 20, 1);
}

static void end(void) {
    char command[128];
    spool_maker_release(&m);
    snprintf(command, sizeof command, "rm -r %s", logdir);
    cr_assert_eq(system(command), 0);
}

TestSuite(run_out, .init = begin, .fini = end);
TestSuite(run_job, .init = begin, .fini = end);

/* With a header, what is written before is replaced. */
static struct tbp_run_request request_for(const char *run, struct tbp_spool_header *header) {
    return (struct tbp_run_request){.spool = {m.data, m.size_bytes},
                                    .logdir = logdir,
                                    .run = run,
                                    .header = header,
                                    .until_realtime_ns = INT64_MAX};
}

static int write_run(const char *run) {
    struct tbp_run_request request = request_for(run, NULL);
    return tbp_run_write(&request, &result, &err);
}

static void expect_file(const char *path, bool is_there) {
    char full[512];
    struct stat st;
    snprintf(full, sizeof full, "%s/%s", logdir, path);
    cr_expect_eq(stat(full, &st) == 0, is_there, "%s", full);
}

static void put_file(const char *path, const char *text) {
    char full[512];
    snprintf(full, sizeof full, "%s/%s", logdir, path);
    FILE *f = fopen(full, "w");
    cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void expect_size(const char *path, size_t size) {
    char full[512];
    struct stat st = {0};
    snprintf(full, sizeof full, "%s/%s", logdir, path);
    cr_expect(stat(full, &st) == 0 && (size_t)st.st_size == size, "%s", full);
}

Test(run_out, a_run_is_named_by_its_start_and_never_changed) {
    cr_assert_eq(write_run(NULL), TBP_OK, "%s", err.message);
    cr_expect_eq(result.n_events, 1);
    expect_file("plugins/profile/2026_01_01_00_00_00/worker.xplane.pb", true);
    cr_assert_eq(write_run(NULL), TBP_OK);
    expect_file("plugins/profile/2026_01_01_00_00_00_1/worker.xplane.pb", true);
    expect_file("events.out.tfevents.1767225600.worker.profile-empty", true);
    expect_file(".tbprof", false); /* nothing of the making stays */
}

Test(run_out, many_runs_of_one_name_are_numbered_in_the_order_of_text) {
    static const char *const names[] = {"again",     "again_1",   "again_2",   "again_3",
                                        "again_4",   "again_5",   "again_6",   "again_7",
                                        "again_8",   "again_9",   "again_a10", "again_a11",
                                        "again_a12", "again_a13", "again_a14", "again_a15"};
    char path[128], before[128] = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/plugins/profile/%s", logdir, names[i]);
        cr_assert_eq(write_run("again"), TBP_OK, "%s", err.message);
        cr_expect_str_eq(result.path, path);
        cr_expect_lt(strcmp(before, path), 0, "%s is not before %s", before, path);
        memcpy(before, path, sizeof before);
    }
}

Test(run_out, ranks_share_a_run_and_no_file_is_lost) {
    char own[128];
    memcpy(m.head->options, "run_shared=1\n", 14);
    cr_assert_eq(write_run("both"), TBP_OK, "%s", err.message);
    char stale[128];
    snprintf(stale, sizeof stale, "%s/plugins/profile/both/ALL_HOSTS.op_stats_v2.pb", logdir);
    fclose(fopen(stale, "w"));
    cr_assert_eq(write_run("both"), TBP_OK, "%s", err.message); /* of the same host */
    snprintf(own, sizeof own, "plugins/profile/both/worker_%ld.xplane.pb", (long)getpid());
    expect_file(own, true);
    expect_file("plugins/profile/both/ALL_HOSTS.op_stats_v2.pb", false);
    memcpy(m.head->options, "run_shared=1\nhost_suffix=_3\n", 29);
    cr_assert_eq(write_run("both"), TBP_OK, "%s", err.message);
    expect_file("plugins/profile/both/worker_3.xplane.pb", true);
    expect_file("plugins/profile/both_1", false);
}

/* Of a container whose processes have numbers of their own: is it gone? Nobody here knows. */
Test(run_out, what_a_process_of_another_place_is_at_stays) {
    char folder[128], name[64];
    snprintf(folder, sizeof folder, "%s/.tbprof/run-00000000000000ab-999999-0", logdir);
    cr_assert_eq(tbp_rundir_make(folder, NULL), TBP_OK);
    snprintf(name, sizeof name, ".tbprof/run-00000000000000ab-999999-0");
    cr_assert_eq(write_run("own"), TBP_OK, "%s", err.message);
    expect_file(name, true);
}

Test(run_out, what_is_written_last_takes_the_place_of_what_was_written_before) {
    struct tbp_run_request request = request_for("child", m.head);
    cr_assert_eq(tbp_run_write(&request, &result, &err), TBP_OK, "%s", err.message);
    cr_expect_str_eq(m.head->written_as, "plugins/profile/child/worker.xplane.pb");
    cr_expect_eq(m.head->state, TBP_SPOOL_STOPPED);
    request.is_over = true;
    cr_assert_eq(tbp_run_write(&request, &result, &err), TBP_OK, "%s", err.message);
    cr_expect_eq(m.head->state, TBP_SPOOL_WRITTEN);
    expect_file("plugins/profile/child_1", false);
    /* A header may say anything, and the name may be another file's by now: that one stays. */
    static const char *const others[] = {"plugins/profile/child/other.xplane.pb",
                                         "plugins/profile/child/worker.xplane.pb", "../x.xplane.pb",
                                         "plugins/profile"};
    char run[128];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        put_file("plugins/profile/child/other.xplane.pb", "of another host");
        put_file("plugins/profile/child/worker.xplane.pb", "of another run");
        snprintf(m.head->written_as, sizeof m.head->written_as, "%s", others[i]);
        m.head->staged_id.inode = 0;
        cr_assert_eq(tbp_run_write(&request, &result, &err), TBP_OK, "%s", err.message);
        snprintf(run, sizeof run, "plugins/profile/child_%zu/worker.xplane.pb", i + 1);
        expect_file(run, true);
        expect_size("plugins/profile/child/other.xplane.pb", strlen("of another host"));
        expect_size("plugins/profile/child/worker.xplane.pb", strlen("of another run"));
    }
}

/* A header may know another file well. */
Test(run_out, only_a_profile_is_ever_replaced) {
    static const char *const names[] = {"plugins/../notes", "plugins/profile/killed/notes", "notes",
                                        "plugins/profile/../notes.xplane.pb",
                                        "plugins/profile/notes.xplane.pb"};
    struct tbp_run_request request = request_for("killed", m.head);
    cr_assert_eq(tbp_run_write(&request, &result, &err), TBP_OK, "%s", err.message);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct stat st;
        char full[512];
        put_file(names[i], "mine");
        snprintf(full, sizeof full, "%s/%s", logdir, names[i]);
        cr_assert_eq(stat(full, &st), 0);
        snprintf(m.head->written_as, sizeof m.head->written_as, "%s", names[i]);
        m.head->written_id = (struct tbp_spool_file_id){st.st_dev, st.st_ino, (uint64_t)st.st_size,
                                                        st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
        cr_assert_eq(tbp_run_write(&request, &result, &err), TBP_OK, "%s", err.message);
        expect_size(names[i], strlen("mine"));
    }
}

/* Who is killed right after its file got a name could not note the name any more. */
Test(run_out, a_file_whose_name_was_not_noted_any_more_is_replaced_too) {
    static const char *const names[] = {"", "plugins/profile/else/worker.xplane.pb"};
    struct tbp_run_request request = request_for("killed", m.head);
    cr_assert_eq(write_run("another"), TBP_OK, "%s", err.message);
    cr_assert_eq(tbp_run_write(&request, &result, &err), TBP_OK, "%s", err.message);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(m.head->written_as, sizeof m.head->written_as, "%s", names[i]);
        memset(&m.head->written_id, 0, sizeof m.head->written_id);
        cr_assert_eq(tbp_run_write(&request, &result, &err), TBP_OK, "%s", err.message);
        expect_file("plugins/profile/killed/worker.xplane.pb", true);
        expect_file("plugins/profile/killed_1", false);
    }
    put_file("plugins/profile/killed/worker.xplane.pb", "of another run");
    memset(&m.head->written_id, 0, sizeof m.head->written_id);
    cr_assert_eq(tbp_run_write(&request, &result, &err), TBP_OK, "%s", err.message);
    expect_size("plugins/profile/killed/worker.xplane.pb", strlen("of another run"));
    expect_file("plugins/profile/killed_1/worker.xplane.pb", true);
}

/* In a process of its own; the header is shared. */
static void write_and_be_killed_at_renameat(const struct tbp_run_request *request) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    int status;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
            tbp_run_write(request, &result, NULL);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFSIGNALED(status)); /* it came that far */
}

/* Nor could who recovered it and was killed in turn, before the file took that one's place. */
Test(run_out, a_file_whose_name_was_not_noted_is_known_after_a_second_kill) {
    struct tbp_spool_header *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct tbp_run_request request = request_for("killed", shared);
    cr_assert_neq(shared, MAP_FAILED);
    *shared = *m.head;
    cr_assert_eq(tbp_run_write(&request, &result, &err), TBP_OK, "%s", err.message);
    shared->written_as[0] = '\0';
    memset(&shared->written_id, 0, sizeof shared->written_id);
    write_and_be_killed_at_renameat(&request);
    cr_assert_eq(tbp_run_write(&request, &result, &err), TBP_OK, "%s", err.message);
    expect_file("plugins/profile/killed/worker.xplane.pb", true);
    expect_file("plugins/profile/killed_1", false);
    munmap(shared, sizeof *shared);
}

/* ---- who else may write to the log directory ---- */

/* A path below the log directory; the text is overwritten by the next call but three. */
static const char *below(const char *path) {
    static char texts[4][512];
    static unsigned n;
    char *text = texts[n++ % 4];
    snprintf(text, sizeof texts[0], "%s/%s", logdir, path);
    return text;
}

/* Name of the staging folder of a process that died while it wrote. */
static void leave_staging(char *name, size_t size) {
    pid_t child = fork();
    if (child == 0) {
        struct tbp_arena arena;
        struct tbp_run_folder folder;
        tbp_arena_init(&arena);
        tbp_run_folder_begin(&folder, &arena, logdir, tbp_str_c("worker"), NULL);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, NULL, 0), child);
    DIR *d = opendir(below(".tbprof"));
    cr_assert_not_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (strncmp(e->d_name, "run-", 4) == 0)
            snprintf(name, size, ".tbprof/%.200s", e->d_name);
    closedir(d);
}

Test(run_out, a_link_in_the_place_of_what_a_dead_process_left_leads_nowhere) {
    char name[256] = "";
    leave_staging(name, sizeof name);
    cr_assert_eq(rename(below(name), below("elsewhere")), 0, "%s", name);
    put_file("elsewhere/notes", "mine");
    cr_assert_eq(symlink(below("elsewhere"), below(name)), 0);
    cr_assert_eq(write_run("own"), TBP_OK, "%s", err.message);
    expect_size("elsewhere/notes", strlen("mine"));
    cr_assert_eq(unlink(below(name)), 0);
    cr_assert_eq(rename(below("elsewhere"), below(name)), 0);
    cr_assert_eq(write_run("own"), TBP_OK, "%s", err.message);
    expect_file(name, false); /* no link: it is one */
}

Test(run_out, a_link_in_the_place_of_a_run_leads_nowhere) {
    struct tbp_run_request request = request_for("killed", m.head);
    cr_assert_eq(tbp_run_write(&request, &result, &err), TBP_OK, "%s", err.message);
    cr_assert_eq(rename(below("plugins/profile/killed"), below("elsewhere")), 0);
    cr_assert_eq(symlink(below("elsewhere"), below("plugins/profile/killed")), 0);
    struct stat before, after;
    cr_assert_eq(stat(below("elsewhere/worker.xplane.pb"), &before), 0);
    for (int is_noted = 1; is_noted >= 0; is_noted--) {
        struct tbp_spool_header head = *m.head;
        if (!is_noted)
            head.written_as[0] = '\0';
        request.header = &head;
        cr_assert_eq(tbp_run_write(&request, &result, &err), TBP_OK, "%s", err.message);
        cr_assert_eq(stat(below("elsewhere/worker.xplane.pb"), &after), 0);
        cr_expect_eq(after.st_ino, before.st_ino);
    }
    expect_file("plugins/profile/killed_2/worker.xplane.pb", true);
}

Test(run_out, a_link_in_the_place_of_a_common_run_leads_nowhere) {
    memcpy(m.head->options, "run_shared=1\n", 14);
    cr_assert_eq(mkdir(below("elsewhere"), 0777), 0);
    put_file("elsewhere/notes", "mine");
    cr_assert_eq(write_run("own"), TBP_OK, "%s", err.message); /* makes plugins/profile */
    cr_assert_eq(symlink(below("elsewhere"), below("plugins/profile/common")), 0);
    cr_assert_eq(write_run("common"), TBP_OK, "%s", err.message);
    memcpy(m.head->options, "run_shared=1\nhost_suffix=_3\n", 29);
    cr_assert_eq(write_run("common"), TBP_OK, "%s", err.message);
    expect_file("elsewhere/worker.xplane.pb", false);
    expect_file("plugins/profile/common_1/worker.xplane.pb", true);
    expect_file("plugins/profile/common_1/worker_3.xplane.pb", true); /* together elsewhere */
}

Test(run_out, a_program_started_by_its_environment_that_recorded_nothing_makes_no_run) {
    memcpy(m.head->options, "autostart=1\n", 13);
    m.chunk->committed = 0;
    cr_assert_eq(write_run("empty"), TBP_OK, "%s", err.message);
    cr_expect_str_eq(result.path, "");
    expect_file("plugins", false);
}

Test(run_out, names_that_lead_elsewhere_are_not_taken) {
    memcpy(m.head->run, "../../evil", 11);
    memcpy(m.head->hostname, "a/b:c", 6);
    cr_assert_eq(write_run(NULL), TBP_OK, "%s", err.message);
    expect_file("plugins/profile/2026_01_01_00_00_00/a_b_c.xplane.pb", true);
}

Test(run_out, a_host_of_the_name_of_all_of_them_keeps_its_profile) {
    static const char *const names[] = {"ALL_HOSTS", "ALL_HOSTS.local"};
    static const char *const files[] = {"_ALL_HOSTS.xplane.pb", "_ALL_HOSTS.local.xplane.pb"};
    for (size_t i = 0; i < 2; i++) {
        char path[128];
        snprintf(m.head->hostname, sizeof m.head->hostname, "%s", names[i]);
        snprintf(path, sizeof path, "plugins/profile/r%zu", i);
        cr_assert_eq(write_run(path + strlen("plugins/profile/")), TBP_OK, "%s", err.message);
        snprintf(path, sizeof path, "plugins/profile/r%zu/%s", i, files[i]);
        expect_file(path, true);
    }
}

Test(run_out, a_long_name_of_a_host_is_not_cut_within_a_character) {
    char expected[256] = "plugins/profile/long/a";
    memcpy(m.head->hostname, "a", 2);
    for (int i = 0; i < 100; i++) /* 2 bytes each: 160 bytes end within the 80th */
        memcpy(m.head->hostname + 1 + 2 * i, "\xc3\xbc", 3);
    for (int i = 0; i < 79; i++)
        strcat(expected, "\xc3\xbc");
    strcat(expected, ".xplane.pb");
    cr_assert_eq(write_run("long"), TBP_OK, "%s", err.message);
    expect_file(expected, true);
}

Test(run_out, nothing_stays_after_a_failure) {
    char blocked[128];
    snprintf(blocked, sizeof blocked, "%s/plugins", logdir);
    fclose(fopen(blocked, "w"));
    cr_expect_eq(write_run(NULL), TBP_E_IO);
    cr_expect_not_null(strstr(err.message, "plugins"), "%s", err.message);
    expect_file(".tbprof", false);
}

/* ---- jobs ---- */

static struct tbp_run_job job;

Test(run_job, one_process_alone_shares_nothing) {
    char options[64];
    tbp_run_job_find(&job, logdir, NULL);
    cr_expect_not(job.is_shared);
    cr_expect_str_eq(job.run, "");
    tbp_run_job_print(&job, options, sizeof options);
    cr_expect_str_eq(options, "");
    tbp_run_job_find(&job, logdir, "mine");
    cr_expect_str_eq(job.run, "mine");
}

Test(run_job, a_name_is_agreed_on_while_it_is_young) {
    char path[128];
    char options[64];
    setenv("WORLD_SIZE", "2", 1);
    setenv("RANK", "1", 1);
    setenv("MASTER_ADDR", "10.0.0.1", 1);
    setenv("MASTER_PORT", "29500", 1);
    snprintf(path, sizeof path, "%s/.tbprof", logdir);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/.tbprof/job-master-10.0.0.1-29500-0.0", logdir);
    FILE *f = fopen(path, "w");
    fputs("old", f);
    fclose(f);
    struct timespec hour_ago[2] = {{time(NULL) - 3600, 0}, {time(NULL) - 3600, 0}};
    cr_assert_eq(utimensat(0, path, hour_ago, 0), 0);
    snprintf(path, sizeof path, "%s/.tbprof/job-master-10.0.0.1-29500-0.1", logdir);
    f = fopen(path, "w");
    fputs("2026_01_01_00_00_07", f); /* by another rank, just now */
    fclose(f);
    tbp_run_job_find(&job, logdir, NULL);
    cr_expect(job.is_shared);
    cr_expect_str_eq(job.run, "2026_01_01_00_00_07");
    cr_expect_str_eq(job.host_suffix, "_1");
    tbp_run_job_print(&job, options, sizeof options);
    cr_expect_str_eq(options, "run_shared=1\nhost_suffix=_1\n");
    tbp_run_job_find(&job, logdir, NULL); /* the second capture: nobody was here before */
    cr_expect(*job.run && strcmp(job.run, "2026_01_01_00_00_07") != 0, "%s", job.run);
    setenv("LOCAL_WORLD_SIZE", "1", 1);
    tbp_run_job_find(&job, logdir, "given");
    cr_expect_str_eq(job.run, "given");
    cr_expect_str_eq(job.host_suffix, "");
}

Test(run_job, what_lies_in_the_place_of_a_name_neither_blocks_nor_is_written_to) {
    char draft[64];
    setenv("WORLD_SIZE", "2", 1);
    setenv("RANK", "1", 1);
    setenv("MASTER_ADDR", "10.0.0.1", 1);
    setenv("MASTER_PORT", "29500", 1);
    cr_assert_eq(mkdir(below(".tbprof"), 0777), 0);
    cr_assert_eq(mkfifo(below(".tbprof/job-master-10.0.0.1-29500-0.0"), 0600), 0);
    put_file("notes", "mine");
    snprintf(draft, sizeof draft, ".tbprof/job-master-10.0.0.1-29500-0.1.%ld", (long)getpid());
    cr_assert_eq(symlink(below("notes"), below(draft)), 0);
    tbp_run_job_find(&job, logdir, NULL);
    cr_expect(*job.run);
    expect_size("notes", strlen("mine"));
    expect_size(".tbprof/job-master-10.0.0.1-29500-0.1", strlen(job.run));
}

Test(run_job, options_are_whole_lines) {
    char value[8];
    cr_expect(tbp_run_option("a=1\nconvert=2\n", "convert", value, sizeof value));
    cr_expect_str_eq(value, "2");
    cr_expect_not(tbp_run_option("xconvert=2\n", "convert", value, sizeof value));
    cr_expect_not(tbp_run_option("convert=123456789\n", "convert", value, sizeof value));
    cr_expect_not(tbp_run_option("", "convert", value, sizeof value));
}
