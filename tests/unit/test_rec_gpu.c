/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU records in spools made by hand, and the planes that come out of them. A tick is a nanosecond;
 * the monotonic clock shows 500 when the session begins, so a time t after it is 500 + t there.
 */
#include "plugin_data/collect.h"
#include "schemas/spool_gpu.h"
#include "schemas/wire.h"
#include "tests/support/spool_maker.h"

#include <criterion/criterion.h>

enum { MONOTONIC = 500, WORKER_TID = 99, SLOT = TBP_SPOOL_SLOT_BYTES };

static struct spool_maker m;
static struct tbp_wire_out text;
static uint32_t api, kernel, other;

static void begin(void) {
    spool_maker_init(&m);
    api = spool_string(&m, "cudaLaunchKernel");
    kernel = spool_string(&m, "gemm");
    other = spool_string(&m, "relu");
    spool_chunk(&m, 1, SPOOL_MAKER_TID, 0);
}

static void end(void) {
    spool_maker_release(&m);
    tbp_wire_out_release(&text);
}

TestSuite(rec_gpu, .init = begin, .fini = end);

static const char *profile(void) {
    spool_profile(&m, &text);
    return (const char *)text.at;
}

static void expect(const char *part) {
    cr_assert_not_null(strstr(profile(), part), "missing: '%s' in\n%s", part, profile());
}

static void expect_none(const char *part) {
    cr_assert_null(strstr(profile(), part), "there is '%s' in\n%s", part, profile());
}

static void record(uint32_t name, enum tbp_gpu_kind kind, struct tbp_spool_gpu base,
                   const void *more, size_t more_bytes) {
    unsigned extra = (unsigned)((sizeof base + more_bytes) / SLOT);
    struct tbp_spool_slot *slot = spool_record(&m, 900000, TBP_REC_GPU, name, kind, extra);
    base.start_ns += MONOTONIC;
    memcpy(slot + 1, &base, sizeof base);
    if (more_bytes)
        memcpy((uint8_t *)(slot + 1) + sizeof base, more, more_bytes);
}

static void call(int64_t start, uint64_t dur, uint32_t correlation, int32_t tid) {
    record(api, TBP_GPU_API,
           (struct tbp_spool_gpu){.start_ns = start,
                                  .duration_ns = dur,
                                  .device = TBP_GPU_API_RUNTIME,
                                  .correlation = correlation,
                                  .tid = tid},
           NULL, 0);
}

static void launch(uint32_t name, int64_t start, uint64_t dur, uint32_t correlation) {
    struct tbp_spool_gpu_launch l = {.grid = {4, 1, 1}, .block = {64, 2, 1}, .registers = 40};
    record(name, TBP_GPU_KERNEL,
           (struct tbp_spool_gpu){
               .start_ns = start, .duration_ns = dur, .stream = 7, .correlation = correlation},
           &l, sizeof l);
}

/* The scope that was open when the call began, not when the work ran. */
Test(rec_gpu, work_belongs_to_the_scope_that_launched_it) {
    spool_begin(&m, 1000, spool_string(&m, "forward"));
    spool_begin(&m, 2000, spool_string(&m, "inner"));
    spool_end(&m, 3000, 1);
    spool_end(&m, 5000, 1);
    spool_chunk(&m, 2, WORKER_TID, 0);
    launch(other, 9000, 100, 2);
    launch(kernel, 6000, 2000, 1);
    call(4000, 500, 2, SPOOL_MAKER_TID);
    call(2500, 200, 1, SPOOL_MAKER_TID);
    expect("line 77 \"thread 77\"\n"
           "    1us +4us \"forward\"\n"
           "    2us +1us \"inner\"\n"
           "    2500ns +200ns \"cudaLaunchKernel\" correlation_id=1u\n"
           "    4us +500ns \"cudaLaunchKernel\" correlation_id=2u\n");
    expect("    6us +2us \"gemm\" correlation_id=1u tf_op=@\"inner\" kernel_details=@\"regs:40 "
           "static_shared:0 dynamic_shared:0 grid:4,1,1 block:64,2,1 occ_pct:0\"");
    expect("    9us +100ns \"relu\" correlation_id=2u tf_op=@\"forward\"");
    expect("line 7 \"Stream #7(Compute)\"");
    expect_none("line 99"); /* the worker is none of the program's threads */
    expect_none("warning");
}

