/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of tools of a run; see tool_names.h. The official converter reads the whole first host
 * for it, in its own way and memory; here the model serves that the pages need next anyway.
 */
#include "convert/backend/tool_names.h"

#include <dirent.h>
#include <unistd.h>

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

/* The official converter leaves the programs of a run beside it when it lists the tools, and fails
 * where it cannot. */
enum written { WRITTEN, NOT_WRITTEN, CANNOT_BE_WRITTEN };

static enum written find_programs(const char *folder) {
    enum written found = access(folder, W_OK) == 0 ? NOT_WRITTEN : CANNOT_BE_WRITTEN;
    DIR *dir = opendir(folder);
    for (struct dirent *d; dir && (d = readdir(dir));)
        if (tbp_str_ends(tbp_str_c(d->d_name), ".hlo_proto.pb"))
            found = WRITTEN;
    if (dir)
        closedir(dir);
    return found;
}

static enum written programs_of(const struct tbp_run_files *files) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    const struct tbp_run_member *m = &files->at[0];
    struct tbp_str folder = {m->path, (size_t)(m->name - m->path)};
    enum written found = find_programs(folder.n ? tbp_arena_str(&arena, folder).p : ".");
    tbp_arena_release(&arena);
    return found;
}

int tbp_tool_names(struct tbp_session *s, const struct tbp_run_files *files,
                   enum tbp_official_use official, struct tbp_sink *out, bool *is_foreign,
                   struct tbp_error *err) {
    const bool has_official = official != TBP_OFFICIAL_NONE;
    const struct tbp_host *h = tbp_session_raw_host(s, 0, err);
    if (!h)
        return err->code;
    const bool has_them = has_official && has_programs(h);
    const enum written programs = has_them ? programs_of(files) : CANNOT_BE_WRITTEN;
    *is_foreign =
        official == TBP_OFFICIAL_ASKS && (has_plane(h, "/device:TPU") || programs == NOT_WRITTEN);
    const bool holds[] = {[ALWAYS] = true,
                          [OFFICIAL] = has_official,
                          [GPU] = has_plane(h, "/device:GPU:"),
                          [PROGRAMS] = programs == WRITTEN};
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
