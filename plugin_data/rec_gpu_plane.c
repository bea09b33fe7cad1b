/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_gpu_plane.h.
 */
#include "plugin_data/rec_gpu_plane.h"

#include "plugin_data/number_out.h"
#include "plugin_data/rec_occupancy.h"

#include <stdio.h>

/* X(suffix, text): stats of events and planes, by number. */
#define GPU_STATS(X)                                                                               \
    X(CORRELATION, "correlation_id")                                                               \
    X(CONTEXT, "context_id")                                                                       \
    X(TF_OP, "tf_op")                                                                              \
    X(KERNEL_DETAILS, "kernel_details")                                                            \
    X(OCCUPANCY, "theoretical_occupancy_pct")                                                      \
    X(MEMCPY_DETAILS, "memcpy_details")                                                            \
    X(MEMSET_DETAILS, "Memset_details")                                                            \
    X(FAULTS, "page_faults")                                                                       \
    X(GIVEN_NAME, "given_name")                                                                    \
    X(GRAPH, "cuda_graph_id")                                                                      \
    X(GRAPH_NODE, "cuda_graph_node_id")                                                            \
    X(VENDOR, "device_vendor")                                                                     \
    X(NAME, "gpu_device_name")                                                                     \
    X(CLOCK_RATE, "clock_rate")                                                                    \
    X(CORE_COUNT, "core_count")                                                                    \
    X(MEMORY_BANDWIDTH, "memory_bandwidth")                                                        \
    X(MEMORY_SIZE, "memory_size")                                                                  \
    X(COMPUTE_MAJOR, "compute_cap_major")                                                          \
    X(COMPUTE_MINOR, "compute_cap_minor")

enum gpu_stat {
    STAT_NONE,
#define X(id, text) STAT_##id,
    GPU_STATS(X)
#undef X
        STATS_KNOWN
};
static const struct tbp_str stat_names[] = {TBP_STR_INIT(""),
#define X(id, text) TBP_STR_INIT(text),
                                            GPU_STATS(X)
#undef X
};

struct tbp_rec_gpu_names {    /* of one plane */
    struct tbp_strtab events; /* number + 1 */
    struct tbp_strtab texts;  /* number + STATS_KNOWN: what stats refer to */
};

static const char *const memory_words[TBP_GPU_MEMORY_KINDS] = {
    "unknown", "pageable", "pinned",        "device",
    "array",   "managed",  "device_static", "managed_static"};

struct writing { /* one plane */
    struct tbp_rec_gpu_planes *p;
    struct tbp_rec_gpu_names *names;
    const struct tbp_spool_gpu_device *device; /* NULL: nothing is known of it */
    struct tbp_str device_name;
    struct tbp_xspace_out *o;
    uint32_t ordinal;
};

void tbp_rec_gpu_planes_init(struct tbp_rec_gpu_planes *p, const struct tbp_rec_gpu *g,
                             struct tbp_arena *arena) {
    *p = (struct tbp_rec_gpu_planes){.gpu = g, .arena = arena, .max_start_ps = INT64_MAX};
    p->names = TBP_NEW_N(arena, struct tbp_rec_gpu_names, g->ordinals.n + 1);
}

void tbp_rec_gpu_planes_release(struct tbp_rec_gpu_planes *p) {
    for (size_t i = 0; p->gpu && i < p->gpu->ordinals.n; i++) {
        tbp_strtab_release(&p->names[i].events);
        tbp_strtab_release(&p->names[i].texts);
    }
}

/* ---- texts ---- */

/* A number of the text in the table, which keeps a copy of a new one. */
static uint32_t number_in(struct tbp_strtab *t, struct tbp_arena *arena, struct tbp_str s) {
    uint32_t known = tbp_strtab_get(t, s);
    return known != TBP_MAP_NONE ? known : tbp_strtab_put(t, tbp_arena_str(arena, s));
}

static void put_text(struct writing *w, enum gpu_stat stat, struct tbp_str text) {
    uint32_t number = number_in(&w->names->texts, w->p->arena, text);
    tbp_xspace_stat_ref(w->o, stat, (int64_t)number + STATS_KNOWN);
}

