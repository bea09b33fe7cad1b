/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof backend: puts the backend library before the official plugin where no Python package of
 * ours may be installed, and takes it away again.
 */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/overlay.h"
#include "plugin_data/json_out.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct backend_values {
    struct tbp_common common;
    const char *overlay, *xprof, *library;
};

#define AT(member) offsetof(struct backend_values, member)
static const struct tbp_opt backend_options[] = {
    {"overlay", 0, TBP_OPT_FOLDER, AT(overlay), "DIR", "folder of links to make or remove", NULL},
    {"xprof", 0, TBP_OPT_TEXT, AT(xprof), "DIR",
     "folder of the installed package xprof instead of looking for it", NULL},
    {"library", 0, TBP_OPT_TEXT, AT(library), "FILE",
     "the backend library instead of the one beside this program", NULL},
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const backend_examples[] = {
    "tbprof backend install --overlay ~/tbprof-overlay",
    "then: PYTHONPATH=~/tbprof-overlay tensorboard --logdir DIR",
    "tbprof backend remove --overlay ~/tbprof-overlay",
    "the official converter answers again",
    NULL,
};

static int tell_json(struct tbp_cli *cli, const struct backend_values *v, struct tbp_error *err) {
    struct tbp_json *j = TBP_NEW(cli->arena, struct tbp_json);
    tbp_json_init(j, &cli->answer->base);
    tbp_json_lit(j, "{\"PYTHONPATH\":");
    tbp_json_str(j, tbp_str_c(v->overlay), TBP_JSON_GVIZ);
    tbp_json_lit(j, "}\n");
    return tbp_json_finish(j, err);
}

static int install(struct tbp_cli *cli, const struct backend_values *v, struct tbp_error *err) {
    const char *package = v->xprof, *library = v->library;
    int status = package ? TBP_OK : tbp_overlay_find_package(&package, cli->arena, err);
    if (!status && !library)
        status = tbp_overlay_find_library(&library, cli->arena, err);
    if (!status)
        status = tbp_overlay_make(cli->arena, v->overlay, package, library, err);
    if (!status && v->common.json)
        return tell_json(cli, v, err);
    if (!status)
        printf("PYTHONPATH=%s tensorboard --logdir DIR\n", v->overlay);
    return status;
}

static int run_backend(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                       struct tbp_error *err) {
    const struct backend_values *v = values;
    (void)n_args;
    if (!v->overlay)
        return tbp_fail(err, TBP_E_USAGE, "'backend' needs --overlay DIR");
    if (strcmp(args[0], "install") == 0)
        return install(cli, v, err);
    if (strcmp(args[0], "remove") == 0)
        return tbp_overlay_remove(cli->arena, v->overlay, err);
    return tbp_fail(err, TBP_E_USAGE, "'backend' takes 'install' or 'remove', not '%s'", args[0]);
}

const struct tbp_command tbp_command_backend = {
    .name = "backend",
    .args = "install|remove",
    .help = "put tbprof behind TensorBoard's Profile tab without installing a Python package",
    .about =
        "Makes a folder of links in which the Profile plugin (xprof 2.22.2 and later) finds "
        "tbprof's library in place of its own; with the folder on PYTHONPATH the pages get their "
        "data from tbprof. What tbprof does not make still comes from the official library, with "
        "TBPROF_BACKEND=off in the environment everything. Nothing that is installed is changed.\n"
        "After an upgrade of xprof the folder has to be made again. Where Python packages can be "
        "installed, 'pip install' of tbprof's package does all of this by itself.",
    .examples = backend_examples,
    .options = backend_options,
    .values_size = sizeof(struct backend_values),
    .min_args = 1,
    .max_args = 1,
    .run = run_backend,
};
