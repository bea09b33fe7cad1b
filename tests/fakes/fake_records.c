/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity records in the layout of the release FAKE_VERSION, which stands here once more, on
 * purpose, from the public headers. Lines of the script:
 *
 *     kernel NAME dur=1000 grid=1,1,1 block=32,1,1 regs=8 static=0 dynamic=0 stream=7 device=0
 *     memcpy HtoD bytes=16 dur=100 / memset bytes=16 dur=100
 *     alloc 0x1000 bytes=16 [kind=device] [pool=0x5000] / free 0x1000
 *     pool 0x5000 size=4096           of device memory: created, or it has another size now
 *     unified HtoD bytes=65536 dur=100 / unified faults bytes=3 dur=10
 *     sync stream dur=100 / overhead flush dur=100 / jit compile dur=100
 *     name stream NAME stream=7 context=1 device=0; also of thread (this one), device, context
 *     graph 5 / … kernel … graph=5 node=9 same: by the call before
 *     burst 1000 dur=10: kernels that each take a buffer; none is given back in between
 *     many 1000 dur=10: calls and kernels, one after the other
 *     jump 5000000000: the clock is set
 *     flushed: waits until all so far has been fetched, and looked at
 *
 * Words at the end of a line: "zero" (no times), "boot" (times of another clock), "backwards",
 * "nocall" (no record of the call), "same" (the call before).
 */
#include "fake_cupti.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { PATIENCE_S = 100 /* for flushes */ };

static struct buffer now;
static uint64_t stream_end[64]; /* by stream: the end of its last work */
static uint32_t correlation = 100;

/* ---- sizes of records in this release ---- */

size_t bytes_of(uint32_t kind) {
    const int v = FAKE_VERSION;
    switch (kind) {
    case KERNEL:
        return v >= 130400   ? 248
               : v >= 130300 ? 232
               : v >= 130100 ? 224
               : v >= 130000 ? 216
               : v >= 19     ? 208
               : v >= 18     ? 200
               : v >= 17     ? 176
                             : 168;
    case MEMCPY:
        return v >= 130400 ? 112 : v >= 26 ? 96 : v >= 17 ? 88 : 80;
    case MEMSET:
        return v >= 130400 ? 104 : v >= 17 ? 88 : 80;
    case MEMORY2:
        return v >= 24 ? 128 : v >= 17 ? 120 : 112;
    case OVERHEAD:
        return v >= 22 ? 56 : 40;
    case SYNC:
        return v >= 26 ? 56 : 40;
    case GRAPH:
        return v >= 22 ? 56 : 48;
    case DEVICE:
        return v >= 130200 ? 192 : v >= 20 ? 184 : v >= 17 ? 176 : 152;
    case NAME:
        return 32;
    case POOL:
        return v >= 130000 ? 80 : v >= 17 ? 72 : 64;
    case UNIFIED:
        return v >= 26 ? 104 : 64;
    case JIT:
        return v >= 22 ? 72 : 64;
    default:
        return 40;
    }
}

/* ---- buffers ---- */

static bool get_buffer(void) {
    now = (struct buffer){0};
    fake.request(&now);
    if (!now.data)
        return false;
    fake.n_lent++;
    fake.most_lent = fake.n_lent > fake.most_lent ? fake.n_lent : fake.most_lent;
    return true;
}

void put_away(void) {
    if (now.data && fake.n_full < MAX_BUFFERS)
        fake.full[fake.n_full++] = now;
    now = (struct buffer){0};
}

/* Room for a record of the kind; NULL: dropped. Under the lock. */
static uint8_t *new_record(uint32_t kind) {
    size_t size = bytes_of(kind);
    if (!fake.is_subscribed || !fake.request || !(fake.enabled >> kind & 1))
        return NULL;
    if (now.data && (now.used + size > now.size || now.n_records >= fake.records_per_buffer))
        put_away();
    if (!now.data && !get_buffer()) {
        fake.n_dropped++;
        return NULL;
    }
    uint8_t *r = now.data + now.used;
    memset(r, 0xa5, size); /* what nobody writes is not 0 */
    memcpy(r, &kind, sizeof kind);
    now.used += size;
    now.n_records++;
    return r;
}

