/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_out.h: the collector (plugin_data/collect.h) makes the bytes, run_folder.h the folder.
 */
#include "capture/run_out.h"

#include "base/log.h"
#include "capture/local_time.h"
#include "capture/run_convert.h"
#include "capture/run_folder.h"
#include "capture/run_job.h"
#include "capture/run_report.h"
#include "plugin_data/collect.h"
#include "plugin_data/marker.h"
#include "plugin_data/rundir.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

/* The carry is the collector's. */
struct tbp_run_carry *tbp_run_carry_new(void) {
    return (struct tbp_run_carry *)tbp_collect_carry_new();
}

void tbp_run_carry_free(struct tbp_run_carry *carry) {
    tbp_collect_carry_free((struct tbp_collect_carry *)carry);
}

static int open_collect(struct tbp_collect **c, const struct tbp_run_request *request,
                        struct tbp_error *err) {
    struct tbp_collect_request what = {
        .data = request->spool.data,
        .size_bytes = request->spool.size_bytes,
        .carry = (struct tbp_collect_carry *)request->carry,
        .until_realtime_ns = request->until_realtime_ns,
        .max_events = request->max_events,
        .warning = request->warning,
    };
    return tbp_collect_open(c, &what, err);
}

static int write_collected(struct tbp_collect *c, struct tbp_sink *sink,
                           struct tbp_run_result *result, struct tbp_error *err) {
    struct tbp_collect_result got;
    int status = tbp_collect_write(c, sink, &got, err);
    result->n_records = got.n_records;
    result->n_events = got.n_events;
    result->n_defects = got.n_defects;
    result->size_bytes = got.size_bytes;
    return status;
}

int tbp_run_write_bytes(const struct tbp_run_request *request, struct tbp_sink *sink,
                        struct tbp_run_result *result, struct tbp_error *err) {
    struct tbp_collect *c;
    *result = (struct tbp_run_result){0};
    int status = open_collect(&c, request, err);
    if (status)
        return status;
    status = write_collected(c, sink, result, err);
    if (!status)
        status = tbp_sink_finish(sink, err);
    if (!status)
        tbp_collect_commit(c);
    tbp_collect_free(c);
    return status;
}

/* ---- a run folder ---- */

static int write_file(struct tbp_collect *c, const char *path, struct tbp_run_result *result,
                      struct tbp_error *err) {
    struct tbp_sink_file *f;
    int status = tbp_sink_file_new(&f, path, err);
    if (status)
        return status;
    tbp_sink_file_make_durable(f);
    status = write_collected(c, tbp_sink_file_base(f), result, err);
    if (!status)
        status = tbp_sink_finish(tbp_sink_file_base(f), err);
    tbp_sink_file_free(f);
    return status;
}

enum { UTF8_BYTES = 4 };

static struct tbp_str host_of(struct tbp_arena *arena, const struct tbp_run_request *request,
                              const struct tbp_spool_header *h) {
    char suffix[64] = "";
    if (request->host_suffix && *request->host_suffix)
        snprintf(suffix, sizeof suffix, "%s", request->host_suffix);
    else
        tbp_run_option(h->options, "host_suffix", suffix, sizeof suffix);
    struct tbp_str host = tbp_str_c(*h->hostname ? h->hostname : "localhost");
    if (host.n > TBP_RUNDIR_HOST_BYTES) { /* not within a character */
        host.n = TBP_RUNDIR_HOST_BYTES;
        size_t whole = tbp_utf8_valid_prefix(host);
        host.n -= host.n - whole < UTF8_BYTES ? host.n - whole : 0;
    }
    /* Files of that name are of all hosts together, and go when a host joins. */
    bool is_taken =
        tbp_str_is(host, TBP_RUNDIR_ALL_HOSTS) || tbp_str_starts(host, TBP_RUNDIR_ALL_HOSTS ".");
    return tbp_str_c(
        tbp_arena_printf(arena, "%s%.*s%s", is_taken ? "_" : "", (int)host.n, host.p, suffix));
}

/* What was asked for if it can be a name, else the time. */
static const char *run_of(struct tbp_arena *arena, const struct tbp_run_request *request,
                          const struct tbp_collect *c) {
    const char *run = request->run ? request->run : tbp_collect_header(c)->run;
    if (tbp_rundir_is_run_name(tbp_str_c(run)))
        return run;
    char *name = TBP_NEW_N(arena, char, TBP_RUNDIR_TIME_NAME);
    tbp_local_time_name(name, (time_t)(tbp_collect_start_ns(c) / 1000000000));
    return name;
}

static bool has_option(const struct tbp_spool_header *h, const char *key) {
    char value[8];
    return tbp_run_option(h->options, key, value, sizeof value) && strcmp(value, "1") == 0;
}

static bool identify(const char *path, struct tbp_spool_file_id *id) {
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    *id = (struct tbp_spool_file_id){st.st_dev, st.st_ino, (uint64_t)st.st_size, st.st_mtim.tv_sec,
                                     st.st_mtim.tv_nsec};
    return true;
}

static bool is_file(const char *path, const struct tbp_spool_file_id *wanted) {
    struct tbp_spool_file_id id;
    return path && identify(path, &id) && !memcmp(&id, wanted, sizeof id);
}

/* <middle>/<run>/<host>.xplane.pb: nothing else was ever written, whatever a header says. */
static bool is_name_of_profile(const char *below) {
    static const char middle[] = TBP_RUNDIR_MIDDLE "/";
    size_t n = sizeof middle - 1;
    const char *slash = strncmp(below, middle, n) == 0 ? strchr(below + n, '/') : NULL;
    return slash &&
           tbp_rundir_is_run_name((struct tbp_str){below + n, (size_t)(slash - below) - n}) &&
           !strchr(slash + 1, '/') && tbp_str_ends(tbp_str_c(slash), "." TBP_RUNDIR_XPLANE);
}

