/* SPDX-License-Identifier: Apache-2.0
 *
 * What is installed for the Python that runs TensorBoard: found by asking that Python for the
 * metadata of its packages. No package is imported; nothing is changed.
 * Ownership: texts lie in the arena given.
 */
#ifndef TBP_CLI_PYTHON_ENV_H
#define TBP_CLI_PYTHON_ENV_H

#include "base/arena.h"

/* 2.19.1 -> 2019001, so that releases compare as numbers; what follows the third number counts
 * not. 0: no version. */
uint32_t tbp_release(struct tbp_str text);
#define TBP_RELEASE(major, minor, patch) ((major)*1000000u + (minor)*1000u + (patch))

enum { TBP_MAX_PLUGINS = 8 };

/* An entry point of the group tensorboard_plugins. */
struct tbp_plugin {
    const char *package, *version, *name, *value;
    bool makes_tab; /* the Profile tab */
};

struct tbp_python {
    const char *python;  /* program that was asked */
    const char *script;  /* the `tensorboard` found; NULL: none, or a Python was given */
    const char *failure; /* why it gave no answer; NULL: it did */
    const char *version;
    const char *tensorboard; /* versions; NULL: not installed */
    const char *tensorboard_nightly, *tensorflow;
    bool lacks_pkg_resources;         /* TensorBoard imports it, and it is not there */
    bool has_shim;                    /* tbprof's own package … */
    uint32_t first_known, last_known; /* … and the releases of the plugin that it knows; 0: any */
    bool has_overlay;                 /* made by `tbprof backend`, on the path */
    struct tbp_plugin plugins[TBP_MAX_PLUGINS];
    size_t n_plugins;
    const struct tbp_plugin *profile; /* the first one that makes the Profile tab, or NULL */
    size_t n_profile;
    uint32_t release; /* of profile */
};

/* given: --python PATH. NULL: the Python of `tensorboard`, else python3. It is the one beside this
 * program, unless PATH has both this program and one; else that of PATH. */
void tbp_python_ask(struct tbp_python *p, struct tbp_arena *arena, const char *given);

/* What becomes of tbprof's package when TensorBoard starts from here (it heeds TBPROF_BACKEND). */
enum tbp_shim { TBP_SHIM_ABSENT, TBP_SHIM_OFF, TBP_SHIM_REFUSES, TBP_SHIM_ACTIVE };
enum tbp_shim tbp_python_shim(const struct tbp_python *p);
/* Does tbprof answer instead of the official converter? */
bool tbp_python_tbprof_answers(const struct tbp_python *p);

/* How to start TensorBoard: 1 or 3 words, NULL-terminated. */
void tbp_python_tensorboard_command(const struct tbp_python *p, const char *words[4]);

#endif
