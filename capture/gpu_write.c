/* SPDX-License-Identifier: Apache-2.0
 *
 * See gpu_write.h.
 */
#include "capture/gpu_write.h"

#include "base/demangle.h"
#include "base/sort.h"
#include "capture/record.h"
#include "capture/string_table.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { MAX_NAME = 4096, MAX_LIVE = 2 << 20 };

void tbp_gpu_writer_init(struct tbp_gpu_writer *w, const struct tbp_cupti *cupti,
                         const struct tbp_cuda *cuda, int64_t start_monotonic_ns) {
    *w = (struct tbp_gpu_writer){.cupti = cupti, .cuda = cuda};
    w->clock.start_ns = start_monotonic_ns;
    tbp_arena_init(&w->arena);
}

void tbp_gpu_writer_release(struct tbp_gpu_writer *w) {
    tbp_strtab_release(&w->names);
    tbp_vec_release(&w->ids);
    tbp_idmap_release(&w->calls);
    tbp_idmap_release(&w->threads);
    tbp_rec_live_release(&w->live);
    tbp_vec_release(&w->memory);
    tbp_vec_release(&w->given);
    tbp_arena_release(&w->arena);
}

void tbp_gpu_writer_again(struct tbp_gpu_writer *w) {
    w->told_devices = 0;
    w->n_told = 0;
    tbp_idmap_release(&w->threads);
}

/* ---- records ---- */

/* A record of blocks of whole slots; the strings it names are defined before it is seen. */
static void put(uint32_t name, enum tbp_spool_kind kind, uint32_t aux, const void *first,
                size_t first_bytes, const void *second, size_t second_bytes) {
    unsigned extra = (unsigned)((first_bytes + second_bytes) / TBP_SPOOL_SLOT_BYTES);
    struct tbp_thread *t = tbp_record_enter();
    if (!t)
        return;
    struct tbp_spool_slot *slot = tbp_record_room(t, 1 + extra, TBP_RECORD_HELD);
    if (slot) {
        slot->head = TBP_SPOOL_HEAD(tbp_record_ticks(t), kind, extra);
        slot->name = name;
        slot->aux = aux;
        memcpy(slot + 1, first, first_bytes);
        if (second_bytes)
            memcpy((uint8_t *)(slot + 1) + first_bytes, second, second_bytes);
        tbp_record_commit(t, 1 + extra);
    }
    tbp_record_leave(t);
}

static void put_loss(enum tbp_gpu_loss what, uint64_t n) {
    struct tbp_spool_arg arg = {0, TBP_ARG_U64, 0, 0, n};
    put(0, TBP_REC_GPU_LOSS, what, &arg, sizeof arg, NULL, 0);
}

static uint32_t string_id(const char *text, size_t size) {
    uint32_t id = 0;
    struct tbp_thread *t = tbp_record_enter();
    if (!t)
        return 0;
    id = tbp_string_id(text, size < MAX_NAME ? size : MAX_NAME);
    tbp_record_leave(t);
    return id;
}

/* ---- names ---- */

/* Kernels in C++ go by what their source says. */
static uint32_t new_name(struct tbp_gpu_writer *w, struct tbp_str name) {
    struct tbp_str plain = tbp_demangle(name, &w->arena);
    return string_id(plain.p, plain.n);
}

static uint32_t name_id(struct tbp_gpu_writer *w, const char *name) {
    struct tbp_str s = {name, strnlen(name, MAX_NAME)};
    uint32_t known = tbp_strtab_get(&w->names, s);
    if (known != TBP_MAP_NONE)
        return w->ids.at[known];
    s = tbp_arena_str(&w->arena, s);
    tbp_strtab_put(&w->names, s);
    return *tbp_vec_push(&w->ids) = new_name(w, s);
}

/* Calls that come often and launch nothing. */
static bool is_noise(struct tbp_str call) {
    static const char *const names[] = {
        "cudaGetDevice",
        "cudaSetDevice",
        "cudaGetLastError",
        "cudaPeekAtLastError",
        "cudaEventQuery",
        "cudaStreamQuery",
        "cudaStreamIsCapturing",
        "cudaStreamGetCaptureInfo",
        "cudaDeviceGetAttribute",
        "cudaFuncGetAttributes",
        "cudaGetDeviceProperties",
        "cudaGetDeviceCount",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        "cuCtxGetCurrent",
        "cuCtxSetCurrent",
        "cuCtxGetDevice",
        "cuCtxPushCurrent_v2",
        "cuCtxPopCurrent_v2",
        "cuDeviceGet",
        "cuDeviceGetAttribute",
        "cuDevicePrimaryCtxGetState",
        "cuKernelGetAttribute",
        "cuFuncGetAttribute",
        "cuEventQuery",
        "cuStreamQuery",
        "cuStreamIsCapturing",
        "cuGetProcAddress_v2",
        "cuDriverGetVersion",
        "cuDeviceGetCount",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tbp_str_is(call, names[i]))
            return true;
    return false;
}