static void put_printed(struct writing *w, enum gpu_stat stat, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void put_printed(struct writing *w, enum gpu_stat stat, const char *fmt, ...) {
    char text[256];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_text(w, stat, (struct tbp_str){text, (size_t)n < sizeof text ? (size_t)n : sizeof text});
}

static const char *memory_word(uint8_t kind) {
    return memory_words[kind < TBP_GPU_MEMORY_KINDS ? kind : TBP_GPU_MEMORY_UNKNOWN];
}

static void put_launch(struct writing *w, const struct tbp_spool_gpu_launch *l) {
    struct tbp_rec_occupancy occupancy = {0, 0};
    char percent[TBP_NUMBER_MAX + 1];
    if (w->device)
        occupancy = tbp_rec_occupancy(w->device, l);
    percent[tbp_number_g(percent, occupancy.percent)] = '\0';
    put_printed(w, STAT_KERNEL_DETAILS,
                "regs:%u static_shared:%u dynamic_shared:%u grid:%u,%u,%u block:%u,%u,%u "
                "occ_pct:%s",
                l->registers, l->static_shared_bytes, l->dynamic_shared_bytes, l->grid[0],
                l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], percent);
    tbp_xspace_stat_double(w->o, STAT_OCCUPANCY, occupancy.percent);
}

static void put_copy(struct writing *w, enum tbp_gpu_kind kind,
                     const struct tbp_spool_gpu_copy *c) {
    if (kind == TBP_GPU_MEMSET)
        put_printed(w, STAT_MEMSET_DETAILS, "kind:%s num_bytes:%llu async:%u",
                    memory_word(c->target), (unsigned long long)c->bytes, c->is_async);
    else
        put_printed(w, STAT_MEMCPY_DETAILS, "kind_src:%s kind_dst:%s size:%llu dest:%u async:%u",
                    memory_word(c->source), memory_word(c->target), (unsigned long long)c->bytes,
                    c->peer, c->is_async);
}

/* ---- events ---- */

static void put_event(struct writing *w, const struct tbp_rec_span *span) {
    const struct tbp_rec_gpu *g = w->p->gpu;
    struct tbp_rec r = tbp_rec_at(g->recording, span->slot);
    enum tbp_gpu_kind kind = tbp_rec_gpu_kind(&r);
    const struct tbp_spool_gpu *base = tbp_rec_gpu_base(&r, 0);
    if (span->start_ps > w->p->max_start_ps) {
        w->p->n_too_late++;
        return;
    }
    struct tbp_str op = tbp_rec_gpu_op(g, base->correlation);
    uint32_t name = number_in(&w->names->events, w->p->arena, tbp_rec_name(g->recording, &r));
    tbp_xspace_event(w->o, (int64_t)name + 1, span->start_ps, span->dur_ps);
    if (base->correlation)
        tbp_xspace_stat_u64(w->o, STAT_CORRELATION, base->correlation);
    if (base->context)
        put_printed(w, STAT_CONTEXT, "$$%u", base->context);
    if (op.n)
        put_text(w, STAT_TF_OP, op);
    if (kind == TBP_GPU_KERNEL)
        put_launch(w, (const void *)(base + 1));
    else if (kind == TBP_GPU_MEMCPY || kind == TBP_GPU_MEMSET)
        put_copy(w, kind, (const void *)(base + 1));
    else if (kind == TBP_GPU_FAULTS)
        tbp_xspace_stat_u64(w->o, STAT_FAULTS,
                            ((const struct tbp_spool_gpu_copy *)(const void *)(base + 1))->bytes);
    if (base->graph)
        tbp_xspace_stat_u64(w->o, STAT_GRAPH, base->graph);
    if (base->graph_node)
        tbp_xspace_stat_u64(w->o, STAT_GRAPH_NODE, base->graph_node);
    w->p->n_events++;
}

/* ---- lines ---- */

/* What a line's name says of its events. */
static const char *word_of(const struct tbp_recording *s, const struct tbp_rec *r) {
    static const struct {
        const char *name, *word;
    } copies[] = {{"MemcpyHtoD", "MemcpyH2D"},
                  {"MemcpyDtoH", "MemcpyD2H"},
                  {"MemcpyDtoD", "MemcpyD2D"},
                  {"MemcpyPtoP", "MemcpyP2P"}};
    enum tbp_gpu_kind kind = tbp_rec_gpu_kind(r);
    if (kind != TBP_GPU_MEMCPY)
        return kind == TBP_GPU_KERNEL ? "Compute" : kind == TBP_GPU_GRAPH ? "CudaGraph" : "Memset";
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (tbp_str_is(tbp_rec_name(s, r), copies[i].name))
            return copies[i].word;
    return "MemcpyOther";
}

