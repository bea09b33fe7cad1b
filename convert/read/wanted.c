/* SPDX-License-Identifier: Apache-2.0
 *
 * What is read of a plane; see wanted.h.
 */
#include "convert/read/wanted.h"

void tbp_wanted_decide(struct tbp_host *h) {
    if (h->wanted == TBP_WANTED_MEMORY && !tbp_host_came_grouped(h))
        h->wanted = TBP_WANTED_NO_GPU;
}

bool tbp_wants_plane(const struct tbp_plane *p) {
    switch (p->host->wanted) {
    case TBP_WANTED_DEVICES:
        return tbp_is_device_plane(p->name);
    case TBP_WANTED_NO_GPU:
    case TBP_WANTED_MEMORY:
        return !tbp_is_gpu_plane(p->name);
    case TBP_WANTED_ALL:
        break;
    }
    return true;
}

const uint8_t *tbp_wanted_metas(const struct tbp_plane *p) {
    struct tbp_host *h = p->host;
    if (h->wanted != TBP_WANTED_MEMORY || !tbp_is_host_plane(p->name))
        return NULL;
    uint8_t *is_wanted = TBP_NEW_N(&h->arena, uint8_t, p->n_metas);
    for (size_t i = 0; i < p->n_metas; i++)
        is_wanted[i] = p->metas[i].kind == TBP_EVENT_MEMORY_ALLOCATION ||
                       p->metas[i].kind == TBP_EVENT_MEMORY_DEALLOCATION;
    return is_wanted;
}
