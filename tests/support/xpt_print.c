/* SPDX-License-Identifier: Apache-2.0
 *
 * XSpace bytes to .xpt text; see xpt.h. Reads with protobuf-c, so that it is a second opinion on
 * our own wire reader. Names keep their ids, so that parsing the text gives the same profile again.
 */
#include "schemas/xplane.pb-c.h"
#include "tests/support/xpt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct printer {
    struct tbp_wire_out *out;
    const Tbp__XPlane *plane;
};

static void put(struct printer *p, const char *c) {
    tbp_wire_put_raw(p->out, c, strlen(c));
}

static void put_int(struct printer *p, const char *before, int64_t v) {
    char text[64];
    snprintf(text, sizeof text, "%s%" PRId64, before, v);
    put(p, text);
}

static void put_text(struct printer *p, const char *s, size_t n) {
    put(p, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        char text[8] = {(char)c, 0};
        if (c == '"' || c == '\\')
            snprintf(text, sizeof text, "\\%c", c);
        else if (c == '\n')
            snprintf(text, sizeof text, "\\n");
        else if (c < 32 || c == 127)
            snprintf(text, sizeof text, "\\x%02x", c);
        put(p, text);
    }
    put(p, "\"");
}

static void put_name(struct printer *p, const char *s) {
    put_text(p, s, strlen(s));
}

/* In the largest unit that needs no decimals. */
static void put_time(struct printer *p, const char *before, int64_t ps) {
    static const char *const units[] = {"ps", "ns", "us", "ms", "s"};
    size_t unit = 0;
    while (ps && ps % 1000 == 0 && unit < 4) {
        ps /= 1000;
        unit++;
    }
    put_int(p, before, ps);
    put(p, ps ? units[unit] : "");
}

static const char *stat_name(const Tbp__XPlane *plane, int64_t id) {
    for (size_t i = 0; i < plane->n_stat_metadata; i++)
        if (plane->stat_metadata[i]->key == id && plane->stat_metadata[i]->value)
            return plane->stat_metadata[i]->value->name;
    return NULL;
}

/* By name, if that leads to this id; a key may stand without quotes. */
static void put_stat_name(struct printer *p, int64_t id, bool is_key) {
    const char *name = stat_name(p->plane, id);
    bool is_first = false;
    for (size_t i = 0; name && i < p->plane->n_stat_metadata; i++)
        if (p->plane->stat_metadata[i]->value &&
            strcmp(p->plane->stat_metadata[i]->value->name, name) == 0) {
            is_first = p->plane->stat_metadata[i]->key == id;
            break;
        }
    const char *words = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    if (is_first && is_key && name[0] && strspn(name, words) == strlen(name))
        put(p, name);
    else if (is_first)
        put_name(p, name);
    else
        put_int(p, "#", id);
}

static void put_event_name(struct printer *p, int64_t id) {
    size_t n = p->plane->n_event_metadata;
    const char *name = NULL;
    for (size_t i = 0; i < n && !name; i++)
        if (p->plane->event_metadata[i]->key == id && p->plane->event_metadata[i]->value)
            name = p->plane->event_metadata[i]->value->name;
    for (size_t i = 0; name && i < n; i++)
        if (p->plane->event_metadata[i]->value &&
            strcmp(p->plane->event_metadata[i]->value->name, name) == 0) {
            if (p->plane->event_metadata[i]->key != id)
                name = NULL;
            break;
        }
    if (name)
        put_name(p, name);
    else
        put_int(p, "#", id);
}

static void put_double(struct printer *p, double d) {
    char text[40];
    snprintf(text, sizeof text, "%.17g", d);
    put(p, text);
    if (!strpbrk(text, ".eni")) /* inf and nan have letters */
        put(p, ".0");
}

