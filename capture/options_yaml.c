/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of a session from a YAML file: a mapping of keys to values, at the top level or below
 * "capture" (so that one file can serve the commands, too). Read event by event, since a file of
 * options needs no tree.
 */
#include "base/arena.h"
#include "capture/capture_options.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

/* Texts of options must stay; they are few and small, and a file is read once per session. */
static struct tbp_arena texts;
static pthread_mutex_t texts_lock = PTHREAD_MUTEX_INITIALIZER;

struct reading {
    yaml_parser_t parser;
    tbprof_options *options;
    const char *path;
    char key[128];
    int depth;       /* of mappings */
    int other_depth; /* of what is not ours, 0: nothing */
    bool has_key;
};

static int fail_at(const struct reading *r, const yaml_event_t *event, const char *what,
                   struct tbp_error *err) {
    return tbp_fail(err, TBP_E_OPTION, "'%s', line %zu: %s", r->path, event->start_mark.line + 1,
                    what);
}

static int set(struct reading *r, const yaml_event_t *event, struct tbp_error *err) {
    struct tbp_str text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    pthread_mutex_lock(&texts_lock);
    const char *value = tbp_arena_str(&texts, text).p;
    pthread_mutex_unlock(&texts_lock);
    if (tbp_capture_option_set(r->options, r->key, value, err) != TBP_OK)
        return tbp_cause(err, "reading '%s', line %zu", r->path, event->start_mark.line + 1);
    return TBP_OK;
}

static int scalar(struct reading *r, const yaml_event_t *event, struct tbp_error *err) {
    if (r->depth == 0)
        return event->data.scalar.length ? fail_at(r, event, "no mapping of options", err) : TBP_OK;
    if (r->has_key) {
        r->has_key = false;
        return set(r, event, err);
    }
    size_t n = event->data.scalar.length;
    n = n < sizeof r->key ? n : sizeof r->key - 1;
    memcpy(r->key, event->data.scalar.value, n);
    r->key[n] = 0;
    r->has_key = true;
    return TBP_OK;
}

/* "capture:" opens our part; every other mapping or list is somebody else's. */
static int open_part(struct reading *r, const yaml_event_t *event, struct tbp_error *err) {
    bool is_ours = r->depth == 0 || (r->depth == 1 && r->has_key && !strcmp(r->key, "capture"));
    if (event->type == YAML_MAPPING_START_EVENT && is_ours) {
        r->depth++;
        r->has_key = false;
        return TBP_OK;
    }
    if (r->depth == 0)
        return fail_at(r, event, "no mapping of options", err);
    r->other_depth = 1;
    r->has_key = false;
    return TBP_OK;
}

static int take(struct reading *r, const yaml_event_t *event, struct tbp_error *err) {
    bool opens =
        event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT;
    bool closes = event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT;
    if (r->other_depth) {
        r->other_depth += opens - closes;
        return TBP_OK;
    }
    if (opens)
        return open_part(r, event, err);
    r->depth -= closes;
    if (event->type == YAML_ALIAS_EVENT)
        return fail_at(r, event, "aliases are not supported", err);
    return event->type == YAML_SCALAR_EVENT ? scalar(r, event, err) : TBP_OK;
}

static int read_events(struct reading *r, struct tbp_error *err) {
    yaml_event_t event;
    for (bool ends = false; !ends;) {
        if (!yaml_parser_parse(&r->parser, &event))
            return tbp_fail(err, TBP_E_OPTION, "'%s', line %zu: %s", r->path,
                            r->parser.problem_mark.line + 1,
                            r->parser.problem ? r->parser.problem : "no YAML");
        int rc = take(r, &event, err);
        ends = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (rc != TBP_OK)
            return rc;
    }
    return TBP_OK;
}

int tbp_capture_options_load(tbprof_options *options, const char *path, struct tbp_error *err) {
    struct reading r = {.options = options, .path = path};
    FILE *f = fopen(path, "re");
    if (!f)
        return tbp_fail_errno(err, TBP_E_IO, "opening '%s'", path);
    if (!yaml_parser_initialize(&r.parser)) {
        fclose(f);
        return tbp_fail(err, TBP_E_MEMORY, "no memory to read '%s'", path);
    }
    yaml_parser_set_input_file(&r.parser, f);
    int rc = read_events(&r, err);
    yaml_parser_delete(&r.parser);
    fclose(f);
    return rc;
}
