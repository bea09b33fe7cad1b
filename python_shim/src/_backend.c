/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof._backend: the backend library for Python. Thin on purpose: arguments become C texts, the
 * call runs without the interpreter's lock, and the body is copied once, into the bytes object.
 * Refusals become exceptions that the plugin turns into answers which show their text:
 * FileNotFoundError for what is not there, ValueError for the rest.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "convert/backend/tbprof_backend.h"

/* Texts of a request: bytes objects that keep them alive, and pointers into them. */
struct texts {
    PyObject *owners; /* list */
    const char **at;
    Py_ssize_t n, cap;
};

static int texts_init(struct texts *t, Py_ssize_t cap) {
    t->n = 0;
    t->cap = cap;
    t->owners = PyList_New(0);
    t->at = PyMem_Calloc((size_t)cap + 1, sizeof *t->at);
    if (t->owners && t->at)
        return 0;
    PyErr_NoMemory();
    return -1;
}

static void texts_release(struct texts *t) {
    Py_XDECREF(t->owners);
    PyMem_Free((void *)t->at);
}

/* Takes the reference to a bytes object; NUL bytes within it are a ValueError. */
static int texts_add(struct texts *t, PyObject *bytes) {
    char *p;
    int status = -1;
    if (bytes && t->n < t->cap && PyBytes_AsStringAndSize(bytes, &p, NULL) == 0 &&
        PyList_Append(t->owners, bytes) == 0) {
        t->at[t->n++] = p;
        status = 0;
    }
    Py_XDECREF(bytes);
    return status;
}

/* A path as the file system has it. */
static int texts_add_path(struct texts *t, PyObject *path) {
    PyObject *bytes = NULL;
    return PyUnicode_FSConverter(path, &bytes) ? texts_add(t, bytes) : -1;
}

/* The text of an option as the plugin's C interface hands it on. */
static int texts_add_value(struct texts *t, PyObject *value) {
    if (PyBool_Check(value))
        return texts_add(t, PyBytes_FromString(value == Py_True ? "true" : "false"));
    PyObject *text = PyObject_Str(value);
    if (!text)
        return -1;
    int status = texts_add(t, PyUnicode_AsUTF8String(text));
    Py_DECREF(text);
    return status;
}

static int collect_paths(struct texts *t, PyObject *paths) {
    Py_ssize_t n = PySequence_Size(paths);
    if (n < 0 || texts_init(t, n))
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *path = PySequence_GetItem(paths, i);
        int status = path ? texts_add_path(t, path) : -1;
        Py_XDECREF(path);
        if (status)
            return -1;
    }
    return 0;
}

/* Keys and values in turn; what is no plain value (None, lists) is left out. */
static int collect_options(struct texts *t, PyObject *options) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (texts_init(t, options == Py_None ? 0 : 2 * PyDict_Size(options)))
        return -1;
    while (options != Py_None && PyDict_Next(options, &at, &key, &value)) {
        if (!PyUnicode_Check(value) && !PyLong_Check(value) && !PyFloat_Check(value))
            continue;
        if (!PyUnicode_Check(key)) {
            PyErr_SetString(PyExc_TypeError, "keys of options must be str");
            return -1;
        }
        if (texts_add(t, PyUnicode_AsUTF8String(key)) || texts_add_value(t, value))
            return -1;
    }
    return 0;
}

static PyObject *take_body(int status, struct tbprof_backend_body *body) {
    PyObject *out = NULL;
    if (status == TBPROF_BACKEND_OK)
        out = PyBytes_FromStringAndSize(body->data, (Py_ssize_t)body->size);
    else
        PyErr_SetString(status == TBPROF_BACKEND_NOT_FOUND ? PyExc_FileNotFoundError
                                                           : PyExc_ValueError,
                        body->data ? body->data : "out of memory");
    tbprof_backend_free(body);
    return out;
}

