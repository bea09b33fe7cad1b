/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface which the Profile plugin (xprof 2.22.2 and later) loads from
 * profiler_plugin_c_api*.so, answered here where the tool is ours and passed on to the official
 * library where it is not.
 *
 * The contract, as the plugin relies on it: a function that can fail returns NULL or an error text;
 * data and texts belong to the caller until FreeString. An error text becomes an exception that
 * nobody catches, a page of HTML; so refusals are data with *success false, which becomes an answer
 * of status 404. There is no version number in the interface: 2.22.2 needs InitializeProfiler, 2.23
 * and later BuiltWithEmbedded, all of them the other ten. Names are those of the interface.
 */
#include "base/guard.h"
#include "base/vec.h"
#include "convert/backend/forward.h"
#include "convert/backend/process.h"
#include "convert/backend/tbprof_backend.h"
#include "convert/backend/tool_names.h"

#include <stdio.h>

#define OPTIONS                                                                                    \
    const char **keys, const char **texts, const int *ints, const bool *bools, const int *types,   \
        int n_options
#define PASS_OPTIONS keys, texts, ints, bools, types, n_options
#define RESULT       char **data, size_t *size, bool *success

TBPROF_BACKEND_API void FreeString(char *text);
TBPROF_BACKEND_API char *XSpaceToToolsData(const char **paths, size_t n, const char *tool, OPTIONS,
                                           RESULT);
TBPROF_BACKEND_API char *XSpaceToToolsDataFromByteString(const char **bytes, const size_t *sizes,
                                                         const char **names, size_t n,
                                                         const char *tool, OPTIONS, RESULT);
TBPROF_BACKEND_API char *Trace(const char *address, const char *logdir, const char *workers,
                               bool dataset_ops, int duration_ms, int attempts, OPTIONS);
TBPROF_BACKEND_API char *Monitor(const char *address, int duration_ms, int level, bool timestamp,
                                 char **out);
TBPROF_BACKEND_API char *StartContinuousProfiling(const char *address, OPTIONS);
TBPROF_BACKEND_API char *StopContinuousProfiling(const char *address);
TBPROF_BACKEND_API char *GetSnapshot(const char *address, const char *logdir);
TBPROF_BACKEND_API void StartGrpcServer(int port, int max_concurrent);
TBPROF_BACKEND_API void InitializeStubs(const char *addresses);
TBPROF_BACKEND_API void InitializeProfiler(void);
TBPROF_BACKEND_API bool BuiltWithEmbedded(void);

void FreeString(char *text) {
    tbp_vec_free_bytes(text);
}

/* ---- copies that FreeString can free ---- */

struct copying {
    struct tbp_sink_memory out;
    const void *data;
    size_t n;
};

static int copy_guarded(void *ctx, struct tbp_error *err) {
    struct copying *c = ctx;
    int status = tbp_sink_write(&c->out.base, c->data, c->n, err);
    return status ? status : tbp_sink_write(&c->out.base, "", 1, err);
}

/* With a NUL behind it; NULL without memory. */
static char *copy(const void *p, size_t n) {
    struct copying c = {.data = p, .n = n};
    tbp_sink_memory_init(&c.out, 0);
    if (tbp_guard_run(copy_guarded, &c, NULL))
        tbp_sink_memory_release(&c.out);
    return (char *)c.out.data;
}

static char *copy_text(const char *text) {
    return copy(text, strlen(text));
}

/* An official text becomes one of ours. */
static char *adopt(const struct tbp_official *o, char *theirs) {
    if (!theirs)
        return NULL;
    char *ours = copy_text(theirs);
    o->FreeString(theirs);
    return ours;
}

static char *unavailable(const char *what, const char *why) {
    char text[4 * TBP_ERROR_TEXT];
    return snprintf(text, sizeof text, "%s is not available: %s", what, why) < 0 ? NULL
                                                                                 : copy_text(text);
}

static void refuse(const char *text, RESULT) {
    *data = copy_text(text);
    *size = *data ? strlen(*data) : 0;
    *success = false;
}

/* ---- options ---- */

struct unpacking {
    struct tbp_packed_options packed;
    struct tbp_arena arena;
    struct tbp_tool_option *options;
    size_t n;
};

