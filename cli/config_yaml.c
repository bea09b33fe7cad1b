/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the configuration file with libyaml into a document and hands each key to the option table.
 * The document is two levels deep at most; deeper or foreign shapes are errors with their line.
 */
#include "cli/config_yaml.h"

#include "base/file.h"
#include "cli/yaml_depth.h"

#include <string.h>
#include <yaml.h>

struct config {
    yaml_document_t *doc;
    const char *name;
    const struct tbp_command *command; /* whose options the keys are */
    struct tbp_arena *arena;
    uint64_t given; /* options with a value already: bit i as in struct tbp_parsed */
    void *values;
};

/* "FILE:LINE: " and what is wrong there. */
static int fail_line(const struct config *f, const yaml_node_t *n, struct tbp_error *err,
                     const char *what) {
    return tbp_fail(err, TBP_E_OPTION, "%s:%zu: %s", f->name, n->start_mark.line + 1, what);
}

static const char *scalar(const struct config *f, const yaml_node_t *n) {
    struct tbp_str s = {(const char *)n->data.scalar.value, n->data.scalar.length};
    return tbp_arena_str(f->arena, s).p;
}

/* The first command that has the option. */
static const struct tbp_command *command_with(const char *key) {
    size_t index;
    for (size_t i = 0; tbp_commands[i]; i++) {
        if (tbp_command_option_named(tbp_commands[i], key, &index))
            return tbp_commands[i];
    }
    return NULL;
}

static void try_options(struct tbp_nearest *nearest, const struct tbp_command *c) {
    const struct tbp_opt *o;
    for (size_t i = 0; (o = tbp_command_option(c, i)); i++)
        tbp_nearest_try(nearest, o->name);
}

/* The command whose section a key opens, or NULL. A section is a mapping, which no option is: so
 * "tools: [overview_page]" is the option and "tools: {quiet: true}" the command. */
static const struct tbp_command *section_of(const struct config *f, const char *key,
                                            const yaml_node_t *value) {
    if (value->type != YAML_MAPPING_NODE)
        return NULL;
    return strcmp(f->command->name, key) == 0 ? f->command : tbp_command_find(key);
}

/* is_section: the key stands in the section of the command, else at the top level. */
static int fail_unknown_key(const struct config *f, const yaml_node_t *n, const char *key,
                            bool is_section, struct tbp_error *err) {
    struct tbp_nearest nearest;
    size_t line = n->start_mark.line + 1;
    tbp_nearest_init(&nearest, key);
    try_options(&nearest, f->command);
    for (size_t i = 0; !is_section && tbp_commands[i]; i++) {
        try_options(&nearest, tbp_commands[i]);
        tbp_nearest_try(&nearest, tbp_commands[i]->name);
    }
    if (!nearest.best)
        return tbp_fail(err, TBP_E_OPTION,
                        "%s:%zu: unknown key '%s'; keys are the long options of 'tbprof %s --help'",
                        f->name, line, key, f->command->name);
    return tbp_fail(err, TBP_E_OPTION, "%s:%zu: unknown key '%s'; did you mean '%s'?", f->name,
                    line, key, nearest.best);
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

static const char *shape_of(const yaml_node_t *n) {
    if (n->type == YAML_MAPPING_NODE)
        return "a mapping";
    return n->type == YAML_SEQUENCE_NODE ? "a list" : is_null(n) ? "nothing" : "a text";
}

static int fail_shape(const struct config *f, const struct tbp_opt *o, const yaml_node_t *n,
                      struct tbp_error *err) {
    static const char *const wanted[] = {[TBP_OPT_FLAG] = "true or false",
                                         [TBP_OPT_TEXT] = "a text",
                                         [TBP_OPT_NUMBER] = "a whole number",
                                         [TBP_OPT_GIVEN] = "a whole number",
                                         [TBP_OPT_CHOICE] = "one of its values",
                                         [TBP_OPT_LIST] = "a text or a list of texts",
                                         [TBP_OPT_FOLDER] = "a text"};
    return tbp_fail(err, TBP_E_OPTION, "%s:%zu: '%s' takes %s, not %s", f->name,
                    n->start_mark.line + 1, o->name, wanted[o->kind], shape_of(n));
}

static int set_scalar(const struct config *f, const struct tbp_opt *o, const yaml_node_t *n,
                      struct tbp_error *err) {
    struct tbp_error why;
    if (n->type != YAML_SCALAR_NODE || is_null(n))
        return fail_shape(f, o, n, err);
    if (tbp_str_find((struct tbp_str){(const char *)n->data.scalar.value, n->data.scalar.length},
                     '\0') < n->data.scalar.length)
        return fail_line(f, n, err, "a text with a zero byte in it");
    if (tbp_option_set(o, f->arena, f->values, scalar(f, n), &why) == TBP_OK)
        return TBP_OK;
    return tbp_fail(err, why.code, "%s:%zu: %s", f->name, n->start_mark.line + 1, why.message);
}

static int set_value(const struct config *f, const struct tbp_opt *o, const yaml_node_t *value,
                     struct tbp_error *err) {
    if (value->type != YAML_SEQUENCE_NODE || o->kind != TBP_OPT_LIST)
        return set_scalar(f, o, value, err);
    int status = TBP_OK;
    const yaml_node_item_t *item = value->data.sequence.items.start;
    for (; item < value->data.sequence.items.top && !status; item++)
        status = set_scalar(f, o, yaml_document_get_node(f->doc, *item), err);
    return status;
}

/* A key stands once in its mapping; what comes before is known to be without doubles. */
static int check_key(const struct config *f, const yaml_node_t *map, const yaml_node_pair_t *pair,
                     struct tbp_error *err) {
    const yaml_node_t *k = yaml_document_get_node(f->doc, pair->key);
    if (k->type != YAML_SCALAR_NODE)
        return fail_line(f, k, err, "a key that is no text");
    const char *key = scalar(f, k);
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < pair; p++) {
        const yaml_node_t *other = yaml_document_get_node(f->doc, p->key);
        if (strcmp((const char *)other->data.scalar.value, key) == 0)
            return tbp_fail(err, TBP_E_OPTION, "%s:%zu: key '%s' stands in line %zu already",
                            f->name, k->start_mark.line + 1, key, other->start_mark.line + 1);
    }
    if (strcmp(key, "config") == 0 || strcmp(key, "help") == 0)
        return tbp_fail(err, TBP_E_OPTION, "%s:%zu: '%s' is for the command line only", f->name,
                        k->start_mark.line + 1, key);
    return TBP_OK;
}