static PyObject *ask(const struct texts *paths, const char *tool, const struct texts *options,
                     int is_legacy, int is_packed) {
    size_t n = (size_t)options->n / 2;
    struct tbprof_backend_option *o = PyMem_Calloc(n + 1, sizeof *o);
    if (!o)
        return PyErr_NoMemory();
    for (size_t i = 0; i < n; i++)
        o[i] = (struct tbprof_backend_option){options->at[2 * i], options->at[2 * i + 1]};
    struct tbprof_backend_request request = {
        .paths = paths->at,
        .n_paths = (size_t)paths->n,
        .tool = tool,
        .options = o,
        .n_options = n,
        .dialect = is_legacy ? TBPROF_BACKEND_LEGACY : TBPROF_BACKEND_NEWEST,
        .is_packed = is_packed,
    };
    struct tbprof_backend_body body;
    int status;
    Py_BEGIN_ALLOW_THREADS status = tbprof_backend_answer(&request, &body);
    Py_END_ALLOW_THREADS PyMem_Free(o);
    if (status == TBPROF_BACKEND_NOT_OURS)
        Py_RETURN_NONE;
    return take_body(status, &body);
}

PyDoc_STRVAR(
    answer_doc,
    "answer(paths, tool, options, legacy, packed) -> bytes\n\n"
    "The body of a tool for one host's file or several hosts' files, or None if the official\n"
    "converter is to be asked. packed: as one gzip member, fast rather than small; not of\n"
    "tool_names. Raises FileNotFoundError or ValueError.");

static PyObject *answer(PyObject *self, PyObject *args) {
    PyObject *path_list, *option_dict, *out = NULL;
    const char *tool;
    int is_legacy, is_packed;
    struct texts paths = {0}, options = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "OsOpp:answer", &path_list, &tool, &option_dict, &is_legacy,
                          &is_packed))
        return NULL;
    if (option_dict != Py_None && !PyDict_Check(option_dict))
        return PyErr_Format(PyExc_TypeError, "options must be a dict or None");
    if (collect_paths(&paths, path_list) == 0 && collect_options(&options, option_dict) == 0)
        out = ask(&paths, tool, &options, is_legacy, is_packed);
    texts_release(&paths);
    texts_release(&options);
    return out;
}

PyDoc_STRVAR(set_budget_doc, "set_budget(n)\n\nMemory for models of runs, in bytes.");

static PyObject *set_budget(PyObject *self, PyObject *number) {
    unsigned long long n = PyLong_AsUnsignedLongLong(number);
    (void)self;
    if (PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS tbprof_backend_set_budget(n);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

PyDoc_STRVAR(stats_doc, "stats() -> dict\n\nWhat the cache holds and did.");

static PyObject *stats(PyObject *self, PyObject *unused) {
    struct tbprof_backend_stats s;
    (void)self, (void)unused;
    Py_BEGIN_ALLOW_THREADS tbprof_backend_get_stats(&s);
    Py_END_ALLOW_THREADS return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "budget_bytes", s.budget_bytes, "memory_bytes",
        s.memory_bytes, "sessions", s.n_sessions, "hits", s.n_hits, "misses", s.n_misses, "changed",
        s.n_changed, "evicted", s.n_evicted, "files_read", s.n_files_read, "answers", s.n_answers,
        "errors", s.n_errors);
}

static PyMethodDef methods[] = {
    {"answer", answer, METH_VARARGS, answer_doc},
    {"set_budget", set_budget, METH_O, set_budget_doc},
    {"stats", stats, METH_NOARGS, stats_doc},
    {NULL, NULL, 0, NULL},
};

static int add_version(PyObject *module) {
    return PyModule_AddStringConstant(module, "version", tbprof_backend_version());
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)add_version}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_backend", "The backend library.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__backend(void);
PyMODINIT_FUNC PyInit__backend(void) {
    return PyModuleDef_Init(&definition);
}
