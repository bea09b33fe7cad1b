/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that the profile plugin keeps beside the xplanes of a run, made of their content. It never
 * asks whether an xplane was replaced since, so whoever replaces one removes what was made of it.
 * Thread-safe. Names: plugin_data/README.md.
 */
#ifndef TBP_CLI_PLUGIN_CACHES_H
#define TBP_CLI_PLUGIN_CACHES_H

#include "base/str.h"
#include "base/vec.h"

#include <limits.h>

struct tbp_cache_name {
    char text[NAME_MAX + 1];
};
struct tbp_cache_names {
    TBP_VEC(struct tbp_cache_name) list;
};

/* Whether the file is a cache that depends on this host's xplane: its own, those of all hosts
 * together, those of the run. */
bool tbp_plugin_cache_is_of(struct tbp_str name, struct tbp_str host);

/* Removes the caches of the host; with_programs: the programs, too, that the plugin took out of the
 * xplanes (*.hlo_proto.pb; recorders of old wrote such files themselves). Their names are added to
 * those removed before, each once, in order. */
void tbp_plugin_caches_remove(const char *folder, struct tbp_str host, bool with_programs,
                              struct tbp_cache_names *removed);

#endif
