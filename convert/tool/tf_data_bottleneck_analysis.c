/* SPDX-License-Identifier: Apache-2.0
 *
 * Page tf_data_bottleneck_analysis (plugins up to 2.19.0): a graph of the iterators of every call,
 * the latency of every pipeline, and for each host pipeline what slows its slowest call. Schema:
 * reference plugin_contract 4.9; rules of advice: host_and_op_analysis 10.4, 10.5. Hosts come in
 * file order (the reference has hash order); a host without /host:CPU has no pipelines.
 */
#include "base/sort.h"
#include "base/vec.h"
#include "convert/analyze/tf_data.h"
#include "convert/tool/tool.h"
#include "plugin_data/gviz_out.h"

#define GUIDE           "https://www.tensorflow.org/guide/data_performance"
#define LINK(url, text) "<a href=\"" url "\" target=\"_blank\">" text "</a>"
#define MORE            LINK(GUIDE "_analysis", "this")
#define CACHE                                                                                      \
    "2. If the data behind it fits into memory and nothing random lies before it, put a "          \
    "<code>cache</code> after it: " LINK(                                                          \
        GUIDE "#caching",                                                                          \
        "caching") ".<br/>"                                                                        \
                   "3. More: " LINK(GUIDE "_analysis#3_are_you_reaching_high_cpu_utilization",     \
                                    "here") "."

static const char advice_other[] = "See " MORE " for suggestions.";
static const char advice_source[] =
    "1. See that host and input data are close to each other (same zone or region).<br/>"
    "2. Read this source in parallel: " LINK(
        GUIDE "_analysis#source_datasets",
        "sources") ", " LINK(GUIDE "#parallelizing_data_extraction", "parallel extraction") ".";
static const char advice_service[] =
    "1. The answer of the tf.data service took long: profile its workers.<br/>"
    "2. More: " MORE ".";
static const char advice_remote[] =
    "1. The remote source is slow: profile the host it runs on.<br/>2. More: " MORE ".";
static const char advice_parallel[] =
    "1. Let this transformation run in parallel with "
    "<code>num_parallel_calls=tf.data.AUTOTUNE</code>: " LINK(
        GUIDE "#parallelizing_data_transformation", "parallel transformation") ".<br/>" CACHE;
static const char advice_sequential[] =
    "1. This transformation runs one element after the other. Run several copies of the pipeline "
    "on shards of the input and join their results: " LINK(
        GUIDE "_analysis#transformation_datasets", "transformations") ".<br/>" CACHE;

/* Advice by kind of iterator; names between blanks. */
static const struct {
    const char *names, *text;
} advices[] = {
    {" TFRecord SSTable RecordIO Spanner TFColumn SleepwalkRemoteDataset TextLine"
     " StitchedTimelineDataset DateKeyDataset CapacitorProto LMDB ExternalDataset PearModel"
     " FixedLengthRecordV2 FromTensor TensorSlice Generator SyntheticDatasetOp ",
     advice_source},
    {" DataService ", advice_service},
    {" GuzzlerDataGuzzlerRemoteDataset ReverbDataset DatasetSampleGame Courier"
     " ReverbEpisodeDataset ",
     advice_remote},
    {" Map Interleave ", advice_parallel},
    {" Filter Batch Unbatch ", advice_sequential},
};

static const char *advice_for(struct tbp_str name, struct tbp_arena *a) {
    const char *word = tbp_arena_printf(a, " %.*s ", (int)name.n, name.p);
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
        if (tbp_str_find(name, ' ') == name.n && strstr(advices[i].names, word))
            return advices[i].text;
    return advice_other;
}

static long long us(uint64_t ps) {
    return (long long)(ps / 1000000);
}

/* 1234567 as "1,234,567". */
static const char *grouped(long long v, struct tbp_arena *a) {
    const char *digits = tbp_arena_printf(a, "%lld", v);
    size_t n = strlen(digits), k = 0;
    char *text = TBP_NEW_N(a, char, 2 * n + 1);
    for (size_t i = 0; i < n; i++) {
        text[k++] = digits[i];
        if (i + 1 < n && (n - i - 1) % 3 == 0 && digits[i] != '-')
            text[k++] = ',';
    }
    return text;
}

