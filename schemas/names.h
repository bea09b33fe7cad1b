/* SPDX-License-Identifier: Apache-2.0
 *
 * Well-known names of planes, lines, stats and host events as small enums: the one place where
 * their spelling stands. Source: the public xplane schema and reference host_and_op_analysis 1-2.
 * Pure look-ups, thread-safe.
 */
#ifndef TBP_SCHEMAS_NAMES_H
#define TBP_SCHEMAS_NAMES_H

#include "base/str.h"

/* X(enum suffix, text) — stats that analyses or tools look for. Others get TBP_STAT_OTHER and keep
 * their text. */
#define TBP_STAT_NAMES(X)                                                                          \
    X(GROUP_ID, "group_id")                                                                        \
    X(CORRELATION_ID, "correlation_id")                                                            \
    X(TF_OP, "tf_op")                                                                              \
    X(LEVEL_0, "level 0")                                                                          \
    X(KERNEL_DETAILS, "kernel_details")                                                            \
    X(HLO_OP, "hlo_op")                                                                            \
    X(HLO_MODULE, "hlo_module")                                                                    \
    X(PROGRAM_ID, "program_id")                                                                    \
    X(SYMBOL_ID, "symbol_id")                                                                      \
    X(EQUATION, "equation")                                                                        \
    X(SHAPE, "shape")                                                                              \
    X(IS_EAGER, "is_eager")                                                                        \
    X(STEP_NAME, "step_name")                                                                      \
    X(STEP_NUM, "step_num")                                                                        \
    X(ITER_NUM, "iter_num")                                                                        \
    X(ID, "id")                                                                                    \
    X(GRAPH_TYPE, "graph_type")                                                                    \
    X(IS_FUNC, "is_func")                                                                          \
    X(PRODUCER_TYPE, "_pt")                                                                        \
    X(PRODUCER_ID, "_p")                                                                           \
    X(CONSUMER_TYPE, "_ct")                                                                        \
    X(CONSUMER_ID, "_c")                                                                           \
    X(PROCESS_PID, "_pid")                                                                         \
    X(IS_ROOT, "_r")                                                                               \
    X(IS_ASYNC, "_a")                                                                              \
    X(FLOW, "flow")                                                                                \
    X(STAGE_ID, "_ipl_stage_id")                                                                   \
    X(STAGE_NAME, "_ipl_stage_name")                                                               \
    X(STAGE_CAT, "_ipl_stage_cat")                                                                 \
    X(PROCESS_ID, "process_id")                                                                    \
    X(DEVICE_ID, "device_id")                                                                      \
    X(DEVICE_ORDINAL, "device_ordinal")                                                            \
    X(QUEUE_ID, "queue_id")                                                                        \
    X(RUN_ID, "run_id")                                                                            \
    X(CORE_TYPE, "core_type")                                                                      \
    X(REQUEST_ID, "request_id")                                                                    \
    X(QUEUE_ADDR, "queue_addr")                                                                    \
    X(CUDA_GRAPH_ID, "cuda_graph_id")                                                              \
    X(CUDA_GRAPH_EXEC_ID, "cuda_graph_exec_id")                                                    \
    X(SCOPE_RANGE_ID, "scope_range_id")                                                            \
    X(DEVICE_OFFSET_PS, "device_offset_ps")                                                        \
    X(DEVICE_DURATION_PS, "device_duration_ps")                                                    \
    X(FLOPS, "flops")                                                                              \
    X(MODEL_FLOPS, "model_flops")                                                                  \
    X(BYTES_ACCESSED, "bytes_accessed")                                                            \
    X(RAW_BYTES_ACCESSED, "raw_bytes_accessed")                                                    \
    X(SHAPE_WITH_LAYOUT, "shape_with_layout")                                                      \
    X(SOURCE, "source")                                                                            \
    X(HLO_CATEGORY, "hlo_category")                                                                \
    X(HLO_PROTO, "Hlo Proto")                                                                      \
    X(HLO_PROTO_OLD, "HLO Proto")                                                                  \
    X(DEVICE_VENDOR, "device_vendor")                                                              \
    X(DEVICE_TYPE_STRING, "device_type_string")                                                    \
    X(GPU_DEVICE_NAME, "gpu_device_name")                                                          \
    X(COMPUTE_CAP_MAJOR, "compute_cap_major")                                                      \
    X(COMPUTE_CAP_MINOR, "compute_cap_minor")                                                      \
    X(CLOCK_RATE, "clock_rate")                                                                    \
    X(CORE_COUNT, "core_count")                                                                    \
    X(MEMORY_BANDWIDTH, "memory_bandwidth")                                                        \
    X(MEMORY_SIZE, "memory_size")                                                                  \
    X(CORE_DETAILS, "core_details")                                                                \
    X(INDEX_ON_HOST, "index_on_host")                                                              \
    X(ALLOCATOR_NAME, "allocator_name")                                                            \
    X(BYTES_RESERVED, "bytes_reserved")                                                            \
    X(BYTES_ALLOCATED, "bytes_allocated")                                                          \
    X(BYTES_AVAILABLE, "bytes_available")                                                          \
    X(PEAK_BYTES_IN_USE, "peak_bytes_in_use")                                                      \
    X(REQUESTED_BYTES, "requested_bytes")                                                          \
    X(ALLOCATION_BYTES, "allocation_bytes")                                                        \
    X(ADDRESS, "addr")                                                                             \
    X(DATA_TYPE, "data_type")                                                                      \
    X(FRAGMENTATION, "fragmentation")                                                              \
    X(REGION_TYPE, "region_type")                                                                  \
    X(STEP_ID, "step_id")                                                                          \
    X(PARENT_ID, "parent_id")                                                                      \
    X(ELEMENT_ID, "element_id")

