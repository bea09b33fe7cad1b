/* SPDX-License-Identifier: Apache-2.0
 *
 * THE TABLE of the doctor's checks, in the order in which findings are shown, and what they share.
 */
#include "cli/doctor.h"

/* clang-format off */
const struct tbp_doctor_check *const tbp_doctor_checks[] = {
    &tbp_check_python,
    &tbp_check_tensorboard,
    &tbp_check_conflict,
    &tbp_check_plugin,
    &tbp_check_backend,
    &tbp_check_charts,
    &tbp_check_level,
    &tbp_check_permission,
    &tbp_check_no_data,
    &tbp_check_layout,
    &tbp_check_not_listed,
    &tbp_check_marker,
    &tbp_check_empty_run,
    &tbp_check_file_names,
    &tbp_check_names,
    &tbp_check_pages_only,
    &tbp_check_hidden_files,
    &tbp_check_no_file,
    &tbp_check_empty_file,
    &tbp_check_twice,
    &tbp_check_damaged,
    &tbp_check_no_events,
    &tbp_check_host_plane,
    &tbp_check_file_size,
    &tbp_check_recorder,
    &tbp_check_several_hosts,
    &tbp_check_read_only,
    &tbp_check_caches,
    &tbp_check_old_cache,
    &tbp_check_damaged_beside,
    &tbp_check_receipt,
    &tbp_check_gpu_driver,
    &tbp_check_gpu_cupti,
    &tbp_check_gpu_permission,
    &tbp_check_gpu_conflict,
    NULL,
};
/* clang-format on */

void tbp_doctor_run(struct tbp_doctor *d, enum tbp_doctor_scope scope) {
    for (size_t i = 0; tbp_doctor_checks[i]; i++) {
        if (tbp_doctor_checks[i]->scope == scope)
            tbp_doctor_checks[i]->run(d, tbp_doctor_checks[i]);
    }
}

struct tbp_finding *tbp_doctor_report(struct tbp_doctor *d, const struct tbp_doctor_check *check,
                                      enum tbp_finding_level level, const char *where) {
    struct tbp_finding *f = tbp_vec_push(&d->findings);
    *f = (struct tbp_finding){.check = check, .level = level, .where = where};
    return f;
}

void tbp_doctor_release(struct tbp_doctor *d) {
    tbp_tree_release(&d->tree);
    tbp_vec_release(&d->findings);
}

bool tbp_doctor_plugin_within(const struct tbp_doctor *d, uint32_t from, uint32_t to) {
    const struct tbp_python *p = &d->python;
    return d->has_python && p->profile && p->release >= from && p->release < to;
}

const char *tbp_doctor_plugin_text(const struct tbp_doctor *d) {
    const struct tbp_plugin *p = d->python.profile;
    return p ? tbp_arena_printf(d->arena, "%s %s", p->package, p->version) : "no profile plugin";
}
