/* SPDX-License-Identifier: Apache-2.0
 *
 * One writer per shell. What a value or an argument can be follows from what the tables call it:
 * words of its own, DIR, FILE, FORMAT, LIST, KEY=VALUE; "a|b", NAME, [COMMAND], INPUT. What has
 * another name is anything, and nothing is offered for it.
 */
#include "cli/completion.h"

#include "convert/read/reader.h"
#include "convert/tool/tool.h"

#include <string.h>

enum offer {
    OFFER_NOTHING,
    OFFER_FILES,
    OFFER_FOLDERS,
    OFFER_CHOICES, /* of the option */
    OFFER_WORDS,   /* parted by '|' in the name of the argument */
    OFFER_READERS,
    OFFER_COMMANDS,
    OFFER_TOOLS,
    OFFER_TOOL_LIST, /* parted by commas */
    OFFER_PARAMS,    /* KEY= of the tool that was named before */
};

static enum offer offer_of_option(const struct tbp_opt *o) {
    static const struct {
        const char *arg;
        enum offer offer;
    } args[] = {{"DIR", OFFER_FOLDERS},    {"FILE", OFFER_FILES},     {"PROGRAM", OFFER_FILES},
                {"FORMAT", OFFER_READERS}, {"LIST", OFFER_TOOL_LIST}, {"KEY=VALUE", OFFER_PARAMS}};
    if (o->choices)
        return OFFER_CHOICES;
    for (size_t i = 0; o->arg && i < sizeof args / sizeof *args; i++) {
        if (strcmp(o->arg, args[i].arg) == 0)
            return args[i].offer;
    }
    return OFFER_NOTHING;
}

/* Of the first argument; further ones are files. */
static enum offer offer_of_argument(const struct tbp_command *c) {
    if (c->max_args == 0)
        return OFFER_NOTHING;
    if (strchr(c->args, '|'))
        return OFFER_WORDS;
    if (strcmp(c->args, "[COMMAND]") == 0)
        return OFFER_COMMANDS;
    return strncmp(c->args, "NAME ", strlen("NAME ")) == 0 ? OFFER_TOOLS : OFFER_FILES;
}

/* ---- lists of words, parted by blanks ---- */

static void put_word(FILE *out, size_t i, const char *word) {
    fprintf(out, "%s%s", i ? " " : "", word);
}

static void put_names(FILE *out, enum offer offer) {
    for (size_t i = 0; offer == OFFER_READERS && tbp_readers[i]; i++)
        put_word(out, i, tbp_readers[i]->name);
    for (size_t i = 0; offer == OFFER_COMMANDS && tbp_commands[i]; i++)
        put_word(out, i, tbp_commands[i]->name);
    for (size_t i = 0; (offer == OFFER_TOOLS || offer == OFFER_TOOL_LIST) && tbp_tools[i]; i++)
        put_word(out, i, tbp_tools[i]->name);
}

static void put_params(FILE *out, const struct tbp_tool *t) {
    for (size_t i = 0; t->params && t->params[i].key; i++)
        fprintf(out, "%s%s=", i ? " " : "", t->params[i].key);
}

static void put_option_words(FILE *out, const struct tbp_opt *o) {
    for (size_t i = 0; o->choices && o->choices[i]; i++)
        put_word(out, i, o->choices[i]);
    if (offer_of_option(o) == OFFER_PARAMS) {
        for (size_t i = 0; tbp_tools[i]; i++)
            put_params(out, tbp_tools[i]);
    }
    put_names(out, offer_of_option(o));
}

static void put_argument_words(FILE *out, const struct tbp_command *c) {
    for (const char *p = c->args; offer_of_argument(c) == OFFER_WORDS && *p; p++)
        fputc(*p == '|' ? ' ' : *p, out);
    put_names(out, offer_of_argument(c));
}

/* ---- bash ---- */

static void bash_kind(FILE *out, enum offer offer) {
    static const char *const kinds[] = {[OFFER_NOTHING] = "nothing",
                                        [OFFER_FILES] = "files",
                                        [OFFER_FOLDERS] = "folders",
                                        [OFFER_TOOL_LIST] = "list",
                                        [OFFER_PARAMS] = "params"};
    fprintf(out, "kind=%s",
            offer < sizeof kinds / sizeof *kinds && kinds[offer] ? kinds[offer] : "words");
}

static void bash_values(FILE *out, const struct tbp_command *c) {
    const struct tbp_opt *o;
    for (size_t i = 0; (o = tbp_command_option(c, i)); i++) {
        if (o->kind == TBP_OPT_FLAG)
            continue;
        fprintf(out, "        %s:--%s", c->name, o->name);
        if (o->letter)
            fprintf(out, "|%s:-%c", c->name, o->letter);
        fputs(") ", out);
        bash_kind(out, offer_of_option(o));
        if (offer_of_option(o) != OFFER_PARAMS) {
            fputs(" words='", out);
            put_option_words(out, o);
            fputc('\'', out);
        }
        fputs(" ;;\n", out);
    }
}

