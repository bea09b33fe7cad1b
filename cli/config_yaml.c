/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the configuration file with libyaml into a document and hands each key to the option table.
 * The document is two levels deep at most; deeper or foreign shapes are errors with their line.
 */
#include "cli/config_yaml.h"

#include "base/file.h"

#include <string.h>
#include <yaml.h>

enum { MAX_DEPTH = 16 };

struct config {
    yaml_document_t *doc;
    const char *name;
    const struct tbp_command *command;
    struct tbp_arena *arena;
    uint64_t given;
    void *values;
};

static int fail_line(const struct config *f, const yaml_node_t *n, struct tbp_error *err,
                     const char *what) {
    return tbp_fail(err, TBP_E_OPTION, "%s in '%s' line %zu", what, f->name,
                    n->start_mark.line + 1);
}

static const char *scalar(const struct config *f, const yaml_node_t *n) {
    struct tbp_str s = {(const char *)n->data.scalar.value, n->data.scalar.length};
    return tbp_arena_str(f->arena, s).p;
}

static bool known_to_any(const char *key) {
    size_t index;
    for (size_t i = 0; tbp_commands[i]; i++) {
        if (tbp_command_option_named(tbp_commands[i], key, &index))
            return true;
    }
    return false;
}

static void try_options(struct tbp_nearest *nearest, const struct tbp_command *c) {
    const struct tbp_opt *o;
    for (size_t i = 0; (o = tbp_command_option(c, i)); i++)
        tbp_nearest_try(nearest, o->name);
}

/* The command whose section a key opens, or NULL. */
static const struct tbp_command *section_of(const struct config *f, const char *key) {
    return strcmp(f->command->name, key) == 0 ? f->command : tbp_command_find(key);
}

/* section: the command in whose section the key stands, NULL at the top level. */
static int fail_unknown_key(const struct config *f, const yaml_node_t *n, const char *key,
                            const struct tbp_command *section, struct tbp_error *err) {
    struct tbp_nearest nearest;
    tbp_nearest_init(&nearest, key);
    try_options(&nearest, section ? section : f->command);
    for (size_t i = 0; !section && tbp_commands[i]; i++) {
        try_options(&nearest, tbp_commands[i]);
        tbp_nearest_try(&nearest, tbp_commands[i]->name);
    }
    unsigned long line = n->start_mark.line + 1;
    if (!nearest.best)
        return tbp_fail(err, TBP_E_OPTION, "unknown key '%s' in '%s' line %lu", key, f->name, line);
    return tbp_fail(err, TBP_E_OPTION, "unknown key '%s' in '%s' line %lu; did you mean '%s'?", key,
                    f->name, line, nearest.best);
}

/* "key: ~" and "key:" say nothing about the key; quoted texts are texts. */
static bool is_null(const yaml_node_t *n) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    if (n->type != YAML_SCALAR_NODE || n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++) {
        if (strcmp((const char *)n->data.scalar.value, nulls[i]) == 0)
            return true;
    }
    return false;
}

static int set_value(const struct config *f, const struct tbp_opt *o, const yaml_node_t *value,
                     struct tbp_error *err) {
    if (value->type == YAML_SCALAR_NODE) {
        int status = tbp_option_set(o, f->arena, f->values, scalar(f, value), err);
        if (status)
            tbp_cause(err, "'%s' line %zu", f->name, value->start_mark.line + 1);
        return status;
    }
    if (value->type != YAML_SEQUENCE_NODE || o->kind != TBP_OPT_LIST)
        return fail_line(f, value, err, "value of the wrong shape");
    const yaml_node_item_t *item = value->data.sequence.items.start;
    for (; item < value->data.sequence.items.top; item++) {
        const yaml_node_t *n = yaml_document_get_node(f->doc, *item);
        if (n->type != YAML_SCALAR_NODE)
            return fail_line(f, n, err, "value of the wrong shape");
        int status = tbp_option_set(o, f->arena, f->values, scalar(f, n), err);
        if (status)
            return status;
    }
    return TBP_OK;
}

/* One mapping of keys; nested: the section of the command itself, where its own keys only may
 * stand. */
static int read_map(struct config *f, const yaml_node_t *map, bool nested, struct tbp_error *err) {
    if (map->type != YAML_MAPPING_NODE)
        return fail_line(f, map, err, "no mapping of keys to values");
    const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
    for (; pair < map->data.mapping.pairs.top; pair++) {
        const yaml_node_t *k = yaml_document_get_node(f->doc, pair->key);
        const yaml_node_t *v = yaml_document_get_node(f->doc, pair->value);
        if (k->type != YAML_SCALAR_NODE)
            return fail_line(f, k, err, "key of the wrong shape");
        const char *key = scalar(f, k);
        size_t index;
        if (!nested && section_of(f, key))
            continue; /* a section: read afterwards, so that it wins */
        const struct tbp_opt *o = tbp_command_option_named(f->command, key, &index);
        if (!o && !nested && known_to_any(key))
            continue;
        if (!o)
            return fail_unknown_key(f, k, key, nested ? f->command : NULL, err);
        if (f->given >> index & 1 || is_null(v))
            continue;
        int status = set_value(f, o, v, err);
        if (status)
            return status;
    }
    return TBP_OK;
}

