/* SPDX-License-Identifier: Apache-2.0
 *
 * Events and averages in the formats of other tools. Each function streams one host, or (MXNet) the
 * averages of all.
 */
#ifndef TBP_CONVERT_REPORT_EXPORT_H
#define TBP_CONVERT_REPORT_EXPORT_H

#include "convert/model/model.h"
#include "convert/report/op_averages.h"
#include "plugin_data/json_out.h"

/* PyTorch's dialect of Chrome's trace format: what its tools, Perfetto and chrome://tracing open.
 * The end tells of devices and rank, which the hosts know also after their events were given back,
 * and of what was lost on the way to here, so that `check` of what is written finds it again.
 */
struct tbp_export_chrome {
    bool is_first; /* … event, which no comma precedes */
    uint32_t n_pids;
    uint64_t n_python; /* calls of Python so far */
    uint64_t n_events;
};
/* only: the host, read, if there is no other; else NULL. */
void tbp_export_chrome_begin(struct tbp_export_chrome *out, struct tbp_json *j,
                             const struct tbp_host *only);
void tbp_export_chrome(struct tbp_export_chrome *out, struct tbp_json *j, const struct tbp_host *h);
void tbp_export_chrome_end(const struct tbp_export_chrome *out, struct tbp_json *j,
                           const struct tbp_host *const *hosts, size_t n_hosts);
/* Members of the document: devices, and the rank of a host without others. */
void tbp_export_chrome_facts(struct tbp_json *j, const struct tbp_host *const *hosts,
                             size_t n_hosts);
/* The member "tbprof", with a comma in front, if there is anything to tell. */
void tbp_export_chrome_notes(struct tbp_json *j, const struct tbp_host *const *hosts,
                             size_t n_hosts, uint64_t n_events);
/* By what number a device is known there. */
int64_t tbp_export_chrome_device(const struct tbp_plane *plane);

/* One line per event. */
void tbp_export_csv_begin(struct tbp_json *j);
void tbp_export_csv(struct tbp_json *j, const struct tbp_host *h, struct tbp_str host_name);

/* CNTK's detail log: events of the host in order of their ends. */
void tbp_export_cntk_begin(struct tbp_json *j);
void tbp_export_cntk(struct tbp_json *j, const struct tbp_host *h);

/* MXNet's aggregate statistics, as dumps() prints them. */
void tbp_export_mxnet(struct tbp_json *j, const struct tbp_averages *a,
                      const struct tbp_host *const *hosts, size_t n_hosts);

#endif
