/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about the records as such: lost while reading, lost while recording, without an end, of
 * another clock.
 */
#include "convert/report/findings.h"

static void check_losses(struct tbp_findings *f, const struct tbp_host *h,
                         const struct tbp_ledger *l) {
    uint64_t not_shown = l->count[TBP_LEDGER_NOT_SHOWN]; /* were read: of a kind without a page */
    uint64_t other_clock = l->count[TBP_LEDGER_OTHER_CLOCK]; /* a finding of its own */
    uint64_t lost = l->events_dropped > not_shown ? l->events_dropped - not_shown : 0;
    if (l->events_dropped == 0) /* of a spool, defects that were no events */
        lost = l->count[TBP_LEDGER_EVENT_DROPPED];
    if (l->events_quarantined > other_clock)
        lost += l->events_quarantined - other_clock;
    lost += l->count[TBP_LEDGER_BAD_DURATION];
    tbp_finding_add(
        f,
        &(struct tbp_finding){
            .key = "records_dropped",
            .host = h->name,
            .is_serious = true,
            .spoils = TBP_SPOILS_ALL,
            .count = lost,
            .of = l->events_read,
            .text = tbp_arena_printf(&f->arena, "%llu of %llu events could not be read",
                                     (unsigned long long)lost, (unsigned long long)l->events_read),
            .advice = "sums and counts are too small; 'tbprof info' tells what was lost where"});
    tbp_finding_add(f, &(struct tbp_finding){
                           .key = "file_damaged",
                           .host = h->name,
                           .is_serious = true,
                           .spoils = TBP_SPOILS_ALL,
                           .count = tbp_ledger_has_damage(l),
                           .text = "the file is cut or damaged: its end may be missing",
                           .advice = "copy it again, or let the profiler stop before the program "
                                     "ends"});
}

/* Such events last as long as their thread, or the recording: their durations are made up. */
static void check_ends(struct tbp_findings *f, const struct tbp_host *h,
                       const struct tbp_ledger *l) {
    uint64_t n = l->count[TBP_LEDGER_UNFINISHED], of = l->events_emitted;
    tbp_finding_add(
        f, &(struct tbp_finding){
               .key = "events_without_end",
               .host = h->name,
               .is_serious = n * 20 > of,
               .spoils = TBP_SPOILS_ALL,
               .count = n,
               .of = of,
               .text = tbp_arena_printf(&f->arena,
                                        "%llu of %llu events have no end in the file: they are "
                                        "taken to last until their thread or the recording ends",
                                        (unsigned long long)n, (unsigned long long)of),
               .advice = "durations of their names are no measurements: record until what is "
                         "measured has ended, or look whether the file lost its last events"});
}

static void check_clock(struct tbp_findings *f, const struct tbp_host *h,
                        const struct tbp_ledger *l) {
    uint64_t n = l->count[TBP_LEDGER_OTHER_CLOCK];
    tbp_finding_add(
        f, &(struct tbp_finding){
               .key = "other_clock",
               .host = h->name,
               .is_serious = true,
               .spoils = TBP_SPOILS_ALL,
               .count = n,
               .of = l->events_read,
               .text = tbp_arena_printf(
                   &f->arena, "%llu of %llu events are of another session or clock: left out",
                   (unsigned long long)n, (unsigned long long)l->events_read),
               .advice = "record again in a fresh process"});
}

/* What the recorder itself says in the file. */
static void check_messages(struct tbp_findings *f, const struct tbp_host *h) {
    uint64_t dropped = 0;
    struct tbp_str first = TBP_STR_NONE;
    for (size_t i = 0; i < h->n_errors + h->n_warnings; i++) {
        struct tbp_str s = i < h->n_errors ? h->errors[i] : h->warnings[i - h->n_errors];
        if (!tbp_str_has_nocase(s, "drop") && !tbp_str_has_nocase(s, "limit"))
            continue;
        first = dropped++ ? first : s;
    }
    tbp_finding_add(
        f, &(struct tbp_finding){
               .key = "recorder_dropped",
               .host = h->name,
               .is_serious = true,
               .spoils = TBP_SPOILS_ALL,
               .count = dropped,
               .text = tbp_arena_printf(&f->arena, "the profiler says that it lost records: %.*s",
                                        (int)(first.n < 300 ? first.n : 300), first.p),
               .advice = "record fewer steps, or give the profiler larger buffers"});
}

void tbp_check_records(struct tbp_findings *f, const struct tbp_host *h) {
    uint64_t n = 0;
    for (size_t p = 0; p < h->n_planes; p++)
        for (size_t k = 0; k < h->planes[p].n_lines; k++)
            n += h->planes[p].lines[k].ev.n;
    tbp_finding_add(
        f, &(struct tbp_finding){.key = "nothing_recorded",
                                 .host = h->name,
                                 .is_serious = true,
                                 .spoils = TBP_SPOILS_ALL,
                                 .count = n == 0,
                                 .text = "the profile holds no event",
                                 .advice = "the program did nothing while it was recorded, or the "
                                           "profiler could not start: look at the program's log"});
    struct tbp_ledger l = h->ledger; /* and of what the file was converted from, if it was */
    tbp_ledger_add(&l, &h->lost_before);
    check_losses(f, h, &l);
    check_ends(f, h, &l);
    check_clock(f, h, &l);
    check_messages(f, h);
}
