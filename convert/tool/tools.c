/* SPDX-License-Identifier: Apache-2.0
 *
 * THE TABLE of tools, and what all of them need of a request.
 */
#include "convert/tool/tool.h"

#include <math.h>
#include <string.h>

const struct tbp_tool *const tbp_tools[] = {
    &tbp_tool_overview_page,       &tbp_tool_input_pipeline,
    &tbp_tool_pod_viewer,          &tbp_tool_framework_op_stats,
    &tbp_tool_kernel_stats,        &tbp_tool_memory_profile,
    &tbp_tool_trace_viewer,        &tbp_tool_tf_data_bottleneck_analysis,
    &tbp_tool_trace_viewer_stream, NULL,
};

const struct tbp_tool *tbp_tool_find(struct tbp_str name) {
    for (size_t i = 0; tbp_tools[i]; i++) {
        const struct tbp_tool *t = tbp_tools[i];
        if (tbp_str_is(name, t->name) || (t->legacy_name && tbp_str_is(name, t->legacy_name)))
            return t;
    }
    return NULL;
}

const char *tbp_request_option(const struct tbp_request *r, const char *key, const char *fallback) {
    for (size_t i = 0; i < r->n_options; i++)
        if (strcmp(r->options[i].key, key) == 0)
            return r->options[i].value;
    return fallback;
}

bool tbp_tool_param_takes(const struct tbp_tool_param *p, const char *value) {
    double number;
    if (p->kind == TBP_PARAM_SWITCH)
        return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    return p->kind == TBP_PARAM_TEXT ||
           (tbp_str_to_double(tbp_str_c(value), &number) && isfinite(number));
}

bool tbp_request_number(const struct tbp_request *r, const char *key, double fallback,
                        double *out) {
    const char *text = tbp_request_option(r, key, "");
    *out = fallback;
    return text[0] == 0 || tbp_str_to_double(tbp_str_c(text), out);
}

struct preparation {
    const struct tbp_tool *tool;
    struct tbp_session *session;
};

static int prepare_host(void *ctx, size_t host, struct tbp_error *err) {
    const struct preparation *p = ctx;
    int status = TBP_OK;
    for (size_t i = 0; p->tool->needs[i] && status == TBP_OK; i++)
        if (!tbp_session_table(p->session, p->tool->needs[i], (uint32_t)host, err))
            status = err->code;
    tbp_session_release_events(p->session, (uint32_t)host);
    return status;
}

int tbp_tool_prepare_hosts(const struct tbp_tool *t, struct tbp_session *s, struct tbp_error *err) {
    struct preparation p = {t, s};
    uint32_t n = tbp_session_n_hosts(s);
    if (n <= 1 || !t->needs)
        return TBP_OK;
    return tbp_pool_for(tbp_session_pool(s), n, prepare_host, &p, err);
}
