/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at the beginning of a file for its rank; see told_rank.h.
 */
#include "cli/told_rank.h"

#include "base/arena.h"
#include "base/json_pull.h"
#include "convert/read/reader.h"

#include <sys/stat.h>

enum { LOOK_BYTES = 1 << 18 }; /* properties of many devices stand before the rank */

static bool read_number(struct tbp_json_pull *j, int64_t *n) {
    enum tbp_json_token token = tbp_json_pull_next(j);
    if (token == TBP_JSON_NUMBER)
        return tbp_json_id(j->text, n) && *n >= 0;
    tbp_json_pull_skip(j, token);
    return false;
}

static bool read_job(struct tbp_json_pull *j, int64_t *rank) {
    enum tbp_json_token token = tbp_json_pull_next(j);
    bool is_found = false;
    if (token != TBP_JSON_OBJECT) {
        tbp_json_pull_skip(j, token);
        return false;
    }
    while (tbp_json_pull_next(j) == TBP_JSON_KEY) {
        if (tbp_str_is(j->text, "rank"))
            is_found |= read_number(j, rank);
        else
            tbp_json_pull_skip(j, TBP_JSON_KEY);
    }
    return is_found;
}

static bool find_rank(struct tbp_str head, int64_t *rank) {
    struct tbp_json_pull j;
    bool is_found = false;
    tbp_json_pull_init(&j, head.p, head.n);
    if (tbp_json_pull_next(&j) != TBP_JSON_OBJECT)
        return false;
    while (!is_found && tbp_json_pull_next(&j) == TBP_JSON_KEY) {
        if (tbp_str_is(j.text, "distributedInfo"))
            is_found = read_job(&j, rank);
        else if (tbp_str_is(j.text, "rank_id"))
            is_found = read_number(&j, rank);
        else
            tbp_json_pull_skip(&j, TBP_JSON_KEY);
    }
    return is_found;
}

bool tbp_told_rank(const char *path, int64_t *rank) {
    struct stat st;
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        path = tbp_arena_printf(&arena, "%s/profiler_info.json", path);
    bool is_told = find_rank(tbp_file_head(path, LOOK_BYTES, &arena), rank);
    tbp_arena_release(&arena);
    return is_told;
}
