/* SPDX-License-Identifier: Apache-2.0
 *
 * What a profile says about itself: the plane Task Environment, and in the warnings of the file
 * (which the overview page shows) everything that is missing from it, with figures. A profile
 * without a warning is complete.
 */
#include "plugin_data/collect_state.h"

#include <inttypes.h>
#include <stdio.h>

enum { STEP_NS = 10 * 1000 * 1000, MAX_SENTENCES = 1000, SENTENCE_BYTES = 512 };

/* ---- warnings ---- */

static void say(struct tbp_xspace_out *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct tbp_xspace_out *o, const char *fmt, ...) {
    char text[SENTENCE_BYTES];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t size = n < 0 ? 0 : n < SENTENCE_BYTES ? (size_t)n : SENTENCE_BYTES - 1;
    tbp_xspace_warning(o, (struct tbp_str){text, size});
}

static void say_count(struct tbp_xspace_out *o, uint64_t n, const char *what) {
    if (n > 0)
        say(o, "tbprof: %" PRIu64 " %s", n, what);
}

/* Drops that the recording process counted. */
static void say_drops(const struct tbp_collect *c, struct tbp_xspace_out *o) {
    static const struct {
        enum tbp_spool_drop why;
        const char *what;
    } sentences[] = {
        {TBP_DROP_CAP, "records were dropped because max_host_bytes was reached: raise it, "
                       "shorten the recording, or choose full_policy ring"},
        {TBP_DROP_NO_CHUNK, "records were dropped because there was no memory or disk space to "
                            "record into"},
        {TBP_DROP_TOO_LONG, "arguments were dropped because they did not fit in a record"},
        {TBP_DROP_REENTRANT, "records were dropped in signal handlers that had interrupted the "
                             "recording of another"},
        {TBP_DROP_DEPTH, "scopes were dropped because they were nested too deeply"},
        {TBP_DROP_THREADS, "records were dropped because too many threads were recording"},
        {TBP_DROP_NAME_CUT, "names were cut to 960 bytes"},
    };
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        say_count(o, c->n_dropped[sentences[i].why], sentences[i].what);
    if (c->n_dropped[TBP_DROP_RING])
        say(o,
            "tbprof: the ring kept the last %.3f s; %" PRIu64 " older records were forgotten: "
            "raise max_host_bytes to keep more",
            (double)(c->emit.end_ps - c->kept_since_ps) / 1e12, c->n_dropped[TBP_DROP_RING]);
    uint64_t n_cut = c->n_dropped[TBP_DROP_CUT_BY_STOP];
    if (!c->next) /* at the border of snapshots nothing is missing */
        say_count(o, c->emit.n_open > n_cut ? c->emit.n_open : n_cut,
                  "scopes were open when recording ended and are shown up to there");
}

/* What became known while the records were put together. */
static void say_losses(const struct tbp_collect *c, struct tbp_xspace_out *o) {
    const struct tbp_rec_emit *e = &c->emit;
    say_count(o, c->n_without_begin,
              "scopes are not shown because they began before the first record that was kept");
    say_count(o, e->n_cut, "scopes are shown too short because later records of theirs are lost");
    say_count(o, c->activities.n_without_begin,
              "activities are not shown because their begin was not recorded");
    if (!c->next)
        say_count(o, c->activities.n_open,
                  "activities were under way when recording ended and are shown up to there");
    say_count(o, c->recording.n_defects, "places in the spool make no sense and were left out");
    say_count(o, c->n_notes_lost, "records of arguments belong to no scope that is shown");
    say_count(o, e->stats->n_lost, "arguments beyond 128 of one scope were left out");
    say_count(o, c->n_untracked, "scopes are shown too short: more than 8 million cross chunks");
    say_count(o, e->n_early_spans, "spans ended before the profile begins");
    say_count(o, c->memory.n_untracked,
              "allocations were alive at once beyond the first 2 million: the sizes of their frees "
              "are not known");
    if (e->n_above_level)
        say(o, "tbprof: %" PRIu64 " scopes above level %u were left out to keep the profile %s",
            e->n_above_level, e->max_level, c->is_trimmed ? "near max_events" : "below 2 GiB");
    if (c->n_beyond)
        say(o, "tbprof: the profile holds %" PRIu64 " scopes more than max_events asks for",
            c->n_beyond);
    say_count(o, e->n_too_late, "of the last events were left out to keep the profile below 2 GiB");
}

