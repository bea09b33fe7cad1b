/* SPDX-License-Identifier: Apache-2.0
 *
 * `tbprof export`: events or averages in the format of another tool. Looks at host, kind.
 */
#include "convert/report/export.h"

#include "convert/report/report.h"

/* In the order of the options of the command. */
enum kind { KIND_CHROME, KIND_CSV, KIND_CNTK, KIND_MXNET };

static void put_begin(struct tbp_json *j, unsigned kind) {
    if (kind == KIND_CSV)
        tbp_export_csv_begin(j);
    else if (kind == KIND_CNTK)
        tbp_export_cntk_begin(j);
}

static int put_hosts(struct tbp_json *j, struct tbp_session *s, const struct tbp_report_request *r,
                     struct tbp_arena *arena, struct tbp_error *err) {
    struct tbp_averages averages = {0};
    uint32_t first = tbp_report_first_host(r), end = tbp_report_end_host(s, r);
    const struct tbp_host **hosts = TBP_NEW_N(arena, const struct tbp_host *, end - first + 1);
    struct tbp_export_chrome chrome;
    int status = TBP_OK;
    size_t n = 0;
    for (uint32_t i = first; i < end && !status; i++) {
        const struct tbp_host *h;
        struct tbp_str name = tbp_session_host_name(s, i);
        status = tbp_unread_load(r->unread, s, i, &h, err);
        if (status || !h)
            continue;
        if (n == 0 && r->kind == KIND_CHROME)
            tbp_export_chrome_begin(&chrome, j, end - first == 1 ? h : NULL);
        hosts[n++] = h;
        if (r->kind == KIND_CHROME)
            tbp_export_chrome(&chrome, j, h);
        else if (r->kind == KIND_CSV)
            tbp_export_csv(j, h, name);
        else if (r->kind == KIND_CNTK)
            tbp_export_cntk(j, h);
        else
            tbp_averages_add_host(&averages, h, name, TBP_GROUP_NAME, 0, arena);
        if (r->kind != KIND_MXNET) /* it needs the memory events once more */
            tbp_session_release_events(s, i);
    }
    if (!status)
        status = tbp_unread_check(r->unread, err);
    if (!status && r->kind == KIND_MXNET)
        tbp_export_mxnet(j, &averages, hosts, n);
    if (!status && r->kind == KIND_CHROME)
        tbp_export_chrome_end(&chrome, j, hosts, n);
    tbp_averages_release(&averages);
    return status;
}

static int write(struct tbp_session *s, const struct tbp_report_request *r, struct tbp_sink *out,
                 struct tbp_error *err) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct tbp_json *j = TBP_NEW(&arena, struct tbp_json);
    tbp_json_init(j, out);
    put_begin(j, r->kind);
    int status = put_hosts(j, s, r, &arena, err);
    if (!status)
        status = tbp_json_finish(j, err);
    tbp_arena_release(&arena);
    return status;
}

const struct tbp_report tbp_report_export = {
    .name = "export",
    .help = "events or averages in the format of another tool",
    .write = write,
};
