/* SPDX-License-Identifier: Apache-2.0
 *
 * Where CUPTI is looked for, in order: what the process has mapped, $TBPROF_CUPTI_PATH, the
 * loader's path, the CUDA toolkit, NVIDIA's Python packages beside a mapped CUDA library. Releases
 * 12 and later carry the major number in the name, 11 the minor one too.
 */
#include "capture/cupti_load.h"

#include "capture/mapped_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    unsigned major;
    const char *name;
} sonames[] = {
    {13, "libcupti.so.13"},   {12, "libcupti.so.12"},   {11, "libcupti.so.11.8"},
    {11, "libcupti.so.11.7"}, {11, "libcupti.so.11.6"}, {11, "libcupti.so.11.5"},
    {11, "libcupti.so.11.4"}, {11, "libcupti.so.11.3"}, {11, "libcupti.so.11.2"},
    {11, "libcupti.so.11.1"},
};
enum { N_SONAMES = sizeof sonames / sizeof *sonames, PATH_BYTES = 1024 };

struct looking {
    unsigned major; /* tried first; 0: any */
    char tried[384];
};

static void note(struct looking *l, const char *place) {
    size_t n = strlen(l->tried);
    int rest = (int)(sizeof l->tried - n);
    snprintf(l->tried + n, (size_t)rest, "%s%.*s", n ? ", " : "", rest, place);
}

/* Calls open for each name, those of the driver's release first, until one gives a library. */
static void *try_names(const struct looking *l, const char *folder, int flags) {
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < N_SONAMES; i++) {
            char path[PATH_BYTES];
            if ((l->major == 0 || sonames[i].major == l->major) != (pass == 0))
                continue;
            int n =
                snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", sonames[i].name);
            if (n < 0 || n >= PATH_BYTES)
                continue; /* no name that the system takes */
            void *library = dlopen(path, flags | RTLD_NOW | RTLD_LOCAL);
            if (library)
                return library;
        }
    }
    return NULL;
}

static void *in_folder(struct looking *l, const char *folder) {
    note(l, folder);
    return try_names(l, folder, 0);
}

static void *by_wish(struct looking *l) {
    const char *path = getenv("TBPROF_CUPTI_PATH");
    struct stat st;
    if (!path || !*path)
        return NULL;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return in_folder(l, path);
    note(l, path);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *in_toolkit(struct looking *l) {
    static const char *const below[] = {"extras/CUPTI/lib64", "lib64"};
    const char *roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        for (size_t k = 0; roots[i] && *roots[i] && k < sizeof below / sizeof *below; k++) {
            char folder[PATH_BYTES];
            snprintf(folder, sizeof folder, "%s/%s", roots[i], below[k]);
            void *library = in_folder(l, folder);
            if (library)
                return library;
        }
    }
    return NULL;
}

/* …/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12: the length up to "nvidia". */
static int find_packages(struct dl_phdr_info *info, size_t size, void *context) {
    char *base = context;
    const char *file = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    const char *part = file ? strstr(info->dlpi_name, "/nvidia/") : NULL;
    (void)size;
    if (!part || (strncmp(file, "/libcudart", 10) != 0 && strncmp(file, "/libcublas", 10) != 0))
        return 0;
    snprintf(base, PATH_BYTES, "%.*s", (int)(part - info->dlpi_name), info->dlpi_name);
    return 1;
}

static void *in_packages(struct looking *l) {
    static const char *const below[] = {"cuda_cupti/lib", "cu13/lib"};
    char base[PATH_BYTES] = "";
    dl_iterate_phdr(find_packages, base);
    for (size_t i = 0; *base && i < sizeof below / sizeof *below; i++) {
        char folder[PATH_BYTES + 32];
        snprintf(folder, sizeof folder, "%s/nvidia/%s", base, below[i]);
        void *library = in_folder(l, folder);
        if (library)
            return library;
    }
    return NULL;
}

static void *find(struct looking *l) {
    void *library = tbp_library_is_mapped("libcupti.so") ? try_names(l, "", RTLD_NOLOAD) : NULL;
    if (!library)
        library = by_wish(l);
    if (!library) {
        note(l, "the loader's path");
        library = try_names(l, "", 0);
    }
    if (!library)
        library = in_packages(l);
    return library ? library : in_toolkit(l);
}

static int resolve(struct tbp_cupti *c, void *library, struct tbp_error *err) {
    Dl_info where;
#define X(required, name, parameters)                                                              \
    *(void **)(void *)&c->name = dlsym(library, "cupti" #name);                                    \
    if ((required) && !c->name)                                                                    \
        return tbp_fail(err, TBP_E_UNSUPPORTED, "libcupti has no function 'cupti%s'", #name);
    TBP_CUPTI_FUNCTIONS(X)
#undef X
    void *address = *(void **)(void *)&c->GetVersion;
    if (dladdr(address, &where) && where.dli_fname)
        snprintf(c->path, sizeof c->path, "%s", where.dli_fname);
    if (c->GetVersion(&c->version) != 0)
        return tbp_fail(err, TBP_E_UNSUPPORTED, "'%s' does not tell its version", c->path);
    if (c->version < TBP_CUPTI_11_1)
        return tbp_fail(err, TBP_E_UNSUPPORTED, "'%s' is older than CUDA 11.1", c->path);
    return TBP_OK;
}

int tbp_cupti_load(struct tbp_cupti *c, int cuda_version, struct tbp_error *err) {
    struct looking l = {.major = (unsigned)cuda_version / 1000};
    *c = (struct tbp_cupti){0};
    void *library = find(&l);
    if (!library)
        return tbp_fail(err, TBP_E_NOT_FOUND,
                        "libcupti not found (searched: %s): install the CUDA toolkit or the "
                        "package nvidia-cuda-cupti for CUDA %u, or set TBPROF_CUPTI_PATH",
                        l.tried, l.major ? l.major : 12);
    return resolve(c, library, err);
}

const char *tbp_cupti_release(uint32_t version) {
    static const char *const releases[] = {"11.0", "11.1", "11.2", "11.5",  "11.6", "11.8",
                                           "12.0", "12.2", "12.3", "12.4",  "12.5", "12.6",
                                           "12.7", "12.8", "12.9", "12.9.1"};
    static const char *const later[] = {"13.0", "13.1", "13.2", "13.3", "13.4",
                                        "13.5", "13.6", "13.7", "13.8", "13.9"};
    if (version >= 13 && version < 13 + sizeof releases / sizeof *releases)
        return releases[version - 13];
    uint32_t minor = version / 100 % 100;
    if (version / 10000 == 13 && minor < sizeof later / sizeof *later)
        return later[minor];
    return version < 13 ? "before 11" : "newer than 13";
}
