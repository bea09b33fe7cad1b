/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses CUDA as its script says (tests/fakes/fake_script.h): gpu_program LOGDIR. What
 * is not a word of its own goes to the fake CUPTI, on the thread that plays the line.
 *
 *     step 1 / endstep, scope NAME / end, annotate NAME / unannotate
 *     thread / endthread     what is between is played by another thread, which is waited for
 *     nvtx stream 13 NAME    names it through NVTX; also device, context
 *     cuda                   maps the CUDA driver now, not before the session
 *     snapshot, pause, resume, sleep MS, kill
 */
#include "capture/nvtx_abi.h"
#include "capture/tbprof.h"

#include "fake_script.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 512, MAX_DEPTH = 16, MAX_LINES = 4096 };

static char lines[MAX_LINES][LINE];
static int n_lines;

struct playing {
    int from, to;
    tbprof_scope scopes[MAX_DEPTH];
    int depth;
};

static void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, tbprof_last_error());
    exit(1);
}

static void rest(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Maps the driver as a program that is linked with it does, and initializes it. */
static void use_cuda(void) {
    void *cuda = dlopen(getenv("FAKE_CUDA"), RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned);
    if (!cuda)
        die(dlerror());
    *(void **)(void *)&init = dlsym(cuda, "cuInit");
    init(0);
}

static void to_fake(const char *line) {
    static void (*fake)(const char *);
    if (!fake) {
        void *cupti = dlopen(getenv("FAKE_CUPTI"), RTLD_NOW | RTLD_LOCAL);
        if (!cupti)
            die(dlerror());
        *(void **)(void *)&fake = dlsym(cupti, "fake_cupti_line");
    }
    fake(line);
}

/* What NVTX hands to a tool: tables of the modules CUDA and CUDART. */
static tbp_nvtx_fn *cuda[9], *cudart[7], **cuda_table[9], **cudart_table[7];

static int module_table(int32_t module, tbp_nvtx_fn ****table, unsigned *n) {
    bool is_cuda = module == TBP_NVTX_CUDA;
    *table = is_cuda ? cuda_table : module == TBP_NVTX_CUDART ? cudart_table : NULL;
    *n = is_cuda ? 9 : 7;
    return *table != NULL;
}

static const void *nvtx_export(uint32_t id) {
    static const struct tbp_nvtx_callbacks callbacks = {sizeof callbacks, module_table};
    return id == TBP_NVTX_EXPORT_CALLBACKS ? &callbacks : NULL;
}

int InitializeInjectionNvtx2(tbp_nvtx_get_export *get_export);

/* Devices and streams by the runtime library's functions, contexts by the driver's. */
static void name_by_nvtx(const char *line) {
    char what[16], handle[16], name[64];
    script_word(line, 1, what, sizeof what);
    uintptr_t h = strtoul(script_word(line, 2, handle, sizeof handle), NULL, 0);
    script_word(line, 3, name, sizeof name);
    for (int i = 0; i < 9; i++)
        cuda_table[i] = &cuda[i];
    for (int i = 0; i < 7; i++)
        cudart_table[i] = &cudart[i];
    InitializeInjectionNvtx2(nvtx_export);
    if (strcmp(what, "device") == 0)
        ((void (*)(int, const char *))cudart[TBP_NVTX_CUDA_DEVICE_A])((int)h, name);
    else if (strcmp(what, "stream") == 0)
        ((void (*)(void *, const char *))cudart[TBP_NVTX_CUDA_STREAM_A])((void *)h, name);
    else
        ((void (*)(void *, const char *))cuda[TBP_NVTX_CU_CONTEXT_A])((void *)h, name);
}

static void *play(void *context);

static void other_thread(struct playing *p, int at) {
    pthread_t thread;
    struct playing other = {.from = at + 1, .to = at + 1};
    while (other.to < p->to && strncmp(lines[other.to], "endthread", 9) != 0)
        other.to++;
    pthread_create(&thread, NULL, play, &other);
    pthread_join(thread, NULL);
    p->from = other.to;
}

static void control(const char *word, const char *argument) {
    if (strcmp(word, "snapshot") == 0 && tbprof_snapshot("second") != TBPROF_OK)
        die(word);
    if (strcmp(word, "pause") == 0 && tbprof_pause() != TBPROF_OK)
        die(word);
    if (strcmp(word, "resume") == 0 && tbprof_resume() != TBPROF_OK)
        die(word);
    if (strcmp(word, "sleep") == 0)
        rest(atol(argument));
    if (strcmp(word, "cuda") == 0)
        use_cuda();
    if (strcmp(word, "kill") == 0)
        kill(getpid(), SIGKILL);
}

/* False: not a word of ours. */
static int annotate(struct playing *p, const char *word, const char *argument) {
    if (strcmp(word, "step") == 0)
        tbprof_step_begin("train", atol(argument));
    else if (strcmp(word, "endstep") == 0)
        tbprof_step_end();
    else if (strcmp(word, "scope") == 0)
        p->scopes[p->depth++] = tbprof_scope_begin_dyn(argument, strlen(argument), 1);
    else if (strcmp(word, "end") == 0)
        tbprof_scope_end(p->scopes[--p->depth]);
    else if (strcmp(word, "annotate") == 0)
        tbprof_annotation_push(argument, strlen(argument));
    else if (strcmp(word, "unannotate") == 0)
        tbprof_annotation_pop();
    else
        return 0;
    return 1;
}

static int is_control(const char *word) {
    static const char *const words[] = {"snapshot", "pause", "resume", "sleep", "cuda", "kill"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return 1;
    return 0;
}

static void *play(void *context) {
    struct playing *p = context;
    char word[64], argument[256];
    for (; p->from < p->to; p->from++) {
        const char *line = lines[p->from];
        script_word(line, 0, word, sizeof word);
        script_word(line, 1, argument, sizeof argument);
        if (!*word || *word == '#' || *word == '!')
            continue;
        if (strcmp(word, "thread") == 0)
            other_thread(p, p->from);
        else if (strcmp(word, "nvtx") == 0)
            name_by_nvtx(line);
        else if (is_control(word))
            control(word, argument);
        else if (!annotate(p, word, argument))
            to_fake(line);
    }
    return NULL;
}

static int read_lines(void) {
    FILE *f = script_open();
    int is_late = 0;
    while (f && n_lines < MAX_LINES && fgets(lines[n_lines], LINE, f))
        is_late |= strncmp(lines[n_lines++], "cuda", 4) == 0;
    if (f)
        fclose(f);
    return is_late;
}

int main(int argc, char **argv) {
    int is_late = read_lines();
    if (argc < 2 || n_lines == 0)
        return 2;
    if (!is_late)
        use_cuda();
    if (tbprof_start(argv[1], NULL) != TBPROF_OK)
        die("start");
    struct playing all = {.to = n_lines};
    play(&all);
    rest(5);
    if (tbprof_stop(1) != TBPROF_OK)
        die("stop");
    puts(tbprof_last_run());
    return 0;
}
