/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX injection: with NVTX_INJECTION64_PATH=libtbprof.so every program and library that annotates
 * itself with NVTX (PyTorch, NCCL, cuDNN, DALI, RAPIDS …) is recorded, with or without a GPU. Push
 * and pop become scopes, start and end become activities, marks instants; a domain goes before the
 * name ("NCCL::ncclAllReduce"), payload and category become arguments.
 *
 * Every binary that holds NVTX's headers calls InitializeInjectionNvtx2 with tables of its own, so
 * it is called any number of times and keeps nothing. Cost while nothing is recorded: the stack of
 * open ranges, which has to be right when recording begins in the middle of one.
 */
#include "capture/gpu_names.h"
#include "capture/nvtx_abi.h"
#include "capture/nvtx_names.h"
#include "capture/range_stack.h"
#include "capture/tbprof.h"
#include "plugin_data/number_out.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_TEXT = 960 }; /* of a record's inline name */

struct text {
    size_t size;
    char bytes[MAX_TEXT];
};

static bool is_recording(void) {
    return tbprof_wants(__atomic_load_n(&tbprof_g_state, __ATOMIC_RELAXED), 1, 0);
}

static void append(struct text *to, struct tbp_str s) {
    size_t n = s.n < MAX_TEXT - to->size ? s.n : MAX_TEXT - to->size;
    if (n)
        memcpy(to->bytes + to->size, s.p, n);
    to->size += n;
}

static void append_domain(struct text *to, const struct tbp_nvtx_name *domain) {
    if (!domain)
        return;
    append(to, tbp_nvtx_name_text(domain));
    append(to, TBP_STR("::"));
}

static struct tbp_str payload(char to[32], const struct tbp_nvtx_event *e) {
    size_t n = 0;
    switch (e->payload_type) {
    case TBP_NVTX_U64:
        n = tbp_number_u64(to, e->payload.u64);
        break;
    case TBP_NVTX_I64:
        n = tbp_number_i64(to, e->payload.i64);
        break;
    case TBP_NVTX_DOUBLE:
        n = tbp_number_repr(to, e->payload.f64);
        break;
    case TBP_NVTX_U32:
        n = tbp_number_u64(to, e->payload.u32);
        break;
    case TBP_NVTX_I32:
        n = tbp_number_i64(to, e->payload.i32);
        break;
    case TBP_NVTX_FLOAT:
        n = tbp_number_repr(to, (double)e->payload.f32);
        break;
    default:
        break;
    }
    return (struct tbp_str){to, n};
}

/* "#payload=3,category=io#" behind the name: the text form of arguments (capture/tbprof.h). */
static void append_arguments(struct text *to, const struct tbp_nvtx_name *domain,
                             const struct tbp_nvtx_event *e) {
    char number[32];
    struct tbp_str value = payload(number, e);
    if (!value.n && !e->category)
        return;
    append(to, TBP_STR("#"));
    if (value.n) {
        append(to, TBP_STR("payload="));
        append(to, value);
        append(to, e->category ? TBP_STR(",") : TBP_STR_NONE);
    }
    if (e->category) {
        struct tbp_str name = tbp_nvtx_category(domain, e->category);
        if (!name.n)
            name = (struct tbp_str){number, tbp_number_u64(number, e->category)};
        append(to, TBP_STR("category="));
        append(to, name);
    }
    append(to, TBP_STR("#"));
}

static void text_of_event(struct text *to, const struct tbp_nvtx_name *domain,
                          const struct tbp_nvtx_event *e) {
    char wide[MAX_TEXT];
    to->size = 0;
    append_domain(to, domain);
    if (!e || e->size < sizeof *e || !e->message)
        return append(to, TBP_STR("unnamed"));
    if (e->message_type == TBP_NVTX_ASCII)
        append(to, tbp_str_c(e->message));
    else if (e->message_type == TBP_NVTX_UNICODE)
        append(to, tbp_nvtx_utf8(wide, sizeof wide, e->message));
    else if (e->message_type == TBP_NVTX_REGISTERED)
        append(to, tbp_nvtx_name_text(e->message));
    append_arguments(to, domain, e);
}

static void text_of_wide(struct text *to, const wchar_t *message) {
    to->size = tbp_nvtx_utf8(to->bytes, sizeof to->bytes, message).n;
}

/* ---- ranges of a thread ---- */

static int push_ex(const struct tbp_nvtx_name *domain, const struct tbp_nvtx_event *e) {
    struct text text;
    if (!is_recording())
        return tbp_range_push(domain, TBP_STR_NONE, false);
    text_of_event(&text, domain, e);
    return tbp_range_push(domain, (struct tbp_str){text.bytes, text.size}, true);
}

static int nvtx_push_ex(const struct tbp_nvtx_event *e) {
    return push_ex(NULL, e);
}

static int nvtx_push_a(const char *message) {
    if (!is_recording())
        return tbp_range_push(NULL, TBP_STR_NONE, false);
    return tbp_range_push(NULL, message ? tbp_str_c(message) : TBP_STR("unnamed"), true);
}

