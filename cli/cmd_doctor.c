/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof doctor: why a log directory shows, or does not show, in the Profile tab. The checks are in
 * THE TABLE of doctor_checks.c; this file runs them, repairs if asked to, and tells.
 */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/gpu_facts.h"
#include "cli/json_parts.h"

#include <stdlib.h>
#include <unistd.h>

enum { MAX_LINES_PER_CHECK = 5 };

struct doctor_values {
    struct tbp_common common;
    const char *python, *chart_host;
    bool fix, offline, files_only, gpu;
};

#define AT(member) offsetof(struct doctor_values, member)
static const struct tbp_opt doctor_options[] = {
    {"fix", 0, TBP_OPT_FLAG, AT(fix), NULL,
     "repair what is safe: write the marker event file, link xplane files into a run folder "
     "(a second name of the file, else a symbolic link, else a copy)",
     NULL},
    {"python", 0, TBP_OPT_TEXT, AT(python), "PROGRAM",
     "the Python that runs TensorBoard; default: that of the 'tensorboard' beside tbprof or on "
     "PATH, else python3",
     NULL},
    {"offline", 0, TBP_OPT_FLAG, AT(offline), NULL,
     "do not try to connect to the host of the page's chart library", NULL},
    {"files-only", 0, TBP_OPT_FLAG, AT(files_only), NULL,
     "look at files only, not at what is installed; implies --offline", NULL},
    {"chart-host", 0, TBP_OPT_TEXT, AT(chart_host), "HOST[:PORT]",
     "where the page's chart library comes from; default: www.gstatic.com", NULL},
    {"gpu", 0, TBP_OPT_FLAG, AT(gpu), NULL,
     "look at what could be recorded of a GPU here: driver, CUPTI, permissions, other tools; PATH "
     "may then be left out",
     NULL},
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const doctor_examples[] = {
    "tbprof doctor logdir",
    "what keeps logdir from showing in the Profile tab, and what to do",
    "tbprof doctor --fix downloads",
    "puts a flat folder of xplane files in shape",
    "tbprof doctor --python venv/bin/python --offline --json logdir",
    "for scripts, with the packages of that Python",
    "tbprof doctor --gpu",
    "before a training job: can its GPU be recorded?",
    NULL,
};

struct repair {
    const char *check, *where, *did;
};

struct session {
    struct tbp_cli *cli;
    const struct doctor_values *v;
    const char *path; /* NULL: none */
    struct tbp_doctor doctor;
    struct tbp_gpu_facts gpu;
    TBP_VEC(struct repair) repairs;
    size_t n_problems;
};

/* All files of the tree and all checks of files; what is installed was asked before. */
static int examine_files(struct session *s, struct tbp_error *err) {
    int status = tbp_tree_build(&s->doctor.tree, s->cli->arena, s->path, err);
    if (status)
        return status;
    tbp_doctor_read_xplanes(&s->doctor);
    tbp_doctor_run(&s->doctor, TBP_CHECK_FILES);
    return TBP_OK;
}

static void examine_python(struct session *s) {
    struct tbp_doctor *d = &s->doctor;
    if (s->v->files_only)
        return;
    tbp_python_ask(&d->python, s->cli->arena, s->v->python);
    d->has_python = !d->python.failure;
    d->may_connect = !s->v->offline;
    d->chart_host = s->v->chart_host ? s->v->chart_host : "www.gstatic.com";
    tbp_doctor_run(d, TBP_CHECK_PYTHON);
}

static void examine_gpu(struct session *s) {
    const char *root = getenv("TBPROF_SYSTEM_ROOT"); /* for tests: another /proc, another /dev */
    if (!s->v->gpu)
        return;
    tbp_gpu_facts_gather(&s->gpu, s->cli->arena, root ? root : "");
    s->doctor.gpu = &s->gpu;
    tbp_doctor_run(&s->doctor, TBP_CHECK_GPU);
}

/* Repairs what can be repaired and forgets the findings about files, to look anew. A failure is
 * told and leaves its finding for the second look. */
static void repair(struct session *s) {
    struct tbp_doctor *d = &s->doctor;
    struct tbp_error err;
    size_t n = 0;
    for (size_t i = 0; i < d->findings.n; i++) {
        const struct tbp_finding *f = &d->findings.at[i];
        struct repair r = {f->check->name, f->where, NULL};
        if (!f->check->fix || !f->subject)
            continue;
        if (f->check->fix(d, f, &r.did, &err) != TBP_OK)
            tbp_cli_error(s->cli, &err);
        else
            *tbp_vec_push(&s->repairs) = r;
    }
    for (size_t i = 0; i < d->findings.n; i++) {
        if (d->findings.at[i].check->scope != TBP_CHECK_FILES)
            d->findings.at[n++] = d->findings.at[i];
    }
    d->findings.n = n;
    tbp_tree_release(&d->tree);
}

static const char *printable(const struct session *s, const char *text) {
    return tbp_cli_printable(s->cli, text);
}

static void text_finding(const struct session *s, const struct tbp_finding *f) {
    bool color = s->cli->color_out, is_problem = f->level == TBP_PROBLEM;
    printf("%s%s%s %s: %s %s", color ? is_problem ? "\033[1;31m" : "\033[33m" : "",
           is_problem ? "problem" : "note", color ? "\033[0m" : "", f->check->name,
           printable(s, f->where), printable(s, f->what));
    if (f->advice)
        printf("; to do: %s", printable(s, f->advice));
    putchar('\n');
}

static void text_findings(const struct session *s) {
    const struct tbp_doctor *d = &s->doctor;
    size_t n_alike = 0;
    for (size_t i = 0; i < d->findings.n; i++) {
        const struct tbp_finding *f = &d->findings.at[i];
        bool is_last = i + 1 == d->findings.n || f[1].check != f->check;
        if (++n_alike <= MAX_LINES_PER_CHECK)
            text_finding(s, f);
        if (!is_last)
            continue;
        if (n_alike > MAX_LINES_PER_CHECK)
            printf("... and %zu more of '%s' (--json tells all)\n", n_alike - MAX_LINES_PER_CHECK,
                   f->check->name);
        n_alike = 0;
    }
}

static size_t count_files(const struct tbp_tree *t, enum tbp_file_kind kind) {
    size_t n = 0;
    for (size_t i = 0; i < t->runs.n; i++)
        n += t->runs.at[i].count[kind];
    return n;
}

static const char *installed(const struct tbp_doctor *d) {
    const struct tbp_python *p = &d->python;
    if (!d->has_python)
        return "";
    return tbp_arena_printf(d->arena, "; %s: TensorBoard %s, %s%s", p->python,
                            p->tensorboard           ? p->tensorboard
                            : p->tensorboard_nightly ? p->tensorboard_nightly
                                                     : "missing",
                            tbp_doctor_plugin_text(d),
                            tbp_python_tbprof_answers(p) ? ", tbprof answers" : "");
}

static void text_gpu(const struct session *s) {
    const struct tbp_gpu_facts *g = &s->gpu;
    if (g->has_driver)
        printf("GPU: driver %s for CUDA %d.%d", g->kernel_module ? g->kernel_module : "(no module)",
               g->driver_version / 1000, g->driver_version % 1000 / 10);
    else
        printf("GPU: no driver");
    if (g->cupti)
        printf(", CUPTI %s (%s)", g->cupti_release, printable(s, g->cupti));
    printf("%s%s\n", g->container ? ", in a container: " : "", g->container ? g->container : "");
}

static void tell_text(const struct session *s) {
    const struct tbp_tree *t = &s->doctor.tree;
    size_t n_xplanes = count_files(t, TBP_FILE_XPLANE);
    if (!s->v->common.quiet && s->doctor.gpu)
        text_gpu(s);
    if (!s->v->common.quiet && s->path)
        printf("%s: %zu run%s, %zu xplane%s%s\n", printable(s, t->root), t->runs.n,
               tbp_plural(t->runs.n), n_xplanes, tbp_plural(n_xplanes), installed(&s->doctor));
    for (size_t i = 0; i < s->repairs.n; i++)
        printf("repaired %s: %s: %s\n", s->repairs.at[i].check,
               printable(s, s->repairs.at[i].where), printable(s, s->repairs.at[i].did));
    text_findings(s);
    if (!s->n_problems && !s->v->common.quiet)
        puts("nothing is wrong");
}

static void json_text(struct tbp_json *j, const char *key, const char *text) {
    tbp_json_char(j, ',');
    tbp_json_member(j, key, text);
}

static void json_python(struct tbp_json *j, const struct tbp_doctor *d) {
    const struct tbp_python *p = &d->python;
    tbp_json_lit(j, ",\"python\":{\"answers\":");
    tbp_json_lit(j, d->has_python ? "true" : "false");
    json_text(j, "program", p->python);
    json_text(j, "version", p->version);
    json_text(j, "tensorboard", p->tensorboard ? p->tensorboard : p->tensorboard_nightly);
    json_text(j, "plugin", p->profile ? p->profile->package : NULL);
    json_text(j, "plugin_version", p->profile ? p->profile->version : NULL);
    tbp_json_printf(j, ",\"tbprof_answers\":%s}", tbp_python_tbprof_answers(p) ? "true" : "false");
}

static void json_gpu(struct tbp_json *j, const struct tbp_gpu_facts *g) {
    static const char *const words[] = {"null", "false", "true"};
    tbp_json_printf(j, ",\"gpu\":{\"driver\":%s", g->has_driver ? "true" : "false");
    tbp_json_printf(j, ",\"cuda_version\":%d", g->driver_version);
    json_text(j, "kernel_module", g->kernel_module);
    json_text(j, "cupti", g->cupti);
    json_text(j, "cupti_release", g->cupti_release);
    tbp_json_printf(j, ",\"cupti_version\":%u,\"subscribing\":%d,\"enabling\":%d,\"shared\":%s",
                    g->cupti_version, g->subscribing, g->enabling, g->is_shared ? "true" : "false");
    tbp_json_printf(j, ",\"admin_only\":%s,\"may_administer\":%s", words[g->admin_only + 1],
                    g->may_administer ? "true" : "false");
    json_text(j, "container", g->container);
    json_text(j, "injected_by", g->injected);
    tbp_json_char(j, '}');
}

static void json_findings(struct tbp_json *j, const struct session *s) {
    tbp_json_lit(j, ",\"findings\":[");
    for (size_t i = 0; i < s->doctor.findings.n; i++) {
        const struct tbp_finding *f = &s->doctor.findings.at[i];
        tbp_json_printf(j, "%s{\"level\":\"%s\"", i ? "," : "",
                        f->level == TBP_PROBLEM ? "problem" : "note");
        json_text(j, "check", f->check->name);
        json_text(j, "where", f->where);
        json_text(j, "what", f->what);
        json_text(j, "to_do", f->advice);
        tbp_json_char(j, '}');
    }
    tbp_json_lit(j, "],\"repairs\":[");
    for (size_t i = 0; i < s->repairs.n; i++) {
        const struct repair *r = &s->repairs.at[i];
        tbp_json_lit(j, i ? ",{\"check\":" : "{\"check\":");
        tbp_json_str(j, tbp_str_c(r->check), TBP_JSON_GVIZ);
        json_text(j, "where", r->where);
        json_text(j, "did", r->did);
        tbp_json_char(j, '}');
    }
    tbp_json_lit(j, "],\"checks\":[");
    for (size_t i = 0; tbp_doctor_checks[i]; i++) {
        tbp_json_lit(j, i ? ",{\"name\":" : "{\"name\":");
        tbp_json_str(j, tbp_str_c(tbp_doctor_checks[i]->name), TBP_JSON_GVIZ);
        json_text(j, "help", tbp_doctor_checks[i]->help);
        tbp_json_char(j, '}');
    }
    tbp_json_lit(j, "]}\n");
}

static int tell_json(const struct session *s, struct tbp_error *err) {
    struct tbp_json *j = TBP_NEW(s->cli->arena, struct tbp_json);
    tbp_json_init(j, &s->cli->answer->base);
    tbp_json_printf(j, "{\"healthy\":%s", s->n_problems ? "false" : "true");
    if (s->path) {
        json_text(j, "path", s->path);
        json_text(j, "logdir", s->doctor.tree.root);
        tbp_json_printf(j, ",\"runs\":%zu,\"xplanes\":%zu", s->doctor.tree.runs.n,
                        count_files(&s->doctor.tree, TBP_FILE_XPLANE));
        if (!s->v->files_only)
            json_python(j, &s->doctor);
    }
    if (s->doctor.gpu)
        json_gpu(j, &s->gpu);
    json_findings(j, s);
    return tbp_json_finish(j, err);
}

static int examine_path(struct session *s, struct tbp_error *err) {
    examine_python(s);
    int status = examine_files(s, err);
    if (!status && s->v->fix) {
        repair(s);
        status = examine_files(s, err);
    }
    return status;
}

static int examine(struct session *s, struct tbp_error *err) {
    int status = s->path ? examine_path(s, err) : TBP_OK;
    if (status)
        return status;
    examine_gpu(s);
    for (size_t i = 0; i < s->doctor.findings.n; i++)
        s->n_problems += s->doctor.findings.at[i].level == TBP_PROBLEM;
    if (s->v->common.json)
        status = tell_json(s, err);
    else
        tell_text(s);
    if (!status && s->n_problems)
        status = tbp_fail(err, TBP_E_FORMAT, "%zu problem%s found in '%s'", s->n_problems,
                          tbp_plural(s->n_problems), s->path ? s->path : "GPU");
    return status;
}

static int run_doctor(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                      struct tbp_error *err) {
    struct session s = {.cli = cli, .v = values, .path = n_args ? args[0] : NULL};
    if (!s.path && !s.v->gpu)
        return tbp_fail(err, TBP_E_USAGE, "doctor needs a PATH, or --gpu");
    if (s.path && access(s.path, F_OK) != 0)
        return tbp_fail_errno(err, TBP_E_NOT_FOUND, "opening '%s' failed", s.path);
    s.doctor.arena = cli->arena;
    s.doctor.pool = tbp_pool_new(0);
    int status = examine(&s, err);
    tbp_pool_free(s.doctor.pool);
    tbp_doctor_release(&s.doctor);
    tbp_vec_release(&s.repairs);
    return status;
}

const struct tbp_command tbp_command_doctor = {
    .name = "doctor",
    .args = "[PATH]",
    .help = "tell why a log directory does or does not show",
    .about = "Looks at PATH, which is what 'tensorboard --logdir' gets, and at the packages of the "
             "Python that runs TensorBoard, without importing them. Each line is one finding: a "
             "problem keeps something from being shown, a note is worth knowing; then what to "
             "do.\nChecked are the level of the folder, file names, sizes, rights and damage, the "
             "marker event file, caches, the plugin's version and what it makes of these files, "
             "conflicts between packages, and the reach of the page's chart library. Nothing is "
             "changed without --fix.\nWith --gpu: whether what a GPU does can be recorded here, by "
             "NVIDIA's driver, CUPTI, this user's rights, and other tools. CUPTI is subscribed to "
             "for a moment. Exit code 0: nothing is wrong, 1: something is.",
    .examples = doctor_examples,
    .options = doctor_options,
    .values_size = sizeof(struct doctor_values),
    .min_args = 0,
    .max_args = 1,
    .run = run_doctor,
};
