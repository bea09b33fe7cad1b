/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace of PyTorch says beside its events: which devices there are and which rank of a job
 * it is. Of one host it stands before the events, as PyTorch writes it; of several behind them,
 * when all have been read. "vendor" is ours: names do not always tell it.
 */
#include "base/map.h"
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
