/* SPDX-License-Identifier: Apache-2.0
 *
 * Command line parsing from the option tables: builds getopt_long's arrays, stores values, words
 * the errors. The configuration file (config_yaml.c) sets its values through the same function.
 */
#include "cli/options.h"

#include "base/str.h"
#include "plugin_data/rundir.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 48, LONG_ONLY = 256, MAX_WORD = 64 };

static const char *const when_choices[] = {"auto", "always", "never", NULL};

#define COMMON(member) offsetof(struct tbp_common, member)
const struct tbp_opt tbp_common_options[] = {
    {"config", 0, TBP_OPT_LIST, COMMON(configs), "FILE",
     "read options from a YAML file; those of the command line win. May be repeated: what a later "
     "file says wins",
     NULL},
    {"json", 0, TBP_OPT_FLAG, COMMON(json), NULL, "answer as JSON on standard output", NULL},
    {"quiet", 'q', TBP_OPT_FLAG, COMMON(quiet), NULL, "say nothing but errors and warnings", NULL},
    {"verbose", 'v', TBP_OPT_FLAG, COMMON(verbose), NULL, "say more about what is done", NULL},
    {"color", 0, TBP_OPT_CHOICE, COMMON(color), NULL,
     "colour of messages; auto: on a terminal only", when_choices},
    {"help", 'h', TBP_OPT_FLAG, COMMON(help), NULL, "show this help", NULL},
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};

int tbp_command_find_near(const struct tbp_command **out, const char *name, struct tbp_error *err) {
    struct tbp_nearest nearest;
    tbp_nearest_init(&nearest, name);
    for (size_t i = 0; tbp_commands[i]; i++)
        tbp_nearest_try(&nearest, tbp_commands[i]->name);
    *out = tbp_command_find(name);
    if (*out)
        return TBP_OK;
    if (nearest.best)
        return tbp_fail(err, TBP_E_USAGE, "unknown command '%s'; did you mean '%s'?", name,
                        nearest.best);
    return tbp_fail(err, TBP_E_USAGE, "unknown command '%s'; see 'tbprof --help'", name);
}

const struct tbp_command *tbp_command_find(const char *name) {
    for (size_t i = 0; tbp_commands[i]; i++) {
        if (strcmp(tbp_commands[i]->name, name) == 0)
            return tbp_commands[i];
    }
    return NULL;
}

const struct tbp_opt *tbp_command_option(const struct tbp_command *c, size_t i) {
    for (const struct tbp_opt *o = c->options; o && o->name; o++) {
        if (i-- == 0)
            return o;
    }
    for (const struct tbp_opt *o = tbp_common_options; o->name; o++) {
        if (c->has_no_json && o->offset == COMMON(json))
            continue;
        if (i-- == 0)
            return o;
    }
    return NULL;
}

const struct tbp_opt *tbp_command_option_named(const struct tbp_command *c, const char *name,
                                               size_t *index) {
    const struct tbp_opt *o;
    for (size_t i = 0; (o = tbp_command_option(c, i)); i++) {
        if (strcmp(o->name, name) == 0) {
            *index = i;
            return o;
        }
    }
    return NULL;
}

static int fail_unknown_option(const struct tbp_command *c, const char *word,
                               struct tbp_error *err) {
    char name[MAX_WORD + 1];
    size_t n = strcspn(word + 2, "=");
    if (n > MAX_WORD)
        n = MAX_WORD;
    memcpy(name, word + 2, n);
    name[n] = '\0';
    struct tbp_nearest nearest;
    tbp_nearest_init(&nearest, name);
    const struct tbp_opt *o;
    for (size_t i = 0; (o = tbp_command_option(c, i)); i++)
        tbp_nearest_try(&nearest, o->name);
    if (nearest.best)
        return tbp_fail(err, TBP_E_OPTION, "unknown option '--%s' of '%s'; did you mean '--%s'?",
                        name, c->name, nearest.best);
    return tbp_fail(err, TBP_E_OPTION, "unknown option '--%s' of '%s'; see 'tbprof %s --help'",
                    name, c->name, c->name);
}

