/* SPDX-License-Identifier: Apache-2.0
 *
 * Streaming XSpace writer; see xspace_out.h. Planes and lines are messages of unknown length: their
 * lengths are summed up in the first pass, one number each, in order of beginning. Everything below
 * them (events, names) is small and put together in one buffer.
 */
#include "plugin_data/xspace_out.h"

#include "base/vec.h"
#include "schemas/names.h"
#include "schemas/xplane_fields.h"

enum { FLUSH_BYTES = 64 * 1024 };

enum leaf { LEAF_NONE, LEAF_EVENT, LEAF_EVENT_NAME };

struct tbp_xspace_out {
    struct tbp_sink *sink;   /* NULL in the measuring pass */
    TBP_VEC(uint64_t) sizes; /* of planes and lines, in order of beginning */
    size_t next;             /* size that the next plane or line takes */
    size_t plane, line;      /* open ones: index in sizes */
    bool in_plane, in_line, has_host_plane;
    int64_t largest_plane_id;
    enum leaf leaf;
    int64_t leaf_key; /* id of the open event name */
    struct tbp_wire_out body, stat, entry, ready;
    uint64_t line_bytes, plane_bytes, file_bytes; /* so far */
    int status;
    struct tbp_error err;
};

/* ---- bytes ---- */

static void flush(struct tbp_xspace_out *o) {
    if (o->status == TBP_OK && o->ready.n)
        o->status = tbp_sink_write(o->sink, o->ready.at, o->ready.n, &o->err);
    o->ready.n = 0;
}

static void count(struct tbp_xspace_out *o, uint64_t n) {
    if (o->in_line)
        o->line_bytes += n;
    else if (o->in_plane)
        o->plane_bytes += n;
    else
        o->file_bytes += n;
}

static unsigned varint_bytes(uint64_t v) {
    unsigned n = 1;
    for (; v > 127; v >>= 7)
        n++;
    return n;
}

static void put_bytes(struct tbp_xspace_out *o, const void *p, size_t n) {
    if (n >= FLUSH_BYTES) { /* large ones past the buffer */
        flush(o);
        if (o->status == TBP_OK)
            o->status = tbp_sink_write(o->sink, p, n, &o->err);
        return;
    }
    tbp_wire_put_raw(&o->ready, p, n);
    if (o->ready.n >= FLUSH_BYTES)
        flush(o);
}

/* A field of bytes in whatever is open. All field numbers here are below 16: one byte of key. */
static void put_field(struct tbp_xspace_out *o, uint32_t field, const void *p, size_t n) {
    count(o, 1 + varint_bytes(n) + (uint64_t)n);
    if (!o->sink)
        return;
    tbp_wire_put_varint(&o->ready, (uint64_t)field << 3 | TBP_WIRE_BYTES);
    tbp_wire_put_varint(&o->ready, n);
    put_bytes(o, p, n);
}

/* Text as the official reader accepts it: bytes that are no UTF-8 become U+FFFD, one each. */
static void put_text(struct tbp_wire_out *o, uint32_t field, struct tbp_str s) {
    static const char replacement[] = "\xef\xbf\xbd";
    if (tbp_utf8_valid_prefix(s) == s.n) {
        tbp_wire_put_str(o, field, s);
        return;
    }
    struct tbp_wire_out clean = {0};
    for (size_t n; s.n; s = tbp_str_sub(s, n, s.n)) {
        n = tbp_utf8_valid_prefix(s);
        tbp_wire_put_raw(&clean, s.p, n);
        if (n < s.n) {
            tbp_wire_put_raw(&clean, replacement, 3);
            n++;
        }
    }
    tbp_wire_put_bytes(o, field, clean.at, clean.n);
    tbp_wire_out_release(&clean);
}

static void put_number(struct tbp_wire_out *o, uint32_t field, int64_t v) {
    if (v) /* the default is left out, as protobuf does */
        tbp_wire_put_u64(o, field, (uint64_t)v);
}

/* ---- closing what is open ---- */

/* {key, message} as an entry of one of the plane's maps. */
static void put_entry(struct tbp_xspace_out *o, uint32_t map, int64_t key, const void *p,
                      size_t n) {
    o->entry.n = 0;
    tbp_wire_put_u64(&o->entry, TBP_MAP_KEY, (uint64_t)key);
    tbp_wire_put_bytes(&o->entry, TBP_MAP_VALUE, p, n);
    put_field(o, map, o->entry.at, o->entry.n);
}

