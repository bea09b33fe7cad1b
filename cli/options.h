/* SPDX-License-Identifier: Apache-2.0
 *
 * The table-driven option system. A command is a const struct with a table of options; from that
 * one table come the command line parser, --help, the keys of the configuration file, the shell
 * completions (completion.h) and the manual page (help.h). Nothing is said twice.
 *
 * Values: each command has a plain struct of values, zero = default, whose first member is a
 * struct tbp_common; an option says where in it its value goes. Texts are borrowed from argv or lie
 * in the arena given. Options are parsed on the main thread only (getopt).
 */
#ifndef TBP_CLI_OPTIONS_H
#define TBP_CLI_OPTIONS_H

#include "base/arena.h"
#include "base/nearest.h"
#include "base/status.h"

enum tbp_opt_kind {
    TBP_OPT_FLAG,   /* bool */
    TBP_OPT_TEXT,   /* const char *, NULL if not given */
    TBP_OPT_FOLDER, /* the same: a folder of this machine to write to (plugin_data/rundir.h) */
    TBP_OPT_NUMBER, /* uint32_t */
    TBP_OPT_GIVEN,  /* struct tbp_given: a number whose absence is told from 0 */
    TBP_OPT_CHOICE, /* unsigned: index into choices; the first one is the default */
    TBP_OPT_LIST,   /* struct tbp_opt_list: may be given several times */
};

struct tbp_given {
    bool is_given;
    uint32_t n;
};

struct tbp_opt_list {
    const char **at;
    size_t n, cap;
};

struct tbp_opt {
    const char *name; /* long option and configuration key; NULL ends a table */
    char letter;      /* short option, or 0 */
    enum tbp_opt_kind kind;
    size_t offset;
    const char *arg; /* what the value is called: "DIR", "FILE"; NULL for flags and choices. Of a
                      * number the values that it may have: "N", "N>0", "0..256" */
    const char *help;
    const char *const *choices; /* NULL-terminated: all that a choice may be; of other kinds what
                                 * the shell offers to begin with, or NULL */
};

/* A row of a command whose work is done by threads (base/pool.h: TBP_POOL_MOST_THREADS). */
#define TBP_JOBS_OPTION(offset)                                                                    \
    { "jobs", 'j', TBP_OPT_NUMBER, (offset), "0..256", "threads; 0: one per processor", NULL }

struct tbp_common {
    bool help, quiet, verbose, json;
    unsigned color; /* enum tbp_when */
    struct tbp_opt_list configs;
};
enum tbp_when { TBP_WHEN_AUTO, TBP_WHEN_ALWAYS, TBP_WHEN_NEVER };

struct tbp_cli; /* cli.h: what a running command may use */

struct tbp_command {
    const char *name;
    const char *args;            /* "INPUT..." */
    const char *help;            /* one line */
    const char *about;           /* paragraphs */
    const char *const *examples; /* pairs: command line, what it does; NULL-terminated */
    const struct tbp_opt *options;
    size_t values_size;
    size_t min_args, max_args;
    bool has_no_json; /* its answer is a script, or a file of another tool: no option --json */
    int (*run)(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
               struct tbp_error *err);
};

extern const struct tbp_command *const tbp_commands[]; /* commands.c: THE TABLE; NULL-terminated */
extern const struct tbp_opt tbp_common_options[];      /* understood by every command */

const struct tbp_command *tbp_command_find(const char *name);
/* The same; an unknown name is TBP_E_USAGE with the nearest known one. */
int tbp_command_find_near(const struct tbp_command **out, const char *name, struct tbp_error *err);

/* The i-th option of a command, own ones first, then the common ones; NULL after the last. */
const struct tbp_opt *tbp_command_option(const struct tbp_command *c, size_t i);
const struct tbp_opt *tbp_command_option_named(const struct tbp_command *c, const char *name,
                                               size_t *index);

struct tbp_parsed {
    uint64_t given; /* bit i: option i stood on the command line */
    char **args;
    size_t n_args;
};

/* Parses argv[1 …] into values; argv[0] is the command's name. Options and arguments may be mixed,
 * "--" ends the options. Fails with TBP_E_OPTION or TBP_E_USAGE; unknown names come with the
 * nearest known one. Does not check the number of arguments when help is asked for. */
int tbp_options_parse(const struct tbp_command *c, struct tbp_arena *arena, void *values, int argc,
                      char **argv, struct tbp_parsed *out, struct tbp_error *err);

/* Sets one value from text; flags take true and false (NULL text: true). */
int tbp_option_set(const struct tbp_opt *o, struct tbp_arena *arena, void *values, const char *text,
                   struct tbp_error *err);

#endif
