/* SPDX-License-Identifier: Apache-2.0
 *
 * Readers of trace events: small documents, and what they are in the model.
 */
#include "convert/model/stats.h"
#include "convert/read/json_trace.h"
#include "convert/read/reader.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static void read_on(struct tbp_host *h, const char *text, struct tbp_pool *pool) {
    struct tbp_error err = {0};
    size_t n = strlen(text);
    uint8_t *copy = malloc(n + 1);
    memcpy(copy, text, n);
    struct tbp_input input = {.data = copy, .size = n};
    cr_assert_eq(tbp_read_host_input(h, "t.json", TBP_STR("t"), &input, TBP_WANTED_ALL, pool, &err),
                 TBP_OK, "%s", err.message);
    const struct tbp_ledger *l = &h->ledger;
    cr_assert_eq(l->events_read,
                 l->events_emitted + l->events_merged + l->events_quarantined + l->events_dropped);
}

static void read_text(struct tbp_host *h, const char *text) {
    read_on(h, text, NULL);
}

static const struct tbp_line *line_named(const struct tbp_host *h, const char *name) {
    for (size_t p = 0; p < h->n_planes; p++)
        for (size_t i = 0; i < h->planes[p].n_lines; i++)
            if (tbp_str_is(h->planes[p].lines[i].name, name))
                return &h->planes[p].lines[i];
    cr_assert_fail("no line %s", name);
    return NULL;
}

static struct tbp_str text_stat(const struct tbp_line *l, size_t i, enum tbp_stat_key key) {
    struct tbp_stat st;
    return tbp_event_stat(l, i, key, &st) ? tbp_stat_s(&st) : TBP_STR_NONE;
}

static const char kineto[] =
    "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"T4\", \"numSms\": "
    "40}],\n"
    "\"baseTimeNanoseconds\": 1000000000000000000, \"traceEvents\": [\n"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#7\",\"pid\":9,\"tid\":9,"
    "\"ts\":100.000,\"dur\":50.000},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":9,\"ts\":110.000,"
    "\"dur\":20.5,\"args\":{\"External id\":5}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9,"
    "\"ts\":112,\"dur\":3,\"args\":{\"correlation\":77}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":120.001,"
    "\"dur\":10,\"args\":{\"device\":0,\"stream\":7,\"correlation\":77,"
    "\"registers per thread\":32,\"shared memory\":16,\"grid\":[1, 2, 3],\"block\":[64, 1, 1],"
    "\"est. achieved occupancy %\":50}},\n"
    "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":9,\"tid\":9,\"ts\":115,"
    "\"args\":{\"Bytes\":64,\"Addr\":1,\"Device Type\":0,\"Device Id\":-1}},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"backward\",\"pid\":9,\"tid\":10,\"ts\":130,"
    "\"dur\":5}\n]}";

Test(read_kineto, kernel_knows_op_launch_and_details) {
    struct tbp_host h;
    read_text(&h, kineto);
    const struct tbp_line *l = line_named(&h, "Stream #7(Compute)");
    cr_assert_eq(l->ev.n, 1);
    cr_assert_eq(l->ev.start_ps[0], 20001000);
    cr_assert_eq(l->ev.dur_ps[0], 10000000);
    cr_assert(tbp_str_is(tbp_event_name(l, 0), "gemm"));
    cr_assert(tbp_str_is(text_stat(l, 0, TBP_STAT_TF_OP), "aten/mm:mm"));
    cr_assert(
        tbp_str_is(text_stat(l, 0, TBP_STAT_KERNEL_DETAILS),
                   "regs:32 static_shared:16 dynamic_shared:0 grid:1,2,3 block:64,1,1 occ_pct:50"));
    struct tbp_stat st;
    cr_assert(tbp_event_stat(l, 0, TBP_STAT_CORRELATION_ID, &st));
    cr_assert_eq(st.i, 77);
    cr_assert(tbp_plane_stat(l->plane, TBP_STAT_CORE_COUNT, &st));
    cr_assert_eq(st.u, 40);
    tbp_host_release(&h);
}

