/* SPDX-License-Identifier: Apache-2.0
 *
 * The word that every annotation looks at (tbprof_g_state, capture/tbprof.h): what is recorded, and
 * of which session. Only capture/session.c and the fork handlers write it. Thread-safety: atomic.
 */
#ifndef TBP_CAPTURE_STATE_H
#define TBP_CAPTURE_STATE_H

#include "capture/tbprof.h"

#include <stdbool.h>

enum {
    TBP_STATE_OPEN = 1 << 8,    /* the session takes records; stays set while it is paused */
    TBP_STATE_MEMORY = 1 << 9,  /* tbprof_memory_* are recorded */
    TBP_STATE_PYTHON = 1 << 10, /* Python calls are recorded */
    TBP_STATE_STEPS = 1 << 13,  /* steps follow a schedule (capture/step_schedule.h) */
    TBP_STATE_MALLOC = 1 << 11, /* and what the program allocates (capture/preload), as samples … */
    TBP_STATE_MALLOC_ALL = 1 << 12, /* … or every call */
};

static inline uint64_t tbp_state_load(void) {
    return __atomic_load_n(&tbprof_g_state, __ATOMIC_ACQUIRE);
}
static inline uint32_t tbp_state_generation(uint64_t state) {
    return (uint32_t)(state >> 48);
}
static inline uint64_t tbp_state_make(uint32_t generation, uint32_t categories, uint32_t flags,
                                      int level) {
    return (uint64_t)generation << 48 | (uint64_t)categories << 16 | flags | (uint8_t)level;
}

#endif
