/* SPDX-License-Identifier: Apache-2.0
 *
 * From the values of a command to a report on standard output.
 */
#include "cli/report_command.h"

#include "cli/warn_input.h"

#include <unistd.h>

uint32_t tbp_report_limit(const struct tbp_report_values *v) {
    enum { TEXT_ROWS = 20 };
    return v->limit.is_given ? v->limit.n : v->csv || v->common.json ? 0 : TEXT_ROWS;
}

static int choose_format(struct tbp_report_request *r, const struct tbp_cli *cli,
                         const struct tbp_report_values *v, struct tbp_error *err) {
    if (v->csv && v->common.json)
        return tbp_fail(err, TBP_E_OPTION, "'csv' and 'json' exclude each other");
    r->format = v->common.json ? TBP_REPORT_JSON : v->csv ? TBP_REPORT_CSV : TBP_REPORT_TEXT;
    r->color = cli->color_out;
    return TBP_OK;
}

static int read_offsets(struct tbp_report_request *r, const struct tbp_report_values *v,
                        struct tbp_arena *arena, struct tbp_error *err) {
    const struct tbp_opt_list *given = &v->clock_offsets;
    struct tbp_clock_offset *offsets = TBP_NEW_N(arena, struct tbp_clock_offset, given->n + 1);
    for (size_t i = 0; i < given->n; i++) {
        int status = tbp_clock_offset_parse(&offsets[i], given->at[i], err);
        if (status)
            return status;
    }
    r->clock_offsets = offsets;
    r->n_clock_offsets = given->n;
    return TBP_OK;
}

static void tell_losses(const struct tbp_cli *cli, struct tbp_session *s,
                        const struct tbp_report_request *r) {
    for (uint32_t i = tbp_report_first_host(r); i < tbp_report_end_host(s, r); i++) {
        const struct tbp_host *h = tbp_session_known_host(s, i);
        if (h)
            tbp_warn_input(cli, h->path, h->size_bytes, &h->ledger);
    }
}

/* The answer is there, but of a part of the run: as `convert` has it, that is no success. */
static int tell_unread(const struct tbp_cli *cli, const struct tbp_unread *u,
                       struct tbp_error *err) {
    for (size_t i = 0; i < u->list.n; i++)
        tbp_cli_warn(cli, "%s", u->list.at[i].text);
    if (u->list.n == 0)
        return TBP_OK;
    return tbp_fail(err, TBP_E_FORMAT,
                    "%zu of %zu hosts cannot be read: the answer is of the others", u->list.n,
                    u->list.n + u->n_read);
}

int tbp_run_report(struct tbp_cli *cli, const struct tbp_report *report,
                   const struct tbp_report_values *v, const char *input,
                   struct tbp_report_request *request, struct tbp_error *err) {
    struct tbp_run run;
    struct tbp_run_loader loader = {&run, v->from, TBP_WANTED_ALL, {0}, NULL};
    bool has_loss;
    int status = choose_format(request, cli, v, err);
    if (!status)
        status = read_offsets(request, v, cli->arena, err);
    if (!status)
        status = tbp_check_format(v->from, err);
    if (!status)
        status = tbp_step_source_parse(&loader.steps, v->steps, err);
    if (!status)
        status = tbp_find_one_run(&run, cli, input, v->run, &has_loss, err);
    if (status)
        return status;
    struct tbp_pool *pool = tbp_pool_new(0);
    struct tbp_session *s = tbp_run_session(&loader, TBP_SEMANTICS_REPAIR, cli->arena, pool);
    struct tbp_report_lacks lacks = {.n = 0};
    struct tbp_unread unread;
    tbp_unread_init(&unread);
    request->lacks = &lacks;
    request->unread = &unread;
    request->host = tbp_session_n_hosts(s) == 1 ? 0 : TBP_ALL_HOSTS;
    status = v->host ? tbp_find_host(s, v->host, &request->host, err) : TBP_OK;
    if (!status)
        status = report->write(s, request, &cli->answer->base, err);
    if (!status)
        tell_losses(cli, s, request);
    for (size_t i = 0; !status && i < lacks.n; i++)
        tbp_cli_warn(cli, "the profile has %s", lacks.what[i]);
    if (!status)
        status = tell_unread(cli, &unread, err);
    tbp_unread_release(&unread);
    tbp_session_free(s);
    tbp_pool_free(pool);
    return status;
}
