/* SPDX-License-Identifier: Apache-2.0
 *
 * Speed of the output path against the C library and zlib: numbers in ns, gzip in MB/s of one core.
 *
 *     bench_output [trace.json]      without a file, made-up events
 */
#include "base/file.h"
#include "plugin_data/json_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zlib.h>

enum { NUMBERS = 2000000, EVENTS = 400000 };

static double cpu_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t time_of(unsigned i) { /* picoseconds, about 12 digits */
    return (uint64_t)i * 2654435761u % 1000000007u * 1000 + i % 1000;
}

static void bench_numbers(void) {
    char text[64];
    size_t total = 0;
    double start = cpu_s();
    for (unsigned i = 0; i < NUMBERS; i++)
        total += tbp_number_us_g17(text, time_of(i));
    double g17 = cpu_s();
    for (unsigned i = 0; i < NUMBERS; i++)
        total += tbp_number_us_repr(text, time_of(i));
    double repr = cpu_s();
    for (unsigned i = 0; i < NUMBERS; i++)
        total += tbp_number_gviz(text, (double)time_of(i) / 1e6);
    double gviz = cpu_s();
    for (unsigned i = 0; i < NUMBERS; i++)
        total += (size_t)snprintf(text, sizeof text, "%.17g", (double)time_of(i) / 1e6);
    double libc = cpu_s();
    printf(
        "us as %%.17g %.0f ns, as repr %.0f ns, table number %.0f ns; libc %.0f ns (%zu bytes)\n",
        (g17 - start) / NUMBERS * 1e9, (repr - g17) / NUMBERS * 1e9, (gviz - repr) / NUMBERS * 1e9,
        (libc - gviz) / NUMBERS * 1e9, total);
}

static void make_events(struct tbp_sink *out) {
    static struct tbp_json j;
    tbp_json_init(&j, out);
    for (unsigned i = 0; i < EVENTS; i++) {
        tbp_json_lit(&j, "{\"ph\":\"X\",\"pid\":701,\"tid\":");
        tbp_json_u64(&j, i / 1000 % 8);
        tbp_json_lit(&j, ",\"ts\":");
        tbp_json_us_repr(&j, (uint64_t)i * 1000003);
        tbp_json_lit(&j, ",\"dur\":");
        tbp_json_us_repr(&j, time_of(i) % 100000000);
        tbp_json_printf(&j, ",\"name\":\"model/layer_%u/MatMul\"},\n",
                        time_of(i) % 97 < 50 ? i % 7 : i % 31);
    }
    tbp_json_finish(&j, NULL);
}

static void bench_gzip(const uint8_t *p, size_t n) {
    struct tbp_sink_memory m;
    struct tbp_sink_gzip *g;
    tbp_sink_memory_init(&m, 0);
    double start = cpu_s();
    if (tbp_sink_gzip_new(&g, &m.base, NULL, NULL) != TBP_OK ||
        tbp_sink_write(tbp_sink_gzip_base(g), p, n, NULL) != TBP_OK ||
        tbp_sink_finish(tbp_sink_gzip_base(g), NULL) != TBP_OK)
        exit(1);
    tbp_sink_gzip_free(g);
    double ours = cpu_s() - start;
    uLong bound = compressBound(n);
    uint8_t *out = malloc(bound);
    start = cpu_s();
    compress2(out, &bound, p, n, 1);
    double theirs = cpu_s() - start;
    printf("gzip of %zu bytes: %.0f MB/s, 1:%.1f; zlib level 1: %.0f MB/s, 1:%.1f; ratio %.2f\n", n,
           (double)n / ours / 1e6, (double)n / (double)m.size, (double)n / theirs / 1e6,
           (double)n / (double)bound, theirs / ours);
    free(out);
    tbp_sink_memory_release(&m);
}

int main(int argc, char **argv) {
    bench_numbers();
    struct tbp_input in = {0};
    struct tbp_sink_memory made;
    tbp_sink_memory_init(&made, 0);
    if (argc < 2)
        make_events(&made.base);
    else if (tbp_input_open(&in, argv[1], NULL) != TBP_OK)
        return 1;
    for (int i = 0; i < 3; i++)
        bench_gzip(argc < 2 ? made.data : in.data, argc < 2 ? made.size : in.size);
    tbp_sink_memory_release(&made);
    tbp_input_release(&in);
    return 0;
}
