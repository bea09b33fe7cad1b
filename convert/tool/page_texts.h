/* SPDX-License-Identifier: Apache-2.0
 *
 * Every sentence of the overview, the input page and the pod viewer, word for word as the official
 * pages say it: frontends and users search for parts. Formats take doubles (%.1f) or texts (%s).
 * Source: spec pages/RULES.md appendix A.
 */
#ifndef TBP_CONVERT_TOOL_PAGE_TEXTS_H
#define TBP_CONVERT_TOOL_PAGE_TEXTS_H

#define TBP_ANCHOR(url, label) "<a href=\"" url "\" target=\"_blank\">" label "</a>"

/* ---- diagnostics ---- */
#define TBP_TEXT_NO_STEP                                                                           \
    "No step marker observed and hence the step time is unknown. This may happen if (1) training " \
    "steps are not instrumented (e.g., if you are not using Keras) or (2) the profiling duration " \
    "is shorter than the step time. For (1), you need to add step instrumentation; for (2), you "  \
    "may try to profile longer."
#define TBP_TEXT_EMPTY_INTERSECTION                                                                \
    "Although there are steps observed on some host(s), the intersection of the steps over all "   \
    "hosts is empty (because the differences among individual host's step sequences are too "      \
    "big). Consequently, the overall step time is unknown."
#define TBP_TEXT_NO_DEVICE_TRACE                                                                   \
    "No TensorCore device trace was collected. This might happen if your job hadn't been run on "  \
    "the device when sampling was turned on. You could try the sampling again later."

/* ---- what bounds the program ---- */
#define TBP_TEXT_NO_STEP_TIME                                                                      \
    "No step time measured. Therefore we cannot tell where the performance bottleneck is."
#define TBP_TEXT_INPUT_HIGHLY                                                                      \
    "Your program is HIGHLY input-bound because %.1f%% of the total step time sampled is waiting " \
    "for input. Therefore, you should first focus on reducing the input time."
#define TBP_TEXT_INPUT_MODERATELY                                                                  \
    "Your program is MODERATELY input-bound because %.1f%% of the total step time sampled is "     \
    "waiting for input. Therefore, you would need to reduce both the input time and other time."
#define TBP_TEXT_INPUT_POTENTIALLY                                                                 \
    "Your program is POTENTIALLY input-bound because %.1f%% of the total step time sampled is "    \
    "spent on 'All Others' time (which could be due to I/O or Python execution or both)."
#define TBP_TEXT_INPUT_NOT                                                                         \
    "Your program is NOT input-bound because only %.1f%% of the total step time sampled is "       \
    "waiting for input. Therefore, you should focus on reducing other time."
#define TBP_TEXT_OUTPUT_HIGHLY                                                                     \
    "Your program is HIGHLY output-bound because %.1f%% of the total step time sampled is spent "  \
    "on output. Therefore, you should first focus on reducing the output time."
#define TBP_TEXT_OUTPUT_MODERATELY                                                                 \
    "Your program is MODERATELY output-bound because %.1f%% of the total step time sampled is "    \
    "spent on output. Therefore, you would need to reduce both the output time and other time."
#define TBP_TEXT_COLLECTIVES                                                                       \
    "%.1f %% of the total step time sampled is spent on 'Device Collective Communication'."
#define TBP_TEXT_LAUNCH "%.1f %% of the total step time sampled is spent on 'Kernel Launch'."
#define TBP_TEXT_LAUNCH_TF_DATA                                                                    \
    TBP_TEXT_LAUNCH                                                                                \
    " It could be due to CPU contention with tf.data. In this case, you may try to set the "       \
    "environment variable TF_GPU_THREAD_MODE=gpu_private."
#define TBP_TEXT_OTHERS                                                                            \
    "%.1f %% of the total step time sampled is spent on 'All Others' time. This could be due to "  \
    "Python execution overhead."
#define TBP_TEXT_PRECISION                                                                         \
    "Only %.1f%% of device computation is 16 bit. So you might want to replace more 32-bit Ops "   \
    "by 16-bit Ops to improve performance (if the reduced accuracy is acceptable)."