static const char *pipeline_name(const struct tbp_tf_data_pipeline *p, struct tbp_arena *a) {
    return tbp_arena_printf(a, "%s:%u", p->is_device ? "Device" : "Host", p->number);
}

static void text(struct tbp_gviz *g, const char *c) {
    tbp_gviz_str(g, tbp_str_c(c));
}

/* ---- graph ---- */

static void graph_row(struct tbp_gviz *g, const struct tbp_tf_data *t,
                      const struct tbp_tf_data_stat *st, struct tbp_arena *a) {
    const struct tbp_tf_data_iterator *it = &t->iterators[st->iterator];
    struct tbp_str name = tbp_tf_data_short_name(it->long_name);
    const char *shown = tbp_arena_printf(
        a,
        "<div style='padding: 1px;'><b>%.*s</b><br/><div style='text-align: left;'>Start Time: "
        "%lld us"
        "<br/>Total Duration: %lld us<br/>Self Duration: %lld us<br/># Calls: %llu</div></div>",
        (int)name.n, name.p, us(st->start_ps), us(st->dur_ps), (long long)(st->self_ps / 1000000),
        (unsigned long long)st->n_calls);
    const char *id = tbp_arena_printf(a, "%lld", (long long)it->id);
    tbp_gviz_str_shown(g, tbp_str_c(id), tbp_str_c(shown));
    text(g, it->parent_id ? tbp_arena_printf(a, "%lld", (long long)it->parent_id) : "");
    tbp_gviz_num(g, (double)st->role);
}

static void graph_call(struct tbp_gviz *g, const struct tbp_tf_data *t,
                       const struct tbp_tf_data_pipeline *p, size_t rank) {
    struct tbp_arena a;
    tbp_arena_init(&a);
    for (size_t i = 0; i < p->calls[rank].n_stats; i++) {
        tbp_gviz_row(g);
        tbp_gviz_str(g, t->host);
        text(g, pipeline_name(p, &a));
        tbp_gviz_num(g, (double)rank);
        graph_row(g, t, &p->calls[rank].stats[i], &a);
    }
    tbp_arena_release(&a);
}

/* ---- all tables ---- */

struct place { /* a pipeline of a host */
    const struct tbp_tf_data *t;
    const struct tbp_tf_data_pipeline *p;
};

struct page {
    struct tbp_json j;
    struct tbp_arena a;
    struct place *places;
    size_t n;
};

static void graph(struct page *page) {
    struct tbp_gviz g;
    tbp_gviz_begin(&g, &page->j, tbp_columns_tf_data_graph.at, tbp_columns_tf_data_graph.n);
    for (size_t i = 0; i < page->n; i++)
        for (size_t rank = 0; rank < page->places[i].p->n_calls; rank++)
            graph_call(&g, page->places[i].t, page->places[i].p, rank);
    tbp_gviz_end(&g);
}

static void latencies(struct page *page) {
    struct tbp_gviz g;
    tbp_gviz_begin(&g, &page->j, tbp_columns_tf_data_latency.at, tbp_columns_tf_data_latency.n);
    for (size_t i = 0; i < page->n; i++) {
        const struct tbp_tf_data_pipeline *p = page->places[i].p;
        tbp_gviz_row(&g);
        tbp_gviz_str(&g, page->places[i].t->host);
        text(&g, pipeline_name(p, &page->a));
        tbp_gviz_num(&g, (double)us(p->min_ps));
        tbp_gviz_num(&g, (double)us(p->mean_ps));
        tbp_gviz_num(&g, (double)us(p->max_ps));
        tbp_gviz_num(&g, (double)p->n_calls);
        tbp_gviz_num(&g, (double)p->n_slow);
    }
    tbp_gviz_end(&g);
}

static int slowest_first(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct place *x = a, *y = b;
    return (x->p->max_ps < y->p->max_ps) - (x->p->max_ps > y->p->max_ps);
}

static void bottleneck_row(struct tbp_gviz *g, const struct place *at, struct tbp_arena *a) {
    const struct tbp_tf_data_stat *worst = at->p->calls[0].bottleneck;
    struct tbp_str long_name = at->t->iterators[worst->iterator].long_name;
    struct tbp_str name = tbp_tf_data_short_name(long_name);
    tbp_gviz_row(g);
    tbp_gviz_str(g, at->t->host);
    text(g, pipeline_name(at->p, a));
    tbp_gviz_num(g, (double)us(at->p->max_ps));
    text(g, tbp_arena_printf(a,
                             "<u>Iterator Type</u>: <b>%.*s</b><br/><u>Long Name</u>: %.*s<br/>"
                             "<u>Latency</u>: %s us",
                             (int)name.n, name.p, (int)long_name.n, long_name.p,
                             grouped(us((uint64_t)worst->self_ps), a)));
    text(g, advice_for(name, a));
}