enum tbp_stat_key {
    TBP_STAT_OTHER,
#define X(id, text) TBP_STAT_##id,
    TBP_STAT_NAMES(X)
#undef X
        TBP_STAT_KEYS
};

/* X(enum suffix, text) — event names with a meaning of their own in grouping (reference
 * pages/opnames.py). */
#define TBP_EVENT_NAMES(X)                                                                         \
    X(TRACE_CONTEXT, "TraceContext")                                                               \
    X(SESSION_RUN, "SessionRun")                                                                   \
    X(FUNCTION_RUN, "FunctionRun")                                                                 \
    X(RUN_GRAPH, "RunGraph")                                                                       \
    X(RUN_GRAPH_DONE, "RunGraphDone")                                                              \
    X(TF_OP_RUN, "TfOpRun")                                                                        \
    X(EAGER_EXECUTE, "EagerExecute")                                                               \
    X(EXECUTOR_PROCESS, "ExecutorState::Process")                                                  \
    X(EXECUTOR_DONE, "ExecutorDoneCallback")                                                       \
    X(MEMORY_ALLOCATION, "MemoryAllocation")                                                       \
    X(MEMORY_DEALLOCATION, "MemoryDeallocation")                                                   \
    X(REMOTE_PERF_COUNTER, "RemotePerfCounter")                                                    \
    X(CAPTURED_RUN, "InstantiatedCapturedFunction::Run")                                           \
    X(CAPTURED_RUN_BORROWED, "InstantiatedCapturedFunction::RunWithBorrowedArgs")                  \
    X(CAPTURED_RUN_INSTANTIATED, "InstantiatedCapturedFunction::RunInstantiated")                  \
    X(CAPTURED_RUN_ASYNC, "InstantiatedCapturedFunction::RunAsync")                                \
    X(PARALLEL_FOR_OP, "ParallelForOp")                                                            \
    X(FOREVER_OP, "ForeverOp")                                                                     \
    X(WHILE_COND, "WhileOp-EvalCond")                                                              \
    X(WHILE_BODY, "WhileOp-StartBody")                                                             \
    X(FOR_OP, "ForOp")                                                                             \
    X(GET_NEXT, "IteratorGetNextOp::DoCompute")                                                    \
    X(GET_NEXT_OPTIONAL, "IteratorGetNextAsOptionalOp::DoCompute")                                 \
    X(ITERATOR, "Iterator")                                                                        \
    X(SECOND_ITERATOR, "Iterator::Prefetch::Generator")                                            \
    X(PREFETCH_PRODUCE, "PrefetchProduce")                                                         \
    X(PREFETCH_CONSUME, "PrefetchConsume")                                                         \
    X(INTERLEAVE_PRODUCE, "ParallelInterleaveProduce")                                             \
    X(INTERLEAVE_CONSUME, "ParallelInterleaveConsume")                                             \
    X(INTERLEAVE_INIT, "ParallelInterleaveInitializeInput")                                        \
    X(MAP_PRODUCE, "ParallelMapProduce")                                                           \
    X(MAP_CONSUME, "ParallelMapConsume")                                                           \
    X(MAP_BATCH_PRODUCE, "MapAndBatchProduce")                                                     \
    X(MAP_BATCH_CONSUME, "MapAndBatchConsume")                                                     \
    X(PARSE_PRODUCE, "ParseExampleProduce")                                                        \
    X(PARSE_CONSUME, "ParseExampleConsume")                                                        \
    X(BATCH_PRODUCE, "ParallelBatchProduce")                                                       \
    X(BATCH_CONSUME, "ParallelBatchConsume")                                                       \
    X(BATCHING_SESSION_RUN, "BatchingSessionRun")                                                  \
    X(PROCESS_BATCH, "ProcessBatch")                                                               \
    X(BRAIN_SESSION_RUN, "BrainSessionRun")                                                        \
    X(CONCAT_INPUT, "ConcatInputTensors")                                                          \
    X(MERGE_INPUT, "MergeInputTensors")                                                            \
    X(SCHEDULE_WITHOUT_SPLIT, "ScheduleWithoutSplit")                                              \
    X(SCHEDULE_WITH_SPLIT, "ScheduleWithSplit")                                                    \
    X(SCHEDULE_WITH_EAGER_SPLIT, "ScheduleWithEagerSplit")                                         \
    X(ASBS_SCHEDULE, "ASBSQueue::Schedule")                                                        \
    X(ORBAX_PROCESS_BATCH, "OrbaxServing::ProcessBatch")                                           \
    X(ORBAX_CONCAT, "OrbaxServing::ConcatInputBuffers")                                            \
    X(TFRT_MODEL_RUN, "TfrtModelRun")                                                              \
    X(SERVING_MODEL_RUN, "ServingModelRun")                                                        \
    X(KERNEL_LAUNCH, "KernelLaunch")                                                               \
    X(KERNEL_EXECUTE, "KernelExecute")                                                             \
    X(ENQUEUE_REQUEST_LOCKED, "EnqueueRequestLocked")                                              \
    X(RUN_PROGRAM_REQUEST, "RunProgramRequest")                                                    \
    X(HOST_CALLBACK_REQUEST, "HostCallbackRequest")                                                \
    X(TRANSFER_H2D_REQUEST, "TransferH2DRequest")                                                  \
    X(TRANSFER_PRE_H2D_REQUEST, "TransferPreprocessedH2DRequest")                                  \
    X(TRANSFER_D2H_REQUEST, "TransferD2HRequest")                                                  \
    X(ON_DEVICE_SEND, "OnDeviceSendRequest")                                                       \
    X(ON_DEVICE_RECV, "OnDeviceRecvRequest")                                                       \
    X(ON_DEVICE_SEND_RECV_LOCAL, "OnDeviceSendRecvLocalRequest")                                   \
    X(CUSTOM_WAIT, "CustomWait")                                                                   \
    X(ON_DEVICE_SEND_MULTI, "OnDeviceSendRequestMulti")                                            \
    X(ON_DEVICE_RECV_MULTI, "OnDeviceRecvRequestMulti")                                            \
    X(PJRT_ASYNC_WAIT, "PjrtAsyncWait")                                                            \
    X(DO_ENQUEUE_PROGRAM, "DoEnqueueProgram")                                                      \
    X(DO_ENQUEUE_CONTINUATION, "DoEnqueueContinuationProgram")                                     \
    X(WRITE_HBM, "WriteHbm")                                                                       \
    X(READ_HBM, "ReadHbm")                                                                         \
    X(TPU_EXECUTE_OP, "TpuExecuteOp")                                                              \
    X(COMPLETE_CALLBACKS, "CompleteCallbacks")                                                     \
    X(TPU_INIT_VAR, "TPUPartitionedCallOp-InitializeVarOnTPU")                                     \
    X(TPU_EXECUTE_REMOTE, "TPUPartitionedCallOp-ExecuteRemote")                                    \
    X(TPU_EXECUTE_LOCAL, "TPUPartitionedCallOp-ExecuteLocal")                                      \
    X(LINEARIZE, "Linearize")                                                                      \
    X(DELINEARIZE, "Delinearize")                                                                  \
    X(TRANSFER_FAST_PATH, "TransferBufferFromDevice-FastPath")                                     \
    X(TPU_TO_DEVICE_ISSUE, "tpu::System::TransferToDevice=>IssueEvent")                            \
    X(TPU_TO_DEVICE_DONE, "tpu::System::TransferToDevice=>IssueEvent=>Done")                       \
    X(TPU_FROM_DEVICE_ISSUE, "tpu::System::TransferFromDevice=>IssueEvent")                        \
    X(TPU_FROM_DEVICE_DONE, "tpu::System::TransferFromDevice=>IssueEvent=>Done")                   \
    X(TPU_EXECUTE, "tpu::System::Execute")                                                         \
    X(UNKNOWN_HOST_EVENT, "UnknownHostEventType")                                                  \
    X(THREADPOOL_START, "ThreadpoolListener::StartRegion")                                         \
    X(THREADPOOL_STOP, "ThreadpoolListener::StopRegion")                                           \
    X(THREADPOOL_REGION, "ThreadpoolListener::Region")                                             \
    X(THREADPOOL_RECORD, "ThreadpoolListener::Record")