static void bash_command(FILE *out, const struct tbp_command *c) {
    const struct tbp_opt *o;
    fprintf(out, "        %s) options='", c->name);
    for (size_t k = 0; (o = tbp_command_option(c, k)); k++)
        fprintf(out, "%s--%s", k ? " " : "", o->name);
    fputs("' ", out);
    bash_kind(out, offer_of_argument(c));
    fputs(" words='", out);
    put_argument_words(out, c);
    fputs("' ;;\n", out);
}

/* The tool among the words so far; '@' parts words in some set-ups. */
static void bash_tool(FILE *out) {
    fputs("    local word tool=''\n    for word in \"${COMP_WORDS[@]:2:COMP_CWORD-2}\"; do\n"
          "        case $word in\n        @) tool+=@ ;;\n        ",
          out);
    for (size_t i = 0; tbp_tools[i]; i++)
        fprintf(out, "%s%s", i ? "|" : "", tbp_tools[i]->name);
    fputs(") tool=$word ;;\n        esac\n    done\n", out);
}

static void bash_params(FILE *out) {
    fputs("    if [ \"$kind\" = params ]; then\n        case $tool in\n", out);
    for (size_t i = 0; tbp_tools[i]; i++) {
        if (!tbp_tools[i]->params)
            continue;
        fprintf(out, "        %s) words='", tbp_tools[i]->name);
        put_params(out, tbp_tools[i]);
        fputs("' ;;\n", out);
    }
    fputs("        esac\n    fi\n", out);
}

static void bash(FILE *out) {
    fputs(
        "# bash completion of tbprof\n_tbprof() {\n"
        "    local IFS=$' \\t\\n' cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    local command=${COMP_WORDS[1]} words='' options='' kind=''\n"
        "    if [ \"$cur\" = = ]; then\n        cur=''\n"
        "    elif [ \"$prev\" = = ]; then\n        prev=${COMP_WORDS[COMP_CWORD-2]}\n    fi\n",
        out);
    bash_tool(out);
    fputs("    case \"$command:$prev\" in\n", out);
    for (size_t i = 0; tbp_commands[i]; i++)
        bash_values(out, tbp_commands[i]);
    fputs("    esac\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        kind=words words='", out);
    put_names(out, OFFER_COMMANDS);
    fputs(" --help --version'\n    elif [ -z \"$kind\" ]; then\n        case $command in\n", out);
    for (size_t i = 0; tbp_commands[i]; i++)
        bash_command(out, tbp_commands[i]);
    fputs("        esac\n        [ -z \"$tool\" ] || kind=files\n"
          "        [ \"${cur#-}\" = \"$cur\" ] || kind=words words=$options\n    fi\n",
          out);
    bash_params(out);
    fputs("    local done=''\n"
          "    [ \"$kind\" != list ] || done=${cur%\"${cur##*,}\"}\n"
          "    local IFS=$'\\n'\n"
          "    case $kind in\n"
          "    files) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
          "    folders) COMPREPLY=($(compgen -d -- \"$cur\")) ;;\n"
          "    nothing) COMPREPLY=() ;;\n"
          "    *) COMPREPLY=($(IFS=' '; compgen -P \"$done\" -W \"$words\" -- "
          "\"${cur#\"$done\"}\")) ;;\n"
          "    esac\n"
          "    case $kind in files|folders) compopt -o filenames 2>/dev/null ;; esac\n"
          "    case ${COMPREPLY-} in *=) compopt -o nospace 2>/dev/null ;; esac\n}\n"
          "complete -F _tbprof tbprof\n",
          out);
}

/* ---- zsh ---- */

/* Help texts inside single quotes: brackets and colons mean something to zsh, quotes to every
 * shell. */
