/* SPDX-License-Identifier: Apache-2.0
 *
 * What a recording says about itself: errors and warnings of the profiler, and the repairs that
 * pages tell. Kept as a table, so that the pages of all hosts need no host's events again. Source:
 * spec pages/RULES.md 7.7. Ownership: the session's arena; texts borrow from the hosts' bytes.
 */
#ifndef TBP_CONVERT_ANALYZE_HOST_NOTES_H
#define TBP_CONVERT_ANALYZE_HOST_NOTES_H

#include "convert/analyze/session.h"

struct tbp_host_notes {
    struct tbp_str *errors; /* in byte order; of one host each text once */
    struct tbp_str
        *warnings; /* of one host in byte order, each text once; hosts one after another */
    size_t n_errors, n_warnings;
    uint64_t repaired_steps; /* events whose step_num made them roots */
    uint64_t repaired_loops; /* iterations of loops that made none */
};

/* That the file is cut, damaged or empty, and what is missing, as a warning; empty: nothing. Not
 * under the official semantics, which say nothing of it. A rewritten file keeps it, being whole. */
struct tbp_str tbp_host_damage_text(const struct tbp_host *h, struct tbp_arena *a);

/* A warning of ours that files are damaged, empty or left out, also one that a rewritten file kept.
 */
#define TBP_NOTE_OF_FILES "Files of this run "
#define TBP_NOTE_OF_FILE  "A file of this run "
bool tbp_note_is_of_files(struct tbp_str warning);

extern const struct tbp_analysis tbp_analysis_host_notes;
const struct tbp_host_notes *tbp_host_notes(struct tbp_session *s, uint32_t host,
                                            struct tbp_error *err);

#endif
