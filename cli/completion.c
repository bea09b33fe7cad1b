/* SPDX-License-Identifier: Apache-2.0
 *
 * One writer per shell. Commands, long options and the values of choices are completed by name;
 * everything else by file name.
 */
#include "cli/completion.h"

#include <string.h>

static void bash_choices(FILE *out, const struct tbp_command *c) {
    const struct tbp_opt *o;
    for (size_t i = 0; (o = tbp_command_option(c, i)); i++) {
        if (o->kind != TBP_OPT_CHOICE)
            continue;
        fprintf(out, "        %s:--%s) words='", c->name, o->name);
        for (size_t k = 0; o->choices[k]; k++)
            fprintf(out, "%s%s", k ? " " : "", o->choices[k]);
        fputs("' ;;\n", out);
    }
}

static void bash(FILE *out) {
    fputs("# bash completion of tbprof\n_tbprof() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='",
          out);
    for (size_t i = 0; tbp_commands[i]; i++)
        fprintf(out, "%s ", tbp_commands[i]->name);
    fputs("--help --version'\n    else\n        case \"${COMP_WORDS[1]}:$prev\" in\n", out);
    for (size_t i = 0; tbp_commands[i]; i++)
        bash_choices(out, tbp_commands[i]);
    fputs("        esac\n        if [ -z \"$words\" ] && [ \"${cur#-}\" != \"$cur\" ]; then\n"
          "            case \"${COMP_WORDS[1]}\" in\n",
          out);
    for (size_t i = 0; tbp_commands[i]; i++) {
        const struct tbp_opt *o;
        fprintf(out, "            %s) words='", tbp_commands[i]->name);
        for (size_t k = 0; (o = tbp_command_option(tbp_commands[i], k)); k++)
            fprintf(out, "%s--%s", k ? " " : "", o->name);
        fputs("' ;;\n", out);
    }
    fputs("            esac\n        fi\n    fi\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "    [ -n \"$words\" ] || COMPREPLY=($(compgen -f -- \"$cur\"))\n}\n"
          "complete -o filenames -F _tbprof tbprof\n",
          out);
}

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

static void zsh_option(FILE *out, const struct tbp_opt *o) {
    fprintf(out, " \\\n            '--%s[", o->name);
    quoted_help(out, o->help, "[]:\\");
    fputc(']', out);
    if (o->kind == TBP_OPT_CHOICE) {
        fputs(":value:(", out);
        for (size_t k = 0; o->choices[k]; k++)
            fprintf(out, "%s%s", k ? " " : "", o->choices[k]);
        fputc(')', out);
    } else if (o->kind != TBP_OPT_FLAG) {
        fprintf(out, ":%s:_files", o->arg);
    }
    fputc('\'', out);
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
    for (size_t i = 0; tbp_commands[i]; i++) {
        const struct tbp_opt *o;
        fprintf(out, "        %s) _arguments", tbp_commands[i]->name);
        for (size_t k = 0; (o = tbp_command_option(tbp_commands[i], k)); k++)
            zsh_option(out, o);
        fputs(" \\\n            '*:input:_files' ;;\n", out);
    }
    fputs("    esac\n}\n_tbprof \"$@\"\n", out);
}

static void fish_option(FILE *out, const char *command, const struct tbp_opt *o) {
    fprintf(out, "complete -c tbprof -n '__fish_seen_subcommand_from %s' -l %s", command, o->name);
    if (o->letter)
        fprintf(out, " -s %c", o->letter);
    if (o->kind == TBP_OPT_CHOICE) {
        fputs(" -x -a '", out);
        for (size_t k = 0; o->choices[k]; k++)
            fprintf(out, "%s%s", k ? " " : "", o->choices[k]);
        fputc('\'', out);
    } else if (o->kind != TBP_OPT_FLAG) {
        fputs(" -r", out);
    }
    fputs(" -d '", out);
    for (const char *p = o->help; *p; p++)
        fprintf(out, *p == '\'' || *p == '\\' ? "\\%c" : "%c", *p);
    fputs("'\n", out);
}

static void fish(FILE *out) {
    fputs("# fish completion of tbprof\n", out);
    for (size_t i = 0; tbp_commands[i]; i++) {
        const struct tbp_command *c = tbp_commands[i];
        const struct tbp_opt *o;
        fprintf(out, "complete -c tbprof -n __fish_use_subcommand -a %s -d '%s'\n", c->name,
                c->help);
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
