/* SPDX-License-Identifier: Apache-2.0
 *
 * Page "Pod Viewer": every step on every core, with the parts of its time. All steps are shown,
 * also incomplete ones. Source: spec pages/RULES.md 9 and 11, reference plugin_contract 4.6.
 */
#include "convert/tool/step_page.h"

#define PS_PER_US 1e6

enum pod_part {
    POD_COMPUTE = 1,
    POD_DEVICE_TO_DEVICE,
    POD_COLLECTIVES,
    POD_HOST_COMPUTE,
    POD_LAUNCH,
    POD_INPUT,
    POD_OUTPUT,
    POD_COMPILE,
    POD_OTHER,
    POD_PARTS
};

static const char *const part_names[POD_PARTS] = {
    [POD_COMPUTE] = "Device compute",
    [POD_DEVICE_TO_DEVICE] = "Device to device",
    [POD_COLLECTIVES] = "Device collective communication",
    [POD_HOST_COMPUTE] = "Host compute",
    [POD_LAUNCH] = "Kernel launch",
    [POD_INPUT] = "Input",
    [POD_OUTPUT] = "Output",
    [POD_COMPILE] = "Compilation",
    [POD_OTHER] = "All others",
};

/* Where a category of TPU ops counts; everything else is compute. */
static enum pod_part category_part(struct tbp_str category) {
    static const struct {
        const char *name;
        enum pod_part part;
    } known[] = {
        {"send", POD_DEVICE_TO_DEVICE},
        {"send-done", POD_DEVICE_TO_DEVICE},
        {"recv", POD_DEVICE_TO_DEVICE},
        {"recv-done", POD_DEVICE_TO_DEVICE},
        {"async-done", POD_DEVICE_TO_DEVICE},
        {"megacore fusion", POD_DEVICE_TO_DEVICE},
        {"all-reduce", POD_COLLECTIVES},
        {"all-reduce fusion", POD_COLLECTIVES},
        {"all-to-all", POD_COLLECTIVES},
        {"infeed", POD_INPUT},
        {"host recv", POD_INPUT},
        {"host recv-done", POD_INPUT},
        {"sparsecorev0 infeed", POD_INPUT},
        {"outfeed", POD_OUTPUT},
        {"host send", POD_OUTPUT},
        {"host send-done", POD_OUTPUT},
        {"sparsecorev0 outfeed", POD_OUTPUT},
        {"IDLE", POD_OTHER},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (tbp_str_is(category, known[i].name))
            return known[i].part;
    return POD_COMPUTE;
}

static void find_parts(const struct tbp_step_core *c, uint64_t ps[POD_PARTS]) {
    memset(ps, 0, POD_PARTS * sizeof *ps);
    for (size_t i = 0; i < c->n_categories; i++)
        ps[category_part(c->categories[i].name)] += c->categories[i].self_ps;
    if (c->n_categories)
        return;
    ps[POD_COMPUTE] = c->part_ps[TBP_PART_COMPUTE_32] + c->part_ps[TBP_PART_COMPUTE_16];
    ps[POD_DEVICE_TO_DEVICE] = c->part_ps[TBP_PART_DEVICE_TO_DEVICE];
    ps[POD_COLLECTIVES] = c->part_ps[TBP_PART_COLLECTIVES];
    ps[POD_HOST_COMPUTE] = c->part_ps[TBP_PART_HOST_COMPUTE];
    ps[POD_LAUNCH] = c->part_ps[TBP_PART_HOST_PREPARE];
    ps[POD_INPUT] = c->part_ps[TBP_PART_HOST_WAIT_INPUT] + c->part_ps[TBP_PART_HOST_TO_DEVICE];
    ps[POD_OUTPUT] = c->part_ps[TBP_PART_DEVICE_TO_HOST];
    ps[POD_COMPILE] = c->part_ps[TBP_PART_HOST_COMPILE];
    ps[POD_OTHER] = c->part_ps[TBP_PART_UNKNOWN];
}

/* The longest; of equal ones the greatest name. */
static const char *bottleneck(const uint64_t ps[POD_PARTS]) {
    int best = 1;
    for (int i = 2; i < POD_PARTS; i++)
        if (ps[i] > ps[best] || (ps[i] == ps[best] && strcmp(part_names[i], part_names[best]) > 0))
            best = i;
    return part_names[best];
}

static void put_text(struct tbp_json *j, const char *before, struct tbp_str s) {
    tbp_json_lit(j, before);
    tbp_json_str(j, s, TBP_JSON_PROTO);
}

static void put_us(struct tbp_json *j, const char *before, uint64_t ps) {
    tbp_json_lit(j, before);
    tbp_json_proto_number(j, (double)ps / PS_PER_US);
}

/* What plugin 2.2 draws instead of the breakdown. */
static void put_old_parts(struct tbp_json *j, const uint64_t ps[POD_PARTS]) {
    put_us(j, ",\"highFlopsComputeUs\":", ps[POD_COMPUTE]);
    put_us(j, ",\"lowFlopsComputeUs\":",
           ps[POD_HOST_COMPUTE] + ps[POD_LAUNCH] + ps[POD_COMPILE] + ps[POD_OTHER]);
    put_us(j, ",\"hostInfeedDurationUs\":", ps[POD_INPUT]);
    put_us(j, ",\"hostOutfeedDurationUs\":", ps[POD_OUTPUT]);
    put_us(j, ",\"allReduceComputeDurationUs\":", ps[POD_COLLECTIVES]);
    put_us(j, ",\"allReduceSyncDurationUs\":", 0);
    put_us(j, ",\"sendDurationUs\":", ps[POD_DEVICE_TO_DEVICE]);
    put_us(j, ",\"recvDurationUs\":", 0);
}

static void put_core(struct tbp_json *j, const struct tbp_step_core *c, uint32_t step,
                     struct tbp_str host, enum tbp_dialect dialect) {
    uint64_t ps[POD_PARTS];
    find_parts(c, ps);
    tbp_json_printf(j, "\"%u\":{", c->core);
    put_text(j, "\"hostName\":", host);
    tbp_json_printf(j, ",\"chipId\":0,\"nodeId\":0,\"stepNum\":%u", step);
    put_us(j, ",\"totalDurationUs\":", c->dur_ps);
    if (dialect == TBP_DIALECT_LEGACY)
        put_old_parts(j, ps);
    put_text(j, ",\"bottleneck\":", tbp_str_c(bottleneck(ps)));
    tbp_json_lit(j, ",\"stepBreakdownUs\":{");
    for (int i = 1; i < POD_PARTS; i++) {
        tbp_json_printf(j, i > 1 ? ",\"%d\":" : "\"%d\":", i);
        tbp_json_proto_number(j, (double)ps[i] / PS_PER_US);
    }
    tbp_json_lit(j, "}}");
}

static void put_step(struct tbp_json *j, const struct tbp_step_table *t, const struct tbp_step *s,
                     enum tbp_dialect dialect) {
    bool any = false;
    tbp_json_printf(j, "{\"stepNum\":%u,\"podStatsPerCore\":{", s->number);
    for (size_t i = 0; i < s->n_cores; i++) {
        const struct tbp_core_place *place = tbp_core_place_find(t, s->cores[i].core);
        if (!place)
            continue;
        if (any)
            tbp_json_char(j, ',');
        put_core(j, &s->cores[i], s->number, place->host_name, dialect);
        any = true;
    }
    tbp_json_lit(j, "},\"channelDb\":[],\"coreIdToReplicaIdMap\":{},\"allReduceOpDb\":[]}");
}

static void put_page(struct tbp_json *j, const struct tbp_page *p, const struct tbp_step_table *t,
                     const struct tbp_run_environment *env) {
    const char *warning = tbp_page_step_warning(t), *repair = tbp_page_step_repair(p->notes);
    tbp_json_lit(j, "{\"podStatsSequence\":{\"podStatsMap\":[");
    for (size_t i = 0; i < t->n_steps; i++) {
        if (i)
            tbp_json_char(j, ',');
        put_step(j, t, &t->steps[i], p->dialect);
    }
    tbp_json_lit(j, "]},\"diagnostics\":{\"info\":[");
    if (repair)
        put_text(j, "", tbp_str_c(repair));
    tbp_json_lit(j, "],\"warnings\":[");
    if (warning)
        put_text(j, "", tbp_str_c(warning));
    tbp_json_lit(j, "],\"errors\":[]},\"stepBreakdownEvents\":[");
    for (int i = 1; i < POD_PARTS; i++) {
        tbp_json_printf(j, i > 1 ? ",{\"id\":%d" : "{\"id\":%d", i);
        put_text(j, ",\"name\":", tbp_str_c(part_names[i]));
        tbp_json_char(j, '}');
    }
    put_text(j, "],\"deviceType\":", env->device_type);
    if (p->dialect == TBP_DIALECT_LEGACY) { /* plugin 2.2 asks for it */
        put_text(j, ",\"runEnvironment\":{\"tpuType\":", env->device_type);
        tbp_json_lit(j, ",\"topology\":{\"xDimension\":\"0\",\"yDimension\":\"0\"}}");
    }
    tbp_json_char(j, '}');
}

static int write_pod_viewer(struct tbp_session *s, const struct tbp_request *r,
                            struct tbp_sink *out, struct tbp_error *err) {
    const struct tbp_step_table *t = tbp_steps(s, r->host, err);
    const struct tbp_run_environment *env = t ? tbp_run_environment(s, r->host, err) : NULL;
    const struct tbp_host_notes *notes = env ? tbp_host_notes(s, r->host, err) : NULL;
    if (!notes)
        return err ? err->code : TBP_E_INTERNAL;
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct tbp_page p = {.dialect = r->dialect, .arena = &arena, .notes = notes};
    struct tbp_json *j = TBP_NEW(&arena, struct tbp_json);
    tbp_json_init(j, out);
    put_page(j, &p, t, env);
    int rc = tbp_json_finish(j, err);
    tbp_arena_release(&arena);
    return rc;
}

static const struct tbp_analysis *const needs[] = {
    &tbp_analysis_run_environment,
    &tbp_analysis_steps,
    &tbp_analysis_host_notes,
    NULL,
};

const struct tbp_tool tbp_tool_pod_viewer = {
    .name = "pod_viewer",
    .help = "each step on each core, with the parts of its time",
    .scope = TBP_SCOPE_HOST | TBP_SCOPE_ALL_HOSTS,
    .file = "pod_viewer.json",
    .needs = needs,
    .write = write_pod_viewer,
};
