/* SPDX-License-Identifier: Apache-2.0
 *
 * Which libraries the process has mapped, without a call of dlopen: that one reads the loader's
 * cache, which glibc unmaps before it forgets where it was. A child that is forked in between dies
 * in its next dlopen, so nothing that runs again and again in a session may call it. Thread-safe.
 */
#ifndef TBP_CAPTURE_MAPPED_LIBRARY_H
#define TBP_CAPTURE_MAPPED_LIBRARY_H

#include <stdbool.h>

/* Whether the name of some mapped file, without its folder, begins so ("libcuda.so"). */
bool tbp_library_is_mapped(const char *name);

#endif