/* What of the GPU is not in the profile. */
static void say_gpu_losses(const struct tbp_collect *c, struct tbp_xspace_out *o) {
    static const char *const sentences[TBP_GPU_LOSSES] = {
        [TBP_GPU_LOSS_DROPPED] = "GPU records were dropped by CUPTI: raise max_device_bytes or "
                                 "shorten the recording",
        [TBP_GPU_LOSS_REFUSED_BYTES] = "bytes of GPU records were dropped because "
                                       "max_device_bytes was reached: raise it",
        [TBP_GPU_LOSS_TIMELESS] = "GPU records without times are not shown",
        [TBP_GPU_LOSS_OTHER_CLOCK] = "GPU records are not shown because their times are of "
                                     "another clock",
        [TBP_GPU_LOSS_BACKWARDS] = "GPU records are not shown because they end before they begin",
        [TBP_GPU_LOSS_EARLY] = "GPU records are not shown because they ended before the session "
                               "began",
        [TBP_GPU_LOSS_CUT] = "buffers of GPU records could not be read to their end",
        [TBP_GPU_LOSS_CLOCK_STEPS] = "times the GPU's clock was set during the recording; its "
                                     "times were put right",
        [TBP_GPU_LOSS_UNTRACKED] = "allocations on the GPU were alive at once beyond the first 2 "
                                   "million: the sizes of their frees are not known",
    };
    for (int i = 0; i < TBP_GPU_LOSSES; i++)
        say_count(o, c->gpu.n_losses[i], sentences[i]);
    say_count(o, c->gpu.n_early, "GPU records ended before the profile begins");
}

static void say_clock(const struct tbp_collect *c, struct tbp_xspace_out *o) {
    const struct tbp_rec_clock *clock = &c->recording.clock;
    if (clock->is_guessed)
        say(o, "tbprof: times are wrong by a constant factor, the process ended before its clock "
               "was known");
    if (clock->largest_step_ns > STEP_NS || clock->largest_step_ns < -STEP_NS)
        say(o,
            "tbprof: the wall clock was set by %+.3f s during the recording; times go on as if "
            "it had not been",
            (double)clock->largest_step_ns / 1e9);
}

void tbp_collect_warnings(const struct tbp_collect *c, struct tbp_xspace_out *o) {
    size_t n = 0;
    if (c->request.warning)
        tbp_xspace_warning(o, tbp_str_c(c->request.warning));
    if (!c->next && tbp_collect_is_empty(c))
        say(o, "tbprof: nothing was recorded in this session");
    say_drops(c, o);
    say_losses(c, o);
    say_gpu_losses(c, o);
    say_clock(c, o);
    for (size_t i = 0; i < c->texts.n; i++) {
        struct tbp_rec r = tbp_rec_at(&c->recording, c->texts.at[i]);
        if (r.kind == TBP_REC_WARNING && n++ < MAX_SENTENCES)
            tbp_xspace_warning(o, tbp_rec_name(&c->recording, &r));
    }
    if (n > MAX_SENTENCES)
        say_count(o, n - MAX_SENTENCES, "further warnings of the program were left out");
}

/* ---- Task Environment ---- */

enum { ENV_START = 1, ENV_STOP, ENV_OPTIONS, ENV_COMMAND, ENV_PID, ENV_PROGRAM, ENV_OWN };

/* The last value of each key that the program set. */
static void put_metadata(const struct tbp_collect *c, struct tbp_xspace_out *o, bool names) {
    struct tbp_strtab keys = {0};
    uint32_t number = ENV_OWN;
    for (size_t i = c->texts.n; i-- > 0;) {
        struct tbp_rec r = tbp_rec_at(&c->recording, c->texts.at[i]);
        struct tbp_rec_arg_walk w = tbp_rec_args(&r);
        struct tbp_rec_arg a;
        struct tbp_str key = tbp_rec_name(&c->recording, &r);
        if (r.kind != TBP_REC_METADATA || tbp_strtab_get(&keys, key) != TBP_MAP_NONE ||
            !tbp_rec_next_arg(&c->recording, &w, &a))
            continue;
        tbp_strtab_put(&keys, key);
        if (names)
            tbp_xspace_stat_name(o, number, key);
        else
            tbp_xspace_stat_str(o, number, a.text.p ? a.text : TBP_STR_NONE);
        number++;
    }
    tbp_strtab_release(&keys);
}

void tbp_collect_environment(const struct tbp_collect *c, struct tbp_xspace_out *o) {
    const struct tbp_spool_header *h = &c->recording.head;
    tbp_xspace_plane(o, 2, TBP_STR("Task Environment"));
    tbp_xspace_stat_name(o, ENV_START, TBP_STR("profile_start_time"));
    tbp_xspace_stat_name(o, ENV_STOP, TBP_STR("profile_stop_time"));
    tbp_xspace_stat_name(o, ENV_OPTIONS, TBP_STR("profile_options"));
    tbp_xspace_stat_name(o, ENV_COMMAND, TBP_STR("command"));
    tbp_xspace_stat_name(o, ENV_PID, TBP_STR("pid"));
    tbp_xspace_stat_name(o, ENV_PROGRAM, TBP_STR("recorded_by"));
    put_metadata(c, o, true);
    tbp_xspace_stat_u64(o, ENV_START, (uint64_t)tbp_collect_start_ns(c));
    tbp_xspace_stat_u64(o, ENV_STOP, (uint64_t)tbp_collect_stop_ns(c));
    tbp_xspace_stat_str(o, ENV_OPTIONS, tbp_str_c(h->options));
    tbp_xspace_stat_str(o, ENV_COMMAND, tbp_str_c(h->command));
    tbp_xspace_stat_i64(o, ENV_PID, h->pid);
    tbp_xspace_stat_str(o, ENV_PROGRAM, TBP_STR("tbprof " TBP_VERSION));
    put_metadata(c, o, false);
}
