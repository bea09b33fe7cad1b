/* SPDX-License-Identifier: Apache-2.0
 *
 * Which files of a run are caches of the plugin; see plugin_caches.h.
 */
#include "cli/plugin_caches.h"

#include "base/log.h"
#include "base/sort.h"
#include "cli/doctor_tree.h"
#include "plugin_data/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* HOST.metadata.SSTABLE and HOST.trie.SSTABLE are parts of HOST.SSTABLE. */
static struct tbp_str without_part(struct tbp_str host) {
    static const char *const parts[] = {".metadata", ".trie", NULL};
    for (size_t i = 0; parts[i]; i++) {
        if (tbp_str_ends(host, parts[i]))
            return tbp_str_sub(host, 0, host.n - strlen(parts[i]));
    }
    return host;
}

bool tbp_plugin_cache_is_of(struct tbp_str name, struct tbp_str host) {
    struct tbp_str of;
    const char *advice;
    if (tbp_file_kind_of(name, &of, &advice) != TBP_FILE_CACHE)
        return false;
    bool is_of_run = of.n == 0 || tbp_str_is(of, ".");
    return is_of_run || tbp_str_is(of, TBP_RUNDIR_ALL_HOSTS) || tbp_str_eq(of, host) ||
           (tbp_str_ends(name, ".SSTABLE") && tbp_str_eq(without_part(of), host));
}

static int by_name(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return strcmp(((const struct tbp_cache_name *)a)->text,
                  ((const struct tbp_cache_name *)b)->text);
}

static void sort_once(struct tbp_cache_names *names) {
    size_t n = 0;
    tbp_sort(names->list.at, names->list.n, sizeof *names->list.at, by_name, NULL);
    for (size_t i = 0; i < names->list.n; i++) {
        if (n == 0 || strcmp(names->list.at[n - 1].text, names->list.at[i].text) != 0)
            names->list.at[n++] = names->list.at[i];
    }
    names->list.n = n;
}

void tbp_plugin_caches_remove(const char *folder, struct tbp_str host, bool with_programs,
                              struct tbp_cache_names *removed) {
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (struct dirent *d; (d = readdir(dir));) {
        struct tbp_str name = tbp_str_c(d->d_name);
        bool is_program = with_programs && tbp_str_ends(name, ".hlo_proto.pb");
        if (!is_program && !tbp_plugin_cache_is_of(name, host))
            continue;
        if (unlinkat(dirfd(dir), d->d_name, 0) == 0)
            snprintf(tbp_vec_push(&removed->list)->text, sizeof(struct tbp_cache_name), "%s",
                     d->d_name);
        else if (errno != ENOENT)
            tbp_log(TBP_LOG_WARNING,
                    "'%s/%s' was made by the plugin of another xplane and cannot be removed: %s",
                    folder, d->d_name, strerror(errno));
    }
    closedir(dir);
    sort_once(removed);
}
