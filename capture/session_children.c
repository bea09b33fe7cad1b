/* SPDX-License-Identifier: Apache-2.0
 *
 * See session_children.h. Who makes a run of a spool holds its second lock (capture/spool_file.h):
 * the first process passes by a spool that somebody else is at, and a child waits for it.
 */
#include "capture/session_children.h"

#include "base/log.h"
#include "capture/run_out.h"
#include "capture/spool_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A parent that takes longer does not get on; a part that is in the run twice is better then than
 * a child that hangs. */
enum { PARENT_WAIT_MS = 30000 };

void tbp_session_claim(const struct tbp_session *s, char *older, size_t size) {
    *older = 0;
    if (!s->is_child)
        return;
    tbp_spool_file_begin_writing(s->spool->fd, PARENT_WAIT_MS);
    const char *name = s->spool->header->written_as;
    if (*name)
        snprintf(older, size, "%s/%s", s->logdir, name);
}

/* The run that was made: a child that lives on leaves nothing to recover. */
static void note_written(struct tbp_spool_header *h, const char *file) {
    size_t n = strlen(h->logdir);
    if (!strncmp(file, h->logdir, n) && file[n] == '/')
        snprintf(h->written_as, sizeof h->written_as, "%s", file + n + 1);
    __atomic_store_n(&h->state, TBP_SPOOL_WRITTEN, __ATOMIC_RELEASE);
}

static void write_child(struct tbp_spool_view spool, const char *path, const char *run) {
    struct tbp_error err = {0};
    struct tbp_run_result result;
    struct tbp_run_request request = {.spool = spool, .run = run, .until_realtime_ns = INT64_MAX};
    struct tbp_spool_header *h = (struct tbp_spool_header *)(uintptr_t)spool.data;
    uint32_t state = __atomic_load_n(&h->state, __ATOMIC_ACQUIRE);
    if (state == TBP_SPOOL_WRITTEN || state == TBP_SPOOL_EMPTY) /* EMPTY: it is still being made */
        return;
    if (tbp_run_write(&request, &result, &err) == TBP_OK)
        note_written(h, result.file);
    else
        tbp_log(TBP_LOG_WARNING, "the spool '%s' of a child could not be written: %s", path,
                err.message);
}

/* The spool of one child; it goes if it is written and the child is gone. */
static void harvest_one(const char *path, const char *run) {
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (!tbp_spool_file_begin_writing(fd, 0) || fstat(fd, &st) != 0 || st.st_nlink == 0 ||
        st.st_size < TBP_SPOOL_HEADER_BYTES) {
        close(fd);
        return;
    }
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data != MAP_FAILED) {
        struct tbp_spool_header *h = data;
        write_child((struct tbp_spool_view){data, (uint64_t)st.st_size}, path, run);
        if (h->state == TBP_SPOOL_WRITTEN && !tbp_spool_file_is_held(fd))
            unlink(path);
        munmap(data, (size_t)st.st_size);
    }
    close(fd);
}

void tbp_session_harvest(const struct tbp_session *s, const char *run_path) {
    const char *slash = strrchr(run_path, '/'), *own = strrchr(s->spool->path, '/');
    bool has_children = s->options.follow_fork && !s->is_child;
    DIR *folder = has_children && slash && own ? opendir(s->spool->folder) : NULL;
    struct dirent *entry;
    char path[sizeof s->spool->path];
    while (folder && (entry = readdir(folder))) {
        if (!tbp_str_ends(tbp_str_c(entry->d_name), ".tbs") || !strcmp(entry->d_name, own + 1))
            continue;
        if (snprintf(path, sizeof path, "%s/%s", s->spool->folder, entry->d_name) <
            (int)sizeof path)
            harvest_one(path, slash + 1);
    }
    if (folder)
        closedir(folder);
}
