/* SPDX-License-Identifier: Apache-2.0
 *
 * See sqlite_source.h. Why each bound: a page of a hostile file can stand for itself many times
 * over in a tree, so that a small file has endless rows, and a text can be as long as the file in
 * every row; both are cut by budgets that no honest file comes near.
 */
#include "convert/read/sqlite_source.h"
#include "base/sort.h"

#include <stdio.h>

#include <sqlite3.h>

enum {
    PAGE_SIZE = 16,
    WRITE_VERSION = 18, /* of the header: 1 rollback journal, 2 write-ahead log */
    READ_VERSION = 19,
    CHANGES = 24,
    PAGES = 28,
    PAGES_AS_OF = 92, /* changes when PAGES was written */
    HEADER_BYTES = 100,
    LEAST_PAGE = 512,
    STEPS_PER_CALL = 100000,
    MAX_VALUE_BYTES = 1 << 26,
};

/* ---- opening ---- */

static int stop_when_spent(void *ctx) {
    struct tbp_sqlite *s = ctx;
    if (s->steps_left < STEPS_PER_CALL)
        return 1;
    s->steps_left -= STEPS_PER_CALL;
    return 0;
}

/* Selecting columns of tables, and asking for their names; nothing else. */
static int authorize(void *ctx, int action, const char *a, const char *b, const char *database,
                     const char *inside) {
    (void)ctx;
    (void)b;
    (void)database;
    if (inside) /* of a view or trigger */
        return SQLITE_DENY;
    bool is_names = action == SQLITE_PRAGMA && a && strcmp(a, "table_xinfo") == 0;
    return action == SQLITE_SELECT || action == SQLITE_READ || is_names ? SQLITE_OK : SQLITE_DENY;
}

static void restrain(struct tbp_sqlite *s) {
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
        {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1}, /* goes on where the list of tables is damaged */
        {SQLITE_DBCONFIG_DQS_DML, 0},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        sqlite3_db_config(s->db, options[i].option, options[i].value, NULL);
    sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
    sqlite3_limit(s->db, SQLITE_LIMIT_EXPR_DEPTH, 100);
    sqlite3_limit(s->db, SQLITE_LIMIT_COMPOUND_SELECT, 2);
    sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(s->db, SQLITE_LIMIT_WORKER_THREADS, 0);
    sqlite3_limit(s->db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    sqlite3_exec(s->db, "PRAGMA mmap_size=0", NULL, NULL, NULL);
    sqlite3_exec(s->db, "PRAGMA cell_size_check=1", NULL, NULL, NULL);
    sqlite3_exec(s->db, "PRAGMA temp_store=2", NULL, NULL, NULL);
    sqlite3_set_authorizer(s->db, authorize, NULL);
    sqlite3_progress_handler(s->db, STEPS_PER_CALL, stop_when_spent, s);
}

static uint64_t big_endian(const uint8_t *at, unsigned n) {
    uint64_t v = 0;
    while (n--)
        v = v << 8 | *at++;
    return v;
}

/* Every page that is read passes here. */
struct watched {
    sqlite3_io_methods methods; /* first: SQLite hands a pointer to it back */
    const sqlite3_io_methods *original;
    struct tbp_sqlite *s;
};

static int note_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at) {
    const struct watched *w = (const struct watched *)file->pMethods;
    if (n >= LEAST_PAGE) /* not the header alone */
        w->s->page_at = (uint64_t)at;
    return w->original->xRead(file, to, n, at);
}

static void watch_reads(struct tbp_sqlite *s) {
    sqlite3_file *file = NULL;
    sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (!file || !file->pMethods)
        return;
    struct watched *w = TBP_NEW(&s->host->arena, struct watched);
    *w = (struct watched){*file->pMethods, file->pMethods, s};
    w->methods.xRead = note_read;
    file->pMethods = &w->methods;
}

static uint64_t page_bytes(const struct tbp_input *in) {
    uint64_t page = big_endian(in->data + PAGE_SIZE, 2);
    return page == 1 ? 65536 : page;
}

