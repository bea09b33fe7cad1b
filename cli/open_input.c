/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the xplane files of a run; see open_input.h.
 */
#include "cli/open_input.h"

#include "base/sort.h"
#include "convert/read/reader.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

struct host_file {
    struct tbp_str name, path;
};

static const char *const suffixes[] = {".xplane.pb", ".xplane.pb.gz"};

/* Host name of "<host>.xplane.pb", or the whole file name. */
static bool host_name(struct tbp_str file, struct tbp_str *name) {
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (tbp_str_ends(file, suffixes[i]) && file.n > strlen(suffixes[i])) {
            *name = tbp_str_sub(file, 0, file.n - strlen(suffixes[i]));
            return true;
        }
    }
    *name = file;
    return false;
}

static int by_name(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return tbp_str_cmp(((const struct host_file *)a)->name, ((const struct host_file *)b)->name);
}

static void take_files(struct tbp_input_files *out, struct host_file *files, size_t n, struct tbp_arena *a) {
    tbp_sort(files, n, sizeof *files, by_name, NULL);
    out->n = (uint32_t)n;
    out->names = TBP_NEW_N(a, struct tbp_str, n);
    out->paths = TBP_NEW_N(a, struct tbp_str, n);
    for (size_t i = 0; i < n; i++) {
        out->names[i] = files[i].name;
        out->paths[i] = files[i].path;
    }
}

static int scan_folder(struct tbp_input_files *out, const char *folder, struct tbp_arena *a,
                       struct tbp_error *err) {
    DIR *d = opendir(folder);
    if (!d)
        return tbp_fail_errno(err, TBP_E_IO, "cannot open folder '%s'", folder);
    struct host_file *files = NULL;
    size_t n = 0, cap = 0;
    for (struct dirent *e; (e = readdir(d));) {
        struct tbp_str name;
        if (!host_name(tbp_str_c(e->d_name), &name))
            continue;
        if (n == cap) {
            struct host_file *grown = TBP_NEW_N(a, struct host_file, cap = cap * 2 + 8);
            if (n)
                memcpy(grown, files, n * sizeof *files);
            files = grown;
        }
        files[n++] = (struct host_file){tbp_arena_str(a, name),
                                        tbp_str_c(tbp_arena_printf(a, "%s/%s", folder, e->d_name))};
    }
    closedir(d);
    if (n == 0)
        return tbp_fail(err, TBP_E_NOT_FOUND, "no profile (*.xplane.pb) in folder '%s'", folder);
    take_files(out, files, n, a);
    return TBP_OK;
}

int tbp_open_input(struct tbp_input_files *out, const char *input, const char *from,
                   struct tbp_arena *a, struct tbp_error *err) {
    *out = (struct tbp_input_files){.from = from};
    struct stat st;
    bool is_stdin = strcmp(input, "-") == 0;
    if (!is_stdin && stat(input, &st))
        return tbp_fail_errno(err, TBP_E_NOT_FOUND, "cannot find '%s'", input);
    if (!is_stdin && S_ISDIR(st.st_mode))
        return scan_folder(out, input, a, err);
    struct tbp_str path = tbp_str_c(input), name;
    size_t slash = tbp_str_rfind(path, '/');
    host_name(slash == path.n ? path : tbp_str_sub(path, slash + 1, path.n), &name);
    name = is_stdin ? TBP_STR("stdin") : tbp_arena_str(a, name);
    struct host_file one = {name, tbp_arena_str(a, path)};
    take_files(out, &one, 1, a);
    return TBP_OK;
}

int tbp_open_load(void *ctx, uint32_t host, struct tbp_host *out, struct tbp_pool *pool,
                  struct tbp_error *err) {
    const struct tbp_input_files *in = ctx;
    return tbp_read_host(out, in->paths[host].p, in->names[host], in->from, pool, err);
}
