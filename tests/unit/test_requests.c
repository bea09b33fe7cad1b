/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of the latency table from requests made by hand.
 */
#include "convert/analyze/requests.h"

#include <criterion/criterion.h>

static struct tbp_served_request request(enum tbp_request_model model, double total_us) {
    return (struct tbp_served_request){model, total_us, total_us - 1, 1, 0};
}

Test(requests, sorts_by_latency_and_averages) {
    struct tbp_served_request r[] = {request(TBP_MODEL_NONE, 30), request(TBP_MODEL_NONE, 10),
                                     request(TBP_MODEL_NONE, 20), request(TBP_MODEL_NONE, 100)};
    struct tbp_request_table t = {r, 4};
    struct tbp_latency rows[TBP_LATENCY_ROWS];
    struct tbp_arena a;
    tbp_arena_init(&a);
    cr_assert_eq(tbp_latency_rows(&t, &a, rows), TBP_LATENCY_ROWS);
    cr_assert_str_eq(rows[0].label, "Avg");
    cr_assert_eq(rows[0].request.total_us, 40);
    cr_assert_eq(rows[0].request.host_us, 39);
    cr_assert_str_eq(rows[1].label, "50.0%"); /* element 0.5 * 4 = 2 of 10, 20, 30, 100 */
    cr_assert_eq(rows[1].request.total_us, 30);
    cr_assert_eq(rows[2].request.total_us, 100); /* 75 %: element 3 */
    cr_assert_eq(rows[5].request.total_us, 100); /* 99.9 %: element 3 */
    tbp_arena_release(&a);
}

Test(requests, leaves_out_requests_of_no_model_where_models_are_told) {
    struct tbp_served_request r[] = {request(TBP_MODEL_NONE, 1000), request(TBP_MODEL_KNOWN, 10),
                                     request(TBP_MODEL_UNKNOWN, 30)};
    struct tbp_request_table t = {r, 3};
    struct tbp_latency rows[TBP_LATENCY_ROWS];
    struct tbp_arena a;
    tbp_arena_init(&a);
    cr_assert_eq(tbp_latency_rows(&t, &a, rows), TBP_LATENCY_ROWS);
    cr_assert_eq(rows[0].request.total_us, 20);
    t.n_requests = 0;
    cr_assert_eq(tbp_latency_rows(&t, &a, rows), 0);
    tbp_arena_release(&a);
}