/* An option of f->command, unless it has a value already: then the value is only looked at. */
static int take_option(struct config *f, const char *key, const yaml_node_t *value,
                       struct tbp_error *err) {
    size_t index;
    const struct tbp_opt *o = tbp_command_option_named(f->command, key, &index);
    struct config scratch = *f;
    if (is_null(value))
        return TBP_OK;
    if (f->given >> index & 1)
        scratch.values = tbp_arena_alloc(f->arena, 1, f->command->values_size);
    int status = set_value(&scratch, o, value, err);
    f->given |= UINT64_C(1) << index;
    return status;
}

/* The section of f->command. */
static int read_section(struct config *f, const yaml_node_t *map, struct tbp_error *err) {
    const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
    int status = TBP_OK;
    for (; pair < map->data.mapping.pairs.top && !status; pair++) {
        status = check_key(f, map, pair, err);
        if (status)
            return status;
        const yaml_node_t *k = yaml_document_get_node(f->doc, pair->key);
        const char *key = scalar(f, k);
        size_t index;
        if (!tbp_command_option_named(f->command, key, &index))
            return fail_unknown_key(f, k, key, true, err);
        status = take_option(f, key, yaml_document_get_node(f->doc, pair->value), err);
    }
    return status;
}

/* The same file serves all commands, so what is meant for others is checked with values that nobody
 * sees: a typing error is told at once. */
static struct config for_other(const struct config *f, const struct tbp_command *c) {
    struct config other = *f;
    other.command = c;
    other.given = 0;
    other.values = tbp_arena_alloc(f->arena, 1, c->values_size);
    return other;
}

static int read_sections(struct config *f, const yaml_node_t *root, struct tbp_error *err) {
    const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
    int status = TBP_OK;
    for (; pair < root->data.mapping.pairs.top && !status; pair++) {
        status = check_key(f, root, pair, err);
        if (status)
            return status;
        const yaml_node_t *k = yaml_document_get_node(f->doc, pair->key);
        const yaml_node_t *v = yaml_document_get_node(f->doc, pair->value);
        const struct tbp_command *c = section_of(f, scalar(f, k), v);
        if (!c)
            continue;
        struct config other = for_other(f, c);
        status = read_section(c == f->command ? f : &other, v, err);
    }
    return status;
}

