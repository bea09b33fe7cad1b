/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of options, and the ways in which one is set: by the program, the environment, a file.
 */
#include "capture/capture_options.h"

#include "base/log.h"
#include "base/nearest.h"
#include "base/str.h"
#include "capture/gpu_kinds.h"
#include "capture/last_error.h"
#include "capture/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum type { INT, U64, MASK, BYTES, BOOL, WORD, TEXT, GPU_KINDS };

struct option {
    const char *key;
    enum type type;
    size_t offset;
    int64_t min, max, value;  /* of numbers; value: the default */
    const char *const *words; /* of WORD: names of 0, 1, …, then NULL */
};

static const char *const policies[] = {"stop", "ring", "grow", NULL};
static const char *const gpu_modes[] = {"off", "auto", "on", "require", NULL};
static const char *const memory_modes[] = {"off", "api", "sampled", "all", NULL};

#define AT(field) offsetof(tbprof_options, field)
static const struct option options[] = {
    {"host_tracer_level", INT, AT(host_tracer_level), 0, 255, 2, NULL},
    {"device_tracer_level", INT, AT(device_tracer_level), 0, 255, 1, NULL},
    {"python_tracer_level", INT, AT(python_tracer_level), 0, 2, 0, NULL},
    {"delay_ms", INT, AT(delay_ms), 0, INT32_MAX, 0, NULL},
    {"duration_ms", U64, AT(duration_ms), 0, INT64_C(1) << 40, 0, NULL},
    {"start_timestamp_ns", U64, AT(start_timestamp_ns), 0, INT64_MAX, 0, NULL},
    {"category_mask", MASK, AT(category_mask), 0, 0, UINT32_MAX, NULL},
    {"max_host_bytes", BYTES, AT(max_host_bytes), 1, INT64_MAX, INT64_C(512) << 20, NULL},
    {"max_device_bytes", BYTES, AT(max_device_bytes), 1, INT64_MAX, INT64_C(256) << 20, NULL},
    {"full_policy", WORD, AT(full_policy), 0, 2, TBPROF_FULL_STOP, policies},
    {"memory_mode", WORD, AT(memory_mode), 0, 3, 0, memory_modes},
    {"rss_period_ms", INT, AT(rss_period_ms), 0, INT32_MAX, 100, NULL},
    {"sync_gpu", BOOL, AT(sync_gpu), 0, 1, 0, NULL},
    {"follow_fork", BOOL, AT(follow_fork), 0, 1, 0, NULL},
    {"record_shapes", BOOL, AT(record_shapes), 0, 1, 0, NULL},
    {"with_stack", BOOL, AT(with_stack), 0, 1, 0, NULL},
    {"convert", BOOL, AT(convert), 0, 1, 0, NULL},
    {"start_paused", BOOL, AT(start_paused), 0, 1, 0, NULL},
    {"raise_error_on_start_failure", BOOL, AT(raise_error_on_start_failure), 0, 1, 0, NULL},
    {"session_id", TEXT, AT(session_id), 0, 0, 0, NULL},
    {"override_hostname", TEXT, AT(override_hostname), 0, 0, 0, NULL},
    {"spool_dir", TEXT, AT(spool_dir), 0, 0, 0, NULL},
    {"gpu", WORD, AT(gpu), 0, 3, TBPROF_GPU_AUTO, gpu_modes},
    {"gpu_flush_ms", INT, AT(gpu_flush_ms), 1, 3600000, 1000, NULL},
    {"gpu_buffer_bytes", BYTES, AT(gpu_buffer_bytes), 4096, INT64_C(1) << 30, INT64_C(1) << 20,
     NULL},
    {"max_events", U64, AT(max_events), 0, INT64_MAX, 0, NULL},
    {"gpu_kinds", GPU_KINDS, AT(gpu_kinds), 0, 0, 0, NULL},
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static bool is_text(const struct option *o) {
    return o->type == TEXT || o->type == GPU_KINDS;
}

static bool is_wide(const struct option *o) {
    return o->type == U64 || o->type == MASK || o->type == BYTES;
}

static int64_t get(const tbprof_options *values, const struct option *o) {
    const char *at = (const char *)values + o->offset;
    return is_wide(o) ? (int64_t) * (const uint64_t *)(const void *)at
                      : *(const int *)(const void *)at;
}

static void put(tbprof_options *values, const struct option *o, int64_t value) {
    char *at = (char *)values + o->offset;
    if (is_wide(o))
        *(uint64_t *)(void *)at = (uint64_t)value;
    else
        *(int *)(void *)at = (int)value;
}

static const char **text_of(tbprof_options *values, const struct option *o) {
    return (const char **)(void *)((char *)values + o->offset);
}

/* "64", "64KiB", "64MiB", "64GiB", also with "K", "M", "G" or "KB" …: all of them powers of 1024.
 */
static bool parse_bytes(struct tbp_str s, int64_t *out) {
    static const char units[] = "KMG";
    uint64_t n;
    unsigned shift = 0;
    if (tbp_str_ends(s, "iB"))
        s.n -= 2;
    else if (tbp_str_ends(s, "B"))
        s.n -= 1;
    for (unsigned i = 0; s.n && units[i]; i++)
        if (s.p[s.n - 1] == units[i])
            shift = 10 * (i + 1);
    s.n -= shift != 0;
    if (!tbp_str_to_u64(s, &n) || n > (uint64_t)INT64_MAX >> shift)
        return false;
    *out = (int64_t)(n << shift);
    return true;
}

static bool parse_bool(struct tbp_str s, int64_t *out) {
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tbp_str_is(s, words[i])) {
            *out = i & 1;
            return true;
        }
    return false;
}