static void quoted_help(FILE *out, const char *text, const char *special) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr(special, *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void zsh_action(FILE *out, const struct tbp_opt *o) {
    enum offer offer = offer_of_option(o);
    quoted_help(out, o->arg ? o->arg : "value", "[]:\\");
    fputc(':', out);
    if (offer == OFFER_FILES || offer == OFFER_FOLDERS) {
        fputs(offer == OFFER_FILES ? "_files" : "_files -/", out);
        return;
    }
    if (offer == OFFER_NOTHING) {
        fputc(' ', out);
        return;
    }
    fputs(offer == OFFER_TOOL_LIST ? "_values -s , tool " : "(", out);
    put_option_words(out, o);
    fputs(offer == OFFER_TOOL_LIST ? "" : ")", out);
}

/* One spelling: '*--param=[help]:KEY=VALUE:(…)'. */
static void zsh_spelling(FILE *out, const struct tbp_opt *o, const char *dashes, const char *name,
                         const char *mark) {
    bool takes_value = o->kind != TBP_OPT_FLAG;
    fprintf(out, " \\\n            '%s%s%s%s[", o->kind == TBP_OPT_LIST ? "*" : "", dashes, name,
            takes_value ? mark : "");
    quoted_help(out, o->help, "[]:\\");
    fputc(']', out);
    if (takes_value) {
        fputc(':', out);
        zsh_action(out, o);
    }
    fputc('\'', out);
}

static void zsh_command(FILE *out, const struct tbp_command *c) {
    const struct tbp_opt *o;
    enum offer offer = offer_of_argument(c);
    fprintf(out, "        %s) _arguments", c->name);
    for (size_t k = 0; (o = tbp_command_option(c, k)); k++) {
        const char letter[] = {o->letter, '\0'};
        zsh_spelling(out, o, "--", o->name, "=");
        if (o->letter)
            zsh_spelling(out, o, "-", letter, "+");
    }
    if (offer != OFFER_FILES && offer != OFFER_NOTHING) {
        fputs(" \\\n            '1:argument:(", out);
        put_argument_words(out, c);
        fputs(")'", out);
    }
    if (offer == OFFER_FILES || offer == OFFER_TOOLS)
        fputs(" \\\n            '*:input:_files'", out);
    fputs(" ;;\n", out);
}

static void zsh(FILE *out) {
    fputs("#compdef tbprof\n_tbprof() {\n    local -a commands=(\n", out);
    for (size_t i = 0; tbp_commands[i]; i++) {
        fprintf(out, "        '%s:", tbp_commands[i]->name);
        quoted_help(out, tbp_commands[i]->help, "");
        fputs("'\n", out);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        "
          "return\n"
          "    fi\n    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case "
          "$command in\n",
          out);
    for (size_t i = 0; tbp_commands[i]; i++)
        zsh_command(out, tbp_commands[i]);
    /* a file on fpath is run to complete; source only tells of the function */
    fputs("    esac\n}\nif [ \"$funcstack[1]\" = _tbprof ]; then\n    _tbprof \"$@\"\nelse\n"
          "    compdef _tbprof tbprof\nfi\n",
          out);
}

/* ---- fish ---- */

static void fish_option(FILE *out, const char *command, const struct tbp_opt *o) {
    static const char *const offers[] = {[OFFER_NOTHING] = " -x",
                                         [OFFER_FILES] = " -r -F",
                                         [OFFER_FOLDERS] =
                                             " -x -a '(__fish_complete_directories)'"};
    enum offer offer = offer_of_option(o);
    fprintf(out, "complete -c tbprof -n '__tbprof_runs %s' -l %s", command, o->name);
    if (o->letter)
        fprintf(out, " -s %c", o->letter);
    if (o->kind != TBP_OPT_FLAG && offer <= OFFER_FOLDERS) {
        fputs(offers[offer], out);
    } else if (o->kind != TBP_OPT_FLAG) {
        bool is_list = offer == OFFER_TOOL_LIST;
        fputs(is_list ? " -x -a '(__fish_append , " : " -x -a '", out);
        put_option_words(out, o);
        fputs(is_list ? ")'" : "'", out);
    }
    fputs(" -d '", out);
    for (const char *p = o->help; *p; p++)
        fprintf(out, *p == '\'' || *p == '\\' ? "\\%c" : "%c", *p);
    fputs("'\n", out);
}

static void fish_argument(FILE *out, const struct tbp_command *c) {
    enum offer offer = offer_of_argument(c);
    if (offer == OFFER_FILES)
        return; /* which is what fish does */
    fprintf(out, "complete -c tbprof -n '__tbprof_runs %s%s' -f", c->name,
            offer == OFFER_TOOLS ? "; and test (count (commandline -opc)) -eq 2" : "");
    if (offer != OFFER_NOTHING) {
        fputs(" -a '", out);
        put_argument_words(out, c);
        fputc('\'', out);
    }
    fputc('\n', out);
}

static void fish(FILE *out) {
    fputs("# fish completion of tbprof\n"
          "function __tbprof_runs\n    set -l words (commandline -opc)\n"
          "    test (count $words) -gt 1; and test $words[2] = $argv[1]\nend\n",
          out);
    for (size_t i = 0; tbp_commands[i]; i++) {
        const struct tbp_command *c = tbp_commands[i];
        const struct tbp_opt *o;
        fprintf(out, "complete -c tbprof -f -n __fish_use_subcommand -a %s -d '", c->name);
        for (const char *p = c->help; *p; p++)
            fprintf(out, *p == '\'' || *p == '\\' ? "\\%c" : "%c", *p);
        fputs("'\n", out);
        fish_argument(out, c);
        for (size_t k = 0; (o = tbp_command_option(c, k)); k++)
            fish_option(out, c->name, o);
    }
}

int tbp_completion(FILE *out, const char *shell, struct tbp_error *err) {
    if (strcmp(shell, "bash") == 0)
        bash(out);
    else if (strcmp(shell, "zsh") == 0)
        zsh(out);
    else if (strcmp(shell, "fish") == 0)
        fish(out);
    else
        return tbp_fail(err, TBP_E_USAGE, "no completion for '%s'; known are bash, zsh and fish",
                        shell);
    return TBP_OK;
}
