/* SPDX-License-Identifier: Apache-2.0
 *
 * THE TABLE of analyses. The order is that of `tbprof tools`; memo slots follow it.
 */
#include "convert/analyze/gpu_pass.h"
#include "convert/analyze/hlo.h"
#include "convert/analyze/host_notes.h"
#include "convert/analyze/memory_timeline.h"
#include "convert/analyze/requests.h"
#include "convert/analyze/run_environment.h"
#include "convert/analyze/session.h"
#include "convert/analyze/step_table.h"
#include "convert/analyze/tf_data.h"
#include "convert/analyze/trace_tables.h"

const struct tbp_analysis *const tbp_analyses[] = {
    &tbp_analysis_hlo,
    &tbp_analysis_memory_timeline,
    &tbp_analysis_run_environment,
    &tbp_analysis_host_ops,
    &tbp_analysis_gpu_pass,
    &tbp_analysis_device_ops,
    &tbp_analysis_framework_ops,
    &tbp_analysis_kernels,
    &tbp_analysis_steps,
    &tbp_analysis_trimmed_steps,
    &tbp_analysis_requests,
    &tbp_analysis_host_notes,
    &tbp_analysis_tf_data,
    &tbp_analysis_trace_index,
    &tbp_analysis_trace_levels,
    &tbp_analysis_level_lists,
    &tbp_analysis_trace_names,
    &tbp_analysis_trace_texts,
    NULL,
};
