/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of the service; see capture_reply.h. Field numbers: schemas/profiler_service.proto.
 */
#include "capture/capture_reply.h"

enum { TOOL_DATA = 6, EMPTY_TRACE = 7, XSPACE = 8 }; /* of ProfileResponse */
enum { TOOL_NAME = 1, TOOL_BYTES = 2 };              /* of ProfileToolData */
enum { MONITOR_TEXT = 1, MONITOR_RESULT = 10 };      /* of MonitorResponse */
enum { RESULT_TYPE = 1, DEVICE_IDLE = 2, STEP_AVG_MS = 4, STEP_MIN_MS = 5, STEP_MAX_MS = 6 };
enum { TYPE_UTILISATION = 1, TYPE_IDLE_AND_STEPS = 3, WIRE_BYTES = 2 };

static size_t varint_size(uint64_t v) {
    size_t n = 1;
    for (; v >= 0x80; v >>= 7)
        n++;
    return n;
}

/* The key and length of a bytes field whose bytes follow in reply->big. */
static void put_big(struct tbp_grpc_reply *reply, uint32_t field, struct tbp_capture_job *job,
                    void (*bytes_free)(uint8_t *bytes)) {
    tbp_wire_put_varint(&reply->head, field << 3 | WIRE_BYTES);
    tbp_wire_put_varint(&reply->head, job->size_bytes);
    reply->big = job->bytes;
    reply->big_n = job->size_bytes;
    reply->big_free = bytes_free;
    job->bytes = NULL;
}

static void put_tool(struct tbp_grpc_reply *reply, struct tbp_capture_job *job,
                     void (*bytes_free)(uint8_t *bytes)) {
    static const char name[] = "xplane.pb";
    size_t name_n = sizeof name - 1;
    size_t n = 2 + name_n + 1 + varint_size(job->size_bytes) + job->size_bytes;
    tbp_wire_put_varint(&reply->head, TOOL_DATA << 3 | WIRE_BYTES);
    tbp_wire_put_varint(&reply->head, n);
    tbp_wire_put_bytes(&reply->head, TOOL_NAME, name, name_n);
    put_big(reply, TOOL_BYTES, job, bytes_free);
}

static void put_monitor(struct tbp_grpc_reply *reply, const struct tbp_capture_job *job) {
    struct tbp_wire_out *o = &reply->head;
    const struct tbp_capture_scan *s = &job->scan;
    tbp_wire_put_str(o, MONITOR_TEXT, tbp_str_c(job->monitor_text));
    size_t mark = tbp_wire_begin(o, MONITOR_RESULT);
    tbp_wire_put_u64(o, RESULT_TYPE, s->n_steps ? TYPE_IDLE_AND_STEPS : TYPE_UTILISATION);
    if (s->device_busy_ps && job->recorded_ms)
        tbp_wire_put_double(o, DEVICE_IDLE,
                            100 - (double)s->device_busy_ps / 1e9 / (double)job->recorded_ms * 100);
    if (s->n_steps) {
        tbp_wire_put_double(o, STEP_AVG_MS, (double)s->sum_step_ps / 1e9 / (double)s->n_steps);
        tbp_wire_put_double(o, STEP_MIN_MS, (double)s->min_step_ps / 1e9);
        tbp_wire_put_double(o, STEP_MAX_MS, (double)s->max_step_ps / 1e9);
    }
    tbp_wire_end(o, mark);
}

void tbp_capture_reply_of(struct tbp_grpc_reply *reply, struct tbp_capture_job *job,
                          void (*bytes_free)(uint8_t *bytes)) {
    *reply = (struct tbp_grpc_reply){0};
    if (job->status != TBP_GRPC_OK)
        tbp_grpc_reply_fail(reply, job->status, "%s", job->text);
    else if (job->kind == TBP_CAPTURE_MONITOR)
        put_monitor(reply, job);
    else if (job->kind == TBP_CAPTURE_SNAPSHOT)
        put_big(reply, XSPACE, job, bytes_free);
    else if (job->kind == TBP_CAPTURE_PROFILE && job->is_empty)
        tbp_wire_put_u64(&reply->head, EMPTY_TRACE, 1);
    else if (job->kind == TBP_CAPTURE_PROFILE && job->request.emit_xspace)
        put_big(reply, XSPACE, job, bytes_free);
    else if (job->kind == TBP_CAPTURE_PROFILE && !job->is_saved)
        put_tool(reply, job, bytes_free);
}
