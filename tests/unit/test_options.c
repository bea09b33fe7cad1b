/* SPDX-License-Identifier: Apache-2.0
 *
 * The option tables: parsing, nearest names, configuration files, and that every registry is in
 * order.
 */
#include "cli/config_yaml.h"
#include "cli/options.h"

#include "convert/analyze/session.h"
#include "convert/read/reader.h"
#include "convert/tool/tool.h"

#include <criterion/criterion.h>
#include <string.h>

struct values {
    struct tbp_common common;
    bool strict;
    const char *output;
    uint32_t jobs, port, tries;
    struct tbp_given limit;
    unsigned semantics;
    struct tbp_opt_list params;
};

static const char *const semantics[] = {"repair", "official", "tf", NULL};
static const struct tbp_opt options[] = {
    {"strict", 0, TBP_OPT_FLAG, offsetof(struct values, strict), NULL, "h", NULL},
    {"output", 'o', TBP_OPT_TEXT, offsetof(struct values, output), "DIR", "h", NULL},
    {"jobs", 'j', TBP_OPT_NUMBER, offsetof(struct values, jobs), "N", "h", NULL},
    {"semantics", 0, TBP_OPT_CHOICE, offsetof(struct values, semantics), NULL, "h", semantics},
    {"param", 'O', TBP_OPT_LIST, offsetof(struct values, params), "K=V", "h", NULL},
    {"limit", 0, TBP_OPT_GIVEN, offsetof(struct values, limit), "N", "h", NULL},
    {"port", 0, TBP_OPT_NUMBER, offsetof(struct values, port), "1..65535", "h", NULL},
    {"tries", 0, TBP_OPT_NUMBER, offsetof(struct values, tries), "N>0", "h", NULL},
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
static const struct tbp_command command = {.name = "convert",
                                           .args = "INPUT...",
                                           .options = options,
                                           .values_size = sizeof(struct values),
                                           .min_args = 1,
                                           .max_args = 3};

static struct tbp_arena arena;
static struct values v;
static struct tbp_parsed parsed;
static struct tbp_error err;

static void setup(void) {
    tbp_arena_init(&arena);
    memset(&v, 0, sizeof v);
    memset(&err, 0, sizeof err);
}

static void teardown(void) {
    tbp_arena_release(&arena);
}

TestSuite(options, .init = setup, .fini = teardown);

enum { MAX_WORDS = 16 };
static int parse(const char *const *words) {
    static char *argv[MAX_WORDS];
    int argc = 0;
    argv[argc++] = (char *)"convert";
    for (; *words; words++)
        argv[argc++] = (char *)*words;
    argv[argc] = NULL;
    return tbp_options_parse(&command, &arena, &v, argc, argv, &parsed, &err);
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static int config(const char *text) {
    uint64_t given = parsed.given;
    return tbp_config_parse(tbp_str_c(text), "f.yaml", &command, &arena, &given, &v, &err);
}

Test(options, takes_every_kind_mixed_with_arguments) {
    cr_assert_eq(PARSE("a", "--strict", "-o", "out", "--jobs=4", "b", "--semantics", "tf", "-O",
                       "x=1", "-Oy=2"),
                 TBP_OK);
    cr_assert(v.strict);
    cr_assert_str_eq(v.output, "out");
    cr_assert_eq(v.jobs, 4);
    cr_assert_eq(v.semantics, 2);
    cr_assert_eq(v.params.n, 2);
    cr_assert_str_eq(v.params.at[1], "y=2");
    cr_assert_eq(parsed.n_args, 2);
    cr_assert_str_eq(parsed.args[0], "a");
    cr_assert_str_eq(parsed.args[1], "b");
}

Test(options, names_the_nearest_option) {
    cr_assert_eq(PARSE("--otput=x", "a"), TBP_E_OPTION);
    cr_assert(strstr(err.message, "did you mean '--output'"), "%s", err.message);
}

Test(options, rejects_bad_values) {
    cr_assert_eq(PARSE("--jobs", "many", "a"), TBP_E_OPTION);
    cr_assert_eq(PARSE("--jobs", "-1", "a"), TBP_E_OPTION);
    cr_assert_eq(PARSE("--semantics", "offical", "a"), TBP_E_OPTION);
    cr_assert(strstr(err.message, "did you mean 'official'"), "%s", err.message);
    cr_assert_eq(PARSE("a", "-o"), TBP_E_OPTION);
    cr_assert(strstr(err.message, "needs a value"), "%s", err.message);
    cr_assert_eq(PARSE("--strict=yes", "a"), TBP_E_OPTION);
    cr_assert_eq(PARSE("-z", "a"), TBP_E_OPTION);
}

Test(options, numbers_have_a_range) {
    cr_assert_eq(PARSE("--port", "65535", "--tries", "4294967295", "a"), TBP_OK);
    cr_assert_eq(v.port, 65535);
    cr_assert_eq(v.tries, UINT32_MAX);
    cr_assert_not(v.limit.is_given);
    cr_assert_eq(PARSE("--limit", "0", "a"), TBP_OK);
    cr_assert(v.limit.is_given);
    const char *const wrong[][2] = {{"--port", "0"},  {"--port", "65536"},       {"--tries", "0"},
                                    {"--limit", "x"}, {"--tries", "4294967296"}, {"--port", "1.5"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(PARSE(wrong[i][0], wrong[i][1], "a"), TBP_E_OPTION, "%s", wrong[i][0]);
    cr_assert_str_eq(err.message, "'port' takes a whole number from 1 to 65535, not '1.5'");
}

Test(options, counts_arguments) {
    cr_assert_eq(PARSE("--strict"), TBP_E_USAGE);
    cr_assert_eq(PARSE("a", "b", "c", "d"), TBP_E_USAGE);
    cr_assert_eq(PARSE("--", "--strict"), TBP_OK);
    cr_assert_str_eq(parsed.args[0], "--strict");
    cr_assert_eq(PARSE("-"), TBP_OK);
}

Test(options, lists_grow) {
    struct tbp_opt_list list = {0};
    for (int i = 0; i < 100; i++)
        tbp_option_set(&options[4], &arena, &v, i % 2 ? "odd" : "even", &err);
    list = v.params;
    cr_assert_eq(list.n, 100);
    cr_assert_str_eq(list.at[0], "even");
    cr_assert_str_eq(list.at[99], "odd");
}

Test(options, config_sets_what_the_command_line_did_not) {
    cr_assert_eq(PARSE("a", "--jobs", "2"), TBP_OK);
    cr_assert_eq(config("jobs: 8\nstrict: true\nconvert:\n  output: here\n  param: [a=1, b=2]\n"),
                 TBP_OK, "%s", err.message);
    cr_assert_eq(v.jobs, 2);
    cr_assert(v.strict);
    cr_assert_str_eq(v.output, "here");
    cr_assert_eq(v.params.n, 2);
}

Test(options, config_names_line_and_nearest_key) {
    parsed.given = 0;
    cr_assert_eq(config("strict: true\njosb: 8\n"), TBP_E_OPTION);
    cr_assert(strstr(err.message, "f.yaml:2: "), "%s", err.message);
    cr_assert(strstr(err.message, "did you mean 'jobs'"), "%s", err.message);
    cr_assert_eq(config("strict: maybe\n"), TBP_E_OPTION);
    cr_assert_eq(config("strict: [a]\n"), TBP_E_OPTION);
    cr_assert_eq(config("[1, 2]\n"), TBP_E_OPTION);
    cr_assert_eq(config("a: b: c\n"), TBP_E_OPTION);
    cr_assert_eq(config(""), TBP_OK);
}

Test(options, config_values_of_another_kind_name_line_key_and_kind) {
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"output: x\nport: many\n", "f.yaml:2: 'port' takes a whole number from 1 to 65535, not "
                                    "'many'"},
        {"port: [1]\n", "f.yaml:1: 'port' takes a whole number, not a list"},
        {"limit: {a: 1}\n", "f.yaml:1: 'limit' takes a whole number, not a mapping"},
        {"strict: 1\n", "f.yaml:1: 'strict' takes true or false, not '1'"},
        {"output: [a]\n", "f.yaml:1: 'output' takes a text, not a list"},
        {"param:\n  - a=1\n  - [b]\n", "f.yaml:3: 'param' takes a text or a list of texts, not a "
                                       "list"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        parsed.given = 0;
        cr_assert_eq(config(wrong[i].text), TBP_E_OPTION, "%s", wrong[i].text);
        cr_assert_str_eq(err.message, wrong[i].says);
    }
}

static void expect_fault(const char *text, const char *where, const char *words) {
    parsed.given = 0;
    cr_assert_eq(config(text), TBP_E_OPTION, "%s", text);
    cr_assert(strncmp(err.message, where, strlen(where)) == 0, "%s", err.message);
    cr_assert(strstr(err.message, words), "%s", err.message);
}

Test(options, config_keys_stand_once) {
    expect_fault("strict: true\njobs: 1\nstrict: false\n", "f.yaml:3: ", "line 1 already");
    expect_fault("convert:\n  jobs: 1\n  jobs: 2\n", "f.yaml:3: ", "line 2 already");
    expect_fault("convert:\n  jobs: 1\nconvert:\n  jobs: 2\n", "f.yaml:3: ", "line 1 already");
    expect_fault("strict: true\n---\nstrict: false\n", "f.yaml:3: ", "second document");
}

Test(options, config_values_are_of_the_options_kind) {
    expect_fault("jobs: [1]\n", "f.yaml:1: ", "'jobs' takes a whole number, not a list");
    expect_fault("jobs: many\n", "f.yaml:1: ", "whole number");
    expect_fault("\noutput: {a: b}\n", "f.yaml:2: ", "'output' takes a text, not a mapping");
    expect_fault("strict: [true]\n", "f.yaml:1: ", "'strict' takes true or false, not a list");
    expect_fault("strict: yes\n", "f.yaml:1: ", "true or false");
    expect_fault("semantics: offical\n", "f.yaml:1: ", "did you mean 'official'");
    expect_fault("param:\n- a=1\n- [b]\n", "f.yaml:3: ", "not a list");
    expect_fault("param: [a=1, ~]\n", "f.yaml:1: ", "not nothing");
    expect_fault("doctor: 5\n", "f.yaml:1: ", "mapping of its options");
    expect_fault("[a]: 1\n", "f.yaml:1: ", "no text");
    expect_fault("config: other.yaml\n", "f.yaml:1: ", "command line only");
}

Test(options, config_of_other_commands_is_checked) {
    expect_fault("tool:\n  dialect: old\n", "f.yaml:2: ", "no value of 'dialect'");
    expect_fault("info:\n  jbos: 2\n", "f.yaml:2: ", "did you mean 'jobs'");
    expect_fault("dialect: old\n", "f.yaml:1: ", "no value of 'dialect'");
    cr_assert_eq(config("info:\n  jobs: 2\ndialect: legacy\n"), TBP_OK, "%s", err.message);
}

Test(options, config_tells_the_option_tools_from_the_command) {
    parsed.given = 0;
    cr_assert_eq(config("tools: {quiet: true}\n"), TBP_OK, "%s", err.message);
    cr_assert_not(v.common.quiet);
    cr_assert_eq(config("tools: [overview_page]\n"), TBP_OK, "%s", err.message);
    cr_assert_eq(config("tools: overview_page\n"), TBP_OK, "%s", err.message);
}

Test(options, config_section_wins_over_the_top_level) {
    parsed.given = 0;
    cr_assert_eq(config("param: [a=1]\njobs: 3\nconvert:\n  param: [b=2]\n  jobs: 4\n"), TBP_OK);
    cr_assert_eq(v.params.n, 1);
    cr_assert_str_eq(v.params.at[0], "b=2");
    cr_assert_eq(v.jobs, 4);
}

static void check_entry(const char *table, const char *name, const char *help,
                        const char *const *seen, size_t n_seen) {
    cr_assert(name && *name, "%s: entry without name", table);
    cr_assert(help && *help, "%s: '%s' has no help", table, name);
    for (size_t i = 0; i < n_seen; i++)
        cr_assert(strcmp(seen[i], name) != 0, "%s: '%s' stands twice", table, name);
}

enum { MAX_ENTRIES = 128 };

/* Options of one name are of one kind: the configuration file has one key for all of them. */
static void check_kind(const struct tbp_command *c, const struct tbp_opt *o) {
    for (size_t i = 0; tbp_commands[i] != c; i++) {
        size_t index;
        const struct tbp_opt *same = tbp_command_option_named(tbp_commands[i], o->name, &index);
        cr_assert(!same || (same->kind == o->kind && same->choices == o->choices),
                  "'%s' of '%s' is of another kind than of '%s'", o->name, c->name,
                  tbp_commands[i]->name);
    }
}

Test(registry, commands_and_their_options_are_in_order) {
    const char *names[MAX_ENTRIES];
    for (size_t i = 0; tbp_commands[i]; i++) {
        const struct tbp_command *c = tbp_commands[i];
        check_entry("commands", c->name, c->help, names, i);
        cr_assert(c->run && c->about && c->args && c->examples, "'%s' is incomplete", c->name);
        cr_assert_geq(c->values_size, sizeof(struct tbp_common));
        names[i] = c->name;
        const char *options_seen[MAX_ENTRIES];
        char letters[MAX_ENTRIES] = "";
        const struct tbp_opt *o;
        for (size_t k = 0; (o = tbp_command_option(c, k)); k++) {
            check_entry(c->name, o->name, o->help, options_seen, k);
            options_seen[k] = o->name;
            cr_assert(!o->letter || !strchr(letters, o->letter), "-%c stands twice", o->letter);
            letters[strlen(letters)] = o->letter;
            cr_assert(o->kind != TBP_OPT_CHOICE || o->choices);
            cr_assert_lt(o->offset, c->values_size);
            check_kind(c, o);
        }
    }
}

Test(registry, tools_readers_and_analyses_are_in_order) {
    const char *names[MAX_ENTRIES];
    for (size_t i = 0; tbp_tools[i]; i++) {
        check_entry("tools", tbp_tools[i]->name, tbp_tools[i]->help, names, i);
        cr_assert(tbp_tools[i]->write && tbp_tools[i]->scope, "'%s' is incomplete",
                  tbp_tools[i]->name);
        cr_assert(!tbp_tools[i]->pb_file || tbp_tools[i]->write_pb);
        names[i] = tbp_tools[i]->name;
    }
    for (size_t i = 0; tbp_readers[i]; i++) {
        check_entry("readers", tbp_readers[i]->name, tbp_readers[i]->help, names, i);
        cr_assert(tbp_readers[i]->probe && tbp_readers[i]->read);
        names[i] = tbp_readers[i]->name;
    }
    for (size_t i = 0; tbp_analyses[i]; i++) {
        check_entry("analyses", tbp_analyses[i]->name, tbp_analyses[i]->help, names, i);
        cr_assert(tbp_analyses[i]->host || tbp_analyses[i]->all);
        names[i] = tbp_analyses[i]->name;
    }
}
