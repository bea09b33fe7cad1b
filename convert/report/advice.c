/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for suggestions: waiting for data, launches, idle devices, exposed communication, late
 * hosts (from collectives, else from steps); occupancy and tensor cores (from kernels);
 * fragmentation (from memory events); periodic stalls (advice_stalls.c); queues of datasets
 * (advice_queues.c). A rule without its figures says nothing.
 */
#include "convert/report/advice.h"

#include "convert/analyze/kernel_table.h"
#include "convert/model/stats.h"
#include "convert/report/advice_parts.h"
#include "convert/report/collective_calls.h"
#include "convert/report/memory_use.h"
#include "convert/report/step_trace.h"
#include "convert/report/table_out.h"

#define SOME          0.05
#define MUCH          0.20
#define LOW_BUSY      0.50
#define LOW_OCCUPANCY 0.25
#define LATE          0.10
#define FRAGMENTED    0.30

enum { MIN_RESERVED_BYTES = 64 << 20 };

void tbp_advices_init(struct tbp_advices *a) {
    *a = (struct tbp_advices){0};
    tbp_arena_init(&a->arena);
}

void tbp_advices_release(struct tbp_advices *a) {
    tbp_vec_release(&a->list);
    tbp_arena_release(&a->arena);
}

void tbp_advice_add(struct tbp_advices *a, const char *key, double share, const char *text,
                    const char *what) {
    *tbp_vec_push(&a->list) = (struct tbp_advice){key, share, text, what};
}

static const char *time_of(struct tbp_advices *a, double ps) {
    char text[TBP_VALUE_MAX];
    size_t n = tbp_time_text(text, tbp_whole_ps(ps));
    return tbp_arena_printf(&a->arena, "%.*s", (int)n, text);
}

/* ---- steps ---- */

struct step_means { /* over steps that know both the time and their period (else marker) */
    double input, launch, exposed, busy, whole;
    size_t n_input, n_launch, n_busy, n;
};

static int64_t whole_of(const struct tbp_step_times *t) {
    return t->period_ps != TBP_UNKNOWN_PS ? t->period_ps : t->marker_ps;
}

static struct step_means means_of(const struct tbp_step_trace *t) {
    struct step_means m = {0};
    for (size_t i = 0; i < t->list.n; i++) {
        const struct tbp_step_times *s = &t->list.at[i];
        m.whole += (double)whole_of(s);
        m.n++;
        m.n_input += s->input_ps != TBP_UNKNOWN_PS;
        m.input += s->input_ps != TBP_UNKNOWN_PS ? (double)s->input_ps : 0;
        m.n_launch += s->launch_ps != TBP_UNKNOWN_PS;
        m.launch += s->launch_ps != TBP_UNKNOWN_PS ? (double)s->launch_ps : 0;
        m.n_busy += s->busy_ps != TBP_UNKNOWN_PS;
        m.busy += s->busy_ps != TBP_UNKNOWN_PS ? (double)s->busy_ps : 0;
        m.exposed += s->exposed_ps != TBP_UNKNOWN_PS ? (double)s->exposed_ps : 0;
    }
    return m;
}

static void advise_part(struct tbp_advices *a, const char *key, const char *part, double sum,
                        const struct step_means *m, const char *what) {
    double share = m->whole > 0 ? sum / m->whole : 0, n = (double)(m->n ? m->n : 1);
    if (share < SOME)
        return;
    tbp_advice_add(a, key, share,
                   tbp_arena_printf(&a->arena, "%s takes %s of %s per step: %.1f %%%s", part,
                                    time_of(a, sum / n), time_of(a, m->whole / n), share * 100,
                                    share >= MUCH ? ", which is much" : ""),
                   what);
}

static void advise_steps(struct tbp_advices *a, const struct tbp_step_trace *t) {
    struct step_means m = means_of(t);
    double busy = m.whole > 0 ? m.busy / m.whole : 1;
    if (m.n_input)
        advise_part(
            a, "input_bound", "waiting for data", m.input, &m,
            "prefetch and load in parallel (more workers, pinned memory, tf.data.AUTOTUNE), "
            "cache what is read again, do less per element");
    if (m.n_launch && m.n_busy && busy < 1 - MUCH)
        advise_part(
            a, "launch_bound", "launching kernels", m.launch, &m,
            "fewer and larger kernels: compile the model, capture it as a graph, use larger "
            "batches or fused optimizers");
    if (m.n_busy)
        advise_part(a, "communication_bound", "communication beside which nothing is computed",
                    m.exposed, &m,
                    "overlap it with the backward pass (larger or fewer buckets), compress it, or "
                    "accumulate gradients");
    if (m.n_busy == m.n && m.n && busy < LOW_BUSY)
        tbp_advice_add(
            a, "device_idle", 1 - busy,
            tbp_arena_printf(&a->arena, "the device works %s of %s per step: idle %.1f %%",
                             time_of(a, m.busy / (double)m.n), time_of(a, m.whole / (double)m.n),
                             (1 - busy) * 100),
            "look at what the host does meanwhile: 'tbprof steps', 'tbprof stats --sort-by "
            "self-cpu'");
}

