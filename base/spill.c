/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes in memory, and in a file beyond a bound; see spill.h.
 */
#include "base/spill.h"

#include "base/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

void tbp_spill_init(struct tbp_spill *s, const char *path) {
    *s = (struct tbp_spill){.path = path, .fd = -1};
}

/* A file without a name in the folder; -1 if there cannot be one. */
static int open_in(const char *folder) {
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    char path[4096]; /* a file system that has none without a name */
    if (snprintf(path, sizeof path, "%s/tbprof-XXXXXX", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static int fail_file(const struct tbp_spill *s, struct tbp_error *err) {
    return tbp_fail_errno(err, TBP_E_IO,
                          "cannot hold the bytes of '%s' in a file in '%s' (%llu MB so far; TMPDIR "
                          "names another folder, a plain file needs none)",
                          s->path, s->folder, (unsigned long long)(tbp_spill_size(s) / 1000000));
}

static int open_file(struct tbp_spill *s, struct tbp_error *err) {
    const char *chosen = getenv("TMPDIR");
    const char *folders[] = {"/var/tmp", "/tmp"};
    size_t n = sizeof folders / sizeof *folders;
    if (chosen && chosen[0]) {
        folders[0] = chosen;
        n = 1;
    }
    for (size_t i = 0; i < n && s->fd < 0; i++) {
        s->folder = folders[i];
        s->fd = open_in(s->folder);
    }
    return s->fd < 0 ? fail_file(s, err) : TBP_OK;
}

/* Moves what is held into the file. */
static int write_held(struct tbp_spill *s, struct tbp_error *err) {
    for (size_t done = 0; done < s->n;) {
        ssize_t k = write(s->fd, s->data + done, s->n - done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return fail_file(s, err);
        done += (size_t)k;
    }
    s->written_bytes += s->n;
    s->n = 0;
    return TBP_OK;
}

static int grow(struct tbp_spill *s, size_t cap, struct tbp_error *err) {
    uint8_t *data = realloc(s->data, cap);
    if (!data)
        return tbp_fail(err, TBP_E_MEMORY, "no memory for the bytes of '%s' (%llu so far)", s->path,
                        (unsigned long long)tbp_spill_size(s));
    s->data = data;
    s->cap = cap;
    return TBP_OK;
}

int tbp_spill_room(struct tbp_spill *s, uint8_t **at, size_t *room, struct tbp_error *err) {
    int status = TBP_OK;
    if (s->n + PIECE_BYTES > TBP_SPILL_MOST_HELD_BYTES && s->fd < 0)
        status = open_file(s, err);
    if (!status && s->fd >= 0 && s->n)
        status = write_held(s, err);
    if (!status && s->fd >= 0 && s->cap > 2 * (size_t)PIECE_BYTES)
        status = grow(s, PIECE_BYTES, err); /* shrinks: the rest goes through a window */
    if (!status && s->cap - s->n < PIECE_BYTES) {
        size_t cap = s->cap + s->cap / 2 + PIECE_BYTES;
        status = grow(s, cap < TBP_SPILL_MOST_HELD_BYTES ? cap : TBP_SPILL_MOST_HELD_BYTES, err);
    }
    if (status)
        return status;
    *at = s->data + s->n;
    *room = s->cap - s->n;
    return TBP_OK;
}

int tbp_spill_put(struct tbp_spill *s, const void *bytes, size_t n, struct tbp_error *err) {
    const uint8_t *from = bytes;
    while (n > 0) {
        uint8_t *at;
        size_t room;
        int status = tbp_spill_room(s, &at, &room, err);
        if (status)
            return status;
        room = n < room ? n : room;
        memcpy(at, from, room);
        s->n += room;
        from += room;
        n -= room;
    }
    return TBP_OK;
}

static int map_file(struct tbp_spill *s, struct tbp_input *in, struct tbp_error *err) {
    int status = write_held(s, err);
    if (status)
        return status;
    size_t size = (size_t)s->written_bytes;
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, s->fd, 0);
    if (data == MAP_FAILED)
        return tbp_fail_errno(err, TBP_E_MEMORY, "no addresses for the %zu bytes of '%s'", size,
                              s->path);
    madvise(data, size, MADV_SEQUENTIAL);
    tbp_mapped_add(data, size, s->path);
    *in = (struct tbp_input){.data = data, .size = size, .mapped = true};
    return TBP_OK;
}

int tbp_spill_finish(struct tbp_spill *s, struct tbp_input *in, struct tbp_error *err) {
    int status = TBP_OK;
    if (s->fd >= 0) {
        status = map_file(s, in, err);
    } else {
        *in = (struct tbp_input){.data = s->data, .size = s->n};
        s->data = NULL;
    }
    tbp_spill_release(s);
    return status;
}

void tbp_spill_release(struct tbp_spill *s) {
    free(s->data);
    if (s->fd >= 0)
        close(s->fd);
    tbp_spill_init(s, s->path);
}
