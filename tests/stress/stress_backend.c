/* SPDX-License-Identifier: Apache-2.0
 *
 * The backend under many threads while its files change.
 *
 *   stress_backend SECONDS SEED FILE.xplane.pb FILE.xplane.pb [...]
 *
 * Makes ten runs of one or two hosts out of the files in a temporary folder. 32 threads ask random
 * tools, hosts and windows; another thread replaces files by others, by renaming and by writing in
 * place. Each body must be that of a state the run was in, which was worked out beforehand by a
 * backend of its own, and that of the one state it is in, where no file of it was replaced
 * meanwhile; the memory kept must be within the budget in the end, and hits must occur. Meant for
 * the sanitizers; exit code 1 on any finding.
 */
#include "convert/backend/answer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 32, RUNS = 10, MAX_FILES = 4, MAX_HOSTS = 2, PATH_BYTES = 200 };
/* First some of the runs fit, then not even one, so that its hosts are read for their tables alone.
 */
static const uint64_t budget_bytes = 4 << 20, small_budget_bytes = 100 << 10;

static const struct {
    const char *tool;
    struct tbp_tool_option options[2];
    bool is_packed;
} questions[] = {
    {.tool = "overview_page"},
    {.tool = "overview_page", .is_packed = true},
    {.tool = "input_pipeline_analyzer"},
    {.tool = "pod_viewer"},
    {.tool = "framework_op_stats"},
    {.tool = "kernel_stats"},
    {.tool = "memory_profile"},
    {.tool = "trace_viewer"},
    {.tool = "trace_viewer@", .options = {{"resolution", "8000"}, {"full_dma", "false"}}},
    {.tool = "trace_viewer@",
     .options = {{"resolution", "8000"}, {"full_dma", "false"}},
     .is_packed = true},
    {.tool = "trace_viewer@", .options = {{"start_time_ms", "1"}, {"end_time_ms", "20"}}},
    {.tool = "trace_viewer@", .options = {{"search_prefix", "M"}, {"resolution", "0"}}},
    {.tool = "tool_names"},
};
enum { QUESTIONS = sizeof questions / sizeof questions[0] };

struct bytes {
    uint8_t *data;
    size_t size;
};
static struct bytes files[MAX_FILES];
static size_t n_files;

/* expected[question][file of host 0][file of host 1, or n_files][which host, 2: all]; no data:
 * refused */
static struct bytes expected[QUESTIONS][MAX_FILES][MAX_FILES + 1][MAX_HOSTS + 1];

static char folder[64];
static struct tbp_backend *backend;
static _Atomic bool is_over;
static _Atomic uint64_t n_answers, n_refusals, n_wrong, n_settled;

/* Which file each host has: twice its number of replacements, one more while it is replaced, times
 * MAX_FILES, and the file. */
static _Atomic uint64_t states[RUNS][MAX_HOSTS];

static void die(const char *what) {
    perror(what);
    exit(2);
}

static void path_of(char path[PATH_BYTES], int run, int host) {
    snprintf(path, PATH_BYTES, "%s/%d/h%d.xplane.pb", folder, run, host);
}

/* Odd runs have two hosts. */
static int hosts_of(int run) {
    return 1 + run % 2;
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

static void put_file(const char *path, const struct bytes *b) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b->data, 1, b->size, f) != b->size || fclose(f))
        die(path);
}

static void read_file(const char *path) {
    struct tbp_input in;
    if (tbp_input_open(&in, path, NULL))
        die(path);
    struct bytes *b = &files[n_files++];
    *b = (struct bytes){malloc(in.size), in.size};
    memcpy(b->data, in.data, in.size);
    tbp_input_release(&in);
}

