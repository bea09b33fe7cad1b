/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_activity.h. Records come in order of time, so a lane is free as soon as what began on it
 * last has ended.
 */
#include "plugin_data/rec_activity.h"

enum { OWNER = 1 };

struct pairing {
    struct tbp_rec_activities *a;
    struct tbp_rec_live open; /* id -> place in the list, lane */
    uint32_t n_on[TBP_REC_LANES];
};

void tbp_rec_activities_release(struct tbp_rec_activities *a) {
    tbp_vec_release(&a->list);
    tbp_vec_release(&a->lanes);
    tbp_vec_release(&a->carried);
}

static void begin(struct pairing *p, uint32_t slot, uint64_t id) {
    unsigned lane = 0;
    while (lane + 1 < TBP_REC_LANES && p->n_on[lane] > 0)
        lane++;
    p->n_on[lane]++;
    if (lane >= p->a->n_lanes)
        p->a->n_lanes = lane + 1;
    tbp_rec_live_put(&p->open, OWNER, id, p->a->list.n, lane);
    *tbp_vec_push(&p->a->list) = (struct tbp_rec_activity){slot, 0};
    *tbp_vec_push(&p->a->lanes) = (uint8_t)lane;
}

static void end(struct pairing *p, uint32_t slot, uint64_t id) {
    uint64_t place, lane;
    if (!tbp_rec_live_take(&p->open, OWNER, id, &place, &lane)) {
        p->a->n_without_begin++;
        return;
    }
    p->a->list.at[place].end = slot;
    p->n_on[lane]--;
}

void tbp_rec_activities_read(struct tbp_rec_activities *a, const struct tbp_recording *s,
                             struct tbp_arena *arena) {
    struct pairing p = {.a = a};
    struct tbp_rec_merge merge;
    struct tbp_rec r;
    struct tbp_rec_arg id;
    uint32_t thread;
    for (size_t i = 0; i < a->carried.n; i++) {
        r = tbp_rec_at(s, a->carried.at[i]);
        if (tbp_rec_value(s, &r, &id))
            begin(&p, r.slot, id.value);
    }
    tbp_rec_merge_init(&merge, s, TBP_REC_BIT(TBP_REC_ASYNC_BEGIN) | TBP_REC_BIT(TBP_REC_ASYNC_END),
                       arena);
    while (tbp_rec_merge_next(&merge, &r, &thread)) {
        if (!tbp_rec_value(s, &r, &id))
            continue;
        if (r.kind == TBP_REC_ASYNC_BEGIN)
            begin(&p, r.slot, id.value);
        else
            end(&p, r.slot, id.value);
    }
    a->n_open = p.open.n_used;
    tbp_rec_live_release(&p.open);
}
