/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof tools: lists what this build can read, compute and answer, straight from the registries.
 */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/json_parts.h"
#include "convert/analyze/session.h"
#include "convert/read/reader.h"
#include "convert/tool/tool.h"

#include <unistd.h>

static const char *const tools_examples[] = {
    "tbprof tools",
    "tools, readers and analyses with a line each",
    "tbprof tools --json",
    "the same for scripts",
    NULL,
};

enum { NAME_COLUMN = 28 };

static void list_tool(FILE *out, const struct tbp_tool *t) {
    fprintf(out, "  %-*s%s\n", NAME_COLUMN, t->name, t->help);
    for (const struct tbp_tool_param *p = t->params; p && p->key; p++)
        fprintf(out, "    -O %-*s%s\n", NAME_COLUMN - 5, p->key, p->help);
}

static void list_text(FILE *out) {
    fputs("tools (tbprof tool NAME INPUT):\n", out);
    for (size_t i = 0; tbp_tools[i]; i++)
        list_tool(out, tbp_tools[i]);
    fputs("readers (--from NAME):\n", out);
    for (size_t i = 0; tbp_readers[i]; i++)
        fprintf(out, "  %-*s%s\n", NAME_COLUMN, tbp_readers[i]->name, tbp_readers[i]->help);
    fputs("analyses:\n", out);
    for (size_t i = 0; tbp_analyses[i]; i++)
        fprintf(out, "  %-*s%s\n", NAME_COLUMN, tbp_analyses[i]->name, tbp_analyses[i]->help);
}

static void json_entry(struct tbp_json *j, size_t i, const char *name, const char *help) {
    tbp_json_lit(j, i ? ",{" : "{");
    tbp_json_member(j, "name", name);
    tbp_json_char(j, ',');
    tbp_json_member(j, "help", help);
}

static void list_json(struct tbp_json *j) {
    tbp_json_lit(j, "{\"tools\":[");
    for (size_t i = 0; tbp_tools[i]; i++) {
        const struct tbp_tool *t = tbp_tools[i];
        json_entry(j, i, t->name, t->help);
        tbp_json_char(j, ',');
        tbp_json_member(j, "legacy_name", t->legacy_name ? t->legacy_name : t->name);
        tbp_json_char(j, ',');
        tbp_json_member(j, "file", t->file);
        tbp_json_printf(j, ",\"one_host\":%s,\"all_hosts\":%s,\"params\":[",
                        t->scope & TBP_SCOPE_HOST ? "true" : "false",
                        t->scope & TBP_SCOPE_ALL_HOSTS ? "true" : "false");
        for (size_t k = 0; t->params && t->params[k].key; k++) {
            json_entry(j, k, t->params[k].key, t->params[k].help);
            tbp_json_char(j, '}');
        }
        tbp_json_lit(j, "]}");
    }
    tbp_json_lit(j, "],\"readers\":[");
    for (size_t i = 0; tbp_readers[i]; i++) {
        json_entry(j, i, tbp_readers[i]->name, tbp_readers[i]->help);
        tbp_json_char(j, '}');
    }
    tbp_json_lit(j, "],\"analyses\":[");
    for (size_t i = 0; tbp_analyses[i]; i++) {
        json_entry(j, i, tbp_analyses[i]->name, tbp_analyses[i]->help);
        tbp_json_char(j, '}');
    }
    tbp_json_lit(j, "]}\n");
}

static int run_tools(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                     struct tbp_error *err) {
    (void)values, (void)args, (void)n_args;
    if (!cli->common->json) {
        list_text(stdout);
        return TBP_OK;
    }
    struct tbp_json *j = TBP_NEW(cli->arena, struct tbp_json);
    tbp_json_init(j, &cli->answer->base);
    list_json(j);
    return tbp_json_finish(j, err);
}

const struct tbp_command tbp_command_tools = {
    .name = "tools",
    .args = "",
    .help = "list tools, readers and analyses",
    .about =
        "Lists the tools that 'tool' and 'convert' can write, the formats that can be read and "
        "the analyses between them.",
    .examples = tools_examples,
    .values_size = sizeof(struct tbp_common),
    .run = run_tools,
};