static void close_leaf(struct tbp_xspace_out *o) {
    if (o->leaf == LEAF_EVENT)
        put_field(o, TBP_XLINE_EVENTS, o->body.at, o->body.n);
    else if (o->leaf == LEAF_EVENT_NAME)
        put_entry(o, TBP_XPLANE_EVENT_METADATA, o->leaf_key, o->body.at, o->body.n);
    o->leaf = LEAF_NONE;
    o->body.n = 0;
}

static void check(struct tbp_xspace_out *o, size_t index, uint64_t n) {
    if (!o->sink)
        o->sizes.at[index] = n;
    else if (o->sizes.at[index] != n && o->status == TBP_OK)
        o->status = tbp_fail(&o->err, TBP_E_INTERNAL, "the profile changed while it was written");
}

static void close_line(struct tbp_xspace_out *o) {
    close_leaf(o);
    if (!o->in_line)
        return;
    check(o, o->line, o->line_bytes);
    o->in_line = false;
    count(o, o->line_bytes);
    if (!o->sink)
        count(o, 1 + varint_bytes(o->line_bytes));
}

static void close_plane(struct tbp_xspace_out *o) {
    close_line(o);
    if (!o->in_plane)
        return;
    check(o, o->plane, o->plane_bytes);
    o->in_plane = false;
    count(o, o->plane_bytes);
    if (!o->sink)
        count(o, 1 + varint_bytes(o->plane_bytes));
}

/* Begins a message whose length is known in the second pass only. */
static size_t begin(struct tbp_xspace_out *o, uint32_t field) {
    size_t index = o->next++;
    if (!o->sink) {
        *tbp_vec_push(&o->sizes) = 0;
        return index;
    }
    if (index >= o->sizes.n) {
        index = 0;
        o->status = tbp_fail(&o->err, TBP_E_INTERNAL, "the profile changed while it was written");
    }
    tbp_wire_put_varint(&o->ready, (uint64_t)field << 3 | TBP_WIRE_BYTES);
    tbp_wire_put_varint(&o->ready, o->sizes.at[index]);
    count(o, 1 + varint_bytes(o->sizes.at[index]));
    return index;
}

/* ---- the file ---- */

static void put_file_text(struct tbp_xspace_out *o, uint32_t field, struct tbp_str s) {
    close_plane(o);
    put_text(&o->stat, field, s);
    o->file_bytes += o->stat.n;
    if (o->sink)
        tbp_wire_put_raw(&o->ready, o->stat.at, o->stat.n);
    o->stat.n = 0;
}

void tbp_xspace_hostname(struct tbp_xspace_out *o, struct tbp_str s) {
    put_file_text(o, TBP_XSPACE_HOSTNAMES, s);
}

void tbp_xspace_error(struct tbp_xspace_out *o, struct tbp_str s) {
    put_file_text(o, TBP_XSPACE_ERRORS, s);
}

void tbp_xspace_warning(struct tbp_xspace_out *o, struct tbp_str s) {
    put_file_text(o, TBP_XSPACE_WARNINGS, s);
}

/* The fields gathered in `stat` become part of what is open. */
static void put_gathered(struct tbp_xspace_out *o) {
    count(o, o->stat.n);
    if (o->sink)
        tbp_wire_put_raw(&o->ready, o->stat.at, o->stat.n);
    o->stat.n = 0;
}

void tbp_xspace_plane(struct tbp_xspace_out *o, int64_t id, struct tbp_str name) {
    close_plane(o);
    o->plane = begin(o, TBP_XSPACE_PLANES);
    o->in_plane = true;
    o->plane_bytes = 0;
    o->has_host_plane |= tbp_str_is(name, TBP_HOST_PLANE);
    if (id > o->largest_plane_id)
        o->largest_plane_id = id;
    put_number(&o->stat, TBP_XPLANE_ID, id);
    put_text(&o->stat, TBP_XPLANE_NAME, name);
    put_gathered(o);
}

void tbp_xspace_stat_name(struct tbp_xspace_out *o, int64_t id, struct tbp_str name) {
    close_line(o);
    put_number(&o->body, TBP_XSTATMETA_ID, id);
    put_text(&o->body, TBP_XSTATMETA_NAME, name);
    put_entry(o, TBP_XPLANE_STAT_METADATA, id, o->body.at, o->body.n);
    o->body.n = 0;
}

