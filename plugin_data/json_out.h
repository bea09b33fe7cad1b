/* SPDX-License-Identifier: Apache-2.0
 *
 * Streaming JSON text writer over a sink: the caller places structure, the writer does text, numbers and buffering.
 * Nothing is built in memory; failures of the sink are sticky and come out of tbp_json_finish.
 * Ownership: the writer borrows the sink; it owns a fixed buffer inside the struct. One thread at a time.
 */
#ifndef TBP_PLUGIN_DATA_JSON_OUT_H
#define TBP_PLUGIN_DATA_JSON_OUT_H

#include "base/str.h"
#include "plugin_data/number_out.h"
#include "plugin_data/sink.h"

enum tbp_json_escape {
    TBP_JSON_GVIZ,   /* data tables of the official C++: raw UTF-8, < > & as they are, control as \b\f\n\r\t or \u00xx */
    TBP_JSON_PROTO,  /* protobuf JSON: as above, and < > as \u003c \u003e, 0x7f as \u007f */
    TBP_JSON_TRACE,  /* trace_viewer@: < > & U+2028 U+2029 as \u….  */
    TBP_JSON_PYTHON, /* json.dumps: all non-ASCII as \uXXXX with surrogate pairs */
};

struct tbp_json {
    struct tbp_sink *sink;
    size_t n;
    int status;
    struct tbp_error err;
    char buf[64 * 1024];
};

void tbp_json_init(struct tbp_json *j, struct tbp_sink *sink);
int tbp_json_finish(struct tbp_json *j, struct tbp_error *err); /* hands the rest to the sink; does not finish the sink */

void tbp_json_raw(struct tbp_json *j, const char *p, size_t n);
static inline void tbp_json_lit(struct tbp_json *j, const char *c) { tbp_json_raw(j, c, strlen(c)); }
void tbp_json_char(struct tbp_json *j, char c);
/* Quoted and escaped. Bytes that are no UTF-8 become U+FFFD, one each. */
void tbp_json_str(struct tbp_json *j, struct tbp_str s, enum tbp_json_escape how);
void tbp_json_i64(struct tbp_json *j, int64_t v);
void tbp_json_u64(struct tbp_json *j, uint64_t v);
void tbp_json_printf(struct tbp_json *j, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* short, C locale */
void tbp_json_gviz_number(struct tbp_json *j, double v);  /* 1.0, 9.6e-05, null */
void tbp_json_proto_number(struct tbp_json *j, double v); /* %.15g, else %.17g; integral without point */
void tbp_json_us17(struct tbp_json *j, uint64_t ps);      /* ps/1e6 as %.17g */
void tbp_json_us_repr(struct tbp_json *j, uint64_t ps);   /* ps/1e6 as Python's repr */

#endif
