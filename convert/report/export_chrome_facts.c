/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace of PyTorch says beside its events: which devices there are and which rank of a job
 * it is. Of one host it stands before the events, as PyTorch writes it; of several behind them,
 * when all have been read. "vendor" is ours: names do not always tell it.
 */
#include "base/map.h"
#include "convert/analyze/file_marks.h"
#include "convert/analyze/host_notes.h"
#include "convert/model/stats.h"
#include "convert/report/export.h"
#include "convert/report/host_clock.h"

struct key {
    const char *shown, *stat;
};

static void put_keys(struct tbp_json *j, const struct tbp_plane *plane, const struct key *keys,
                     const char *comma) {
    struct tbp_stat st;
    for (; keys->shown; keys++) {
        if (!tbp_plane_stat_named(plane, keys->stat, &st))
            continue;
        tbp_json_printf(j, "%s\"%s\":", comma, keys->shown);
        if (st.type == TBP_STAT_STR || st.type == TBP_STAT_REF)
            tbp_json_str(j, tbp_stat_s(&st), TBP_JSON_GVIZ);
        else
            tbp_json_u64(j, tbp_stat_iu(&st));
        comma = ",";
    }
}

/* Ranks of one machine may have a device each that is the first to them: a number counts once. */
static void put_devices(struct tbp_json *j, const struct tbp_host *const *hosts, size_t n_hosts) {
    static const struct key keys[] = {{"name", "gpu_device_name"},
                                      {"vendor", "device_vendor"},
                                      {"totalGlobalMem", "memory_size"},
                                      {"computeMajor", "compute_cap_major"},
                                      {"computeMinor", "compute_cap_minor"},
                                      {"numSms", "core_count"},
                                      {NULL, NULL}};
    struct tbp_idmap seen = {0};
    const char *comma = "";
    tbp_json_lit(j, "\"deviceProperties\":[");
    for (size_t h = 0; h < n_hosts; h++) {
        for (size_t p = 0; p < hosts[h]->n_planes; p++) {
            const struct tbp_plane *plane = &hosts[h]->planes[p];
            int64_t id = tbp_export_chrome_device(plane);
            bool is_new = false;
            if (tbp_is_gpu_plane(plane->name))
                tbp_idmap_put(&seen, (uint64_t)id, &is_new);
            if (!is_new)
                continue;
            tbp_json_printf(j, "%s\n{\"id\":%lld", comma, (long long)id);
            put_keys(j, plane, keys, ",");
            tbp_json_char(j, '}');
            comma = ",";
        }
    }
    tbp_json_char(j, ']');
    tbp_idmap_release(&seen);
}

static void put_rank(struct tbp_json *j, const struct tbp_host *h) {
    static const struct key keys[] = {
        {"world_size", "distributed_world_size"}, {"backend", "distributed_backend"}, {NULL, NULL}};
    int64_t rank = tbp_host_rank(h, NULL);
    if (rank < 0)
        return;
    tbp_json_printf(j, ",\"distributedInfo\":{\"rank\":%lld", (long long)rank);
    for (size_t p = 0; p < h->n_planes; p++)
        put_keys(j, &h->planes[p], keys, ",");
    tbp_json_char(j, '}');
}

void tbp_export_chrome_facts(struct tbp_json *j, const struct tbp_host *const *hosts,
                             size_t n_hosts) {
    put_devices(j, hosts, n_hosts);
    if (n_hosts == 1) /* several are of several ranks */
        put_rank(j, hosts[0]);
}

/* ---- what the events cannot tell ---- */

/* Of all hosts. What else was read than is written or lost counts as merged, so that a share of all
 * events is the same whichever file it is taken of. */
static bool sum_marks(uint64_t n[TBP_FILE_MARKS], const struct tbp_host *const *hosts,
                      size_t n_hosts, uint64_t n_events) {
    uint64_t of_host[TBP_FILE_MARKS], n_read = 0;
    bool has_lost = false;
    memset(n, 0, TBP_FILE_MARKS * sizeof *n);
    for (size_t h = 0; h < n_hosts; h++) {
        tbp_file_marks_of(of_host, hosts[h]);
        n_read += hosts[h]->ledger.events_read + hosts[h]->lost_before.events_read;
        for (size_t k = TBP_MARKS_OF_REPAIRS; k < TBP_FILE_MARKS; k++)
            n[k] += of_host[k];
    }
    for (size_t k = TBP_MARKS_OF_REPAIRS; k < TBP_FILE_MARKS; k++)
        has_lost |= n[k] > 0;
    uint64_t n_told = n_events + n[TBP_MARK_QUARANTINED] + n[TBP_MARK_DROPPED];
    n[TBP_MARK_MERGED] = has_lost && n_read > n_told ? n_read - n_told : 0;
    return has_lost;
}

static void put_marks(struct tbp_json *j, const uint64_t n[TBP_FILE_MARKS], struct tbp_arena *a) {
    const char *comma = "";
    tbp_json_lit(j, "\"lost\":{");
    for (size_t k = TBP_MARKS_OF_REPAIRS; k < TBP_FILE_MARKS; k++) {
        if (n[k] == 0)
            continue;
        tbp_json_lit(j, comma);
        tbp_json_str(j, tbp_file_mark_name(k, a), TBP_JSON_GVIZ);
        tbp_json_char(j, ':');
        tbp_json_u64(j, n[k]);
        comma = ",";
    }
    tbp_json_char(j, '}');
}

static void put_texts(struct tbp_json *j, const struct tbp_host *const *hosts, size_t n_hosts,
                      bool errors, struct tbp_arena *a) {
    const char *comma = "";
    tbp_json_printf(j, ",\"%s\":[", errors ? "errors" : "warnings");
    for (size_t h = 0; h < n_hosts; h++) {
        struct tbp_str damage = errors ? TBP_STR_NONE : tbp_host_damage_text(hosts[h], a);
        const struct tbp_str *texts = errors ? hosts[h]->errors : hosts[h]->warnings;
        size_t n = errors ? hosts[h]->n_errors : hosts[h]->n_warnings;
        for (size_t i = 0; i < n + (damage.n > 0); i++) {
            tbp_json_lit(j, comma);
            tbp_json_str(j, i < n ? texts[i] : damage, TBP_JSON_GVIZ);
            comma = ",";
        }
    }
    tbp_json_char(j, ']');
}

void tbp_export_chrome_notes(struct tbp_json *j, const struct tbp_host *const *hosts,
                             size_t n_hosts, uint64_t n_events) {
    uint64_t n[TBP_FILE_MARKS];
    bool has_notes = sum_marks(n, hosts, n_hosts, n_events);
    struct tbp_arena a;
    tbp_arena_init(&a);
    for (size_t h = 0; h < n_hosts; h++)
        has_notes |= hosts[h]->n_errors + hosts[h]->n_warnings > 0 ||
                     tbp_host_damage_text(hosts[h], &a).n > 0;
    if (has_notes) {
        tbp_json_lit(j, ",\n\"tbprof\":{");
        put_marks(j, n, &a);
        put_texts(j, hosts, n_hosts, true, &a);
        put_texts(j, hosts, n_hosts, false, &a);
        tbp_json_char(j, '}');
    }
    tbp_arena_release(&a);
}
