/* SPDX-License-Identifier: Apache-2.0
 *
 * All tools over bytes in memory; see everything.h.
 */
#include "fuzz/everything.h"

#include "convert/analyze/rewrite_xplane.h"
#include "convert/read/reader.h"
#include "convert/tool/tool.h"

#include <stdio.h>
#include <stdlib.h>

struct source {
    const uint8_t *data;
    size_t size;
};

static int load(void *ctx, uint32_t host, struct tbp_host *out, struct tbp_pool *pool,
                struct tbp_error *err) {
    const struct source *s = ctx;
    (void)host;
    tbp_host_init(out);
    out->name = out->path = TBP_STR("fuzz");
    uint8_t *copy = malloc(
        s->size ? s->size : 1); /* exactly as long as the input, so that sanitizers see overreads */
    if (s->size)
        memcpy(copy, s->data, s->size);
    out->input = (struct tbp_input){.data = copy, .size = s->size};
    out->size_bytes = s->size;
    const struct tbp_reader *reader = tbp_reader_of(&out->input);
    int status = (reader ? reader : &tbp_reader_xplane)->read(out, pool, err);
    if (status)
        tbp_host_release(out);
    return status;
}

static void check_ledger(const struct tbp_ledger *l) {
    if (l->events_read ==
        l->events_emitted + l->events_merged + l->events_quarantined + l->events_dropped)
        return;
    fputs("the ledger does not add up\n", stderr);
    abort();
}

static void ask(struct tbp_session *s, const struct tbp_tool *tool, enum tbp_dialect dialect,
                bool pb, everything_seen_fn *seen, void *ctx) {
    struct tbp_request request = {.dialect = dialect};
    struct tbp_sink_memory out;
    struct tbp_error err;
    tbp_sink_memory_init(&out, 0);
    int status = (pb ? tool->write_pb : tool->write)(s, &request, &out.base, &err);
    if (!status && seen)
        seen(ctx, pb ? "pb" : tool->name, out.data, out.size);
    tbp_sink_memory_release(&out);
}

static void rewrite(struct tbp_session *s, everything_seen_fn *seen, void *ctx) {
    struct tbp_sink_memory out;
    struct tbp_error err;
    struct tbp_rewritten rewritten;
    tbp_sink_memory_init(&out, 0);
    if (tbp_rewrite_xplane(s, 0, 0, &out.base, &rewritten, &err) == TBP_OK && seen)
        seen(ctx, "xplane", out.data, out.size);
    tbp_sink_memory_release(&out);
}

bool everything(const uint8_t *data, size_t size, enum tbp_semantics semantics,
                everything_seen_fn *seen, void *ctx) {
    struct source source = {data, size};
    struct tbp_str name = TBP_STR("fuzz");
    struct tbp_error err;
    struct tbp_session *s = tbp_session_new(&name, 1, semantics, load, &source, NULL);
    struct tbp_host *h = tbp_session_host(s, 0, &err);
    for (size_t i = 0; h && tbp_tools[i]; i++) {
        ask(s, tbp_tools[i], TBP_DIALECT_NEWEST, false, seen, ctx);
        ask(s, tbp_tools[i], TBP_DIALECT_LEGACY, false, seen, ctx);
        if (tbp_tools[i]->write_pb)
            ask(s, tbp_tools[i], TBP_DIALECT_LEGACY, true, seen, ctx);
    }
    if (h) {
        rewrite(s, seen, ctx);
        check_ledger(&h->ledger);
    }
    tbp_session_free(s);
    return h != NULL;
}