static int unpack_guarded(void *ctx, struct tbp_error *err) {
    struct unpacking *u = ctx;
    const struct tbp_packed_options *p = &u->packed;
    (void)err;
    u->options = TBP_NEW_N(&u->arena, struct tbp_tool_option, (size_t)(p->n > 0 ? p->n : 0));
    for (int i = 0; i < p->n; i++) {
        const char *text = p->types[i] == 0   ? (p->bools[i] ? "true" : "false")
                           : p->types[i] == 1 ? tbp_arena_printf(&u->arena, "%d", p->ints[i])
                                              : p->texts[i];
        if (p->keys[i] && text)
            u->options[u->n++] = (struct tbp_tool_option){p->keys[i], text};
    }
    return TBP_OK;
}

/* ---- tools ---- */

struct request {
    struct tbp_question q;
    const struct tbp_bytes *bytes; /* NULL: files */
    struct tbp_sink_memory out;
    bool is_foreign;
};

static int answer(struct request *r, struct tbp_error *err) {
    struct tbp_backend *b = tbp_process_backend(err);
    int status = TBP_E_MEMORY;
    if (b && r->bytes)
        status = tbp_backend_answer_bytes(b, &r->q, r->bytes, &r->out, err);
    else if (b)
        status = tbp_backend_answer(b, &r->q, &r->out, &r->is_foreign, err);
    if (!r->is_foreign)
        tbp_process_count(status);
    return status;
}

/* True if the request is done, else it is for the official library. */
static bool answer_here(struct request *r, OPTIONS, RESULT) {
    if (tbp_process_is_off())
        return false;
    struct unpacking u = {.packed = {PASS_OPTIONS}};
    struct tbp_error err = {.offset = TBP_NO_OFFSET};
    char text[4 * TBP_ERROR_TEXT];
    tbp_arena_init(&u.arena);
    tbp_sink_memory_init(&r->out, 0);
    int status = tbp_guard_run(unpack_guarded, &u, &err);
    r->q.options = u.options;
    r->q.n_options = u.n;
    bool done = status || tbp_question_is_ours(&r->q);
    if (done && !status)
        status = answer(r, &err);
    tbp_arena_release(&u.arena);
    if (done && status) {
        tbp_sink_memory_release(&r->out);
        refuse(tbp_error_text(&err, text, sizeof text), data, size, success);
    } else if (done && !r->is_foreign) {
        *data = (char *)r->out.data;
        *size = r->out.size;
        *success = true;
    }
    return done && !r->is_foreign;
}

/* The official answer is in data; it becomes ours. */
static void adopt_answer(const struct tbp_official *o, RESULT) {
    char *theirs = *data;
    *data = NULL;
    if (!theirs)
        return;
    *data = copy(theirs, *size);
    o->FreeString(theirs);
    if (!*data) {
        *size = 0;
        *success = false;
    }
}

/* The list of tools where the official library names none, if it can be made here. */
static void name_tools_anyway(struct tbp_question q, char **failure, OPTIONS, RESULT) {
    struct request r = {.q = q};
    char *names = NULL;
    size_t n = 0;
    bool is_made = false;
    r.q.tool = TBP_TOOL_NAMES_ANYWAY;
    if (!answer_here(&r, PASS_OPTIONS, &names, &n, &is_made))
        return;
    FreeString(*failure);
    FreeString(*data);
    *failure = NULL;
    *data = names, *size = n, *success = is_made;
}

char *XSpaceToToolsData(const char **paths, size_t n, const char *tool, OPTIONS, RESULT) {
    const char *why;
    const struct tbp_official *o = NULL;
    struct request r = {.q = {.paths = paths, .n_paths = n, .tool = tool ? tool : ""}};
    bool asks_names = strcmp(r.q.tool, TBP_TOOL_NAMES) == 0;
    *data = NULL, *size = 0, *success = false;
    if (asks_names)
        r.q.has_official = tbp_official_library(&why) != NULL;
    if (answer_here(&r, PASS_OPTIONS, data, size, success))
        return NULL;
    o = tbp_official_library(&why);
    if (!o) {
        char text[2 * TBP_ERROR_TEXT];
        snprintf(text, sizeof text, "tbprof does not make the page '%s'%s, and %s", r.q.tool,
                 tbp_process_is_off() ? " (TBPROF_BACKEND=off)" : "", why);
        refuse(text, data, size, success);
        return NULL;
    }
    char *failure = o->XSpaceToToolsData(paths, n, tool, PASS_OPTIONS, data, size, success);
    adopt_answer(o, data, size, success);
    failure = adopt(o, failure);
    if (asks_names && (failure || !*success || !*size))
        name_tools_anyway(r.q, &failure, PASS_OPTIONS, data, size, success);
    return failure;
}