/* Size by the header; where that was not kept up to date, whole pages. */
static uint64_t declared_bytes(const struct tbp_input *in, uint64_t page) {
    bool is_kept = memcmp(in->data + CHANGES, in->data + PAGES_AS_OF, 4) == 0;
    return page * (is_kept ? big_endian(in->data + PAGES, 4) : (in->size + page - 1) / page);
}

/* The bytes as they are, or a copy: of a database that keeps a log beside it one which says that it
 * does not, since a log can only be opened beside a file; of one that was cut off one that ends
 * with its last whole page and says so, so that what is there can be read. */
static int give_bytes(struct tbp_sqlite *s) {
    const struct tbp_input *in = &s->host->input;
    unsigned flags = SQLITE_DESERIALIZE_READONLY;
    unsigned char *bytes = (unsigned char *)(uintptr_t)in->data;
    uint64_t page = page_bytes(in), size = in->size;
    if (page >= LEAST_PAGE && (s->declared_bytes = declared_bytes(in, page)) > size) {
        size -= size % page;
        s->cut_at = size;
    }
    if (size == 0)
        return SQLITE_CORRUPT;
    if (in->data[READ_VERSION] == 2 || size < s->declared_bytes) {
        if (!(bytes = sqlite3_malloc64(size)))
            return SQLITE_NOMEM;
        memcpy(bytes, in->data, size);
        bytes[WRITE_VERSION] = bytes[READ_VERSION] = 1;
        for (unsigned i = 0; i < 4 && s->cut_at != TBP_NO_OFFSET; i++)
            bytes[PAGES + i] = (unsigned char)(size / page >> 8 * (3 - i));
        flags |= SQLITE_DESERIALIZE_FREEONCLOSE;
    }
    return sqlite3_deserialize(s->db, "main", bytes, (sqlite3_int64)size, (sqlite3_int64)size,
                               flags);
}

/* The rest of a table cannot be read. Damage has a place, a bound that is reached has none. */
static void count_broken(struct tbp_sqlite *s, int rc) {
    uint64_t at = (rc & 0xff) != SQLITE_CORRUPT ? TBP_NO_OFFSET
                  : s->cut_at != TBP_NO_OFFSET  ? s->cut_at
                                                : s->page_at;
    tbp_ledger_count(&s->host->ledger, TBP_LEDGER_TABLE_CUT, 1, at);
}

static int by_name(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return tbp_str_cmp(((const struct tbp_sqlite_table *)a)->name,
                       ((const struct tbp_sqlite_table *)b)->name);
}

/* Tables with pages of their own: that leaves out views and virtual tables. */
static int list_tables(struct tbp_sqlite *s) {
    static const char sql[] = "SELECT type, name, rootpage FROM sqlite_master";
    sqlite3_stmt *stmt;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        const char *type = (const char *)sqlite3_column_text(stmt, 0);
        const char *name = (const char *)sqlite3_column_text(stmt, 1);
        if (!type || !name || strcmp(type, "table") != 0 || sqlite3_column_int64(stmt, 2) < 2)
            continue;
        struct tbp_str s_name = tbp_arena_str(&s->host->arena, tbp_str_c(name));
        *tbp_vec_push(&s->tables) = (struct tbp_sqlite_table){.name = s_name};
    }
    sqlite3_finalize(stmt);
    tbp_sort(s->tables.at, s->tables.n, sizeof *s->tables.at, by_name, NULL);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int tbp_sqlite_list_cut(const struct tbp_sqlite *s, struct tbp_error *err) {
    struct tbp_str path = s->host->path;
    if (s->cut_at != TBP_NO_OFFSET)
        return tbp_fail(err, TBP_E_FORMAT,
                        "reading the list of tables of '%.*s' failed: the database is cut off, it "
                        "has %llu of %llu bytes, and the list goes on behind them; copy or export "
                        "it again",
                        (int)path.n, path.p, (unsigned long long)s->host->input.size,
                        (unsigned long long)s->declared_bytes);
    return tbp_fail(
        err, TBP_E_FORMAT,
        "reading the list of tables of '%.*s' failed: the page at byte %llu is damaged; "
        "copy or export it again",
        (int)path.n, path.p, (unsigned long long)s->page_at);
}

