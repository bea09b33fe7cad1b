/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of processes; see process_names.h.
 */
#include "convert/read/process_names.h"

void tbp_process_names_put(struct tbp_process_names *p, struct tbp_arena *a, int64_t id,
                           const struct tbp_given_name *name) {
    bool is_new;
    uint32_t *at = tbp_idmap_put(&p->by_id, (uint64_t)id, &is_new);
    if (is_new) {
        *at = (uint32_t)p->names.n;
        *tbp_vec_push(&p->names) = (struct tbp_given_name){.text = TBP_STR_NONE};
    }
    tbp_given_name_take(&p->names.at[*at], name, a);
}

bool tbp_process_names_get(const struct tbp_process_names *p, int64_t id, struct tbp_str *name) {
    uint32_t at = tbp_idmap_get(&p->by_id, (uint64_t)id);
    if (at == TBP_MAP_NONE || p->names.at[at].text.n == 0)
        return false;
    *name = p->names.at[at].text;
    return true;
}

void tbp_process_names_release(struct tbp_process_names *p) {
    tbp_vec_release(&p->names);
    tbp_idmap_release(&p->by_id);
}

bool tbp_process_names_read(struct tbp_process_names *p, struct tbp_json_trace *jt,
                            const struct tbp_json_event *e) {
    const struct tbp_json_value *name = tbp_json_trace_arg(e, "name");
    int64_t pid;
    bool is_text;
    if (e->ph != 'M' || !name || !tbp_str_is(e->name.text, "process_name"))
        return false;
    tbp_json_trace_id(jt, &e->pid, &pid, &is_text);
    struct tbp_given_name given = tbp_json_trace_given(jt, e, name);
    tbp_process_names_put(p, &jt->host->arena, pid, &given);
    return true;
}
