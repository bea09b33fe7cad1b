/* SPDX-License-Identifier: Apache-2.0
 *
 * Look-ups of well-known names, by a sorted index made once; see names.h.
 */
#include "schemas/names.h"

#include <pthread.h>
#include <stdlib.h>

static const struct tbp_str stat_texts[] = {TBP_STR_INIT(""),
#define X(id, text) TBP_STR_INIT(text),
                                            TBP_STAT_NAMES(X)
#undef X
};

static const struct tbp_str event_texts[] = {TBP_STR_INIT(""),
#define X(id, text) TBP_STR_INIT(text),
                                             TBP_EVENT_NAMES(X)
#undef X
};

static uint16_t stat_order[TBP_STAT_KEYS], event_order[TBP_EVENT_KINDS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_stat_text(const void *a, const void *b) {
    return tbp_str_cmp(stat_texts[*(const uint16_t *)a], stat_texts[*(const uint16_t *)b]);
}

static int by_event_text(const void *a, const void *b) {
    return tbp_str_cmp(event_texts[*(const uint16_t *)a], event_texts[*(const uint16_t *)b]);
}

static void make_orders(void) {
    for (uint16_t i = 0; i < TBP_STAT_KEYS; i++)
        stat_order[i] = i;
    for (uint16_t i = 0; i < TBP_EVENT_KINDS; i++)
        event_order[i] = i;
    qsort(stat_order, TBP_STAT_KEYS, sizeof *stat_order, by_stat_text);
    qsort(event_order, TBP_EVENT_KINDS, sizeof *event_order, by_event_text);
}

static unsigned look_up(const struct tbp_str *texts, const uint16_t *order, unsigned n,
                        struct tbp_str name) {
    pthread_once(&once, make_orders);
    unsigned lo = 0, hi = n;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        int c = tbp_str_cmp(texts[order[mid]], name);
        if (c == 0)
            return order[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return 0;
}

enum tbp_stat_key tbp_stat_key_of(struct tbp_str name) {
    return (enum tbp_stat_key)look_up(stat_texts, stat_order, TBP_STAT_KEYS, name);
}

enum tbp_event_kind tbp_event_kind_of(struct tbp_str name) {
    return (enum tbp_event_kind)look_up(event_texts, event_order, TBP_EVENT_KINDS, name);
}

struct tbp_str tbp_stat_key_text(enum tbp_stat_key key) {
    return stat_texts[key];
}

struct tbp_str tbp_event_kind_text(enum tbp_event_kind kind) {
    return event_texts[kind];
}

bool tbp_is_host_plane(struct tbp_str name) {
    static const char *const prefixes[] = {
        TBP_HOST_PLANE, "Host CPUs",           "/host:tfstreamz", TBP_METADATA_PLANE,
        "Syscalls",     "/host:python-tracer", "/host:CUPTI",     TBP_SCOPE_PLANE};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (tbp_str_starts(name, prefixes[i]))
            return true;
    return false;
}

bool tbp_is_device_plane(struct tbp_str name) {
    return !tbp_is_host_plane(name) &&
           (tbp_str_starts(name, "/device") || tbp_str_starts(name, "#Chip") ||
            tbp_str_starts(name, "/custom:"));
}

bool tbp_is_gpu_plane(struct tbp_str name) {
    return tbp_str_starts(name, "/device:GPU:");
}

bool tbp_is_tpu_plane(struct tbp_str name) {
    return tbp_str_starts(name, "/device:TPU:");
}

bool tbp_is_custom_plane(struct tbp_str name) {
    return tbp_str_starts(name, "/device:CUSTOM:");
}

bool tbp_is_torch_input(struct tbp_str event_name) {
    return tbp_str_starts(event_name, "enumerate(DataLoader)#") ||
           tbp_str_starts(event_name, "enumerate(DataPipe)#");
}

/* Cuts leading decimal digits off s. */
static struct tbp_str cut_digits(struct tbp_str *s) {
    size_t n = 0;
    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
        n++;
    struct tbp_str digits = tbp_str_sub(*s, 0, n);
    *s = tbp_str_sub(*s, n, s->n);
    return digits;
}

bool tbp_is_tensor_core_plane(struct tbp_str name, int64_t *ordinal) {
    if (!tbp_is_tpu_plane(name))
        return false;
    struct tbp_str rest = tbp_str_sub(name, strlen("/device:TPU:"), name.n);
    struct tbp_str digits = cut_digits(&rest);
    if (rest.n)
        return false;
    if (!tbp_str_to_i64(digits, ordinal))
        *ordinal = 0;
    return true;
}

/* "/device:TPU:<d> SparseCore[ <letters>] <d>" */
bool tbp_is_sparse_core_plane(struct tbp_str name, int64_t *ordinal) {
    if (!tbp_is_tpu_plane(name))
        return false;
    struct tbp_str rest = tbp_str_sub(name, strlen("/device:TPU:"), name.n);
    if (!cut_digits(&rest).n || !tbp_str_starts(rest, " SparseCore "))
        return false;
    rest = tbp_str_sub(rest, strlen(" SparseCore "), rest.n);
    size_t letters = 0;
    while (letters < rest.n && ((rest.p[letters] | 32) >= 'a' && (rest.p[letters] | 32) <= 'z'))
        letters++;
    if (letters) {
        if (letters == rest.n || rest.p[letters] != ' ')
            return false;
        rest = tbp_str_sub(rest, letters + 1, rest.n);
    }
    struct tbp_str digits = cut_digits(&rest);
    return rest.n == 0 && tbp_str_to_i64(digits, ordinal);
}
