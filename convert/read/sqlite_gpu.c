/* SPDX-License-Identifier: Apache-2.0
 *
 * See sqlite_gpu.h.
 */
#include "convert/read/sqlite_gpu.h"

uint64_t tbp_sqlite_size(const struct tbp_sqlite_rows *r, unsigned column) {
    int64_t v = tbp_sqlite_i64(r, column, 0);
    return v > 0 ? (uint64_t)v : 0;
}

bool tbp_sqlite_begin_event(struct tbp_gpu_trace *g, const struct tbp_sqlite_rows *r,
                            struct tbp_trace_event *e, unsigned start, unsigned end) {
    *e = (struct tbp_trace_event){0};
    if (tbp_sqlite_is_null(r, start)) {
        tbp_gpu_no_time(g);
        return false;
    }
    int64_t start_ns = tbp_sqlite_i64(r, start, 0);
    tbp_gpu_set_time(g, e, start_ns, tbp_sqlite_i64(r, end, start_ns));
    return true;
}

struct tbp_gpu_kernel tbp_sqlite_launch(const struct tbp_sqlite_rows *r, unsigned first,
                                        int64_t device) {
    enum { REGISTERS, SHARED, DYNAMIC, GRID, BLOCK = GRID + 3 };
    struct tbp_gpu_kernel k = {.registers = tbp_sqlite_size(r, first + REGISTERS),
                               .static_shared = tbp_sqlite_size(r, first + SHARED),
                               .dynamic_shared = tbp_sqlite_size(r, first + DYNAMIC),
                               .device = (uint32_t)device};
    for (unsigned i = 0; i < 3; i++) {
        k.grid[i] = tbp_sqlite_size(r, first + GRID + i);
        k.block[i] = tbp_sqlite_size(r, first + BLOCK + i);
    }
    return k;
}

void tbp_sqlite_add_wait(struct tbp_gpu_trace *g, const struct tbp_sqlite_rows *r,
                         struct tbp_trace_event *e, int64_t device, unsigned stream,
                         unsigned kind) {
    int64_t number = tbp_sqlite_i64(r, stream, -1);
    e->track = tbp_gpu_line(g, "GPU synchronization", device, number == UINT32_MAX ? -1 : number);
    tbp_gpu_add_wait(g, e, tbp_sqlite_i64(r, kind, 0));
}