/* "cudaLaunchKernel_v7000" without the release that introduced it. */
static struct tbp_str without_release(struct tbp_str call) {
    size_t n = call.n, digits = 0;
    while (n > 0 && call.p[n - 1] >= '0' && call.p[n - 1] <= '9') {
        n--;
        digits++;
    }
    bool has = digits >= 4 && n > 2 && call.p[n - 1] == 'v' && call.p[n - 2] == '_';
    return has ? tbp_str_sub(call, 0, n - 2) : call;
}

/* Number of a call's name; 0: the call is not recorded. */
static uint32_t call_id(struct tbp_gpu_writer *w, uint32_t domain, uint32_t function) {
    bool is_new;
    uint32_t *slot = tbp_idmap_put(&w->calls, (uint64_t)domain << 32 | function, &is_new);
    if (!is_new)
        return *slot;
    char text[64];
    const char *name = NULL;
    if (!w->cupti->GetCallbackName || w->cupti->GetCallbackName(domain, function, &name) != 0 ||
        !name) {
        snprintf(text, sizeof text, "%s call %u",
                 domain == TBP_GPU_API_RUNTIME ? "CUDA runtime" : "CUDA driver", function);
        name = text;
    }
    struct tbp_str call = without_release(tbp_str_c(name));
    return *slot = is_noise(call) ? 0 : string_id(call.p, call.n);
}

/* ---- devices ---- */

static void fill(uint32_t *known, uint32_t other) {
    *known = *known ? *known : other;
}

/* What the driver does not say CUPTI may: later drivers give no clocks. */
static void fill_device(struct tbp_spool_gpu_device *d, const struct tbp_spool_gpu_device *other) {
    enum { RESERVED_SINCE = 8, RESERVED_BYTES = 1024 }; /* compute capability */
    fill(&d->compute_major, other->compute_major);
    fill(&d->compute_minor, other->compute_minor);
    fill(&d->clock_khz, other->clock_khz);
    fill(&d->multiprocessors, other->multiprocessors);
    fill(&d->max_threads, other->max_threads);
    fill(&d->max_blocks, other->max_blocks);
    fill(&d->registers, other->registers);
    fill(&d->shared_bytes, other->shared_bytes);
    fill(&d->reserved_shared_bytes, d->compute_major >= RESERVED_SINCE ? RESERVED_BYTES : 0);
    d->memory_bytes = d->memory_bytes ? d->memory_bytes : other->memory_bytes;
    d->bandwidth_bytes = d->bandwidth_bytes ? d->bandwidth_bytes : other->bandwidth_bytes;
}

static void tell_device(struct tbp_gpu_writer *w, uint32_t ordinal) {
    struct tbp_spool_gpu_device d;
    char name[256];
    if (ordinal >= TBP_GPU_DEVICES || w->told_devices >> ordinal & 1)
        return;
    w->told_devices |= UINT64_C(1) << ordinal;
    tbp_cuda_device(w->cuda, ordinal, &d, name, sizeof name);
    fill_device(&d, &w->devices[ordinal]);
    w->devices[ordinal] = d;
    if (*name)
        w->device_names[ordinal] = name_id(w, name);
    if (!w->device_names[ordinal]) {
        snprintf(name, sizeof name, "GPU %u", ordinal);
        w->device_names[ordinal] = name_id(w, name);
    }
    put(w->device_names[ordinal], TBP_REC_GPU_DEVICE, 0, &d, sizeof d, NULL, 0);
}

/* It is told now, or again if it was. */
static void take_device(struct tbp_gpu_writer *w, const struct tbp_cupti_record *r) {
    uint32_t ordinal = r->facts.ordinal;
    if (ordinal >= TBP_GPU_DEVICES)
        return;
    fill_device(&w->devices[ordinal], &r->facts);
    if (r->name && !w->device_names[ordinal])
        w->device_names[ordinal] = name_id(w, r->name);
    if (w->told_devices >> ordinal & 1) {
        w->told_devices &= ~(UINT64_C(1) << ordinal);
        tell_device(w, ordinal);
    }
}

