/* SPDX-License-Identifier: Apache-2.0
 *
 * Speed of trace_viewer@ in a session that stays: what the page asks for from opening a run to
 * clicking on events, each body written into memory. Prints median and worst per kind of request.
 *
 *     bench_zoom FILE.xplane.pb [rounds]      e.g. a recording repeated up to 10 million events
 */
#include "convert/read/reader.h"
#include "convert/tool/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 4096, TEXT = 64 };
/* Of the page in a window 1600 pixels wide. */
static const char resolution[] = "4040";

enum kind { OPEN, AGAIN, ZOOM, PAN, SEARCH, DETAILS, KINDS };
static const char *const kind_names[KINDS] = {"first view", "whole again", "zoom",
                                              "pan",        "search",      "details"};

struct bench {
    struct tbp_session *session;
    const char *path;
    struct tbp_sink_memory body;
    struct sample {
        double s;
        size_t bytes;
    } samples[KINDS][MOST];
    size_t n[KINDS];
};

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int load(void *ctx, uint32_t host, struct tbp_host *out, struct tbp_pool *pool,
                struct tbp_error *err) {
    (void)host;
    const struct bench *b = ctx;
    struct tbp_input input;
    int status = tbp_input_open(&input, b->path, err);
    return status ? status
                  : tbp_read_host_input(out, b->path, TBP_STR("host"), &input, TBP_WANTED_ALL, pool,
                                        err);
}

static void ask(struct bench *b, enum kind kind, const struct tbp_tool_option *o, size_t n) {
    struct tbp_error err = {0};
    const struct tbp_request r = {.options = o, .n_options = n};
    b->body.size = 0;
    double start_s = now_s();
    if (tbp_tool_trace_viewer_stream.write(b->session, &r, &b->body.base, &err)) {
        fprintf(stderr, "%s: %s\n", kind_names[kind], err.message);
        exit(1);
    }
    if (b->n[kind] < MOST)
        b->samples[kind][b->n[kind]++] = (struct sample){now_s() - start_s, b->body.size};
}

static void ask_window(struct bench *b, enum kind kind, double from_ms, double to_ms) {
    char from[TEXT], to[TEXT];
    snprintf(from, sizeof from, "%.17g", from_ms);
    snprintf(to, sizeof to, "%.17g", to_ms);
    const struct tbp_tool_option o[] = {
        {"start_time_ms", from}, {"end_time_ms", to}, {"resolution", resolution}};
    ask(b, kind, o, 3);
}

static void ask_search(struct bench *b, const char *prefix) {
    const struct tbp_tool_option o[] = {{"search_prefix", prefix}, {"resolution", "0"}};
    ask(b, SEARCH, o, 2);
}

/* What a click on an event of the last body asks, whose object starts at `at`; false if its name
 * has escapes, or it belongs to no thread. */
static bool ask_details(struct bench *b, const char *at) {
    char name[1024], start[TEXT], dur[TEXT], serial[TEXT];
    double ts_us, dur_us;
    unsigned long uid;
    const char *p = strstr(at, "\"name\":\""), *args = strstr(at, "\"uid\":");
    if (!p || !args ||
        sscanf(p, "\"name\":\"%1023[^\"\\]\",\"ts\":%lf,\"dur\":%lf", name, &ts_us, &dur_us) != 3 ||
        sscanf(args, "\"uid\":%lu", &uid) != 1)
        return false;
    snprintf(start, sizeof start, "%.17g", ts_us / 1000);
    snprintf(dur, sizeof dur, "%.17g", dur_us / 1000);
    snprintf(serial, sizeof serial, "%lu", uid);
    const struct tbp_tool_option o[] = {{"event_name", name},
                                        {"start_time_ms", start},
                                        {"duration_ms", dur},
                                        {"unique_id", serial}};
    ask(b, DETAILS, o, 4);
    return true;
}

