/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_stats.h.
 */
#include "plugin_data/rec_stats.h"

#include "plugin_data/rec_text.h"

/* A text that is a number, as the one type of the two that holds it. */
static void number_of_text(struct tbp_rec_stat_value *v) {
    int64_t i;
    uint64_t u;
    double d;
    if (tbp_str_to_i64(v->text, &i)) {
        v->type = TBP_ARG_I64;
        v->value = (uint64_t)i;
    } else if (tbp_str_to_u64(v->text, &u)) {
        v->type = TBP_ARG_U64;
        v->value = u;
    } else if (tbp_str_to_double(v->text, &d)) {
        v->type = TBP_ARG_F64;
        memcpy(&v->value, &d, sizeof d);
    }
}

/* Readers look for some stats in one type only. */
static void settle_type(struct tbp_rec_stat_value *v, enum tbp_rec_type wanted) {
    if (wanted == TBP_REC_TYPE_ANY)
        return;
    if (v->type == TBP_ARG_TEXT)
        number_of_text(v);
    if (v->type == TBP_ARG_I64 || v->type == TBP_ARG_U64)
        v->type = wanted == TBP_REC_TYPE_I64 ? TBP_ARG_I64 : TBP_ARG_U64;
}

static void set(struct tbp_rec_stats *x, struct tbp_rec_stat_value v) {
    size_t i = 0;
    settle_type(&v, tbp_rec_names_type(x->names, v.stat));
    while (i < x->n && x->at[i].stat != v.stat)
        i++;
    if (i == TBP_REC_MAX_STATS) {
        x->n_lost++;
        return;
    }
    x->n += i == x->n;
    x->at[i] = v;
}

void tbp_rec_stats_i64(struct tbp_rec_stats *x, uint32_t stat, int64_t v) {
    set(x, (struct tbp_rec_stat_value){.stat = stat, .type = TBP_ARG_I64, .value = (uint64_t)v});
}

void tbp_rec_stats_u64(struct tbp_rec_stats *x, uint32_t stat, uint64_t v) {
    set(x, (struct tbp_rec_stat_value){.stat = stat, .type = TBP_ARG_U64, .value = v});
}

void tbp_rec_stats_text(struct tbp_rec_stats *x, uint32_t stat, struct tbp_str v) {
    set(x, (struct tbp_rec_stat_value){.stat = stat, .type = TBP_ARG_TEXT, .text = v});
}

void tbp_rec_stats_ref(struct tbp_rec_stats *x, uint32_t stat, uint32_t text_stat) {
    set(x, (struct tbp_rec_stat_value){.stat = stat, .type = TBP_ARG_ID, .value = text_stat});
}

void tbp_rec_stats_arg(struct tbp_rec_stats *x, const struct tbp_rec_arg *a) {
    struct tbp_rec_stat_value v = {.stat = tbp_rec_names_key(x->names, a->key),
                                   .type = a->type,
                                   .value = a->value,
                                   .text = a->text};
    if (a->type == TBP_ARG_SPAN)
        return;
    if (a->type == TBP_ARG_ID) /* most likely one of few: written once */
        v.value = tbp_rec_names_value(x->names, (uint32_t)a->value);
    set(x, v);
}

void tbp_rec_stats_args(struct tbp_rec_stats *x, const struct tbp_rec *r) {
    struct tbp_rec_arg_walk w = tbp_rec_args(r);
    struct tbp_rec_arg a;
    while (tbp_rec_next_arg(x->names->recording, &w, &a))
        tbp_rec_stats_arg(x, &a);
}

void tbp_rec_stats_pairs(struct tbp_rec_stats *x, struct tbp_str pairs) {
    struct tbp_str key, value;
    while (tbp_rec_text_next(&pairs, &key, &value)) {
        struct tbp_rec_stat_value v = {
            .stat = tbp_rec_names_key_text(x->names, key), .type = TBP_ARG_TEXT, .text = value};
        number_of_text(&v);
        set(x, v);
    }
}

void tbp_rec_stats_write(const struct tbp_rec_stats *x, struct tbp_xspace_out *o) {
    for (size_t i = 0; i < x->n; i++) {
        const struct tbp_rec_stat_value *v = &x->at[i];
        tbp_rec_names_use_stat(x->names, v->stat);
        if (v->type == TBP_ARG_ID)
            tbp_rec_names_use_stat(x->names, (uint32_t)v->value);
        if (v->type == TBP_ARG_I64)
            tbp_xspace_stat_i64(o, v->stat, (int64_t)v->value);
        else if (v->type == TBP_ARG_U64)
            tbp_xspace_stat_u64(o, v->stat, v->value);
        else if (v->type == TBP_ARG_F64)
            tbp_xspace_stat_double(o, v->stat, tbp_wire_double(v->value));
        else if (v->type == TBP_ARG_ID)
            tbp_xspace_stat_ref(o, v->stat, (int64_t)v->value);
        else
            tbp_xspace_stat_str(o, v->stat, v->text);
    }
}
