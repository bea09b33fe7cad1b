/* SPDX-License-Identifier: Apache-2.0
 *
 * --help with --json: the option tables for programs that build on the commands.
 */
#include "cli/help.h"
#include "cli/json_parts.h"

static void option(struct tbp_json *j, const struct tbp_opt *o) {
    static const char *const kinds[] = {
        [TBP_OPT_FLAG] = "flag",    [TBP_OPT_TEXT] = "text",     [TBP_OPT_NUMBER] = "number",
        [TBP_OPT_GIVEN] = "number", [TBP_OPT_CHOICE] = "choice", [TBP_OPT_LIST] = "list",
        [TBP_OPT_FOLDER] = "text"};
    const char letter[] = {o->letter, '\0'};
    tbp_json_char(j, '{');
    tbp_json_member(j, "name", o->name);
    tbp_json_char(j, ',');
    tbp_json_member(j, "letter", o->letter ? letter : NULL);
    tbp_json_char(j, ',');
    tbp_json_member(j, "kind", kinds[o->kind]);
    tbp_json_char(j, ',');
    tbp_json_member(j, "arg", o->arg);
    tbp_json_lit(j, ",\"choices\":[");
    for (size_t i = 0; o->kind == TBP_OPT_CHOICE && o->choices[i]; i++)
        tbp_json_item(j, i, tbp_str_c(o->choices[i]));
    tbp_json_lit(j, "],");
    tbp_json_member(j, "help", o->help);
    tbp_json_char(j, '}');
}

static void examples(struct tbp_json *j, const struct tbp_command *c) {
    tbp_json_lit(j, ",\"examples\":[");
    for (size_t i = 0; c->examples && c->examples[i]; i += 2) {
        tbp_json_lit(j, i ? ",{" : "{");
        tbp_json_member(j, "line", c->examples[i]);
        tbp_json_char(j, ',');
        tbp_json_member(j, "does", c->examples[i + 1]);
        tbp_json_char(j, '}');
    }
    tbp_json_char(j, ']');
}

static void command(struct tbp_json *j, const struct tbp_command *c) {
    const struct tbp_opt *o;
    tbp_json_char(j, '{');
    tbp_json_member(j, "name", c->name);
    tbp_json_char(j, ',');
    tbp_json_member(j, "args", c->args);
    tbp_json_char(j, ',');
    tbp_json_member(j, "help", c->help);
    tbp_json_char(j, ',');
    tbp_json_member(j, "about", c->about);
    tbp_json_lit(j, ",\"options\":[");
    for (size_t i = 0; (o = tbp_command_option(c, i)); i++) {
        if (i)
            tbp_json_char(j, ',');
        option(j, o);
    }
    tbp_json_char(j, ']');
    examples(j, c);
    tbp_json_char(j, '}');
}

int tbp_help_json(struct tbp_sink *out, struct tbp_arena *arena, const struct tbp_command *only,
                  struct tbp_error *err) {
    struct tbp_json *j = TBP_NEW(arena, struct tbp_json);
    bool is_first = true;
    tbp_json_init(j, out);
    tbp_json_lit(j, "{\"commands\":[");
    for (size_t i = 0; tbp_commands[i]; i++) {
        if (only && tbp_commands[i] != only)
            continue;
        if (!is_first)
            tbp_json_lit(j, ",\n");
        command(j, tbp_commands[i]);
        is_first = false;
    }
    tbp_json_lit(j, "]}\n");
    return tbp_json_finish(j, err);
}
