/* SPDX-License-Identifier: Apache-2.0
 *
 * What is read of a plane; see wanted.h.
 */
#include "convert/read/wanted.h"

#include "schemas/xplane_fields.h"

void tbp_wanted_decide(struct tbp_host *h) {
    if (h->wanted == TBP_WANTED_MEMORY && !tbp_host_came_grouped(h))
        h->wanted = TBP_WANTED_NO_GPU;
}

/* The programs name the ops of kernels. */
static bool is_for_kernels(struct tbp_str name) {
    return tbp_is_device_plane(name) || tbp_str_is(name, TBP_METADATA_PLANE);
}

bool tbp_wants_any_of_plane(enum tbp_wanted wanted, struct tbp_wire plane, const uint8_t **end) {
    struct tbp_wire_field f;
    int got;
    if (wanted != TBP_WANTED_KERNELS)
        return true;
    while ((got = tbp_wire_next(&plane, &f)) > 0 && f.number == TBP_XPLANE_ID &&
           f.type == TBP_WIRE_VARINT)
        continue;
    *end = plane.at;
    bool is_named = got > 0 && f.number == TBP_XPLANE_NAME && f.type == TBP_WIRE_BYTES;
    return !is_named || is_for_kernels(tbp_wire_str(f.bytes));
}

bool tbp_wants_plane(const struct tbp_plane *p) {
    switch (p->host->wanted) {
    case TBP_WANTED_KERNELS:
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