int tbp_sqlite_open(struct tbp_sqlite *s, struct tbp_host *host, struct tbp_error *err) {
    enum { STEPS_PER_BYTE = 8, BYTES_PER_BYTE = 4, LEAST = 100000000 };
    *s = (struct tbp_sqlite){.host = host, .cut_at = TBP_NO_OFFSET};
    s->steps_left = host->input.size * STEPS_PER_BYTE + LEAST;
    s->bytes_left = host->input.size * BYTES_PER_BYTE + LEAST;
    int rc = host->input.size < HEADER_BYTES ? SQLITE_NOTADB : SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = sqlite3_open_v2(":memory:", &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = give_bytes(s);
    if (rc == SQLITE_OK) {
        restrain(s);
        watch_reads(s);
        rc = list_tables(s);
    }
    if (rc == SQLITE_OK)
        return TBP_OK;
    if (s->tables.n && rc != SQLITE_NOMEM) {
        s->is_list_cut = true;
        count_broken(s, rc);
        return TBP_OK;
    }
    tbp_sqlite_close(s);
    if ((rc & 0xff) == SQLITE_CORRUPT)
        return tbp_sqlite_list_cut(s, err);
    return tbp_fail(err, TBP_E_FORMAT, "reading the tables of '%.*s' failed: %s", (int)host->path.n,
                    host->path.p, sqlite3_errstr(rc));
}

void tbp_sqlite_close(struct tbp_sqlite *s) {
    sqlite3_close(s->db);
    tbp_vec_release(&s->tables);
    s->db = NULL;
}

/* ---- tables ---- */

/* 0: another table, 1: this one, 2 …: this one with a suffix _V2 …  */
static uint64_t version_of(struct tbp_str table, const char *name) {
    size_t n = strlen(name);
    uint64_t version;
    if (!tbp_str_starts_nocase(table, name))
        return 0;
    struct tbp_str rest = tbp_str_sub(table, n, table.n);
    if (rest.n == 0)
        return 1;
    bool is_suffix = rest.n > 2 && tbp_str_starts_nocase(rest, "_v") &&
                     tbp_str_to_u64(tbp_str_sub(rest, 2, rest.n), &version);
    return is_suffix ? version : 0;
}

struct tbp_sqlite_table *tbp_sqlite_find(struct tbp_sqlite *s, const char *name) {
    struct tbp_sqlite_table *best = NULL;
    uint64_t best_version = 0;
    for (size_t i = 0; i < s->tables.n; i++) {
        uint64_t version = version_of(s->tables.at[i].name, name);
        if (version > best_version) {
            best = &s->tables.at[i];
            best_version = version;
        }
    }
    return best;
}

bool tbp_sqlite_has_any(const struct tbp_input *in, const char *const *tables) {
    struct tbp_host host;
    struct tbp_sqlite s;
    struct tbp_error err;
    bool found = false;
    if (!tbp_sqlite_is_database(in->data, in->size))
        return false;
    tbp_host_init(&host);
    host.path = TBP_STR_NONE;
    host.input = (struct tbp_input){.data = in->data, .size = in->size, .is_borrowed = true};
    if (tbp_sqlite_open(&s, &host, &err) == TBP_OK) {
        for (size_t i = 0; i < s.tables.n && !found; i++)
            for (size_t k = 0; tables[k]; k++)
                found |= tbp_str_starts(s.tables.at[i].name, tables[k]);
        tbp_sqlite_close(&s);
    }
    tbp_host_release(&host);
    return found;
}

static void put_quoted(struct tbp_wire_out *o, struct tbp_str name) {
    tbp_wire_put_raw(o, "\"", 1);
    for (size_t i = 0; i < name.n; i++) {
        tbp_wire_put_raw(o, &name.p[i], 1);
        if (name.p[i] == '"')
            tbp_wire_put_raw(o, "\"", 1);
    }
    tbp_wire_put_raw(o, "\"", 1);
}

static void put(struct tbp_wire_out *o, const char *text) {
    tbp_wire_put_raw(o, text, strlen(text));
}

static sqlite3_stmt *prepare(struct tbp_sqlite *s, struct tbp_wire_out *sql) {
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(s->db, (const char *)sql->at, (int)sql->n, &stmt, NULL) != SQLITE_OK) {
        sqlite3_finalize(stmt);
        stmt = NULL;
    }
    tbp_wire_out_release(sql);
    return stmt;
}