/* ---- what to do next ---- */
#define TBP_TEXT_NEXT_SKIP    "You may skip the rest of this page."
#define TBP_TEXT_NEXT_SECTION "Look at Section 3 for the breakdown of input time on the host."
#define TBP_TEXT_NEXT_TF_DATA                                                                      \
    "Consider using " TBP_ANCHOR(                                                                  \
        "https://www.tensorflow.org/guide/data",                                                   \
        "the tf.data API") " to enable profiler's host-side analysis for input pipeline. "         \
                           "Profiler currently does not "                                          \
                           "support custom input pipeline (please ignore Section 3 below)."

#define TBP_DATASET_DOC "https://www.tensorflow.org/api_docs/python/tf/data/Dataset#"
#define TBP_RECORD_DOC                                                                             \
    "https://www.tensorflow.org/api_docs/python/tf/data/TFRecordDataset#class_tfrecorddataset"
#define TBP_TEXTS_INPUT_ADVICE                                                                     \
    "Enqueuing data: you may want to combine small input data chunks into fewer but larger "       \
    "chunks.",                                                                                     \
        "Data preprocessing: you may increase num_parallel_calls in " TBP_ANCHOR(                  \
            TBP_DATASET_DOC "map", "Dataset map()") " or preprocess the data OFFLINE.",            \
        "Reading data from files in advance: you may tune parameters in the following tf.data "    \
        "API (" TBP_ANCHOR(TBP_DATASET_DOC "prefetch", "prefetch size") ", " TBP_ANCHOR(           \
            TBP_DATASET_DOC "interleave",                                                          \
            "interleave cycle_length") ", " TBP_ANCHOR(TBP_RECORD_DOC, "reader buffer_size") ")",  \
        "Reading data from files on demand: you should read data IN ADVANCE using the following "  \
        "tf.data API (" TBP_ANCHOR(TBP_DATASET_DOC "prefetch", "prefetch") ", " TBP_ANCHOR(        \
            TBP_DATASET_DOC "interleave", "interleave") ", " TBP_ANCHOR(TBP_RECORD_DOC,            \
                                                                        "reader buffer") ")",      \
        "Other data reading or processing: you may consider using the " TBP_ANCHOR(                \
            "https://www.tensorflow.org/programmers_guide/datasets",                               \
            "tf.data API") " (if you are not using it now)"

/* ---- tips of the overview ---- */
#define TBP_TIP_FAQ "Refer to the TF2 Profiler FAQ"
#define TBP_TIP_INPUT                                                                              \
    "input_pipeline_analyzer (especially Section 3 for the breakdown of input operations on the "  \
    "Host)"
#define TBP_TIP_TF_DATA                                                                            \
    "tf_data_bottleneck_analysis (find the bottleneck in the tf.data input pipeline)"
#define TBP_TIP_HOST_TRACE                                                                         \
    "trace_viewer (look at the activities on the timeline of each Host Thread near the bottom of " \
    "the trace view)"
#define TBP_TIP_DEVICE_OPS "%s (identify the time-consuming operations executed on the %s)"
#define TBP_TIP_DEVICE_TRACE                                                                       \
    "trace_viewer (look at the activities on the timeline of each %s in the trace view)"
#define TBP_TIP_DOC_ANALYSIS                                                                       \
    TBP_ANCHOR("https://www.tensorflow.org/guide/data_performance_analysis",                       \
               "Analyze tf.data performance with the TF Profiler")
#define TBP_TIP_DOC_PERFORMANCE                                                                    \
    TBP_ANCHOR("https://www.tensorflow.org/guide/data_performance",                                \
               "Better performance with the tf.data API")
#define TBP_TIP_WORD_FAQ    "Tool troubleshooting / FAQ"
#define TBP_TIP_WORD_HOST   "Next steps for reducing the Host time"
#define TBP_TIP_WORD_DEVICE "Next steps for reducing the Device time"
#define TBP_TIP_WORD_DOC    "Other useful resources"

/* ---- our own ---- */
#define TBP_TEXT_REPAIRED_STEPS                                                                    \
    "Steps were taken from step_num of events that are not marked as roots (repair: the official " \
    "rules find no step in this profile)."
#define TBP_TEXT_REPAIRED_LOOPS                                                                    \
    "Steps were taken from step_num although there are loops within them (repair: the official "   \
    "rules take the iterations of loops for steps and then show none of them)."

#endif
