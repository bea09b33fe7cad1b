/* SPDX-License-Identifier: Apache-2.0
 *
 * What the first bytes of a database tell, with SQLite or without. See sqlite_source.h.
 */
#include "convert/read/sqlite_source.h"

static const char magic[16] = "SQLite format 3";

bool tbp_sqlite_is_database(const uint8_t *data, size_t size) {
    return size >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

bool tbp_sqlite_mentions(const uint8_t *data, size_t size, const char *text) {
    return memmem(data, size, text, strlen(text)) != NULL;
}
