/* SPDX-License-Identifier: Apache-2.0
 *
 * Making and removing overlays; see overlay.h. A marker file tells an overlay from other folders;
 * only links and the two folders that hold them are ever removed.
 */
#include "cli/overlay.h"

#include "base/str.h"
#include "cli/library_check.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char marker[] = ".tbprof-overlay";
static const char own_link[] =
    "profiler_plugin_c_api-tbprof.so"; /* sorts before the official name */
static const char official_prefix[] = "profiler_plugin_c_api";
static const char official_link[] =
    "official-profiler_plugin_c_api.so"; /* convert/backend/forward.h */

/* The functions that the plugin's releases load: each the first ten, and with the next one those
 * from 2.23.0 on, with the last one 2.22.2. Ours must have all, the official library those of every
 * release. */
enum { OF_EVERY_RELEASE = 10 };
static const char *const functions[] = {"FreeString",
                                        "XSpaceToToolsData",
                                        "XSpaceToToolsDataFromByteString",
                                        "Trace",
                                        "Monitor",
                                        "StartContinuousProfiling",
                                        "StopContinuousProfiling",
                                        "GetSnapshot",
                                        "StartGrpcServer",
                                        "InitializeStubs",
                                        "BuiltWithEmbedded",
                                        "InitializeProfiler",
                                        NULL};

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

static bool first_match(const char **out, struct tbp_arena *arena, const char *pattern) {
    glob_t found;
    bool any = glob(pattern, 0, NULL, &found) == 0;
    if (any) {
        *out = tbp_arena_printf(arena, "%s", found.gl_pathv[0]);
        globfree(&found);
    }
    return any;
}

/* Folder of this program, without '/' at its end; "" if not known. */
static const char *own_folder(struct tbp_arena *arena) {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    if (n <= 0 || n == sizeof path)
        return "";
    struct tbp_str s = {path, (size_t)n};
    return tbp_arena_str(arena, tbp_str_sub(s, 0, tbp_str_rfind(s, '/'))).p;
}

int tbp_overlay_find_package(const char **out, struct tbp_arena *arena, struct tbp_error *err) {
    static const char tail[] = "lib/python3*/site-packages/xprof/convert";
    const char *environment = getenv("VIRTUAL_ENV"), *home = getenv("HOME"), *found = NULL;
    const char *patterns[] = {
        environment ? tbp_arena_printf(arena, "%s/%s", environment, tail) : "",
        tbp_arena_printf(arena, "%s/../%s", own_folder(arena), tail),
        home ? tbp_arena_printf(arena, "%s/.local/%s", home, tail) : "",
        "/usr/local/lib/python3*/dist-packages/xprof/convert",
        "/usr/lib/python3/dist-packages/xprof/convert",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        if (!patterns[i][0] || !first_match(&found, arena, patterns[i]))
            continue;
        *out = tbp_arena_printf(arena, "%.*s", (int)(strlen(found) - strlen("/convert")), found);
        return TBP_OK;
    }
    return tbp_fail(err, TBP_E_NOT_FOUND,
                    "no package 'xprof' found; name its folder with --xprof DIR");
}

int tbp_overlay_find_library(const char **out, struct tbp_arena *arena, struct tbp_error *err) {
    const char *folder = own_folder(arena);
    const char *patterns[] = {
        tbp_arena_printf(arena, "%s/libtbprof_backend.so", folder),
        tbp_arena_printf(arena, "%s/../lib/libtbprof_backend.so", folder),
        tbp_arena_printf(arena, "%s/../lib/*/libtbprof_backend.so", folder),
        tbp_arena_printf(arena, "%s/../lib/python3*/site-packages/tbprof/libtbprof_backend.so",
                         folder),
    };
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        if (first_match(out, arena, patterns[i]))
            return TBP_OK;
    return tbp_fail(err, TBP_E_NOT_FOUND,
                    "no libtbprof_backend.so beside this program; name it with --library FILE");
}

static int absolute(const char **out, struct tbp_arena *arena, const char *path,
                    struct tbp_error *err) {
    char real[PATH_MAX];
    if (!realpath(path, real))
        return tbp_fail_errno(err, errno == ENOENT ? TBP_E_NOT_FOUND : TBP_E_IO,
                              "opening '%s' failed", path);
    *out = tbp_arena_printf(arena, "%s", real);
    return TBP_OK;
}

static int make_folder(const char *path, struct tbp_error *err) {
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return TBP_OK;
    return tbp_fail_errno(err, TBP_E_IO, "making folder '%s' failed", path);
}

static int make_link(const char *target, const char *path, struct tbp_error *err) {
    if (symlink(target, path) == 0)
        return TBP_OK;
    return tbp_fail_errno(err, TBP_E_IO, "making link '%s' failed", path);
}