enum tbp_event_kind {
    TBP_EVENT_OTHER,
#define X(id, text) TBP_EVENT_##id,
    TBP_EVENT_NAMES(X)
#undef X
        TBP_EVENT_KINDS
};

enum tbp_stat_key tbp_stat_key_of(struct tbp_str name); /* TBP_STAT_OTHER if unknown */
enum tbp_event_kind
tbp_event_kind_of(struct tbp_str name); /* exact name; TBP_EVENT_OTHER if unknown */
struct tbp_str tbp_stat_key_text(enum tbp_stat_key key);
struct tbp_str tbp_event_kind_text(enum tbp_event_kind kind);

/* Plane classes by name (reference host_and_op_analysis 1.1; spec pages 2.2). */
bool tbp_is_host_plane(struct tbp_str name);
bool tbp_is_device_plane(struct tbp_str name);
bool tbp_is_gpu_plane(struct tbp_str name);    /* prefix /device:GPU: */
bool tbp_is_tpu_plane(struct tbp_str name);    /* prefix /device:TPU: */
bool tbp_is_custom_plane(struct tbp_str name); /* prefix /device:CUSTOM: */
bool tbp_is_tensor_core_plane(struct tbp_str name,
                              int64_t *ordinal); /* /device:TPU:<digits> whole */
