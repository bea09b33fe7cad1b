/* SPDX-License-Identifier: Apache-2.0
 *
 * The plain ends of a stack of sinks: memory and an open file descriptor.
 */
#include "plugin_data/sink.h"

#include "base/guard.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- memory ---- */

static int memory_write(struct tbp_sink *base, const void *p, size_t n, struct tbp_error *err) {
    struct tbp_sink_memory *s = (struct tbp_sink_memory *)base;
    size_t room = (s->limit ? s->limit : SIZE_MAX) - s->size;
    if (n > room)
        return tbp_fail(err, TBP_E_LIMIT, "answer is larger than %zu bytes", s->limit);
    if (n == 0)
        return TBP_OK;
    if (n > s->cap - s->size)
        s->data = tbp_vec_grow_bytes(s->data, &s->cap, s->size + n, 1);
    memcpy(s->data + s->size, p, n);
    s->size += n;
    return TBP_OK;
}

static int memory_finish(struct tbp_sink *base, struct tbp_error *err) {
    (void)base, (void)err;
    return TBP_OK;
}

void tbp_sink_memory_init(struct tbp_sink_memory *s, size_t limit) {
    *s = (struct tbp_sink_memory){.base = {memory_write, memory_finish}, .limit = limit};
}

void tbp_sink_memory_release(struct tbp_sink_memory *s) {
    tbp_vec_free_bytes(s->data);
    tbp_sink_memory_init(s, s->limit);
}

/* ---- file descriptor ---- */

static int fd_write(struct tbp_sink *base, const void *p, size_t n, struct tbp_error *err) {
    struct tbp_sink_fd *s = (struct tbp_sink_fd *)base;
    const char *at = p;
    while (n > 0) {
        ssize_t done = write(s->fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && errno == EFAULT) /* the kernel's way of saying SIGBUS */
            tbp_guard_bus_error(at);
        if (done < 0)
            return tbp_fail_errno(err, TBP_E_IO, "cannot write output");
        s->has_written = true;
        at += done;
        n -= (size_t)done;
    }
    return TBP_OK;
}

static int fd_finish(struct tbp_sink *base, struct tbp_error *err) {
    (void)base, (void)err;
    return TBP_OK;
}

void tbp_sink_fd_init(struct tbp_sink_fd *s, int fd) {
    *s = (struct tbp_sink_fd){.base = {fd_write, fd_finish}, .fd = fd};
}