static int nvtx_push_w(const wchar_t *message) {
    struct text text;
    if (!is_recording())
        return tbp_range_push(NULL, TBP_STR_NONE, false);
    text_of_wide(&text, message);
    return tbp_range_push(NULL, (struct tbp_str){text.bytes, text.size}, true);
}

static int nvtx_pop(void) {
    return tbp_range_pop(NULL);
}

/* ---- ranges across threads, marks ---- */

static uint64_t start_ex(const struct tbp_nvtx_name *domain, const struct tbp_nvtx_event *e) {
    struct text text;
    if (!is_recording())
        return 0;
    text_of_event(&text, domain, e);
    return tbprof_activity_start(text.bytes, text.size, 1);
}

static uint64_t nvtx_start_ex(const struct tbp_nvtx_event *e) {
    return start_ex(NULL, e);
}

static uint64_t nvtx_start_a(const char *message) {
    if (!message || !is_recording())
        return 0;
    return tbprof_activity_start(message, strlen(message), 1);
}

static uint64_t nvtx_start_w(const wchar_t *message) {
    struct text text;
    if (!is_recording())
        return 0;
    text_of_wide(&text, message);
    return tbprof_activity_start(text.bytes, text.size, 1);
}

static void nvtx_end(uint64_t id) {
    tbprof_activity_end(id);
}

static void domain_end(const struct tbp_nvtx_name *domain, uint64_t id) {
    (void)domain; /* ids are unique in the process */
    tbprof_activity_end(id);
}

static void mark_ex(const struct tbp_nvtx_name *domain, const struct tbp_nvtx_event *e) {
    struct text text;
    if (!is_recording())
        return;
    text_of_event(&text, domain, e);
    text.bytes[text.size < MAX_TEXT ? text.size : MAX_TEXT - 1] = 0;
    tbprof_instant(text.bytes, TBPROF_INSTANT_THREAD);
}

static void nvtx_mark_ex(const struct tbp_nvtx_event *e) {
    mark_ex(NULL, e);
}

static void nvtx_mark_a(const char *message) {
    if (message)
        tbprof_instant(message, TBPROF_INSTANT_THREAD);
}

static void nvtx_mark_w(const wchar_t *message) {
    struct tbp_nvtx_event e = {
        .size = sizeof e, .message_type = TBP_NVTX_UNICODE, .message = message};
    mark_ex(NULL, &e);
}

/* ---- names ---- */

static struct tbp_nvtx_name *domain_create_a(const char *name) {
    return name ? tbp_nvtx_domain(tbp_str_c(name)) : NULL;
}
static struct tbp_nvtx_name *domain_create_w(const wchar_t *name) {
    char text[MAX_TEXT];
    return tbp_nvtx_domain(tbp_nvtx_utf8(text, sizeof text, name));
}
static void domain_destroy(struct tbp_nvtx_name *domain) {
    (void)domain; /* ranges of it may still be open; the name costs some bytes */
}
static struct tbp_nvtx_name *register_a(const struct tbp_nvtx_name *domain, const char *text) {
    return text ? tbp_nvtx_string(domain, tbp_str_c(text)) : NULL;
}
static struct tbp_nvtx_name *register_w(const struct tbp_nvtx_name *domain, const wchar_t *wide) {
    char text[MAX_TEXT];
    return tbp_nvtx_string(domain, tbp_nvtx_utf8(text, sizeof text, wide));
}
static void category_a(const struct tbp_nvtx_name *domain, uint32_t id, const char *name) {
    if (name)
        tbp_nvtx_category_set(domain, id, tbp_str_c(name));
}
static void category_w(const struct tbp_nvtx_name *domain, uint32_t id, const wchar_t *name) {
    char text[MAX_TEXT];
    tbp_nvtx_category_set(domain, id, tbp_nvtx_utf8(text, sizeof text, name));
}
static void nvtx_category_a(uint32_t id, const char *name) {
    category_a(NULL, id, name);
}
static void nvtx_category_w(uint32_t id, const wchar_t *name) {
    category_w(NULL, id, name);
}

static void nvtx_thread_a(uint32_t tid, const char *name) {
    if (name && tid == (uint32_t)syscall(SYS_gettid)) /* only a thread may name itself */
        tbprof_thread_name(name);
}
static void nvtx_thread_w(uint32_t tid, const wchar_t *name) {
    char text[256];
    struct tbp_str s = tbp_nvtx_utf8(text, sizeof text - 1, name);
    text[s.n] = 0;
    nvtx_thread_a(tid, text);
}

/* ---- names of what is CUDA's; a device has its ordinal for a handle ---- */

static void device_a(int device, const char *name) {
    if (name && device >= 0)
        tbp_gpu_name_device((uint32_t)device, tbp_str_c(name));
}
static void device_w(int device, const wchar_t *name) {
    char text[MAX_TEXT];
    if (device >= 0)
        tbp_gpu_name_device((uint32_t)device, tbp_nvtx_utf8(text, sizeof text, name));
}
static void context_a(void *context, const char *name) {
    if (name)
        tbp_gpu_name_context(context, tbp_str_c(name));
}
static void context_w(void *context, const wchar_t *name) {
    char text[MAX_TEXT];
    tbp_gpu_name_context(context, tbp_nvtx_utf8(text, sizeof text, name));
}
static void stream_a(void *stream, const char *name) {
    if (name)
        tbp_gpu_name_stream(stream, tbp_str_c(name));
}
static void stream_w(void *stream, const wchar_t *name) {
    char text[MAX_TEXT];
    tbp_gpu_name_stream(stream, tbp_nvtx_utf8(text, sizeof text, name));
}

