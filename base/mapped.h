/* SPDX-License-Identifier: Apache-2.0
 *
 * Which files are mapped where, for the handler of SIGBUS: touching a mapping beyond the end of a
 * file that became shorter is a fatal signal, and this tells which file it was. A fixed table
 * without locks; what does not fit is not known. Thread-safe; the lookup is async-signal-safe.
 */
#ifndef TBP_BASE_MAPPED_H
#define TBP_BASE_MAPPED_H

#include <stddef.h>

void tbp_mapped_add(const void *start, size_t size, const char *path);
void tbp_mapped_remove(const void *start);
/* Path (its end, if it is long) of the file mapped at the address, or NULL. */
const char *tbp_mapped_path(const void *address);

#endif
