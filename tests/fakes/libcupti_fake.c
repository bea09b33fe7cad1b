/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for libcupti.so.N of the release FAKE_VERSION: the functions of CUPTI, over the
 * records of fake_records.c, set up by lines of the script:
 *
 *     ! error Subscribe 39            that function fails; "ActivityEnable:49 27": for that kind
 *     ! taken NAME                    another tool has subscribed, and does not share
 *     ! shared NAME                   another one has subscribed by the interface for several
 *     ! cupti_device device=0 …       as "! device" of the driver: what CUPTI says of it
 *     ! records 3                     a buffer is complete after so many records
 *     ! reverse                       complete buffers are handed over last one first
 *     ! dropped 17                    so many records were dropped
 *
 * As the real one it has two families of functions from 13.3 on, which must not be mixed.
 */
#include "fake_cupti.h"

#include <stddef.h>

enum { END = 12, NOT_COMPATIBLE = 14, INVALID_KIND = 21, TAKEN = 39 };
enum { HAS_NAMES = FAKE_VERSION >= 130000, CAN_SHARE = FAKE_VERSION >= 130300 };
enum { MAX_SETTINGS = 32, ATTRIBUTE_GRAPHS = 20, ATTRIBUTE_THREAD_ID = 21 };
enum other { NOBODY, ALONE, SHARES };

struct fake fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .records_per_buffer = 1 << 30};
static char settings[MAX_SETTINGS][FAKE_LINE];
static int n_settings;
static enum other other; /* subscriber */
static char other_name[64];
static bool is_shared; /* ours: by the newer family */
static int n_counters; /* of unified memory */
static int n_strange;  /* calls of who has no subscription, or of the other family */

static void set_up(const char *what, const char *value) {
    if (strcmp(what, "records") == 0)
        fake.records_per_buffer = atoi(value);
    else if (strcmp(what, "dropped") == 0)
        fake.n_dropped = (size_t)atoi(value);
    else if (strcmp(what, "reverse") == 0)
        fake.is_reversed = true;
    else if (strcmp(what, "taken") == 0 || strcmp(what, "shared") == 0) {
        other = strcmp(what, "taken") == 0 ? ALONE : SHARES;
        snprintf(other_name, sizeof other_name, "%s", value);
    }
}

__attribute__((constructor)) static void load(void) {
    FILE *f = script_open();
    char line[FAKE_LINE], what[64], value[64];
    while (f && n_settings < MAX_SETTINGS && fgets(line, sizeof line, f))
        if (line[0] == '!')
            memcpy(settings[n_settings++], line, sizeof line);
    if (f)
        fclose(f);
    for (int i = 0; i < n_settings; i++)
        set_up(script_word(settings[i], 1, what, sizeof what),
               script_word(settings[i], 2, value, sizeof value));
}

__attribute__((destructor)) static void tell(void) {
    const char *path = getenv("FAKE_GPU_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    fprintf(f, "version %d\nmost_lent %d\nsubscribed %d\nsystem_thread %d\nstrange %d\n",
            FAKE_VERSION, fake.most_lent, fake.is_subscribed, fake.is_system_thread, n_strange);
    fprintf(f, "enabled %d\n", __builtin_popcountll(fake.enabled));
    fclose(f);
}

/* What the script wants the function to return. */
static int error_of(const char *function, uint32_t kind) {
    char with_kind[64], word[64], name[64];
    snprintf(with_kind, sizeof with_kind, "%s:%u", function, kind);
    for (int i = 0; i < n_settings; i++) {
        script_word(settings[i], 1, word, sizeof word);
        script_word(settings[i], 2, name, sizeof name);
        if (strcmp(word, "error") == 0 && (!strcmp(name, function) || !strcmp(name, with_kind)))
            return atoi(script_word(settings[i], 3, word, sizeof word));
    }
    return OK;
}

/* May the family be used? */
static bool is_family(bool shared) {
    bool is_right = fake.is_subscribed && is_shared == shared;
    n_strange += !is_right;
    return is_right;
}

/* ---- the interface: what both families have ---- */

EXPORT int cuptiGetVersion(uint32_t *version) {
    *version = FAKE_VERSION;
    return error_of("GetVersion", 0);
}

static int subscribe(void **subscriber, bool shared) {
    int rc = error_of("Subscribe", 0);
    if (rc == OK && (other == ALONE || (other == SHARES && !shared)))
        rc = TAKEN;
    if (rc == OK) {
        *subscriber = &fake.lock;
        fake.is_subscribed = true;
        is_shared = shared;
    }
    return rc;
}

