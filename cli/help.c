/* SPDX-License-Identifier: Apache-2.0
 *
 * --help and the manual page, written from the option tables.
 */
#include "cli/help.h"

#include "convert/tool/tool.h"

#include <string.h>

enum { OPTION_COLUMN = 28, NAME_COLUMN = 14 };

static const char *bold(bool color) {
    return color ? "\033[1m" : "";
}
static const char *plain(bool color) {
    return color ? "\033[0m" : "";
}

void tbp_help_wrap(FILE *out, const char *text, size_t indent, size_t width) {
    size_t column = indent;
    bool is_first = true;
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (!is_first && column + 1 + n > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first && column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, n, out);
        column += n;
        is_first = false;
        text += n;
        if (*text == '\n') {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        if (*text)
            text++;
    }
    fputc('\n', out);
}

/* "-o, --output DIR" in a buffer; returns its length. */
static size_t option_usage(const struct tbp_opt *o, char *buf, size_t size) {
    char letter[5] = "    ";
    if (o->letter) {
        letter[0] = '-';
        letter[1] = o->letter;
        letter[2] = ',';
    }
    size_t n = (size_t)snprintf(buf, size, "%s--%s", letter, o->name);
    if (o->arg)
        return n + (size_t)snprintf(buf + n, size - n, " %s", o->arg);
    for (size_t i = 0; o->kind == TBP_OPT_CHOICE && o->choices[i] && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%c%s", i ? '|' : ' ', o->choices[i]);
    return n;
}

static void write_option(FILE *out, const struct tbp_opt *o) {
    char usage[160];
    size_t n = option_usage(o, usage, sizeof usage);
    if (n + 2 > OPTION_COLUMN - 2)
        fprintf(out, "  %s\n%*s", usage, OPTION_COLUMN, "");
    else
        fprintf(out, "  %-*s", OPTION_COLUMN - 2, usage);
    tbp_help_wrap(out, o->help, OPTION_COLUMN, TBP_HELP_WIDTH);
}

void tbp_help_command(FILE *out, const struct tbp_command *c, bool color) {
    fprintf(out, "%susage:%s tbprof %s [options] %s\n\n", bold(color), plain(color), c->name,
            c->args);
    tbp_help_wrap(out, c->about, 0, TBP_HELP_WIDTH);
    fprintf(out, "\n%soptions:%s\n", bold(color), plain(color));
    const struct tbp_opt *o;
    for (size_t i = 0; (o = tbp_command_option(c, i)); i++)
        write_option(out, o);
    if (c->examples && c->examples[0])
        fprintf(out, "\n%sexamples:%s\n", bold(color), plain(color));
    for (size_t i = 0; c->examples && c->examples[i]; i += 2) {
        fprintf(out, "  %s\n      ", c->examples[i]);
        tbp_help_wrap(out, c->examples[i + 1], 6, TBP_HELP_WIDTH);
    }
}

void tbp_help_overview(FILE *out, bool color) {
    fprintf(out,
            "tbprof records profiles, reads those of TensorFlow, JAX, PyTorch and many others\n"
            "('tbprof tools' lists the formats) and answers every page of TensorBoard's Profile\n"
            "tab.\n\n"
            "%susage:%s tbprof COMMAND [options] ...\n\n%scommands:%s\n",
            bold(color), plain(color), bold(color), plain(color));
    for (size_t i = 0; tbp_commands[i]; i++)
        fprintf(out, "  %-*s%s\n", NAME_COLUMN, tbp_commands[i]->name, tbp_commands[i]->help);
    fputs("\n'tbprof COMMAND --help' tells the options of a command, 'tbprof --version' the "
          "version.\n"
          "Exit codes: 0 done, 1 input damaged beyond use or --strict violated, 2 usage or path "
          "error.\n",
          out);
}

/* Text for roff: '-' and '\' escaped, a leading '.' or ''' protected. */
static void roff(FILE *out, const char *text) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else
            fputc(*text, out);
        if (*text == '\n' && (text[1] == '.' || text[1] == '\''))
            fputs("\\&", out);
    }
}