Test(read_kineto, vendors_are_told_by_names_and_categories) {
    static const struct {
        const char *device, *category, *vendor;
    } cases[] = {{"Tesla V100", "cuda_runtime", "Nvidia"},
                 {"AMD Instinct MI210", "cuda_runtime", "AMD"},
                 {"Intel(R) Data Center GPU Max 1550", "xpu_runtime", "Intel"},
                 {"", "xpu_runtime", "Intel"},
                 {"Ascend910B", "privateuse1_runtime", "Huawei"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tbp_host h;
        struct tbp_stat st;
        char text[600];
        snprintf(text, sizeof text,
                 "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"%s\"}],"
                 "\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"launch\",\"pid\":9,"
                 "\"tid\":9,\"ts\":0,\"dur\":1},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\","
                 "\"pid\":0,\"tid\":7,\"ts\":2,\"dur\":1,\"args\":{\"device\":0,\"stream\":7}}]}",
                 cases[i].device, cases[i].category);
        read_text(&h, text);
        const struct tbp_line *l = line_named(&h, "Stream #7(Compute)");
        cr_assert(tbp_plane_stat_named(l->plane, "device_vendor", &st));
        cr_expect(tbp_str_is(tbp_stat_s(&st), cases[i].vendor), "%s", cases[i].device);
        tbp_host_release(&h);
    }
}

Test(read_kineto, step_marks_are_roots_and_hold_other_threads) {
    struct tbp_host h;
    read_text(&h, kineto);
    const struct tbp_line *l = line_named(&h, "thread 9");
    struct tbp_stat st;
    cr_assert_eq(l->ev.n, 4);
    cr_assert(tbp_event_stat(l, 0, TBP_STAT_STEP_NUM, &st));
    cr_assert_eq(st.i, 7);
    cr_assert(l->ev.has[0] & TBP_HAS_ROOT);
    cr_assert(tbp_str_is(text_stat(l, 3, TBP_STAT_TF_OP), "aten/mm:mm"));
    cr_assert_eq(tbp_event_kind_at(l, 3), TBP_EVENT_MEMORY_ALLOCATION);
    cr_assert(tbp_event_stat(l, 3, TBP_STAT_BYTES_ALLOCATED, &st));
    cr_assert_eq(st.i, 64);
    const struct tbp_line *other = line_named(&h, "thread 10");
    cr_assert(tbp_event_stat(other, 0, TBP_STAT_CONSUMER_ID, &st));
    cr_assert_eq(st.i, 1);
    tbp_host_release(&h);
}

static const char chrome[] =
    "[{\"ph\":\"B\",\"name\":\"outer\",\"pid\":1,\"tid\":\"main\",\"ts\":0},"
    "{\"ph\":\"B\",\"name\":\"inner\",\"pid\":1,\"tid\":\"main\",\"ts\":2},"
    "{\"ph\":\"E\",\"pid\":1,\"tid\":\"main\",\"ts\":5},"
    "{\"ph\":\"E\",\"pid\":1,\"tid\":\"main\",\"ts\":9},"
    "{\"ph\":\"E\",\"pid\":1,\"tid\":\"main\",\"ts\":10},"
    "{\"ph\":\"b\",\"cat\":\"c\",\"id2\":{\"local\":\"0x1\"},\"name\":\"w\",\"pid\":1,\"tid\":1,"
    "\"ts\":1},"
    "{\"ph\":\"b\",\"cat\":\"c\",\"id2\":{\"local\":\"0x1\"},\"name\":\"w\",\"pid\":2,\"tid\":1,"
    "\"ts\":2},"
    "{\"ph\":\"e\",\"cat\":\"c\",\"id2\":{\"local\":\"0x1\"},\"name\":\"w\",\"pid\":2,\"tid\":1,"
    "\"ts\":5},"
    "{\"ph\":\"e\",\"cat\":\"c\",\"id2\":{\"local\":\"0x1\"},\"name\":\"w\",\"pid\":1,\"tid\":1,"
    "\"ts\":8},"
    "{\"ph\":\"Z\",\"name\":\"?\",\"pid\":1,\"tid\":1,\"ts\":8},"
    "{\"ph\":\"C\",\"name\":\"n\",\"pid\":1,\"ts\":3,\"args\":{\"v\":1.5}},{}";

/* What tells the format is found wherever it stands in a small document, and in a large one
 * wherever much of it does: here in every tenth of the events, or in those of one tenth. */
Test(json_trace, what_tells_the_format_may_stand_anywhere) {
    static const char plain[] = "{\"ph\":\"X\",\"name\":\"a\"},", mark[] = "{\"cat\":\"marked\"},";
    static const char *const texts[] = {"\"marked\"", NULL};
    enum { LARGE = 8 << 20, SMALL = 900 << 10 };
    uint8_t *data = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        data[i] = (uint8_t)plain[i % (sizeof plain - 1)];
    cr_expect_not(tbp_json_trace_has_any(data, LARGE, texts));
    memcpy(data + SMALL / 2, mark, sizeof mark - 1);
    cr_expect(tbp_json_trace_has_any(data, SMALL, texts));
    for (size_t i = LARGE / 2; i < LARGE / 2 + LARGE / 10; i += 10 * sizeof mark)
        memcpy(data + i, mark, sizeof mark - 1);
    cr_expect(tbp_json_trace_has_any(data, LARGE, texts));
    free(data);
}

Test(json_trace, a_reader_is_found_by_what_stands_far_behind) {
    static const char plain[] = "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1},",
                      mark[] = "{\"ph\":\"X\",\"name\":\"k\",\"ts\":1,\"dur\":1,\"args\":{"
                               "\"desc\":\"KernelExecution\"}},";
    enum { EVENTS = 4000 };
    char *text = malloc(2 + EVENTS * sizeof plain + sizeof mark);
    size_t n = 0;
    text[n++] = '[';
    for (int i = 0; i < EVENTS; i++) {
        bool is_mark = i == EVENTS / 2;
        memcpy(text + n, is_mark ? mark : plain, is_mark ? sizeof mark - 1 : sizeof plain - 1);
        n += is_mark ? sizeof mark - 1 : sizeof plain - 1;
    }
    text[n - 1] = ']';
    struct tbp_input in = {.data = (uint8_t *)text, .size = n};
    cr_expect_str_eq(tbp_reader_of(&in)->name, "rocprof");
    free(text);
}

/* One event in the middle of many, and the text lies across two stretches of the search. */
Test(json_trace, one_telling_text_anywhere_tells_the_format) {
    static const char plain[] = "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1},";
    enum { EVENT = sizeof plain - 1, SIZE = 9 << 20, STRETCH = 8 << 20 };
    static const size_t places[] = {SIZE / 3, STRETCH - 5, SIZE - 200000};
    char *text = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = plain[i % EVENT];
    text[0] = '[';
    struct tbp_input in = {.data = (uint8_t *)text, .size = SIZE};
    cr_expect_str_eq(tbp_reader_of(&in)->name, "chrome");
    for (size_t i = 0; tbp_readers[i]; i++)
        for (size_t k = 0; tbp_readers[i]->telling_texts && tbp_readers[i]->telling_texts[k]; k++) {
            const char *telling = tbp_readers[i]->telling_texts[k];
            size_t n = strlen(telling), at = places[k % 3];
            memcpy(text + at, telling, n);
            cr_expect_str_eq(tbp_reader_of(&in)->name, tbp_readers[i]->name, "%s", telling);
            for (size_t c = at; c < at + n; c++)
                text[c] = plain[c % EVENT];
        }
    free(text);
}

Test(read_chrome, bad_bytes_of_a_list_are_told_where_it_begins) {
    static const char text[] = "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"l\":"
                               "[\"\xff\", \"\xff\"]}}]";
    struct tbp_host h;
    read_text(&h, text);
    cr_assert_eq(h.ledger.count[TBP_LEDGER_INVALID_UTF8], 2);
    cr_assert_eq(h.ledger.first_offset[TBP_LEDGER_INVALID_UTF8],
                 (uint64_t)(strstr(text, "[\"\xff") - text));
    tbp_host_release(&h);
}

Test(read_chrome, begin_and_end_are_paired) {
    struct tbp_host h;
    read_text(&h, chrome);
    const struct tbp_line *l = line_named(&h, "main");
    cr_assert_eq(l->ev.n, 2);
    cr_assert_eq(l->ev.dur_ps[0], 9000000);
    cr_assert_eq(l->ev.dur_ps[1], 3000000);
    cr_assert_eq(h.ledger.count[TBP_LEDGER_UNMATCHED_END], 1);
    cr_assert_eq(h.ledger.count[TBP_LEDGER_NOT_SHOWN], 1);
    cr_assert_eq(h.ledger.count[TBP_LEDGER_JSON_OPEN], 1);
    cr_assert_eq(line_named(&h, "_counters_")->ev.n, 1);
    tbp_host_release(&h);
}

Test(read_chrome, local_ids_are_of_their_process) {
    struct tbp_host h;
    uint64_t sum_ps = 0;
    read_text(&h, chrome);
    for (size_t i = 0; i < h.planes[0].n_lines; i++)
        if (tbp_str_starts(h.planes[0].lines[i].name, "async"))
            sum_ps += h.planes[0].lines[i].ev.dur_ps[0];
    cr_assert_eq(sum_ps, 7000000 + 3000000);
    tbp_host_release(&h);
}

Test(read_chrome, events_of_another_clock_are_quarantined) {
    struct tbp_host h;
    read_text(&h, "[{\"ph\":\"X\",\"name\":\"z\",\"ts\":0,\"dur\":0},"
                  "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1.6e15,\"dur\":1},"
                  "{\"ph\":\"X\",\"name\":\"b\",\"ts\":1600000000000002.5,\"dur\":1}]");
    cr_assert_eq(h.ledger.events_quarantined, 1);
    cr_assert_eq(h.planes[0].lines[0].ev.start_ps[1], 2500000);
    tbp_host_release(&h);
}

Test(read_chrome, planes_are_known_by_process_names) {
    struct tbp_host h;
    read_text(
        &h,
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"k\",\"pid\":1,\"tid\":3,\"ts\":1,\"dur\":1},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"/"
        "device:GPU:0\"}}]}");
    cr_assert(tbp_str_is(line_named(&h, "Stream #3(Compute)")->plane->name, "/device:GPU:0"));
    tbp_host_release(&h);
}

/* Of each event its own, and the first where there are two; what is too wide is read from the stat.
 */
Test(read_chrome, groups_are_those_of_the_args) {
    static const int64_t groups[] = {0, 1, 1, 2, 4294967296};
    struct tbp_host h;
    int64_t group;
    read_text(&h, "[{\"ph\":\"X\",\"name\":\"train 7\",\"ts\":1,\"dur\":1,"
                  "\"args\":{\"group_id\":\"0\",\"step_num\":\"7\"}},"
                  "{\"ph\":\"X\",\"name\":\"op\",\"ts\":2,\"dur\":1,\"args\":{\"group_id\":\"1\"}},"
                  "{\"ph\":\"X\",\"name\":\"op\",\"ts\":3,\"dur\":1,\"args\":{\"group_id\":\"1\"}},"
                  "{\"ph\":\"X\",\"name\":\"op\",\"ts\":4,\"dur\":1,"
                  "\"args\":{\"group_id\":2,\"group_id\":3}},"
                  "{\"ph\":\"X\",\"name\":\"op\",\"ts\":5,\"dur\":1,"
                  "\"args\":{\"group_id\":4294967296}},"
                  "{\"ph\":\"X\",\"name\":\"op\",\"ts\":6,\"dur\":1}]");
    const struct tbp_line *l = &h.planes[0].lines[0];
    cr_assert_eq(l->ev.n, 6);
    for (size_t i = 0; i < 5; i++) {
        cr_assert(tbp_event_group(l, i, &group));
        cr_assert_eq(group, groups[i], "event %zu: %lld", i, (long long)group);
    }
    cr_assert(!tbp_event_group(l, 5, &group));
    tbp_host_release(&h);
}

Test(read_chrome, the_order_of_events_does_not_matter) {
    static const char *const texts[] = {
        "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1},"
        "{\"tid\":1,\"dur\":5,\"ts\":1,\"pid\":1,\"name\":\"b\",\"ph\":\"X\"}]",
        "[{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5},"
        "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]"};
    for (size_t k = 0; k < 2; k++) {
        struct tbp_host h;
        read_text(&h, texts[k]);
        const struct tbp_line *l = &h.planes[0].lines[0];
        cr_assert(tbp_str_is(tbp_event_name(l, 0), "b"));
        cr_assert_eq(l->ev.meta[0], 2);
        cr_assert_eq(l->ev.meta[1], 1);
        tbp_host_release(&h);
    }
}

enum { MANY = 99990, STRIDE = 7919, THREADS = 3 }; /* the first two have no factor in common */

/* One event per microsecond on the threads in turn, in no order; each tells its time once more. */
static struct tbp_wire_out many_events(void) {
    struct tbp_wire_out text = {0};
    char event[160];
    for (unsigned i = 0, k = 0; i < MANY; i++, k = (k + STRIDE) % MANY) {
        int n = snprintf(event, sizeof event,
                         "%c{\"ph\":\"X\",\"name\":\"e\",\"pid\":1,\"tid\":%u,\"ts\":%u,"
                         "\"dur\":1,\"args\":{\"n\":%u}}\n",
                         i ? ',' : '[', k % THREADS + 1, k, k);
        tbp_wire_put_raw(&text, event, (size_t)n);
    }
    tbp_wire_put_raw(&text, "]", 2);
    return text;
}

Test(read_chrome, events_are_the_same_on_any_number_of_threads) {
    struct tbp_wire_out text = many_events();
    for (unsigned n = 1; n <= 4; n++) {
        struct tbp_pool *pool = tbp_pool_new(n);
        struct tbp_host h;
        read_on(&h, (const char *)text.at, pool);
        cr_assert_eq(h.planes[0].n_lines, THREADS);
        for (unsigned t = 0; t < THREADS; t++) {
            const struct tbp_line *l = &h.planes[0].lines[t];
            cr_assert_eq(l->ev.n, MANY / THREADS);
            for (unsigned i = 0; i < l->ev.n; i++) {
                const int64_t us = i * THREADS + t;
                struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
                struct tbp_stat st;
                cr_assert_eq(l->ev.start_ps[i], (uint64_t)us * 1000000);
                cr_assert(tbp_stat_next(&it, &st));
                cr_assert_eq(tbp_stat_i(&st), us);
            }
        }
        tbp_host_release(&h);
        tbp_pool_free(pool);
    }
    tbp_wire_out_release(&text);
}
