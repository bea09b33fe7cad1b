/* SPDX-License-Identifier: Apache-2.0
 *
 * Preparing a session. What can be found wrong is found here, before anything is recorded: options
 * out of range, a log directory that cannot be written.
 */
#include "capture/session_setup.h"

#include "capture/capture_options.h"
#include "capture/clock.h"
#include "capture/local_time.h"
#include "capture/state.h"
#include "capture/thread.h"
#include "plugin_data/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool copy_text(char *to, size_t size, const char *from) {
    size_t n = from ? strlen(from) : 0;
    if (n >= size)
        return false;
    memcpy(to, from ? from : "", n + 1);
    return true;
}

/* Absolute, since the process may change its folder before it stops. */
static int set_logdir(struct tbp_session *s, const char *logdir, struct tbp_error *err) {
    char here[sizeof s->logdir] = "";
    int rc = tbp_rundir_local(&logdir, err);
    if (rc != TBP_OK)
        return rc;
    bool is_relative = *logdir && *logdir != '/';
    if (is_relative && !getcwd(here, sizeof here))
        return tbp_fail_errno(err, TBP_E_IO, "finding the current folder");
    int n = snprintf(s->logdir, sizeof s->logdir, "%s%s%s", here, is_relative ? "/" : "", logdir);
    if (n >= (int)sizeof s->logdir)
        return tbp_fail(err, TBP_E_USAGE, "log directory '%.100s…' has too long a name", logdir);
    s->is_saved = *logdir != 0;
    return TBP_OK;
}

/* The nearest folder that exists on the way to the log directory must be writable. */
static int check_logdir(const struct tbp_session *s, struct tbp_error *err) {
    char path[sizeof s->logdir];
    struct stat st;
    memcpy(path, s->logdir, sizeof path);
    while (*path && stat(path, &st) != 0) {
        if (errno != ENOENT)
            return tbp_fail_errno(err, TBP_E_IO, "log directory '%s'", s->logdir);
        char *slash = strrchr(path, '/');
        *(slash && slash != path ? slash : path + (slash == path)) = 0;
    }
    if (*path && !S_ISDIR(st.st_mode))
        return tbp_fail(err, TBP_E_IO, "log directory '%s': '%s' is no folder", s->logdir, path);
    if (*path && access(path, W_OK | X_OK) != 0)
        return tbp_fail_errno(err, TBP_E_IO, "log directory '%s': writing in '%s'", s->logdir,
                              path);
    return TBP_OK;
}

static int set_options(struct tbp_session *s, const tbprof_options *given, struct tbp_error *err) {
    tbprof_options_init(&s->options);
    if (given) {
        size_t size = given->struct_size;
        if (size < sizeof(size_t) || size > 4096)
            return tbp_fail(err, TBP_E_OPTION, "options were not made by tbprof_options_init");
        memcpy(&s->options, given, size < sizeof s->options ? size : sizeof s->options);
    }
    int rc = tbp_capture_options_check(&s->options, err);
    if (rc != TBP_OK)
        return rc;
    tbprof_options *o = &s->options;
    if (!copy_text(s->session_id, sizeof s->session_id, o->session_id) ||
        !copy_text(s->host, sizeof s->host, o->override_hostname) ||
        !copy_text(s->spool_dir, sizeof s->spool_dir, o->spool_dir) ||
        !copy_text(s->gpu_kinds, sizeof s->gpu_kinds, o->gpu_kinds))
        return tbp_fail(err, TBP_E_OPTION,
                        "session_id, override_hostname, spool_dir or gpu_kinds is too long");
    if (!*s->host && gethostname(s->host, sizeof s->host - 1) != 0)
        copy_text(s->host, sizeof s->host, "localhost");
    o->session_id = *s->session_id ? s->session_id : NULL;
    o->override_hostname = s->host;
    o->spool_dir = *s->spool_dir ? s->spool_dir : NULL;
    o->gpu_kinds = *s->gpu_kinds ? s->gpu_kinds : NULL;
    static const uint32_t memory_flags[] = {
        0, TBP_STATE_MEMORY, TBP_STATE_MEMORY | TBP_STATE_MALLOC,
        TBP_STATE_MEMORY | TBP_STATE_MALLOC | TBP_STATE_MALLOC_ALL};
    s->flags = TBP_STATE_OPEN | memory_flags[o->memory_mode] |
               (o->python_tracer_level ? TBP_STATE_PYTHON : 0);
    return TBP_OK;
}