/* ---- names that the program gave ---- */

static void tell_names(struct tbp_gpu_writer *w) {
    for (; w->n_told < w->given.n; w->n_told++) {
        const struct tbp_gpu_given *n = &w->given.at[w->n_told];
        bool is_new;
        if (n->kind == TBP_GPU_THREAD)
            *tbp_idmap_put(&w->threads, (uint32_t)n->bearer.tid, &is_new) = 1;
        put(n->name, TBP_REC_GPU, n->kind, &n->bearer, sizeof n->bearer, NULL, 0);
    }
}

static void take_name(struct tbp_gpu_writer *w, const struct tbp_cupti_record *r) {
    struct tbp_gpu_given n = {.kind = TBP_GPU_NAMED, .bearer = {.device = r->device}};
    if (!r->name || w->given.n == TBP_GPU_NAMES)
        return;
    switch (r->code) {
    case TBP_CUPTI_OBJECT_THREAD:
        n = (struct tbp_gpu_given){TBP_GPU_THREAD, {.tid = (int32_t)r->thread}, 0};
        break;
    case TBP_CUPTI_OBJECT_DEVICE:
        n.bearer.graph = TBP_GPU_NAMED_DEVICE;
        break;
    case TBP_CUPTI_OBJECT_CONTEXT:
        n.bearer.graph = TBP_GPU_NAMED_CONTEXT;
        n.bearer.context = r->context;
        break;
    case TBP_CUPTI_OBJECT_STREAM:
        n.bearer.graph = TBP_GPU_NAMED_STREAM;
        n.bearer.context = r->context;
        n.bearer.stream = r->stream;
        break;
    default:
        return;
    }
    n.name = name_id(w, r->name);
    *tbp_vec_push(&w->given) = n;
}

void tbp_gpu_writer_name(struct tbp_gpu_writer *w, const struct tbp_gpu_name *name) {
    struct tbp_gpu_given n = {.kind = TBP_GPU_NAMED, .name = name_id(w, name->text)};
    n.bearer.graph = name->what;
    n.bearer.device = name->device;
    n.bearer.context = name->context;
    n.bearer.stream = name->stream;
    if (w->given.n < TBP_GPU_NAMES)
        *tbp_vec_push(&w->given) = n;
}

/* ---- memory ---- */

static const char *const memory_words[TBP_GPU_MEMORY_KINDS] = {
    "unknown", "pageable", "pinned",        "device",
    "array",   "managed",  "device_static", "managed_static"};

static void name_allocator(struct tbp_gpu_writer *w, struct tbp_gpu_allocator *a,
                           const struct tbp_cupti_record *r, unsigned kind) {
    char text[96];
    if (kind == TBP_GPU_MEMORY_PINNED || kind == TBP_GPU_MEMORY_PAGEABLE)
        snprintf(text, sizeof text, "cuda_host_%s", memory_words[kind]);
    else if (r->pool)
        snprintf(text, sizeof text, "GPU_%u_pool_0x%llx", r->device, (unsigned long long)r->pool);
    else if (kind == TBP_GPU_MEMORY_DEVICE)
        snprintf(text, sizeof text, "GPU_%u", r->device);
    else
        snprintf(text, sizeof text, "GPU_%u_%s", r->device, memory_words[kind]);
    a->name = name_id(w, text);
    if (kind == TBP_GPU_MEMORY_DEVICE && !r->pool && r->device < TBP_GPU_DEVICES)
        a->capacity_bytes = w->devices[r->device].memory_bytes;
}

static struct tbp_gpu_allocator *allocator_of(struct tbp_gpu_writer *w,
                                              const struct tbp_cupti_record *r) {
    unsigned kind = r->copy.target < TBP_GPU_MEMORY_KINDS ? r->copy.target : 0;
    uint64_t key = r->pool * 31 + ((uint64_t)r->device << 8 | kind);
    for (unsigned i = 0; i < w->n_allocators; i++)
        if (w->allocators[i].key == key)
            return &w->allocators[i];
    if (w->n_allocators == TBP_GPU_ALLOCATORS)
        return &w->allocators[TBP_GPU_ALLOCATORS - 1];
    struct tbp_gpu_allocator *a = &w->allocators[w->n_allocators++];
    *a = (struct tbp_gpu_allocator){.key = key};
    name_allocator(w, a, r, kind);
    return a;
}

static void release(struct tbp_gpu_allocator *a, uint64_t bytes) {
    a->in_use_bytes -= bytes < a->in_use_bytes ? bytes : a->in_use_bytes;
}