EXPORT int cuptiSubscribe(void **subscriber, void *callback, void *userdata) {
    (void)callback, (void)userdata;
    return subscribe(subscriber, false);
}

EXPORT int cuptiUnsubscribe(void *subscriber) {
    (void)subscriber;
    fake.is_subscribed = false;
    return OK;
}

EXPORT int cuptiActivityFlushAll(uint32_t flag) {
    static struct buffer handed[MAX_BUFFERS]; /* by one thread at a time */
    (void)flag;
    n_strange += !fake.is_subscribed; /* others' buffers are none of ours */
    pthread_mutex_lock(&fake.lock);
    put_away();
    int n = fake.n_full;
    for (int i = 0; i < n; i++)
        handed[i] = fake.full[fake.is_reversed ? n - 1 - i : i];
    fake.n_full = 0;
    fake.n_lent -= n;
    pthread_mutex_unlock(&fake.lock);
    for (int i = 0; i < n; i++)
        fake.complete(&handed[i]);
    __atomic_fetch_add(&fake.n_flushes, 1, __ATOMIC_RELEASE);
    return OK;
}

/* Four counters of each device, which are switched on. */
EXPORT int cuptiActivityConfigureUnifiedMemoryCounter(const uint32_t (*config)[4], uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        n_counters += config[i][0] == 1 && config[i][1] > 0 && config[i][3] == 1;
    return OK;
}

EXPORT int cuptiGetContextId(void *context, uint32_t *id) {
    *id = (uint32_t)(uintptr_t)context;
    return OK;
}

EXPORT int cuptiGetDeviceId(void *context, uint32_t *id) {
    *id = (uint32_t)(uintptr_t)context - 1;
    return OK;
}

EXPORT int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id) {
    if (context || per_thread)
        return 1;
    *id = (uint32_t)(uintptr_t)stream;
    return OK;
}

EXPORT int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name) {
    (void)domain;
    *name = call_name(id);
    return *name ? OK : 1;
}

/* ---- the older family ---- */

static void (*old_request)(uint8_t **, size_t *, size_t *);
static void (*old_complete)(void *, uint32_t, uint8_t *, size_t, size_t);

static void ask_old(struct buffer *b) {
    size_t max_records = 0;
    old_request(&b->data, &b->size, &max_records);
}

static void complete_old(const struct buffer *b) {
    old_complete(NULL, 0, b->data, b->size, b->used);
}

EXPORT int cuptiActivityRegisterCallbacks(void *ask, void *done) {
    if (!is_family(false))
        return NOT_COMPATIBLE;
    *(void **)(void *)&old_request = ask;
    *(void **)(void *)&old_complete = done;
    fake.request = ask_old;
    fake.complete = complete_old;
    return error_of("ActivityRegisterCallbacks", 0);
}

static int enable(uint32_t kind) {
    int rc = error_of("ActivityEnable", kind);
    if (kind == JIT && FAKE_VERSION < 18)
        rc = INVALID_KIND;
    if (kind == UNIFIED && n_counters == 0)
        rc = NOT_COMPATIBLE;
    if (rc == OK)
        fake.enabled |= UINT64_C(1) << kind;
    return rc;
}

static int enable_and_dump(uint32_t kind) {
    char word[64];
    int rc = enable(kind);
    pthread_mutex_lock(&fake.lock);
    for (int i = 0; rc == OK && kind == DEVICE && i < n_settings; i++)
        if (strcmp(script_word(settings[i], 1, word, sizeof word), "cupti_device") == 0)
            tell_device(settings[i]);
    pthread_mutex_unlock(&fake.lock);
    return rc;
}

EXPORT int cuptiActivityEnableAndDump(uint32_t kind) {
    return is_family(false) ? enable_and_dump(kind) : NOT_COMPATIBLE;
}

EXPORT int cuptiActivityEnable(uint32_t kind) {
    return is_family(false) ? enable(kind) : NOT_COMPATIBLE;
}

EXPORT int cuptiActivityDisable(uint32_t kind) {
    if (!is_family(false))
        return NOT_COMPATIBLE;
    fake.enabled &= ~(UINT64_C(1) << kind);
    return OK;
}

static int next_record(uint8_t *buffer, size_t valid, uint8_t **record) {
    uint32_t kind;
    size_t at = 0;
    if (*record) {
        memcpy(&kind, *record, sizeof kind);
        at = (size_t)(*record - buffer) + bytes_of(kind);
    }
    if (at >= valid)
        return END;
    memcpy(&kind, buffer + at, sizeof kind);
    if (kind == 0 || kind > 60)
        return INVALID_KIND;
    *record = buffer + at;
    return OK;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record) {
    return is_family(false) ? next_record(buffer, valid, record) : NOT_COMPATIBLE;
}

