/* SPDX-License-Identifier: Apache-2.0
 *
 * In place of sqlite_source.c where there is no SQLite: no database opens, and the reader says what
 * to install. See sqlite_source.h.
 */
#include "convert/read/sqlite_source.h"

int tbp_sqlite_open(struct tbp_sqlite *s, struct tbp_host *host, struct tbp_error *err) {
    *s = (struct tbp_sqlite){.host = host};
    return tbp_fail(err, TBP_E_UNSUPPORTED,
                    "'%.*s' is an SQLite database, and this tbprof was built without SQLite: "
                    "install it (libsqlite3-dev) and build again",
                    (int)host->path.n, host->path.p);
}

int tbp_sqlite_list_cut(const struct tbp_sqlite *s, struct tbp_error *err) {
    (void)s;
    return tbp_fail(err, TBP_E_UNSUPPORTED, "built without SQLite");
}

void tbp_sqlite_close(struct tbp_sqlite *s) {
    (void)s;
}

bool tbp_sqlite_has_any(const struct tbp_input *in, const char *const *tables) {
    (void)in;
    (void)tables;
    return false;
}

struct tbp_sqlite_table *tbp_sqlite_find(struct tbp_sqlite *s, const char *name) {
    (void)s;
    (void)name;
    return NULL;
}

bool tbp_sqlite_has_column(struct tbp_sqlite *s, struct tbp_str table, const char *column) {
    (void)s;
    (void)table;
    (void)column;
    return false;
}

uint64_t tbp_sqlite_count(struct tbp_sqlite *s, struct tbp_str table) {
    (void)s;
    (void)table;
    return 0;
}

bool tbp_sqlite_select(struct tbp_sqlite *s, struct tbp_sqlite_rows *rows, const char *name,
                       const char *const *columns, size_t n) {
    (void)s;
    (void)rows;
    (void)name;
    (void)columns;
    (void)n;
    return false;
}

bool tbp_sqlite_select_table(struct tbp_sqlite *s, struct tbp_sqlite_rows *rows,
                             struct tbp_sqlite_table *table, const char *const *columns, size_t n) {
    (void)table;
    return tbp_sqlite_select(s, rows, "", columns, n);
}

bool tbp_sqlite_next(struct tbp_sqlite_rows *rows) {
    (void)rows;
    return false;
}

void tbp_sqlite_stop(struct tbp_sqlite_rows *rows) {
    (void)rows;
}

bool tbp_sqlite_is_null(const struct tbp_sqlite_rows *rows, unsigned column) {
    (void)rows;
    (void)column;
    return true;
}

int64_t tbp_sqlite_i64(const struct tbp_sqlite_rows *rows, unsigned column, int64_t otherwise) {
    (void)rows;
    (void)column;
    return otherwise;
}

struct tbp_str tbp_sqlite_text(const struct tbp_sqlite_rows *rows, unsigned column) {
    (void)rows;
    (void)column;
    return TBP_STR_NONE;
}

struct tbp_str tbp_sqlite_blob(const struct tbp_sqlite_rows *rows, unsigned column) {
    return tbp_sqlite_text(rows, column);
}

void tbp_sqlite_texts_load(struct tbp_sqlite_texts *texts, struct tbp_sqlite *s, const char *table,
                           const char *id, const char *value) {
    (void)texts;
    (void)s;
    (void)table;
    (void)id;
    (void)value;
}

struct tbp_str tbp_sqlite_texts_get(const struct tbp_sqlite_texts *texts, int64_t id) {
    (void)texts;
    (void)id;
    return TBP_STR_NONE;
}

void tbp_sqlite_texts_release(struct tbp_sqlite_texts *texts) {
    (void)texts;
}