/* Bytes of the allocation or of what is freed; the totals follow. */
static uint64_t account(struct tbp_gpu_writer *w, struct tbp_gpu_allocator *a,
                        const struct tbp_cupti_record *r) {
    uint32_t owner = (uint32_t)(a - w->allocators) + 1;
    uint64_t known = 0, unused;
    bool was_live = tbp_rec_live_take(&w->live, owner, r->address, &known, &unused);
    if (was_live)
        release(a, known);
    if (r->kind == TBP_GPU_FREE) {
        if (!was_live)
            release(a, r->copy.bytes);
        return was_live ? known : r->copy.bytes;
    }
    a->in_use_bytes += r->copy.bytes;
    a->peak_bytes = a->in_use_bytes > a->peak_bytes ? a->in_use_bytes : a->peak_bytes;
    if (w->live.n_used < MAX_LIVE)
        tbp_rec_live_put(&w->live, owner, r->address, r->copy.bytes, 0);
    else
        w->n_losses[TBP_GPU_LOSS_UNTRACKED]++;
    return r->copy.bytes;
}

/* start_ns is the session's here. */
static struct tbp_spool_gpu base_of(const struct tbp_cupti_record *r) {
    return (struct tbp_spool_gpu){
        .start_ns = (int64_t)r->start_ns,
        .duration_ns = r->end_ns - r->start_ns,
        .device = r->device,
        .context = r->context,
        .stream = r->stream,
        .correlation = r->correlation,
        .graph = r->graph,
        .tid = (int32_t)r->thread,
        .graph_node = r->graph_node,
    };
}

static void put_memory(struct tbp_gpu_writer *w, const struct tbp_cupti_record *r) {
    tell_device(w, r->device);
    struct tbp_gpu_allocator *a = allocator_of(w, r);
    if (r->pool) /* what the pool has of the device, at this time */
        a->capacity_bytes = r->pool_bytes ? r->pool_bytes : a->capacity_bytes;
    if (r->cupti_kind == TBP_CUPTI_MEMORY_POOL)
        return;
    struct tbp_spool_gpu base = base_of(r);
    struct tbp_spool_gpu_memory memory = {.address = r->address, .bytes = account(w, a, r)};
    memory.in_use_bytes = a->in_use_bytes;
    memory.peak_bytes = a->peak_bytes;
    memory.capacity_bytes = a->capacity_bytes;
    put(a->name, TBP_REC_GPU, r->kind, &base, sizeof base, &memory, sizeof memory);
}

static int by_start(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct tbp_cupti_record *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

void tbp_gpu_writer_flush(struct tbp_gpu_writer *w) {
    tbp_sort(w->memory.at, w->memory.n, sizeof *w->memory.at, by_start, NULL);
    for (size_t i = 0; i < w->memory.n; i++)
        put_memory(w, &w->memory.at[i]);
    w->memory.n = 0;
    w->n_losses[TBP_GPU_LOSS_CLOCK_STEPS] = w->clock.n_steps;
    w->clock.n_steps = 0;
    for (int i = 0; i < TBP_GPU_LOSSES; i++) {
        if (w->n_losses[i])
            put_loss((enum tbp_gpu_loss)i, w->n_losses[i]);
        w->n_losses[i] = 0;
    }
}

/* ---- the rest ---- */

static uint32_t name_of(struct tbp_gpu_writer *w, const struct tbp_cupti_record *r) {
    char graph[32];
    switch (r->kind) {
    case TBP_GPU_MEMCPY:
        return name_id(w, *tbp_cupti_copy_name(r->code) ? tbp_cupti_copy_name(r->code) : "Memcpy");
    case TBP_GPU_MEMSET:
        return name_id(w, "Memset");
    case TBP_GPU_SYNC:
        return name_id(w, tbp_cupti_sync_name(r->code));
    case TBP_GPU_OVERHEAD:
        if (r->cupti_kind == TBP_CUPTI_JIT)
            return name_id(w, tbp_cupti_jit_name(r->code));
        return name_id(w, tbp_cupti_overhead_name(r->code));
    case TBP_GPU_FAULTS:
        return name_id(w, "GPU page faults");
    case TBP_GPU_GRAPH:
        snprintf(graph, sizeof graph, "CudaGraphExec:%u", r->graph);
        return name_id(w, graph);
    default:
        return name_id(w, r->name ? r->name : "(no name)");
    }
}

/* To the session's clock; false: there is no place for it, which is counted. */
static bool place(struct tbp_gpu_writer *w, struct tbp_cupti_record *r) {
    int64_t start_ns;
    enum tbp_gpu_loss loss = TBP_GPU_LOSSES;
    if (r->start_ns == 0 && r->end_ns == 0)
        loss = TBP_GPU_LOSS_TIMELESS;
    else if (r->end_ns < r->start_ns)
        loss = TBP_GPU_LOSS_BACKWARDS;
    else if (!tbp_gpu_clock_map(&w->clock, r->start_ns, &start_ns))
        loss = TBP_GPU_LOSS_OTHER_CLOCK;
    else if (start_ns + (int64_t)(r->end_ns - r->start_ns) < w->clock.start_ns)
        loss = TBP_GPU_LOSS_EARLY;
    if (loss != TBP_GPU_LOSSES) {
        w->n_losses[loss]++;
        return false;
    }
    r->end_ns = (uint64_t)start_ns + (r->end_ns - r->start_ns);
    r->start_ns = (uint64_t)start_ns;
    return true;
}

/* What the system calls a thread, for those that record nothing else. */
static void tell_thread(struct tbp_gpu_writer *w, int32_t tid) {
    bool is_new;
    char path[64], name[64];
    struct tbp_spool_gpu base = {.tid = tid};
    tell_names(w); /* what the program calls it goes before */
    *tbp_idmap_put(&w->threads, (uint32_t)tid, &is_new) = 1;
    if (!is_new)
        return;
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof name);
    if (fd >= 0)
        close(fd);
    if (n > 1) /* with a new-line */
        put(string_id(name, (size_t)n - 1), TBP_REC_GPU, TBP_GPU_THREAD, &base, sizeof base, NULL,
            0);
}

