/* SPDX-License-Identifier: Apache-2.0
 *
 * One request to the backend: from paths, tool and options to the body, through the session cache.
 */
#ifndef TBP_CONVERT_BACKEND_ANSWER_H
#define TBP_CONVERT_BACKEND_ANSWER_H

#include "convert/backend/session_cache.h"
#include "convert/tool/tool.h"

struct tbp_backend_options {
    uint64_t budget_bytes;
    enum tbp_semantics semantics;
    unsigned n_threads; /* 0: one per processor */
};

struct tbp_backend;
struct tbp_backend *tbp_backend_new(const struct tbp_backend_options *o);
void tbp_backend_free(struct tbp_backend *b); /* no request may be running */
struct tbp_session_cache *tbp_backend_cache(struct tbp_backend *b);

/* The list of tools; the same once more after the official converter named none. */
#define TBP_TOOL_NAMES        "tool_names"
#define TBP_TOOL_NAMES_ANYWAY "tool_names_anyway"

struct tbp_question {
    const char *const *paths;
    size_t n_paths;
    const char *tool;
    const struct tbp_tool_option *options;
    size_t n_options;
    enum tbp_dialect dialect;
    bool has_official; /* the official converter can be asked for what is not ours */
    bool is_packed;    /* the body of a tool as one gzip member, fast rather than small */
};

/* A file's bytes in place of a path, for questions that no cache can help. */
struct tbp_bytes {
    const void *data;
    size_t size_bytes;
};

/* True if the question is to be answered here: a tool of ours, files that can be read here, a
 * format that is written here. */
bool tbp_question_is_ours(const struct tbp_question *q);

/* Appends the body. Sets *is_foreign instead if only the official converter can answer what
 * tbp_question_is_ours had let through. Failures leave a part of a body, or none. */
int tbp_backend_answer(struct tbp_backend *b, const struct tbp_question *q,
                       struct tbp_sink_memory *out, bool *is_foreign, struct tbp_error *err);
/* As above from bytes: paths are names of hosts' files, bytes[i] belongs to paths[i]. */
int tbp_backend_answer_bytes(struct tbp_backend *b, const struct tbp_question *q,
                             const struct tbp_bytes *bytes, struct tbp_sink_memory *out,
                             struct tbp_error *err);

#endif
