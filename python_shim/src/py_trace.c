/* SPDX-License-Identifier: Apache-2.0
 *
 * Trace(name, **arguments): a scope as a context manager, and StepTrace, one that is a step. Their
 * clock starts when the object is made, as TensorFlow's and JAX's do; that of Scope starts when it
 * is entered, and so does that of record_function(name, args=None), which takes what PyTorch's
 * takes. Entering an object again begins a scope of the same name; calling
 * one with a function makes it a decorator. While nothing is recorded, making one costs a small
 * object from a free list and a look at one word. Budget: 150 ns off, 250 ns on, `with` included
 * (tests/bench/bench_python.py).
 *
 * A step gets a second scope inside that lasts as long: the Profile tab takes a step's time from
 * what is inside it, and shows no step that has nothing inside. It counts as host compute wherever
 * nothing else is known, such as waiting for input.
 */
#include "python_shim/src/py_shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

enum { FREE_MAX = 64 };

struct trace {
    PyObject ob_base;
    PyObject *name, *kwargs; /* kwargs may be NULL */
    PyObject *twin;          /* of an open Scope, if there are twins */
    tbprof_scope scope;      /* 0: not open */
    tbp_py_vectorcall *vectorcall;
    enum kind { AT_ONCE, STEP, WHEN_ENTERED } kind; /* when it begins; a step does at once */
};

/* Objects of exactly these types that were given back: memory without a reference count. The types
 * are those made last: a module that is loaded again, or by another interpreter, makes new ones,
 * and the old ones go on to work without this and without what is below for `with`. */
static struct {
    PyTypeObject *trace, *step, *scope, *record, *way;
    PyObject *make_twin; /* NULL, or what makes another profiler's scope to go with each of ours */
    struct trace *free[FREE_MAX];
    int n_free;
} types;

static tbp_py_vectorcall trace_vectorcall;

static void begin(struct trace *t) {
    static tbprof_site body = {.name = "step body", .file = __FILE__, .line = __LINE__, .level = 1};
    Py_ssize_t size;
    int seen = 0;
    const char *text = tbp_py_text(t->name, &size);
    if (text)
        t->scope = tbprof_scope_begin_dyn(text, (size_t)size, 1);
    if (!t->scope)
        return;
    if (t->kwargs)
        seen = tbp_py_scope_args(t->scope, t->kwargs);
    if (t->kind != STEP && !seen)
        return;
    if (!(seen & TBP_PY_HAS_ROOT))
        tbprof_scope_arg_i64(t->scope, "_r", 1);
    tbprof_scope_begin(&body); /* ends with the scope around it */
}

static int is_exact(const PyTypeObject *type) {
    return type == types.trace || type == types.step || type == types.scope || type == types.record;
}

static struct trace *allocate(PyTypeObject *type) {
    if (is_exact(type) && types.n_free)
        return (struct trace *)PyObject_Init((PyObject *)types.free[--types.n_free], type);
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return (struct trace *)alloc(type, 0);
}

/* The keywords without the name, which may be one of them; a new reference, or NULL. */
static PyObject *without_name(PyObject *kwargs) {
    PyObject *rest = PyDict_Copy(kwargs);
    if (rest && PyDict_DelItemString(rest, "name"))
        PyErr_Clear();
    return rest;
}

static PyObject *make(PyTypeObject *type, enum kind kind, PyObject *name, PyObject *kwargs) {
    struct trace *t = allocate(type);
    if (!t)
        return NULL;
    Py_INCREF(name);
    Py_XINCREF(kwargs);
    t->name = name;
    t->kwargs = kwargs;
    t->twin = NULL;
    t->scope = 0;
    t->vectorcall = trace_vectorcall;
    t->kind = kind;
    if (tbp_py_is_on() && kind != WHEN_ENTERED)
        begin(t);
    return (PyObject *)t;
}

