/* SPDX-License-Identifier: Apache-2.0
 *
 * Growable arrays on the heap, for data whose size is not known beforehand.
 * Declare `TBP_VEC(struct point) points = {0};`, add with `*tbp_vec_push(&points) = p;`, walk
 * points.at[0 … points.n-1], end with tbp_vec_release(&points). Owner frees. Large arrays grow by
 * remapping pages (glibc realloc), not by copying. Exhaustion: as arena.h.
 * Do not use across a guard jump without an owner outside it; prefer the arena then.
 */
#ifndef TBP_BASE_VEC_H
#define TBP_BASE_VEC_H

#include <stddef.h>

#define TBP_VEC(type)                                                                              \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t n, cap;                                                                             \
    }

void *tbp_vec_grow_bytes(void *at, size_t *cap, size_t need, size_t item);
void tbp_vec_free_bytes(void *at);
void tbp_vec_drop_bytes(void *at, size_t from, size_t to, size_t item);
void *tbp_vec_shrink_bytes(void *at, size_t *cap, size_t keep, size_t item);

/* Pointer to a new last item (not zeroed). */
#define tbp_vec_push(v) (tbp_vec_reserve((v), (v)->n + 1), &(v)->at[(v)->n++])
#define tbp_vec_reserve(v, need)                                                                   \
    ((void)((need) > (v)->cap &&                                                                   \
            ((v)->at = tbp_vec_grow_bytes((v)->at, &(v)->cap, (need), sizeof *(v)->at), 1)))
/* Gives back the pages of items from … to-1, which nobody looks at any more. */
#define tbp_vec_drop(v, from, to) tbp_vec_drop_bytes((v)->at, (from), (to), sizeof *(v)->at)
/* Gives back the room behind the first `keep` items. */
#define tbp_vec_shrink(v, keep)                                                                    \
    ((void)((v)->at = tbp_vec_shrink_bytes((v)->at, &(v)->cap, (keep), sizeof *(v)->at)))
#define tbp_vec_release(v) (tbp_vec_free_bytes((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)

#endif