static bool parse_word(const struct option *o, struct tbp_str s, int64_t *out) {
    for (int64_t i = 0; o->words[i]; i++)
        if (tbp_str_is(s, o->words[i])) {
            *out = i;
            return true;
        }
    return tbp_str_to_i64(s, out);
}

/* Decimal, or hexadecimal with "0x". */
static bool parse_mask(struct tbp_str s, int64_t *out) {
    char *end;
    *out = (int64_t)strtoull(s.p, &end, tbp_str_starts(s, "0x") ? 16 : 10);
    return s.n > 0 && end == s.p + s.n;
}

/* From a range, or free of one. */
static bool is_in_range(const struct option *o, int64_t value) {
    return o->type == MASK || (value >= o->min && value <= o->max);
}

static bool parse(const struct option *o, struct tbp_str s, int64_t *out) {
    switch (o->type) {
    case BYTES:
        return parse_bytes(s, out);
    case BOOL:
        return parse_bool(s, out);
    case WORD:
        return parse_word(o, s, out);
    case MASK:
        return parse_mask(s, out);
    default:
        return tbp_str_to_i64(s, out);
    }
}

static int bad_value(const struct option *o, const char *value, struct tbp_error *err) {
    if (o->type == WORD) {
        char words[64] = "";
        for (size_t i = 0, n = 0; o->words[i] && n < sizeof words; i++)
            n += (size_t)snprintf(words + n, sizeof words - n, "%s%s", i ? ", " : "", o->words[i]);
        return tbp_fail(err, TBP_E_OPTION, "option '%s': '%s' is none of %s", o->key, value, words);
    }
    if (o->type == BOOL)
        return tbp_fail(err, TBP_E_OPTION, "option '%s': '%s' is neither true nor false", o->key,
                        value);
    return tbp_fail(err, TBP_E_OPTION,
                    "option '%s': '%s' is no number from %" PRId64 " to %" PRId64, o->key, value,
                    o->min, o->max);
}

static int set(tbprof_options *values, const struct option *o, const char *text,
               struct tbp_error *err) {
    int64_t value;
    uint32_t kinds;
    if (o->type == GPU_KINDS && tbp_gpu_kinds_parse(text, &kinds, err) != TBP_OK)
        return TBP_E_OPTION;
    if (is_text(o)) {
        *text_of(values, o) = *text ? text : NULL;
        return TBP_OK;
    }
    if (!parse(o, tbp_str_c(text), &value) || !is_in_range(o, value))
        return bad_value(o, text, err);
    put(values, o, value);
    return TBP_OK;
}

static const struct option *option_named(const char *key) {
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (strcmp(options[i].key, key) == 0)
            return &options[i];
    return NULL;
}

/* further: names beside those of the options, or NULL. */
static int unknown_option(const char *key, const char *const *further, struct tbp_error *err) {
    struct tbp_nearest nearest;
    tbp_nearest_init(&nearest, key);
    for (size_t i = 0; i < N_OPTIONS; i++)
        tbp_nearest_try(&nearest, options[i].key);
    for (; further && *further; further++)
        tbp_nearest_try(&nearest, *further);
    return nearest.best ? tbp_fail(err, TBP_E_OPTION, "unknown option '%s'; did you mean '%s'?",
                                   key, nearest.best)
                        : tbp_fail(err, TBP_E_OPTION,
                                   "unknown option '%s': docs/recording.md lists them", key);
}

