/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts collections as they open and close in libyaml's stream of events; see yaml_depth.h.
 */
#include "cli/yaml_depth.h"

#include <yaml.h>

size_t tbp_yaml_line_too_deep(struct tbp_str text) {
    yaml_parser_t parser;
    size_t depth = 0, line = 0;
    bool is_done = !yaml_parser_initialize(&parser);
    if (is_done)
        return 0;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    for (yaml_event_t e; !is_done && yaml_parser_parse(&parser, &e); yaml_event_delete(&e)) {
        bool opens = e.type == YAML_MAPPING_START_EVENT || e.type == YAML_SEQUENCE_START_EVENT;
        bool closes = e.type == YAML_MAPPING_END_EVENT || e.type == YAML_SEQUENCE_END_EVENT;
        depth = depth + opens - closes;
        if (depth > TBP_YAML_MAX_DEPTH)
            line = e.start_mark.line + 1;
        is_done = line || e.type == YAML_STREAM_END_EVENT || e.type == YAML_NO_EVENT;
    }
    yaml_parser_delete(&parser);
    return line;
}