static void set_holder(struct tbp_session *s) {
    char name[16] = "", when[32];
    struct tm local = tbp_local_time(time(NULL));
    prctl(PR_GET_NAME, name);
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
    int n =
        snprintf(s->holder, sizeof s->holder, "started by thread %ld ('%.15s') for '%.90s' at %s",
                 syscall(SYS_gettid), name, s->is_saved ? s->logdir : "warm-up", when);
    (void)n; /* cut texts are fine */
}

static uint64_t max_bytes(const tbprof_options *o) {
    return o->full_policy == TBPROF_FULL_GROW ? UINT64_MAX : o->max_host_bytes;
}

/* <host>_<pid>.tbs */
static void spool_name(const struct tbp_session *s, char *to, size_t size) {
    char host[sizeof s->host];
    memcpy(host, s->host, sizeof host);
    for (char *p = host; *p; p++)
        *p = *p == '/' || *p == ':' ? '_' : *p;
    snprintf(to, size, "%.*s_%d.tbs", TBP_RUNDIR_HOST_BYTES, host, (int)getpid());
}

/* In a folder of the session's own. */
static int open_spool(struct tbp_session *s, char *warning, size_t warning_size,
                      struct tbp_error *err) {
    char time_name[TBP_RUNDIR_TIME_NAME], session[64], file[320];
    tbp_local_time_name(time_name, time(NULL));
    snprintf(session, sizeof session, "%s-%d-%u", time_name, (int)getpid(), s->generation);
    spool_name(s, file, sizeof file);
    struct tbp_spool_request request = {
        .folder = s->options.spool_dir,
        .session = session,
        .file = file,
        .max_bytes = max_bytes(&s->options),
        .n_writers = tbp_threads_known(),
        .generation = s->generation,
        .is_ring = s->options.full_policy == TBPROF_FULL_RING,
        .warning = warning,
        .warning_size = warning_size,
    };
    return tbp_spool_open(&s->spool, &request, err);
}

/* Arguments of the process, blanks between. */
static void read_command(char *to, size_t size) {
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, to, size - 1);
    if (fd >= 0)
        close(fd);
    n = n > 0 ? n : 0;
    for (ssize_t i = 0; i + 1 < n; i++)
        if (!to[i])
            to[i] = ' ';
    to[n] = 0;
}

static void fill_header(struct tbp_session *s) {
    struct tbp_spool_header *h = s->spool->header;
    h->clock_is_tsc = s->is_tsc;
    h->full_policy = (uint32_t)s->options.full_policy;
    copy_text(h->hostname, sizeof h->hostname, s->host);
    copy_text(h->logdir, sizeof h->logdir, s->logdir);
    copy_text(h->run, sizeof h->run, s->session_id);
    tbp_run_job_print(&s->job, h->options, sizeof h->options);
    size_t n = strlen(h->options);
    tbp_capture_options_print(&s->options, h->options + n, sizeof h->options - n);
    read_command(h->command, sizeof h->command);
}

/* Several processes, ranks of a job or children of this one, put their files into one run, whose
 * name must be known from the start. */
static void join_job(struct tbp_session *s) {
    tbp_run_job_find(&s->job, s->logdir, s->session_id);
    s->job.is_shared |= s->options.follow_fork != 0;
    if (s->job.is_shared && !*s->job.run) { /* no other program's, nor an earlier session's */
        tbp_local_time_name(s->job.run, time(NULL));
        size_t n = strlen(s->job.run);
        snprintf(s->job.run + n, sizeof s->job.run - n, "_%d_%u", (int)getpid(), s->generation);
    }
    if (*s->job.run)
        copy_text(s->session_id, sizeof s->session_id, s->job.run);
}

