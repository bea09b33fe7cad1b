/* SPDX-License-Identifier: Apache-2.0
 *
 * Events in order of time. Writers sort the lines of an xplane, and the official rules take events
 * as they stand: in a line out of order they find neither what an event lies in nor, often, a step.
 * Under `repair` such a line is put in order before anything is made of it.
 */
#ifndef TBP_CONVERT_ANALYZE_EVENT_ORDER_H
#define TBP_CONVERT_ANALYZE_EVENT_ORDER_H

#include "convert/model/model.h"

/* By begin, longer first; what agrees in both stays as it stands. Counted in the ledger: lines. */
void tbp_order_events(struct tbp_host *h);

#endif