/* The keys at the top level; sections have been read, and win. */
static int read_top(struct config *f, const yaml_node_t *root, struct tbp_error *err) {
    const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
    int status = TBP_OK;
    for (; pair < root->data.mapping.pairs.top && !status; pair++) {
        const yaml_node_t *k = yaml_document_get_node(f->doc, pair->key);
        const yaml_node_t *v = yaml_document_get_node(f->doc, pair->value);
        const char *key = scalar(f, k);
        size_t index;
        if (section_of(f, key, v))
            continue;
        if (tbp_command_option_named(f->command, key, &index)) {
            status = take_option(f, key, v, err);
            continue;
        }
        const struct tbp_command *c = command_with(key);
        if (!c && (tbp_command_find(key) || strcmp(key, f->command->name) == 0)) {
            if (!is_null(v))
                status = fail_line(f, v, err, "a command takes a mapping of its options");
            continue;
        }
        if (!c)
            return fail_unknown_key(f, k, key, false, err);
        struct config other = for_other(f, c);
        status = take_option(&other, key, v, err);
    }
    return status;
}

static int read_document(struct config *f, struct tbp_error *err) {
    const yaml_node_t *root = yaml_document_get_root_node(f->doc);
    if (!root)
        return TBP_OK; /* an empty file says nothing */
    if (root->type != YAML_MAPPING_NODE)
        return fail_line(f, root, err, "no mapping of keys to values");
    int status = read_sections(f, root, err);
    return status ? status : read_top(f, root, err);
}

/* A second document would be read by nobody. */
static int check_end(yaml_parser_t *parser, const char *name, struct tbp_error *err) {
    yaml_document_t doc;
    if (!yaml_parser_load(parser, &doc))
        return tbp_fail(err, TBP_E_OPTION, "%s:%zu: no YAML: %s", name,
                        parser->problem_mark.line + 1,
                        parser->problem ? parser->problem : "unreadable");
    const yaml_node_t *root = yaml_document_get_root_node(&doc);
    size_t line = root ? root->start_mark.line + 1 : 0;
    yaml_document_delete(&doc);
    if (line)
        return tbp_fail(err, TBP_E_OPTION, "%s:%zu: a second document", name, line);
    return TBP_OK;
}

int tbp_config_parse(struct tbp_str text, const char *name, const struct tbp_command *c,
                     struct tbp_arena *arena, uint64_t *given, void *values,
                     struct tbp_error *err) {
    yaml_parser_t parser;
    yaml_document_t doc;
    size_t deep = tbp_yaml_line_too_deep(text);
    if (deep)
        return tbp_fail(err, TBP_E_OPTION, "%s:%zu: nested deeper than %d levels", name, deep,
                        TBP_YAML_MAX_DEPTH);
    if (!yaml_parser_initialize(&parser))
        return tbp_fail(err, TBP_E_MEMORY, "no memory to read '%s'", name);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    int status;
    if (!yaml_parser_load(&parser, &doc)) {
        status =
            tbp_fail(err, TBP_E_OPTION, "%s:%zu: no YAML: %s", name, parser.problem_mark.line + 1,
                     parser.problem ? parser.problem : "unreadable");
    } else {
        struct config f = {&doc, name, c, arena, *given, values};
        status = read_document(&f, err);
        *given = f.given;
        yaml_document_delete(&doc);
        if (!status)
            status = check_end(&parser, name, err);
    }
    yaml_parser_delete(&parser);
    return status;
}

int tbp_config_load(const char *path, const struct tbp_command *c, struct tbp_arena *arena,
                    uint64_t *given, void *values, struct tbp_error *err) {
    enum { MOST_BYTES = 1 << 20 };
    struct tbp_input in;
    struct tbp_file_stamp stamp; /* refuses what is no file: a device might never end */
    int status = tbp_file_stamp(&stamp, path, err);
    if (!status && stamp.size_bytes > MOST_BYTES)
        status = tbp_fail(err, TBP_E_OPTION, "'%s' has more than 1 MiB: no configuration", path);
    if (!status)
        status = tbp_input_open(&in, path, err);
    if (status)
        return status;
    struct tbp_str text = {(const char *)in.data, in.size};
    status = tbp_config_parse(text, path, c, arena, given, values, err);
    tbp_input_release(&in);
    return status;
}

int tbp_config_load_all(const struct tbp_opt_list *paths, const struct tbp_command *c,
                        struct tbp_arena *arena, uint64_t given, void *values,
                        struct tbp_error *err) {
    int status = TBP_OK;
    for (size_t i = paths->n; i-- > 0 && !status;)
        status = tbp_config_load(paths->at[i], c, arena, &given, values, err);
    return status;
}
