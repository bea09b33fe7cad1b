/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of what is installed: TensorBoard, the profile plugin, tbprof's own package, and whether
 * the page reaches the library that draws its charts.
 */
#include "cli/doctor.h"

#include "cli/reach.h"

#include <stdlib.h>
#include <strings.h>

enum { CHART_TIMEOUT_MS = 2000 };

static const char *install_advice(const struct tbp_doctor *d, const char *what) {
    return tbp_arena_printf(d->arena, "%s -m pip install %s", d->python.python, what);
}

static void run_python(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    if (!d->python.failure)
        return;
    struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, d->python.python);
    f->what = tbp_arena_printf(d->arena, "gives no answer as to what is installed: %s",
                               d->python.failure);
    f->advice = "name the Python that runs TensorBoard with --python";
}

const struct tbp_doctor_check tbp_check_python = {
    .name = "python",
    .scope = TBP_CHECK_PYTHON,
    .help = "the Python that runs TensorBoard answers",
    .run = run_python,
};

static void run_tensorboard(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    const struct tbp_python *p = &d->python;
    if (!d->has_python)
        return;
    if (!p->tensorboard && !p->tensorboard_nightly) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, p->python);
        f->what = "has no TensorBoard";
        f->advice = install_advice(d, "tensorboard xprof, or name another Python with --python");
    } else if (p->lacks_pkg_resources) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, p->python);
        f->what = tbp_arena_printf(d->arena,
                                   "has TensorBoard %s, which does not start without pkg_resources "
                                   "(setuptools is missing, or 82 or later)",
                                   p->tensorboard ? p->tensorboard : p->tensorboard_nightly);
        f->advice = install_advice(d, "'setuptools<81'");
    }
}

const struct tbp_doctor_check tbp_check_tensorboard = {
    .name = "tensorboard",
    .scope = TBP_CHECK_PYTHON,
    .help = "TensorBoard is installed and can start",
    .run = run_tensorboard,
};

static void run_conflict(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    const struct tbp_python *p = &d->python;
    const char *names = "", *older = NULL;
    for (size_t i = 0; i < p->n_plugins && p->n_profile > 1; i++) {
        const struct tbp_plugin *e = &p->plugins[i];
        if (!e->makes_tab)
            continue;
        if (!older || strcmp(e->package, "xprof") != 0)
            older = e->package;
        names = tbp_arena_printf(d->arena, "%s%s%s %s", names, *names ? " and " : "", e->package,
                                 e->version);
    }
    if (p->n_profile > 1) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, p->python);
        f->what = tbp_arena_printf(d->arena,
                                   "has two profile plugins, %s: TensorBoard does not start "
                                   "(\"Duplicate plugins for name profile\")",
                                   names);
        f->advice = tbp_arena_printf(d->arena, "%s -m pip uninstall %s", p->python, older);
    }
    if (p->tensorboard && p->tensorboard_nightly) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, p->python);
        f->what = "has two TensorBoards, tensorboard and tb-nightly, in the same folder";
        f->advice = tbp_arena_printf(d->arena, "%s -m pip uninstall both, then install one of them",
                                     p->python);
    }
}

const struct tbp_doctor_check tbp_check_conflict = {
    .name = "conflict",
    .scope = TBP_CHECK_PYTHON,
    .help = "no two plugins make the Profile tab",
    .run = run_conflict,
};

static void run_plugin(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    const struct tbp_python *p = &d->python;
    if (!d->has_python || (!p->tensorboard && !p->tensorboard_nightly))
        return;
    if (!p->profile) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, p->python);
        f->what = "has no plugin that makes the Profile tab";
        f->advice = install_advice(d, "xprof");
    } else if (p->release < TBP_RELEASE(2, 19, 0) && !p->tensorflow) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_PROBLEM, p->python);
        f->what = tbp_arena_printf(d->arena,
                                   "has %s, which is silently absent without TensorFlow, and no "
                                   "TensorFlow",
                                   tbp_doctor_plugin_text(d));
        f->advice = install_advice(d, "tensorflow, or --upgrade xprof in place of the plugin");
    }
}

const struct tbp_doctor_check tbp_check_plugin = {
    .name = "plugin",
    .scope = TBP_CHECK_PYTHON,
    .help = "the profile plugin is installed and can load",
    .run = run_plugin,
};

static void run_backend(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    enum tbp_shim shim = tbp_python_shim(&d->python);
    if (shim == TBP_SHIM_OFF) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_NOTE, "TBPROF_BACKEND");
        f->what = "turns tbprof off: the official converter answers";
        f->advice = "unset it where TensorBoard is started";
    } else if (shim == TBP_SHIM_REFUSES && d->python.profile) {
        struct tbp_finding *f = tbp_doctor_report(d, self, TBP_NOTE, d->python.python);
        f->what = tbp_arena_printf(d->arena,
                                   "has %s, which tbprof's package does not know: the official "
                                   "converter answers",
                                   tbp_doctor_plugin_text(d));
        f->advice = "upgrade tbprof, or set TBPROF_BACKEND=on to try it nevertheless";
    }
}

const struct tbp_doctor_check tbp_check_backend = {
    .name = "backend",
    .scope = TBP_CHECK_PYTHON,
    .help = "tbprof's package, when installed, is in charge",
    .run = run_backend,
};

/* A browser behind a proxy gets there in its own way. */
static bool has_proxy(void) {
    return getenv("https_proxy") || getenv("HTTPS_PROXY") || getenv("all_proxy") ||
           getenv("ALL_PROXY");
}

/* tbprof's package serves charts of its own where the public ones are not reached. */
static bool has_own_charts(const struct tbp_python *p) {
    const char *wish = getenv("TBPROF_CHARTS");
    return tbp_python_shim(p) == TBP_SHIM_ACTIVE && !(wish && strcasecmp(wish, "remote") == 0);
}

static void run_charts(struct tbp_doctor *d, const struct tbp_doctor_check *self) {
    bool is_page_lost = tbp_doctor_plugin_within(d, 1, TBP_RELEASE(2, 19, 1));
    if (!d->may_connect || !d->python.profile || has_proxy() || has_own_charts(&d->python) ||
        tbp_reach(d->arena, d->chart_host, CHART_TIMEOUT_MS))
        return;
    struct tbp_finding *f =
        tbp_doctor_report(d, self, is_page_lost ? TBP_PROBLEM : TBP_NOTE, d->chart_host);
    f->what = tbp_arena_printf(d->arena,
                               "is not reached from this machine; the page loads its charts from "
                               "there, and without them %s",
                               is_page_lost ? "stays empty" : "shows no charts and tables");
    f->advice = "use a browser with access to the Internet, or install tbprof's package, which has "
                "charts of its own";
}

const struct tbp_doctor_check tbp_check_charts = {
    .name = "charts",
    .scope = TBP_CHECK_PYTHON,
    .help = "the page's chart library can be reached (not with --offline)",
    .run = run_charts,
};
