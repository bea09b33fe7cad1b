/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding and opening the official library; see forward.h.
 */
#include "convert/backend/forward.h"

#include "base/str.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct tbp_official official;
static bool is_open;
static char reason[PATH_MAX + TBP_ERROR_TEXT];

static const struct {
    const char *symbol;
    size_t offset;
    bool is_needed;
} functions[] = {
#define FUNCTION(name, needed)                                                                     \
    { #name, offsetof(struct tbp_official, name), needed }
    FUNCTION(FreeString, true),
    FUNCTION(Trace, false),
    FUNCTION(Monitor, false),
    FUNCTION(StartContinuousProfiling, false),
    FUNCTION(StopContinuousProfiling, false),
    FUNCTION(GetSnapshot, false),
    FUNCTION(XSpaceToToolsData, true),
    FUNCTION(XSpaceToToolsDataFromByteString, false),
    FUNCTION(StartGrpcServer, false),
    FUNCTION(InitializeStubs, false),
    FUNCTION(InitializeProfiler, false),
#undef FUNCTION
};

/* Folder of this library as it was named when it was loaded, with its '/': links are not followed,
 * since an overlay consists of them. */
static struct tbp_str own_folder(void) {
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&once, &info) || !info.dli_fname)
        return TBP_STR_NONE;
    struct tbp_str path = tbp_str_c(info.dli_fname);
    size_t slash = tbp_str_rfind(path, '/');
    return slash == path.n ? TBP_STR("./") : tbp_str_sub(path, 0, slash + 1);
}

static bool find(char *path, size_t size) {
    static const char *const names[] = {"official-profiler_plugin_c_api.so",
                                        "profiler_plugin_c_api.so"};
    const char *given = getenv("TBPROF_DROPIN_REAL");
    struct tbp_str folder = own_folder();
    if (given && *given)
        return snprintf(path, size, "%s", given) < (int)size;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int n = snprintf(path, size, "%.*s%s", (int)folder.n, folder.p, names[i]);
        if (n < (int)size && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* As the plugin itself loads it: its many own symbols stay its own. Sanitizers cannot have that. */
static int open_mode(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(RTLD_DEEPBIND)
    return RTLD_LAZY | RTLD_LOCAL;
#else
    return RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND;
#endif
}

static void open_once(void) {
    char path[PATH_MAX];
    if (!find(path, sizeof path)) {
        snprintf(reason, sizeof reason, "the official converter library is not installed here");
        return;
    }
    void *library = dlopen(path, open_mode());
    if (!library) {
        snprintf(reason, sizeof reason, "the official converter library cannot be loaded: %s",
                 dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *f = dlsym(library, functions[i].symbol);
        if (!f && functions[i].is_needed) {
            snprintf(reason, sizeof reason, "'%s' has no function '%s'", path, functions[i].symbol);
            return;
        }
        memcpy((char *)&official + functions[i].offset, &f, sizeof f);
    }
    is_open = true;
}

const struct tbp_official *tbp_official_library(const char **why) {
    pthread_once(&once, open_once);
    *why = reason;
    return is_open ? &official : NULL;
}
