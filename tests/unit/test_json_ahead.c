/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of events that are read ahead: the same events, in the same order, with the same repairs,
 * wherever the pieces are cut; and that they are cut at all.
 */
#include "base/pool.h"
#include "convert/read/json_ahead.h"
#include "convert/read/reader.h"
#include "tests/support/same_host.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

struct text {
    char *at;
    size_t n, cap;
};

static void put(struct text *t, const char *s) {
    size_t n = strlen(s);
    tbp_vec_reserve(t, t->n + n + 1);
    memcpy(t->at + t->n, s, n + 1);
    t->n += n;
}

/* ---- the pieces themselves ---- */

enum { EVENTS = 1000, PIECE = 512 };

struct taken {
    struct tbp_json_pull json;
    struct tbp_json_event event;
    struct tbp_json_arg args[TBP_JSON_MAX_ARGS];
    unsigned n_ahead, n_self; /* events of pieces, and those that take read itself */
    uint64_t offsets[EVENTS]; /* of all, in order */
    unsigned n;
};

static bool take_self(struct taken *t) {
    if (tbp_json_pull_next(&t->json) != TBP_JSON_OBJECT)
        return false;
    tbp_json_event_read(&t->json, &t->event, false);
    cr_assert_lt(t->n, EVENTS);
    t->offsets[t->n++] = t->event.offset;
    t->n_self++;
    return true;
}

static bool take(void *ctx, const struct tbp_json_piece *piece) {
    struct taken *t = ctx;
    for (size_t i = 0; i < piece->events.n; i++, t->n_ahead++)
        t->offsets[t->n++] = piece->events.at[i].offset;
    while (t->json.at < piece->to)
        if (!take_self(t))
            return false;
    return true;
}

/* Reads a list of 82-byte events, the first sequentially up to the length of a piece. */
static void read_ahead(struct taken *t, const struct text *list, struct tbp_pool *pool) {
    static struct tbp_json_ahead ahead;
    *t = (struct taken){.n = 0};
    t->event.args = t->args;
    tbp_json_pull_init(&t->json, list->at, list->n);
    cr_assert_eq(tbp_json_pull_next(&t->json), TBP_JSON_ARRAY);
    const uint8_t *begin = t->json.at;
    while (t->json.at < begin + PIECE)
        cr_assert(take_self(t));
    tbp_json_ahead_init(&ahead, pool, PIECE);
    cr_assert_eq(tbp_json_ahead_read(&ahead, &t->json, begin, take, t, NULL), TBP_OK);
    tbp_json_ahead_release(&ahead);
    while (take_self(t))
        ;
}

Test(json_ahead, nearly_all_events_are_those_of_pieces) {
    struct taken t;
    struct text list = {0};
    char event[128];
    put(&list, "[");
    for (unsigned i = 0; i < EVENTS; i++) {
        snprintf(event, sizeof event,
                 "%s{\"ph\":\"X\",\"name\":\"event %04u of a list that is as long as this\","
                 "\"ts\":%04u,\"dur\":1}",
                 i ? "," : "", i, i);
        put(&list, event);
    }
    put(&list, "]");
    struct tbp_pool *pool = tbp_pool_new(3);
    read_ahead(&t, &list, pool);
    cr_assert_eq(t.n, EVENTS);
    for (unsigned i = 0; i < EVENTS; i++)
        cr_assert_eq(t.offsets[i], 1 + 83 * i, "%u", i); /* 82 bytes and a comma */
    cr_assert_geq(t.n_ahead, EVENTS - 4 * PIECE / 82, "%u",
                  t.n_ahead); /* the first piece and the last two */
    tbp_pool_free(pool);
    tbp_vec_release(&list);
}

Test(json_ahead, a_text_that_looks_like_an_event_is_none) {
    struct taken t;
    struct text list = {0};
    put(&list, "[");
    for (unsigned i = 0; i < EVENTS / 10; i++) {
        put(&list, i ? ",{\"ph\":\"X\",\"s\":\"" : "{\"ph\":\"X\",\"s\":\"");
        for (unsigned k = 0; k < 40; k++)
            put(&list, "},{\\\"ph\\\":\\\"X\\\"}, {\\\"ph\\\":1"); /* and as it stands */
        put(&list, "\",\"args\":{\"l\":[{\"ph\":1},{\"ph\":\"X\"},{\"ph\":2},{\"ph\":3}]}}");
    }
    put(&list, "]");
    struct tbp_pool *pool = tbp_pool_new(2);
    read_ahead(&t, &list, pool);
    cr_assert_eq(t.n, EVENTS / 10);
    for (unsigned i = 1; i < t.n; i++)
        cr_assert_eq(t.offsets[i] - t.offsets[i - 1], t.offsets[1] - t.offsets[0]);
    cr_assert_eq(t.json.at, t.json.end);
    tbp_pool_free(pool);
    tbp_vec_release(&list);
}

/* ---- whole documents, read both ways ---- */

