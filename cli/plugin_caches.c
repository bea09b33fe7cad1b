/* SPDX-License-Identifier: Apache-2.0
 *
 * Which files of a run are caches of the plugin; see plugin_caches.h.
 */
#include "cli/plugin_caches.h"

#include "base/log.h"
#include "cli/doctor_tree.h"
#include "plugin_data/rundir.h"

#include <dirent.h>
#include <errno.h>
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

unsigned tbp_plugin_caches_remove(const char *folder, struct tbp_str host, bool with_programs) {
    unsigned n = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return 0;
    for (struct dirent *d; (d = readdir(dir));) {
        struct tbp_str name = tbp_str_c(d->d_name);
        bool is_program = with_programs && tbp_str_ends(name, ".hlo_proto.pb");
        if (!is_program && !tbp_plugin_cache_is_of(name, host))
            continue;
        if (unlinkat(dirfd(dir), d->d_name, 0) == 0)
            n++;
        else if (errno != ENOENT)
            tbp_log(TBP_LOG_WARNING,
                    "'%s/%s' was made by the plugin of another xplane and cannot be removed: %s",
                    folder, d->d_name, strerror(errno));
    }
    closedir(dir);
    return n;
}
