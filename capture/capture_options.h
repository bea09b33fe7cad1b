/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of a session in one table: field of tbprof_options, key of tbprof_options_set,
 * environment variable TBPROF_<KEY IN CAPITALS>, key of the YAML file in $TBPROF_CONFIG, and the
 * line in the profile's Task Environment. Adding an option is a field and a row. No state but the
 * texts that the YAML file gave, which stay for the life of the process.
 */
#ifndef TBP_CAPTURE_CAPTURE_OPTIONS_H
#define TBP_CAPTURE_CAPTURE_OPTIONS_H

#include "base/status.h"
#include "capture/tbprof.h"

/* Values in range? Fails with TBP_E_OPTION. */
int tbp_capture_options_check(const tbprof_options *options, struct tbp_error *err);
/* "key=value\n" for each that is not as by default, as many as fit. */
void tbp_capture_options_print(const tbprof_options *options, char *to, size_t size);
/* One option by key; as tbprof_options_set. */
int tbp_capture_option_set(tbprof_options *options, const char *key, const char *value,
                           struct tbp_error *err);
/* Would a process understand TBPROF_<KEY IN CAPITALS>=value? The options, and what only the
 * environment says: a schedule, a file of options, a server. Fails with TBP_E_OPTION. */
int tbp_capture_setting_check(const char *key, const char *value, struct tbp_error *err);
/* All keys of a YAML file, "key: value" at the top level or below "capture:". */
int tbp_capture_options_load(tbprof_options *options, const char *path, struct tbp_error *err);

#endif