static const char *const parts[] = {
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":9,\"ts\":1,\"dur\":"
    "2}",
    "{\"ph\":\"X\",\"name\":\"a \"raw\" quote\",\"pid\":9,\"tid\":8,\"ts\":3,\"dur\":1}",
    "{\"ph\":\"X\",\"name\":\"},{\\\"ph\\\":\\\"X\\\"\",\"pid\":9,\"tid\":8,\"ts\":4,\"dur\":1}",
    "{\"ph\":\"X\",\"name\":\"},{\"ph\":\"X\"\",\"pid\":9,\"tid\":8,\"ts\":5,\"dur\":1}",
    "{\"ph\":\"X\",\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":6,\"dur\":1,\"args\":{\"stack\":"
    "[{\"ph\":\"X\",\"ts\":1},{\"ph\":\"X\",\"ts\":2},{\"ph\":\"X\"}]}}",
    "{\"ph\":\"X\",\"name\":\"not closed\",\"ts\":7,\"dur\":1,\"args\":{\"a\":[1,2}",
    "{\"ph\":\"X\",\"name\":\"not closed at all\",\"ts\":8,\"dur\":1,\"args\":{\"b\":{\"c\":[[",
    "{\"ph\":\"C\",\"name\":\"memory\",\"pid\":1,\"ts\":9,\"args\":{\"used\":1,\"free\":2}}",
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":9,\"tid\":9,\"args\":{\"name\":\"main\"}}",
    "{\"ph\":\"B\",\"name\":\"b\",\"pid\":2,\"tid\":2,\"ts\":10}",
    "{\"ph\":\"E\",\"name\":\"b\",\"pid\":2,\"tid\":2,\"ts\":12}",
    "{\"ph\":\"X\",\"name\":\"\\ud800 \\x \xff\",\"pid\":1,\"tid\":1,\"ts\":N/A,\"dur\":1}",
    "{\"ph\":\"X\",\"name\":\"line\nbreak\",\"pid\":1,\"tid\":1,\"ts\":13,\"dur\":-1}",
    "{name:\"bare\",ph:\"X\",\"ts\":\"14\",,\"dur\":1}",
    "{}",
    "{\"ph\":\"X\"}",
    "{\"other\":1}",
    "null",
    "[{\"ph\":\"X\",\"ts\":1},{\"ph\":\"X\",\"ts\":1}]",
    "\"text\"",
    "{\"ph\":\"X\",\"name\":\"a quote that is not closed,\"ts\":15}",
    "]",
    "}",
    "],\"traceEvents\":[",
    "]}{\"traceEvents\":[",
    "],\"samples\":[{\"a\":1},{\"a\":2}],\"baseTimeNanoseconds\":7,\"traceEvents\":[",
};
static const char *const joins[] = {",", ", ", ",\n  ", ",", "", ",,", " "};
static const char *const heads[] = {"[", "{\"traceEvents\":[",
                                    "\xef\xbb\xbf{\"a\":1,\"traceEvents\":[", "",
                                    "{\"schemaVersion\":1,\"traceEvents\": [\n  "};
static const char *const tails[] = {"]", "]}", "", "],\"deviceProperties\":[{\"id\":0}]}",
                                    "]}]}{}"};

#define ANY(list, random) ((list)[(random) % (sizeof(list) / sizeof *(list))])

/* xorshift64*: the same documents every time. */
static unsigned next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (unsigned)(*state * UINT64_C(2685821657736338717) >> 33);
}

/* Mostly plain events, and as much of the rest as `odd` in 16 says. */
static void make_document(struct text *t, uint64_t *state, unsigned odd) {
    const char *join = ANY(joins, next_random(state));
    t->n = 0;
    put(t, ANY(heads, next_random(state)));
    for (unsigned n = next_random(state) % 60; n; n--) {
        bool is_odd = next_random(state) % 16 < odd;
        put(t, is_odd ? ANY(parts, next_random(state)) : parts[0]);
        put(t, next_random(state) % 32 == 0 ? ANY(joins, next_random(state)) : join);
    }
    put(t, ANY(tails, next_random(state)));
}

static const size_t pieces[] = {16, 64, 100, 256, 1000, 4096};

static void assert_same(const struct text *t, struct tbp_pool *pool, size_t piece) {
    static const struct tbp_reader *const readers[] = {&tbp_reader_kineto, &tbp_reader_chrome,
                                                       &tbp_reader_mxnet};
    for (unsigned r = 0; r < 3; r++) {
        const char *what =
            reading_difference(readers[r], (const uint8_t *)t->at, t->n, pool, piece);
        cr_assert_null(what, "%s: %s differs in pieces of %zu:\n%.*s", readers[r]->name, what,
                       piece, (int)t->n, t->at);
    }
}

Test(json_ahead, whatever_is_in_the_list_it_is_read_as_by_one_thread, .timeout = 600) {
    struct tbp_pool *pool = tbp_pool_new(2);
    struct text t = {0};
    uint64_t state = 88172645463325252u;
    for (unsigned i = 0; i < 3000; i++) {
        make_document(&t, &state, i % 17);
        assert_same(&t, pool, ANY(pieces, next_random(&state)));
    }
    tbp_vec_release(&t);
    tbp_pool_free(pool);
}

Test(json_ahead, wherever_it_is_cut_it_is_read_as_by_one_thread, .timeout = 600) {
    struct tbp_pool *pool = tbp_pool_new(2);
    struct text t = {0};
    put(&t, "{\"schemaVersion\":1,\"traceEvents\":[");
    for (unsigned i = 0; i < 16; i++) {
        put(&t, i ? "," : "");
        put(&t, i % 3 ? parts[0] : parts[i]);
    }
    put(&t, "],\"displayTimeUnit\":\"ns\"}");
    for (size_t n = t.n; n > 0; n--) {
        struct text cut = {t.at, n, 0};
        assert_same(&cut, pool, 64);
    }
    tbp_vec_release(&t);
    tbp_pool_free(pool);
}

Test(json_ahead, many_short_lists_are_read_as_by_one_thread) {
    struct tbp_pool *pool = tbp_pool_new(2);
    struct text t = {0};
    for (unsigned i = 0; i < 2000; i++)
        put(&t, "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph\":\"X\",\"ts\":1,\"dur\":1}]\n");
    assert_same(&t, pool, 16);
    tbp_vec_release(&t);
    tbp_pool_free(pool);
}