static void manual_option(FILE *out, const struct tbp_opt *o) {
    fputs(".TP\n.B ", out);
    if (o->letter)
        fprintf(out, "\\-%c, ", o->letter);
    fputs("\\-\\-", out);
    roff(out, o->name);
    if (o->arg)
        fprintf(out, " \\fI%s\\fP", o->arg);
    for (size_t i = 0; o->kind == TBP_OPT_CHOICE && o->choices[i]; i++) {
        fputc(i ? '|' : ' ', out);
        roff(out, o->choices[i]);
    }
    fputc('\n', out);
    roff(out, o->help);
    fputc('\n', out);
}

static void manual_command(FILE *out, const struct tbp_command *c) {
    fprintf(out, ".SS tbprof %s [options] ", c->name);
    roff(out, c->args);
    fputc('\n', out);
    roff(out, c->about);
    fputc('\n', out);
    for (const struct tbp_opt *o = c->options; o && o->name; o++)
        manual_option(out, o);
    for (size_t i = 0; c->examples && c->examples[i]; i += 2) {
        fputs(".PP\n", out);
        roff(out, c->examples[i + 1]);
        fputs(":\n.PP\n.nf\n.RS\n", out);
        roff(out, c->examples[i]);
        fputs("\n.RE\n.fi\n", out);
    }
}

static void manual_params(FILE *out) {
    fputs(".SH PARAMETERS OF TOOLS\n", out);
    for (size_t i = 0; tbp_tools[i]; i++) {
        const struct tbp_tool_param *p = tbp_tools[i]->params;
        if (p)
            fprintf(out, "Of \\fB%s\\fP, for \\-O:\n", tbp_tools[i]->name);
        for (; p && p->key; p++) {
            fputs(".TP\n.B ", out);
            roff(out, p->key);
            fputc('\n', out);
            roff(out, p->help);
            fputc('\n', out);
        }
    }
}

void tbp_help_manual(FILE *out) {
    fputs(".\\\" Made from the option tables by 'tbprof help --man'.\n"
          ".TH TBPROF 1 \"\" \"tbprof " TBP_VERSION "\" \"User Commands\"\n"
          ".SH NAME\ntbprof \\- record and convert profiles for TensorBoard's Profile tab\n"
          ".SH SYNOPSIS\n.B tbprof\n.I COMMAND\n[options] ...\n"
          ".SH DESCRIPTION\n"
          "INPUT is a profile in any format that\n.B tbprof tools\nlists (plain or compressed\n"
          "with gzip), a run folder (plugins/profile/RUN), a folder with the traces of workers,\n"
          "a log directory, or \\- for standard input.\n"
          "The answer goes to standard output, everything else to standard error.\n"
          ".SH COMMANDS\n",
          out);
    for (size_t i = 0; tbp_commands[i]; i++)
        manual_command(out, tbp_commands[i]);
    fputs(".SH COMMON OPTIONS\n", out);
    for (const struct tbp_opt *o = tbp_common_options; o->name; o++)
        manual_option(out, o);
    manual_params(out);
    fputs(".SH CONFIGURATION FILE\n"
          "The keys of the YAML file are the long option names; below the name of a command (a\n"
          "mapping) they serve that command only, and win. What the command line gives wins over\n"
          "both. With several files what a later one says wins. A key that is not known, that "
          "stands twice, or whose value is of another kind is\n"
          "an error with file and line.\n"
          ".SH EXIT STATUS\n"
          ".TP\n.B 0\nDone; warnings are possible.\n"
          ".TP\n.B 1\nThe input is damaged beyond use or was written to while it was read, or\n"
          "\\-\\-strict was violated.\n"
          ".TP\n.B 2\nUsage or path error.\n",
          out);
}