static int count_dropped(size_t *dropped) {
    pthread_mutex_lock(&fake.lock);
    *dropped = fake.n_dropped;
    fake.n_dropped = 0;
    pthread_mutex_unlock(&fake.lock);
    return OK;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped) {
    (void)context, (void)stream;
    return is_family(false) ? count_dropped(dropped) : NOT_COMPATIBLE;
}

EXPORT int cuptiGetTimestamp(uint64_t *ns) {
    if (!is_family(false))
        return NOT_COMPATIBLE;
    *ns = gpu_ns();
    return OK;
}

EXPORT int cuptiSetThreadIdType(uint32_t type) {
    if (!is_family(false))
        return NOT_COMPATIBLE;
    fake.is_system_thread = type == 1;
    return OK;
}

/* ---- the newer family, of which 13.0 has but the first ---- */

#if FAKE_VERSION >= 130000
struct params {
    size_t bytes;
    const char *name;
    char *holder;
    size_t holder_bytes;
    uint8_t shares, padding[7];
};

EXPORT int cuptiSubscribe_v2(void **subscriber, void *callback, void *userdata,
                             struct params *params) {
    (void)callback, (void)userdata;
    if (params->bytes != (CAN_SHARE ? sizeof *params : offsetof(struct params, shares)))
        return 1;
    if (other != NOBODY)
        snprintf(params->holder, params->holder_bytes, "CUPTI for %s", other_name);
    return subscribe(subscriber, CAN_SHARE && params->shares);
}
#endif

#if FAKE_VERSION >= 130300
static void (*new_request)(uint8_t **, size_t *, size_t *, void *);
static void (*new_complete)(uint8_t *, size_t, size_t, void *);

static void ask_new(struct buffer *b) {
    size_t max_records = 0;
    new_request(&b->data, &b->size, &max_records, NULL);
}

static void complete_new(const struct buffer *b) {
    new_complete(b->data, b->size, b->used, NULL);
}

static bool has_graphs; /* may be recorded as a whole */

/* Of the newer family, with the handle that was given. */
static bool is_ours(const void *subscriber) {
    return is_family(true) && subscriber == &fake.lock;
}

EXPORT int cuptiActivityRegisterCallbacks_v2(void *subscriber, void *ask, void *done) {
    if (!is_ours(subscriber))
        return NOT_COMPATIBLE;
    *(void **)(void *)&new_request = ask;
    *(void **)(void *)&new_complete = done;
    fake.request = ask_new;
    fake.complete = complete_new;
    return OK;
}

EXPORT int cuptiActivityEnable_v2(void *subscriber, uint32_t kind, void *config) {
    bool is_right = is_ours(subscriber) && !config && (kind != GRAPH || has_graphs);
    return is_right ? enable(kind) : NOT_COMPATIBLE;
}

EXPORT int cuptiActivityEnableAndDump_v2(void *subscriber, uint32_t kind, void *config) {
    return is_ours(subscriber) && !config ? enable_and_dump(kind) : NOT_COMPATIBLE;
}

EXPORT int cuptiActivityDisable_v2(void *subscriber, uint32_t kind, void *config) {
    if (!is_ours(subscriber) || config)
        return NOT_COMPATIBLE;
    fake.enabled &= ~(UINT64_C(1) << kind);
    return OK;
}

EXPORT int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid,
                                         uint8_t **record) {
    return is_ours(subscriber) ? next_record(buffer, valid, record) : NOT_COMPATIBLE;
}

EXPORT int cuptiActivityGetNumDroppedRecords_v2(void *subscriber, void *context, uint32_t stream,
                                                size_t *dropped) {
    (void)context, (void)stream;
    return is_ours(subscriber) ? count_dropped(dropped) : NOT_COMPATIBLE;
}

EXPORT int cuptiGetTimestamp_v2(void *subscriber, uint64_t *ns) {
    if (!is_ours(subscriber))
        return NOT_COMPATIBLE;
    *ns = gpu_ns();
    return OK;
}

EXPORT int cuptiActivitySetAttribute_v2(void *subscriber, uint32_t attribute, const size_t *size,
                                        const void *value) {
    if (!is_ours(subscriber))
        return NOT_COMPATIBLE;
    if (attribute == ATTRIBUTE_THREAD_ID)
        fake.is_system_thread = *size == 4 && *(const uint32_t *)value == 1;
    if (attribute == ATTRIBUTE_GRAPHS && fake.enabled == 0)
        has_graphs = *(const uint8_t *)value;
    return OK;
}
#endif