/* What was made of this spool before. A header may be anybody's, and another run may have got the
 * name since: it must be that very file. Who was killed before the name was noted has noted the
 * file. NULL: none. */
static const char *older_of(struct tbp_run_folder *folder, const struct tbp_spool_header *h) {
    size_t n = h ? strnlen(h->written_as, sizeof h->written_as) : 0;
    if (n > 0 && n < sizeof h->written_as && is_name_of_profile(h->written_as)) {
        const char *path = tbp_arena_printf(folder->arena, "%s/%s", folder->logdir, h->written_as);
        if (is_file(path, &h->written_id))
            return path;
    }
    if (!h || !h->staged_id.inode)
        return NULL;
    const char *path = tbp_run_folder_find(folder, h->staged_id.inode);
    return is_file(path, &h->staged_id) ? path : NULL;
}

static void note_name(struct tbp_spool_header *h, const struct tbp_run_folder *folder,
                      const char *file) {
    const char *below = file + strlen(folder->logdir);
    while (*below == '/')
        below++;
    snprintf(h->written_as, sizeof h->written_as, "%s", below);
    if (!identify(file, &h->written_id))
        h->written_as[0] = 0;
}

/* What is about to get a name, after the name of what it is to replace: who was killed before that
 * was noted knows it by the file that was about to get a name then. */
static void note_staged(struct tbp_spool_header *h, const struct tbp_run_folder *folder,
                        const char *older) {
    if (older)
        note_name(h, folder, older);
    if (!identify(folder->file, &h->staged_id))
        h->staged_id.inode = 0;
}

static void note_written(const struct tbp_run_request *request,
                         const struct tbp_run_folder *folder) {
    if (!request->header)
        return;
    note_name(request->header, folder, folder->file);
    if (request->is_over)
        __atomic_store_n(&request->header->state, TBP_SPOOL_WRITTEN, __ATOMIC_RELEASE);
}

/* A kill may come at any moment: what is visible must be noted at once, or it comes again. */
static int publish(struct tbp_run_folder *folder, const struct tbp_run_request *request,
                   struct tbp_collect *c, struct tbp_error *err) {
    const char *older = older_of(folder, request->header);
    int status = TBP_OK;
    if (request->header)
        note_staged(request->header, folder, older);
    if (!older || !tbp_run_folder_replace(folder, older))
        status = tbp_run_folder_publish(folder, run_of(folder->arena, request, c),
                                        has_option(tbp_collect_header(c), "run_shared"), err);
    if (status)
        return status;
    note_written(request, folder);
    tbp_collect_commit(c);
    tbp_run_folder_settle(folder);
    return TBP_OK;
}

static int write_run(struct tbp_collect *c, const struct tbp_run_request *request,
                     struct tbp_arena *arena, struct tbp_run_result *result,
                     struct tbp_error *err) {
    const struct tbp_spool_header *h = tbp_collect_header(c);
    const char *logdir = request->logdir ? request->logdir : h->logdir;
    struct tbp_run_folder folder;
    if (has_option(h, "autostart") && tbp_collect_is_empty(c))
        return TBP_OK; /* a program among others that has nothing to say, a shell perhaps */
    if (!*logdir)
        return tbp_fail(err, TBP_E_USAGE, "no log directory to write to");
    int status = tbp_run_folder_begin(&folder, arena, logdir, host_of(arena, request, h), err);
    if (status)
        return status;
    status = write_file(c, folder.file, result, err);
    if (!status)
        status = tbp_marker_write(logdir, h->hostname, tbp_collect_start_ns(c) / 1000000000, err);
    if (!status)
        status = publish(&folder, request, c, err);
    if (status) {
        tbp_run_folder_discard(&folder);
        return status;
    }
    snprintf(result->path, sizeof result->path, "%s", folder.run);
    return TBP_OK;
}

static void convert(const struct tbp_spool_header *h, const char *run_folder) {
    struct tbp_error err = {0};
    char text[512];
    if (!*run_folder || !has_option(h, "convert"))
        return;
    if (tbp_run_convert(run_folder, &err) != TBP_OK)
        tbp_log(TBP_LOG_WARNING, "the profile is written, its pages are not: %s",
                tbp_error_text(&err, text, sizeof text));
}

/* Files over the limit of the process (RLIMIT_FSIZE) shall be failed writes, not its end: the
 * signal of this thread is held back, and taken if it came. */
static void hold_size_signal(sigset_t *before) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &one, before);
}

static void release_size_signal(const sigset_t *before) {
    static const struct timespec at_once = {0, 0};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    if (!sigismember(before, SIGXFSZ))
        while (sigtimedwait(&one, NULL, &at_once) > 0)
            continue;
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

int tbp_run_write(const struct tbp_run_request *request, struct tbp_run_result *result,
                  struct tbp_error *err) {
    struct tbp_collect *c;
    struct tbp_arena arena;
    *result = (struct tbp_run_result){0};
    int status = open_collect(&c, request, err);
    if (status)
        return status;
    sigset_t before;
    tbp_arena_init(&arena);
    hold_size_signal(&before);
    status = write_run(c, request, &arena, result, err);
    release_size_signal(&before);
    if (!status) {
        if (*result->path)
            tbp_run_report_written(result->path);
        convert(tbp_collect_header(c), result->path);
    }
    tbp_arena_release(&arena);
    tbp_collect_free(c);
    return status;
}