static const char late_advice[] =
    "compare its input, clocks and neighbours with those of the others; all wait for it";

/* The host that the others waited longest for; false if nobody knows. */
static bool advise_waited_for(struct tbp_advices *a, const struct tbp_collectives *c) {
    const struct tbp_collective_host *late = NULL;
    double busy = 0, matched = 0;
    for (size_t i = 0; i < c->hosts.n; i++) {
        const struct tbp_collective_host *h = &c->hosts.at[i];
        late = !late || h->waited_for_ps > late->waited_for_ps ? h : late;
        busy = (double)h->busy_ps > busy ? (double)h->busy_ps : busy;
        matched += (double)h->n_matched;
    }
    double share = late && busy > 0 ? (double)late->waited_for_ps / busy : 0;
    if (share >= SOME)
        tbp_advice_add(
            a, "straggler", share,
            tbp_arena_printf(&a->arena,
                             "%.*s came last in %llu of its %llu collectives, the others waited "
                             "%s for it: %.1f %% of the time that devices work",
                             (int)late->name.n, late->name.p, (unsigned long long)late->n_late,
                             (unsigned long long)late->n_matched,
                             time_of(a, (double)late->waited_for_ps), share * 100),
            late_advice);
    return matched > 0;
}

/* Mean step of each host against the fastest. */
static void advise_late(struct tbp_advices *a, const struct tbp_step_trace *t) {
    double best = 0, worst = 0;
    struct tbp_str late = TBP_STR_NONE;
    size_t n_hosts = 0;
    for (size_t from = 0, to; from < t->list.n; from = to) {
        double sum = 0;
        for (to = from; to < t->list.n && tbp_str_eq(t->list.at[to].host, t->list.at[from].host);)
            sum += (double)t->list.at[to++].marker_ps;
        double mean = sum / (double)(to - from);
        if (mean > worst) {
            worst = mean;
            late = t->list.at[from].host;
        }
        best = n_hosts++ == 0 || mean < best ? mean : best;
    }
    if (n_hosts > 1 && best > 0 && worst / best - 1 >= LATE)
        tbp_advice_add(a, "straggler", worst / best - 1,
                       tbp_arena_printf(&a->arena,
                                        "a step takes %s on %.*s and %s on the fastest host",
                                        time_of(a, worst), (int)late.n, late.p, time_of(a, best)),
                       late_advice);
}

/* ---- kernels ---- */

static void advise_kernels(struct tbp_advices *a, const struct tbp_kernel_table *k) {
    double known = 0, weighted = 0, eligible = 0, used = 0;
    for (size_t i = 0; i < k->n_kernels; i++) {
        const struct tbp_kernel *x = &k->kernels[i];
        double ps = (double)x->total_ps;
        if (x->launch.occupancy_pct > 0) {
            known += ps;
            weighted += ps * (double)x->launch.occupancy_pct / 100;
        }
        eligible += x->is_op_eligible || x->uses_tensor_core ? ps : 0;
        used += x->uses_tensor_core ? ps : 0;
    }
    if (known > 0 && weighted / known < LOW_OCCUPANCY)
        tbp_advice_add(
            a, "low_occupancy", weighted / known,
            tbp_arena_printf(&a->arena,
                             "kernels occupy %.1f %% of the device on average, weighted by time",
                             weighted / known * 100),
            "larger batches or fused ops give a kernel more blocks; fewer registers and less "
            "shared "
            "memory let more of them run");
    if (eligible > 0 && used / eligible < SOME)
        tbp_advice_add(
            a, "no_tensor_cores", 1 - used / eligible,
            tbp_arena_printf(&a->arena,
                             "of %s in ops that could use tensor cores, %.1f %% used them",
                             time_of(a, eligible), used / eligible * 100),
            "train in mixed precision (bfloat16, float16 or TF32) and keep dimensions multiples of "
            "8");
}

/* ---- memory ---- */

