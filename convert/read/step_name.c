/* SPDX-License-Identifier: Apache-2.0
 *
 * See step_name.h.
 */
#include "convert/read/step_name.h"

/* In order of rank. A word that stands for many things needs a number behind it. */
static const struct {
    const char *word;
    bool needs_number;
} words[] = {
    {"ProfilerStep", false}, {"step", false},       {"iteration", false}, {"iter", false},
    {"minibatch", false},    {"mini_batch", false}, {"batch", true},      {"sample", true},
};

static const char *const prefixes[] = {"train", "training",  "global", "profiler",
                                       "infer", "inference", "eval",   "decode"};

static bool is_space(char c) {
    return c == '_' || c == ' ' || c == '#' || c == '-' || c == ':' || c == '=' || c == '.';
}

/* What follows the word in s, if s begins with it, whatever the case. */
static bool skip(struct tbp_str *s, const char *word) {
    size_t n = strlen(word);
    if (!tbp_str_starts_nocase(*s, word))
        return false;
    *s = tbp_str_sub(*s, n, s->n);
    return true;
}

static bool skip_spaces(struct tbp_str *s) {
    size_t n = 0;
    while (n < s->n && is_space(s->p[n]))
        n++;
    *s = tbp_str_sub(*s, n, s->n);
    return n > 0;
}

static bool parse_number(struct tbp_str s, int64_t *number) {
    uint64_t bits;
    if (tbp_str_to_i64(s, number))
        return true;
    if (!tbp_str_to_u64(s, &bits))
        return false;
    *number = (int64_t)bits;
    return true;
}

bool tbp_step_is_unsigned(struct tbp_str text, int64_t number) {
    return number < 0 && !tbp_str_has(text, "-");
}

void tbp_step_count_unsigned(struct tbp_host *host) {
    tbp_ledger_count(&host->ledger, TBP_LEDGER_REPAIR_UNSIGNED, 1, TBP_NO_OFFSET);
    host->n_unsigned_steps++;
}

bool tbp_step_number(struct tbp_host *host, struct tbp_str digits, int64_t *number) {
    if (!parse_number(digits, number))
        return false;
    if (tbp_step_is_unsigned(digits, *number))
        tbp_step_count_unsigned(host);
    return true;
}

bool tbp_step_of_profiler(struct tbp_host *host, struct tbp_str name, int64_t *number) {
    static const char prefix[] = "ProfilerStep#";
    return tbp_str_starts(name, prefix) &&
           tbp_step_number(host, tbp_str_sub(name, sizeof prefix - 1, name.n), number);
}

static bool parse_word(struct tbp_step_name *out, struct tbp_str s, struct tbp_str name,
                       unsigned rank) {
    if (!skip(&s, words[rank].word))
        return false;
    *out =
        (struct tbp_step_name){.stem = tbp_str_sub(name, 0, (size_t)(s.p - name.p)), .rank = rank};
    skip_spaces(&s);
    if (s.n == 0)
        return !words[rank].needs_number && out->stem.n == name.n;
    out->has_number = s.p[0] >= '0' && s.p[0] <= '9' && parse_number(s, &out->number);
    out->is_unsigned = out->has_number && tbp_step_is_unsigned(s, out->number);
    return out->has_number;
}

bool tbp_step_name_parse(struct tbp_step_name *out, struct tbp_str name) {
    enum { LONGEST = 64 };
    struct tbp_str s = name;
    if (name.n > LONGEST)
        return false;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        struct tbp_str rest = name;
        if (skip(&rest, prefixes[i]) && skip_spaces(&rest)) {
            s = rest;
            break;
        }
    }
    for (unsigned rank = 0; rank < sizeof words / sizeof *words; rank++)
        if (parse_word(out, s, name, rank))
            return true;
    return false;
}