/* which: a host, or all for the number of hosts. Appends to out; false if refused. */
static bool ask(struct tbp_backend *b, int run, int which, int question,
                struct tbp_sink_memory *out) {
    char paths[MAX_HOSTS][PATH_BYTES];
    const char *at[MAX_HOSTS];
    int n = hosts_of(run), n_options = questions[question].options[0].key ? 2 : 0;
    for (int i = 0; i < n; i++) {
        path_of(paths[i], run, i);
        at[i] = paths[i];
    }
    struct tbp_question q = {.paths = which == n ? at : &at[which],
                             .n_paths = which == n ? (size_t)n : 1,
                             .tool = questions[question].tool,
                             .options = questions[question].options,
                             .n_options = (size_t)n_options,
                             .is_packed = questions[question].is_packed};
    bool is_foreign;
    struct tbp_error err;
    return tbp_backend_answer(b, &q, out, &is_foreign, &err) == TBP_OK;
}

static void expect(struct tbp_backend *b, int run, size_t x, size_t y) {
    char path[PATH_BYTES];
    path_of(path, run, 0);
    put_file(path, &files[x]);
    path_of(path, run, 1);
    if (hosts_of(run) == 2)
        put_file(path, &files[y]);
    for (int q = 0; q < QUESTIONS; q++)
        for (int which = 0; which <= hosts_of(run); which++) {
            struct tbp_sink_memory out;
            tbp_sink_memory_init(&out, 0);
            bool ok = ask(b, run, which, q, &out);
            int slot = which == hosts_of(run) ? MAX_HOSTS : which;
            if (ok)
                expected[q][x][y][slot] = (struct bytes){out.data, out.size};
            else
                tbp_sink_memory_release(&out);
        }
}

struct states {
    uint64_t at[MAX_HOSTS];
};

static struct states states_of(int run) {
    struct states s = {{0}};
    for (int i = 0; i < hosts_of(run); i++)
        s.at[i] = states[run][i];
    return s;
}

static bool is_settled(const struct states *before, const struct states *after) {
    for (int i = 0; i < MAX_HOSTS; i++)
        if (before->at[i] != after->at[i] || before->at[i] / MAX_FILES % 2)
            return false;
    return true;
}

/* out NULL: a refusal. settled NULL: any state. */
static bool is_expected(int run, int which, int q, const struct states *settled,
                        const struct tbp_sink_memory *out) {
    int slot = which == hosts_of(run) ? MAX_HOSTS : which;
    for (size_t x = 0; x < n_files; x++)
        for (size_t y = 0; y <= n_files; y++) {
            const struct bytes *b = &expected[q][x][y][slot];
            if ((hosts_of(run) == 2) != (y < n_files))
                continue;
            if (settled && (settled->at[0] % MAX_FILES != x ||
                            (y < n_files && settled->at[1] % MAX_FILES != y)))
                continue;
            if (out ? b->size == out->size &&
                          (out->size == 0 || !memcmp(b->data, out->data, out->size))
                    : !b->data)
                return true;
        }
    return false;
}

static void *client(void *ctx) {
    uint64_t state = (uint64_t)(uintptr_t)ctx;
    while (!is_over) {
        int run = (int)(next_random(&state) % RUNS);
        int which = (int)(next_random(&state) % (uint64_t)(hosts_of(run) + 1));
        int q = (int)(next_random(&state) % QUESTIONS);
        struct tbp_sink_memory out;
        tbp_sink_memory_init(&out, 0);
        struct states before = states_of(run);
        bool ok = ask(backend, run, which, q, &out);
        struct states after = states_of(run);
        bool settled = is_settled(&before, &after);
        atomic_fetch_add(ok ? &n_answers : &n_refusals, 1);
        atomic_fetch_add(&n_settled, settled);
        /* run 0 is written in place: its bytes can be torn */
        if ((run != 0 || settled) &&
            !is_expected(run, which, q, settled ? &before : NULL, ok ? &out : NULL)) {
            n_wrong++;
            fprintf(stderr, "wrong %s: run %d, host %d, %s, %zu bytes\n", ok ? "body" : "refusal",
                    run, which, questions[q].tool, out.size);
        }
        tbp_sink_memory_release(&out);
    }
    return NULL;
}

