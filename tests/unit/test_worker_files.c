/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of workers' traces.
 */
#include "cli/worker_files.h"

#include <criterion/criterion.h>

static struct tbp_arena arena;

static struct tbp_worker_file parse(const char *name) {
    struct tbp_worker_file f = {0};
    cr_assert(tbp_worker_file_parse(&f, name, &arena), "%s", name);
    return f;
}

Test(worker_files, a_worker_may_have_dots_and_blanks) {
    tbp_arena_init(&arena);
    struct tbp_worker_file f =
        parse("gpu-07.rack 2.example_4711.1780300000000000009.pt.trace.json.gz");
    cr_assert_str_eq(f.host.p, "gpu-07.rack 2.example_4711");
    cr_assert_eq(f.time, 1780300000000000009u);
    tbp_arena_release(&arena);
}

Test(worker_files, processes_of_one_name_are_told_apart) {
    tbp_arena_init(&arena);
    cr_assert_str_eq(parse("aa_37.178030#0.pt.trace.json").host.p, "aa_37_0");
    cr_assert_str_eq(parse("aa_37.178030#3.pt.trace.json").host.p, "aa_37_3");
    cr_assert_eq(parse("aa_37.178030#3.pt.trace.json").time, 178030);
    tbp_arena_release(&arena);
}

Test(worker_files, a_name_without_time_is_a_worker) {
    tbp_arena_init(&arena);
    cr_assert_str_eq(parse("rank0.pt.trace.json").host.p, "rank0");
    cr_assert_eq(parse("rank0.pt.trace.json").time, 0);
    cr_assert_str_eq(parse("1780.pt.trace.json").host.p, "1780");
    struct tbp_worker_file f;
    cr_assert_not(tbp_worker_file_parse(&f, "h.xplane.pb", &arena));
    cr_assert_not(tbp_worker_file_parse(&f, ".pt.trace.json", &arena));
    tbp_arena_release(&arena);
}

Test(worker_files, ranks_are_told_by_names) {
    int64_t rank = -1;
    cr_assert(tbp_worker_rank("rank12.pt.trace.json", &rank));
    cr_assert_eq(rank, 12);
    cr_assert(tbp_worker_rank("job-rank-3.1780.pt.trace.json", &rank));
    cr_assert_eq(rank, 3);
    cr_assert(tbp_worker_rank("a.1780#5.pt.trace.json.gz", &rank));
    cr_assert_eq(rank, 5);
    cr_assert_not(
        tbp_worker_rank("a.1780#0.pt.trace.json", &rank)); /* a single process has it, too */
    cr_assert_not(tbp_worker_rank("frank.pt.trace.json", &rank));
    cr_assert_not(tbp_worker_rank("frank3.pt.trace.json", &rank));
    cr_assert(tbp_worker_rank("frank3/rank_07/w.pt.trace.json", &rank));
    cr_assert_eq(rank, 7);
}

Test(worker_files, digits_of_a_rank) {
    struct tbp_str digits;
    int64_t rank = -1;
    cr_assert(tbp_rank_find(TBP_STR("rank, rank-007_b"), &digits, &rank));
    cr_assert(tbp_str_is(digits, "007"));
    cr_assert_eq(rank, 7);
    cr_assert(tbp_rank_find(TBP_STR("rank999999999999999999"), &digits, &rank));
    cr_assert_eq(rank, 999999999999999999);
    cr_assert_not(tbp_rank_find(TBP_STR("rank1999999999999999999"), &digits, &rank));
    cr_assert_not(tbp_rank_find(TBP_STR("rank_"), &digits, &rank));
    cr_assert_not(tbp_rank_find(tbp_str_sub(TBP_STR("rank7"), 0, 4), &digits, &rank));
    cr_assert_not(tbp_rank_find(TBP_STR_NONE, &digits, &rank));
}

Test(worker_files, spans_count_from_the_earliest_of_each_host) {
    struct tbp_worker_files files = {0};
    tbp_arena_init(&arena);
    *tbp_vec_push(&files.list) = parse("b.20.pt.trace.json");
    *tbp_vec_push(&files.list) = parse("b.3.pt.trace.json");
    *tbp_vec_push(&files.list) = parse("a.7.pt.trace.json");
    cr_assert_eq(tbp_worker_files_order(&files), 2);
    cr_assert_str_eq(files.list.at[0].host.p, "a");
    cr_assert_eq(files.list.at[1].time, 3);
    cr_assert_eq(files.list.at[1].span, 0);
    cr_assert_eq(files.list.at[2].time, 20);
    cr_assert_eq(files.list.at[2].span, 1);
    tbp_vec_release(&files.list);
    tbp_arena_release(&arena);
}