static struct tbp_str line_name(struct writing *w, const struct tbp_rec_gpu_line *l) {
    static const char *const words[] = {"Compute",   "CudaGraph",   "MemcpyD2D", "MemcpyD2H",
                                        "MemcpyH2D", "MemcpyOther", "MemcpyP2P", "Memset"};
    enum { N_WORDS = sizeof words / sizeof *words };
    const struct tbp_recording *s = w->p->gpu->recording;
    char name[160];
    unsigned seen = 0;
    for (size_t i = l->first; i < l->first + l->n && seen != (1u << N_WORDS) - 1; i++) {
        struct tbp_rec r = tbp_rec_at(s, w->p->gpu->events.at[i].span.slot);
        const char *word = word_of(s, &r);
        for (unsigned k = 0; k < N_WORDS; k++)
            seen |= (unsigned)(strcmp(word, words[k]) == 0) << k;
    }
    if (l->stream == TBP_GPU_UNIFIED_STREAM)
        return TBP_STR("Unified memory");
    int n = snprintf(name, sizeof name, "Stream #%u", l->stream);
    for (unsigned k = 0, first = 1; k < N_WORDS; k++) {
        if (!(seen >> k & 1))
            continue;
        n += snprintf(name + n, sizeof name - (size_t)n, "%s%s", first ? "(" : ",", words[k]);
        first = 0;
    }
    struct tbp_str given =
        tbp_rec_gpu_given(w->p->gpu, TBP_GPU_NAMED_STREAM, l->device, l->context, l->stream);
    struct tbp_str context =
        tbp_rec_gpu_given(w->p->gpu, TBP_GPU_NAMED_CONTEXT, l->device, l->context, 0);
    return tbp_str_c(tbp_arena_printf(w->p->arena, "%s)%s%.*s%s%.*s", name, given.n ? " " : "",
                                      (int)given.n, given.p, context.n ? " of " : "",
                                      (int)context.n, context.p));
}

/* Streams of several contexts may have one number. */
static int64_t line_id(const struct tbp_rec_gpu *g, size_t line) {
    const struct tbp_rec_gpu_line *l = &g->lines.at[line];
    for (size_t i = TBP_REC_GPU_HOST_LINES; i < line; i++)
        if (g->lines.at[i].device == l->device && g->lines.at[i].stream == l->stream)
            return (int64_t)((uint64_t)l->context << 32 | l->stream);
    return l->stream;
}

static void put_line(struct writing *w, size_t line) {
    const struct tbp_rec_gpu_line *l = &w->p->gpu->lines.at[line];
    tbp_xspace_line(
        w->o, &(struct tbp_xspace_line){.id = line_id(w->p->gpu, line), .name = line_name(w, l)});
    for (size_t i = l->first; i < l->first + l->n; i++)
        put_event(w, &w->p->gpu->events.at[i].span);
}

/* ---- planes ---- */

static void find_device(struct writing *w) {
    const struct tbp_rec_gpu *g = w->p->gpu;
    uint32_t slot = tbp_idmap_get(&g->devices, w->ordinal);
    if (slot == TBP_MAP_NONE)
        return;
    struct tbp_rec r = tbp_rec_at(g->recording, slot);
    w->device = (const void *)(r.at + 1);
    w->device_name = tbp_rec_name(g->recording, &r);
}

static void put_device(struct writing *w) {
    const struct tbp_spool_gpu_device *d = w->device;
    struct tbp_str given = tbp_rec_gpu_given(w->p->gpu, TBP_GPU_NAMED_DEVICE, w->ordinal, 0, 0);
    tbp_xspace_stat_str(w->o, STAT_VENDOR, TBP_STR("Nvidia"));
    if (given.n)
        tbp_xspace_stat_str(w->o, STAT_GIVEN_NAME, given);
    if (!d)
        return;
    uint64_t bandwidth = (uint64_t)d->memory_clock_khz * 2000 * (d->bus_width_bits / 8);
    tbp_xspace_stat_str(w->o, STAT_NAME, w->device_name);
    tbp_xspace_stat_i64(w->o, STAT_CLOCK_RATE, d->clock_khz);
    tbp_xspace_stat_i64(w->o, STAT_CORE_COUNT, d->multiprocessors);
    tbp_xspace_stat_u64(w->o, STAT_MEMORY_BANDWIDTH, bandwidth ? bandwidth : d->bandwidth_bytes);
    tbp_xspace_stat_u64(w->o, STAT_MEMORY_SIZE, d->memory_bytes);
    tbp_xspace_stat_i64(w->o, STAT_COMPUTE_MAJOR, d->compute_major);
    tbp_xspace_stat_i64(w->o, STAT_COMPUTE_MINOR, d->compute_minor);
}

