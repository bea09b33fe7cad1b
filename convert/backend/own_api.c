/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's own interface; see tbprof_backend.h.
 */
#include "base/guard.h"
#include "base/vec.h"
#include "convert/backend/process.h"
#include "convert/backend/tbprof_backend.h"

_Static_assert(sizeof(struct tbprof_backend_option) == sizeof(struct tbp_tool_option) &&
                   offsetof(struct tbprof_backend_option, value) ==
                       offsetof(struct tbp_tool_option, value),
               "options are passed on as they are");

const char *tbprof_backend_version(void) {
    return TBP_VERSION;
}

static int finish_guarded(void *ctx, struct tbp_error *err) {
    return tbp_sink_write(ctx, "", 1, err);
}

/* Hands the bytes over, with a NUL behind them. */
static int hand_over(struct tbp_sink_memory *out, struct tbprof_backend_body *body, int status) {
    if (tbp_guard_run(finish_guarded, &out->base, NULL)) {
        tbp_sink_memory_release(out);
        *body = (struct tbprof_backend_body){0};
        return TBPROF_BACKEND_FAILED;
    }
    *body = (struct tbprof_backend_body){(char *)out->data, out->size - 1};
    return status;
}

static int public_status(int status) {
    switch (status) {
    case TBP_OK:
        return TBPROF_BACKEND_OK;
    case TBP_E_NOT_FOUND:
        return TBPROF_BACKEND_NOT_FOUND;
    case TBP_E_USAGE:
    case TBP_E_OPTION:
    case TBP_E_UNSUPPORTED:
        return TBPROF_BACKEND_BAD_REQUEST;
    default:
        return TBPROF_BACKEND_FAILED;
    }
}

static int text_guarded(void *ctx, struct tbp_error *err) {
    struct tbp_sink_memory *out = ctx;
    char text[2 * TBP_ERROR_TEXT + TBP_ERROR_CAUSES * TBP_ERROR_CAUSE_TEXT];
    tbp_error_text(err, text, sizeof text);
    size_t n = strlen(text);
    n = tbp_utf8_valid_prefix((struct tbp_str){text, n}); /* cut, or a name that is no text */
    return tbp_sink_write(&out->base, text, n, NULL);
}

static int refuse(struct tbp_sink_memory *out, struct tbprof_backend_body *body, int status,
                  struct tbp_error *err) {
    tbp_sink_memory_release(out);
    tbp_guard_run(text_guarded, out, err);
    return hand_over(out, body, public_status(status));
}

int tbprof_backend_answer(const struct tbprof_backend_request *r,
                          struct tbprof_backend_body *body) {
    struct tbp_error err = {.offset = TBP_NO_OFFSET};
    struct tbp_sink_memory out;
    struct tbp_question q = {.paths = r->paths,
                             .n_paths = r->n_paths,
                             .tool = r->tool,
                             .options = (const struct tbp_tool_option *)r->options,
                             .n_options = r->n_options,
                             .dialect = r->dialect == TBPROF_BACKEND_LEGACY ? TBP_DIALECT_LEGACY
                                                                            : TBP_DIALECT_NEWEST,
                             .has_official = true,
                             .is_packed = r->is_packed != 0};
    bool is_foreign = false;
    *body = (struct tbprof_backend_body){0};
    if (!tbp_question_is_ours(&q))
        return TBPROF_BACKEND_NOT_OURS;
    tbp_sink_memory_init(&out, 0);
    struct tbp_backend *b = tbp_process_backend(&err);
    int status = b ? tbp_backend_answer(b, &q, &out, &is_foreign, &err) : TBP_E_MEMORY;
    if (!status && is_foreign) {
        tbp_sink_memory_release(&out);
        return TBPROF_BACKEND_NOT_OURS;
    }
    tbp_process_count(status);
    return status ? refuse(&out, body, status, &err) : hand_over(&out, body, TBPROF_BACKEND_OK);
}

void tbprof_backend_free(struct tbprof_backend_body *body) {
    tbp_vec_free_bytes(body->data);
    *body = (struct tbprof_backend_body){0};
}

void tbprof_backend_set_budget(uint64_t budget_bytes) {
    struct tbp_backend *b = tbp_process_backend(NULL);
    if (b)
        tbp_session_cache_set_budget(tbp_backend_cache(b), budget_bytes);
}

void tbprof_backend_get_stats(struct tbprof_backend_stats *out) {
    struct tbp_backend *b = tbp_process_backend(NULL);
    struct tbp_session_cache_stats s = {0};
    if (b)
        tbp_session_cache_stats(tbp_backend_cache(b), &s);
    *out = (struct tbprof_backend_stats){.budget_bytes = s.budget_bytes,
                                         .memory_bytes = s.memory_bytes,
                                         .n_sessions = s.n_sessions,
                                         .n_hits = s.n_hits,
                                         .n_misses = s.n_misses,
                                         .n_changed = s.n_changed,
                                         .n_evicted = s.n_evicted,
                                         .n_files_read = s.n_files_read};
    tbp_process_counts(&out->n_answers, &out->n_errors);
}
