/* SPDX-License-Identifier: Apache-2.0
 *
 * Effective producer and consumer links of an event; see event_links.h.
 */
#include "convert/analyze/event_links.h"

enum { CONTEXT_LEGACY = 1, CONTEXT_TPU_STREAM = 11, CONTEXT_TPU_LAUNCH = 12 };
enum { RUN_ID_BITS = 27 };

struct tbp_link_rules tbp_link_rules_of(const struct tbp_plane *p, bool was_grouped) {
    struct tbp_link_rules r = {0};
    if (was_grouped)
        return r;
    r.rewrites = true;
    r.is_tensor_core = tbp_is_tensor_core_plane(p->name, &r.core_ordinal);
    return r;
}

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0xff51afd7ed558ccdu;
    return h ^ (h >> 33);
}

/* Hash of the IU values of the named stats; false if one is missing. core_type defaults to 0. */
static bool key_of(const struct tbp_line *l, size_t i, const enum tbp_stat_key *keys, size_t n,
                   uint64_t *h) {
    for (size_t k = 0; k < n; k++) {
        struct tbp_stat st;
        uint64_t v = 0;
        if (tbp_event_stat(l, i, keys[k], &st)) {
            v = tbp_stat_iu(&st);
            if (keys[k] == TBP_STAT_RUN_ID && !l->plane->host->was_grouped &&
                tbp_event_kind_at(l, i) != TBP_EVENT_OTHER)
                v &= (1u << RUN_ID_BITS) - 1;
        } else if (keys[k] != TBP_STAT_CORE_TYPE) {
            return false;
        }
        *h = mix(*h, v);
    }
    return true;
}

static void produce(struct tbp_links *out, uint64_t type, uint64_t id) {
    out->has_producer = true;
    out->producer_type = (int64_t)type;
    out->producer_type_iu = type;
    out->producer_id = id;
}

static void consume(struct tbp_links *out, uint64_t type, uint64_t id) {
    out->has_consumer = true;
    out->consumer_type = (int64_t)type;
    out->consumer_type_iu = type;
    out->consumer_id = id;
}

static void launch_links(const struct tbp_line *l, size_t i, const struct tbp_link_rules *rules,
                         struct tbp_links *out) {
    static const enum tbp_stat_key launch[] = {TBP_STAT_DEVICE_ORDINAL, TBP_STAT_QUEUE_ID,
                                               TBP_STAT_RUN_ID, TBP_STAT_CORE_TYPE};
    enum tbp_event_kind kind = tbp_event_kind_at(l, i);
    uint64_t h = CONTEXT_TPU_LAUNCH;
    if (rules->is_tensor_core && tbp_str_is(l->name, "XLA Modules")) {
        h = mix(h, (uint64_t)rules->core_ordinal);
        if (key_of(l, i, launch + 1, 3, &h))
            consume(out, CONTEXT_TPU_LAUNCH, h);
    } else if (kind == TBP_EVENT_DO_ENQUEUE_PROGRAM || kind == TBP_EVENT_COMPLETE_CALLBACKS) {
        if (!key_of(l, i, launch, 4, &h))
            return;
        if (kind == TBP_EVENT_DO_ENQUEUE_PROGRAM)
            produce(out, CONTEXT_TPU_LAUNCH, h);
        else
            consume(out, CONTEXT_TPU_LAUNCH, h);
    }
}

static void queue_links(const struct tbp_line *l, size_t i, struct tbp_links *out) {
    static const enum tbp_stat_key queue[] = {TBP_STAT_REQUEST_ID, TBP_STAT_QUEUE_ADDR};
    uint64_t h = CONTEXT_TPU_STREAM;
    if (!key_of(l, i, queue, 2, &h))
        return;
    if (tbp_event_kind_at(l, i) == TBP_EVENT_ENQUEUE_REQUEST_LOCKED)
        produce(out, CONTEXT_TPU_STREAM, h);
    else
        consume(out, CONTEXT_TPU_STREAM, h);
}