bool tbp_is_sparse_core_plane(struct tbp_str name, int64_t *ordinal);
#define TBP_HOST_PLANE     "/host:CPU"
#define TBP_METADATA_PLANE "/host:metadata"
#define TBP_SCOPE_PLANE    "/host:__ScopeRangeCallStack__"

/* Waiting for data, as PyTorch calls it: "enumerate(DataLoader)#…", "enumerate(DataPipe)#…". */
bool tbp_is_torch_input(struct tbp_str event_name);

/* Line ids that mark derived lines: the id narrowed to 32 bits within [0xdeadbeef, 0xdeadbeef+405].
 */
#define TBP_DERIVED_FIRST 0xdeadbeefu
#define TBP_DERIVED_LAST  (0xdeadbeefu + 405)
static inline bool tbp_is_derived_line(int64_t id) {
    return (uint32_t)id >= TBP_DERIVED_FIRST && (uint32_t)id <= TBP_DERIVED_LAST;
}

/* Line ids that readers make where the input tells none, or one that viewers cannot take. They mean
 * nothing to anybody. */
enum { TBP_MADE_LINE_FIRST = 1000000, TBP_MADE_LINE_LAST = 1099999 };
static inline bool tbp_is_made_line(int64_t id) {
    return id >= TBP_MADE_LINE_FIRST && id <= TBP_MADE_LINE_LAST;
}

#endif