static void *replacer(void *ctx) {
    uint64_t state = (uint64_t)(uintptr_t)ctx;
    char path[PATH_BYTES], temporary[PATH_BYTES + 8];
    while (!is_over) {
        int run = (int)(next_random(&state) % RUNS);
        int host = (int)(next_random(&state) % (uint64_t)hosts_of(run));
        size_t file = next_random(&state) % n_files;
        const struct bytes *b = &files[file];
        path_of(path, run, host);
        uint64_t n_changes = states[run][host] / MAX_FILES;
        states[run][host] = (n_changes + 1) * MAX_FILES + file;
        if (run == 0) {
            put_file(path, b);
        } else {
            snprintf(temporary, sizeof temporary, "%s.new", path);
            put_file(temporary, b);
            if (rename(temporary, path))
                die(path);
        }
        states[run][host] = (n_changes + 2) * MAX_FILES + file;
        usleep(20000);
    }
    return NULL;
}

static void prepare(void) {
    snprintf(folder, sizeof folder, "/tmp/tbprof-stress-XXXXXX");
    if (!mkdtemp(folder))
        die(folder);
    for (int run = 0; run < RUNS; run++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s/%d", folder, run);
        if (mkdir(path, 0777))
            die(path);
    }
    struct tbp_backend *b = tbp_backend_new(&(struct tbp_backend_options){.budget_bytes = 1 << 30});
    for (size_t x = 0; x < n_files; x++) {
        expect(b, 0, x, n_files);
        for (size_t y = 0; y < n_files; y++)
            expect(b, 1, x, y);
    }
    tbp_backend_free(b);
    for (int run = 0; run < RUNS; run++)
        for (int host = 0; host < hosts_of(run); host++) {
            char path[PATH_BYTES];
            path_of(path, run, host);
            put_file(path, &files[(size_t)run % n_files]);
            states[run][host] = (size_t)run % n_files;
        }
}

static void clean_up(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command))
        die(folder);
    struct bytes *b = &expected[0][0][0][0];
    for (size_t i = 0; i < sizeof expected / sizeof *b; i++)
        free(b[i].data);
    for (size_t i = 0; i < n_files; i++)
        free(files[i].data);
}

int main(int argc, char **argv) {
    if (argc < 5 || argc - 3 > MAX_FILES)
        return fputs("usage: stress_backend SECONDS SEED FILE FILE [FILE FILE]\n", stderr), 2;
    uint64_t seed = strtoull(argv[2], NULL, 10) * 1000003 + 1;
    for (int i = 3; i < argc; i++)
        read_file(argv[i]);
    prepare();
    backend = tbp_backend_new(&(struct tbp_backend_options){.budget_bytes = budget_bytes});
    pthread_t threads[THREADS + 1];
    for (uint64_t i = 0; i <= THREADS; i++)
        if (pthread_create(&threads[i], NULL, i ? client : replacer, (void *)(uintptr_t)(seed + i)))
            die("thread");
    unsigned seconds = (unsigned)strtoul(argv[1], NULL, 10);
    sleep(seconds - seconds / 3);
    tbp_session_cache_set_budget(tbp_backend_cache(backend), small_budget_bytes);
    sleep(seconds / 3);
    struct tbp_session_cache_stats s;
    do { /* on a slow machine there may be no answer yet */
        usleep(20000);
        tbp_session_cache_stats(tbp_backend_cache(backend), &s);
    } while (n_answers == 0 || s.n_hits == 0);
    is_over = true;
    for (int i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    tbp_session_cache_stats(tbp_backend_cache(backend), &s);
    printf("%lu answers, %lu refusals, %lu of both while no file was replaced, %lu wrong; hits "
           "%lu, misses %lu, changed %lu, evicted %lu, "
           "files read %lu, kept %lu of %lu bytes\n",
           n_answers, n_refusals, n_settled, n_wrong, s.n_hits, s.n_misses, s.n_changed,
           s.n_evicted, s.n_files_read, s.memory_bytes, s.budget_bytes);
    tbp_backend_free(backend);
    clean_up();
    return n_wrong || s.memory_bytes > s.budget_bytes;
}