static int set_choice(const struct tbp_opt *o, unsigned *value, const char *text,
                      struct tbp_error *err) {
    struct tbp_nearest nearest;
    tbp_nearest_init(&nearest, text);
    for (unsigned i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            *value = i;
            return TBP_OK;
        }
        tbp_nearest_try(&nearest, o->choices[i]);
    }
    if (nearest.best)
        return tbp_fail(err, TBP_E_OPTION, "'%s' is no value of '%s'; did you mean '%s'?", text,
                        o->name, nearest.best);
    char all[TBP_ERROR_TEXT];
    size_t n = 0;
    for (unsigned i = 0; o->choices[i] && n < sizeof all; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s'%s'", i ? ", " : "", o->choices[i]);
    return tbp_fail(err, TBP_E_OPTION, "'%s' is no value of '%s'; it has %s", text, o->name, all);
}

static void list_add(struct tbp_opt_list *l, struct tbp_arena *arena, const char *text) {
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 8;
        const char **at = TBP_NEW_N(arena, const char *, cap);
        if (l->n)
            memcpy(at, l->at, l->n * sizeof *at);
        l->at = at;
        l->cap = cap;
    }
    l->at[l->n++] = text;
}

/* The least and the most that a number may be, from what its value is called in the table. */
static void range_of(const struct tbp_opt *o, uint32_t *least, uint32_t *most) {
    const char *dots = strstr(o->arg, "..");
    *least = strcmp(o->arg, "N>0") == 0;
    *most = UINT32_MAX;
    if (dots) {
        *least = (uint32_t)strtoul(o->arg, NULL, 10);
        *most = (uint32_t)strtoul(dots + 2, NULL, 10);
    }
}

static int set_number(const struct tbp_opt *o, uint32_t *value, const char *text,
                      struct tbp_error *err) {
    uint64_t number;
    uint32_t least, most;
    range_of(o, &least, &most);
    if (!tbp_str_to_u64(tbp_str_c(text), &number) || number < least || number > most)
        return tbp_fail(err, TBP_E_OPTION,
                        "'%s' takes a whole number from %" PRIu32 " to %" PRIu32 ", not '%s'",
                        o->name, least, most, text);
    *value = (uint32_t)number;
    return TBP_OK;
}

static int set_given(const struct tbp_opt *o, struct tbp_given *given, const char *text,
                     struct tbp_error *err) {
    given->is_given = true;
    return set_number(o, &given->n, text, err);
}

int tbp_option_set(const struct tbp_opt *o, struct tbp_arena *arena, void *values, const char *text,
                   struct tbp_error *err) {
    void *place = (char *)values + o->offset;
    if (o->kind == TBP_OPT_FLAG) {
        bool on = !text || strcmp(text, "true") == 0;
        if (!on && strcmp(text, "false") != 0)
            return tbp_fail(err, TBP_E_OPTION, "'%s' takes true or false, not '%s'", o->name, text);
        *(bool *)place = on;
        return TBP_OK;
    }
    if (!text)
        return tbp_fail(err, TBP_E_OPTION, "'%s' needs a value", o->name);
    switch (o->kind) {
    case TBP_OPT_TEXT:
        *(const char **)place = text;
        return TBP_OK;
    case TBP_OPT_FOLDER:
        *(const char **)place = text;
        return tbp_rundir_local(place, err);
    case TBP_OPT_NUMBER:
        return set_number(o, place, text, err);
    case TBP_OPT_GIVEN:
        return set_given(o, place, text, err);
    case TBP_OPT_CHOICE:
        return set_choice(o, place, text, err);
    default:
        list_add(place, arena, text);
        return TBP_OK;
    }
}

