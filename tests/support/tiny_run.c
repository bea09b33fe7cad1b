/* SPDX-License-Identifier: Apache-2.0
 *
 * XSpace bytes from calls, and a session that reads them; see tiny_run.h.
 */
#include "tests/support/tiny_run.h"

#include "convert/read/reader.h"
#include "schemas/xplane_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void end_event(struct tiny_host *h) {
    if (h->in_event) {
        tbp_wire_end(&h->bytes, h->event);
    }
    h->in_event = false;
}

static void end_line(struct tiny_host *h) {
    end_event(h);
    if (h->in_line) {
        tbp_wire_end(&h->bytes, h->line);
    }
    h->in_line = false;
}

static void put_names(struct tbp_wire_out *o, uint32_t field, struct tbp_strtab *names) {
    for (size_t i = 0; i < names->n; i++) {
        size_t entry = tbp_wire_begin(o, field);
        tbp_wire_put_u64(o, TBP_MAP_KEY, i + 1);
        size_t value = tbp_wire_begin(o, TBP_MAP_VALUE);
        tbp_wire_put_u64(o, TBP_XSTATMETA_ID, i + 1);
        tbp_wire_put_str(o, TBP_XSTATMETA_NAME, names->strs[i]);
        tbp_wire_end(o, value);
        tbp_wire_end(o, entry);
    }
    tbp_strtab_release(names);
}

static void end_plane(struct tiny_host *h) {
    end_line(h);
    if (h->in_plane) {
        put_names(&h->bytes, TBP_XPLANE_EVENT_METADATA, &h->events);
        put_names(&h->bytes, TBP_XPLANE_STAT_METADATA, &h->stats);
        tbp_wire_end(&h->bytes, h->plane);
    }
    h->in_plane = false;
}

void tiny_plane(struct tiny_host *h, const char *name) {
    end_plane(h);
    h->in_plane = true;
    h->plane = tbp_wire_begin(&h->bytes, TBP_XSPACE_PLANES);
    tbp_wire_put_str(&h->bytes, TBP_XPLANE_NAME, tbp_str_c(name));
}

/* Begins a stat message in field `field` up to its value. */
static size_t begin_stat(struct tiny_host *h, uint32_t field, const char *name) {
    size_t mark = tbp_wire_begin(&h->bytes, field);
    uint64_t id = tbp_strtab_put(&h->stats, tbp_str_c(name)) + 1;
    tbp_wire_put_u64(&h->bytes, TBP_XSTAT_METADATA_ID, id);
    return mark;
}

void tiny_plane_stat_u64(struct tiny_host *h, const char *name, uint64_t v) {
    size_t mark = begin_stat(h, TBP_XPLANE_STATS, name);
    tbp_wire_put_u64(&h->bytes, TBP_XSTAT_UINT64, v);
    tbp_wire_end(&h->bytes, mark);
}

void tiny_plane_stat_str(struct tiny_host *h, const char *name, const char *v) {
    size_t mark = begin_stat(h, TBP_XPLANE_STATS, name);
    tbp_wire_put_str(&h->bytes, TBP_XSTAT_STR, tbp_str_c(v));
    tbp_wire_end(&h->bytes, mark);
}

void tiny_line(struct tiny_host *h, int64_t id) {
    end_line(h);
    h->in_line = true;
    h->line = tbp_wire_begin(&h->bytes, TBP_XPLANE_LINES);
    tbp_wire_put_u64(&h->bytes, TBP_XLINE_ID, (uint64_t)id);
}

void tiny_event(struct tiny_host *h, const char *name, int64_t offset_ps, int64_t dur_ps) {
    end_event(h);
    h->in_event = true;
    h->event = tbp_wire_begin(&h->bytes, TBP_XLINE_EVENTS);
    uint64_t id = tbp_strtab_put(&h->events, tbp_str_c(name)) + 1;
    tbp_wire_put_u64(&h->bytes, TBP_XEVENT_METADATA_ID, id);
    tbp_wire_put_u64(&h->bytes, TBP_XEVENT_OFFSET_PS, (uint64_t)offset_ps);
    tbp_wire_put_u64(&h->bytes, TBP_XEVENT_DURATION_PS, (uint64_t)dur_ps);
}

void tiny_stat_i64(struct tiny_host *h, const char *name, int64_t v) {
    size_t mark = begin_stat(h, TBP_XEVENT_STATS, name);
    tbp_wire_put_u64(&h->bytes, TBP_XSTAT_INT64, (uint64_t)v);
    tbp_wire_end(&h->bytes, mark);
}

void tiny_stat_u64(struct tiny_host *h, const char *name, uint64_t v) {
    size_t mark = begin_stat(h, TBP_XEVENT_STATS, name);
    tbp_wire_put_u64(&h->bytes, TBP_XSTAT_UINT64, v);
    tbp_wire_end(&h->bytes, mark);
}

void tiny_stat_str(struct tiny_host *h, const char *name, const char *v) {
    size_t mark = begin_stat(h, TBP_XEVENT_STATS, name);
    tbp_wire_put_str(&h->bytes, TBP_XSTAT_STR, tbp_str_c(v));
    tbp_wire_end(&h->bytes, mark);
}

struct tbp_str tiny_bytes(struct tiny_host *h) {
    end_plane(h);
    return (struct tbp_str){(const char *)h->bytes.at, h->bytes.n};
}

/* ---- session ---- */
static int load(void *ctx, uint32_t host, struct tbp_host *out, struct tbp_pool *pool,
                struct tbp_error *err) {
    const struct tbp_wire_out *bytes = &((struct tiny_run *)ctx)->hosts[host].bytes;
    char name[16];
    snprintf(name, sizeof name, "h%u", (unsigned)host);
    tbp_host_init(out);
    out->name = tbp_arena_str(&out->arena, tbp_str_c(name));
    out->path = out->name;
    uint8_t *data = malloc(bytes->n + 1); /* the host frees it */
    if (bytes->n > 0) {
        memcpy(data, bytes->at, bytes->n);
    }
    out->input = (struct tbp_input){.data = data, .size = bytes->n};
    out->size_bytes = bytes->n;
    return tbp_reader_xplane.read(out, pool, err);
}

struct tbp_session *tiny_open(struct tiny_run *run, struct tiny_host *hosts, uint32_t n,
                              enum tbp_semantics semantics) {
    static const struct tbp_str names[] = {TBP_STR_INIT("h0"), TBP_STR_INIT("h1"),
                                           TBP_STR_INIT("h2"), TBP_STR_INIT("h3")};
    for (uint32_t i = 0; i < n; i++) {
        end_plane(&hosts[i]);
    }
    run->hosts = hosts;
    run->session = tbp_session_new(names, n, semantics, load, run, NULL);
    return run->session;
}

void tiny_close(struct tiny_run *run) {
    uint32_t n = tbp_session_n_hosts(run->session);
    tbp_session_free(run->session);
    for (uint32_t i = 0; i < n; i++) {
        tbp_wire_out_release(&run->hosts[i].bytes);
    }
}
