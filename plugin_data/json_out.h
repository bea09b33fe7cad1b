/* SPDX-License-Identifier: Apache-2.0
 *
 * Streaming JSON text writer over a sink: the caller places structure, the writer does text,
 * numbers and buffering. Nothing is built in memory; failures of the sink are sticky and come out
 * of tbp_json_finish. Ownership: the writer borrows the sink; it owns a fixed buffer inside the
 * struct (64 KiB: mind the stack). One thread at a time.
 */
#ifndef TBP_PLUGIN_DATA_JSON_OUT_H
#define TBP_PLUGIN_DATA_JSON_OUT_H

#include "base/str.h"
#include "plugin_data/number_out.h"
#include "plugin_data/sink.h"

#include <stdarg.h>

enum tbp_json_escape {
    TBP_JSON_GVIZ,  /* data tables: raw UTF-8, < > & as they are, control as \b\f\n\r\t or \u00xx */
    TBP_JSON_PROTO, /* protobuf JSON: as above, and < > 0x7f and invisible characters as \uxxxx */
    TBP_JSON_TRACE, /* trace_viewer@: as data tables, and < > & as \uxxxx */
    TBP_JSON_PYTHON, /* json.dumps: all but printing ASCII as \uxxxx with surrogate pairs */
};

struct tbp_json {
    struct tbp_sink *sink;
    size_t n;
    int status;
    struct tbp_error err;
    char buf[64 * 1024];
};

void tbp_json_init(struct tbp_json *j, struct tbp_sink *sink);
/* Hands the rest to the sink; does not finish the sink. Returns the first failure of the sink. */
int tbp_json_finish(struct tbp_json *j, struct tbp_error *err);

void tbp_json_flush(struct tbp_json *j);

/* n <= sizeof j->buf bytes of room at the result; write at most n there, then add what was written
 * to j->n. For hot paths that format in place. */
static inline char *tbp_json_room(struct tbp_json *j, size_t n) {
    if (sizeof j->buf - j->n < n)
        tbp_json_flush(j);
    return j->buf + j->n;
}

void tbp_json_raw_slow(struct tbp_json *j, const char *p, size_t n);
static inline void tbp_json_raw(struct tbp_json *j, const char *p, size_t n) {
    if (n > sizeof j->buf - j->n) {
        tbp_json_raw_slow(j, p, n);
        return;
    }
    if (n) /* an empty text may come without bytes */
        memcpy(j->buf + j->n, p, n);
    j->n += n;
}
static inline void tbp_json_lit(struct tbp_json *j, const char *c) {
    tbp_json_raw(j, c, strlen(c));
}
static inline void tbp_json_char(struct tbp_json *j, char c) {
    *tbp_json_room(j, 1) = c;
    ++j->n;
}

/* Quoted and escaped. Bytes that are no UTF-8 become U+FFFD, one each. */
void tbp_json_str(struct tbp_json *j, struct tbp_str s, enum tbp_json_escape how);
/* The same without the quotes, for texts made of parts. */
void tbp_json_text(struct tbp_json *j, struct tbp_str s, enum tbp_json_escape how);

void tbp_json_i64(struct tbp_json *j, int64_t v);
void tbp_json_u64(struct tbp_json *j, uint64_t v);
/* C locale; the text must be shorter than 512 bytes. */
void tbp_json_printf(struct tbp_json *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void tbp_json_gviz_number(struct tbp_json *j, double v);  /* 1.0, 9.6e-05, null */
void tbp_json_proto_number(struct tbp_json *j, double v); /* %.15g, else %.17g */
void tbp_json_us17(struct tbp_json *j, uint64_t ps);      /* ps/1e6 as %.17g */
void tbp_json_us_repr(struct tbp_json *j, uint64_t ps);   /* ps/1e6 as Python's repr */

#endif