/* Which of the columns the table has, as bits; has_more: something in it would have to be computed.
 */
static uint32_t present_columns(struct tbp_sqlite *s, struct tbp_str table,
                                const char *const *columns, size_t n, bool *is_computed) {
    enum { NAME = 1, HIDDEN = 6 };
    struct tbp_wire_out sql = {0};
    uint32_t present = 0;
    put(&sql, "PRAGMA table_xinfo(");
    put_quoted(&sql, table);
    put(&sql, ")");
    sqlite3_stmt *stmt = prepare(s, &sql);
    *is_computed = false;
    while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, NAME);
        *is_computed |= sqlite3_column_int(stmt, HIDDEN) != 0;
        for (size_t i = 0; name && i < n; i++)
            if (sqlite3_stricmp(name, columns[i]) == 0)
                present |= 1u << i;
    }
    sqlite3_finalize(stmt);
    return present;
}

bool tbp_sqlite_has_column(struct tbp_sqlite *s, struct tbp_str table, const char *column) {
    bool is_computed;
    return present_columns(s, table, &column, 1, &is_computed) && !is_computed;
}

/* ---- rows ---- */

bool tbp_sqlite_select_table(struct tbp_sqlite *s, struct tbp_sqlite_rows *rows,
                             struct tbp_sqlite_table *table, const char *const *columns, size_t n) {
    struct tbp_wire_out sql = {0};
    bool is_computed;
    sqlite3_db_release_memory(s->db); /* a damaged page is read again, so that its place is known */
    *rows = (struct tbp_sqlite_rows){.of = s};
    rows->present = present_columns(s, table->name, columns, n, &is_computed);
    table->is_used = true;
    if (is_computed) {
        count_broken(s, SQLITE_AUTH);
        return false;
    }
    put(&sql, "SELECT ");
    for (size_t i = 0; i < n; i++) {
        put(&sql, i ? "," : "");
        if (rows->present >> i & 1)
            put_quoted(&sql, tbp_str_c(columns[i]));
        else
            put(&sql, "NULL");
    }
    put(&sql, n ? " FROM " : "NULL FROM ");
    put_quoted(&sql, table->name);
    put(&sql, " NOT INDEXED"); /* the rows themselves */
    rows->stmt = prepare(s, &sql);
    if (!rows->stmt)
        count_broken(s, sqlite3_errcode(s->db));
    return rows->stmt != NULL;
}

bool tbp_sqlite_select(struct tbp_sqlite *s, struct tbp_sqlite_rows *rows, const char *name,
                       const char *const *columns, size_t n) {
    struct tbp_sqlite_table *table = tbp_sqlite_find(s, name);
    return table && tbp_sqlite_select_table(s, rows, table, columns, n);
}

void tbp_sqlite_stop(struct tbp_sqlite_rows *rows) {
    sqlite3_finalize(rows->stmt);
    rows->stmt = NULL;
}

bool tbp_sqlite_next(struct tbp_sqlite_rows *rows) {
    int rc = rows->of->bytes_left ? sqlite3_step(rows->stmt) : SQLITE_INTERRUPT;
    if (rc == SQLITE_ROW)
        return true;
    if (rc != SQLITE_DONE)
        count_broken(rows->of, rc);
    tbp_sqlite_stop(rows);
    return false;
}

uint64_t tbp_sqlite_count(struct tbp_sqlite *s, struct tbp_str table) {
    struct tbp_sqlite_rows rows;
    struct tbp_sqlite_table t = {.name = table};
    uint64_t n = 0;
    if (tbp_sqlite_select_table(s, &rows, &t, NULL, 0))
        while (tbp_sqlite_next(&rows))
            n++;
    return n;
}

