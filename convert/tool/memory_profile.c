/* SPDX-License-Identifier: Apache-2.0
 *
 * Page memory_profile: the memory timeline (analyze/memory_timeline.h) as protobuf JSON, 64-bit
 * numbers quoted, every scalar printed. Schema: reference trace_kernel_memory_import C.3.
 * Deviation: without a /host:CPU plane the official body has no byte at all; here it is a profile
 * without allocators, which every reader can parse.
 */
#include "convert/analyze/memory_timeline.h"
#include "convert/tool/tool.h"
#include "plugin_data/json_out.h"

static void text(struct tbp_json *j, const char *key, struct tbp_str v) {
    tbp_json_lit(j, key);
    tbp_json_str(j, v, TBP_JSON_PROTO);
}

static void i64(struct tbp_json *j, const char *key, int64_t v) {
    tbp_json_lit(j, key);
    tbp_json_char(j, '"');
    tbp_json_i64(j, v);
    tbp_json_char(j, '"');
}

static void stats(struct tbp_json *j, const char *key, const struct tbp_memory_stats *s) {
    tbp_json_lit(j, key);
    i64(j, "{\"stackReservedBytes\":", s->stack_bytes);
    i64(j, ",\"heapAllocatedBytes\":", s->heap_bytes);
    i64(j, ",\"freeMemoryBytes\":", s->free_bytes);
    tbp_json_lit(j, ",\"fragmentation\":");
    tbp_json_proto_number(j, s->fragmentation);
    i64(j, ",\"peakBytesInUse\":", s->peak_bytes);
    tbp_json_char(j, '}');
}

static void activity(struct tbp_json *j, const struct tbp_memory_activity *a) {
    tbp_json_lit(j, a->is_deallocation ? "{\"memoryActivity\":\"DEALLOCATION\""
                                       : "{\"memoryActivity\":\"ALLOCATION\"");
    i64(j, ",\"requestedBytes\":", a->requested_bytes);
    i64(j, ",\"allocationBytes\":", a->allocated_bytes);
    tbp_json_lit(j, ",\"address\":\"");
    tbp_json_u64(j, a->address);
    text(j, "\",\"tfOpName\":", a->op);
    i64(j, ",\"stepId\":", a->step);
    text(j, ",\"regionType\":", a->region);
    text(j, ",\"dataType\":", a->data_type);
    text(j, ",\"tensorShape\":", a->shape);
    tbp_json_char(j, '}');
}

static void snapshots(struct tbp_json *j, const char *key, const struct tbp_memory_snapshot *s,
                      size_t n) {
    tbp_json_lit(j, key);
    for (size_t i = 0; i < n; i++) {
        i64(j, i ? ",{\"timeOffsetPs\":" : "{\"timeOffsetPs\":", s[i].time_ps);
        stats(j, ",\"aggregationStats\":", &s[i].stats);
        tbp_json_lit(j, ",\"activityMetadata\":");
        activity(j, &s[i].activity);
        tbp_json_char(j, '}');
    }
    tbp_json_char(j, ']');
}

static void active_rows(struct tbp_json *j, const struct tbp_memory_allocator *a) {
    tbp_json_lit(j, ",\"activeAllocations\":[");
    for (size_t i = 0; i < a->n_active; i++) {
        const struct tbp_memory_active *r = &a->active[i];
        i64(j, i ? ",{\"snapshotIndex\":" : "{\"snapshotIndex\":", r->snapshot);
        i64(j, ",\"specialIndex\":", r->special);
        i64(j, ",\"numOccurrences\":", r->n);
        tbp_json_char(j, '}');
    }
    tbp_json_lit(j, "],\"specialAllocations\":[");
    for (size_t i = 0; i < a->n_special; i++) {
        if (i)
            tbp_json_char(j, ',');
        activity(j, &a->special[i]);
    }
    tbp_json_char(j, ']');
}

static void allocator(struct tbp_json *j, const struct tbp_memory_allocator *a, bool is_tf) {
    tbp_json_str(j, a->id, TBP_JSON_PROTO);
    snapshots(j, ":{\"memoryProfileSnapshots\":[", a->kept, a->n_kept);
    i64(j, ",\"profileSummary\":{\"peakBytesUsageLifetime\":", a->lifetime_peak_bytes);
    stats(j, ",\"peakStats\":", &a->at_peak);
    i64(j, ",\"peakStatsTimePs\":", a->peak_time_ps);
    i64(j, ",\"memoryCapacity\":", a->capacity_bytes);
    tbp_json_char(j, '}');
    active_rows(j, a);
    if (!is_tf)
        snapshots(j, ",\"sampledTimelineSnapshots\":[", a->sampled, a->n_sampled);
    tbp_json_char(j, '}');
}

static void modules(struct tbp_json *j, const struct tbp_memory_timeline *t) {
    tbp_json_lit(j, ",\"hloModules\":[");
    for (size_t i = 0; i < t->n_modules; i++) {
        const struct tbp_memory_module *m = &t->modules[i];
        text(j, i ? ",{\"name\":" : "{\"name\":", m->name);
        i64(j, ",\"startTimePs\":", m->start_ps);
        i64(j, ",\"endTimePs\":", m->end_ps);
        i64(j, ",\"id\":", (int64_t)i);
        text(j, ",\"planeName\":", m->plane);
        tbp_json_char(j, '}');
    }
    tbp_json_char(j, ']');
}

static void profile(struct tbp_json *j, const struct tbp_memory_timeline *t, bool is_tf,
                    bool has_modules) {
    tbp_json_lit(j, "{\"memoryProfilePerAllocator\":{");
    for (size_t i = 0; i < t->n_allocators; i++) {
        if (i)
            tbp_json_char(j, ',');
        allocator(j, &t->allocators[i], is_tf);
    }
    tbp_json_lit(j, "},\"numHosts\":1,\"memoryIds\":[");
    for (size_t i = 0; i < t->n_allocators; i++)
        text(j, i ? "," : "", t->allocators[i].id);
    tbp_json_char(j, ']');
    if (!is_tf)
        tbp_json_lit(j, ",\"version\":1");
    if (has_modules)
        modules(j, t);
    tbp_json_char(j, '}');
}

static int write_page(struct tbp_session *s, const struct tbp_request *r, struct tbp_sink *out,
                      struct tbp_error *err) {
    const struct tbp_memory_timeline *t = tbp_memory_timeline(s, r->host, err);
    if (!t)
        return err ? err->code : TBP_E_INTERNAL;
    bool is_tf = tbp_session_semantics(s) == TBP_SEMANTICS_TF;
    struct tbp_json j;
    tbp_json_init(&j, out);
    profile(&j, t, is_tf, !is_tf && r->dialect == TBP_DIALECT_NEWEST);
    return tbp_json_finish(&j, err);
}

const struct tbp_tool tbp_tool_memory_profile = {
    .name = "memory_profile",
    .help = "allocations over time and at the peak, per allocator",
    .scope = TBP_SCOPE_HOST,
    .file = "memory_profile.json.gz",
    .file_gzip = true,
    .wanted = TBP_WANTED_MEMORY,
    .write = write_page,
};
