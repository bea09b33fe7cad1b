/* SPDX-License-Identifier: Apache-2.0
 *
 * A name that rows of a file give something (a thread, a process), of which there may be several:
 * each forked thread is called after its process until it gets a name of its own, and writers tell
 * both. Which counts does not depend on the order of the rows: the latest; of those of one moment
 * the longest, then the first by bytes.
 */
#ifndef TBP_CONVERT_READ_GIVEN_NAME_H
#define TBP_CONVERT_READ_GIVEN_NAME_H

#include "base/arena.h"

#define TBP_GIVEN_AT_NO_TIME INT64_MIN

struct tbp_given_name {
    struct tbp_str text; /* empty: none */
    int64_t ns;          /* when, or by whatever else one name counts more than another */
    unsigned ps;         /* added */
};

/* Makes `given`, of which the text is copied, the name if it counts more than the one there is. */
void tbp_given_name_take(struct tbp_given_name *name, const struct tbp_given_name *given,
                         struct tbp_arena *a);

#endif
