/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts of a run folder; see convert_hosts.h. A host is there by its xplane, or by the receipt of
 * its pages alone.
 */
#include "cli/convert_hosts.h"

#include "cli/receipt.h"
#include "plugin_data/rundir.h"

#include <dirent.h>

static bool has_host(const struct tbp_run *run, struct tbp_str host) {
    for (size_t i = 0; i < run->n_hosts; i++) {
        if (tbp_str_eq(run->hosts[i].host, host))
            return true;
    }
    return false;
}

static bool is_receipt(const char *folder, const char *name, struct tbp_arena *arena) {
    struct tbp_receipt r;
    tbp_receipt_read(&r, arena, tbp_arena_printf(arena, "%s/%s", folder, name));
    bool is_ours = !r.is_foreign && r.files.n;
    tbp_receipt_release(&r);
    return is_ours;
}

static void add_receipts(struct tbp_folder_hosts *out, struct tbp_arena *arena, const char *folder,
                         const struct tbp_run *converted) {
    static const char ending[] = ".tbprof.json";
    DIR *dir = opendir(folder);
    for (struct dirent *d; dir && (d = readdir(dir));) {
        struct tbp_str name = tbp_str_c(d->d_name);
        if (!tbp_str_ends(name, ending))
            continue;
        struct tbp_str host = tbp_str_sub(name, 0, name.n - (sizeof ending - 1));
        if (tbp_str_is(host, TBP_RUNDIR_ALL_HOSTS) || has_host(converted, host) ||
            has_host(&out->run, host) || !is_receipt(folder, d->d_name, arena))
            continue;
        const char *text = tbp_arena_str(arena, host).p;
        if (!out->unread || strcmp(text, out->unread) < 0)
            out->unread = text;
    }
    if (dir)
        closedir(dir);
}

void tbp_folder_hosts_find(struct tbp_folder_hosts *out, struct tbp_arena *arena,
                           const char *folder, const struct tbp_run *converted) {
    struct tbp_runs runs = {0};
    *out = (struct tbp_folder_hosts){0};
    if (tbp_find_runs(&runs, arena, folder, NULL) == TBP_OK)
        out->run = runs.list.at[0];
    tbp_runs_release(&runs);
    for (size_t i = 0; i < out->run.n_hosts && !out->other; i++) {
        if (!has_host(converted, out->run.hosts[i].host))
            out->other = out->run.hosts[i].host.p;
    }
    add_receipts(out, arena, folder, converted);
}
