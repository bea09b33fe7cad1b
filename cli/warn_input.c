/* SPDX-License-Identifier: Apache-2.0
 *
 * Warnings about damaged and empty inputs; see warn_input.h.
 */
#include "cli/warn_input.h"

#include <inttypes.h>

bool tbp_warn_skipped(const struct tbp_cli *cli, const struct tbp_runs *runs) {
    bool is_loss = false;
    for (size_t i = 0; i < runs->skipped.n; i++) {
        const struct tbp_skipped *s = &runs->skipped.at[i];
        tbp_cli_warn(cli, "skipped '%s': it %s", s->path, s->why);
        is_loss |= s->is_loss;
    }
    return is_loss;
}

void tbp_json_skipped(struct tbp_json *j, const struct tbp_runs *runs) {
    tbp_json_lit(j, ",\"skipped\":[");
    for (size_t i = 0; i < runs->skipped.n; i++) {
        tbp_json_lit(j, i ? ",{\"path\":" : "{\"path\":");
        tbp_json_str(j, tbp_str_c(runs->skipped.at[i].path), TBP_JSON_GVIZ);
        tbp_json_lit(j, ",\"why\":");
        tbp_json_str(j, tbp_str_c(runs->skipped.at[i].why), TBP_JSON_GVIZ);
        tbp_json_char(j, '}');
    }
    tbp_json_char(j, ']');
}

/* What was lost, how often, and where first; returns the length. */
static size_t describe_damage(char *text, size_t size, const struct tbp_ledger *l) {
    size_t n = 0;
    for (int k = 0; k < TBP_LEDGER_KEYS && n < size; k++) {
        enum tbp_ledger_key key = (enum tbp_ledger_key)k;
        uint64_t count = l->count[k], offset = l->first_offset[k];
        if (!count || tbp_ledger_damage_of(key) == TBP_DAMAGE_NONE)
            continue;
        n += (size_t)snprintf(text + n, size - n, "%s%s (%" PRIu64, n ? ", " : "",
                              tbp_ledger_help(key), count);
        if (n < size && offset != TBP_NO_OFFSET)
            n += (size_t)snprintf(text + n, size - n, ", first at byte %" PRIu64, offset);
        if (n < size)
            n += (size_t)snprintf(text + n, size - n, ")");
    }
    return n;
}

void tbp_warn_input(const struct tbp_cli *cli, struct tbp_str path, uint64_t size_bytes,
                    const struct tbp_ledger *l) {
    char text[512];
    if (size_bytes == 0) {
        tbp_cli_warn(cli, "'%.*s': empty file: no events; an interrupted capture?", (int)path.n,
                     path.p);
        return;
    }
    if (l->count[TBP_LEDGER_NO_SUCH_STEP])
        tbp_cli_warn(cli, "'%.*s': no event has the name given to --steps: no steps", (int)path.n,
                     path.p);
    if (describe_damage(text, sizeof text, l))
        tbp_cli_warn(cli, "'%.*s': input is damaged: %s; the answer holds what could be read",
                     (int)path.n, path.p, text);
}