/* Links to all entries of `from`, but for one folder and for names that begin with `left_out`. */
static int link_entries(struct tbp_arena *arena, const char *from, const char *to,
                        const char *left_out, struct tbp_error *err) {
    DIR *dir = opendir(from);
    if (!dir)
        return tbp_fail_errno(err, errno == ENOENT ? TBP_E_NOT_FOUND : TBP_E_IO,
                              "opening folder '%s' failed", from);
    int status = make_folder(to, err);
    for (struct dirent *d; !status && (d = readdir(dir));) {
        if (d->d_name[0] == '.' || strcmp(d->d_name, "__pycache__") == 0 ||
            strncmp(d->d_name, left_out, strlen(left_out)) == 0)
            continue;
        status = make_link(tbp_arena_printf(arena, "%s/%s", from, d->d_name),
                           tbp_arena_printf(arena, "%s/%s", to, d->d_name), err);
    }
    closedir(dir);
    return status;
}

static int find_official(const char **out, struct tbp_arena *arena, const char *package,
                         struct tbp_error *err) {
    if (first_match(out, arena,
                    tbp_arena_printf(arena, "%s/convert/%s*.so", package, official_prefix)))
        return TBP_OK;
    return tbp_fail(err, TBP_E_NOT_FOUND,
                    "'%s' has no converter library: overlays are for xprof 2.22.2 and later",
                    package);
}

static int check_libraries(const char *ours, const char *official, struct tbp_error *err) {
    const char *of_every_release[OF_EVERY_RELEASE + 1] = {NULL};
    memcpy(of_every_release, functions, OF_EVERY_RELEASE * sizeof *functions);
    int status = tbp_library_check(ours, functions, err);
    return status ? status : tbp_library_check(official, of_every_release, err);
}

static int mark(struct tbp_arena *arena, const char *folder, struct tbp_error *err) {
    const char *path = tbp_arena_printf(arena, "%s/%s", folder, marker);
    FILE *f = fopen(path, "w");
    if (!f || fclose(f))
        return tbp_fail_errno(err, TBP_E_IO, "writing '%s' failed", path);
    return TBP_OK;
}

/* Removes the links in a folder, and the folder if nothing else is in it. */
static void remove_links(struct tbp_arena *arena, const char *folder) {
    DIR *dir = opendir(folder);
    for (struct dirent *d; dir && (d = readdir(dir));) {
        struct stat st;
        const char *path = tbp_arena_printf(arena, "%s/%s", folder, d->d_name);
        if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
            unlink(path);
    }
    if (dir)
        closedir(dir);
    rmdir(folder);
}

/* Python leaves compiled files beside the links. */
static void remove_compiled(struct tbp_arena *arena, const char *folder) {
    const char *cache = tbp_arena_printf(arena, "%s/__pycache__", folder);
    glob_t found;
    if (glob(tbp_arena_printf(arena, "%s/*.pyc", cache), 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
        globfree(&found);
    }
    rmdir(cache);
}

static void empty(struct tbp_arena *arena, const char *folder) {
    const char *package = tbp_arena_printf(arena, "%s/xprof", folder);
    const char *convert = tbp_arena_printf(arena, "%s/convert", package);
    remove_compiled(arena, convert);
    remove_links(arena, convert);
    remove_compiled(arena, package);
    remove_links(arena, package);
}

static bool is_empty(const char *folder) {
    DIR *dir = opendir(folder);
    bool any = false;
    for (struct dirent *d; dir && !any && (d = readdir(dir));)
        any = strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return !any;
}

int tbp_overlay_make(struct tbp_arena *arena, const char *folder, const char *package,
                     const char *library, struct tbp_error *err) {
    const char *official = NULL;
    int status = absolute(&package, arena, package, err);
    if (!status)
        status = absolute(&library, arena, library, err);
    if (!status)
        status = find_official(&official, arena, package, err);
    if (!status)
        status = check_libraries(library, official, err);
    if (status)
        return status;
    if (exists(folder) && !is_empty(folder) &&
        !exists(tbp_arena_printf(arena, "%s/%s", folder, marker)))
        return tbp_fail(err, TBP_E_USAGE, "'%s' is not empty and no overlay of tbprof", folder);
    const char *top = tbp_arena_printf(arena, "%s/xprof", folder);
    const char *convert = tbp_arena_printf(arena, "%s/convert", top);
    empty(arena, folder);
    status = make_folder(folder, err);
    if (!status)
        status = mark(arena, folder, err);
    if (!status)
        status = link_entries(arena, package, top, "convert", err);
    if (!status)
        status = link_entries(arena, tbp_arena_printf(arena, "%s/convert", package), convert,
                              official_prefix, err);
    if (!status)
        status = make_link(official, tbp_arena_printf(arena, "%s/%s", convert, official_link), err);
    if (!status)
        status = make_link(library, tbp_arena_printf(arena, "%s/%s", convert, own_link), err);
    return status;
}

int tbp_overlay_remove(struct tbp_arena *arena, const char *folder, struct tbp_error *err) {
    const char *path = tbp_arena_printf(arena, "%s/%s", folder, marker);
    if (!exists(path))
        return tbp_fail(err, TBP_E_NOT_FOUND, "'%s' is no overlay of tbprof", folder);
    empty(arena, folder);
    unlink(path);
    if (rmdir(folder) && errno != ENOTEMPTY)
        return tbp_fail_errno(err, TBP_E_IO, "removing '%s' failed", folder);
    return TBP_OK;
}
