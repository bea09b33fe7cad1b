/* SPDX-License-Identifier: Apache-2.0
 *
 * Field numbers of the xplane messages. tests/unit/test_xplane_fields.c compares them with the
 * protobuf-c descriptors generated from schemas/xplane.proto. Source: reference
 * plugin_contract 6.1.
 */
#ifndef TBP_SCHEMAS_XPLANE_FIELDS_H
#define TBP_SCHEMAS_XPLANE_FIELDS_H

enum {
    TBP_XSPACE_PLANES = 1,
    TBP_XSPACE_ERRORS = 2,
    TBP_XSPACE_WARNINGS = 3,
    TBP_XSPACE_HOSTNAMES = 4
};
enum {
    TBP_XPLANE_ID = 1,
    TBP_XPLANE_NAME = 2,
    TBP_XPLANE_LINES = 3,
    TBP_XPLANE_EVENT_METADATA = 4,
    TBP_XPLANE_STAT_METADATA = 5,
    TBP_XPLANE_STATS = 6
};
enum { TBP_MAP_KEY = 1, TBP_MAP_VALUE = 2 };
enum {
    TBP_XLINE_ID = 1,
    TBP_XLINE_NAME = 2,
    TBP_XLINE_TIMESTAMP_NS = 3,
    TBP_XLINE_EVENTS = 4,
    TBP_XLINE_DURATION_PS = 9,
    TBP_XLINE_DISPLAY_ID = 10,
    TBP_XLINE_DISPLAY_NAME = 11
};
enum {
    TBP_XEVENT_METADATA_ID = 1,
    TBP_XEVENT_OFFSET_PS = 2,
    TBP_XEVENT_DURATION_PS = 3,
    TBP_XEVENT_STATS = 4,
    TBP_XEVENT_NUM_OCCURRENCES = 5
};
enum {
    TBP_XSTAT_METADATA_ID = 1,
    TBP_XSTAT_DOUBLE = 2,
    TBP_XSTAT_UINT64 = 3,
    TBP_XSTAT_INT64 = 4,
    TBP_XSTAT_STR = 5,
    TBP_XSTAT_BYTES = 6,
    TBP_XSTAT_REF = 7
};
enum {
    TBP_XEVENTMETA_ID = 1,
    TBP_XEVENTMETA_NAME = 2,
    TBP_XEVENTMETA_METADATA = 3,
    TBP_XEVENTMETA_DISPLAY_NAME = 4,
    TBP_XEVENTMETA_STATS = 5,
    TBP_XEVENTMETA_CHILD_ID = 6
};
enum { TBP_XSTATMETA_ID = 1, TBP_XSTATMETA_NAME = 2, TBP_XSTATMETA_DESCRIPTION = 3 };

#endif
