/* SPDX-License-Identifier: Apache-2.0
 *
 * A small JSON reader (no tree, bounded depth) for the configuration of matrix multiplications.
 * Known fields are looked into or skipped; of equal keys the last one counts.
 */
#include "convert/analyze/gemm_config.h"

enum { MAX_DEPTH = 64 };

static const char *const config_fields[] = {"operation_queue_id",
                                            "cudnn_conv_backend_config",
                                            "gemm_backend_config",
                                            "bitcast_backend_config",
                                            "collective_backend_config",
                                            "fusion_backend_config",
                                            "cudnn_norm_backend_config",
                                            "cudnn_fmha_backend_config",
                                            "custom_call_backend_config",
                                            "native_emitter_backend_config",
                                            "block_scaled_dot_backend_config",
                                            "force_earliest_schedule",
                                            "reification_cost",
                                            "device_type",
                                            NULL};

static const char *const gemm_fields[] = {"alpha_real",
                                          "alpha_imag",
                                          "beta",
                                          "dot_dimension_numbers",
                                          "precision_config",
                                          "epilogue",
                                          "selected_algorithm",
                                          "lhs_stride",
                                          "rhs_stride",
                                          "grad_x",
                                          "grad_y",
                                          "damax_output",
                                          "autotune_workspace_size",
                                          "scale_mode",
                                          NULL};

struct json {
    const char *at, *end;
    struct tbp_hlo_ints *contracting;
    struct tbp_arena *scratch;
};

static void skip_blanks(struct json *j) {
    while (j->at < j->end && (*j->at == ' ' || (*j->at >= '\t' && *j->at <= '\r')))
        j->at++;
}

static bool take(struct json *j, char c) {
    skip_blanks(j);
    if (j->at == j->end || *j->at != c)
        return false;
    j->at++;
    return true;
}

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* After the backslash. */
static bool skip_escape(struct json *j) {
    if (j->at == j->end)
        return false;
    char c = *j->at++;
    if (c != 'u')
        return c != '\0' && strchr("\"\\/bfnrt", c) != NULL;
    for (int i = 0; i < 4; i++, j->at++)
        if (j->at == j->end || !is_hex(*j->at))
            return false;
    return true;
}

/* A text; escapes stay as they are written (no known name has one). */
static bool read_string(struct json *j, struct tbp_str *out) {
    if (!take(j, '"'))
        return false;
    const char *begin = j->at;
    while (j->at < j->end && *j->at != '"') {
        char c = *j->at++;
        if ((unsigned char)c < 0x20 || (c == '\\' && !skip_escape(j)))
            return false;
    }
    if (j->at == j->end)
        return false;
    *out = (struct tbp_str){begin, (size_t)(j->at - begin)};
    j->at++;
    return true;
}

static bool skip_digits(struct json *j) {
    const char *begin = j->at;
    while (j->at < j->end && *j->at >= '0' && *j->at <= '9')
        j->at++;
    return j->at > begin;
}

static bool skip_number(struct json *j) {
    if (j->at < j->end && *j->at == '-')
        j->at++;
    bool is_zero = j->at < j->end && *j->at == '0';
    const char *begin = j->at;
    if (!skip_digits(j) || (is_zero && j->at - begin > 1))
        return false;
    if (j->at < j->end && *j->at == '.') {
        j->at++;
        if (!skip_digits(j))
            return false;
    }
    if (j->at < j->end && (*j->at | 0x20) == 'e') {
        j->at++;
        if (j->at < j->end && (*j->at == '+' || *j->at == '-'))
            j->at++;
        return skip_digits(j);
    }
    return true;
}

static bool skip_word(struct json *j) {
    static const char *const words[] = {"true", "false", "null"};
    struct tbp_str rest = {j->at, (size_t)(j->end - j->at)};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (tbp_str_starts(rest, words[i])) {
            j->at += strlen(words[i]);
            return true;
        }
    }
    return false;
}

static bool skip_scalar(struct json *j) {
    struct tbp_str text;
    if (j->at == j->end)
        return false;
    if (*j->at == '"')
        return read_string(j, &text);
    return (*j->at == '-' || (*j->at >= '0' && *j->at <= '9')) ? skip_number(j) : skip_word(j);
}