/* ---- the tables ---- */

#define FN(id, f) [id] = (tbp_nvtx_fn *)(f)
static tbp_nvtx_fn *const core[] = {
    FN(TBP_NVTX_MARK_EX, nvtx_mark_ex),
    FN(TBP_NVTX_MARK_A, nvtx_mark_a),
    FN(TBP_NVTX_MARK_W, nvtx_mark_w),
    FN(TBP_NVTX_START_EX, nvtx_start_ex),
    FN(TBP_NVTX_START_A, nvtx_start_a),
    FN(TBP_NVTX_START_W, nvtx_start_w),
    FN(TBP_NVTX_END, nvtx_end),
    FN(TBP_NVTX_PUSH_EX, nvtx_push_ex),
    FN(TBP_NVTX_PUSH_A, nvtx_push_a),
    FN(TBP_NVTX_PUSH_W, nvtx_push_w),
    FN(TBP_NVTX_POP, nvtx_pop),
    FN(TBP_NVTX_CATEGORY_A, nvtx_category_a),
    FN(TBP_NVTX_CATEGORY_W, nvtx_category_w),
    FN(TBP_NVTX_THREAD_A, nvtx_thread_a),
    FN(TBP_NVTX_THREAD_W, nvtx_thread_w),
};
static tbp_nvtx_fn *const core2[] = {
    FN(TBP_NVTX_DOMAIN_MARK_EX, mark_ex),          FN(TBP_NVTX_DOMAIN_START_EX, start_ex),
    FN(TBP_NVTX_DOMAIN_END, domain_end),           FN(TBP_NVTX_DOMAIN_PUSH_EX, push_ex),
    FN(TBP_NVTX_DOMAIN_POP, tbp_range_pop),        FN(TBP_NVTX_DOMAIN_CATEGORY_A, category_a),
    FN(TBP_NVTX_DOMAIN_CATEGORY_W, category_w),    FN(TBP_NVTX_REGISTER_A, register_a),
    FN(TBP_NVTX_REGISTER_W, register_w),           FN(TBP_NVTX_DOMAIN_CREATE_A, domain_create_a),
    FN(TBP_NVTX_DOMAIN_CREATE_W, domain_create_w), FN(TBP_NVTX_DOMAIN_DESTROY, domain_destroy),
};
static tbp_nvtx_fn *const cuda[] = {
    FN(TBP_NVTX_CU_DEVICE_A, device_a),   FN(TBP_NVTX_CU_DEVICE_W, device_w),
    FN(TBP_NVTX_CU_CONTEXT_A, context_a), FN(TBP_NVTX_CU_CONTEXT_W, context_w),
    FN(TBP_NVTX_CU_STREAM_A, stream_a),   FN(TBP_NVTX_CU_STREAM_W, stream_w),
};
static tbp_nvtx_fn *const cudart[] = {
    FN(TBP_NVTX_CUDA_DEVICE_A, device_a),
    FN(TBP_NVTX_CUDA_DEVICE_W, device_w),
    FN(TBP_NVTX_CUDA_STREAM_A, stream_a),
    FN(TBP_NVTX_CUDA_STREAM_W, stream_w),
};
#undef FN

static bool fill(const struct tbp_nvtx_callbacks *callbacks, int32_t module,
                 tbp_nvtx_fn *const *functions, unsigned n_functions) {
    tbp_nvtx_fn ***table = NULL;
    unsigned n = 0;
    if (!callbacks->module_table(module, &table, &n) || !table)
        return false;
    for (unsigned i = 1; i < n && i < n_functions; i++)
        if (functions[i] && table[i])
            *table[i] = functions[i];
    return true;
}

/* Called by NVTX; 1: the tool is in place. */
TBPROF_API int InitializeInjectionNvtx2(tbp_nvtx_get_export *get_export);

int InitializeInjectionNvtx2(tbp_nvtx_get_export *get_export) {
    const struct tbp_nvtx_callbacks *callbacks =
        get_export ? get_export(TBP_NVTX_EXPORT_CALLBACKS) : NULL;
    if (!callbacks || callbacks->struct_size < sizeof *callbacks || !callbacks->module_table)
        return 0;
    bool has_core = fill(callbacks, TBP_NVTX_CORE, core, sizeof core / sizeof *core);
    bool has_core2 = fill(callbacks, TBP_NVTX_CORE2, core2, sizeof core2 / sizeof *core2);
    fill(callbacks, TBP_NVTX_CUDA, cuda, sizeof cuda / sizeof *cuda);
    fill(callbacks, TBP_NVTX_CUDART, cudart, sizeof cudart / sizeof *cudart);
    return has_core || has_core2;
}
