/* SPDX-License-Identifier: Apache-2.0
 *
 * A run of hosts written event by event, opened as a session: the shortest way for tests of
 * analyses from events that stand in the test to the table that comes out.
 *
 *     struct tiny_host h = {0};
 *     tiny_plane(&h, "/host:CPU");   tiny_line(&h, 1);
 *     tiny_event(&h, "a:A", 0, 10);  tiny_stat_i64(&h, "is_eager", 1);
 *     struct tiny_run run;
 *     struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_OFFICIAL);
 *     …  tiny_close(&run);
 */
#ifndef TBP_TESTS_SUPPORT_TINY_RUN_H
#define TBP_TESTS_SUPPORT_TINY_RUN_H

#include "convert/analyze/session.h"
#include "schemas/wire.h"

#include <stdbool.h>

struct tiny_host {
    struct tbp_wire_out bytes;
    struct tbp_strtab events, stats; /* of the open plane; ids are number + 1 */
    size_t plane, line, event;       /* marks */
    bool in_plane, in_line, in_event;
};

void tiny_plane(struct tiny_host *h, const char *name);
void tiny_plane_stat_u64(struct tiny_host *h, const char *name, uint64_t v); /* before lines */
void tiny_plane_stat_str(struct tiny_host *h, const char *name, const char *v);
void tiny_line(struct tiny_host *h, int64_t id);
void tiny_event(struct tiny_host *h, const char *name, int64_t offset_ps, int64_t dur_ps);
void tiny_stat_i64(struct tiny_host *h, const char *name, int64_t v);
void tiny_stat_u64(struct tiny_host *h, const char *name, uint64_t v);
void tiny_stat_str(struct tiny_host *h, const char *name, const char *v);
/* What was written so far as the bytes of a file; the host is complete then. */
struct tbp_str tiny_bytes(struct tiny_host *h);

struct tiny_run {
    struct tbp_session *session;
    struct tiny_host *hosts;
};
/* Takes the hosts over, which stay valid until tiny_close. They are called h0, h1, … */
struct tbp_session *tiny_open(struct tiny_run *run, struct tiny_host *hosts, uint32_t n,
                              enum tbp_semantics semantics);
void tiny_close(struct tiny_run *run);

#endif
