/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the process by number: sites, keys, allocators. The table only grows and serves all
 * sessions of the process; each spool gets the whole of it in STRING records, at the session's
 * start and as names come. Memory is mapped, not allocated, so that names may be looked up where
 * malloc must not be called. Thread-safe; the caller is inside a record (capture/record.h).
 */
#ifndef TBP_CAPTURE_STRING_TABLE_H
#define TBP_CAPTURE_STRING_TABLE_H

#include "capture/spool.h"

/* Number of a text, never 0; 0: the table or the spool is full. */
uint32_t tbp_string_id(const char *text, size_t size_bytes);
/* The same for texts that stay where they are: looked up by address, without a lock. */
uint32_t tbp_string_id_of_key(const char *key);

/* The spool that names go to from now on, which gets all there are; NULL: none. */
void tbp_string_table_attach(struct tbp_spool *spool);

/* Around fork; in the child no spool is attached. */
void tbp_string_table_lock(void);
void tbp_string_table_unlock(void);
void tbp_string_table_after_fork(void);

#endif
