/* SPDX-License-Identifier: Apache-2.0
 *
 * See gpu_trace.h. Details of kernels and copies are texts of the form that CUPTI's collector of
 * XLA writes (`regs:32 static_shared:0 …`), which tables parse.
 */
#include "convert/read/gpu_trace.h"
#include "base/sort.h"
#include "convert/read/step_name.h"
#include "plugin_data/rec_occupancy.h"

#include <stdio.h>

void tbp_gpu_trace_init(struct tbp_gpu_trace *g, struct tbp_host *host, const char *vendor) {
    *g = (struct tbp_gpu_trace){.last_ns = INT64_MIN, .vendor = vendor};
    tbp_trace_init(&g->t, host);
    g->kernel_details = tbp_trace_text(&g->t, TBP_STR("kernel_details"));
    g->memcpy_details = tbp_trace_text(&g->t, TBP_STR("memcpy_details"));
    g->memset_details = tbp_trace_text(&g->t, TBP_STR("Memset_details"));
    g->domain = tbp_trace_text(&g->t, TBP_STR("nvtx_domain"));
}

void tbp_gpu_trace_release(struct tbp_gpu_trace *g) {
    tbp_trace_release(&g->t);
    tbp_vec_release(&g->text);
    tbp_vec_release(&g->devices);
    tbp_vec_release(&g->marks);
    tbp_vec_release(&g->open);
}

/* ---- time and counts ---- */

void tbp_gpu_set_time(struct tbp_gpu_trace *g, struct tbp_trace_event *e, int64_t start_ns,
                      int64_t end_ns) {
    struct tbp_ledger *l = &g->t.host->ledger;
    int64_t dur_ns;
    e->start_ns = start_ns;
    e->dur_ps = 0;
    bool is_too_long =
        __builtin_sub_overflow(end_ns, start_ns, &dur_ns) || dur_ns > INT64_MAX / 1000;
    if (end_ns < start_ns || is_too_long) {
        tbp_ledger_count(l, end_ns < start_ns ? TBP_LEDGER_NEGATIVE_TIME : TBP_LEDGER_TIME_OVERFLOW,
                         1, TBP_NO_OFFSET);
        return;
    }
    e->dur_ps = (uint64_t)dur_ns * 1000u;
    g->last_ns = end_ns > g->last_ns ? end_ns : g->last_ns;
}

void tbp_gpu_no_time(struct tbp_gpu_trace *g) {
    struct tbp_ledger *l = &g->t.host->ledger;
    l->events_read++;
    l->events_quarantined++;
    tbp_ledger_count(l, TBP_LEDGER_NO_TIME, 1, TBP_NO_OFFSET);
}

void tbp_gpu_not_shown(struct tbp_gpu_trace *g, uint64_t n) {
    struct tbp_ledger *l = &g->t.host->ledger;
    l->events_read += n;
    l->events_dropped += n;
    if (n)
        tbp_ledger_count(l, TBP_LEDGER_NOT_SHOWN, n, TBP_NO_OFFSET);
}

/* ---- lines ---- */

uint32_t tbp_gpu_line(struct tbp_gpu_trace *g, const char *what, int64_t a, int64_t b) {
    char name[96];
    int n = snprintf(name, sizeof name, "%s %lld/%lld", what, (long long)a, (long long)b);
    return tbp_trace_line(&g->t, 0, (struct tbp_str){name, (size_t)n});
}

uint32_t tbp_gpu_stream(struct tbp_gpu_trace *g, int64_t device, int64_t stream) {
    enum { MAX_DEVICE = 499 };
    bool is_known = device >= 0 && device <= MAX_DEVICE;
    return tbp_trace_stream(&g->t, is_known ? (uint32_t)device : 0, stream);
}

/* ---- details ---- */

static void put(struct tbp_gpu_trace *g, struct tbp_str s) {
    tbp_vec_reserve(&g->text, g->text.n + s.n);
    memcpy(g->text.at + g->text.n, s.p, s.n);
    g->text.n += s.n;
}

static void put_number(struct tbp_gpu_trace *g, const char *key, uint64_t v) {
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)v);
    put(g, tbp_str_c(key));
    put(g, (struct tbp_str){digits, (size_t)n});
}

static void put_dims(struct tbp_gpu_trace *g, const char *key, const uint64_t dims[3]) {
    put_number(g, key, dims[0]);
    put_number(g, ",", dims[1]);
    put_number(g, ",", dims[2]);
}

/* 66667 thousandths as 66.667, 50000 as 50. */
static void put_thousandths(struct tbp_gpu_trace *g, const char *key, uint64_t v) {
    put_number(g, key, v / 1000);
    if (v % 1000 == 0)
        return;
    char digits[8];
    int n = snprintf(digits, sizeof digits, ".%03u", (unsigned)(v % 1000));
    while (digits[n - 1] == '0')
        n--;
    put(g, (struct tbp_str){digits, (size_t)n});
}

