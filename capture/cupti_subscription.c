/* SPDX-License-Identifier: Apache-2.0
 *
 * See cupti_subscription.h. Numbers of attributes are CUPTI's.
 */
#include "capture/cupti_subscription.h"

#include "capture/cupti_buffers.h"
#include "capture/cupti_errors.h"
#include "capture/cupti_records.h"

#include <stdio.h>

enum {
    CUDA_OF_SHARING = 13030, /* the first driver that serves several subscribers */
    ATTRIBUTE_ZEROED_OUT = 5,
    ATTRIBUTE_SHARED_GRAPHS = 20,
    ATTRIBUTE_THREAD_ID = 21,
    THREAD_ID_SYSTEM = 1,
};

static void no_callback(void *userdata, int domain, uint32_t id, const void *data) {
    (void)userdata, (void)domain, (void)id, (void)data;
}

static bool can_share(const struct tbp_cupti *c, int cuda_version) {
    bool is_whole = c->version >= TBP_CUPTI_13_3 && cuda_version >= CUDA_OF_SHARING;
#define X(required, name, parameters) is_whole &= c->name != NULL;
    TBP_CUPTI_SHARED_FUNCTIONS(X)
#undef X
    return is_whole;
}

/* Until 13.2 the newer call is that of the older interface, which also names who was first. */
static int subscribe_by_name(struct tbp_cupti_subscription *s, bool shares) {
    struct tbp_cupti_subscriber_params params = {
        .bytes = shares ? sizeof params : offsetof(struct tbp_cupti_subscriber_params, shares),
        .name = "tbprof",
        .holder = s->holder,
        .holder_bytes = sizeof s->holder,
        .shares = shares,
    };
    int rc = s->c->Subscribe_v2(&s->handle, no_callback, NULL, &params);
    s->holder[sizeof s->holder - 1] = '\0';
    s->is_shared = shares && rc == TBP_CUPTI_OK;
    return rc;
}

int tbp_cupti_subscribe(struct tbp_cupti_subscription *s, const struct tbp_cupti *c,
                        int cuda_version) {
    bool shares = can_share(c, cuda_version);
    int rc = TBP_CUPTI_IS_TAKEN;
    *s = (struct tbp_cupti_subscription){.c = c};
    if (c->Subscribe_v2 && (shares || c->version < TBP_CUPTI_13_3))
        rc = subscribe_by_name(s, shares);
    if (rc != TBP_CUPTI_OK) /* alone, if not together with others */
        rc = c->Subscribe(&s->handle, no_callback, NULL);
    if (rc != TBP_CUPTI_OK)
        s->handle = NULL;
    return rc;
}

void tbp_cupti_unsubscribe(struct tbp_cupti_subscription *s) {
    if (s->handle)
        s->c->Unsubscribe(s->handle);
    s->handle = NULL;
}

void tbp_cupti_subscribing(const struct tbp_cupti_subscription *s, char *text, size_t size) {
    snprintf(text, size, *s->holder ? "subscribing, as '%s' has done" : "subscribing", s->holder);
}

static void set(const struct tbp_cupti_subscription *s, uint32_t attribute, void *value,
                size_t size) {
    if (s->is_shared)
        s->c->ActivitySetAttribute_v2(s->handle, attribute, &size, value);
    else if (s->c->ActivitySetAttribute)
        s->c->ActivitySetAttribute(attribute, &size, value);
}

void tbp_cupti_configure(const struct tbp_cupti_subscription *s, bool graphs) {
    uint8_t yes = 1;
    uint32_t system = THREAD_ID_SYSTEM;
    set(s, ATTRIBUTE_ZEROED_OUT, &yes, sizeof yes);
    if (s->is_shared)
        set(s, ATTRIBUTE_THREAD_ID, &system, sizeof system);
    else if (s->c->SetThreadIdType)
        s->c->SetThreadIdType(THREAD_ID_SYSTEM);
    if (s->is_shared && graphs) /* a choice for all subscribers: not made without need */
        set(s, ATTRIBUTE_SHARED_GRAPHS, &yes, sizeof yes);
}

void tbp_cupti_configure_unified(const struct tbp_cupti_subscription *s, uint32_t n_devices) {
    static const uint32_t counters[] = {1, 2, 8, TBP_CUPTI_PAGE_FAULTS}; /* HtoD, DtoH, DtoD */
    enum { N = sizeof counters / sizeof *counters, ONE_DEVICE = 1 };
    struct tbp_cupti_unified_config config[N];
    for (uint32_t device = 0; device < n_devices; device++) {
        for (uint32_t i = 0; i < N; i++)
            config[i] = (struct tbp_cupti_unified_config){ONE_DEVICE, counters[i], device, 1};
        if (s->c->ActivityConfigureUnifiedMemoryCounter)
            s->c->ActivityConfigureUnifiedMemoryCounter(config, N);
    }
}

static void request_shared(uint8_t **buffer, size_t *size, size_t *max_records, void *info) {
    (void)info;
    tbp_cupti_buffers_request(buffer, size, max_records);
}

static void complete_shared(uint8_t *buffer, size_t size, size_t valid_size, void *info) {
    (void)info;
    tbp_cupti_buffers_complete(NULL, 0, buffer, size, valid_size);
}

int tbp_cupti_register(const struct tbp_cupti_subscription *s) {
    if (s->is_shared)
        return s->c->ActivityRegisterCallbacks_v2(s->handle, request_shared, complete_shared);
    return s->c->ActivityRegisterCallbacks(tbp_cupti_buffers_request, tbp_cupti_buffers_complete);
}

int tbp_cupti_enable(const struct tbp_cupti_subscription *s, uint32_t kind) {
    if (kind == TBP_CUPTI_DEVICE && s->is_shared)
        return s->c->ActivityEnableAndDump_v2(s->handle, kind, NULL);
    if (kind == TBP_CUPTI_DEVICE && s->c->ActivityEnableAndDump)
        return s->c->ActivityEnableAndDump(kind);
    return s->is_shared ? s->c->ActivityEnable_v2(s->handle, kind, NULL)
                        : s->c->ActivityEnable(kind);
}

int tbp_cupti_disable(const struct tbp_cupti_subscription *s, uint32_t kind) {
    return s->is_shared ? s->c->ActivityDisable_v2(s->handle, kind, NULL)
                        : s->c->ActivityDisable(kind);
}

int tbp_cupti_next_record(const struct tbp_cupti_subscription *s, uint8_t *buffer,
                          size_t valid_bytes, const uint8_t **record) {
    return s->is_shared ? s->c->ActivityGetNextRecord_v2(s->handle, buffer, valid_bytes, record)
                        : s->c->ActivityGetNextRecord(buffer, valid_bytes, record);
}

size_t tbp_cupti_dropped(const struct tbp_cupti_subscription *s, void *context, uint32_t stream) {
    size_t n = 0;
    int rc = s->is_shared ? s->c->ActivityGetNumDroppedRecords_v2(s->handle, context, stream, &n)
                          : s->c->ActivityGetNumDroppedRecords(context, stream, &n);
    return rc == TBP_CUPTI_OK ? n : 0;
}

int tbp_cupti_timestamp(const struct tbp_cupti_subscription *s, uint64_t *ns) {
    return s->is_shared ? s->c->GetTimestamp_v2(s->handle, ns) : s->c->GetTimestamp(ns);
}
