/* SPDX-License-Identifier: Apache-2.0
 *
 * The Python function tracer: every call of a Python function (level 1), and of a C function too
 * (level 2), as a scope named `$file.py:line function`. The events come from sys.monitoring (3.12
 * and later: the functions below are its callbacks) or from py_profile.c (before).
 *
 * A code object or C function is looked up once: its name is made then and stays, its entry says
 * whether its file is wanted. What is not wanted is answered with DISABLE, after which the
 * interpreter no longer calls for that place. Budget: with the interpreter's own part, 2.5 times
 * an untraced call (tests/bench/bench_python.py).
 */
#include "python_shim/src/py_shared.h"

#include <pthread.h>
#include <stddef.h>
#include <structmember.h>
#include <sys/mman.h>

enum {
    DEPTH_MAX = 512,
    ENTRIES_MAX = 65536, /* functions: later ones are not recorded, and counted */
    SLOTS = 2 * ENTRIES_MAX,
    NAME_MAX_BYTES = 512,
    SITE_LEVEL = 1,
};

struct entry {
    const void *key; /* code object (held), C function, or type */
    tbprof_site *site;
    unsigned session;   /* for which is_wanted holds */
    unsigned wanted_in; /* that session if it is wanted, else 0: the quick way asks no more */
    int is_wanted;
};

static struct {
    struct entry *at; /* SLOTS of them, once tracing was asked for */
    unsigned n_entries;
    unsigned session; /* grows with each start: what belongs to an earlier one is stale */
    int level;        /* 0: off */
    PyObject *disable, *exclude, *function_type, *method_type;
    unsigned long long n_too_deep, n_unknown;
} tracer;

/* Open calls of a thread; those beyond DEPTH_MAX are only counted. */
struct calls {
    unsigned session, depth, n_over;
    struct {
        const void *key;
        tbprof_scope scope;
    } at[DEPTH_MAX];
};
/* A plain load, unlike larger things of a thread in a library that is loaded late. */
static __thread struct calls *calls_of_thread __attribute__((tls_model("initial-exec")));
static pthread_key_t calls_key;

static void unmap_calls(void *calls) {
    calls_of_thread = NULL;
    munmap(calls, sizeof(struct calls));
}

