/* SPDX-License-Identifier: Apache-2.0
 *
 * The question is a small Python program (3.6 and later); its answer are lines "tbprof<TAB>key…",
 * so that whatever else Python prints does no harm.
 */
#include "cli/python_env.h"

#include "cli/child.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

enum { ASK_TIMEOUT_MS = 30000, MAX_FIELDS = 6, FIRST_LINE = 256 };

static const char question[] =
    "import os, re, sys\n"
    "sys.path[:] = [p for p in sys.path if p]\n"
    "def say(*words):\n"
    "    words = [str(w).replace('\\t', ' ').replace('\\n', ' ') for w in words]\n"
    "    sys.stdout.write('\\t'.join(['tbprof'] + words) + '\\n')\n"
    "say('python', '%d.%d.%d' % sys.version_info[:3])\n"
    "seen = set()\n"
    "def package(name, version, entries):\n"
    "    key = str(name).lower().replace('_', '-').replace('.', '-')\n"
    "    if key in seen:\n"
    "        return\n"
    "    seen.add(key)\n"
    "    say('package', key, version)\n"
    "    for entry_name, value in entries():\n"
    "        say('plugin', key, version, entry_name, value)\n"
    "GROUP = 'tensorboard_plugins'\n"
    "try:\n"
    "    from importlib import metadata\n"
    "except ImportError:\n"
    "    import pkg_resources\n"
    "    for d in pkg_resources.working_set:\n"
    "        def entries(d=d):\n"
    "            for e in d.get_entry_map(GROUP).values():\n"
    "                yield e.name, e.module_name + ':' + '.'.join(e.attrs)\n"
    "        package(d.project_name, d.version, entries)\n"
    "else:\n"
    "    for d in metadata.distributions():\n"
    "        def entries(d=d):\n"
    "            for e in d.entry_points:\n"
    "                if e.group == GROUP:\n"
    "                    yield e.name, e.value\n"
    "        try:\n"
    "            name, version = d.metadata['Name'], d.version\n"
    "        except Exception:\n"
    "            continue  # a damaged installation\n"
    "        package(name, version, entries)\n"
    "from importlib.util import find_spec\n"
    "spec = find_spec('tensorboard')\n"
    "for place in (spec.submodule_search_locations or []) if spec else []:\n"
    "    try:\n"
    "        with open(os.path.join(place, 'default.py'), errors='replace') as f:\n"
    "            if 'import pkg_resources' in f.read() and not find_spec('pkg_resources'):\n"
    "                say('lacks', 'pkg_resources')\n"
    "    except EnvironmentError:\n"
    "        pass\n"
    "spec = find_spec('tbprof')\n"
    "for place in (spec.submodule_search_locations or []) if spec else []:\n"
    "    try:\n"
    "        with open(os.path.join(place, 'activation.py'), errors='replace') as f:\n"
    "            known = re.search(r'^KNOWN = \\(\\((.*?)\\), \\((.*?)\\)\\)', f.read(), re.M)\n"
    "        say('knows', *[k.replace(', ', '.') for k in known.groups()])\n"
    "    except (EnvironmentError, AttributeError):\n"
    "        pass\n"
    "spec = find_spec('xprof')\n"
    "for place in (spec.submodule_search_locations or []) if spec else []:\n"
    "    if os.path.exists(os.path.join(place, 'convert', 'profiler_plugin_c_api-tbprof.so')):\n"
    "        say('overlay')\n"
    "say('end')\n";

uint32_t tbp_release(struct tbp_str text) {
    uint32_t part[3] = {0};
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        for (; at < text.n && text.p[at] >= '0' && text.p[at] <= '9' && part[i] < 1000; at++)
            part[i] = part[i] * 10 + (uint32_t)(text.p[at] - '0');
        if (at == text.n || text.p[at++] != '.')
            break;
    }
    for (int i = 1; i < 3; i++)
        part[i] = part[i] > 999 ? 999 : part[i];
    return TBP_RELEASE(part[0], part[1], part[2]);
}