static void put_names(struct writing *w) {
    const struct tbp_rec_gpu_names *n = w->names;
    for (size_t i = 0; i < n->events.n; i++)
        tbp_xspace_event_name(w->o, (int64_t)i + 1, n->events.strs[i], TBP_STR_NONE);
    for (int i = 1; i < STATS_KNOWN; i++)
        tbp_xspace_stat_name(w->o, i, stat_names[i]);
    for (size_t i = 0; i < n->texts.n; i++)
        tbp_xspace_stat_name(w->o, (int64_t)i + STATS_KNOWN, n->texts.strs[i]);
}

static void put_plane(struct writing *w) {
    char name[40];
    int n = snprintf(name, sizeof name, "/device:GPU:%u", w->ordinal);
    find_device(w);
    tbp_xspace_plane(w->o, w->ordinal, (struct tbp_str){name, (size_t)n});
    for (size_t i = TBP_REC_GPU_HOST_LINES; i < w->p->gpu->lines.n; i++)
        if (w->p->gpu->lines.at[i].device == w->ordinal && w->p->gpu->lines.at[i].n > 0)
            put_line(w, i);
    put_names(w);
    put_device(w);
}

void tbp_rec_gpu_planes_write(struct tbp_rec_gpu_planes *p, struct tbp_xspace_out *o) {
    p->n_events = p->n_too_late = 0;
    for (size_t i = 0; i < p->gpu->ordinals.n; i++) {
        struct writing w = {
            .p = p, .names = &p->names[i], .o = o, .ordinal = p->gpu->ordinals.at[i]};
        put_plane(&w);
    }
}

/* ---- on lines of the host ---- */

struct tbp_rec_label tbp_rec_gpu_label(struct tbp_rec_names *names, const struct tbp_rec *r) {
    enum tbp_gpu_kind kind = tbp_rec_gpu_kind(r);
    struct tbp_rec_label label = {.pairs = TBP_STR_NONE, .own = TBP_STR_NONE};
    if (kind != TBP_GPU_ALLOC && kind != TBP_GPU_FREE)
        return tbp_rec_names_label(names, r);
    label.event = kind == TBP_GPU_ALLOC ? TBP_REC_EVENT_ALLOCATION : TBP_REC_EVENT_DEALLOCATION;
    return label;
}

static void memory_stats(const struct tbp_rec_gpu *g, struct tbp_rec_stats *stats,
                         const struct tbp_rec *r, const struct tbp_spool_gpu *base) {
    const struct tbp_spool_gpu_memory *m = (const void *)(base + 1);
    uint64_t free_bytes =
        m->capacity_bytes > m->in_use_bytes ? m->capacity_bytes - m->in_use_bytes : 0;
    struct tbp_str op = tbp_rec_gpu_op(g, base->correlation);
    if (r->at->name)
        tbp_rec_stats_ref(stats, TBP_REC_STAT_ALLOCATOR,
                          tbp_rec_names_value(stats->names, r->at->name));
    tbp_rec_stats_i64(stats, TBP_REC_STAT_RESERVED, 0);
    tbp_rec_stats_i64(stats, TBP_REC_STAT_ALLOCATED, (int64_t)m->in_use_bytes);
    tbp_rec_stats_i64(stats, TBP_REC_STAT_AVAILABLE, (int64_t)free_bytes);
    tbp_rec_stats_i64(stats, TBP_REC_STAT_PEAK, (int64_t)m->peak_bytes);
    tbp_rec_stats_i64(stats, TBP_REC_STAT_REQUESTED, (int64_t)m->bytes);
    tbp_rec_stats_i64(stats, TBP_REC_STAT_ALLOCATION, (int64_t)m->bytes);
    tbp_rec_stats_u64(stats, TBP_REC_STAT_ADDRESS, m->address);
    if (op.n && tbp_rec_gpu_kind(r) == TBP_GPU_ALLOC)
        tbp_rec_stats_text(stats, TBP_REC_STAT_TF_OP, op);
}

void tbp_rec_gpu_stats(const struct tbp_rec_gpu *g, struct tbp_rec_stats *stats,
                       const struct tbp_rec *r) {
    const struct tbp_spool_gpu *base = tbp_rec_gpu_base(r, 0);
    enum tbp_gpu_kind kind = tbp_rec_gpu_kind(r);
    if (kind == TBP_GPU_ALLOC || kind == TBP_GPU_FREE)
        memory_stats(g, stats, r, base);
    else if (kind == TBP_GPU_API && base->correlation)
        tbp_rec_stats_u64(stats, TBP_REC_STAT_CORRELATION, base->correlation);
}
