/* SPDX-License-Identifier: Apache-2.0
 *
 * `tbprof check`: whether a profile is fit to draw conclusions from. Looks at host, format, color,
 * ignored, with_advice, clock_offsets.
 */
#include "convert/report/advice.h"
#include "convert/report/findings.h"
#include "convert/report/report.h"

static bool is_ignored(const struct tbp_report_request *r, const char *key) {
    for (size_t i = 0; i < r->n_ignored; i++)
        if (strcmp(r->ignored[i], key) == 0)
            return true;
    return false;
}

static void forget_ignored(struct tbp_findings *f, const struct tbp_report_request *r) {
    size_t kept = 0;
    for (size_t i = 0; i < f->list.n; i++)
        if (!is_ignored(r, f->list.at[i].key))
            f->list.at[kept++] = f->list.at[i];
    f->list.n = kept;
}

static void put(struct tbp_json *j, const struct tbp_report_request *r,
                const struct tbp_findings *f, const struct tbp_advices *a) {
    size_t serious = tbp_findings_serious(f);
    if (r->format == TBP_REPORT_JSON) {
        tbp_json_printf(j, "{\"schema\":\"tbprof.check/1\",\"fit\":%s,\"findings\":",
                        serious ? "false" : "true");
        tbp_findings_json(j, f);
        if (r->with_advice) {
            tbp_json_lit(j, ",\"advice\":");
            tbp_advices_json(j, a);
        }
        tbp_json_lit(j, "}\n");
        return;
    }
    tbp_findings_text(j, f, r->color);
    tbp_json_printf(j, "%s: %zu serious, %zu worth knowing\n", serious ? "not fit" : "fit", serious,
                    f->list.n - serious);
    tbp_advices_text(j, a);
}

static int write(struct tbp_session *s, const struct tbp_report_request *r, struct tbp_sink *out,
                 struct tbp_error *err) {
    uint32_t first = tbp_report_first_host(r), end = tbp_report_end_host(s, r);
    struct tbp_findings f;
    struct tbp_advices a;
    tbp_findings_init(&f);
    f.clock_offsets = r->clock_offsets;
    f.n_clock_offsets = r->n_clock_offsets;
    tbp_advices_init(&a);
    int status = tbp_findings_collect(&f, s, first, end, TBP_SPOILS_ALL, err);
    if (!status && r->with_advice && f.n_unreadable == 0) /* shares would be those of a part */
        status = tbp_advices_collect(&a, s, first, end, err);
    if (!status) {
        struct tbp_json *j = TBP_NEW(&f.arena, struct tbp_json);
        forget_ignored(&f, r);
        tbp_json_init(j, out);
        put(j, r, &f, &a);
        status = tbp_json_finish(j, err);
    }
    if (!status && tbp_findings_serious(&f))
        status = tbp_fail(err, TBP_E_FORMAT, "this profile is not fit to draw conclusions from");
    tbp_advices_release(&a);
    tbp_findings_release(&f);
    return status;
}

const struct tbp_report tbp_report_check = {
    .name = "check",
    .help = "whether a profile is fit to draw conclusions from",
    .write = write,
};
