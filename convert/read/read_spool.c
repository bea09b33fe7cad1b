/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of capture spools (schemas/spool_format.h), as a process leaves them behind that ended
 * while it was recorded: the collector makes the profile of it which `tbprof recover` would write,
 * in memory, and the reader of profiles goes on with that. What the spool lacks is told in the
 * warnings of the profile; records that make no sense are counted in the ledger too.
 */
#include "convert/read/reader.h"
#include "plugin_data/collect.h"
#include "plugin_data/recording.h"

enum { CERTAIN = 100, ALIGNMENT = 16 };

static int probe(const uint8_t *data, size_t size) {
    return tbp_recording_is_spool(data, size) ? CERTAIN : 0;
}

static int collect(struct tbp_host *host, struct tbp_sink *sink, struct tbp_error *err) {
    struct tbp_collect_request request = {
        .data = host->input.data, .size_bytes = host->input.size, .until_realtime_ns = INT64_MAX};
    struct tbp_collect_result result;
    struct tbp_collect *c;
    if ((uintptr_t)host->input.data % ALIGNMENT != 0)
        return tbp_fail(err, TBP_E_UNSUPPORTED, "a spool inside of other data");
    int status = tbp_collect_open(&c, &request, err);
    if (status)
        return status;
    status = tbp_collect_write(c, sink, &result, err);
    if (!status && result.n_defects)
        tbp_ledger_count(&host->ledger, TBP_LEDGER_EVENT_DROPPED, result.n_defects, TBP_NO_OFFSET);
    tbp_collect_free(c);
    return status;
}

static int read_spool(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct tbp_sink_memory profile;
    tbp_sink_memory_init(&profile, 0);
    int status = collect(host, &profile.base, err);
    if (status) {
        tbp_sink_memory_release(&profile);
        return status;
    }
    tbp_input_release(&host->input);
    host->input = (struct tbp_input){.data = profile.data, .size = profile.size};
    return tbp_reader_xplane.read(host, pool, err);
}

const struct tbp_reader tbp_reader_spool = {
    .name = "spool",
    .help = "*.tbs: what a recorded process left behind that ended before it wrote its profile",
    .probe = probe,
    .read = read_spool,
};
