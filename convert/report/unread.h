/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts of a run whose file cannot be read, for reports that go on with the others. A report loads
 * its hosts with tbp_unread_load, leaves out those that are NULL, and ends with tbp_unread_check;
 * who asked for it tells of the list. Failures that are not of a file's bytes stay failures.
 *
 *     for (i = first; i < end && !status; i++)
 *         if (!(status = tbp_unread_load(u, session, i, &h, err)) && h)
 *             … h …
 *     if (!status)
 *         status = tbp_unread_check(u, err);
 */
#ifndef TBP_CONVERT_REPORT_UNREAD_H
#define TBP_CONVERT_REPORT_UNREAD_H

#include "base/vec.h"
#include "convert/analyze/session.h"

struct tbp_unread_host {
    uint32_t host;
    const char *text; /* of the error: which file, and why */
};

struct tbp_unread {
    TBP_VEC(struct tbp_unread_host) list; /* ascending */
    size_t n_read;
    struct tbp_error first;
    struct tbp_arena arena; /* texts */
};

void tbp_unread_init(struct tbp_unread *u);
void tbp_unread_release(struct tbp_unread *u);
/* The bytes of one host are to blame, not the system, nor what was asked for. */
bool tbp_is_of_the_file(int code);
/* *h is NULL, and the host in the list, if its file is to blame. Each host once, in order. */
int tbp_unread_load(struct tbp_unread *u, struct tbp_session *s, uint32_t host,
                    const struct tbp_host **h, struct tbp_error *err);
/* Fails as the first host did, if none could be read. */
int tbp_unread_check(const struct tbp_unread *u, struct tbp_error *err);
bool tbp_unread_has(const struct tbp_unread *u, uint32_t host);

#endif
