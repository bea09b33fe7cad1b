/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets the handlers that run around fork; any number of times.
 */
#ifndef TBP_CAPTURE_FORK_H
#define TBP_CAPTURE_FORK_H

void tbp_fork_init(void);

#endif