/* Pipelines of devices are left out: what feeds them is a pipeline of the host. */
static void bottlenecks(struct page *page) {
    size_t n = 0;
    for (size_t i = 0; i < page->n; i++)
        if (!page->places[i].p->is_device)
            page->places[n++] = page->places[i];
    tbp_sort(page->places, n, sizeof *page->places, slowest_first, NULL);
    uint64_t max_ps = n ? page->places[0].p->max_ps : 0;
    bool is_bound = max_ps > TBP_TF_DATA_SLOW_PS;
    struct tbp_gviz g;
    tbp_gviz_begin(&g, &page->j, tbp_columns_tf_data_bottleneck.at,
                   tbp_columns_tf_data_bottleneck.n);
    tbp_gviz_prop_c(&g, "is_input_bound", is_bound ? "true" : "false");
    tbp_gviz_prop_c(
        &g, "summary_message",
        is_bound
            ? "Your profile has a tf.data input pipeline slower than 50 us. For each slow input "
              "pipeline, below shows a bottleneck in the input pipeline and a suggestion on how "
              "to fix it."
        : max_ps
            ? "Your profile does not have any tf.data input pipeline slower than 50 us. Your job "
              "could be still input bound if this profile didn't capture all workers."
            : "No tf.data activity captured in your profile. If your job uses tf.data, try to "
              "capture a longer profile.");
    for (size_t i = 0; i < n; i++)
        if (page->places[i].p->calls[0].bottleneck)
            bottleneck_row(&g, &page->places[i], &page->a);
    tbp_gviz_end(&g);
}

static int collect(struct tbp_session *s, const struct tbp_request *r, struct page *page,
                   struct tbp_error *err) {
    uint32_t first = r->host == TBP_ALL_HOSTS ? 0 : r->host;
    uint32_t end = r->host == TBP_ALL_HOSTS ? tbp_session_n_hosts(s) : r->host + 1;
    TBP_VEC(struct place) places = {0};
    for (uint32_t h = first; h < end; h++) {
        const struct tbp_tf_data *t = tbp_tf_data(s, h, err);
        if (!t) {
            tbp_vec_release(&places);
            return err ? err->code : TBP_E_INTERNAL;
        }
        for (size_t i = 0; i < t->n_pipelines; i++)
            *tbp_vec_push(&places) = (struct place){t, &t->pipelines[i]};
    }
    page->places = TBP_NEW_N(&page->a, struct place, places.n);
    page->n = places.n;
    if (places.n)
        memcpy(page->places, places.at, places.n * sizeof *places.at);
    tbp_vec_release(&places);
    return TBP_OK;
}

static int write_page(struct tbp_session *s, const struct tbp_request *r, struct tbp_sink *out,
                      struct tbp_error *err) {
    struct page page;
    tbp_arena_init(&page.a);
    int status = collect(s, r, &page, err);
    if (status == TBP_OK) {
        tbp_json_init(&page.j, out);
        tbp_json_char(&page.j, '[');
        graph(&page);
        tbp_json_char(&page.j, ',');
        latencies(&page);
        tbp_json_char(&page.j, ',');
        bottlenecks(&page);
        tbp_json_char(&page.j, ']');
        status = tbp_json_finish(&page.j, err);
    }
    tbp_arena_release(&page.a);
    return status;
}

static const struct tbp_analysis *const needs[] = {
    &tbp_analysis_tf_data,
    NULL,
};

const struct tbp_tool tbp_tool_tf_data_bottleneck_analysis = {
    .name = "tf_data_bottleneck_analysis",
    .help = "tf.data input pipelines, their latencies and what slows them (plugins up to 2.19.0)",
    .scope = TBP_SCOPE_HOST | TBP_SCOPE_ALL_HOSTS,
    .wanted = TBP_WANTED_NO_GPU,
    .needs = needs,
    .write = write_page,
};