static uint32_t take_text(struct tbp_gpu_trace *g) {
    struct tbp_str s = {g->text.at, g->text.n};
    g->text.n = 0;
    return tbp_trace_text(&g->t, s);
}

static void add_details(struct tbp_gpu_trace *g, uint32_t key) {
    tbp_trace_stat_text(&g->t, TBP_TRACE_SHARED, key, take_text(g));
}

static const struct tbp_gpu_device *device_of(const struct tbp_gpu_trace *g, uint32_t ordinal) {
    for (size_t i = 0; i < g->devices.n; i++)
        if (g->devices.at[i].ordinal == ordinal)
            return &g->devices.at[i];
    return NULL;
}

static uint32_t narrow(uint64_t v) {
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

/* In thousandths of a per cent; 0: not known. From compute capability 8 on the system takes one KiB
 * of shared memory for itself in every block. */
static uint64_t occupancy_of(const struct tbp_gpu_device *d, const struct tbp_gpu_kernel *k) {
    const struct tbp_spool_gpu_device device = {
        .compute_major = narrow(d->major),
        .compute_minor = narrow(d->minor),
        .max_threads = narrow(d->max_warps * 32),
        .max_blocks = narrow(d->max_blocks),
        .registers = narrow(d->registers),
        .shared_bytes = narrow(d->shared_bytes),
        .reserved_shared_bytes = d->major >= 8 ? 1024 : 0,
    };
    const struct tbp_spool_gpu_launch launch = {
        .block = {narrow(k->block[0]), narrow(k->block[1]), narrow(k->block[2])},
        .registers = narrow(k->registers),
        .static_shared_bytes = narrow(k->static_shared),
        .dynamic_shared_bytes = narrow(k->dynamic_shared),
    };
    return (uint64_t)(tbp_rec_occupancy(&device, &launch).percent * 1000 + 0.5);
}

void tbp_gpu_add_work(struct tbp_gpu_trace *g, const struct tbp_trace_event *e) {
    struct tbp_trace_event of_device = *e;
    of_device.flags |= TBP_TRACE_DEVICE;
    g->n_device++;
    tbp_trace_add(&g->t, &of_device);
}

void tbp_gpu_add_kernel(struct tbp_gpu_trace *g, const struct tbp_trace_event *e,
                        const struct tbp_gpu_kernel *k) {
    const struct tbp_gpu_device *d = device_of(g, k->device);
    put_number(g, "regs:", k->registers);
    put_number(g, " static_shared:", k->static_shared);
    put_number(g, " dynamic_shared:", k->dynamic_shared);
    put_dims(g, " grid:", k->grid);
    put_dims(g, " block:", k->block);
    put_thousandths(g, " occ_pct:", d ? occupancy_of(d, k) : 0);
    add_details(g, g->kernel_details);
    tbp_gpu_add_work(g, e);
}

static const char *const memory_kinds[] = {"unknown",       "pageable",      "pinned",
                                           "device",        "array",         "managed",
                                           "device_static", "managed_static"};
static const char *const shown_kinds[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                          "Array",   "Managed",  "Device Static", "Managed Static"};
static const char *const copy_kinds[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                         "DtoA", "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
enum { MEMORY_KINDS = 8, COPY_KINDS = 14 };

static const char *text_of(const char *const *texts, int64_t n, int64_t i) {
    return texts[i >= 0 && i < n ? i : 0];
}

void tbp_gpu_add_copy(struct tbp_gpu_trace *g, const struct tbp_trace_event *e, int64_t kind,
                      int64_t from, int64_t to, uint64_t bytes) {
    struct tbp_trace_event copy = *e;
    put(g, TBP_STR("Memcpy"));
    put(g, tbp_str_c(text_of(copy_kinds, COPY_KINDS, kind)));
    if (from > 0 || to > 0) {
        put(g, TBP_STR(" ("));
        put(g, tbp_str_c(text_of(shown_kinds, MEMORY_KINDS, from)));
        put(g, TBP_STR(" -> "));
        put(g, tbp_str_c(text_of(shown_kinds, MEMORY_KINDS, to)));
        put(g, TBP_STR(")"));
    }
    copy.name = take_text(g);
    put(g, TBP_STR("kind_src:"));
    put(g, tbp_str_c(text_of(memory_kinds, MEMORY_KINDS, from)));
    put(g, TBP_STR(" kind_dst:"));
    put(g, tbp_str_c(text_of(memory_kinds, MEMORY_KINDS, to)));
    put_number(g, " size:", bytes);
    put(g, TBP_STR(" dest:0 async:1"));
    add_details(g, g->memcpy_details);
    tbp_gpu_add_work(g, &copy);
}

void tbp_gpu_add_memset(struct tbp_gpu_trace *g, const struct tbp_trace_event *e, int64_t kind,
                        uint64_t bytes) {
    struct tbp_trace_event fill = *e;
    put(g, TBP_STR("Memset ("));
    put(g, tbp_str_c(text_of(shown_kinds, MEMORY_KINDS, kind)));
    put(g, TBP_STR(")"));
    fill.name = take_text(g);
    put(g, TBP_STR("kind:"));
    put(g, tbp_str_c(text_of(memory_kinds, MEMORY_KINDS, kind)));
    put_number(g, " num_bytes:", bytes);
    put(g, TBP_STR(" async:1"));
    add_details(g, g->memset_details);
    tbp_gpu_add_work(g, &fill);
}

void tbp_gpu_add_wait(struct tbp_gpu_trace *g, const struct tbp_trace_event *e, int64_t kind) {
    static const char *const names[] = {"Synchronization", "Event Sync", "Stream Wait Event",
                                        "Stream Sync", "Context Sync"};
    enum { KINDS = sizeof names / sizeof *names };
    struct tbp_trace_event wait = *e;
    wait.name = tbp_trace_text(&g->t, tbp_str_c(text_of(names, KINDS, kind)));
    tbp_trace_add(&g->t, &wait);
}

void tbp_gpu_add_call(struct tbp_gpu_trace *g, const struct tbp_trace_event *e) {
    struct tbp_trace_event call = *e;
    call.flags |= TBP_TRACE_LAUNCH;
    tbp_trace_add(&g->t, &call);
}

/* ---- ranges and steps ---- */

static void note_mark(struct tbp_gpu_trace *g, uint32_t name, int64_t process) {
    struct tbp_step_name step;
    if (!tbp_step_name_parse(&step, g->t.texts.strs[name]))
        return;
    *tbp_vec_push(&g->marks) = (struct tbp_gpu_mark){.row = g->t.rows.n - 1,
                                                     .stem = tbp_trace_text(&g->t, step.stem),
                                                     .rank = step.rank,
                                                     .has_number = step.has_number,
                                                     .is_unsigned = step.is_unsigned,
                                                     .number = step.number,
                                                     .process = process};
}

void tbp_gpu_add_range(struct tbp_gpu_trace *g, const struct tbp_trace_event *e,
                       const struct tbp_gpu_range *r) {
    struct tbp_trace_event range = *e;
    size_t n = g->t.rows.n;
    if (r->is_nested)
        range.flags |= TBP_TRACE_OP;
    if (r->domain)
        tbp_trace_stat_text(&g->t, TBP_TRACE_SHARED, g->domain, r->domain);
    tbp_trace_add(&g->t, &range);
    if (g->t.rows.n == n) /* refused */
        return;
    if (r->is_open)
        *tbp_vec_push(&g->open) = n;
    note_mark(g, range.name, r->process);
}

/* A range that nobody ended lasts as long as the recording. */
static void close_ranges(struct tbp_gpu_trace *g) {
    for (size_t i = 0; i < g->open.n; i++) {
        struct tbp_trace_row *row = &g->t.rows.at[g->open.at[i]];
        struct tbp_trace_event e = {0};
        tbp_ledger_count(&g->t.host->ledger, TBP_LEDGER_UNFINISHED, 1, TBP_NO_OFFSET);
        if (g->last_ns > row->start_ns)
            tbp_gpu_set_time(g, &e, row->start_ns, g->last_ns);
        row->dur_ps = e.dur_ps;
    }
}

struct series {
    uint32_t stem;
    unsigned rank;
    int64_t process, first_ns;
    uint64_t n, total_ps;
};

static bool is_better(const struct tbp_trace *t, const struct series *a, const struct series *b) {
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->stem != b->stem && a->total_ps != b->total_ps)
        return a->total_ps > b->total_ps;
    if (a->stem != b->stem)
        return tbp_str_cmp(t->texts.strs[a->stem], t->texts.strs[b->stem]) < 0;
    if (a->n != b->n)
        return a->n > b->n;
    return a->first_ns != b->first_ns ? a->first_ns < b->first_ns : a->process < b->process;
}

/* Marks by stem and process, one series each. There are few: names are not numbered. */
static struct series best_series(const struct tbp_gpu_trace *g) {
    TBP_VEC(struct series) all = {0};
    struct tbp_idmap index = {0};
    bool is_new;
    for (size_t i = 0; i < g->marks.n; i++) {
        const struct tbp_gpu_mark *m = &g->marks.at[i];
        const struct tbp_trace_row *row = &g->t.rows.at[m->row];
        uint64_t key = (uint64_t)m->stem << 32 ^ (uint64_t)m->process;
        uint32_t *at = tbp_idmap_put(&index, key, &is_new);
        if (is_new) {
            *at = (uint32_t)all.n;
            *tbp_vec_push(&all) =
                (struct series){m->stem, m->rank, m->process, row->start_ns, 0, 0};
        }
        struct series *s = &all.at[*at];
        s->n++;
        s->total_ps += row->dur_ps;
        s->first_ns = row->start_ns < s->first_ns ? row->start_ns : s->first_ns;
    }
    struct series best = all.at[0];
    for (size_t i = 1; i < all.n; i++)
        if (is_better(&g->t, &all.at[i], &best))
            best = all.at[i];
    tbp_vec_release(&all);
    tbp_idmap_release(&index);
    return best;
}

static int by_start(const void *a, const void *b, void *ctx) {
    const struct tbp_trace_row *rows = ctx;
    const struct tbp_gpu_mark *x = a, *y = b;
    int64_t s = rows[x->row].start_ns, e = rows[y->row].start_ns;
    return s != e ? (s < e ? -1 : 1) : x->row < y->row ? -1 : x->row > y->row;
}

/* Those without a number are counted from 0. A nested one stays an op, so that what is called in no
 * range within has one; it is that of its series, as there are many. */
static void choose_steps(struct tbp_gpu_trace *g) {
    if (g->marks.n == 0)
        return;
    struct series best = best_series(g);
    int64_t next = 0;
    tbp_sort(g->marks.at, g->marks.n, sizeof *g->marks.at, by_start, g->t.rows.at);
    for (size_t i = 0; i < g->marks.n; i++) {
        const struct tbp_gpu_mark *m = &g->marks.at[i];
        struct tbp_trace_row *row = &g->t.rows.at[m->row];
        if (m->stem != best.stem || m->process != best.process)
            continue;
        row->flags |= TBP_TRACE_STEP;
        tbp_trace_name_op(&g->t, row->name, m->stem);
        row->link = (uint64_t)(m->has_number ? m->number : next++);
        if (m->is_unsigned)
            tbp_step_count_unsigned(g->t.host);
        if (g->n_device == 0)
            tbp_trace_show_step(&g->t, row);
    }
}

/* ---- devices and warnings ---- */

void tbp_gpu_add_device(struct tbp_gpu_trace *g, const struct tbp_gpu_device *d) {
    enum { MAX_DEVICES = 512 };
    if (g->devices.n < MAX_DEVICES && !device_of(g, d->ordinal))
        *tbp_vec_push(&g->devices) = *d;
}

static void describe_device(struct tbp_trace *t, const struct tbp_gpu_device *d) {
    char name[40];
    int n = snprintf(name, sizeof name, "/device:GPU:%u", (unsigned)d->ordinal);
    uint32_t plane = tbp_strtab_get(&t->plane_names, (struct tbp_str){name, (size_t)n});
    if (plane == TBP_MAP_NONE)
        return;
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"clock_rate", d->clock_khz},
                   {"core_count", d->n_sms},
                   {"memory_bandwidth", d->bandwidth_bytes_per_s},
                   {"memory_size", d->memory_bytes},
                   {"compute_cap_major", d->major},
                   {"compute_cap_minor", d->minor}};
    if (d->name.n)
        tbp_trace_plane_text(t, plane, "gpu_device_name", d->name);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value)
            tbp_trace_plane_u64(t, plane, numbers[i].key, numbers[i].value);
}

void tbp_gpu_warn(struct tbp_gpu_trace *g, struct tbp_str text) {
    tbp_trace_warn(&g->t, text);
}

void tbp_gpu_trace_finish(struct tbp_gpu_trace *g, struct tbp_pool *pool) {
    struct tbp_trace *t = &g->t;
    close_ranges(g);
    choose_steps(g);
    for (size_t i = 0; i < g->devices.n; i++)
        describe_device(t, &g->devices.at[i]);
    for (uint32_t i = 0; i < t->planes.n; i++)
        if (tbp_is_gpu_plane(t->planes.at[i].name))
            tbp_trace_plane_text(t, i, "device_vendor", tbp_str_c(g->vendor));
    bool is_cut = t->host->ledger.count[TBP_LEDGER_TABLE_CUT] > 0;
    if (g->n_device == 0)
        tbp_gpu_warn(g, is_cut ? TBP_STR("no GPU operations are in what can be read of this file")
                               : TBP_STR("no GPU operations were recorded in this file"));
    tbp_trace_finish(t, pool);
}