/* Sections of other commands are checked for unknown keys too: a typing error is told at once. */
static int check_section(const struct config *f, const struct tbp_command *c,
                         const yaml_node_t *map, struct tbp_error *err) {
    if (map->type != YAML_MAPPING_NODE)
        return fail_line(f, map, err, "no mapping of keys to values");
    const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
    for (; pair < map->data.mapping.pairs.top; pair++) {
        const yaml_node_t *k = yaml_document_get_node(f->doc, pair->key);
        if (k->type != YAML_SCALAR_NODE)
            return fail_line(f, k, err, "key of the wrong shape");
        size_t index;
        const char *key = scalar(f, k);
        if (!tbp_command_option_named(c, key, &index))
            return fail_unknown_key(f, k, key, c, err);
    }
    return TBP_OK;
}

static int read_sections(struct config *f, const yaml_node_t *root, struct tbp_error *err) {
    const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
    for (; pair < root->data.mapping.pairs.top; pair++) {
        const yaml_node_t *k = yaml_document_get_node(f->doc, pair->key);
        const yaml_node_t *v = yaml_document_get_node(f->doc, pair->value);
        const struct tbp_command *c = section_of(f, scalar(f, k));
        if (!c)
            continue;
        int status = c == f->command ? read_map(f, v, true, err) : check_section(f, c, v, err);
        if (status)
            return status;
    }
    return TBP_OK;
}

static int read_document(struct config *f, struct tbp_error *err) {
    const yaml_node_t *root = yaml_document_get_root_node(f->doc);
    if (!root)
        return TBP_OK; /* an empty file says nothing */
    int status = read_map(f, root, false, err);
    return status ? status : read_sections(f, root, err);
}

/* Line of the first collection that lies deeper than MAX_DEPTH, 0 if there is none; ends at once at
 * it or at what is no YAML. */
static size_t line_too_deep(struct tbp_str text) {
    yaml_parser_t parser;
    size_t depth = 0, line = 0;
    bool is_done = !yaml_parser_initialize(&parser);
    if (is_done)
        return 0;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    for (yaml_event_t e; !is_done && yaml_parser_parse(&parser, &e); yaml_event_delete(&e)) {
        bool opens = e.type == YAML_MAPPING_START_EVENT || e.type == YAML_SEQUENCE_START_EVENT;
        bool closes = e.type == YAML_MAPPING_END_EVENT || e.type == YAML_SEQUENCE_END_EVENT;
        depth = depth + opens - closes;
        if (depth > MAX_DEPTH)
            line = e.start_mark.line + 1;
        is_done = line || e.type == YAML_STREAM_END_EVENT || e.type == YAML_NO_EVENT;
    }
    yaml_parser_delete(&parser);
    return line;
}

int tbp_config_parse(struct tbp_str text, const char *name, const struct tbp_command *c,
                     struct tbp_arena *arena, uint64_t given, void *values, struct tbp_error *err) {
    yaml_parser_t parser;
    yaml_document_t doc;
    size_t deep = line_too_deep(text);
    if (deep)
        return tbp_fail(err, TBP_E_OPTION, "'%s' line %zu is nested deeper than %d levels", name,
                        deep, MAX_DEPTH);
    if (!yaml_parser_initialize(&parser))
        return tbp_fail(err, TBP_E_MEMORY, "no memory to read '%s'", name);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    int status;
    if (!yaml_parser_load(&parser, &doc)) {
        status =
            tbp_fail(err, TBP_E_OPTION, "'%s' line %zu is no YAML: %s", name,
                     parser.problem_mark.line + 1, parser.problem ? parser.problem : "unreadable");
    } else {
        struct config f = {&doc, name, c, arena, given, values};
        status = read_document(&f, err);
        yaml_document_delete(&doc);
    }
    yaml_parser_delete(&parser);
    return status;
}

int tbp_config_load(const char *path, const struct tbp_command *c, struct tbp_arena *arena,
                    uint64_t given, void *values, struct tbp_error *err) {
    struct tbp_input in;
    int status = tbp_input_open(&in, path, err);
    if (status)
        return status;
    struct tbp_str text = {(const char *)in.data, in.size};
    status = tbp_config_parse(text, path, c, arena, given, values, err);
    tbp_input_release(&in);
    return status;
}