static PyObject *make_named(PyTypeObject *type, enum kind kind, PyObject *args, PyObject *kwargs) {
    Py_ssize_t n = PyTuple_Size(args);
    PyObject *name = n == 1             ? PyTuple_GetItem(args, 0)
                     : n == 0 && kwargs ? PyDict_GetItemString(kwargs, "name")
                                        : NULL;
    if (!name || !PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "one name is needed, a str; the rest are keywords");
        return NULL;
    }
    if (n == 1)
        return make(type, kind, name, kwargs);
    PyObject *rest = without_name(kwargs), *out = rest ? make(type, kind, name, rest) : NULL;
    Py_XDECREF(rest);
    return out;
}

static PyObject *trace_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    return make_named(type, AT_ONCE, args, kwargs);
}

static PyObject *step_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    return make_named(type, STEP, args, kwargs);
}

static PyObject *scope_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    return make_named(type, WHEN_ENTERED, args, kwargs);
}

/* args is one text, or None. */
static PyObject *record_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name", "args", NULL};
    PyObject *name, *text = Py_None, *given = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|O:record_function", names, &name, &text))
        return NULL;
    if (text != Py_None && !PyUnicode_Check(text))
        return PyErr_Format(PyExc_TypeError,
                            "record_function() argument 'args' must be str or None");
    if (text != Py_None && !(given = Py_BuildValue("{s:O}", "args", text)))
        return NULL;
    PyObject *out = make(type, WHEN_ENTERED, name, given);
    Py_XDECREF(given);
    return out;
}

/* Nothing is left to do, and object's own __init__ takes longer to find that out. */
static int trace_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    (void)self, (void)args, (void)kwargs;
    return 0;
}

static void trace_dealloc(PyObject *self) {
    struct trace *t = (struct trace *)self;
    PyTypeObject *type = Py_TYPE(self);
    tbprof_scope_end(t->scope); /* made, but never left */
    Py_DECREF(t->name);
    Py_XDECREF(t->kwargs);
    Py_XDECREF(t->twin);
    if (is_exact(type) && types.n_free < FREE_MAX) {
        types.free[types.n_free++] = t;
    } else {
        freefunc give_back = (freefunc)PyType_GetSlot(type, Py_tp_free);
        give_back(self);
    }
    Py_DECREF(type);
}

static void enter_twin(struct trace *t) {
    PyObject *twin = PyObject_CallFunctionObjArgs(types.make_twin, t->name, NULL);
    PyObject *entered = twin ? PyObject_CallMethod(twin, "__enter__", NULL) : NULL;
    if (entered) {
        t->twin = twin;
        Py_DECREF(entered);
        return;
    }
    PyErr_Clear();
    Py_XDECREF(twin);
}

static void exit_twin(struct trace *t) {
    PyObject *twin = t->twin;
    t->twin = NULL;
    PyObject *left = PyObject_CallMethod(twin, "__exit__", "OOO", Py_None, Py_None, Py_None);
    if (!left)
        PyErr_Clear();
    Py_XDECREF(left);
    Py_DECREF(twin);
}

static PyObject *trace_enter(PyObject *self, PyObject *unused) {
    struct trace *t = (struct trace *)self;
    (void)unused;
    if (types.make_twin && !t->twin && t->kind == WHEN_ENTERED)
        enter_twin(t);
    if (!t->scope && tbp_py_is_on())
        begin(t);
    Py_INCREF(self);
    return self;
}

static PyObject *trace_exit(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    struct trace *t = (struct trace *)self;
    (void)args, (void)n;
    tbprof_scope_end(t->scope);
    t->scope = 0;
    if (t->twin)
        exit_twin(t);
    return tbp_py_none();
}

static PyObject *trace_set_metadata(PyObject *self, PyObject *args, PyObject *kwargs) {
    struct trace *t = (struct trace *)self;
    if (PyTuple_Size(args)) {
        PyErr_SetString(PyExc_TypeError, "set_metadata takes keywords only");
        return NULL;
    }
    if (kwargs && t->scope)
        tbp_py_scope_args(t->scope, kwargs);
    return tbp_py_none();
}

