/* SPDX-License-Identifier: Apache-2.0
 *
 * Collector of ITT annotations: with INTEL_LIBITTNOTIFY64=libtbprof.so and
 * INTEL_ITTNOTIFY_GROUPS=all, tasks of programs and libraries that annotate themselves with ITT
 * (PyTorch's operators inside emit_itt, oneDNN, OpenVINO, TBB …) become scopes. The domain goes
 * before the name ("dnnl::matmul"), but for PyTorch's, whose operators have names of their own.
 *
 * Each of them holds a copy of ITT's static part, which looks up what is defined here by name.
 * Domains and strings may have been made by that part, before it loaded this: nothing is taken of
 * them but the text. Strings live as long as the process and are found through a hash, for some
 * programs ask for the same one at every task.
 */
#include "base/arena.h"
#include "base/guard.h"
#include "capture/itt_abi.h"
#include "capture/range_stack.h"
#include "capture/tbprof.h"

#include <pthread.h>
#include <string.h>

enum {
    N_BUCKETS = 1024,
    MAX_TEXT = 960, /* of a record's inline name */
};

struct addition {
    const char *text;
    void *made;
};

static struct tbp_itt_string *buckets[N_BUCKETS]; /* newest first; atomic */
static struct tbp_itt_domain *domains;            /* the same */
static struct tbp_arena names_arena;
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t bucket_of(const char *text) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return (hash ^ hash >> 16) % N_BUCKETS;
}

static struct tbp_itt_string *find_string(uint32_t bucket, const char *text) {
    struct tbp_itt_string *s = __atomic_load_n(&buckets[bucket], __ATOMIC_ACQUIRE);
    while (s && strcmp(s->text, text) != 0)
        s = s->next;
    return s;
}

static int add_string(void *ctx, struct tbp_error *err) {
    (void)err;
    struct addition *a = ctx;
    struct tbp_itt_string *s =
        tbp_arena_alloc(&names_arena, sizeof *s, _Alignof(struct tbp_itt_string));
    *s = (struct tbp_itt_string){.text = tbp_arena_str(&names_arena, tbp_str_c(a->text)).p};
    a->made = s;
    return TBP_OK;
}

static int add_domain(void *ctx, struct tbp_error *err) {
    (void)err;
    struct addition *a = ctx;
    struct tbp_itt_domain *d =
        tbp_arena_alloc(&names_arena, sizeof *d, _Alignof(struct tbp_itt_domain));
    *d = (struct tbp_itt_domain){.flags = 1,
                                 .name = tbp_arena_str(&names_arena, tbp_str_c(a->text)).p};
    a->made = d;
    return TBP_OK;
}

const char *tbp_itt_api_version(void) {
    return "3.0";
}

/* NULL: no memory. Tasks of it are then not passed on. */
struct tbp_itt_domain *tbp_itt_domain_create(const char *name) {
    struct addition a = {.text = name ? name : ""};
    pthread_mutex_lock(&names_lock);
    struct tbp_itt_domain *d = domains;
    while (d && strcmp(d->name, a.text) != 0)
        d = d->next;
    if (!d && tbp_guard_run(add_domain, &a, NULL) == TBP_OK) {
        d = a.made;
        d->next = domains;
        domains = d;
    }
    pthread_mutex_unlock(&names_lock);
    return d;
}

/* NULL: no memory. */
struct tbp_itt_string *tbp_itt_string_create(const char *text) {
    struct addition a = {.text = text ? text : ""};
    uint32_t bucket = bucket_of(a.text);
    struct tbp_itt_string *s = find_string(bucket, a.text);
    if (s)
        return s;
    pthread_mutex_lock(&names_lock);
    s = find_string(bucket, a.text); /* another thread may have been faster */
    if (!s && tbp_guard_run(add_string, &a, NULL) == TBP_OK) {
        s = a.made;
        s->next = buckets[bucket];
        __atomic_store_n(&buckets[bucket], s, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&names_lock);
    return s;
}

/* "domain::name", cut at MAX_TEXT. */
static size_t join(char *to, const char *domain, const char *name) {
    size_t n = 0;
    const char *const parts[] = {domain, "::", name};
    for (size_t i = 0; i < 3; i++) {
        size_t size = strlen(parts[i]), room = MAX_TEXT - n;
        size = size < room ? size : room;
        memcpy(to + n, parts[i], size);
        n += size;
    }
    return n;
}

void tbp_itt_task_begin(const struct tbp_itt_domain *domain, struct tbp_itt_id task,
                        struct tbp_itt_id parent, const struct tbp_itt_string *name) {
    (void)task, (void)parent;
    char text[MAX_TEXT];
    if (!tbprof_wants(__atomic_load_n(&tbprof_g_state, __ATOMIC_RELAXED), 1, 0)) {
        tbp_range_push(domain, TBP_STR_NONE, false);
        return;
    }
    struct tbp_str shown = tbp_str_c(name && name->text ? name->text : "unnamed");
    if (domain && domain->name && *domain->name && strcmp(domain->name, "PyTorch") != 0)
        shown = (struct tbp_str){text, join(text, domain->name, shown.p)};
    tbp_range_push(domain, shown, true);
}

void tbp_itt_task_end(const struct tbp_itt_domain *domain) {
    tbp_range_pop(domain);
}

void tbp_itt_thread_set_name(const char *name) {
    if (name)
        tbprof_thread_name(name);
}