/* Calls value(j, key) at each value of an object; value must consume it. */
static bool walk_object(struct json *j, unsigned depth,
                        bool (*value)(struct json *j, struct tbp_str key, unsigned depth)) {
    if (depth > MAX_DEPTH || !take(j, '{'))
        return false;
    if (take(j, '}'))
        return true;
    do {
        struct tbp_str key;
        if (!read_string(j, &key) || !take(j, ':'))
            return false;
        skip_blanks(j);
        if (!value(j, key, depth + 1))
            return false;
    } while (take(j, ','));
    return take(j, '}');
}

static bool skip_member(struct json *j, struct tbp_str key, unsigned depth);

/* Any value; bounded by MAX_DEPTH. */
static bool skip_value(struct json *j, unsigned depth) {
    skip_blanks(j);
    if (j->at < j->end && *j->at == '{')
        return walk_object(j, depth, skip_member);
    if (j->at == j->end || *j->at != '[')
        return skip_scalar(j);
    j->at++;
    if (depth > MAX_DEPTH)
        return false;
    if (take(j, ']'))
        return true;
    do {
        if (!skip_value(j, depth + 1))
            return false;
    } while (take(j, ','));
    return take(j, ']');
}

static bool skip_member(struct json *j, struct tbp_str key, unsigned depth) {
    (void)key;
    return skip_value(j, depth);
}

static bool is_known(struct tbp_str key, const char *const *fields) {
    for (; *fields != NULL; fields++)
        if (tbp_str_is(key, *fields))
            return true;
    return false;
}

/* [1, "2"]: 64-bit integers are written with or without quotes. */
static bool read_dimensions(struct json *j) {
    j->contracting->n = 0;
    if (!take(j, '['))
        return false;
    if (take(j, ']'))
        return true;
    do {
        skip_blanks(j);
        const char *begin = j->at;
        if (!skip_scalar(j))
            return false;
        struct tbp_str text = {begin, (size_t)(j->at - begin)};
        if (text.n >= 2 && text.p[0] == '"')
            text = tbp_str_sub(text, 1, text.n - 1);
        int64_t value;
        if (!tbp_str_to_i64(text, &value))
            return false;
        tbp_hlo_ints_add(j->scratch, j->contracting, value);
    } while (take(j, ','));
    return take(j, ']');
}

static bool dot_member(struct json *j, struct tbp_str key, unsigned depth) {
    if (tbp_str_is(key, "lhs_contracting_dimensions"))
        return read_dimensions(j);
    return skip_value(j, depth);
}

static bool gemm_member(struct json *j, struct tbp_str key, unsigned depth) {
    if (!is_known(key, gemm_fields))
        return false;
    if (!tbp_str_is(key, "dot_dimension_numbers"))
        return skip_value(j, depth);
    j->contracting->n = 0;
    return walk_object(j, depth, dot_member);
}

static bool config_member(struct json *j, struct tbp_str key, unsigned depth) {
    if (!is_known(key, config_fields))
        return false;
    if (!tbp_str_is(key, "gemm_backend_config"))
        return skip_value(j, depth);
    j->contracting->n = 0;
    return walk_object(j, depth, gemm_member);
}

/* `"wait_on_operation_queues": [],` at s: its length, else 0. The official reader takes that old
 * field out, but only with the comma behind it. */
static size_t old_field_length(struct tbp_str s) {
    static const char *const name = "\"wait_on_operation_queues\"";
    if (!tbp_str_starts(s, name))
        return 0;
    struct json j = {.at = s.p + strlen(name), .end = s.p + s.n};
    bool is_field = take(&j, ':') && take(&j, '[') && take(&j, ']') && take(&j, ',');
    return is_field ? (size_t)(j.at - s.p) : 0;
}

static struct tbp_str without_old_field(struct tbp_str s, struct tbp_arena *scratch) {
    char *text = tbp_arena_alloc(scratch, s.n + 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n;) {
        size_t skip = s.p[i] == '"' ? old_field_length(tbp_str_sub(s, i, s.n)) : 0;
        if (skip == 0)
            text[n++] = s.p[i++];
        i += skip;
    }
    return (struct tbp_str){text, n};
}

bool tbp_gemm_config_read(struct tbp_str config, struct tbp_hlo_ints *lhs_contracting,
                          struct tbp_arena *scratch) {
    *lhs_contracting = (struct tbp_hlo_ints){0};
    if (config.n == 0)
        return true;
    struct tbp_str text = without_old_field(config, scratch);
    struct json j = {text.p, text.p + text.n, lhs_contracting, scratch};
    if (!walk_object(&j, 0, config_member))
        return false;
    skip_blanks(&j);
    return j.at == j.end;
}
