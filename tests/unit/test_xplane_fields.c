/* SPDX-License-Identifier: Apache-2.0
 *
 * Field numbers of the hand-written wire path against the descriptors generated from xplane.proto,
 * in both directions: every constant is right, and no field of the schema is without a constant.
 */
#include "schemas/xplane.pb-c.h"
#include "schemas/xplane_fields.h"

#include <criterion/criterion.h>

struct expected {
    const char *name;
    unsigned number;
    ProtobufCType type;
};

static void check(const ProtobufCMessageDescriptor *d, const struct expected *e, size_t n) {
    cr_expect_eq(d->n_fields, n, "%s has %u fields, %zu constants", d->name, d->n_fields, n);
    for (size_t i = 0; i < n; i++) {
        const ProtobufCFieldDescriptor *f =
            protobuf_c_message_descriptor_get_field_by_name(d, e[i].name);
        cr_assert_not_null(f, "%s.%s is missing", d->name, e[i].name);
        cr_expect_eq(f->id, e[i].number, "%s.%s is %u, not %u", d->name, e[i].name, f->id,
                     e[i].number);
        cr_expect_eq(f->type, e[i].type, "%s.%s has another type", d->name, e[i].name);
    }
}

#define CHECK(descriptor, ...)                                                                     \
    check(&(descriptor), (const struct expected[]){__VA_ARGS__},                                   \
          sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

#define MESSAGE PROTOBUF_C_TYPE_MESSAGE
#define STRING  PROTOBUF_C_TYPE_STRING
#define BYTES   PROTOBUF_C_TYPE_BYTES
#define INT64   PROTOBUF_C_TYPE_INT64
#define UINT64  PROTOBUF_C_TYPE_UINT64
#define DOUBLE  PROTOBUF_C_TYPE_DOUBLE

Test(xplane_fields, space_and_plane) {
    CHECK(tbp__xspace__descriptor, {"planes", TBP_XSPACE_PLANES, MESSAGE},
          {"errors", TBP_XSPACE_ERRORS, STRING}, {"warnings", TBP_XSPACE_WARNINGS, STRING},
          {"hostnames", TBP_XSPACE_HOSTNAMES, STRING});
    CHECK(tbp__xplane__descriptor, {"id", TBP_XPLANE_ID, INT64}, {"name", TBP_XPLANE_NAME, STRING},
          {"lines", TBP_XPLANE_LINES, MESSAGE},
          {"event_metadata", TBP_XPLANE_EVENT_METADATA, MESSAGE},
          {"stat_metadata", TBP_XPLANE_STAT_METADATA, MESSAGE},
          {"stats", TBP_XPLANE_STATS, MESSAGE});
    CHECK(tbp__xplane__event_metadata_entry__descriptor, {"key", TBP_MAP_KEY, INT64},
          {"value", TBP_MAP_VALUE, MESSAGE});
    CHECK(tbp__xplane__stat_metadata_entry__descriptor, {"key", TBP_MAP_KEY, INT64},
          {"value", TBP_MAP_VALUE, MESSAGE});
}

Test(xplane_fields, line_and_event) {
    CHECK(tbp__xline__descriptor, {"id", TBP_XLINE_ID, INT64}, {"name", TBP_XLINE_NAME, STRING},
          {"timestamp_ns", TBP_XLINE_TIMESTAMP_NS, INT64}, {"events", TBP_XLINE_EVENTS, MESSAGE},
          {"duration_ps", TBP_XLINE_DURATION_PS, INT64},
          {"display_id", TBP_XLINE_DISPLAY_ID, INT64},
          {"display_name", TBP_XLINE_DISPLAY_NAME, STRING});
    CHECK(tbp__xevent__descriptor, {"metadata_id", TBP_XEVENT_METADATA_ID, INT64},
          {"offset_ps", TBP_XEVENT_OFFSET_PS, INT64},
          {"duration_ps", TBP_XEVENT_DURATION_PS, INT64}, {"stats", TBP_XEVENT_STATS, MESSAGE},
          {"num_occurrences", TBP_XEVENT_NUM_OCCURRENCES, INT64});
}

Test(xplane_fields, stat_and_metadata) {
    CHECK(tbp__xstat__descriptor, {"metadata_id", TBP_XSTAT_METADATA_ID, INT64},
          {"double_value", TBP_XSTAT_DOUBLE, DOUBLE}, {"uint64_value", TBP_XSTAT_UINT64, UINT64},
          {"int64_value", TBP_XSTAT_INT64, INT64}, {"str_value", TBP_XSTAT_STR, STRING},
          {"bytes_value", TBP_XSTAT_BYTES, BYTES}, {"ref_value", TBP_XSTAT_REF, UINT64});
    CHECK(tbp__xevent_metadata__descriptor, {"id", TBP_XEVENTMETA_ID, INT64},
          {"name", TBP_XEVENTMETA_NAME, STRING}, {"metadata", TBP_XEVENTMETA_METADATA, BYTES},
          {"display_name", TBP_XEVENTMETA_DISPLAY_NAME, STRING},
          {"stats", TBP_XEVENTMETA_STATS, MESSAGE}, {"child_id", TBP_XEVENTMETA_CHILD_ID, INT64});
    CHECK(tbp__xstat_metadata__descriptor, {"id", TBP_XSTATMETA_ID, INT64},
          {"name", TBP_XSTATMETA_NAME, STRING}, {"description", TBP_XSTATMETA_DESCRIPTION, STRING});
}