/* The one argument of a decorator, by position or as `func`, as PyTorch's has it; borrowed. */
static PyObject *decorated(PyObject *args, PyObject *kwargs) {
    Py_ssize_t n = PyTuple_Size(args), n_named = kwargs ? PyDict_Size(kwargs) : 0;
    PyObject *function = n == 1 && n_named == 0   ? PyTuple_GetItem(args, 0)
                         : n == 0 && n_named == 1 ? PyDict_GetItemString(kwargs, "func")
                                                  : NULL;
    if (function && PyCallable_Check(function))
        return function;
    PyErr_SetString(PyExc_TypeError, "a scope is called with one function, which it decorates");
    return NULL;
}

/* As a decorator: tbprof._annotate.annotate(function, name, **arguments). */
static PyObject *trace_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    struct trace *t = (struct trace *)self;
    PyObject *function = decorated(args, kwargs);
    if (!function)
        return NULL;
    tbprof_scope_end(t->scope);
    t->scope = 0;
    PyObject *module = PyImport_ImportModule("tbprof._annotate");
    PyObject *annotate = module ? PyObject_GetAttrString(module, "annotate") : NULL;
    PyObject *both = PyTuple_Pack(2, function, t->name);
    PyObject *out = annotate && both ? PyObject_Call(annotate, both, t->kwargs) : NULL;
    Py_XDECREF(both);
    Py_XDECREF(annotate);
    Py_XDECREF(module);
    return out;
}

/* ---- `with` without bound methods ----
 *
 * Entering and leaving looks __enter__ and __exit__ up and calls what it finds, which for methods
 * is an object made to bind each to self, and thrown away: a third of the time of a scope that is
 * not recorded. Here both give the Trace itself, which is called without arguments to enter and
 * with three to leave; so scope() enters, which nobody else's scopes do, and every other call
 * decorates. Subclasses, which may be callable in their own way, and who asks the class
 * (contextlib.ExitStack) get the methods. */

/* What `with` leaves with: None or the type of an exception first. */
static int is_leaving(PyObject *const *args, Py_ssize_t n) {
    return n == 3 && (args[0] == Py_None || PyType_Check(args[0]));
}

static PyObject *call_decorator(PyObject *self, PyObject *const *args, Py_ssize_t n,
                                PyObject *names) {
    Py_ssize_t n_named = names ? PyTuple_Size(names) : 0;
    PyObject *tuple = PyTuple_New(n), *kwargs = PyDict_New();
    bool is_made = tuple && kwargs;
    for (Py_ssize_t i = 0; is_made && i < n; i++) {
        Py_INCREF(args[i]);
        PyTuple_SetItem(tuple, i, args[i]);
    }
    for (Py_ssize_t i = 0; is_made && i < n_named; i++)
        is_made = PyDict_SetItem(kwargs, PyTuple_GetItem(names, i), args[n + i]) == 0;
    PyObject *out = is_made ? trace_call(self, tuple, kwargs) : NULL;
    Py_XDECREF(tuple);
    Py_XDECREF(kwargs);
    return out;
}

static PyObject *trace_vectorcall(PyObject *self, PyObject *const *args, size_t flags_and_n,
                                  PyObject *names) {
    Py_ssize_t n = (Py_ssize_t)(flags_and_n & (SIZE_MAX >> 1));
    if (!names && n == 0)
        return trace_enter(self, NULL);
    if (!names && is_leaving(args, n))
        return trace_exit(self, args, n);
    return call_decorator(self, args, n, names);
}

struct way {
    PyObject ob_base;
    PyObject *method;
};

static PyObject *way_get(PyObject *self, PyObject *object, PyObject *type) {
    PyObject *method = ((struct way *)self)->method;
    if (object && is_exact(Py_TYPE(object))) {
        Py_INCREF(object);
        return object;
    }
    return PyObject_CallMethod(method, "__get__", "OO", object ? object : Py_None,
                               type ? type : Py_None);
}

/* Both live as long as the process. */
static int put_way(PyTypeObject *type, const char *name) {
    PyObject *method = PyObject_GetAttrString((PyObject *)type, name);
    struct way *way = method ? PyObject_New(struct way, types.way) : NULL;
    if (!way)
        return -1;
    way->method = method;
    return PyObject_SetAttrString((PyObject *)type, name, (PyObject *)way);
}