Test(rec_gpu, names_of_work_win_over_scopes) {
    spool_begin(&m, 1000, spool_string(&m, "scope"));
    spool_record(&m, 1100, TBP_REC_ANNOTATION, spool_string(&m, "model"), 0, 0);
    spool_record(&m, 1200, TBP_REC_ANNOTATION, spool_string(&m, "layer"), 0, 0);
    spool_record(&m, 2000, TBP_REC_ANNOTATION_END, 0, 0, 0);
    spool_end(&m, 5000, 1);
    spool_chunk(&m, 2, WORKER_TID, 0);
    call(1500, 10, 1, SPOOL_MAKER_TID);
    call(2500, 10, 2, SPOOL_MAKER_TID);
    launch(kernel, 6000, 10, 1);
    launch(kernel, 7000, 10, 2);
    expect("6us +10ns \"gemm\" correlation_id=1u tf_op=@\"model/layer\"");
    expect("7us +10ns \"gemm\" correlation_id=2u tf_op=@\"model\"");
}

Test(rec_gpu, arguments_in_a_name_are_no_part_of_it) {
    spool_begin_text(&m, 1000, "MatMul:MatMul#shape=(2,3)#");
    spool_end(&m, 5000, 1);
    spool_chunk(&m, 2, WORKER_TID, 0);
    call(1500, 10, 1, SPOOL_MAKER_TID);
    launch(kernel, 6000, 10, 1);
    expect("tf_op=@\"MatMul:MatMul\"");
}

Test(rec_gpu, a_thread_that_only_calls_has_a_line) {
    spool_chunk(&m, 2, WORKER_TID, 0);
    call(1500, 10, 1, 1234);
    launch(kernel, 6000, 10, 1);
    expect("line 1234 \"thread 1234\"\n    1500ns +10ns \"cudaLaunchKernel\" correlation_id=1u\n");
    expect("6us +10ns \"gemm\" correlation_id=1u kernel_details");
}

Test(rec_gpu, such_a_thread_is_called_as_the_system_calls_it) {
    spool_chunk(&m, 2, WORKER_TID, 0);
    call(1500, 10, 1, 1234);
    record(spool_string(&m, "autograd"), TBP_GPU_THREAD, (struct tbp_spool_gpu){.tid = 1234}, NULL,
           0);
    expect("line 1234 \"autograd\"\n");
}

Test(rec_gpu, the_driver_part_of_a_call_is_not_shown_twice) {
    uint32_t driver = spool_string(&m, "cuLaunchKernel");
    struct tbp_spool_gpu part = {.start_ns = 1600,
                                 .duration_ns = 10,
                                 .device = TBP_GPU_API_DRIVER,
                                 .correlation = 1,
                                 .tid = SPOOL_MAKER_TID};
    spool_begin(&m, 1000, spool_string(&m, "scope"));
    spool_end(&m, 5000, 1);
    spool_chunk(&m, 2, WORKER_TID, 0);
    record(driver, TBP_GPU_API, part, NULL, 0);
    call(1500, 200, 1, SPOOL_MAKER_TID);
    part.correlation = 2;
    part.start_ns = 1900;
    record(driver, TBP_GPU_API, part, NULL, 0);
    launch(kernel, 6000, 10, 1);
    expect("\"cudaLaunchKernel\" correlation_id=1u\n    1900ns +10ns \"cuLaunchKernel\" "
           "correlation_id=2u\n");
    expect_none("1600ns");
    expect("correlation_id=1u tf_op=@\"scope\"");
}

Test(rec_gpu, allocations_stand_at_the_thread_that_called) {
    struct tbp_spool_gpu_memory memory = {.address = 0x1000,
                                          .bytes = 256,
                                          .in_use_bytes = 768,
                                          .peak_bytes = 1024,
                                          .capacity_bytes = 4096};
    spool_begin(&m, 1000, spool_string(&m, "scope"));
    spool_end(&m, 5000, 1);
    spool_chunk(&m, 2, WORKER_TID, 0);
    call(1500, 200, 1, SPOOL_MAKER_TID);
    record(spool_string(&m, "GPU_0"), TBP_GPU_ALLOC,
           (struct tbp_spool_gpu){.start_ns = 1600, .correlation = 1}, &memory, sizeof memory);
    expect("1500ns +200ns \"cudaLaunchKernel\" correlation_id=1u\n"
           "    1600ns +0 \"MemoryAllocation\" allocator_name=@\"GPU_0\" bytes_reserved=0 "
           "bytes_allocated=768 bytes_available=3328 peak_bytes_in_use=1024 requested_bytes=256 "
           "allocation_bytes=256 addr=4096u tf_op=\"scope\"\n");
}

