/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a step by name.
 */
#include "convert/report/step_parts.h"

#include "convert/report/collective_names.h"
#include "schemas/names.h"

static bool has_any(struct tbp_str name, const char *const *parts) {
    for (size_t i = 0; parts[i]; i++)
        if (tbp_str_has_nocase(name, parts[i]))
            return true;
    return false;
}

static bool starts_any(struct tbp_str name, const char *const *prefixes) {
    for (size_t i = 0; prefixes[i]; i++)
        if (tbp_str_starts(name, prefixes[i]))
            return true;
    return false;
}

static const char *const input_names[] = {"IteratorGetNext", "Get Minibatch",    "__Get Minibatch",
                                          "GetNext",         "InitDataSetQueue", NULL};
static const char *const backward_parts[] = {"backward", "autograd::engine::evaluate_function",
                                             NULL};
static const char *const backward_names[] = {"gradient", "Gradients/", NULL};
static const char *const update_parts[] = {"Optimizer.step", "ResourceApply", "ApplyMomentum",
                                           "ApplyAdam",      "ApplyGradient", "sgd_update",
                                           "adam_update",    "Weight Update", NULL};
static const char *const launch_parts[] = {"LaunchKernel", "GraphLaunch", "LaunchCooperative",
                                           "MemcpyAsync",  "MemsetAsync", NULL};

unsigned tbp_step_parts_of(struct tbp_str name) {
    unsigned parts = 0;
    if (tbp_is_torch_input(name) || starts_any(name, input_names) ||
        (tbp_str_has(name, "DataLoader") && tbp_str_has(name, "__next__")))
        parts |= TBP_IS_INPUT;
    if (has_any(name, update_parts))
        parts |= TBP_IS_UPDATE;
    else if (has_any(name, backward_parts) || starts_any(name, backward_names))
        parts |= TBP_IS_BACKWARD;
    if (tbp_is_collective(name))
        parts |= TBP_IS_COLLECTIVE;
    if (has_any(name, launch_parts))
        parts |= TBP_IS_LAUNCH;
    return parts;
}
