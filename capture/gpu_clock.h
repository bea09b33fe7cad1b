/* SPDX-License-Identifier: Apache-2.0
 *
 * From CUPTI's clock to the session's. CUPTI's is CLOCK_REALTIME as a rule, another one on some
 * systems, and either may be set while it is watched; so both are read side by side again and
 * again, and a time belongs to the reading near which it makes sense. What makes sense near none
 * is of another clock. Pure but for its state; one thread at a time.
 */
#ifndef TBP_CAPTURE_GPU_CLOCK_H
#define TBP_CAPTURE_GPU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { TBP_GPU_CLOCK_ERAS = 64 };

struct tbp_gpu_era {   /* the clocks ran side by side */
    int64_t offset_ns; /* monotonic less CUPTI's, as read last */
    int64_t from_ns, to_ns;
};
struct tbp_gpu_clock {
    int64_t start_ns; /* of the session, monotonic */
    struct tbp_gpu_era eras[TBP_GPU_CLOCK_ERAS];
    unsigned n;
    uint64_t n_steps;
};

/* Both clocks at one moment. */
void tbp_gpu_clock_note(struct tbp_gpu_clock *c, int64_t cupti_ns, int64_t monotonic_ns);
/* False: no reading explains the time. */
bool tbp_gpu_clock_map(const struct tbp_gpu_clock *c, uint64_t cupti_ns, int64_t *monotonic_ns);

#endif
