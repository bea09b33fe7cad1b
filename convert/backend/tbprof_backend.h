/* SPDX-License-Identifier: Apache-2.0
 *
 * The backend library's own interface, for programs which are not bound to the C interface of the
 * Profile plugin (that one is in backend_c_api.c): the Python package's extension module.
 *
 * There is one backend per process, made at the first call. Defaults come from the environment:
 * TBPROF_CACHE_BYTES (budget of the session cache), TBPROF_SEMANTICS (repair, official, tf).
 * Nothing here prints, ends the process, or changes its locale, signals or working directory.
 * Ownership: texts given are borrowed during the call; bodies belong to the caller until
 * tbprof_backend_free. Thread-safety: all functions, from many threads.
 */
#ifndef TBP_CONVERT_BACKEND_TBPROF_BACKEND_H
#define TBP_CONVERT_BACKEND_TBPROF_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tbprof_backend_status {
    TBPROF_BACKEND_OK = 0,
    TBPROF_BACKEND_NOT_OURS = 1,    /* a tool or file for the official converter; no body */
    TBPROF_BACKEND_NOT_FOUND = 2,   /* file or event is not there; body = text in UTF-8 */
    TBPROF_BACKEND_BAD_REQUEST = 3, /* option or host that makes no sense; body = text */
    TBPROF_BACKEND_FAILED = 4,      /* anything else; body = text */
};

enum tbprof_backend_dialect { TBPROF_BACKEND_NEWEST = 0, TBPROF_BACKEND_LEGACY = 1 };

struct tbprof_backend_option {
    const char *key, *value;
};

struct tbprof_backend_request {
    const char *const *paths; /* of one host of a run, or of several: <host>.xplane.pb */
    size_t n_paths;
    const char *tool; /* as the plugin calls it; "tool_names" asks for the list of tools, and
                       * "tool_names_anyway" after the official converter named none */
    const struct tbprof_backend_option *options; /* the page's query parameters */
    size_t n_options;
    int dialect;
    int is_packed; /* not 0: a tool's body comes as one gzip member, fast rather than small */
};

struct tbprof_backend_body {
    char *data; /* NUL-terminated for convenience */
    size_t size;
};

struct tbprof_backend_stats {
    uint64_t budget_bytes, memory_bytes, n_sessions;
    uint64_t n_hits, n_misses, n_changed, n_evicted, n_files_read;
    uint64_t n_answers, n_errors;
};

#define TBPROF_BACKEND_API __attribute__((visibility("default")))

TBPROF_BACKEND_API const char *tbprof_backend_version(void);
TBPROF_BACKEND_API int tbprof_backend_answer(const struct tbprof_backend_request *request,
                                             struct tbprof_backend_body *body);
TBPROF_BACKEND_API void tbprof_backend_free(struct tbprof_backend_body *body);
TBPROF_BACKEND_API void tbprof_backend_set_budget(uint64_t budget_bytes);
TBPROF_BACKEND_API void tbprof_backend_get_stats(struct tbprof_backend_stats *out);

#ifdef __cplusplus
}
#endif
#endif
