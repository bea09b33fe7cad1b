/* SPDX-License-Identifier: Apache-2.0
 *
 * The column lists behind schemas/columns.h: what the frontends of TensorBoard's
 * Profile tab look for, by id. Ids, types and labels are those of the answers of the official
 * plugin (2.24.2; `_legacy`: 2.19 and before); odd spellings such as `Host_cumulative…` belong to
 * the contract.
 */
#include "schemas/columns.h"

#define N TBP_COLUMN_NUMBER
#define S TBP_COLUMN_STRING
#define B TBP_COLUMN_BOOLEAN

static const struct tbp_column framework_op_stats_columns[] = {
    {"rank", N, "Rank", NULL},
    {"host_or_device", S, "Host/device", NULL},
    {"type", S, "Operation Type", NULL},
    {"operation", S, "Operation Name", NULL},
    {"occurrences", N, "#Occurrences", NULL},
    {"total_time", N, "Total time (us)", NULL},
    {"avg_time", N, "Avg. time (us)", NULL},
    {"total_self_time", N, "Total self-time (us)", NULL},
    {"avg_self_time", N, "Avg. self-time (us)", NULL},
    {"device_total_self_time_percent", N, "Total self-time on Device (%)", NULL},
    {"device_cumulative_total_self_time_percent", N, "Cumulative total-self time on Device (%)",
     NULL},
    {"host_total_self_time_percent", N, "Total self-time on Host (%)", NULL},
    {"Host_cumulative_total_self_time_percent", N, "Cumulative total-self time on Host (%)", NULL},
    {"measured_flop_rate", N, "Normalized FLOP Rate (FLOPs/s)", NULL},
    {"model_flop_rate", N, "Model FLOP Rate (GFLOP/s)", NULL},
    {"measured_memory_bw", N, "Measured Memory BW (GBytes/Sec)", NULL},
    {"operational_intensity", N, "Operational Intensity (FLOPs/Byte)", NULL},
    {"bound_by", S, "Bound by", NULL},
    {"eager", S, "Execution mode", NULL},
};

static const struct tbp_column framework_op_stats_gpu_columns[] = {
    {"rank", N, "Rank", NULL},
    {"host_or_device", S, "Host/device", NULL},
    {"type", S, "Operation Type", NULL},
    {"operation", S, "Operation Name", NULL},
    {"occurrences", N, "#Occurrences", NULL},
    {"total_time", N, "Total time (us)", NULL},
    {"avg_time", N, "Avg. time (us)", NULL},
    {"total_self_time", N, "Total self-time (us)", NULL},
    {"avg_self_time", N, "Avg. self-time (us)", NULL},
    {"device_total_self_time_percent", N, "Total self-time on Device (%)", NULL},
    {"device_cumulative_total_self_time_percent", N, "Cumulative total-self time on Device (%)",
     NULL},
    {"host_total_self_time_percent", N, "Total self-time on Host (%)", NULL},
    {"Host_cumulative_total_self_time_percent", N, "Cumulative total-self time on Host (%)", NULL},
    {"measured_flop_rate", N, "Normalized FLOP Rate (FLOPs/s)", NULL},
    {"model_flop_rate", N, "Model FLOP Rate (GFLOP/s)", NULL},
    {"measured_memory_bw", N, "Measured Memory BW (GBytes/Sec)", NULL},
    {"operational_intensity", N, "Operational Intensity (FLOPs/Byte)", NULL},
    {"gpu_tensorcore_utilization", N, "GPU TensorCore utilization", NULL},
    {"bound_by", S, "Bound by", NULL},
    {"eager", S, "Execution mode", NULL},
};

