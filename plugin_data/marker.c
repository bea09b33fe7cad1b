/* SPDX-License-Identifier: Apache-2.0
 *
 * Source of the bytes: TensorBoard's Event message (1 wall_time double, 3 file_version string),
 * which its fast loader wants to see whole, CRCs included; the name keeps the other loader from
 * reading it.
 */
#include "plugin_data/marker.h"

#include "plugin_data/rundir.h"
#include "plugin_data/tfrecord.h"
#include "schemas/wire.h"

#include <dirent.h>

enum { EVENT_WALL_TIME = 1, EVENT_FILE_VERSION = 3 };
#define MARKER_SUFFIX ".profile-empty"
enum { HOST_BYTES = 200 }; /* nobody asks for the host, and the rest needs its place */

int tbp_marker_bytes(struct tbp_sink *out, double wall_time_s, struct tbp_error *err) {
    struct tbp_wire_out event = {0};
    tbp_wire_put_double(&event, EVENT_WALL_TIME, wall_time_s);
    tbp_wire_put_str(&event, EVENT_FILE_VERSION, TBP_STR("brain.Event:2"));
    int status = tbp_tfrecord_write(out, event.at, event.n, err);
    tbp_wire_out_release(&event);
    return status;
}

static int has_marker(const char *folder, bool *found, struct tbp_error *err) {
    DIR *d = opendir(folder);
    if (!d)
        return tbp_fail_errno(err, TBP_E_IO, "cannot list folder '%s'", folder);
    for (struct dirent *e; !*found && (e = readdir(d));)
        *found = tbp_str_ends(tbp_str_c(e->d_name), MARKER_SUFFIX);
    closedir(d);
    return TBP_OK;
}

static int write_file(const char *path, double wall_time_s, struct tbp_error *err) {
    struct tbp_sink_file *f;
    int status = tbp_sink_file_new(&f, path, err);
    if (status != TBP_OK)
        return status;
    status = tbp_marker_bytes(tbp_sink_file_base(f), wall_time_s, err);
    if (status == TBP_OK)
        status = tbp_sink_finish(tbp_sink_file_base(f), err);
    tbp_sink_file_free(f);
    return status;
}

int tbp_marker_write(const char *logdir, const char *hostname, int64_t time_s,
                     struct tbp_error *err) {
    bool found = false;
    int status = has_marker(logdir, &found, err);
    if (status != TBP_OK || found)
        return status;
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    const char *host = tbp_rundir_clean_host(&arena, tbp_str_c(hostname));
    const char *path = tbp_arena_printf(&arena, "%s/events.out.tfevents.%010lld.%.*s" MARKER_SUFFIX,
                                        logdir, (long long)time_s, HOST_BYTES, host);
    status = write_file(path, (double)time_s, err);
    tbp_arena_release(&arena);
    return status;
}