/* A program of PATH that may be executed, or NULL. */
static const char *on_path(struct tbp_arena *arena, const char *name) {
    const char *all = getenv("PATH");
    struct tbp_str rest = tbp_str_c(all ? all : "");
    while (rest.n) {
        size_t colon = tbp_str_find(rest, ':');
        const char *path = tbp_arena_printf(arena, "%.*s/%s", (int)colon, rest.p, name);
        if (colon && access(path, X_OK) == 0)
            return path;
        rest = tbp_str_sub(rest, colon < rest.n ? colon + 1 : colon, rest.n);
    }
    return NULL;
}

/* The Python in the first line of a script: "#!/usr/bin/python3", "#!/usr/bin/env python3". */
static const char *python_of_first_line(struct tbp_arena *arena, const char *script) {
    char line[FIRST_LINE];
    FILE *f = fopen(script, "rb");
    if (!f)
        return NULL;
    bool has_line = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    struct tbp_str s = tbp_str_c(has_line ? line : "");
    if (!tbp_str_starts(s, "#!") || tbp_str_find(s, '\n') == s.n)
        return NULL;
    size_t from = 2 + strspn(line + 2, " ");
    s = tbp_str_sub(s, from, tbp_str_find(s, '\n'));
    if (tbp_str_starts(s, "/usr/bin/env "))
        s = tbp_str_sub(s, strlen("/usr/bin/env "), s.n);
    size_t slash = tbp_str_rfind(s, '/');
    const char *name = s.p + (slash == s.n ? 0 : slash + 1);
    if (tbp_str_find(s, ' ') != s.n || strncmp(name, "python", strlen("python")) != 0)
        return NULL;
    return tbp_arena_str(arena, s).p;
}

/* A program in the folder of another, or NULL. */
static const char *beside(struct tbp_arena *arena, const char *program, const char *name) {
    char real[PATH_MAX];
    if (!realpath(program, real))
        return NULL;
    const char *slash = strrchr(real, '/');
    const char *path = tbp_arena_printf(arena, "%.*s/%s", (int)(slash - real), real, name);
    return access(path, X_OK) == 0 ? path : NULL;
}

static const char this_program[] = "/proc/self/exe";

/* Whoever types `tbprof` and gets this one gets the `tensorboard` of PATH by its name, too. */
static bool is_found_by_name(struct tbp_arena *arena) {
    char self[PATH_MAX], found[PATH_MAX];
    const char *path = on_path(arena, "tbprof");
    return path && realpath(this_program, self) && realpath(path, found) &&
           strcmp(self, found) == 0;
}

/* This program may be that of an environment which is not active. */
static const char *find_tensorboard(struct tbp_arena *arena) {
    const char *near = beside(arena, this_program, "tensorboard");
    const char *named = on_path(arena, "tensorboard");
    return named && (!near || is_found_by_name(arena)) ? named : near;
}

static void choose_python(struct tbp_python *p, struct tbp_arena *arena, const char *given) {
    p->python = given;
    if (given)
        return;
    p->script = find_tensorboard(arena);
    if (p->script)
        p->python = python_of_first_line(arena, p->script);
    if (p->script && !p->python) /* long paths do not fit into a first line */
        p->python = beside(arena, p->script, "python3");
    if (!p->python)
        p->python = "python3";
}

static void take_plugin(struct tbp_python *p, const char *const *field) {
    if (p->n_plugins == TBP_MAX_PLUGINS)
        return;
    struct tbp_plugin *e = &p->plugins[p->n_plugins++];
    *e = (struct tbp_plugin){field[1], field[2], field[3], field[4], false};
    e->makes_tab = strcmp(e->name, "profile") == 0 || strstr(e->value, "profile_plugin_loader");
    p->has_shim |= strcmp(e->package, "tbprof") == 0;
    if (!e->makes_tab)
        return;
    p->n_profile++;
    if (p->profile)
        return;
    p->profile = e;
    p->release = tbp_release(tbp_str_c(e->version));
}

static void take_package(struct tbp_python *p, const char *name, const char *version) {
    if (strcmp(name, "tensorboard") == 0)
        p->tensorboard = version;
    else if (strcmp(name, "tb-nightly") == 0)
        p->tensorboard_nightly = version;
    else if (strncmp(name, "tensorflow", strlen("tensorflow")) == 0 &&
             (!name[10] || strncmp(name + 10, "-cpu", 4) == 0 ||
              strncmp(name + 10, "-gpu", 4) == 0 || strncmp(name + 10, "-intel", 6) == 0 ||
              strncmp(name + 10, "-macos", 6) == 0 || strncmp(name + 10, "-rocm", 5) == 0))
        p->tensorflow = version;
    else if (strcmp(name, "tf-nightly") == 0)
        p->tensorflow = version;
}

