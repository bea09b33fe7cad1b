/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of tools of a run; see tool_names.h. The official converter reads the whole first host
 * for it, in its own way and memory; here the model serves that the pages need next anyway.
 */
#include "convert/backend/tool_names.h"

#include <dirent.h>

/* In the order of the official list. */
static const struct {
    const char *name;
    enum { ALWAYS, OFFICIAL, GPU, PROGRAMS } when;
} offers[] = {
    {"trace_viewer@", ALWAYS},
    {"overview_page", ALWAYS},
    {"input_pipeline_analyzer", ALWAYS},
    {"framework_op_stats", ALWAYS},
    {"memory_profile", ALWAYS},
    {"op_profile", OFFICIAL},
    {"hlo_stats", OFFICIAL},
    {"roofline_model", OFFICIAL},
    {"kernel_stats", GPU},
    {"memory_viewer", PROGRAMS},
    {"graph_viewer", PROGRAMS},
};

static bool has_plane(const struct tbp_host *h, const char *prefix) {
    for (size_t i = 0; i < h->n_planes; i++)
        if (tbp_str_starts(h->planes[i].name, prefix))
            return true;
    return false;
}

static bool has_programs(const struct tbp_host *h) {
    const struct tbp_plane *p = tbp_host_plane(h, "/host:metadata");
    return p && p->n_metas > 1; /* the first stands for none */
}

/* The official converter has left the programs of the run beside it. */
static bool programs_are_written(const struct tbp_run_files *files) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    const struct tbp_run_member *m = &files->at[0];
    struct tbp_str folder = {m->path, (size_t)(m->name - m->path)};
    DIR *dir = opendir(folder.n ? tbp_arena_str(&arena, folder).p : ".");
    bool found = false;
    for (struct dirent *d; dir && !found && (d = readdir(dir));)
        found = tbp_str_ends(tbp_str_c(d->d_name), ".hlo_proto.pb");
    if (dir)
        closedir(dir);
    tbp_arena_release(&arena);
    return found;
}

int tbp_tool_names(struct tbp_session *s, const struct tbp_run_files *files, bool has_official,
                   struct tbp_sink *out, bool *is_foreign, struct tbp_error *err) {
    const struct tbp_host *h = tbp_session_raw_host(s, 0, err);
    if (!h)
        return err->code;
    const bool programs = has_programs(h);
    *is_foreign =
        has_official && (has_plane(h, "/device:TPU") || (programs && !programs_are_written(files)));
    const bool holds[] = {[ALWAYS] = true,
                          [OFFICIAL] = has_official,
                          [GPU] = has_plane(h, "/device:GPU:"),
                          [PROGRAMS] = has_official && programs};
    int status = TBP_OK;
    for (size_t i = 0; i < sizeof offers / sizeof offers[0] && !*is_foreign && !status; i++) {
        if (!holds[offers[i].when])
            continue;
        if (i)
            status = tbp_sink_write(out, ",", 1, err);
        if (!status)
            status = tbp_sink_write(out, offers[i].name, strlen(offers[i].name), err);
    }
    return status;
}
