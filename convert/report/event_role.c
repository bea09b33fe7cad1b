/* SPDX-License-Identifier: Apache-2.0
 *
 * Roles by category. Source: categories of PyTorch's traces (reference trace_kernel_memory_import
 * F.1, names passed over: G.1.1).
 */
#include "convert/report/event_role.h"

static const struct {
    const char *category;
    enum tbp_event_role role;
} roles[] = {
    {"user_annotation", TBP_ROLE_ANNOTATION},
    {"gpu_user_annotation", TBP_ROLE_ASIDE},
    {"Trace", TBP_ROLE_ASIDE},
    {"overhead", TBP_ROLE_ASIDE},
    {"cuda_sync", TBP_ROLE_ASIDE},
    {"cuda_event", TBP_ROLE_ASIDE},
    {"instant", TBP_ROLE_ASIDE},
    {"operator task", TBP_ROLE_ASIDE}, /* MXNet's second record of each operator */
};

static const char *const profiler_ops[] = {
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
};

enum tbp_event_role tbp_event_role_of(struct tbp_str category) {
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (tbp_str_is(category, roles[i].category))
            return roles[i].role;
    return TBP_ROLE_WORK;
}

bool tbp_is_profiler_op(struct tbp_str name) {
    for (size_t i = 0; i < sizeof profiler_ops / sizeof *profiler_ops; i++)
        if (tbp_str_is(name, profiler_ops[i]))
            return true;
    return false;
}
