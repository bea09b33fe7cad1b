/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a shared library can be loaded and has the functions that are wanted of it. A child
 * process does the loading: whatever the library does when it is loaded, this process stays as it
 * is.
 */
#ifndef TBP_CLI_LIBRARY_CHECK_H
#define TBP_CLI_LIBRARY_CHECK_H

#include "base/status.h"

/* names end with NULL. Fails with TBP_E_UNSUPPORTED, saying which functions are missing or why it
 * cannot be loaded. */
int tbp_library_check(const char *path, const char *const *names, struct tbp_error *err);

#endif