/* Its first call in this thread; NULL: no memory. */
static struct calls *map_calls(void) {
    void *p = mmap(NULL, sizeof(struct calls), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    pthread_setspecific(calls_key, p);
    return calls_of_thread = p;
}

int tbp_py_tracer_level(void) {
    return tracer.level;
}

/* ---- names ---- */

static const char *attribute(PyObject *object, const char *name, PyObject **owner) {
    Py_ssize_t size;
    *owner = PyObject_GetAttrString(object, name);
    const char *text = *owner ? tbp_py_text(*owner, &size) : NULL;
    PyErr_Clear();
    return text ? text : "?";
}

static tbprof_site *new_site(const char *name, int size) {
    size_t bytes = (size_t)(size < NAME_MAX_BYTES ? size : NAME_MAX_BYTES - 1);
    tbprof_site *site = PyMem_Calloc(1, sizeof *site + bytes + 1);
    if (!site)
        return NULL;
    char *copy = (char *)(site + 1);
    memcpy(copy, name, bytes);
    site->name = copy;
    site->file = "";
    site->level = SITE_LEVEL;
    return site;
}

static tbprof_site *site_of_code(PyObject *code) {
    PyObject *file_owner, *name_owner;
    char name[NAME_MAX_BYTES];
    const char *file = attribute(code, "co_filename", &file_owner);
    const char *function = attribute(code, "co_name", &name_owner);
    PyObject *line = PyObject_GetAttrString(code, "co_firstlineno");
    const char *slash = strrchr(file, '/');
    int size = snprintf(name, sizeof name, "$%s:%ld %s", slash ? slash + 1 : file,
                        line ? PyLong_AsLong(line) : 0, function);
    PyErr_Clear();
    Py_XDECREF(line);
    Py_XDECREF(file_owner);
    Py_XDECREF(name_owner);
    return new_site(name, size);
}

static tbprof_site *site_of_c(PyObject *callable) {
    PyObject *module_owner, *name_owner;
    char name[NAME_MAX_BYTES];
    const char *module = attribute(callable, "__module__", &module_owner);
    const char *function = attribute(callable, "__qualname__", &name_owner);
    int size = *module == '?' ? snprintf(name, sizeof name, "$%s", function)
                              : snprintf(name, sizeof name, "$%s.%s", module, function);
    Py_XDECREF(module_owner);
    Py_XDECREF(name_owner);
    return new_site(name, size);
}

/* ---- the table ---- */

static int is_excluded(PyObject *code) {
    PyObject *owner;
    const char *file = attribute(code, "co_filename", &owner);
    int found = 0;
    for (Py_ssize_t i = 0; tracer.exclude && i < PyTuple_Size(tracer.exclude) && !found; i++) {
        Py_ssize_t size;
        const char *start = tbp_py_text(PyTuple_GetItem(tracer.exclude, i), &size);
        found = start && !strncmp(file, start, (size_t)size);
    }
    Py_XDECREF(owner);
    return found;
}

static inline size_t first_slot(const void *key) {
    return (size_t)(((uintptr_t)key >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (SLOTS - 1);
}

static struct entry *slot_of(const void *key) {
    size_t slot = first_slot(key);
    while (tracer.at[slot].key && tracer.at[slot].key != key)
        slot = (slot + 1) & (SLOTS - 1);
    return &tracer.at[slot];
}

/* An entry that is new, or of an earlier session. object: what to name it after; code: its files
 * may be unwanted. NULL: the table is full. */
static struct entry *refresh(struct entry *e, const void *key, PyObject *object, int is_code) {
    if (!e->key) {
        tbprof_site *site = tracer.n_entries < ENTRIES_MAX
                                ? (is_code ? site_of_code(object) : site_of_c(object))
                                : NULL;
        if (!site) {
            tracer.n_unknown++;
            return NULL;
        }
        Py_INCREF(object); /* so that its address stays its own */
        e->key = key;
        e->site = site;
        tracer.n_entries++;
    }
    e->session = tracer.session;
    e->is_wanted = !is_code || !is_excluded(object);
    e->wanted_in = e->is_wanted ? tracer.session : 0;
    return e;
}

static inline struct entry *entry_of(const void *key, PyObject *object, int is_code) {
    struct entry *e = slot_of(key);
    if (__builtin_expect(e->key != NULL && e->session == tracer.session, 1))
        return e;
    return refresh(e, key, object, is_code);
}

/* ---- open calls ---- */

static inline void open_call(struct calls *calls, const struct entry *e) {
    unsigned i = calls->depth++;
    calls->at[i].key = e->key;
    calls->at[i].scope = tbprof_scope_begin_lc(e->site, SITE_LEVEL, 0);
}

/* The same as push of what is wanted, if nothing about it is unusual; 0: something is. */
static inline int push_quickly(const void *key) {
    struct calls *calls = calls_of_thread;
    const struct entry *e = &tracer.at[first_slot(key)];
    if (e->key != key || e->wanted_in != tracer.session || !calls ||
        calls->session != tracer.session || calls->depth == DEPTH_MAX)
        return 0;
    open_call(calls, e);
    return 1;
}

static void push(const struct entry *e) {
    struct calls *calls = calls_of_thread ? calls_of_thread : map_calls();
    if (!calls)
        return;
    if (calls->session != tracer.session) {
        calls->session = tracer.session;
        calls->depth = calls->n_over = 0;
    }
    if (calls->depth == DEPTH_MAX) {
        calls->n_over++;
        tracer.n_too_deep++;
        return;
    }
    open_call(calls, e);
}

/* Closes the call if it is the innermost one, as nearly always; 0: look closer. */
static inline int pop_innermost(const void *key) {
    struct calls *calls = calls_of_thread;
    unsigned i = calls ? calls->depth : 0;
    if (!i || calls->session != tracer.session || calls->n_over || calls->at[i - 1].key != key)
        return 0;
    calls->depth = i - 1;
    tbprof_scope_end(calls->at[i - 1].scope);
    return 1;
}

/* Calls that began before the tracer did are not there: nothing to close. */
static void pop(const void *key) {
    struct calls *calls = calls_of_thread;
    if (!calls || pop_innermost(key) || calls->session != tracer.session)
        return;
    if (calls->n_over) {
        calls->n_over--;
        return;
    }
    unsigned i = calls->depth;
    while (i && calls->at[i - 1].key != key)
        i--;
    if (!i)
        return;
    tbprof_scope_end(calls->at[i - 1].scope);
    calls->depth = i - 1;
}

int tbp_py_tracer_enter_code(PyObject *code) {
    const struct entry *e = entry_of(code, code, 1);
    if (!e || !e->is_wanted)
        return e != NULL ? 0 : 1; /* one that found no room may find its name later: ask again */
    push(e);
    return 1;
}

void tbp_py_tracer_leave_code(PyObject *code) {
    const struct entry *e = slot_of(code);
    if (e->key && e->is_wanted)
        pop(code);
}

/* What a C function is known by: its code, for a bound method is a new object each time. */
static const void *key_of_c(PyObject *callable, PyObject **named) {
    *named = callable;
    if (PyCFunction_Check(callable)) {
        const void *function = (const void *)(uintptr_t)PyCFunction_GetFunction(callable);
        return function ? function : callable;
    }
    PyTypeObject *type = Py_TYPE(callable);
    if (type != &PyMethodDescr_Type && !PyType_Check(callable))
        *named = (PyObject *)type;
    return *named;
}

static int is_python(PyObject *callable) {
    PyObject *type = (PyObject *)Py_TYPE(callable);
    return type == tracer.function_type || type == tracer.method_type;
}

void tbp_py_tracer_enter_c(PyObject *callable) {
    PyObject *named;
    const void *key = key_of_c(callable, &named);
    const struct entry *e = entry_of(key, named, 0);
    if (e)
        push(e);
}

void tbp_py_tracer_leave_c(PyObject *callable) {
    PyObject *named;
    pop(key_of_c(callable, &named));
}

/* ---- callbacks of sys.monitoring: (code, offset, …) ----
 *
 * Each is an object that is called directly: a builtin function costs two nanoseconds more for
 * what the interpreter does around it. */

struct callback {
    PyObject ob_base;
    tbp_py_vectorcall *call;
};

/* How many arguments there are; the highest bit of what is handed over says something else. */
static inline size_t count(size_t flag_and_n) {
    return flag_and_n & (SIZE_MAX >> 1);
}

static inline PyObject *answer(int is_wanted) {
    PyObject *out = is_wanted ? Py_None : tracer.disable;
    Py_INCREF(out);
    return out;
}

static PyObject *on_start(PyObject *self, PyObject *const *args, size_t n, PyObject *names) {
    (void)self, (void)names;
    if (!tracer.level || !count(n) || push_quickly(args[0]))
        return tbp_py_none();
    return answer(tbp_py_tracer_enter_code(args[0]));
}

static PyObject *on_return(PyObject *self, PyObject *const *args, size_t n, PyObject *names) {
    (void)self, (void)names;
    if (!tracer.level || !count(n) || pop_innermost(args[0]))
        return tbp_py_none();
    const struct entry *e = entry_of(args[0], args[0], 1);
    if (e && e->is_wanted)
        pop(args[0]);
    return answer(!e || e->is_wanted);
}

/* These two are not tied to a place: they cannot be disabled. */
static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t n, PyObject *names) {
    (void)self, (void)names;
    if (tracer.level && count(n))
        tbp_py_tracer_enter_code(args[0]);
    return tbp_py_none();
}

static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t n, PyObject *names) {
    (void)self, (void)names;
    if (tracer.level && count(n))
        tbp_py_tracer_leave_code(args[0]);
    return tbp_py_none();
}

static PyObject *on_call(PyObject *self, PyObject *const *args, size_t n, PyObject *names) {
    (void)self, (void)names;
    if (tracer.level < 2 || count(n) < 3)
        return tbp_py_none();
    const struct entry *e = entry_of(args[0], args[0], 1);
    if (e && !e->is_wanted)
        return answer(0);
    if (!is_python(args[2]))
        tbp_py_tracer_enter_c(args[2]);
    return tbp_py_none();
}

static PyObject *on_c_return(PyObject *self, PyObject *const *args, size_t n, PyObject *names) {
    (void)self, (void)names;
    if (tracer.level >= 2 && count(n) >= 3 && !is_python(args[2]))
        tbp_py_tracer_leave_c(args[2]);
    return tbp_py_none();
}

static const struct {
    const char *name;
    tbp_py_vectorcall *call;
} callbacks[] = {
    {"on_start", on_start},   {"on_return", on_return}, {"on_throw", on_throw},
    {"on_unwind", on_unwind}, {"on_call", on_call},     {"on_c_return", on_c_return},
};

int tbp_py_tracer_add(PyObject *module) {
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct callback, call), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_call, (void *)(uintptr_t)PyVectorcall_Call}, {Py_tp_members, members}, {0, NULL}};
    static PyType_Spec spec = {"tbprof._tbprof.callback", sizeof(struct callback), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spec);
    for (size_t i = 0; type && i < sizeof callbacks / sizeof *callbacks; i++) {
        struct callback *callback = PyObject_New(struct callback, type);
        if (!callback)
            return -1;
        callback->call = callbacks[i].call;
        if (PyModule_AddObject(module, callbacks[i].name, (PyObject *)callback))
            return -1;
    }
    return type ? 0 : -1;
}