void tbp_xspace_event_name(struct tbp_xspace_out *o, int64_t id, struct tbp_str name,
                           struct tbp_str display_name) {
    close_line(o);
    o->leaf = LEAF_EVENT_NAME;
    o->leaf_key = id;
    put_number(&o->body, TBP_XEVENTMETA_ID, id);
    put_text(&o->body, TBP_XEVENTMETA_NAME, name);
    if (display_name.n)
        put_text(&o->body, TBP_XEVENTMETA_DISPLAY_NAME, display_name);
}

void tbp_xspace_event_name_raw(struct tbp_xspace_out *o, int64_t id, struct tbp_str message) {
    close_line(o);
    put_entry(o, TBP_XPLANE_EVENT_METADATA, id, message.p, message.n);
}

/* ---- lines and events ---- */

void tbp_xspace_line(struct tbp_xspace_out *o, const struct tbp_xspace_line *l) {
    close_line(o);
    o->line = begin(o, TBP_XPLANE_LINES);
    o->in_line = true;
    o->line_bytes = 0;
    put_number(&o->stat, TBP_XLINE_ID, l->id);
    if (l->name.n)
        put_text(&o->stat, TBP_XLINE_NAME, l->name);
    put_number(&o->stat, TBP_XLINE_TIMESTAMP_NS, l->timestamp_ns);
    put_number(&o->stat, TBP_XLINE_DURATION_PS, l->duration_ps);
    put_number(&o->stat, TBP_XLINE_DISPLAY_ID, l->display_id);
    if (l->display_name.n)
        put_text(&o->stat, TBP_XLINE_DISPLAY_NAME, l->display_name);
    put_gathered(o);
}

static void begin_event(struct tbp_xspace_out *o) {
    close_leaf(o);
    TBP_BUG_IF(!o->in_line);
    o->leaf = LEAF_EVENT;
}

void tbp_xspace_event(struct tbp_xspace_out *o, int64_t name_id, int64_t offset_ps,
                      int64_t dur_ps) {
    begin_event(o);
    put_number(&o->body, TBP_XEVENT_METADATA_ID, name_id);
    tbp_wire_put_u64(&o->body, TBP_XEVENT_OFFSET_PS, (uint64_t)offset_ps);
    put_number(&o->body, TBP_XEVENT_DURATION_PS, dur_ps);
}

void tbp_xspace_event_count(struct tbp_xspace_out *o, int64_t name_id, int64_t n_occurrences,
                            int64_t dur_ps) {
    begin_event(o);
    put_number(&o->body, TBP_XEVENT_METADATA_ID, name_id);
    put_number(&o->body, TBP_XEVENT_DURATION_PS, dur_ps);
    tbp_wire_put_u64(&o->body, TBP_XEVENT_NUM_OCCURRENCES, (uint64_t)n_occurrences);
}

void tbp_xspace_event_raw(struct tbp_xspace_out *o, struct tbp_str message) {
    begin_event(o);
    tbp_wire_put_raw(&o->body, message.p, message.n);
}

void tbp_xspace_events_raw(struct tbp_xspace_out *o, struct tbp_str fields) {
    close_leaf(o);
    TBP_BUG_IF(!o->in_line);
    count(o, fields.n);
    if (o->sink)
        put_bytes(o, fields.p, fields.n);
}

/* ---- stats ---- */

static struct tbp_wire_out *begin_stat(struct tbp_xspace_out *o, int64_t name_id) {
    put_number(&o->stat, TBP_XSTAT_METADATA_ID, name_id);
    return &o->stat;
}

static void end_stat(struct tbp_xspace_out *o) {
    if (o->leaf == LEAF_EVENT)
        tbp_wire_put_bytes(&o->body, TBP_XEVENT_STATS, o->stat.at, o->stat.n);
    else if (o->leaf == LEAF_EVENT_NAME)
        tbp_wire_put_bytes(&o->body, TBP_XEVENTMETA_STATS, o->stat.at, o->stat.n);
    else {
        TBP_BUG_IF(!o->in_plane || o->in_line);
        put_field(o, TBP_XPLANE_STATS, o->stat.at, o->stat.n);
    }
    o->stat.n = 0;
}