Test(rec_gpu, devices_and_losses_are_told) {
    struct tbp_spool_gpu_device d = {.ordinal = 0,
                                     .compute_major = 8,
                                     .clock_khz = 1410000,
                                     .memory_clock_khz = 1000,
                                     .bus_width_bits = 64,
                                     .multiprocessors = 108,
                                     .memory_bytes = 1 << 20};
    struct tbp_spool_arg n = {0, TBP_ARG_U64, 0, 0, 5};
    spool_chunk(&m, 2, WORKER_TID, 0);
    launch(kernel, 6000, 10, 1);
    memcpy(
        spool_record(&m, 900000, TBP_REC_GPU_DEVICE, spool_string(&m, "A100"), 0, sizeof d / SLOT) +
            1,
        &d, sizeof d);
    spool_value(&m, 900000, TBP_REC_GPU_LOSS, 0, TBP_GPU_LOSS_TIMELESS, n);
    spool_value(&m, 900000, TBP_REC_GPU_LOSS, 0, TBP_GPU_LOSS_TIMELESS, n);
    expect("stat gpu_device_name=\"A100\"\n  stat clock_rate=1410000\n  stat core_count=108\n"
           "  stat memory_bandwidth=16000000u\n  stat memory_size=1048576u\n"
           "  stat compute_cap_major=8\n");
    expect("warning \"tbprof: 10 GPU records without times are not shown\"");
}

Test(rec_gpu, work_from_before_the_profile_is_cut_or_counted) {
    spool_chunk(&m, 2, WORKER_TID, 0);
    launch(kernel, -400, 1000, 1);
    launch(other, -400, 100, 2);
    expect("    0 +600ns \"gemm\"");
    expect_none("relu\" corr");
    expect("warning \"tbprof: 1 GPU records ended before the profile begins\"");
}

Test(rec_gpu, streams_of_one_number_have_lines_of_their_own) {
    struct tbp_spool_gpu_copy c = {.bytes = 1};
    spool_chunk(&m, 2, WORKER_TID, 0);
    for (uint32_t context = UINT32_MAX - 1; context != 0; context++)
        record(other, TBP_GPU_MEMSET,
               (struct tbp_spool_gpu){.start_ns = 10, .context = context, .stream = 3}, &c,
               sizeof c);
    expect("line 3 \"Stream #3(Memset)\"");
    expect("line -4294967293 \"Stream #3(Memset)\""); /* 2^32 - 1 above 3 */
}

/* A stranger's spool: records too short for their kind, kinds that are none, hostile numbers. */
Test(rec_gpu, hostile_records_are_counted) {
    spool_chunk(&m, 2, WORKER_TID, 0);
    record(kernel, TBP_GPU_KERNEL, (struct tbp_spool_gpu){.start_ns = 1}, NULL, 0);
    record(kernel, TBP_GPU_NONE, (struct tbp_spool_gpu){.start_ns = 1}, NULL, 0);
    record(kernel, (enum tbp_gpu_kind)60000, (struct tbp_spool_gpu){.start_ns = 1}, NULL, 0);
    spool_record(&m, 900000, TBP_REC_GPU, kernel, TBP_GPU_SYNC, 0);
    spool_record(&m, 900000, TBP_REC_GPU_DEVICE, kernel, 0, 1);
    spool_record(&m, 900000, TBP_REC_GPU_LOSS, 0, 77, 0);
    launch(UINT32_MAX - 1, 6000, UINT64_MAX, 1);
    record(other, TBP_GPU_MEMCPY,
           (struct tbp_spool_gpu){.start_ns = INT64_MAX - MONOTONIC, .device = 1023},
           &(struct tbp_spool_gpu_copy){.source = 200, .target = 201}, 16);
    record(other, TBP_GPU_MEMCPY, (struct tbp_spool_gpu){.device = 1024},
           &(struct tbp_spool_gpu_copy){0}, 16);
    expect("plane 1023 \"/device:GPU:1023\"");
    expect("memcpy_details=@\"kind_src:unknown kind_dst:unknown size:0 dest:0 async:0\"");
    expect("warning \"tbprof: 6 places in the spool make no sense and were left out\"");
}