static void put32(uint8_t *r, size_t at, uint32_t v) {
    if (r)
        memcpy(r + at, &v, sizeof v);
}

static void put64(uint8_t *r, size_t at, uint64_t v) {
    if (r)
        memcpy(r + at, &v, sizeof v);
}

static void put8(uint8_t *r, size_t at, uint8_t v) {
    if (r)
        r[at] = v;
}

/* ---- calls ---- */

static const char *const calls[] = {"",
                                    "cudaLaunchKernel_v7000",
                                    "cudaMemcpyAsync_v3020",
                                    "cudaMemsetAsync_v3020",
                                    "cudaMalloc_v3020",
                                    "cudaFree_v3020",
                                    "cudaGraphLaunch_v10000",
                                    "cudaGetDevice_v3020",
                                    "cuLaunchKernel"};
enum { CALL_LAUNCH = 1, CALL_COPY, CALL_SET, CALL_MALLOC, CALL_FREE, CALL_GRAPH, CALL_NOISE };
enum { DRIVER_LAUNCH = 8 };

static void call_record(uint32_t kind, uint32_t function, uint64_t start, uint64_t end) {
    uint8_t *r = new_record(kind);
    put32(r, 4, function);
    put64(r, 8, start);
    put64(r, 16, end);
    put32(r, 24, (uint32_t)getpid());
    put32(r, 28, fake.is_system_thread ? (uint32_t)syscall(SYS_gettid) : 12345u);
    put32(r, 32, correlation);
    put32(r, 36, 0);
}

static bool has(const char *line, const char *word) {
    size_t n = strlen(word);
    for (const char *p = line; (p = strstr(p, word)); p += n)
        if (p > line && p[-1] == ' ' && (p[n] == ' ' || p[n] == '\n' || !p[n]))
            return true;
    return false;
}

static void call(const char *line, uint32_t function) {
    if (has(line, "same"))
        return;
    correlation++;
    if (has(line, "nocall"))
        return;
    uint64_t start = gpu_ns();
    call_record(RUNTIME, CALL_NOISE, start, start + 20);
    call_record(RUNTIME, function, start + 20, start + 620);
    if (function == CALL_LAUNCH)
        call_record(DRIVER, DRIVER_LAUNCH, start + 120, start + 520);
}

const char *call_name(uint32_t id) {
    return id < sizeof calls / sizeof *calls ? calls[id] : NULL;
}

/* ---- work ---- */

static void times(const char *line, uint8_t *r, size_t at_start, size_t at_end) {
    uint64_t dur = (uint64_t)script_number(line, "dur", 1000), start = gpu_ns();
    unsigned stream = (unsigned)script_number(line, "stream", 7) & 63;
    if (has(line, "boot"))
        start = clock_ns(CLOCK_MONOTONIC);
    else if (start < stream_end[stream] && stream_end[stream] - start < 100000000)
        start = stream_end[stream];
    if (has(line, "zero"))
        start = dur = 0;
    if (!has(line, "boot") && !has(line, "zero"))
        stream_end[stream] = start + dur;
    put64(r, at_start, start);
    put64(r, at_end, has(line, "backwards") ? start - 10 : start + dur);
}

static void dims(const char *line, const char *key, uint8_t *r, size_t at) {
    char text[64];
    unsigned x = 1, y = 1, z = 1;
    script_text(line, key, text, sizeof text);
    sscanf(text, "%u,%u,%u", &x, &y, &z);
    put32(r, at, x);
    put32(r, at + 4, y);
    put32(r, at + 8, z);
}

/* Names that stay, as those of a loaded module do. */
static const char *kept(const char *name) {
    static char *names[256];
    static int n;
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    return n < 256 ? (names[n++] = strdup(name)) : "full";
}