static const struct tbp_column tensorflow_stats_legacy_columns[] = {
    {"rank", N, "Rank", NULL},
    {"host_or_device", S, "Host/device", NULL},
    {"type", S, "Type", NULL},
    {"operation", S, "Operation", NULL},
    {"occurrences", N, "#Occurrences", NULL},
    {"total_time", N, "Total time (us)", NULL},
    {"avg_time", N, "Avg. time (us)", NULL},
    {"total_self_time", N, "Total self-time (us)", NULL},
    {"avg_self_time", N, "Avg. self-time (us)", NULL},
    {"device_total_self_time_percent", N, "Total self-time on Device (%)", NULL},
    {"device_cumulative_total_self_time_percent", N, "Cumulative total-self time on Device (%)",
     NULL},
    {"host_total_self_time_percent", N, "Total self-time on Host (%)", NULL},
    {"host_cumulative_total_self_time_percent", N, "Cumulative total-self time on Host (%)", NULL},
};

static const struct tbp_column tensorflow_stats_legacy_gpu_columns[] = {
    {"rank", N, "Rank", NULL},
    {"host_or_device", S, "Host/device", NULL},
    {"type", S, "Type", NULL},
    {"operation", S, "Operation", NULL},
    {"occurrences", N, "#Occurrences", NULL},
    {"total_time", N, "Total time (us)", NULL},
    {"avg_time", N, "Avg. time (us)", NULL},
    {"total_self_time", N, "Total self-time (us)", NULL},
    {"avg_self_time", N, "Avg. self-time (us)", NULL},
    {"device_total_self_time_percent", N, "Total self-time on Device (%)", NULL},
    {"device_cumulative_total_self_time_percent", N, "Cumulative total-self time on Device (%)",
     NULL},
    {"host_total_self_time_percent", N, "Total self-time on Host (%)", NULL},
    {"host_cumulative_total_self_time_percent", N, "Cumulative total-self time on Host (%)", NULL},
    {"gpu_tensorcore_utilization", N, "GPU TensorCore utilization", NULL},
};

static const struct tbp_column kernel_stats_columns[] = {
    {"rank", N, "Rank", NULL},
    {"kernel_name", S, "Kernel Name", NULL},
    {"registers_per_thread", N, "Registers per thread", NULL},
    {"shmem_bytes", N, "Shared Mem bytes", NULL},
    {"block_dim", S, "Block dim", NULL},
    {"grid_dim", S, "Grid dim", NULL},
    {"occupancy_pct", N, "Theoretical Occupancy %", NULL},
    {"is_op_tensor_core_eligible", B, "Op is TensorCore eligible", NULL},
    {"is_kernel_using_tensor_core", B, "Kernel uses TensorCore", NULL},
    {"op_name", S, "Op Name", NULL},
    {"occurrences", N, "Occurrences", NULL},
    {"total_duration_us", N, "Total Duration (μs)", NULL},
    {"avg_duration_us", N, "Avg Duration (μs)", NULL},
    {"min_duration_us", N, "Min Duration (μs)", NULL},
    {"max_duration_us", N, "Max Duration (μs)", NULL},
};

static const struct tbp_column kernel_stats_legacy_columns[] = {
    {"rank", N, "Rank", NULL},
    {"kernel_name", S, "Kernel Name", NULL},
    {"registers_per_thread", N, "Registers per thread", NULL},
    {"shmem_bytes", N, "Shared Mem bytes", NULL},
    {"block_dim", S, "Block dim", NULL},
    {"grid_dim", S, "Grid dim", NULL},
    {"occupancy_pct", N, "Occupancy %", NULL},
    {"is_op_tensor_core_eligible", B, "Op is TensorCore eligible", NULL},
    {"is_kernel_using_tensor_core", B, "Kernel uses TensorCore", NULL},
    {"op_name", S, "Op Name", NULL},
    {"occurrences", N, "Occurrences", NULL},
    {"total_duration_us", N, "Total Duration (us)", NULL},
    {"avg_duration_us", N, "Avg Duration (us)", NULL},
    {"min_duration_us", N, "Min Duration (us)", NULL},
    {"max_duration_us", N, "Max Duration (us)", NULL},
};

static const struct tbp_column overview_ops_columns[] = {
    {"selfTimePercent", N, "Time (%)", NULL},
    {"cumulativeTimePercent", N, "Cumulative time (%)", NULL},
    {"category", S, "Category", NULL},
    {"operation", S, "Operation", NULL},
    {"flopRate", N, "Bf16 Normalized Flop Rate(GFLOPs/Sec)", NULL},
};