/* ---- values ---- */

bool tbp_sqlite_is_null(const struct tbp_sqlite_rows *rows, unsigned column) {
    return !(rows->present >> column & 1) ||
           sqlite3_column_type(rows->stmt, (int)column) == SQLITE_NULL;
}

int64_t tbp_sqlite_i64(const struct tbp_sqlite_rows *rows, unsigned column, int64_t otherwise) {
    if (tbp_sqlite_is_null(rows, column))
        return otherwise;
    return sqlite3_column_int64(rows->stmt, (int)column);
}

struct tbp_str tbp_sqlite_blob(const struct tbp_sqlite_rows *rows, unsigned column) {
    struct tbp_sqlite *s = rows->of;
    if (tbp_sqlite_is_null(rows, column))
        return TBP_STR_NONE;
    const char *bytes = sqlite3_column_blob(rows->stmt, (int)column);
    size_t n = (size_t)sqlite3_column_bytes(rows->stmt, (int)column);
    s->bytes_left -= n < s->bytes_left ? n : s->bytes_left;
    return bytes ? (struct tbp_str){bytes, n} : TBP_STR_NONE;
}

/* With U+FFFD in place of each byte that is no UTF-8. */
static struct tbp_str repaired(struct tbp_sqlite *s, struct tbp_str text, size_t good) {
    struct tbp_wire_out o = {0};
    tbp_ledger_count(&s->host->ledger, TBP_LEDGER_INVALID_UTF8, 1, TBP_NO_OFFSET);
    while (good < text.n) {
        tbp_wire_put_raw(&o, text.p, good);
        put(&o, "\xef\xbf\xbd");
        text = tbp_str_sub(text, good + 1, text.n);
        good = tbp_utf8_valid_prefix(text);
    }
    tbp_wire_put_raw(&o, text.p, good);
    struct tbp_str copy = tbp_arena_str(&s->host->arena, (struct tbp_str){(const char *)o.at, o.n});
    tbp_wire_out_release(&o);
    return copy;
}

struct tbp_str tbp_sqlite_text(const struct tbp_sqlite_rows *rows, unsigned column) {
    struct tbp_str text = tbp_sqlite_blob(rows, column);
    if (text.n > TBP_SQLITE_TEXT_BYTES) {
        text.n = TBP_SQLITE_TEXT_BYTES;
        while (text.n && ((uint8_t)text.p[text.n] & 0xc0) == 0x80)
            text.n--;
    }
    size_t good = tbp_utf8_valid_prefix(text);
    return good == text.n ? text : repaired(rows->of, text, good);
}

/* ---- tables of texts ---- */

void tbp_sqlite_texts_load(struct tbp_sqlite_texts *texts, struct tbp_sqlite *s, const char *table,
                           const char *id, const char *value) {
    enum { ID, VALUE };
    const char *const columns[] = {id, value};
    struct tbp_sqlite_rows rows;
    bool is_new;
    if (!tbp_sqlite_select(s, &rows, table, columns, 2))
        return;
    while (tbp_sqlite_next(&rows)) {
        struct tbp_str text = tbp_sqlite_text(&rows, VALUE);
        uint32_t *at =
            tbp_idmap_put(&texts->index, (uint64_t)tbp_sqlite_i64(&rows, ID, 0), &is_new);
        if (!is_new)
            continue;
        *at = (uint32_t)texts->of.n;
        *tbp_vec_push(&texts->of) = tbp_arena_str(&s->host->arena, text);
    }
}

struct tbp_str tbp_sqlite_texts_get(const struct tbp_sqlite_texts *texts, int64_t id) {
    uint32_t i = tbp_idmap_get(&texts->index, (uint64_t)id);
    return i == TBP_MAP_NONE ? TBP_STR_NONE : texts->of.at[i];
}

void tbp_sqlite_texts_release(struct tbp_sqlite_texts *texts) {
    tbp_idmap_release(&texts->index);
    tbp_vec_release(&texts->of);
}