static void executor_links(const struct tbp_line *l, size_t i, struct tbp_links *out) {
    static const enum tbp_stat_key iteration[] = {TBP_STAT_ID, TBP_STAT_ITER_NUM};
    uint64_t h = CONTEXT_LEGACY;
    if (!key_of(l, i, iteration, 2, &h))
        return;
    if (tbp_event_kind_at(l, i) == TBP_EVENT_EXECUTOR_PROCESS)
        produce(out, CONTEXT_LEGACY, h);
    else
        consume(out, CONTEXT_LEGACY, h);
}

/* Links that older systems express by other stats, and roots by name. */
static void rewrite(const struct tbp_line *l, size_t i, const struct tbp_link_rules *rules,
                    struct tbp_links *out) {
    switch (tbp_event_kind_at(l, i)) {
    case TBP_EVENT_EXECUTOR_PROCESS:
    case TBP_EVENT_TPU_EXECUTE_OP:
        executor_links(l, i, out);
        break;
    case TBP_EVENT_ENQUEUE_REQUEST_LOCKED:
    case TBP_EVENT_RUN_PROGRAM_REQUEST:
    case TBP_EVENT_HOST_CALLBACK_REQUEST:
    case TBP_EVENT_TRANSFER_H2D_REQUEST:
    case TBP_EVENT_TRANSFER_PRE_H2D_REQUEST:
    case TBP_EVENT_TRANSFER_D2H_REQUEST:
    case TBP_EVENT_ON_DEVICE_SEND:
    case TBP_EVENT_ON_DEVICE_RECV:
    case TBP_EVENT_ON_DEVICE_SEND_RECV_LOCAL:
    case TBP_EVENT_CUSTOM_WAIT:
    case TBP_EVENT_ON_DEVICE_SEND_MULTI:
    case TBP_EVENT_ON_DEVICE_RECV_MULTI:
    case TBP_EVENT_PJRT_ASYNC_WAIT:
        queue_links(l, i, out);
        break;
    case TBP_EVENT_PROCESS_BATCH:
    case TBP_EVENT_ORBAX_PROCESS_BATCH:
        out->has_root = true;
        out->root_level = 2;
        break;
    case TBP_EVENT_BATCHING_SESSION_RUN:
        out->has_root = true;
        out->root_level = 1;
        break;
    default:
        launch_links(l, i, rules, out);
        break;
    }
}

struct seen {
    bool pt, p, ct, c;
};

static void take(const struct tbp_stat *st, struct tbp_links *out, struct seen *seen) {
    switch (st->meta->key) {
    case TBP_STAT_PRODUCER_TYPE:
        out->producer_type = tbp_stat_i(st);
        out->producer_type_iu = tbp_stat_iu(st);
        seen->pt = true;
        break;
    case TBP_STAT_PRODUCER_ID:
        out->producer_id = tbp_stat_iu(st);
        seen->p = true;
        break;
    case TBP_STAT_CONSUMER_TYPE:
        out->consumer_type = tbp_stat_i(st);
        out->consumer_type_iu = tbp_stat_iu(st);
        seen->ct = true;
        break;
    case TBP_STAT_CONSUMER_ID:
        out->consumer_id = tbp_stat_iu(st);
        seen->c = true;
        break;
    case TBP_STAT_PROCESS_PID:
        out->has_pid = true;
        out->pid = tbp_stat_i(st);
        break;
    case TBP_STAT_IS_ROOT:
        out->has_root = true;
        out->root_level = tbp_stat_i(st);
        break;
    case TBP_STAT_IS_ASYNC:
        out->is_async = tbp_stat_b(st);
        break;
    default:
        break;
    }
}

void tbp_event_links(const struct tbp_line *l, size_t i, const struct tbp_link_rules *rules,
                     struct tbp_links *out) {
    *out = (struct tbp_links){0};
    if (l->ev.has[i] & (TBP_HAS_LINK | TBP_HAS_ROOT | TBP_HAS_ASYNC)) {
        struct seen seen = {0};
        struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
        for (struct tbp_stat st; tbp_stat_next(&it, &st);)
            take(&st, out, &seen);
        out->has_producer = seen.pt && seen.p;
        out->has_consumer = seen.ct && seen.c;
    }
    bool concerned = tbp_event_kind_at(l, i) != TBP_EVENT_OTHER || rules->is_tensor_core;
    if (rules->rewrites && concerned)
        rewrite(l, i, rules, out);
}
