/* SPDX-License-Identifier: Apache-2.0
 *
 * The `tbprof` executable. (Under construction: `tool` and `info` only, without the option table.)
 */
#include "cli/open_input.h"
#include "convert/tool/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int fail(const struct tbp_error *err) {
    char text[1024];
    fprintf(stderr, "tbprof: %s\n", tbp_error_text(err, text, sizeof text));
    return err->code > TBP_E_FORMAT ? 2 : 1;
}

static int put(struct tbp_sink *s, const void *p, size_t n, struct tbp_error *err) {
    (void)s;
    for (size_t done = 0; done < n;) {
        ssize_t k = write(STDOUT_FILENO, (const char *)p + done, n - done);
        if (k < 0)
            return tbp_fail_errno(err, TBP_E_IO, "cannot write to standard output");
        done += (size_t)k;
    }
    return TBP_OK;
}

static int put_end(struct tbp_sink *s, struct tbp_error *err) {
    (void)s;
    (void)err;
    return TBP_OK;
}

struct arguments {
    const char *command, *name, *input, *host_name;
    enum tbp_semantics semantics;
    enum tbp_dialect dialect;
    struct tbp_tool_option options[32];
    size_t n_options;
    unsigned threads;
};

static void parse_option(struct arguments *a, const char *key, char *v) {
    char *eq = strchr(v, '=');
    if (!strcmp(key, "--semantics"))
        a->semantics = !strcmp(v, "official") ? TBP_SEMANTICS_OFFICIAL
                       : !strcmp(v, "tf")     ? TBP_SEMANTICS_TF
                                              : TBP_SEMANTICS_REPAIR;
    else if (!strcmp(key, "--dialect"))
        a->dialect = !strcmp(v, "legacy") ? TBP_DIALECT_LEGACY : TBP_DIALECT_NEWEST;
    else if (!strcmp(key, "--host"))
        a->host_name = v;
    else if (!strcmp(key, "-j"))
        a->threads = (unsigned)strtoul(v, NULL, 10);
    else if (!strcmp(key, "-O") && eq && a->n_options < 32) {
        *eq = 0;
        a->options[a->n_options++] = (struct tbp_tool_option){v, eq + 1};
    }
}

static void parse(struct arguments *a, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1] && i + 1 < argc) {
            parse_option(a, argv[i], argv[i + 1]);
            i++;
        } else if (!a->command) {
            a->command = argv[i];
        } else if (!a->name && !strcmp(a->command, "tool")) {
            a->name = argv[i];
        } else {
            a->input = argv[i];
        }
    }
}

static int run_info(struct tbp_session *s) {
    struct tbp_error err = {0};
    for (uint32_t i = 0; i < tbp_session_n_hosts(s); i++) {
        struct tbp_host *h = tbp_session_host(s, i, &err);
        if (!h)
            return fail(&err);
        printf("%.*s: %zu planes, %" PRIu64 " events\n", (int)h->name.n, h->name.p, h->n_planes,
               tbp_host_count_events(h));
        for (size_t p = 0; p < h->n_planes; p++)
            printf("  %.*s: %zu lines, %zu event names\n", (int)h->planes[p].name.n,
                   h->planes[p].name.p, h->planes[p].n_lines, h->planes[p].n_metas - 1);
        for (int k = 0; k < TBP_LEDGER_KEYS; k++)
            if (h->ledger.count[k])
                printf("  %s: %" PRIu64 " (first at %" PRIu64 ")\n",
                       tbp_ledger_name((enum tbp_ledger_key)k), h->ledger.count[k],
                       h->ledger.first_offset[k]);
    }
    return 0;
}

static int run_tool(struct tbp_session *s, const struct arguments *a) {
    struct tbp_error err = {0};
    const struct tbp_tool *t = tbp_tool_find(tbp_str_c(a->name));
    if (!t)
        return fprintf(stderr, "tbprof: unknown tool '%s'\n", a->name), 2;
    uint32_t n = tbp_session_n_hosts(s);
    struct tbp_request r = {.host = n == 1 ? 0 : TBP_ALL_HOSTS, .dialect = a->dialect,
                            .options = a->options, .n_options = a->n_options};
    for (uint32_t i = 0; a->host_name && i < n; i++)
        if (tbp_str_is(tbp_session_host_name(s, i), a->host_name))
            r.host = i;
    struct tbp_sink out = {put, put_end};
    int status = t->write(s, &r, &out, &err);
    return status ? fail(&err) : 0;
}

int main(int argc, char **argv) {
    struct arguments a = {0};
    parse(&a, argc, argv);
    if (!a.command || !a.input)
        return fprintf(stderr, "usage: tbprof tool NAME INPUT | tbprof info INPUT\n"), 2;
    struct tbp_error err = {0};
    struct tbp_arena arena;
    struct tbp_input_files files;
    tbp_arena_init(&arena);
    if (tbp_open_input(&files, a.input, NULL, &arena, &err))
        return fail(&err);
    struct tbp_pool *pool = tbp_pool_new(a.threads);
    struct tbp_session *s =
        tbp_session_new(files.names, files.n, a.semantics, tbp_open_load, &files, pool);
    int rc = strcmp(a.command, "tool") == 0 ? run_tool(s, &a) : run_info(s);
    tbp_session_free(s);
    tbp_pool_free(pool);
    tbp_arena_release(&arena);
    return rc;
}