static void advise_memory(struct tbp_advices *a, const struct tbp_host *h) {
    uint64_t reserved = 0, allocated = 0;
    for (size_t p = 0; p < h->n_planes; p++) {
        for (size_t k = 0; k < h->planes[p].n_lines; k++) {
            const struct tbp_line *l = &h->planes[p].lines[k];
            for (size_t i = 0; i < l->ev.n; i++) {
                struct tbp_stat name, now, free;
                if (!tbp_is_memory_event(tbp_event_kind_at(l, i)) ||
                    !tbp_event_stat(l, i, TBP_STAT_ALLOCATOR_NAME, &name) ||
                    tbp_is_host_allocator(tbp_stat_s(&name)) ||
                    !tbp_event_stat(l, i, TBP_STAT_BYTES_ALLOCATED, &now) ||
                    !tbp_event_stat(l, i, TBP_STAT_BYTES_AVAILABLE, &free))
                    continue;
                uint64_t all = tbp_stat_iu(&now) + tbp_stat_iu(&free);
                reserved = all > reserved ? all : reserved;
                allocated = tbp_stat_iu(&now) > allocated ? tbp_stat_iu(&now) : allocated;
            }
        }
    }
    if (reserved < MIN_RESERVED_BYTES || allocated > reserved)
        return;
    double share = 1 - (double)allocated / (double)reserved;
    if (share >= FRAGMENTED)
        tbp_advice_add(
            a, "fragmentation", share,
            tbp_arena_printf(&a->arena,
                             "device memory: %llu bytes reserved, at most %llu of them in use: "
                             "%.1f %% never",
                             (unsigned long long)reserved, (unsigned long long)allocated,
                             share * 100),
            "let the allocator grow its segments (expandable_segments:True), or allocate equal "
            "sizes");
}

static int advise_stragglers(struct tbp_advices *a, struct tbp_session *s, uint32_t first,
                             uint32_t end, const struct tbp_step_trace *trace,
                             struct tbp_error *err) {
    struct tbp_collectives c;
    struct tbp_unread unread;
    if (end - first < 2)
        return TBP_OK;
    tbp_collectives_init(&c);
    tbp_unread_init(&unread);
    int status = tbp_collectives_collect(&c, s, first, end, NULL, 0, &unread, err);
    if (!status && !advise_waited_for(a, &c))
        advise_late(a, trace);
    tbp_unread_release(&unread);
    tbp_collectives_release(&c);
    return status;
}

int tbp_advices_collect(struct tbp_advices *a, struct tbp_session *s, uint32_t first, uint32_t end,
                        struct tbp_error *err) {
    struct tbp_step_trace trace = {0};
    int status = TBP_OK;
    for (uint32_t i = first; i < end && !status; i++) {
        const struct tbp_host *h = tbp_session_raw_host(s, i, err);
        if (h) {
            tbp_step_trace_add(&trace, h, tbp_session_host_name(s, i), NULL, NULL);
            advise_memory(a, h);
            tbp_advise_queues(a, h);
        }
        const struct tbp_kernel_table *k = h ? tbp_kernels(s, i, err) : NULL; /* groups the host */
        if (k)
            advise_kernels(a, k);
        else
            status = err->code;
        if (end - first > 1)
            tbp_session_release_events(s, i);
    }
    if (!status) {
        advise_steps(a, &trace);
        tbp_advise_stalls(a, &trace);
        status = advise_stragglers(a, s, first, end, &trace, err);
    }
    tbp_step_trace_release(&trace);
    return status;
}

void tbp_advices_text(struct tbp_json *out, const struct tbp_advices *a) {
    for (size_t i = 0; i < a->list.n; i++) {
        tbp_json_lit(out, "-> ");
        tbp_put_shown(out, tbp_str_c(a->list.at[i].text));
        tbp_json_printf(out, " [%s]\n   %s\n", a->list.at[i].key, a->list.at[i].what);
    }
}

void tbp_advices_json(struct tbp_json *out, const struct tbp_advices *a) {
    char share[TBP_NUMBER_MAX];
    tbp_json_char(out, '[');
    for (size_t i = 0; i < a->list.n; i++) {
        const struct tbp_advice *x = &a->list.at[i];
        tbp_json_printf(out, "%s\n{\"key\":\"%s\",\"share\":", i ? "," : "", x->key);
        tbp_json_raw(out, share, tbp_number_repr(share, x->share));
        tbp_json_lit(out, ",\"text\":");
        tbp_json_str(out, tbp_str_c(x->text), TBP_JSON_GVIZ);
        tbp_json_lit(out, ",\"try\":");
        tbp_json_str(out, tbp_str_c(x->what), TBP_JSON_GVIZ);
        tbp_json_char(out, '}');
    }
    tbp_json_lit(out, a->list.n ? "\n]" : "]");
}
