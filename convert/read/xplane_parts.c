/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of an xplane file that kernels are made of, found without reading it: all of it but the
 * planes of which only the name is needed, which are most of the bytes. A file that is not one
 * message after another up to its end is needed as a whole, so that damage is met as ever.
 */
#include "convert/read/reader.h"
#include "convert/read/wanted.h"
#include "schemas/xplane_fields.h"

#include <unistd.h>

enum { HEAD_BYTES = 256, MOST_MESSAGES = 1 << 10 };

/* Of a field of the space that begins at head: its bytes, as far as they are there, and its size
 * with the prefix. */
static bool open_message(struct tbp_wire *content, uint64_t *size, const uint8_t *head, size_t n) {
    struct tbp_wire w = tbp_wire_of(head + 1, n - 1);
    uint8_t number = *head >> 3;
    uint64_t length;
    if (number < TBP_XSPACE_PLANES || number > TBP_XSPACE_HOSTNAMES ||
        (*head & 7) != TBP_WIRE_BYTES || tbp_wire_varint(&w, &length))
        return false;
    uint64_t n_there = (uint64_t)(w.end - w.at);
    *size = (uint64_t)(w.at - head) + length;
    *content = tbp_wire_of(w.at, length < n_there ? length : n_there);
    return *size > length; /* else it ran over */
}

/* Adds what is needed of the message at that place; its size, or 0 if it is none. */
static uint64_t add_message(struct tbp_ranges *out, int fd, uint64_t at, uint64_t most) {
    uint8_t head[HEAD_BYTES];
    const uint8_t *end;
    struct tbp_wire content;
    uint64_t size;
    ssize_t n = pread(fd, head, sizeof head, (off_t)at);
    if (n <= 0 || !open_message(&content, &size, head, (size_t)n) || size > most)
        return 0;
    bool is_plane = *head >> 3 == TBP_XSPACE_PLANES;
    bool is_left = is_plane && !tbp_wants_any_of_plane(TBP_WANTED_KERNELS, content, &end);
    tbp_ranges_add(out, at, is_left ? (uint64_t)(end - head) : size);
    return size;
}

static void choose_for_kernels(struct tbp_ranges *out, int fd, uint64_t size) {
    uint64_t at = 0, n = 1;
    for (size_t i = 0; i < MOST_MESSAGES && at < size && n; i++) {
        n = add_message(out, fd, at, size - at);
        at += n;
    }
    if (at < size)
        out->n = 0;
}

tbp_choose_fn *tbp_file_parts(enum tbp_wanted wanted) {
    return wanted == TBP_WANTED_KERNELS ? choose_for_kernels : NULL;
}