int tbp_capture_option_set(tbprof_options *values, const char *key, const char *value,
                           struct tbp_error *err) {
    const struct option *o = option_named(key);
    return o ? set(values, o, value, err) : unknown_option(key, NULL, err);
}

tbprof_status tbprof_options_set(tbprof_options *values, const char *key, const char *value) {
    struct tbp_error err = {0};
    if (!values || !key || !value)
        return tbp_last_error_set(TBPROF_INVALID_ARGUMENT, "an option needs a key and a value");
    return tbp_capture_option_set(values, key, value, &err) == TBP_OK ? TBPROF_OK
                                                                      : tbp_last_error_from(&err);
}

/* ---- environment ---- */

static void environment_name(char *to, size_t size, const char *key) {
    size_t n = (size_t)snprintf(to, size, "TBPROF_%s", key);
    for (size_t i = 0; i < n && i < size; i++)
        if (to[i] >= 'a' && to[i] <= 'z')
            to[i] = (char)(to[i] - 'a' + 'A');
}

/* Wrong values in the environment are told and left out: they may be meant for another program. */
static void from_environment(tbprof_options *values) {
    struct tbp_error err = {0};
    const char *config = getenv("TBPROF_CONFIG");
    if (config && *config && tbp_capture_options_load(values, config, &err) != TBP_OK)
        tbp_log(TBP_LOG_WARNING, "$TBPROF_CONFIG: %s", err.message);
    for (size_t i = 0; i < N_OPTIONS; i++) {
        char name[64];
        environment_name(name, sizeof name, options[i].key);
        const char *value = getenv(name);
        if (value && *value && set(values, &options[i], value, &err) != TBP_OK)
            tbp_log(TBP_LOG_WARNING, "$%s: %s", name, err.message);
    }
}

int tbp_capture_setting_check(const char *key, const char *value, struct tbp_error *err) {
    static const char *const further[] = {"schedule",
                                          "config",
                                          "clock",
                                          "cuda_path",
                                          "cupti_path",
                                          "server",
                                          "server_mode",
                                          "server_bind",
                                          "server_allow_root",
                                          "server_allow_peers",
                                          "server_token",
                                          "server_max_duration_ms",
                                          "server_allow_python_tracer",
                                          "server_allow_remote_workers",
                                          NULL};
    tbprof_options values = {.struct_size = sizeof values};
    tbprof_schedule schedule;
    const struct option *o = option_named(key);
    if (o)
        return set(&values, o, value, err);
    if (strcmp(key, "config") == 0)
        return tbp_capture_options_load(&values, value, err);
    if (strcmp(key, "schedule") == 0)
        return tbp_schedule_parse(&schedule, value, err);
    for (size_t i = 0; further[i]; i++)
        if (strcmp(further[i], key) == 0)
            return TBP_OK;
    return unknown_option(key, further, err);
}

static void defaults(tbprof_options *values) {
    *values = (tbprof_options){.struct_size = sizeof *values};
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (!is_text(&options[i]))
            put(values, &options[i], options[i].value);
}

void tbprof_options_init(tbprof_options *values) {
    defaults(values);
    from_environment(values);
}

int tbp_capture_options_check(const tbprof_options *values, struct tbp_error *err) {
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const struct option *o = &options[i];
        if (is_text(o))
            continue;
        int64_t value = get(values, o);
        if (!is_in_range(o, value))
            return tbp_fail(err, TBP_E_OPTION,
                            "option '%s': %" PRId64 " is not from %" PRId64 " to %" PRId64, o->key,
                            value, o->min, o->max);
    }
    uint32_t kinds;
    return tbp_gpu_kinds_parse(values->gpu_kinds, &kinds, err);
}

void tbp_capture_options_print(const tbprof_options *values, char *to, size_t size) {
    size_t n = 0;
    if (size)
        *to = '\0';
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const struct option *o = &options[i];
        char line[320];
        const char *text = is_text(o) ? *text_of((tbprof_options *)(uintptr_t)values, o) : NULL;
        int64_t value = is_text(o) ? 0 : get(values, o);
        if (is_text(o) ? !text : value == o->value)
            continue;
        if (text)
            snprintf(line, sizeof line, "%s=%.250s\n", o->key, text);
        else if (o->type == WORD)
            snprintf(line, sizeof line, "%s=%s\n", o->key, o->words[value]);
        else
            snprintf(line, sizeof line, "%s=%" PRId64 "\n", o->key, value);
        size_t length = strlen(line);
        if (n + length >= size)
            break;
        memcpy(to + n, line, length + 1);
        n += length;
    }
}
