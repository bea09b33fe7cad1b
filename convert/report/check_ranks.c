/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about the hosts of a run together: ranks that are missing, recordings that did not begin
 * together, steps that no two hosts share.
 */
#include "convert/report/findings.h"
#include "convert/report/table_out.h"

static void check_missing(struct tbp_findings *f, const struct tbp_host_facts *hosts, size_t n) {
    struct tbp_idmap ranks = {0};
    int64_t world = -1;
    bool is_new;
    for (size_t i = 0; i < n; i++) {
        world = hosts[i].world_size > world ? hosts[i].world_size : world;
        if (hosts[i].rank >= 0)
            *tbp_idmap_put(&ranks, (uint64_t)hosts[i].rank, &is_new) = 1;
    }
    uint64_t known = ranks.n,
             missing = world > 0 && (uint64_t)world > known ? (uint64_t)world - known : 0;
    tbp_idmap_release(&ranks);
    tbp_finding_add(
        f,
        &(struct tbp_finding){
            .key = "ranks_missing",
            .is_serious = n > 1,
            .spoils = TBP_SPOILS_RANKS,
            .count = missing,
            .of = world > 0 ? (uint64_t)world : 0,
            .text = tbp_arena_printf(&f->arena, "%llu of %lld ranks are not here",
                                     (unsigned long long)missing, (long long)world),
            .advice = "who is late, and waiting in collectives, cannot be told: put the files of "
                      "all ranks into one folder"});
}

static void check_start(struct tbp_findings *f, const struct tbp_host_facts *hosts, size_t n) {
    const struct tbp_host_facts *first = NULL, *last = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!hosts[i].start_ns)
            continue;
        first = !first || hosts[i].start_ns < first->start_ns ? &hosts[i] : first;
        last = !last || hosts[i].start_ns > last->start_ns ? &hosts[i] : last;
    }
    if (!first || last->start_ns == first->start_ns)
        return;
    uint64_t skew_ns = last->start_ns - first->start_ns;
    double share = first->window_ps ? (double)skew_ns * 1000 / (double)first->window_ps : 1;
    char text[TBP_VALUE_MAX];
    uint64_t shown_ps = skew_ns > INT64_MAX / 1000 ? INT64_MAX : skew_ns * 1000;
    size_t length = tbp_time_text(text, (int64_t)shown_ps);
    tbp_finding_add(
        f,
        &(struct tbp_finding){
            .key = "start_skew",
            .is_serious = share >= 1,
            .spoils = TBP_SPOILS_RANKS,
            .count = share >= 0.1,
            .text = tbp_arena_printf(
                &f->arena, "recording began %.*s later on %.*s than on %.*s (%.1f %% of its time)",
                (int)length, text, (int)last->name.n, last->name.p, (int)first->name.n,
                first->name.p, share * 100),
            .advice = "compare only what all hosts recorded; collectives at the beginning wait "
                      "for the late host"});
}

/* Steps are those that any host has; each is counted by how many have it. */
static void check_common_steps(struct tbp_findings *f, const struct tbp_host_facts *hosts,
                               size_t n) {
    struct tbp_idmap holders = {0};
    uint64_t common = 0;
    bool is_new, all_have_steps = true;
    for (size_t i = 0; i < n; i++)
        all_have_steps &= hosts[i].n_steps > 0;
    for (size_t i = 0; i < n && all_have_steps; i++)
        for (size_t k = 0; k < hosts[i].n_steps; k++) {
            uint32_t *of_step = tbp_idmap_put(&holders, (uint64_t)hosts[i].steps[k], &is_new);
            *of_step = is_new ? 1 : *of_step + 1;
            common += *of_step == n;
        }
    uint64_t all = holders.n;
    tbp_idmap_release(&holders);
    tbp_finding_add(
        f, &(struct tbp_finding){.key = "steps_not_common",
                                 .is_serious = common == 0,
                                 .spoils = TBP_SPOILS_RANKS,
                                 .count = all - common,
                                 .of = all,
                                 .text = tbp_arena_printf(
                                     &f->arena, "%llu of %llu steps are not there on every host",
                                     (unsigned long long)(all - common), (unsigned long long)all),
                                 .advice = "begin recording at the same step everywhere"});
}

void tbp_check_ranks(struct tbp_findings *f, const struct tbp_host_facts *hosts, size_t n) {
    check_missing(f, hosts, n);
    if (n < 2)
        return;
    check_start(f, hosts, n);
    check_common_steps(f, hosts, n);
}