static bool take_line(struct tbp_python *p, struct tbp_arena *arena, struct tbp_str line) {
    const char *field[MAX_FIELDS] = {"", "", "", "", "", ""};
    if (!tbp_str_starts(line, "tbprof\t"))
        return false;
    line = tbp_str_sub(line, strlen("tbprof\t"), line.n);
    for (size_t i = 0; i < MAX_FIELDS; i++) {
        size_t tab = tbp_str_find(line, '\t');
        field[i] = tbp_arena_str(arena, tbp_str_sub(line, 0, tab)).p;
        line = tbp_str_sub(line, tab < line.n ? tab + 1 : tab, line.n);
    }
    if (strcmp(field[0], "python") == 0)
        p->version = field[1];
    else if (strcmp(field[0], "package") == 0)
        take_package(p, field[1], field[2]);
    else if (strcmp(field[0], "plugin") == 0)
        take_plugin(p, field);
    else if (strcmp(field[0], "lacks") == 0)
        p->lacks_pkg_resources = true;
    else if (strcmp(field[0], "overlay") == 0)
        p->has_overlay = true;
    else if (strcmp(field[0], "knows") == 0) {
        p->first_known = tbp_release(tbp_str_c(field[1]));
        p->last_known = tbp_release(tbp_str_c(field[2]));
    }
    return strcmp(field[0], "end") == 0;
}

static void take_answer(struct tbp_python *p, struct tbp_arena *arena, struct tbp_str text,
                        int exit_code) {
    struct tbp_str last = TBP_STR_NONE; /* what Python says when it fails stands last */
    bool is_whole = false;
    while (text.n) {
        size_t n = tbp_str_find(text, '\n');
        struct tbp_str line = tbp_str_sub(text, 0, n);
        if (line.n)
            last = line;
        is_whole |= take_line(p, arena, line);
        text = tbp_str_sub(text, n < text.n ? n + 1 : n, text.n);
    }
    if (!is_whole)
        p->failure = tbp_arena_printf(arena, "'%s' ended with exit code %d: %.*s", p->python,
                                      exit_code, (int)(last.n < 200 ? last.n : 200), last.p);
}

void tbp_python_ask(struct tbp_python *p, struct tbp_arena *arena, const char *given) {
    struct tbp_error err;
    struct tbp_str text;
    int exit_code = 0;
    memset(p, 0, sizeof *p);
    choose_python(p, arena, given);
    const char *const argv[] = {p->python, "-c", question, NULL};
    if (tbp_child_capture(arena, argv, ASK_TIMEOUT_MS, &text, &exit_code, &err) == TBP_OK)
        take_answer(p, arena, text, exit_code);
    else
        p->failure = tbp_arena_printf(arena, "%s", err.message);
}

enum tbp_shim tbp_python_shim(const struct tbp_python *p) {
    static const char *const off[] = {"off", "0", "no", "false"};
    const char *backend = getenv("TBPROF_BACKEND");
    if (!p->has_shim)
        return TBP_SHIM_ABSENT;
    for (size_t i = 0; backend && i < sizeof off / sizeof *off; i++) {
        if (strcasecmp(backend, off[i]) == 0)
            return TBP_SHIM_OFF;
    }
    if (backend && strcasecmp(backend, "on") == 0)
        return TBP_SHIM_ACTIVE;
    bool is_known = !p->last_known || (p->release >= p->first_known && p->release <= p->last_known);
    return is_known ? TBP_SHIM_ACTIVE : TBP_SHIM_REFUSES;
}

bool tbp_python_tbprof_answers(const struct tbp_python *p) {
    return p->has_overlay || tbp_python_shim(p) == TBP_SHIM_ACTIVE;
}

void tbp_python_tensorboard_command(const struct tbp_python *p, const char *words[4]) {
    memset(words, 0, 4 * sizeof *words);
    words[0] = p->script ? p->script : p->python;
    if (p->script)
        return;
    words[1] = "-m";
    words[2] = "tensorboard.main";
}
