/* SPDX-License-Identifier: Apache-2.0
 *
 * Refuses YAML, and JSON in it, that is nested absurdly: libyaml's loader takes time that grows
 * with the square of the depth. Asked before a document is loaded.
 */
#ifndef TBP_CLI_YAML_DEPTH_H
#define TBP_CLI_YAML_DEPTH_H

#include "base/str.h"

enum { TBP_YAML_MAX_DEPTH = 16 };

/* Line of the first collection that lies deeper than that, 0 if there is none; ends at once at it
 * or at what is no YAML. */
size_t tbp_yaml_line_too_deep(struct tbp_str text);

#endif