static void put_call(struct tbp_gpu_writer *w, const struct tbp_cupti_record *r) {
    uint32_t domain = r->cupti_kind == TBP_CUPTI_RUNTIME ? TBP_GPU_API_RUNTIME : TBP_GPU_API_DRIVER;
    uint32_t name = call_id(w, domain, r->code);
    struct tbp_spool_gpu base = base_of(r);
    base.device = domain;
    if (!name)
        return;
    tell_thread(w, base.tid);
    put(name, TBP_REC_GPU, TBP_GPU_API, &base, sizeof base, NULL, 0);
}

static void put_work(struct tbp_gpu_writer *w, const struct tbp_cupti_record *r) {
    struct tbp_spool_gpu base = base_of(r);
    const void *more = NULL;
    size_t more_bytes = 0;
    if (r->kind == TBP_GPU_KERNEL) {
        more = &r->launch;
        more_bytes = sizeof r->launch;
    } else if (r->kind == TBP_GPU_MEMCPY || r->kind == TBP_GPU_MEMSET ||
               r->kind == TBP_GPU_FAULTS) {
        more = &r->copy;
        more_bytes = sizeof r->copy;
    }
    if (r->kind == TBP_GPU_KERNEL || more || r->kind == TBP_GPU_GRAPH)
        tell_device(w, r->device);
    tell_names(w);
    put(name_of(w, r), TBP_REC_GPU, r->kind, &base, sizeof base, more, more_bytes);
}

static void take_memory(struct tbp_gpu_writer *w, const struct tbp_cupti_record *r) {
    struct tbp_cupti_record *kept = tbp_vec_push(&w->memory);
    *kept = *r;
    if (r->cupti_kind == TBP_CUPTI_MEMORY_POOL)
        kept->copy.target = TBP_GPU_MEMORY_DEVICE;
    else if (!r->copy.is_async)
        kept->pool = 0;
}

void tbp_gpu_writer_take(struct tbp_gpu_writer *w, const struct tbp_cupti_record *given) {
    struct tbp_cupti_record r = *given;
    bool is_pool = r.cupti_kind == TBP_CUPTI_MEMORY_POOL;
    if (r.cupti_kind == TBP_CUPTI_DEVICE)
        take_device(w, &r);
    if (r.cupti_kind == TBP_CUPTI_NAME)
        take_name(w, &r);
    if ((r.kind == TBP_GPU_NONE && !is_pool) || !place(w, &r))
        return;
    w->n_records++;
    if (is_pool || r.kind == TBP_GPU_ALLOC || r.kind == TBP_GPU_FREE)
        take_memory(w, &r);
    else if (r.kind == TBP_GPU_API)
        put_call(w, &r);
    else
        put_work(w, &r);
}
