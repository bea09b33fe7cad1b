/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs that annotate themselves with Intel's ITT expect of a collector: the shapes of
 * domains and strings, and the functions that they look up by name. Facts of the public interface
 * (ittnotify 3).
 */
#ifndef TBP_CAPTURE_ITT_ABI_H
#define TBP_CAPTURE_ITT_ABI_H

#include "capture/tbprof.h"

#include <stdint.h>

struct tbp_itt_domain {
    volatile int flags; /* 0: its tasks are not passed on */
    const char *name;
    void *reserved_name;
    int reserved;
    void *extra;
    struct tbp_itt_domain *next;
};

struct tbp_itt_string {
    const char *text;
    void *reserved_text;
    int reserved;
    void *extra;
    struct tbp_itt_string *next;
};

struct tbp_itt_id {
    uint64_t parts[3];
};

/* The names that are looked up are ITT's; here they are ours. */
TBPROF_API const char *tbp_itt_api_version(void) __asm__("__itt_api_version");
TBPROF_API struct tbp_itt_domain *
tbp_itt_domain_create(const char *name) __asm__("__itt_domain_create");
TBPROF_API struct tbp_itt_string *
tbp_itt_string_create(const char *text) __asm__("__itt_string_handle_create");
TBPROF_API void tbp_itt_task_begin(const struct tbp_itt_domain *domain, struct tbp_itt_id task,
                                   struct tbp_itt_id parent,
                                   const struct tbp_itt_string *name) __asm__("__itt_task_begin");
TBPROF_API void tbp_itt_task_end(const struct tbp_itt_domain *domain) __asm__("__itt_task_end");
TBPROF_API void tbp_itt_thread_set_name(const char *name) __asm__("__itt_thread_set_name");

#endif
