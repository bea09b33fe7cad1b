/* SPDX-License-Identifier: Apache-2.0
 *
 * How ops of other frameworks are called in tables, which know the names of TensorFlow's
 * ("a/b:Type") and JAX's; see trace_build.h.
 */
#include "convert/read/trace_build.h"

enum { USE_REFERENCE = 4 };

static bool is_kept(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '/' || c == '>' || c == '-' || c == '_';
}

/* What the parser of op names takes for a type behind a colon: of TensorFlow's or of JAX's kind. */
static bool is_type(char first_of_name, struct tbp_str type) {
    bool has_upper = false, has_other = false;
    for (size_t i = 0; i < type.n; i++) {
        char c = type.p[i];
        has_upper |= c >= 'A' && c <= 'Z';
        has_other |= !is_kept(c) || c == '.' || c == '>' || c == '-' || c == '/';
    }
    if (type.n == 0 || has_other)
        return false;
    char c = type.p[0];
    bool begins_high = c == '_' || (c >= 'A' && c <= 'Z');
    bool begins_low = c == '_' || (c >= 'a' && c <= 'z');
    return (begins_high && first_of_name != '_') || (begins_low && !has_upper);
}

uint32_t tbp_trace_op_text(struct tbp_trace *t, struct tbp_str name, struct tbp_str type) {
    TBP_VEC(char) s = {0};
    size_t last = 0; /* begin of the last part */
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool is_scope = c == ':' && i + 1 < name.n && name.p[i + 1] == ':';
        *tbp_vec_push(&s) = is_scope ? '/' : is_kept(c) ? c : '_';
        i += is_scope;
        if (s.at[s.n - 1] == '/')
            last = s.n;
    }
    last = last < s.n ? last : 0;
    size_t n = s.n;
    *tbp_vec_push(&s) = ':';
    tbp_vec_reserve(&s, s.n + n + type.n);
    if (type.n == 0)
        type = (struct tbp_str){s.at + last, n - last};
    if (is_type(s.at[0], type)) {
        memcpy(s.at + s.n, type.p, type.n);
        s.n += type.n;
    }
    uint32_t text = tbp_trace_text(t, (struct tbp_str){s.at, s.n});
    t->uses.at[text] |= USE_REFERENCE;
    tbp_vec_release(&s);
    return text;
}

void tbp_trace_name_op(struct tbp_trace *t, uint32_t name, uint32_t called) {
    bool is_new;
    *tbp_idmap_put(&t->op_names, name, &is_new) = called;
}

void tbp_trace_stat_op(struct tbp_trace *t, uint32_t name, uint32_t type) {
    bool is_new;
    uint32_t text = tbp_idmap_get(&t->op_stats, (uint64_t)name << 32 | type);
    if (text == TBP_MAP_NONE) {
        text = tbp_trace_op_text(t, t->texts.strs[name], t->texts.strs[type]);
        *tbp_idmap_put(&t->op_stats, (uint64_t)name << 32 | type, &is_new) = text;
    }
    tbp_trace_stat_text(t, TBP_TRACE_SHARED, tbp_trace_text(t, TBP_STR("tf_op")), text);
}

void tbp_trace_mark_input(struct tbp_trace *t, struct tbp_str name) {
    if (tbp_is_torch_input(name))
        tbp_trace_stat_text(t, TBP_TRACE_SHARED, tbp_trace_text(t, TBP_STR("_ipl_stage_name")),
                            tbp_trace_text(t, TBP_STR("DataLoader")));
}
