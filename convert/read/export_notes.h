/* SPDX-License-Identifier: Apache-2.0
 *
 * The member "tbprof" of a document that `tbprof export --chrome` wrote: what the profile lacked of
 * which it was made, as stats of the host's plane, by which every reading tells it again
 * (analyze/file_marks.h), and what that profile's errors and warnings were.
 */
#ifndef TBP_CONVERT_READ_EXPORT_NOTES_H
#define TBP_CONVERT_READ_EXPORT_NOTES_H

#include "convert/read/json_trace.h"

/* Takes the member's value. */
void tbp_export_notes_read(struct tbp_json_trace *jt);

#endif
