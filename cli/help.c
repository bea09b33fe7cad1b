/* SPDX-License-Identifier: Apache-2.0
 *
 * --help and the manual page, written from the option tables.
 */
#include "cli/help.h"

#include "convert/tool/tool.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { OPTION_COLUMN = 28, NAME_COLUMN = 14, WIDTH = 80, LEAST_WIDTH = 40, MOST_WIDTH = 120 };

/* Of the terminal, as far as lines of that width can be read. */
static size_t width_of(FILE *out) {
    struct winsize size;
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || !size.ws_col)
        return WIDTH;
    return size.ws_col < LEAST_WIDTH  ? LEAST_WIDTH
           : size.ws_col > MOST_WIDTH ? MOST_WIDTH
                                      : size.ws_col;
}

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

/* "  -o, --output DIR"; returns the column after it. Many choices take several lines. */
static size_t write_usage(FILE *out, const struct tbp_opt *o, size_t width) {
    size_t first = o->letter ? (size_t)fprintf(out, "  -%c, --%s", o->letter, o->name)
                             : (size_t)fprintf(out, "      --%s", o->name);
    size_t column = first;
    if (o->arg)
        return column + (size_t)fprintf(out, " %s", o->arg);
    for (size_t i = 0; o->kind == TBP_OPT_CHOICE && o->choices[i]; i++) {
        bool is_full = column + strlen(o->choices[i]) + 2 > width;
        if (is_full) {
            fprintf(out, "|\n%*s", (int)first, "");
            column = first;
        }
        column += (size_t)fprintf(out, "%c%s", i == 0 || is_full ? ' ' : '|', o->choices[i]);
    }
    return column;
}

static void write_option(FILE *out, const struct tbp_opt *o, size_t width) {
    size_t column = write_usage(out, o, width);
    if (column + 2 > OPTION_COLUMN)
        fprintf(out, "\n%*s", OPTION_COLUMN, "");
    else
        fprintf(out, "%*s", (int)(OPTION_COLUMN - column), "");
    tbp_help_wrap(out, o->help, OPTION_COLUMN, width);
}

void tbp_help_command(FILE *out, const struct tbp_command *c, bool color) {
    size_t width = width_of(out);
    fprintf(out, "%susage:%s tbprof %s [options] %s\n\n", bold(color), plain(color), c->name,
            c->args);
    tbp_help_wrap(out, c->about, 0, width);
    fprintf(out, "\n%soptions:%s\n", bold(color), plain(color));
    const struct tbp_opt *o;
    for (size_t i = 0; (o = tbp_command_option(c, i)); i++)
        write_option(out, o, width);
    if (c->examples && c->examples[0])
        fprintf(out, "\n%sexamples:%s\n", bold(color), plain(color));
    for (size_t i = 0; c->examples && c->examples[i]; i += 2) {
        fprintf(out, "  %s\n      ", c->examples[i]);
        tbp_help_wrap(out, c->examples[i + 1], 6, width);
    }
}

void tbp_help_overview(FILE *out, bool color) {
    size_t width = width_of(out);
    tbp_help_wrap(
        out,
        "tbprof records profiles, reads those of TensorFlow, JAX, PyTorch and many others "
        "('tbprof tools' lists the formats) and answers every page of TensorBoard's "
        "Profile tab.",
        0, width);
    fprintf(out, "\n%susage:%s tbprof COMMAND [options] ...\n\n%scommands:%s\n", bold(color),
            plain(color), bold(color), plain(color));
    for (size_t i = 0; tbp_commands[i]; i++) {
        fprintf(out, "  %-*s", NAME_COLUMN, tbp_commands[i]->name);
        tbp_help_wrap(out, tbp_commands[i]->help, 2 + NAME_COLUMN, width);
    }
    fputc('\n', out);
    tbp_help_wrap(out,
                  "'tbprof COMMAND --help' tells the options of a command, 'tbprof --version' the "
                  "version.\nExit codes: 0 done, 1 the input is damaged beyond use or does not "
                  "pass (--strict, check, doctor), 2 usage or path error.",
                  0, width);
}

/* Text for roff: '-' and '\' escaped, leading dots and quotes protected. Lines may break after '|';
 * a line end begins a paragraph. */
static void roff(FILE *out, const char *text) {
    bool is_first = true;
    for (; *text; text++) {
        if (is_first && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        is_first = *text == '\n';
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '|')
            fputs("|\\:", out);
        else if (*text == '\n')
            fputs("\n.PP\n", out);
        else
            fputc(*text, out);
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
        fputs(i ? "|\\:" : " ", out);
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
          ".ad l\n.nh\n"
          ".SH NAME\ntbprof \\- record and convert profiles for TensorBoard's Profile tab\n"
          ".SH SYNOPSIS\n.B tbprof\n.I COMMAND\n[options] ...\n"
          ".SH DESCRIPTION\n"
          "INPUT is a profile in any format that\n.B tbprof tools\nlists (plain or compressed\n"
          "with gzip; FILE.zip:MEMBER), a run folder (plugins/profile/RUN), a folder with the "
          "traces of workers,\n"
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