struct views {
    struct tbp_arena arena;
    const char **data;
    const size_t *sizes;
    size_t n;
    struct tbp_bytes *bytes;
};

static int views_guarded(void *ctx, struct tbp_error *err) {
    struct views *v = ctx;
    (void)err;
    v->bytes = TBP_NEW_N(&v->arena, struct tbp_bytes, v->n);
    for (size_t i = 0; i < v->n; i++)
        v->bytes[i] = (struct tbp_bytes){v->data[i], v->sizes[i]};
    return TBP_OK;
}

char *XSpaceToToolsDataFromByteString(const char **bytes, const size_t *sizes, const char **names,
                                      size_t n, const char *tool, OPTIONS, RESULT) {
    const char *why;
    struct views v = {.data = bytes, .sizes = sizes, .n = n};
    struct request r = {.q = {.paths = names, .n_paths = n, .tool = tool ? tool : ""}};
    *data = NULL, *size = 0, *success = false;
    tbp_arena_init(&v.arena);
    bool done = tbp_guard_run(views_guarded, &v, NULL) == TBP_OK;
    r.bytes = v.bytes;
    done = done && strcmp(r.q.tool, TBP_TOOL_NAMES) != 0 &&
           answer_here(&r, PASS_OPTIONS, data, size, success);
    tbp_arena_release(&v.arena);
    if (done)
        return NULL;
    const struct tbp_official *o = tbp_official_library(&why);
    if (!o || !o->XSpaceToToolsDataFromByteString) {
        refuse("tbprof does not make this page, and the official converter is not there", data,
               size, success);
        return NULL;
    }
    char *failure = o->XSpaceToToolsDataFromByteString(bytes, sizes, names, n, tool, PASS_OPTIONS,
                                                       data, size, success);
    adopt_answer(o, data, size, success);
    return adopt(o, failure);
}

/* ---- capture: all of it is the official library's ---- */

char *Trace(const char *address, const char *logdir, const char *workers, bool dataset_ops,
            int duration_ms, int attempts, OPTIONS) {
    const char *why;
    const struct tbp_official *o = tbp_official_library(&why);
    if (!o || !o->Trace)
        return unavailable("capturing", why);
    return adopt(
        o, o->Trace(address, logdir, workers, dataset_ops, duration_ms, attempts, PASS_OPTIONS));
}

char *Monitor(const char *address, int duration_ms, int level, bool timestamp, char **out) {
    const char *why;
    const struct tbp_official *o = tbp_official_library(&why);
    *out = NULL;
    if (!o || !o->Monitor)
        return unavailable("monitoring", why);
    char *failure = o->Monitor(address, duration_ms, level, timestamp, out);
    *out = adopt(o, *out);
    return adopt(o, failure);
}

char *StartContinuousProfiling(const char *address, OPTIONS) {
    const char *why;
    const struct tbp_official *o = tbp_official_library(&why);
    if (!o || !o->StartContinuousProfiling)
        return unavailable("continuous profiling", why);
    return adopt(o, o->StartContinuousProfiling(address, PASS_OPTIONS));
}

char *StopContinuousProfiling(const char *address) {
    const char *why;
    const struct tbp_official *o = tbp_official_library(&why);
    if (!o || !o->StopContinuousProfiling)
        return unavailable("continuous profiling", why);
    return adopt(o, o->StopContinuousProfiling(address));
}

char *GetSnapshot(const char *address, const char *logdir) {
    const char *why;
    const struct tbp_official *o = tbp_official_library(&why);
    if (!o || !o->GetSnapshot)
        return unavailable("continuous profiling", why);
    return adopt(o, o->GetSnapshot(address, logdir));
}

void StartGrpcServer(int port, int max_concurrent) {
    const char *why;
    const struct tbp_official *o = tbp_official_library(&why);
    if (o && o->StartGrpcServer)
        o->StartGrpcServer(port, max_concurrent);
}

void InitializeStubs(const char *addresses) {
    const char *why;
    const struct tbp_official *o = tbp_official_library(&why);
    if (o && o->InitializeStubs)
        o->InitializeStubs(addresses);
}

void InitializeProfiler(void) {
    const char *why;
    const struct tbp_official *o = tbp_official_library(&why);
    if (o && o->InitializeProfiler)
        o->InitializeProfiler();
}

/* True would ask for a further group of functions. */
bool BuiltWithEmbedded(void) {
    return false;
}
