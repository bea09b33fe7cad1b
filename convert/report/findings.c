/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of findings: collected host by host, then over all hosts; shown as text and JSON.
 */
#include "convert/report/findings.h"

#include "convert/report/table_out.h"
#include "convert/report/unread.h"

void tbp_findings_init(struct tbp_findings *f) {
    *f = (struct tbp_findings){0};
    tbp_arena_init(&f->arena);
}

void tbp_findings_release(struct tbp_findings *f) {
    tbp_vec_release(&f->list);
    tbp_arena_release(&f->arena);
}

const char *const tbp_finding_keys[] = {
    "file_unreadable",
    "nothing_recorded",
    "records_dropped",
    "file_damaged",
    "events_without_end",
    "recorder_dropped",
    "other_clock",
    "no_device_records",
    "launches_without_record",
    "graph_replays_without_record",
    "graph_replays_in_part",
    "impossible_durations",
    "work_before_launch",
    "collective_waits",
    "steps_without_device_work",
    "steps_unknown",
    "steps_again",
    "ranks_missing",
    "start_skew",
    "steps_not_common",
    "no_such_op",
    NULL,
};

static bool is_listed(const char *key) {
    size_t i = 0;
    while (tbp_finding_keys[i] && strcmp(tbp_finding_keys[i], key) != 0)
        i++;
    return tbp_finding_keys[i] != NULL;
}

void tbp_finding_add(struct tbp_findings *f, const struct tbp_finding *what) {
    TBP_BUG_IF(!is_listed(what->key));
    if (!what->count)
        return;
    struct tbp_finding *kept = tbp_vec_push(&f->list);
    *kept = *what;
    kept->host = tbp_arena_str(&f->arena, what->host); /* findings outlive the load of a host */
}

size_t tbp_findings_serious(const struct tbp_findings *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->list.n; i++)
        n += f->list.at[i].is_serious;
    return n;
}

static void keep_wanted(struct tbp_findings *f, unsigned wanted) {
    size_t kept = 0;
    for (size_t i = 0; i < f->list.n; i++)
        if (f->list.at[i].spoils & wanted)
            f->list.at[kept++] = f->list.at[i];
    f->list.n = kept;
}

/* On the clock that the others have, as far as that is stated. */
static void correct_start(const struct tbp_findings *f, size_t host, struct tbp_host_facts *facts) {
    if (facts->start_ns && f->ahead_ps)
        facts->start_ns -= (uint64_t)(f->ahead_ps[host] / 1000);
    for (size_t i = 0; i < f->n_clock_offsets; i++)
        if (facts->start_ns &&
            tbp_clock_offset_is_of(&f->clock_offsets[i], facts->name, facts->rank))
            facts->start_ns -= (uint64_t)(f->clock_offsets[i].ahead_ps / 1000);
}

void tbp_findings_add_unreadable(struct tbp_findings *f, struct tbp_str host, const char *text) {
    tbp_finding_add(
        f,
        &(struct tbp_finding){
            .key = "file_unreadable",
            .host = host,
            .is_serious = true,
            .spoils = TBP_SPOILS_ALL,
            .count = 1,
            .text = tbp_arena_printf(&f->arena, "cannot be read: %s", text),
            .advice = "all else is told of the other hosts: copy the file anew, or take it away"});
    f->n_unreadable++;
}

static void check_host(struct tbp_findings *f, const struct tbp_host *h, unsigned wanted,
                       struct tbp_host_facts *facts) {
    tbp_check_records(f, h);
    if (wanted & (TBP_SPOILS_DEVICE | TBP_SPOILS_STEPS))
        tbp_check_devices(f, h);
    if (wanted & (TBP_SPOILS_STEPS | TBP_SPOILS_RANKS))
        tbp_check_steps(f, h, facts);
}

int tbp_findings_collect(struct tbp_findings *f, struct tbp_session *s, uint32_t first,
                         uint32_t end, unsigned wanted, struct tbp_error *err) {
    struct tbp_host_facts *facts = TBP_NEW_N(&f->arena, struct tbp_host_facts, end - first + 1);
    char text[TBP_ERROR_TEXT * 2];
    size_t n = 0;
    for (uint32_t i = first; i < end; i++) {
        const struct tbp_host *h = tbp_session_raw_host(s, i, err);
        if (!h && !tbp_is_of_the_file(err->code))
            return err->code;
        if (!h) {
            tbp_findings_add_unreadable(f, tbp_session_host_name(s, i),
                                        tbp_error_text(err, text, sizeof text));
            continue;
        }
        facts[n].name = tbp_session_host_name(s, i);
        check_host(f, h, wanted, &facts[n]);
        correct_start(f, n, &facts[n]);
        n++;
        if (end - first > 1)
            tbp_session_release_events(s, i);
    }
    if (n == 0 && end > first)
        return err->code;
    if (wanted & (TBP_SPOILS_STEPS | TBP_SPOILS_RANKS))
        tbp_check_ranks(f, facts, n);
    keep_wanted(f, wanted);
    return TBP_OK;
}

void tbp_findings_text(struct tbp_json *out, const struct tbp_findings *f, bool color) {
    for (size_t i = 0; i < f->list.n; i++) {
        const struct tbp_finding *x = &f->list.at[i];
        const char *begin = !color ? "" : x->is_serious ? "\x1b[31m" : "\x1b[33m";
        tbp_json_printf(out, "%s%s%s ", begin, x->is_serious ? "!!" : "! ", color ? "\x1b[0m" : "");
        if (x->host.n) {
            tbp_put_shown(out, x->host);
            tbp_json_lit(out, ": ");
        }
        tbp_put_shown(out, tbp_str_c(x->text));
        tbp_json_printf(out, " [%s]\n   ", x->key);
        tbp_put_shown(out, tbp_str_c(x->advice));
        tbp_json_char(out, '\n');
    }
}

static void put_spoils(struct tbp_json *out, unsigned spoils) {
    static const char *const names[] = {"host", "device", "steps", "ranks"};
    const char *comma = "";
    tbp_json_char(out, '[');
    for (unsigned b = 0; b < sizeof names / sizeof *names; b++) {
        if (!(spoils >> b & 1))
            continue;
        tbp_json_printf(out, "%s\"%s\"", comma, names[b]);
        comma = ",";
    }
    tbp_json_char(out, ']');
}

void tbp_findings_json(struct tbp_json *out, const struct tbp_findings *f) {
    tbp_json_char(out, '[');
    for (size_t i = 0; i < f->list.n; i++) {
        const struct tbp_finding *x = &f->list.at[i];
        tbp_json_printf(out, "%s\n{\"key\":\"%s\",\"host\":", i ? "," : "", x->key);
        if (x->host.n)
            tbp_json_str(out, x->host, TBP_JSON_GVIZ);
        else
            tbp_json_lit(out, "null");
        tbp_json_printf(out,
                        ",\"serious\":%s,\"count\":%llu,\"of\":", x->is_serious ? "true" : "false",
                        (unsigned long long)x->count);
        if (x->of)
            tbp_json_u64(out, x->of);
        else
            tbp_json_lit(out, "null");
        tbp_json_lit(out, ",\"spoils\":");
        put_spoils(out, x->spoils);
        tbp_json_lit(out, ",\"text\":");
        tbp_json_str(out, tbp_str_c(x->text), TBP_JSON_GVIZ);
        tbp_json_lit(out, ",\"advice\":");
        tbp_json_str(out, tbp_str_c(x->advice), TBP_JSON_GVIZ);
        tbp_json_char(out, '}');
    }
    tbp_json_lit(out, f->list.n ? "\n]" : "]");
}
