/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_job.h. The file of an agreement appears with its content (a link to a finished file), is
 * never changed and never taken away while it is young: no process can see half a name, or another
 * one than its peers. An old one is passed over: the next number is tried.
 */
#include "capture/run_job.h"

#include "base/arena.h"
#include "capture/local_time.h"
#include "plugin_data/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { JOIN_S = 60, MAX_FILES = 10000 };

static const char *env(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static const char *first_env(const char *const *names) {
    for (; *names; names++)
        if (env(*names))
            return env(*names);
    return NULL;
}

static long number_env(const char *const *names, long otherwise) {
    const char *value = first_env(names);
    return value ? strtol(value, NULL, 10) : otherwise;
}

/* What all processes of the job know and no other job does; NULL: no job. */
static const char *job_key(struct tbp_arena *arena) {
    static const char *const sizes[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "SLURM_NTASKS", NULL};
    if (number_env(sizes, 1) < 2)
        return NULL;
    if (env("TORCHELASTIC_RUN_ID") && strcmp(env("TORCHELASTIC_RUN_ID"), "none") != 0)
        return tbp_arena_printf(arena, "elastic-%s-%s", env("TORCHELASTIC_RUN_ID"),
                                env("TORCHELASTIC_RESTART_COUNT") ?: "0");
    if (env("SLURM_JOB_ID"))
        return tbp_arena_printf(arena, "slurm-%s-%s", env("SLURM_JOB_ID"),
                                env("SLURM_STEP_ID") ?: "0");
    static const char *const mpi[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID",
                                      NULL};
    if (first_env(mpi))
        return tbp_arena_printf(arena, "mpi-%s", first_env(mpi));
    if (env("MASTER_ADDR") && env("MASTER_PORT"))
        return tbp_arena_printf(arena, "master-%s-%s", env("MASTER_ADDR"), env("MASTER_PORT"));
    return NULL;
}

static void set_suffix(struct tbp_run_job *job) {
    static const char *const ranks[] = {"RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "PMI_RANK", "SLURM_PROCID",         NULL};
    static const char *const locals[] = {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                                         "MPI_LOCALNRANKS", NULL};
    long rank = number_env(ranks, -1);
    if (rank >= 0 && number_env(locals, 2) > 1)
        snprintf(job->host_suffix, sizeof job->host_suffix, "_%ld", rank);
}

/* ---- the agreement ---- */

enum reading { ABSENT, OLD, YOUNG };

static enum reading read_name(const char *path, char *to, size_t size) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? ABSENT : OLD;
    ssize_t n = read(fd, to, size - 1);
    bool is_young = fstat(fd, &st) == 0 && time(NULL) - st.st_mtime <= JOIN_S;
    close(fd);
    to[n > 0 ? n : 0] = '\0';
    bool is_name = n > 0 && tbp_rundir_is_run_name(tbp_str_c(to));
    return is_young && is_name ? YOUNG : OLD;
}

/* Puts the name there if nobody has; false: errno says why. */
static bool propose(struct tbp_arena *arena, const char *path, const char *name) {
    const char *draft = tbp_arena_printf(arena, "%s.%ld", path, (long)getpid());
    unlink(draft); /* of a dead process, or a link of who may write here, too */
    int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool is_written = write(fd, name, strlen(name)) == (ssize_t)strlen(name);
    is_written &= close(fd) == 0;
    bool is_there = is_written && link(draft, path) == 0;
    int code = errno;
    unlink(draft);
    errno = code;
    return is_there;
}

/* Name of the n-th capture of the job. */
static void agree(struct tbp_run_job *job, struct tbp_arena *arena, const char *folder,
                  const char *key, unsigned n) {
    char mine[TBP_RUNDIR_TIME_NAME];
    tbp_local_time_name(mine, time(NULL));
    for (int tries = 0, i = 0; tries < MAX_FILES; tries++) {
        const char *path = tbp_arena_printf(arena, "%s/job-%s-%u.%d", folder,
                                            tbp_rundir_clean_host(arena, tbp_str_c(key)), n, i);
        enum reading found = read_name(path, job->run, sizeof job->run);
        if (found == YOUNG)
            return;
        job->run[0] = '\0';
        if (found == OLD)
            i++; /* of another job with the same key */
        else if (!propose(arena, path, mine) && errno != EEXIST)
            return; /* no place for it: each for itself */
    }
}

void tbp_run_job_find(struct tbp_run_job *job, const char *logdir, const char *run) {
    static atomic_uint n_captures;
    struct tbp_arena arena;
    *job = (struct tbp_run_job){0};
    tbp_arena_init(&arena);
    const char *key = job_key(&arena);
    bool is_given = run && *run;
    job->is_shared = key != NULL || env("TBPROF_RUN_SHARED");
    if (key)
        set_suffix(job);
    if (is_given)
        snprintf(job->run, sizeof job->run, "%s", run);
    else if (key && *logdir) {
        const char *folder = tbp_arena_printf(&arena, "%s/.tbprof", logdir);
        if (tbp_rundir_make(folder, NULL) == TBP_OK)
            agree(job, &arena, folder, key, atomic_fetch_add(&n_captures, 1));
    }
    tbp_arena_release(&arena);
}

void tbp_run_job_print(const struct tbp_run_job *job, char *to, size_t size) {
    *to = '\0';
    const char *autostart = env("TBPROF_AUTOSTART");
    snprintf(to, size, "%s%s%s%s%s", job->is_shared ? "run_shared=1\n" : "",
             *job->host_suffix ? "host_suffix=" : "", job->host_suffix,
             *job->host_suffix ? "\n" : "",
             autostart && strcmp(autostart, "0") != 0 ? "autostart=1\n" : "");
}

bool tbp_run_option(const char *options, const char *key, char *to, size_t size) {
    size_t n = strlen(key);
    for (const char *line = options; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) != 0 || line[n] != '=')
            continue;
        size_t length = strcspn(line + n + 1, "\n");
        if (length >= size)
            return false;
        memcpy(to, line + n + 1, length);
        to[length] = '\0';
        return true;
    }
    return false;
}