int tbp_session_set_up(struct tbp_session *s, const char *logdir, const tbprof_options *options,
                       char *warning, size_t warning_size, struct tbp_error *err) {
    int rc = set_options(s, options, err);
    if (rc == TBP_OK)
        rc = set_logdir(s, logdir, err);
    if (rc == TBP_OK && s->is_saved)
        rc = check_logdir(s, err);
    if (rc == TBP_OK && *s->session_id && !tbp_rundir_is_run_name(tbp_str_c(s->session_id)))
        rc = tbp_fail(err, TBP_E_OPTION,
                      "session_id '%s' is no name of a run: names have " TBP_RUNDIR_NAME_RULE,
                      s->session_id);
    if (rc != TBP_OK)
        return rc;
    set_holder(s);
    if (s->is_saved)
        join_job(s);
    rc = open_spool(s, warning, warning_size, err);
    if (rc != TBP_OK)
        return rc;
    size_t n = strlen(warning);
    if (s->options.follow_fork && s->spool->fd < 0)
        snprintf(warning + n, warning_size - n,
                 "%schildren are not recorded: the spool lies in memory", n ? "; " : "");
    fill_header(s);
    return TBP_OK;
}

/* ---- children ---- */

int tbp_session_set_up_child(struct tbp_session *s, struct tbp_error *err) {
    char file[320], parent[sizeof s->spool->folder];
    spool_name(s, file, sizeof file);
    copy_text(parent, sizeof parent, s->spool->folder);
    struct tbp_spool_request request = {
        .session_folder = parent,
        .file = file,
        .max_bytes = max_bytes(&s->options),
        .n_writers = tbp_threads_known(),
        .generation = s->generation,
        .is_ring = s->options.full_policy == TBPROF_FULL_RING,
    };
    s->is_child = true;
    size_t n = strlen(s->job.host_suffix);
    snprintf(s->job.host_suffix + n, sizeof s->job.host_suffix - n, "_%d", (int)getpid());
    tbp_spool_forget(s->spool);
    s->spool = NULL;
    int rc = tbp_spool_open(&s->spool, &request, err);
    if (rc == TBP_OK)
        fill_header(s);
    return rc;
}

int64_t tbp_session_wait_ns(const struct tbp_session *s) {
    int64_t wait_ns = (int64_t)s->options.delay_ms * 1000000;
    if (s->options.start_timestamp_ns)
        wait_ns += (int64_t)s->options.start_timestamp_ns - tbp_clock_ns(CLOCK_REALTIME);
    return wait_ns > 0 ? wait_ns : 0;
}

void tbp_session_counts(const struct tbp_session *s, const struct tbp_thread_sums *sums,
                        tbprof_counts *c) {
    uint64_t dropped[TBP_DROP_KINDS];
    for (int i = 0; i < TBP_DROP_KINDS; i++)
        dropped[i] = __atomic_load_n(&s->spool->header->n_dropped[i], __ATOMIC_RELAXED);
    *c = (tbprof_counts){
        .struct_size = sizeof *c,
        .records = sums->n_records,
        .bytes = tbp_spool_used_bytes(s->spool),
        .threads = sums->n_threads,
        .snapshots = s->n_snapshots,
        .dropped_cap = dropped[TBP_DROP_CAP],
        .dropped_ring = dropped[TBP_DROP_RING],
        .dropped_no_chunk = dropped[TBP_DROP_NO_CHUNK],
        .dropped_too_long = dropped[TBP_DROP_TOO_LONG],
        .dropped_reentrant = dropped[TBP_DROP_REENTRANT],
        .dropped_depth = dropped[TBP_DROP_DEPTH],
        .dropped_threads = dropped[TBP_DROP_THREADS],
        .cut_by_stop = dropped[TBP_DROP_CUT_BY_STOP],
        .names_cut = dropped[TBP_DROP_NAME_CUT],
        .saved = s->n_saved,
    };
}