static void put_stats(struct printer *p, Tbp__XStat *const *stats, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const Tbp__XStat *s = stats[i];
        put(p, " ");
        put_stat_name(p, s->metadata_id, true);
        put(p, "=");
        switch (s->value_case) {
        case TBP__XSTAT__VALUE_DOUBLE_VALUE:
            put_double(p, s->double_value);
            break;
        case TBP__XSTAT__VALUE_UINT64_VALUE: {
            char text[32];
            snprintf(text, sizeof text, "%" PRIu64 "u", s->uint64_value);
            put(p, text);
            break;
        }
        case TBP__XSTAT__VALUE_STR_VALUE:
            put_name(p, s->str_value);
            break;
        case TBP__XSTAT__VALUE_BYTES_VALUE:
            put(p, "b");
            put_text(p, (const char *)s->bytes_value.data, s->bytes_value.len);
            break;
        case TBP__XSTAT__VALUE_REF_VALUE:
            put(p, "@");
            put_stat_name(p, (int64_t)s->ref_value, false);
            break;
        default:
            put_int(p, "", s->value_case == TBP__XSTAT__VALUE_INT64_VALUE ? s->int64_value : 0);
            break;
        }
    }
}

static void put_names(struct printer *p) {
    for (size_t i = 0; i < p->plane->n_stat_metadata; i++) {
        put_int(p, "  statname #", p->plane->stat_metadata[i]->key);
        put(p, " ");
        put_name(p,
                 p->plane->stat_metadata[i]->value ? p->plane->stat_metadata[i]->value->name : "");
        put(p, "\n");
    }
    for (size_t i = 0; i < p->plane->n_event_metadata; i++) {
        const Tbp__XEventMetadata *m = p->plane->event_metadata[i]->value;
        put_int(p, "  name #", p->plane->event_metadata[i]->key);
        put(p, " ");
        put_name(p, m ? m->name : "");
        if (m && m->display_name[0]) {
            put(p, " display ");
            put_name(p, m->display_name);
        }
        if (m)
            put_stats(p, m->stats, m->n_stats);
        put(p, "\n");
    }
}

static void put_line(struct printer *p, const Tbp__XLine *l) {
    put_int(p, "  line ", l->id);
    put(p, " ");
    put_name(p, l->name);
    if (l->timestamp_ns)
        put_int(p, " at ", l->timestamp_ns), put(p, "ns");
    if (l->duration_ps)
        put_time(p, " lasts ", l->duration_ps);
    if (l->display_id || l->display_name[0]) {
        put_int(p, " display ", l->display_id);
        put(p, " ");
        put_name(p, l->display_name);
    }
    put(p, "\n");
    for (size_t i = 0; i < l->n_events; i++) {
        const Tbp__XEvent *e = l->events[i];
        if (e->data_case == TBP__XEVENT__DATA_NUM_OCCURRENCES)
            put_int(p, "    count ", e->num_occurrences);
        else
            put_time(p, "    ", e->offset_ps);
        put_time(p, " +", e->duration_ps);
        put(p, " ");
        put_event_name(p, e->metadata_id);
        put_stats(p, e->stats, e->n_stats);
        put(p, "\n");
    }
}

static void put_plane(struct printer *p) {
    put_int(p, "plane ", p->plane->id);
    put(p, " ");
    put_name(p, p->plane->name);
    put(p, "\n");
    put_names(p);
    for (size_t i = 0; i < p->plane->n_stats; i++) {
        put(p, "  stat");
        put_stats(p, &p->plane->stats[i], 1);
        put(p, "\n");
    }
    for (size_t i = 0; i < p->plane->n_lines; i++)
        put_line(p, p->plane->lines[i]);
}

static void put_file_texts(struct printer *p, const char *keyword, char *const *texts, size_t n) {
    for (size_t i = 0; i < n; i++) {
        put(p, keyword);
        put_name(p, texts[i]);
        put(p, "\n");
    }
}

int tbp_xpt_print(struct tbp_str bytes, struct tbp_wire_out *out, struct tbp_error *err) {
    Tbp__XSpace *s = tbp__xspace__unpack(NULL, bytes.n, (const uint8_t *)bytes.p);
    if (!s)
        return tbp_fail(err, TBP_E_FORMAT, "not an XSpace");
    struct printer p = {.out = out};
    put_file_texts(&p, "hostname ", s->hostnames, s->n_hostnames);
    put_file_texts(&p, "error ", s->errors, s->n_errors);
    put_file_texts(&p, "warning ", s->warnings, s->n_warnings);
    for (size_t i = 0; i < s->n_planes; i++) {
        p.plane = s->planes[i];
        put_plane(&p);
    }
    tbp__xspace__free_unpacked(s, NULL);
    return TBP_OK;
}
