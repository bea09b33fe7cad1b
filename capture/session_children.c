/* SPDX-License-Identifier: Apache-2.0
 *
 * See session_children.h. Who makes a run of a spool holds its second lock (capture/spool_file.h):
 * the first process passes by a spool that somebody else is at, and a child waits for it.
 */
#include "capture/session_children.h"

#include "base/guard.h"
#include "base/log.h"
#include "capture/run_out.h"
#include "capture/spool_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A parent that takes longer does not get on; a part that is in the run twice is better then than
 * a child that hangs. */
enum { PARENT_WAIT_MS = 30000 };

void tbp_session_claim(const struct tbp_session *s) {
    if (s->is_child)
        tbp_spool_file_begin_writing(s->spool->fd, PARENT_WAIT_MS);
}

struct child {
    const char *path;
    struct tbp_run_request request;
    struct tbp_run_result result;
};

static int write_guarded(void *context, struct tbp_error *err) {
    struct child *c = context;
    return tbp_run_write(&c->request, &c->result, err);
}

/* A child that is still there may go on: its spool stays what it is, and says what there is of it
 * already. run NULL: nothing of it is wanted. */
static void write_child(struct child *c) {
    struct tbp_error err = {0};
    struct tbp_spool_header *h = c->request.header;
    uint32_t state = __atomic_load_n(&h->state, __ATOMIC_ACQUIRE);
    if (state == TBP_SPOOL_WRITTEN || state == TBP_SPOOL_EMPTY) /* EMPTY: it is still being made */
        return;
    if (c->request.run && tbp_guard_run(write_guarded, c, &err) != TBP_OK) {
        tbp_log(TBP_LOG_WARNING,
                "what a child recorded is not in the run: %s; run `tbprof recover %s` when it has "
                "ended",
                err.message, c->path);
        return;
    }
    if (c->request.is_over || !c->request.run)
        __atomic_store_n(&h->state, TBP_SPOOL_WRITTEN, __ATOMIC_RELEASE);
}

/* The spool of one child; it goes if it is written and the child is gone. */
static void harvest_open(int fd, const char *path, const char *run) {
    struct stat st;
    if (!tbp_spool_file_begin_writing(fd, 0) || fstat(fd, &st) != 0 || st.st_nlink == 0 ||
        st.st_size < TBP_SPOOL_HEADER_BYTES)
        return;
    bool is_alive = tbp_spool_file_is_held(fd);
    void *data = tbp_spool_file_map(fd, (uint64_t)st.st_size);
    if (!data) {
        tbp_log(TBP_LOG_WARNING, "no memory to read what a child recorded: run `tbprof recover %s`",
                path);
        return;
    }
    struct child c = {.path = path,
                      .request = {.spool = {data, (uint64_t)st.st_size},
                                  .run = run,
                                  .header = data,
                                  .is_over = !is_alive,
                                  .until_realtime_ns = INT64_MAX}};
    write_child(&c);
    if (c.request.header->state == TBP_SPOOL_WRITTEN && !is_alive)
        unlink(path);
    munmap(data, (size_t)st.st_size);
}

static void say_unread(const char *path) {
    tbp_log(
        TBP_LOG_WARNING,
        "what children recorded is not in the run: '%s' cannot be read: %s; run `tbprof recover "
        "%s` when they have ended",
        path, strerror(errno), path);
}

static void harvest_one(const char *path, const char *run) {
    int fd = tbp_spool_file_open(path);
    if (fd < 0) {
        if (errno != ENOENT) /* a child that has written its run removes it */
            say_unread(path);
        return;
    }
    harvest_open(fd, path, run);
    tbp_spool_file_close(fd);
}

void tbp_session_harvest(const struct tbp_session *s, const char *run_path) {
    const char *run = run_path ? strrchr(run_path, '/') : NULL;
    const char *own = strrchr(s->spool->path, '/');
    bool has_children = s->options.follow_fork && !s->is_child && (!run_path || run);
    DIR *folder = has_children && own ? opendir(s->spool->folder) : NULL;
    struct dirent *entry;
    char path[sizeof s->spool->path];
    if (has_children && own && !folder)
        say_unread(s->spool->folder);
    while (folder && (entry = readdir(folder))) {
        if (!tbp_str_ends(tbp_str_c(entry->d_name), ".tbs") || !strcmp(entry->d_name, own + 1))
            continue;
        if (snprintf(path, sizeof path, "%s/%s", s->spool->folder, entry->d_name) <
            (int)sizeof path)
            harvest_one(path, run ? run + 1 : NULL);
    }
    if (folder)
        closedir(folder);
}