/* Fills getopt's two forms of the table; val of an option is LONG_ONLY + its index. */
static void getopt_tables(const struct tbp_command *c, struct option *longs, char *shorts) {
    const struct tbp_opt *o;
    size_t i = 0, at = 0;
    shorts[at++] = ':'; /* missing values are told apart from unknown options */
    for (; (o = tbp_command_option(c, i)); i++) {
        TBP_BUG_IF(i == MAX_OPTIONS);
        int has_arg = o->kind == TBP_OPT_FLAG ? no_argument : required_argument;
        longs[i] = (struct option){o->name, has_arg, NULL, LONG_ONLY + (int)i};
        if (o->letter) {
            shorts[at++] = o->letter;
            if (has_arg == required_argument)
                shorts[at++] = ':';
        }
    }
    longs[i] = (struct option){NULL, 0, NULL, 0};
    shorts[at] = '\0';
}

static const struct tbp_opt *option_of_value(const struct tbp_command *c, int value,
                                             size_t *index) {
    const struct tbp_opt *o;
    if (value >= LONG_ONLY) {
        *index = (size_t)(value - LONG_ONLY);
        return tbp_command_option(c, *index);
    }
    for (size_t i = 0; (o = tbp_command_option(c, i)); i++) {
        if (o->letter && o->letter == value) {
            *index = i;
            return o;
        }
    }
    return NULL;
}

/* Of the words in the usage, the one after the n that are there. */
static int fail_missing(const struct tbp_command *c, size_t n, struct tbp_error *err) {
    const char *word = c->args + (strncmp(c->args, "-- ", 3) == 0 ? 3 : 0);
    for (; n > 0 && strchr(word, ' '); n--)
        word = strchr(word, ' ') + 1;
    return tbp_fail(err, TBP_E_USAGE, "%.*s is missing; usage: tbprof %s [options] %s",
                    (int)strcspn(word, " ."), word, c->name, c->args);
}

static int check_arg_count(const struct tbp_command *c, size_t n, struct tbp_error *err) {
    if (n < c->min_args)
        return fail_missing(c, n, err);
    if (n > c->max_args)
        return tbp_fail(err, TBP_E_USAGE, "too many arguments; usage: tbprof %s [options] %s",
                        c->name, c->args);
    return TBP_OK;
}

int tbp_options_parse(const struct tbp_command *c, struct tbp_arena *arena, void *values, int argc,
                      char **argv, struct tbp_parsed *out, struct tbp_error *err) {
    struct option longs[MAX_OPTIONS + 1];
    char shorts[2 * MAX_OPTIONS + 2];
    getopt_tables(c, longs, shorts);
    *out = (struct tbp_parsed){0};
    opterr = 0; /* the messages are ours */
    optind = 0; /* start afresh */
    for (int value; (value = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        size_t index = 0;
        const char *word = argv[optind - 1];
        if (value == ':')
            return tbp_fail(err, TBP_E_OPTION, "option '%s' needs a value", word);
        if (value == '?' && optopt && optopt < LONG_ONLY)
            return tbp_fail(err, TBP_E_OPTION,
                            "unknown option '-%c' of '%s'; see 'tbprof %s --help'", optopt, c->name,
                            c->name);
        if (value == '?' && optopt)
            return tbp_fail(err, TBP_E_OPTION, "option '%s' takes no value", word);
        const struct tbp_opt *o = value == '?' ? NULL : option_of_value(c, value, &index);
        if (!o)
            return fail_unknown_option(c, word, err);
        const char *text = o->kind == TBP_OPT_FLAG ? NULL : optarg;
        int status = tbp_option_set(o, arena, values, text, err);
        if (status)
            return status;
        out->given |= UINT64_C(1) << index;
    }
    out->args = argv + optind;
    out->n_args = (size_t)(argc - optind);
    if (((const struct tbp_common *)values)->help)
        return TBP_OK;
    return check_arg_count(c, out->n_args, err);
}
