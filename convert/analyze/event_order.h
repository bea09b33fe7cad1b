/* SPDX-License-Identifier: Apache-2.0
 *
 * Times that are put right under `repair`. Writers sort the lines of an xplane, and the official
 * rules take events as they stand: in a line out of order they find neither what an event lies in
 * nor, often, a step. Under `repair` such a line is put in order before anything is made of it.
 * Lines whose times count from the epoch, where those of a profile count from its start, are moved
 * to the first of them.
 */
#ifndef TBP_CONVERT_ANALYZE_EVENT_ORDER_H
#define TBP_CONVERT_ANALYZE_EVENT_ORDER_H

#include "convert/model/model.h"

/* By begin, longer first; what agrees in both stays as it stands. Counted in the ledger: lines. */
void tbp_order_events(struct tbp_host *h);
/* Before they are ordered: in picoseconds since the epoch 64 bits run over. Not in a file of ours
 * in which it was done. Counted in the ledger: events. */
void tbp_move_epoch_lines(struct tbp_host *h);

#endif
