/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/mapped_library.h"

#include "capture/fork_gate.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

static int has_name(struct dl_phdr_info *info, size_t size, void *context) {
    const char *path = info->dlpi_name ? info->dlpi_name : "", *slash = strrchr(path, '/');
    const char *name = context;
    (void)size;
    return strncmp(slash ? slash + 1 : path, name, strlen(name)) == 0;
}

bool tbp_library_is_mapped(const char *name) {
    tbp_fork_gate_enter();
    bool is_mapped = dl_iterate_phdr(has_name, (void *)(uintptr_t)name) != 0;
    tbp_fork_gate_leave();
    return is_mapped;
}
