/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions for Python: options as a dict of texts, refusals as the exceptions of tbprof.errors,
 * waiting without the interpreter's lock.
 */
#include "python_shim/src/py_shared.h"

PyObject *tbp_py_refuse(tbprof_status status) {
    PyObject *text = PyUnicode_DecodeUTF8(tbprof_last_error(),
                                          (Py_ssize_t)strlen(tbprof_last_error()), "replace");
    PyObject *errors = PyImport_ImportModule("tbprof.errors");
    PyObject *error =
        errors && text ? PyObject_CallMethod(errors, "from_status", "iO", (int)status, text) : NULL;
    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    Py_XDECREF(errors);
    Py_XDECREF(text);
    return NULL;
}

/* Sets every option of the dict; the texts are its own and live as long as it does. */
static int set_options(tbprof_options *options, PyObject *dict) {
    PyObject *name, *value;
    Py_ssize_t at = 0, key_size, size;
    while (PyDict_Next(dict, &at, &name, &value)) {
        const char *key = tbp_py_text(name, &key_size), *text = tbp_py_text(value, &size);
        if (!key || !text) {
            PyErr_SetString(PyExc_TypeError, "options must be texts");
            return -1;
        }
        if (strlen(key) != (size_t)key_size || strlen(text) != (size_t)size) {
            PyErr_SetString(PyExc_ValueError, "an option holds a null character");
            return -1;
        }
        tbprof_status status = tbprof_options_set(options, key, text);
        if (status != TBPROF_OK) {
            tbp_py_refuse(status);
            return -1;
        }
    }
    return 0;
}

/* Each session of the process has another one, 0: none was yet. */
static long generation_now(void) {
    return (long)(__atomic_load_n(&tbprof_g_state, __ATOMIC_ACQUIRE) >> 48);
}

static PyObject *generation(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    return PyLong_FromLong(generation_now());
}

static int note_start(PyObject *session) {
    PyObject *number = PyLong_FromLong(generation_now());
    int rc = number ? PyObject_SetAttrString(session, "generation", number) : -1;
    Py_XDECREF(number);
    return rc ? rc : PyObject_SetAttrString(session, "is_open", Py_True);
}

/* start(logdir, options, session) -> level of the Python tracer that was asked for, by whatever
 * means. session.is_open and .generation are set here, where no signal's exception can come
 * between. */
static PyObject *start(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    tbprof_options options;
    tbprof_status status;
    PyObject *path = NULL;
    if (n != 3 || !PyDict_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "a folder, a dict of options and a session are needed");
        return NULL;
    }
    if (!PyUnicode_FSConverter(args[0], &path))
        return NULL;
    tbprof_options_init(&options);
    char *logdir = NULL;
    if (set_options(&options, args[1]) || PyBytes_AsStringAndSize(path, &logdir, &size)) {
        Py_DECREF(path);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = tbprof_start(logdir, &options);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (status != TBPROF_OK)
        return tbp_py_refuse(status);
    if (note_start(args[2])) {
        tbprof_stop(0);
        return NULL;
    }
    return PyLong_FromLong(options.python_tracer_level);
}

/* stop(save, session): is_open is cleared in the same way. */
static PyObject *stop(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    tbprof_status status;
    int save = n > 0 ? PyObject_IsTrue(args[0]) : 1;
    if (save < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = tbprof_stop(save);
    Py_END_ALLOW_THREADS PyObject *session = n > 1 ? args[1] : NULL;
    if (session && PyObject_SetAttrString(session, "is_open", Py_False))
        return NULL;
    return status == TBPROF_OK ? tbp_py_none() : tbp_py_refuse(status);
}

static PyObject *pause_recording(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    tbprof_status status = tbprof_pause();
    return status == TBPROF_OK ? tbp_py_none() : tbp_py_refuse(status);
}

static PyObject *resume_recording(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    tbprof_status status = tbprof_resume();
    return status == TBPROF_OK ? tbp_py_none() : tbp_py_refuse(status);
}

static PyObject *snapshot(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    tbprof_status status;
    const char *run = n > 0 && args[0] != Py_None ? tbp_py_text(args[0], &size) : NULL;
    Py_BEGIN_ALLOW_THREADS status = tbprof_snapshot(run);
    Py_END_ALLOW_THREADS return status == TBPROF_OK ? tbp_py_none() : tbp_py_refuse(status);
}

static PyObject *collect(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    uint8_t *bytes = NULL;
    size_t size = 0;
    tbprof_status status;
    Py_BEGIN_ALLOW_THREADS status = tbprof_collect(&bytes, &size);
    Py_END_ALLOW_THREADS if (status != TBPROF_OK) return tbp_py_refuse(status);
    PyObject *out = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)size);
    tbprof_bytes_free(bytes);
    return out;
}

static PyObject *is_active(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long level = n > 0 ? PyLong_AsLong(args[0]) : 1;
    if (PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(tbprof_is_active((int)level));
}

static PyObject *last_run(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    return PyUnicode_DecodeFSDefault(tbprof_last_run());
}

static PyObject *stats(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    tbprof_counts c = {.struct_size = sizeof c};
    tbprof_status status = tbprof_stats(&c);
    if (status != TBPROF_OK)
        return tbp_py_refuse(status);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "records",
                         c.records, "bytes", c.bytes, "threads", c.threads, "snapshots",
                         c.snapshots, "dropped_cap", c.dropped_cap, "dropped_ring", c.dropped_ring,
                         "dropped_no_chunk", c.dropped_no_chunk, "dropped_too_long",
                         c.dropped_too_long, "dropped_reentrant", c.dropped_reentrant,
                         "dropped_depth", c.dropped_depth, "dropped_threads", c.dropped_threads,
                         "cut_by_stop", c.cut_by_stop, "names_cut", c.names_cut);
}

static PyObject *metadata(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    const char *key = n == 2 ? tbp_py_text(args[0], &size) : NULL;
    const char *value = n == 2 ? tbp_py_text(args[1], &size) : NULL;
    if (!key || !value) {
        PyErr_SetString(PyExc_TypeError, "a key and a value are needed, both str");
        return NULL;
    }
    tbprof_status status = tbprof_metadata_set(key, value);
    return status == TBPROF_OK ? tbp_py_none() : tbp_py_refuse(status);
}

PyMethodDef tbp_py_session_methods[] = {
    TBP_PY_FAST("start", start, "start(logdir, options, session) -> level of the Python tracer"),
    TBP_PY_FAST("stop", stop, "stop(save=True, session)"),
    {"generation", generation, METH_NOARGS, "generation() -> number of the last session"},
    {"pause", pause_recording, METH_NOARGS, NULL},
    {"resume", resume_recording, METH_NOARGS, NULL},
    TBP_PY_FAST("snapshot", snapshot, "snapshot(run=None)"),
    {"collect", collect, METH_NOARGS, "collect() -> bytes of an XSpace"},
    TBP_PY_FAST("is_active", is_active, "is_active(level=1) -> bool"),
    {"last_run", last_run, METH_NOARGS, "last_run() -> str"},
    {"stats", stats, METH_NOARGS, "stats() -> dict"},
    TBP_PY_FAST("metadata_set", metadata, "metadata_set(key, value)"),
    {NULL, NULL, 0, NULL},
};