static void kernel(const char *line) {
    char name[256];
    uint8_t *r = new_record(KERNEL);
    uint32_t graph = (uint32_t)script_number(line, "graph", 0);
    script_word(line, 1, name, sizeof name);
    if (!r)
        return;
    uint16_t registers = (uint16_t)script_number(line, "regs", 0);
    memcpy(r + 6, &registers, sizeof registers);
    times(line, r, 16, 24);
    put32(r, 40, (uint32_t)script_number(line, "device", 0));
    put32(r, 44, (uint32_t)script_number(line, "context", 1));
    put32(r, 48, (uint32_t)script_number(line, "stream", 7));
    dims(line, "grid", r, 52);
    dims(line, "block", r, 64);
    put32(r, 76, (uint32_t)script_number(line, "static", 0));
    put32(r, 80, (uint32_t)script_number(line, "dynamic", 0));
    put32(r, 92, correlation);
    put64(r, 104, (uint64_t)(uintptr_t)kept(name));
    put64(r, 144, (uint64_t)script_number(line, "node", 0));
    put32(r, 156, graph);
}

static uint8_t memory_kind(const char *line, const char *key, uint8_t otherwise) {
    static const char *const words[] = {"unknown", "pageable", "pinned",
                                        "device",  "array",    "managed"};
    char text[32];
    script_text(line, key, text, sizeof text);
    for (uint8_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    return otherwise;
}

static void copy(const char *line) {
    static const char *const ways[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                       "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
    char way[16];
    uint8_t *r = new_record(MEMCPY), direction = 0;
    script_word(line, 1, way, sizeof way);
    for (uint8_t i = 1; i < sizeof ways / sizeof *ways; i++)
        direction = strcmp(way, ways[i]) == 0 ? i : direction;
    put8(r, 4, direction);
    put8(r, 5, memory_kind(line, "src", way[0] == 'D' ? 3 : 1));
    put8(r, 6, memory_kind(line, "dst", way[3] == 'D' ? 3 : 1));
    put8(r, 7, (uint8_t)script_number(line, "async", 1));
    put64(r, 8, (uint64_t)script_number(line, "bytes", 0));
    times(line, r, 16, 24);
    put32(r, 32, (uint32_t)script_number(line, "device", 0));
    put32(r, 36, 1);
    put32(r, 40, (uint32_t)script_number(line, "stream", 7));
    put32(r, 44, correlation);
    put64(r, 64, 0);
    put32(r, 72, 0);
}

static void set(const char *line) {
    uint8_t *r = new_record(MEMSET);
    put64(r, 8, (uint64_t)script_number(line, "bytes", 0));
    times(line, r, 16, 24);
    put32(r, 32, (uint32_t)script_number(line, "device", 0));
    put32(r, 36, 1);
    put32(r, 40, (uint32_t)script_number(line, "stream", 7));
    put32(r, 44, correlation);
    put32(r, 48, 1 | 3u << 16); /* asynchronous; of device memory */
    put64(r, 64, 0);
    put32(r, 72, 0);
}

static void memory(const char *line, uint32_t operation) {
    char address[32];
    uint8_t *r = new_record(MEMORY2);
    uint64_t pool = (uint64_t)script_number(line, "pool", 0);
    script_word(line, 1, address, sizeof address);
    put32(r, 4, operation);
    put32(r, 8, memory_kind(line, "kind", 3));
    put32(r, 12, correlation);
    put64(r, 16, strtoull(address, NULL, 0));
    put64(r, 24, (uint64_t)script_number(line, "bytes", 0));
    put64(r, 32, has(line, "zero") ? 0 : gpu_ns());
    put32(r, 48, (uint32_t)getpid());
    put32(r, 52, (uint32_t)script_number(line, "device", 0));
    put32(r, 56, 1);
    put32(r, 60, 0);
    put64(r, 64, 0);
    put32(r, 72, pool != 0);
    put32(r, 80, pool != 0);
    put64(r, 88, pool);
    put64(r, 104, 0);
}

static void wait(const char *line) {
    uint8_t *r = new_record(SYNC);
    put32(r, 4, has(line, "stream") ? 3 : 4);
    times(line, r, 8, 16);
    put32(r, 24, correlation);
    put32(r, 28, 1);
    put32(r, 32, 7);
}

static void overhead(const char *line) {
    uint8_t *r = new_record(OVERHEAD);
    put32(r, 4, has(line, "flush") ? 1u << 16 : 1);
    times(line, r, 24, 32);
    if (FAKE_VERSION >= 22)
        put32(r, 40, 0);
}

static void graph(const char *line) {
    char id[16];
    uint8_t *r = new_record(GRAPH);
    put32(r, 4, correlation);
    times(line, r, 8, 16);
    put32(r, 24, 0);
    put32(r, 28, (uint32_t)atoi(script_word(line, 1, id, sizeof id)));
    put32(r, 32, 1);
    put32(r, 36, (uint32_t)script_number(line, "stream", 7));
}

static void pool(const char *line) {
    char address[32];
    uint8_t *r = new_record(POOL);
    put32(r, 4, 1);
    put32(r, 8, 1);
    put32(r, 12, correlation);
    put32(r, 16, (uint32_t)getpid());
    put32(r, 20, (uint32_t)script_number(line, "device", 0));
    put64(r, 24, 0);
    put64(r, 32, strtoull(script_word(line, 1, address, sizeof address), NULL, 0));
    put64(r, 40, (uint64_t)script_number(line, "size", 0));
    put64(r, 48, 0);
    put64(r, 56, gpu_ns());
}

static void unified(const char *line) {
    enum { HOST = 0xffff };
    bool is_up = has(line, "HtoD"), is_down = has(line, "DtoH");
    uint32_t device = (uint32_t)script_number(line, "device", 0);
    uint8_t *r = new_record(UNIFIED);
    put32(r, 4, is_up ? 1 : is_down ? 2 : 4);
    put64(r, 8, (uint64_t)script_number(line, "bytes", 0));
    times(line, r, 16, 24);
    put64(r, 32, 0x7000);
    put32(r, 40, is_up ? HOST : device);
    put32(r, 44, is_up ? device : HOST);
    put32(r, 48, 0);
    put32(r, 52, (uint32_t)getpid());
    put32(r, 56, 0);
}

static void jit(const char *line) {
    uint8_t *r = new_record(JIT);
    put32(r, 4, 1);
    put32(r, 8, has(line, "compile") ? 3 : 1);
    put32(r, 12, 0);
    times(line, r, 16, 24);
    put32(r, 32, correlation);
}

static void name(const char *line) {
    char what[16], text[64];
    uint8_t *r = new_record(NAME);
    script_word(line, 1, what, sizeof what);
    script_word(line, 2, text, sizeof text);
    bool is_thread = strcmp(what, "thread") == 0;
    put32(r, 4, is_thread ? 2 : *what == 'd' ? 3 : *what == 'c' ? 4 : 5);
    put32(r, 8, is_thread ? (uint32_t)getpid() : (uint32_t)script_number(line, "device", 0));
    put32(r, 12,
          is_thread ? (uint32_t)syscall(SYS_gettid) : (uint32_t)script_number(line, "context", 1));
    put32(r, 16, (uint32_t)script_number(line, "stream", 7));
    put64(r, 24, (uint64_t)(uintptr_t)kept(text));
}

/* What the driver need not say: a line "! cupti_device …" as of the fake of the driver. */
void tell_device(const char *line) {
    char text[64];
    uint32_t device = (uint32_t)script_number(line, "device", 0);
    uint8_t *r = new_record(DEVICE);
    put64(r, 8, (uint64_t)script_number(line, "bandwidth", 0));
    put64(r, 16, (uint64_t)script_number(line, "memory", 0));
    put32(r, 32, 32);
    put32(r, 36, (uint32_t)script_number(line, "clock", 0));
    put32(r, 44, (uint32_t)script_number(line, "sms", 0));
    put32(r, 52, (uint32_t)script_number(line, "threads", 0) / 32);
    put32(r, 56, (uint32_t)script_number(line, "blocks", 0));
    put32(r, 60, (uint32_t)script_number(line, "shared", 0));
    put32(r, 64, (uint32_t)script_number(line, "registers", 0));
    put32(r, 104, (uint32_t)script_number(line, "major", 0));
    put32(r, 108, (uint32_t)script_number(line, "minor", 0));
    put32(r, 112, device);
    put64(r, 136, (uint64_t)(uintptr_t)kept(script_text(line, "name", text, sizeof text)));
}

static void burst(const char *line) {
    char text[16], one[64];
    int n = atoi(script_word(line, 1, text, sizeof text));
    snprintf(one, sizeof one, "kernel burst dur=%d", (int)script_number(line, "dur", 10));
    for (int i = 0; i < n; i++) {
        put_away();
        correlation++;
        kernel(one);
    }
}

/* Buffers that are fake.full go back as they would: on a thread of the program. */
static void many(const char *line) {
    char text[16], one[64];
    int n = atoi(script_word(line, 1, text, sizeof text));
    snprintf(one, sizeof one, "kernel many dur=%d", (int)script_number(line, "dur", 10));
    for (int i = 0; i < n; i++) {
        call(one, CALL_LAUNCH);
        kernel(one);
        while (fake.n_full > 0) {
            struct buffer b = fake.full[--fake.n_full];
            fake.n_lent--;
            fake.complete(&b);
        }
    }
}

/* One flush may be under way without what is new, the next fetches that, and before the one after
 * it is over it has been looked at. */
static void await_flushes(void) {
    struct timespec rest = {0, 1000000};
    unsigned last = __atomic_load_n(&fake.n_flushes, __ATOMIC_ACQUIRE) + 3;
    for (int i = 0; (int)(__atomic_load_n(&fake.n_flushes, __ATOMIC_ACQUIRE) - last) < 0; i++) {
        if (i == PATIENCE_S * 1000) {
            fputs("fake CUPTI: nobody flushes\n", stderr);
            abort();
        }
        nanosleep(&rest, NULL);
    }
}

static void play_kernel(const char *line) {
    call(line, CALL_LAUNCH);
    kernel(line);
}

static void play_copy(const char *line) {
    call(line, CALL_COPY);
    copy(line);
}

static void play_set(const char *line) {
    call(line, CALL_SET);
    set(line);
}

static void play_alloc(const char *line) {
    call(line, CALL_MALLOC);
    memory(line, 1);
}

static void play_free(const char *line) {
    call(line, CALL_FREE);
    memory(line, 2);
}

static void play_graph(const char *line) {
    call(line, CALL_GRAPH);
    graph(line);
}

static void jump(const char *line) {
    char text[32];
    fake.clock_offset += strtoll(script_word(line, 1, text, sizeof text), NULL, 0);
}

/* One line of the script, on the thread that calls. */
EXPORT void fake_cupti_line(const char *line) {
    static const struct {
        const char *word;
        void (*play)(const char *line);
    } words[] = {{"kernel", play_kernel}, {"memcpy", play_copy}, {"memset", play_set},
                 {"alloc", play_alloc},   {"free", play_free},   {"graph", play_graph},
                 {"pool", pool},          {"unified", unified},  {"jit", jit},
                 {"name", name},          {"sync", wait},        {"overhead", overhead},
                 {"burst", burst},        {"many", many},        {"jump", jump}};
    char word[32];
    script_word(line, 0, word, sizeof word);
    if (strcmp(word, "flushed") == 0) {
        await_flushes();
        return;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i].word) != 0)
            continue;
        pthread_mutex_lock(&fake.lock);
        words[i].play(line);
        pthread_mutex_unlock(&fake.lock);
        return;
    }
    fprintf(stderr, "fake CUPTI: what is '%s'?\n", line);
    abort();
}