static int put_ways(PyTypeObject *type) {
    static PyType_Slot slots[] = {{Py_tp_descr_get, (void *)(uintptr_t)way_get}, {0, NULL}};
    static PyType_Spec spec = {"tbprof._tbprof.way", sizeof(struct way), 0, Py_TPFLAGS_DEFAULT,
                               slots};
    if (!types.way)
        types.way = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!types.way || put_way(type, "__enter__"))
        return -1;
    return put_way(type, "__exit__");
}

static PyObject *trace_is_enabled(PyObject *type, PyObject *unused) {
    (void)type, (void)unused;
    return PyBool_FromLong(tbp_py_is_on());
}

static PyObject *trace_repr(PyObject *self) {
    struct trace *t = (struct trace *)self;
    return PyUnicode_FromFormat("<tbprof.%s %R%s>", t->kind == STEP ? "StepTrace" : "Trace",
                                t->name, t->scope ? ", recording" : "");
}

static PyMethodDef trace_methods[] = {
    {"__enter__", trace_enter, METH_NOARGS, NULL},
    TBP_PY_FAST("__exit__", trace_exit, NULL),
    {"set_metadata", (PyCFunction)(void (*)(void))trace_set_metadata, METH_VARARGS | METH_KEYWORDS,
     "set_metadata($self, /, **arguments)\n--\n\nMore arguments, known only now."},
    {"is_enabled", trace_is_enabled, METH_NOARGS | METH_STATIC,
     "is_enabled() -> bool\n\nWhether anything is recorded now."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef trace_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct trace, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject *make_type(PyObject *module, const char *name, newfunc new_object,
                               const char *doc) {
    PyType_Slot slots[] = {
        {Py_tp_new, (void *)new_object},
        {Py_tp_dealloc, (void *)trace_dealloc},
        {Py_tp_repr, (void *)trace_repr},
        {Py_tp_methods, trace_methods},
        {Py_tp_call, (void *)trace_call},
        {Py_tp_doc, (void *)doc},
        {Py_tp_init, (void *)trace_init},
        {Py_tp_members, trace_members},
        {0, NULL},
    };
    PyType_Spec spec = {name, sizeof(struct trace), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
                        slots};
    PyObject *type = PyType_FromSpec(&spec);
    const char *dot = strrchr(name, '.');
    if (!type)
        return NULL;
    Py_INCREF(type); /* for `types`: as long as the process */
    if (PyModule_AddObject(module, dot + 1, type) == 0)
        return (PyTypeObject *)type;
    Py_DECREF(type);
    Py_DECREF(type);
    return NULL;
}

PyObject *tbp_py_trace_twins(PyObject *self, PyObject *make) {
    (void)self;
    PyObject *old = types.make_twin;
    types.make_twin = make == Py_None ? NULL : make;
    Py_XINCREF(types.make_twin);
    Py_XDECREF(old);
    return tbp_py_none();
}

/* What follows the line "--" is the documentation, what stands before it the signature. */
int tbp_py_trace_add(PyObject *module) {
    PyTypeObject **all[] = {&types.trace, &types.step, &types.scope, &types.record};
    types.trace = make_type(module, "tbprof._tbprof.Trace", trace_new,
                            "Trace(name, **arguments)\n--\n\n"
                            "A scope: `with Trace('load', rows=3):`.");
    types.step = make_type(module, "tbprof._tbprof.StepTrace", step_new,
                           "StepTrace(name, **arguments)\n--\n\n"
                           "A scope that is a step: `with StepTrace('train', step_num=n):`.");
    types.scope = make_type(module, "tbprof._tbprof.Scope", scope_new,
                            "Scope(name, **arguments)\n--\n\n"
                            "A Trace whose clock starts when entered.");
    types.record = make_type(module, "tbprof._tbprof.record_function", record_new,
                             "record_function(name, args=None)\n--\n\n"
                             "A scope as PyTorch has it; its clock starts when entered.");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!*all[i] || put_ways(*all[i]))
            return -1;
    return 0;
}
