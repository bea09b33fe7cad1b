/* SPDX-License-Identifier: Apache-2.0
 *
 * See gpu_facts.h.
 */
#include "cli/gpu_facts.h"
#include "capture/cuda_load.h"
#include "capture/cupti_errors.h"
#include "capture/cupti_records.h"
#include "capture/cupti_subscription.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CAP_SYS_ADMIN = 21, CAP_PERFMON = 38 };

/* Calls take for each line of the file below root; false: there is no file. */
static bool read_lines(const char *root, const char *path, void (*take)(void *ctx, char *line),
                       void *ctx) {
    char full[512], line[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    FILE *f = fopen(full, "re");
    if (!f)
        return false;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        take(ctx, line);
    }
    fclose(f);
    return true;
}

static bool exists(const char *root, const char *path) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    return access(full, F_OK) == 0;
}

struct gathering {
    struct tbp_gpu_facts *g;
    struct tbp_arena *arena;
};

/* "RmProfilingAdminOnly: 1" */
static void take_parameter(void *ctx, char *line) {
    struct gathering *x = ctx;
    const char key[] = "RmProfilingAdminOnly:";
    if (strncmp(line, key, sizeof key - 1) == 0)
        x->g->admin_only = strtol(line + sizeof key - 1, NULL, 10) != 0;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue …": the first number with a
 * point in it. */
static void take_version(void *ctx, char *line) {
    struct gathering *x = ctx;
    char *rest = NULL;
    if (strncmp(line, "NVRM", 4) != 0)
        return;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (*word < '0' || *word > '9' || !strchr(word, '.'))
            continue;
        x->g->kernel_module = tbp_arena_printf(x->arena, "%s", word);
        return;
    }
}

static void take_status(void *ctx, char *line) {
    struct gathering *x = ctx;
    const char key[] = "CapEff:";
    if (strncmp(line, key, sizeof key - 1) != 0)
        return;
    unsigned long long rights = strtoull(line + sizeof key - 1, NULL, 16);
    x->g->may_administer = rights >> CAP_SYS_ADMIN & 1 || rights >> CAP_PERFMON & 1;
}

static const char *container(const char *root) {
    if (exists(root, "/.dockerenv"))
        return "Docker";
    if (exists(root, "/run/.containerenv"))
        return "Podman";
    if (getenv("KUBERNETES_SERVICE_HOST"))
        return "Kubernetes";
    return getenv("SINGULARITY_CONTAINER") || getenv("APPTAINER_CONTAINER") ? "Apptainer" : NULL;
}

/* Ours are no others. */
static void find_injected(struct tbp_gpu_facts *g) {
    static const char *const names[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                        "NSYS_PROFILING_SESSION_ID", "LD_PRELOAD"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (!value || !*value || strstr(value, "tbprof"))
            continue;
        if (strcmp(names[i], "LD_PRELOAD") == 0 && !strstr(value, "njection"))
            continue;
        g->injected = names[i];
        g->injected_value = value;
        return;
    }
}

/* What a session does before its first record. */
static void try_cupti(struct tbp_gpu_facts *g, const struct tbp_cupti *c, struct tbp_arena *arena) {
    struct tbp_cupti_subscription s;
    char doing[128];
    g->refusal = g->subscribing = tbp_cupti_subscribe(&s, c, g->driver_version);
    g->is_shared = s.is_shared;
    tbp_cupti_subscribing(&s, doing, sizeof doing);
    g->doing = tbp_arena_printf(arena, "%s", doing);
    if (g->subscribing == TBP_CUPTI_OK) {
        g->refusal = g->enabling = tbp_cupti_enable(&s, TBP_CUPTI_KERNEL);
        g->doing = "switching on the recording of kernels";
    }
    if (g->enabling == TBP_CUPTI_OK)
        tbp_cupti_disable(&s, TBP_CUPTI_KERNEL);
    tbp_cupti_unsubscribe(&s);
}

static void gather_cupti(struct tbp_gpu_facts *g, struct tbp_arena *arena) {
    struct tbp_cupti *c = TBP_NEW(arena, struct tbp_cupti);
    struct tbp_error err = {0};
    if (tbp_cupti_load(c, g->driver_version, &err) != TBP_OK) {
        g->failure = tbp_arena_printf(arena, "%s", err.message);
        return;
    }
    g->cupti = c->path;
    g->cupti_version = c->version;
    g->cupti_release = tbp_cupti_release(c->version);
    if (g->has_driver)
        try_cupti(g, c, arena);
}

void tbp_gpu_facts_gather(struct tbp_gpu_facts *g, struct tbp_arena *arena, const char *root) {
    struct gathering x = {g, arena};
    struct tbp_cuda cuda;
    *g = (struct tbp_gpu_facts){.admin_only = -1, .subscribing = -1, .enabling = -1};
    read_lines(root, "/proc/driver/nvidia/params", take_parameter, &x);
    read_lines(root, "/proc/driver/nvidia/version", take_version, &x);
    read_lines(root, "/proc/self/status", take_status, &x);
    g->has_device_files = exists(root, "/dev/nvidiactl");
    g->container = container(root);
    find_injected(g);
    g->has_driver = tbp_cuda_find(&cuda, true);
    g->driver_version = tbp_cuda_version(&cuda);
    gather_cupti(g, arena);
}