static const struct tbp_column overview_ops_gpu_columns[] = {
    {"selfTimePercent", N, "Time (%)", NULL},
    {"cumulativeTimePercent", N, "Cumulative time (%)", NULL},
    {"category", S, "Category", NULL},
    {"operation", S, "Operation", NULL},
    {"flopRate", N, "GFLOPs/Sec", NULL},
    {"tcEligibility", B, "TensorCore eligibility", NULL},
    {"tcUtilization", B, "Op is using TensorCore", NULL},
};

static const struct tbp_column overview_latency_columns[] = {
    {"percentile", S, "percentile", NULL},
    {"hostTimeMs", N, "Host time (in ms)", NULL},
    {"deviceTimeMs", N, "Device time (in ms)", NULL},
    {"communicationTimeMs", N, "Host-device communication time (in ms)", NULL},
    {"totalTimeMs", N, "Total latency (in ms)", NULL},
};

static const struct tbp_column overview_latency_legacy_columns[] = {
    {"percentile", S, "Percentile", NULL},
    {"hostTimeMs", N, "Host Time (ms)", NULL},
    {"deviceTimeMs", N, "Device Time (ms)", NULL},
    {"communicationTimeMs", N, "Host-Device Communication Time (ms)", NULL},
    {"totalTimeMs", N, "Total Time (ms)", NULL},
};

static const struct tbp_column run_environment_columns[] = {
    {"host_id", S, "host_id", NULL},
    {"command_line", S, "command_line", NULL},
    {"start_time", S, "start_time", NULL},
    {"bns_address", S, "bns_address", NULL},
};

static const struct tbp_column recommendation_columns[] = {
    {"tip_type", S, "tip_type", NULL},
    {"link", S, "link", NULL},
    {"description", S, "description", NULL},
};

static const struct tbp_column recommendation_legacy_columns[] = {
    {"tip_type", S, "tip_type", NULL},
    {"link", S, "link", NULL},
};

static const struct tbp_column diagnostics_columns[] = {
    {"severity", S, "Severity", NULL},
    {"message", S, "Message", NULL},
};

static const struct tbp_column diagnostics_legacy_columns[] = {
    {"severity", S, "severity", NULL},
    {"message", S, "message", NULL},
};

static const struct tbp_column steps_columns[] = {
    {"stepnum", S, "Step number", NULL},
    {"deviceComputeTimeMs", N, "Device compute", NULL},
    {"deviceToDeviceTimeMs", N, "Device to device", NULL},
    {"deviceCollectivesTimeMs", N, "Device collective communication", NULL},
    {"hostComputeTimeMs", N, "Host compute", NULL},
    {"kernelLaunchTimeMs", N, "Kernel launch", NULL},
    {"infeedTimeMs", N, "Input", NULL},
    {"outfeedTimeMs", N, "Output", NULL},
    {"compileTimeMs", N, "Compilation", NULL},
    {"otherTimeMs", N, "All others", NULL},
    {"tooltip", S, "tooltip", "tooltip"},
    {"stepTimeMs", N, "Step time", NULL},
};

static const struct tbp_column steps_legacy_columns[] = {
    {"stepname", S, "Step Name", NULL},
    {"deviceComputeTimeMs", N, "Device compute", NULL},
    {"deviceToDeviceTimeMs", N, "Device to device", NULL},
    {"deviceCollectivesTimeMs", N, "Device collectives", NULL},
    {"hostComputeTimeMs", N, "Host compute", NULL},
    {"kernelLaunchTimeMs", N, "Kernel launch", NULL},
    {"infeedTimeMs", N, "Input", NULL},
    {"outfeedTimeMs", N, "Output", NULL},
    {"compileTimeMs", N, "Compilation", NULL},
    {"otherTimeMs", N, "All others", NULL},
    {"tooltip", S, "tooltip", "tooltip"},
    {"stepTimeMs", N, "Step time", NULL},
};

