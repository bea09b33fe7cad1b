/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks a document of trace events (the format of about:tracing, which all frameworks' JSON traces
 * are dialects of) and hands out one event after the other, its fields in whatever order they came.
 * What the fields mean is the dialect's: read_kineto.c, read_chrome.c. Long lists are read ahead
 * on all processors (json_ahead.h); the dialect sees their events in order, one at a time.
 */
#ifndef TBP_CONVERT_READ_JSON_TRACE_H
#define TBP_CONVERT_READ_JSON_TRACE_H

#include "convert/read/json_ahead.h"
#include "convert/read/reader.h"
#include "convert/read/trace_build.h"

struct tbp_json_trace;
struct tbp_json_dialect {
    void (*begin)(struct tbp_json_trace *jt); /* NULL allowed, as for header and finish */
    void (*event)(struct tbp_json_trace *jt, const struct tbp_json_event *e);
    /* A member of the document beside the events; it has read the key and takes the value. False:
     * not taken. */
    bool (*header)(struct tbp_json_trace *jt, struct tbp_str key);
    void (*finish)(struct tbp_json_trace *jt);
    bool keeps_args; /* all of them: given in order of their names */
};

struct tbp_json_trace {
    struct tbp_json_pull json;
    struct tbp_trace trace;
    struct tbp_host *host;
    const struct tbp_json_dialect *dialect;
    void *ctx;                    /* of the dialect */
    struct tbp_json_event *event; /* the one being read */
    struct tbp_json_ahead *ahead; /* or NULL: one thread reads */
    int status;                   /* of that: after a failure nothing more is read */
    struct tbp_error *err;
    TBP_VEC(char) scratch, even;
    uint64_t n_events, dropped; /* dropped: bytes of the input that left memory */
    bool has_list;              /* there was a list of events, maybe an empty one */
};

/* Parts of tbp_json_trace_read, for readers of more than one document: begin, each document, end.
 * What end does not do is tbp_trace_finish. */
void tbp_json_trace_begin(struct tbp_json_trace *jt, struct tbp_host *host,
                          const struct tbp_json_dialect *dialect, void *ctx);
void tbp_json_trace_document(struct tbp_json_trace *jt, struct tbp_str bytes);
/* The same of a file in a folder: JSON without a list of events is a loss, no_table. */
void tbp_json_trace_table(struct tbp_json_trace *jt, struct tbp_str bytes);
/* Goes through a document that is read later, with a dialect of its own; counts nothing. */
void tbp_json_trace_look(struct tbp_json_trace *jt, struct tbp_str bytes,
                         const struct tbp_json_dialect *dialect);
void tbp_json_trace_end(struct tbp_json_trace *jt);
/* Reads the whole input. Fails if it is no document of trace events. */
int tbp_json_trace_read(struct tbp_host *host, const struct tbp_json_dialect *dialect, void *ctx,
                        struct tbp_pool *pool, struct tbp_error *err);

/* Begins like JSON. */
bool tbp_json_trace_looks_so(const uint8_t *data, size_t size);
/* One of these texts (NULL-terminated) stands in the bytes. */
bool tbp_has_any_text(const uint8_t *data, size_t size, const char *const *texts);
/* The same where a document tells what it is: at its beginning, where its events begin, where whole
 * ones do, at its end, or in samples between. */
bool tbp_json_trace_has_any(const uint8_t *data, size_t size, const char *const *texts);

/* Text of a string (escapes undone, valid UTF-8) or number; valid until the next call. Lists and
 * objects have a blank behind each comma and colon and no other, however the file spaces them. */
struct tbp_str tbp_json_trace_text(struct tbp_json_trace *jt, const struct tbp_json_value *v);
/* The same as a number of the trace's texts. */
uint32_t tbp_json_trace_intern(struct tbp_json_trace *jt, const struct tbp_json_value *v);
/* An integer, also in quotes; other texts get a number of their own, beyond those of processes.
 * *is_text tells which; false if there is nothing. */
bool tbp_json_trace_id(struct tbp_json_trace *jt, const struct tbp_json_value *v, int64_t *id,
                       bool *is_text);
/* The thread of an event, called by its id where that is a text. */
uint32_t tbp_json_trace_thread(struct tbp_json_trace *jt, const struct tbp_json_event *e);
/* A name that a row of metadata gives, valid as long as the text of it. */
struct tbp_given_name tbp_json_trace_given(struct tbp_json_trace *jt,
                                           const struct tbp_json_event *e,
                                           const struct tbp_json_value *name);
/* Microseconds, also in quotes; numbers beyond 146 years are cut there. */
bool tbp_json_trace_time(const struct tbp_json_value *v, int64_t *ns, unsigned *ps);
/* Duration in picoseconds; none or a negative one is 0 and counted. */
uint64_t tbp_json_trace_duration(struct tbp_json_trace *jt, const struct tbp_json_event *e);
/* Each number among the arguments, as a stat of the event added next: a counter. */
void tbp_json_trace_series(struct tbp_json_trace *jt, const struct tbp_json_event *e);
/* Counts an event as read and not taken: without a time (quarantined), or not shown (dropped). */
void tbp_json_trace_refuse(struct tbp_json_trace *jt, const struct tbp_json_event *e,
                           enum tbp_ledger_key why);
/* First argument of this name, or NULL. */
const struct tbp_json_value *tbp_json_trace_arg(const struct tbp_json_event *e, const char *key);

#endif