/* Clicks on events spread over the last body, of which a copy is read. */
static void click(struct bench *b, int times) {
    struct tbp_sink_memory seen;
    tbp_sink_memory_init(&seen, 0);
    if (tbp_sink_write(&seen.base, b->body.data, b->body.size, NULL) ||
        tbp_sink_write(&seen.base, "", 1, NULL))
        exit(1);
    const char *text = (const char *)seen.data;
    for (int i = 0; i < times; i++) {
        const char *at = strstr(text + seen.size / (size_t)times * (size_t)i, ",{\"pid\":");
        while (at && !ask_details(b, at + 1))
            at = strstr(at + 1, ",{\"pid\":");
    }
    tbp_sink_memory_release(&seen);
}

/* ---- the page ---- */

/* Zooms in around a point by halves, pans there by half a view, searches, clicks and goes out. */
static void visit(struct bench *b, double low_ms, double high_ms, double point) {
    static const char *const prefixes[] = {"MatMul", "Mat", "no such event", "volta", "train"};
    double width_ms = high_ms - low_ms;
    const double middle_ms = low_ms + point * width_ms;
    for (int i = 0; i < 14; i++, width_ms /= 3)
        ask_window(b, ZOOM, middle_ms - width_ms / 2, middle_ms + width_ms / 2);
    width_ms = (high_ms - low_ms) / 100;
    for (int i = 0; i < 8; i++)
        ask_window(b, PAN, middle_ms + i * width_ms / 2, middle_ms + (i + 2) * width_ms / 2);
    click(b, 8);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        ask_search(b, prefixes[i]);
    const struct tbp_tool_option all[] = {{"resolution", resolution},
                                          {"start_time_ms", "4.9406564584124654e-324"}};
    ask(b, AGAIN, all, 2);
}

static int by_time(const void *a, const void *b) {
    double x = ((const struct sample *)a)->s, y = ((const struct sample *)b)->s;
    return x < y ? -1 : x > y;
}

static void report(struct bench *b) {
    printf("%-12s %5s %9s %9s %9s %12s\n", "request", "n", "median s", "worst s", "first s",
           "worst bytes");
    for (int k = 0; k < KINDS; k++) {
        struct sample *s = b->samples[k];
        if (b->n[k] == 0)
            continue;
        const double first_s = s[0].s;
        qsort(s, b->n[k], sizeof *s, by_time);
        printf("%-12s %5zu %9.4f %9.4f %9.4f %12zu\n", kind_names[k], b->n[k], s[b->n[k] / 2].s,
               s[b->n[k] - 1].s, first_s, s[b->n[k] - 1].bytes);
    }
    printf("session %.0f MB\n", (double)tbp_session_memory(b->session) / 1e6);
}

int main(int argc, char **argv) {
    static struct bench b;
    const struct tbp_str name = TBP_STR("host");
    const int rounds = argc > 2 ? atoi(argv[2]) : 5;
    if (argc < 2)
        return 2;
    b.path = argv[1];
    tbp_sink_memory_init(&b.body, 0);
    struct tbp_pool *pool = tbp_pool_new(0);
    b.session = tbp_session_new(&name, 1, TBP_SEMANTICS_REPAIR, load, &b, pool);
    const struct tbp_tool_option open = {"resolution", resolution};
    ask(&b, OPEN, &open, 1);
    printf("after the first view: session %.0f MB\n", (double)tbp_session_memory(b.session) / 1e6);
    double low_ms = 0, high_ms = 0;
    const char *span = strstr((const char *)b.body.data, "\"fullTimespan\":");
    if (span && sscanf(span, "\"fullTimespan\":[%lf,%lf]", &low_ms, &high_ms) != 2)
        return 1;
    for (int i = 0; i < rounds; i++)
        visit(&b, low_ms, high_ms, (i + 0.5) / rounds);
    report(&b);
    tbp_session_free(b.session);
    tbp_pool_free(pool);
    tbp_sink_memory_release(&b.body);
    return 0;
}