static const struct tbp_column steps_tpu_columns[] = {
    {"stepnum", S, "stepnum", NULL},
    {"tcComputeTimeMs", N, "TensorCore compute (in ms)", NULL},
    {"scv0ComputeTimeMs", N, "SparseCoreV0 compute (in ms)", NULL},
    {"scv0InfeedTimeMs", N, "SparseCoreV0 input (in ms)", NULL},
    {"tcInfeedTimeMs", N, "TensorCore input (in ms)", NULL},
    {"tcOutfeedTimeMs", N, "TensorCore output (in ms)", NULL},
    {"tcIdleTimeMs", N, "TensorCore idle (in ms)", NULL},
    {"hostTransferTimeMs", N, "Host transfer (in ms)", NULL},
    {"tooltip", S, "tooltip", "tooltip"},
    {"infeedPercentAverage", N, "% step time waiting for input data", NULL},
    {"infeedPercentMin", N, "Infeed percent min", "interval"},
    {"infeedPercentMax", N, "Infeed percent max", "interval"},
};

static const struct tbp_column steps_tpu_sparse_columns[] = {
    {"stepnum", S, "stepnum", NULL},
    {"tcComputeTimeMs", N, "TensorCore compute (in ms)", NULL},
    {"tcInfeedTimeMs", N, "TensorCore input (in ms)", NULL},
    {"tcOutfeedTimeMs", N, "TensorCore output (in ms)", NULL},
    {"tcIdleTimeMs", N, "TensorCore idle (in ms)", NULL},
    {"hostTransferTimeMs", N, "Host transfer (in ms)", NULL},
    {"tooltip", S, "tooltip", "tooltip"},
    {"infeedPercentAverage", N, "% step time waiting for input data", NULL},
    {"infeedPercentMin", N, "Infeed percent min", "interval"},
    {"infeedPercentMax", N, "Infeed percent max", "interval"},
};

static const struct tbp_column input_ops_columns[] = {
    {"opName", S, "Input Op", NULL},
    {"count", N, "Count", NULL},
    {"timeInMs", N, "Total Time (in ms)", NULL},
    {"timeInPercent", N, "Total Time (as % of total input-processing time)", NULL},
    {"selfTimeInMs", N, "Total Self Time (in ms)", NULL},
    {"selfTimeInPercent", N, "Total Self Time (as % of total input-processing time)", NULL},
    {"category", S, "Category", NULL},
};

static const struct tbp_column input_advice_columns[] = {
    {"link", S, "link", NULL},
};

static const struct tbp_column tf_data_graph_columns[] = {
    {"host", S, "Host", NULL},     {"input_pipeline", S, "Input Pipeline", NULL},
    {"rank", N, "Rank", NULL},     {"name", S, "Name", NULL},
    {"parent", S, "Parent", NULL}, {"type", N, "Type", NULL},
};

static const struct tbp_column tf_data_latency_columns[] = {
    {"host", S, "Host", NULL},
    {"input_pipeline", S, "Input Pipeline", NULL},
    {"min", N, "Min (us)", NULL},
    {"mean", N, "Avg (us)", NULL},
    {"max", N, "Max (us)", NULL},
    {"num_calls", N, "# calls", NULL},
    {"num_slow_calls", N, "# slow calls", NULL},
};

static const struct tbp_column tf_data_bottleneck_columns[] = {
    {"host", S, "Host", NULL},
    {"input_pipeline", S, "Input Pipeline", NULL},
    {"max_latency", N, "Max Latency (us)", NULL},
    {"bottleneck", S, "Bottleneck", NULL},
    {"suggestion", S, "Suggestion", NULL},
};

#define X(name)                                                                                    \
    const struct tbp_columns tbp_columns_##name = {                                                \
        #name, name##_columns, sizeof name##_columns / sizeof name##_columns[0]};
TBP_COLUMN_TABLES(X)
#undef X

const struct tbp_columns *const tbp_column_tables[] = {
#define X(name) &tbp_columns_##name,
    TBP_COLUMN_TABLES(X)
#undef X
        NULL,
};