/* ---- on and off ---- */

/* tracer_start(level, exclude, disable, function_type, method_type): exclude is a tuple of what the
 * names of files that are not wanted begin with. */
static PyObject *tracer_start(PyObject *self, PyObject *args) {
    PyObject *exclude, *disable, *function_type, *method_type;
    int level;
    (void)self;
    if (!PyArg_ParseTuple(args, "iOOOO:tracer_start", &level, &exclude, &disable, &function_type,
                          &method_type))
        return NULL;
    if (!PyTuple_Check(exclude))
        return PyErr_Format(PyExc_TypeError, "exclude must be a tuple");
    if (!tracer.at && pthread_key_create(&calls_key, unmap_calls) == 0)
        tracer.at = PyMem_Calloc(SLOTS, sizeof *tracer.at);
    if (!tracer.at)
        return PyErr_NoMemory();
    PyObject *old[] = {tracer.exclude, tracer.disable, tracer.function_type, tracer.method_type};
    Py_INCREF(exclude);
    Py_INCREF(disable);
    Py_INCREF(function_type);
    Py_INCREF(method_type);
    tracer.exclude = exclude;
    tracer.disable = disable;
    tracer.function_type = function_type;
    tracer.method_type = method_type;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        Py_XDECREF(old[i]);
    tracer.n_too_deep = tracer.n_unknown = 0;
    tracer.session++;
    tracer.level = level;
    return tbp_py_none();
}

static PyObject *tracer_stop(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    tracer.level = 0;
    return Py_BuildValue("{s:K,s:K,s:I}", "too_deep", tracer.n_too_deep, "unknown",
                         tracer.n_unknown, "functions", tracer.n_entries);
}

PyMethodDef tbp_py_tracer_methods[] = {
    {"tracer_start", tracer_start, METH_VARARGS, NULL},
    {"tracer_stop", tracer_stop, METH_NOARGS, "tracer_stop() -> dict of what was not recorded"},
    {"profile_install", tbp_py_profile_install, METH_NOARGS, NULL},
    {"profile_remove", tbp_py_profile_remove, METH_NOARGS, NULL},
    TBP_PY_FAST("profile_bootstrap", tbp_py_profile_bootstrap, NULL),
    {NULL, NULL, 0, NULL},
};
