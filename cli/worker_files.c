/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that PyTorch's workers give to their traces; see worker_files.h.
 */
#include "cli/worker_files.h"

#include "base/sort.h"

#include <ctype.h>
#include <string.h>

enum { MAX_DIGITS = 18 }; /* of a number that fits 64 bits without looking */

/* Digits at the end of s, which are cut off together with `mark` before them. */
static bool take_number(struct tbp_str *s, char mark, uint64_t *number) {
    size_t n = s->n;
    while (n && isdigit((unsigned char)s->p[n - 1]))
        n--;
    size_t digits = s->n - n;
    if (n < 2 || s->p[n - 1] != mark || !digits || digits > MAX_DIGITS + 1)
        return false;
    *number = 0;
    for (size_t i = n; i < s->n; i++)
        *number = *number * 10 + (uint64_t)(s->p[i] - '0');
    s->n = n - 1;
    return true;
}

static bool cut(struct tbp_str *s, const char *suffix) {
    size_t n = strlen(suffix);
    if (s->n <= n || !tbp_str_ends(*s, suffix))
        return false;
    s->n -= n;
    return true;
}

bool tbp_worker_file_parse(struct tbp_worker_file *out, const char *name, struct tbp_arena *arena) {
    struct tbp_str s = tbp_str_c(name);
    uint64_t number;
    if (!cut(&s, ".pt.trace.json.gz") && !cut(&s, ".pt.trace.json"))
        return false;
    bool has_number = take_number(&s, '#', &number);
    *out = (struct tbp_worker_file){.name = name};
    take_number(&s, '.', &out->time);
    out->host = tbp_arena_str(arena, s);
    if (has_number)
        out->host =
            tbp_str_c(tbp_arena_printf(arena, "%s_%llu", out->host.p, (unsigned long long)number));
    return true;
}

bool tbp_rank_find(struct tbp_str name, struct tbp_str *digits, int64_t *rank) {
    static const struct tbp_str word = TBP_STR_INIT("rank");
    for (size_t i = 0; i + word.n < name.n; i++) {
        if (!tbp_str_starts(tbp_str_sub(name, i, name.n), word.p) ||
            (i > 0 && isalpha((unsigned char)name.p[i - 1])))
            continue;
        size_t from = i + word.n + (name.p[i + word.n] == '-' || name.p[i + word.n] == '_');
        size_t to = from;
        while (to < name.n && isdigit((unsigned char)name.p[to]))
            to++;
        *digits = tbp_str_sub(name, from, to);
        if (digits->n <= MAX_DIGITS && tbp_str_to_i64(*digits, rank))
            return true;
    }
    return false;
}

bool tbp_rank_of_path(struct tbp_str path, struct tbp_str *name, struct tbp_str *digits,
                      int64_t *rank) {
    for (size_t end = path.n, from; end > 0; end = from ? from - 1 : 0) {
        size_t slash = tbp_str_rfind(tbp_str_sub(path, 0, end), '/');
        from = slash < end ? slash + 1 : 0;
        *name = tbp_str_sub(path, from, end);
        if (tbp_rank_find(*name, digits, rank))
            return true;
    }
    return false;
}

bool tbp_worker_rank(const char *name, int64_t *rank) {
    struct tbp_str s = tbp_str_c(name), digits;
    uint64_t number;
    if (tbp_rank_find(s, &digits, rank))
        return true;
    if (!cut(&s, ".pt.trace.json.gz"))
        cut(&s, ".pt.trace.json");
    if (!take_number(&s, '#', &number) || number == 0 || number > INT64_MAX)
        return false;
    *rank = (int64_t)number;
    return true;
}

static int by_host_and_time(const void *a, const void *b, void *ctx) {
    const struct tbp_worker_file *x = a, *y = b;
    (void)ctx;
    int order = tbp_str_cmp(x->host, y->host);
    return order ? order : (x->time > y->time) - (x->time < y->time);
}

size_t tbp_worker_files_order(struct tbp_worker_files *files) {
    size_t most = 0;
    tbp_sort(files->list.at, files->list.n, sizeof *files->list.at, by_host_and_time, NULL);
    for (size_t i = 0; i < files->list.n; i++) {
        struct tbp_worker_file *f = &files->list.at[i];
        f->span = i && tbp_str_eq(f[-1].host, f->host) ? f[-1].span + 1 : 0;
        most = f->span + 1 > most ? f->span + 1 : most;
    }
    return most;
}
