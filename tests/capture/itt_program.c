/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that knows nothing of tbprof and annotates itself with ITT, as ITT's static part would:
 * it loads the collector that the environment names and asks it for functions by name. LOGDIR is
 * where the recording goes, which it starts itself.
 */
#include "capture/itt_abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct itt {
    const char *(*api_version)(void);
    struct tbp_itt_domain *(*domain_create)(const char *);
    struct tbp_itt_string *(*string_create)(const char *);
    void (*task_begin)(const struct tbp_itt_domain *, struct tbp_itt_id, struct tbp_itt_id,
                       const struct tbp_itt_string *);
    void (*task_end)(const struct tbp_itt_domain *);
    void (*thread_set_name)(const char *);
};

static int load(struct itt *itt) {
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    if (!library)
        return 1;
    *(void **)&itt->api_version = dlsym(library, "__itt_api_version");
    *(void **)&itt->domain_create = dlsym(library, "__itt_domain_create");
    *(void **)&itt->string_create = dlsym(library, "__itt_string_handle_create");
    *(void **)&itt->task_begin = dlsym(library, "__itt_task_begin");
    *(void **)&itt->task_end = dlsym(library, "__itt_task_end");
    *(void **)&itt->thread_set_name = dlsym(library, "__itt_thread_set_name");
    return !itt->api_version || !itt->domain_create || !itt->string_create || !itt->task_begin ||
           !itt->task_end || !itt->thread_set_name;
}

int main(int argc, char **argv) {
    struct itt itt;
    struct tbp_itt_id none = {{0}};
    if (argc != 2 || load(&itt))
        return 2;
    struct tbp_itt_domain *torch = itt.domain_create("PyTorch"), *lib = itt.domain_create("lib");
    /* As the static part makes them before it has loaded a collector. */
    struct tbp_itt_domain early = {.flags = 1, .name = "early"};
    struct tbp_itt_string unknown = {.text = "task"};
    if (!itt.api_version()[0] || lib != itt.domain_create("lib") || !lib->flags ||
        itt.string_create("op") != itt.string_create("op"))
        return 3;
    itt.task_begin(torch, none, none, itt.string_create("began before"));
    if (tbprof_start(argv[1], NULL) != TBPROF_OK)
        return 4;
    itt.thread_set_name("annotated");
    itt.task_begin(torch, none, none, itt.string_create("aten::outer"));
    itt.task_begin(lib, none, none, itt.string_create("op"));
    itt.task_begin(&early, none, none, &unknown);
    itt.task_end(&early);
    itt.task_end(torch); /* crosses "op", which is cut in two */
    itt.task_end(lib);
    itt.task_begin(lib, none, none, NULL);
    itt.task_end(lib);
    itt.task_end(torch);
    itt.task_end(torch); /* there is none */
    return tbprof_stop(1) != TBPROF_OK;
}