void tbp_xspace_stat_i64(struct tbp_xspace_out *o, int64_t name_id, int64_t v) {
    tbp_wire_put_u64(begin_stat(o, name_id), TBP_XSTAT_INT64, (uint64_t)v);
    end_stat(o);
}

void tbp_xspace_stat_u64(struct tbp_xspace_out *o, int64_t name_id, uint64_t v) {
    tbp_wire_put_u64(begin_stat(o, name_id), TBP_XSTAT_UINT64, v);
    end_stat(o);
}

void tbp_xspace_stat_double(struct tbp_xspace_out *o, int64_t name_id, double v) {
    tbp_wire_put_double(begin_stat(o, name_id), TBP_XSTAT_DOUBLE, v);
    end_stat(o);
}

void tbp_xspace_stat_str(struct tbp_xspace_out *o, int64_t name_id, struct tbp_str v) {
    put_text(begin_stat(o, name_id), TBP_XSTAT_STR, v);
    end_stat(o);
}

void tbp_xspace_stat_bytes(struct tbp_xspace_out *o, int64_t name_id, struct tbp_str v) {
    tbp_wire_put_str(begin_stat(o, name_id), TBP_XSTAT_BYTES, v);
    end_stat(o);
}

void tbp_xspace_stat_raw(struct tbp_xspace_out *o, struct tbp_str message) {
    tbp_wire_put_raw(&o->stat, message.p, message.n);
    end_stat(o);
}

void tbp_xspace_stats_raw(struct tbp_xspace_out *o, struct tbp_str fields) {
    TBP_BUG_IF(o->leaf != LEAF_EVENT);
    tbp_wire_put_raw(&o->body, fields.p, fields.n);
}

void tbp_xspace_stat_ref(struct tbp_xspace_out *o, int64_t name_id, int64_t text_id) {
    tbp_wire_put_u64(begin_stat(o, name_id), TBP_XSTAT_REF, (uint64_t)text_id);
    end_stat(o);
}

/* ---- the two passes ---- */

static int pass(struct tbp_xspace_out *o, struct tbp_sink *sink, tbp_xspace_source *source,
                void *ctx, struct tbp_error *err) {
    o->sink = sink;
    o->next = 0;
    o->file_bytes = 0;
    o->has_host_plane = false;
    o->largest_plane_id = 0;
    int status = source(ctx, o, err);
    if (status)
        return status;
    close_plane(o);
    if (!o->has_host_plane)
        tbp_xspace_plane(o, o->largest_plane_id + 1, TBP_STR(TBP_HOST_PLANE));
    close_plane(o);
    if (sink)
        flush(o);
    if (o->status && err)
        *err = o->err;
    return o->status;
}

static void release(struct tbp_xspace_out *o) {
    tbp_vec_release(&o->sizes);
    tbp_wire_out_release(&o->body);
    tbp_wire_out_release(&o->stat);
    tbp_wire_out_release(&o->entry);
    tbp_wire_out_release(&o->ready);
}

int tbp_xspace_measure(tbp_xspace_source *source, void *ctx, uint64_t *size_bytes,
                       struct tbp_error *err) {
    struct tbp_xspace_out o = {0};
    int status = pass(&o, NULL, source, ctx, err);
    *size_bytes = o.file_bytes;
    release(&o);
    return status;
}

int tbp_xspace_write(struct tbp_sink *sink, tbp_xspace_source *source, void *ctx,
                     uint64_t max_bytes, uint64_t *size_bytes, struct tbp_error *err) {
    struct tbp_xspace_out o = {0};
    int status = pass(&o, NULL, source, ctx, err);
    uint64_t n = o.file_bytes;
    if (size_bytes)
        *size_bytes = n;
    if (!status && n > (max_bytes ? max_bytes : TBP_XSPACE_MAX_BYTES))
        status = tbp_fail(err, TBP_E_LIMIT, "a profile of %llu bytes is more than readers accept",
                          (unsigned long long)n);
    if (!status)
        status = pass(&o, sink, source, ctx, err);
    if (!status && (o.file_bytes != n || o.next != o.sizes.n))
        status = tbp_fail(err, TBP_E_INTERNAL, "the profile changed while it was written");
    release(&o);
    return status;
}
