/* SPDX-License-Identifier: Apache-2.0
 *
 * See gpu_clock.h.
 */
#include "capture/gpu_clock.h"

#include <string.h>

/* A clock that is slewed drifts by less between two readings; one that is set, by more. */
#define STEP_NS INT64_C(10000000)
/* What is long before the session is of another clock; what comes from before the reading but not
 * so long is work that was under way. */
#define EARLIER_NS INT64_C(60000000000)
/* Records are read after they happened; the clocks are read one after the other. */
#define LATER_NS INT64_C(2000000)

void tbp_gpu_clock_note(struct tbp_gpu_clock *c, int64_t cupti_ns, int64_t monotonic_ns) {
    int64_t offset = (int64_t)((uint64_t)monotonic_ns - (uint64_t)cupti_ns);
    int64_t from_ns = c->start_ns - EARLIER_NS;
    if (c->n > 0) {
        struct tbp_gpu_era *last = &c->eras[c->n - 1];
        int64_t moved = (int64_t)((uint64_t)offset - (uint64_t)last->offset_ns);
        from_ns = last->to_ns;
        last->to_ns = monotonic_ns; /* if it was set, then somewhere before this reading */
        if (moved < STEP_NS && moved > -STEP_NS) {
            last->offset_ns = offset;
            return;
        }
        c->n_steps++;
    }
    if (c->n == TBP_GPU_CLOCK_ERAS) { /* the oldest are the least likely to be asked for */
        memmove(c->eras, c->eras + 1, (c->n - 1) * sizeof *c->eras);
        c->n--;
    }
    c->eras[c->n++] = (struct tbp_gpu_era){offset, from_ns, monotonic_ns};
}

bool tbp_gpu_clock_map(const struct tbp_gpu_clock *c, uint64_t cupti_ns, int64_t *monotonic_ns) {
    for (unsigned i = c->n; i-- > 0;) {
        const struct tbp_gpu_era *era = &c->eras[i];
        int64_t ns = (int64_t)(cupti_ns + (uint64_t)era->offset_ns);
        if (ns >= era->from_ns && ns <= era->to_ns + LATER_NS) {
            *monotonic_ns = ns;
            return true;
        }
    }
    return false;
}
