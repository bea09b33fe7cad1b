/* SPDX-License-Identifier: Apache-2.0
 *
 * A stranger's SQLite database, read as what it is: rows in tables. It is opened from the bytes in
 * memory, so that no file is opened, locked or written and no journal is played back; nothing that
 * stands in it is executed. Views, virtual tables, tables with generated columns and triggers are
 * passed over, functions, pragmas and writing are refused, and the work is bounded by the size of
 * the file.
 *
 *     struct tbp_sqlite s;
 *     tbp_sqlite_open(&s, host, err);
 *     if (tbp_sqlite_select(&s, &rows, "StringIds", columns, 2))
 *         while (tbp_sqlite_next(&rows))
 *             … tbp_sqlite_i64(&rows, ID, 0), tbp_sqlite_text(&rows, VALUE) …
 *     tbp_sqlite_close(&s);
 *
 * Tables and columns may be absent: no table has no rows, an absent column is NULL. Where a table
 * breaks off, because the file is damaged or a bound is reached, its rows end and the ledger says
 * so, with the byte at which the file ends or the damaged page begins. No row is made up: of a page
 * that is there in part nothing is read. Texts are views until the next row. One thread; one
 * selection at a time per `rows`.
 */
#ifndef TBP_CONVERT_READ_SQLITE_SOURCE_H
#define TBP_CONVERT_READ_SQLITE_SOURCE_H

#include "base/vec.h"
#include "convert/model/model.h"
#include "schemas/wire.h"

struct sqlite3;
struct sqlite3_stmt;

struct tbp_sqlite_table {
    struct tbp_str name;
    bool is_used; /* rows were selected */
};

struct tbp_sqlite {
    struct tbp_host *host;
    struct sqlite3 *db;
    TBP_VEC(struct tbp_sqlite_table) tables; /* in order of names */
    uint64_t steps_left, bytes_left;         /* of the bounds */
    uint64_t cut_at, declared_bytes; /* where a file ends that should be longer, or TBP_NO_OFFSET */
    uint64_t page_at;                /* of the page read last */
    bool is_list_cut;                /* there may be more tables */
};

enum { TBP_SQLITE_COLUMNS = 32, TBP_SQLITE_TEXT_BYTES = 1 << 16 };

struct tbp_sqlite_rows {
    struct tbp_sqlite *of;
    struct sqlite3_stmt *stmt;
    uint32_t present; /* bit per column */
};

bool tbp_sqlite_is_database(const uint8_t *data, size_t size);
/* Whether the text stands among these first bytes, as names of tables do. */
bool tbp_sqlite_mentions(const uint8_t *data, size_t size, const char *text);

/* Whether the database has one of the tables (NULL-terminated; names may go on behind these). */
bool tbp_sqlite_has_any(const struct tbp_input *in, const char *const *tables);

/* Fails if the file is no database, if nothing is left of the list of its tables, or if this
 * program was built without SQLite. */
int tbp_sqlite_open(struct tbp_sqlite *s, struct tbp_host *host, struct tbp_error *err);
/* Fails, saying where the list of tables breaks off. */
int tbp_sqlite_list_cut(const struct tbp_sqlite *s, struct tbp_error *err);
void tbp_sqlite_close(struct tbp_sqlite *s);

/* The table called so, or so with a suffix _V2, _V3 …, the highest of them; NULL if there is none.
 */
struct tbp_sqlite_table *tbp_sqlite_find(struct tbp_sqlite *s, const char *name);
/* Whether a table has the column. */
bool tbp_sqlite_has_column(struct tbp_sqlite *s, struct tbp_str table, const char *column);
/* Number of rows, by counting them. */
uint64_t tbp_sqlite_count(struct tbp_sqlite *s, struct tbp_str table);

/* false: no such table. columns: n <= TBP_SQLITE_COLUMNS names. */
bool tbp_sqlite_select(struct tbp_sqlite *s, struct tbp_sqlite_rows *rows, const char *name,
                       const char *const *columns, size_t n);
/* The same for a table of which the name is known in full. */
bool tbp_sqlite_select_table(struct tbp_sqlite *s, struct tbp_sqlite_rows *rows,
                             struct tbp_sqlite_table *table, const char *const *columns, size_t n);
/* false: that was the last; nothing is left to release. */
bool tbp_sqlite_next(struct tbp_sqlite_rows *rows);
void tbp_sqlite_stop(struct tbp_sqlite_rows *rows); /* before the last row */

bool tbp_sqlite_is_null(const struct tbp_sqlite_rows *rows, unsigned column);
int64_t tbp_sqlite_i64(const struct tbp_sqlite_rows *rows, unsigned column, int64_t otherwise);
/* UTF-8, repaired where it is not; at most TBP_SQLITE_TEXT_BYTES of it. */
struct tbp_str tbp_sqlite_text(const struct tbp_sqlite_rows *rows, unsigned column);
struct tbp_str tbp_sqlite_blob(const struct tbp_sqlite_rows *rows, unsigned column);

/* A table that numbers texts, copied into the arena of the host. */
struct tbp_sqlite_texts {
    struct tbp_idmap index;
    TBP_VEC(struct tbp_str) of;
};
void tbp_sqlite_texts_load(struct tbp_sqlite_texts *texts, struct tbp_sqlite *s, const char *table,
                           const char *id, const char *value);
struct tbp_str tbp_sqlite_texts_get(const struct tbp_sqlite_texts *texts, int64_t id);
void tbp_sqlite_texts_release(struct tbp_sqlite_texts *texts);

#endif
