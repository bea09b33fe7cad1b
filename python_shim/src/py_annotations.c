/* SPDX-License-Identifier: Apache-2.0
 *
 * The annotations that are plain functions: begin and end, steps, counters, memory and the rest of
 * capture/tbprof.h. They never raise for what a program hands them, only for a wrong number of
 * arguments: what cannot be recorded is left out.
 */
#include "python_shim/src/py_shared.h"

static int counts(Py_ssize_t n, Py_ssize_t least, Py_ssize_t most) {
    if (n >= least && n <= most)
        return 1;
    PyErr_Format(PyExc_TypeError, "%zd to %zd arguments are needed, not %zd", least, most, n);
    return 0;
}

/* 0 for None and for what is no number. */
static int64_t int_of(PyObject *object) {
    int overflow;
    PyObject *number = PyIndex_Check(object) ? PyNumber_Index(object) : NULL;
    int64_t i = number ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
    PyErr_Clear();
    Py_XDECREF(number);
    return i;
}

/* By way of unsigned long: on Python 3.13 the other way costs 10 ns more. */
_Static_assert(sizeof(unsigned long) == sizeof(uint64_t), "handles are read as unsigned long");
static uint64_t handle_of(PyObject *object) {
    uint64_t handle = PyLong_Check(object) ? PyLong_AsUnsignedLong(object) : 0;
    if (handle == UINT64_MAX)
        PyErr_Clear();
    return handle;
}

static PyObject *begin(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    tbprof_scope scope = 0;
    if (!counts(n, 1, 2))
        return NULL;
    if (tbp_py_is_on()) {
        const char *text = tbp_py_text(args[0], &size);
        if (text)
            scope = tbprof_scope_begin_dyn(text, (size_t)size, n > 1 ? (int)int_of(args[1]) : 1);
    }
    return PyLong_FromUnsignedLongLong(scope);
}

static PyObject *end(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    if (!counts(n, 1, 1))
        return NULL;
    tbprof_scope_end(handle_of(args[0]));
    return tbp_py_none();
}

static PyObject *scope_args(PyObject *self, PyObject *args, PyObject *kwargs) {
    (void)self;
    if (PyTuple_Size(args) != 1) {
        PyErr_SetString(PyExc_TypeError, "one handle is needed; the rest are keywords");
        return NULL;
    }
    uint64_t scope = handle_of(PyTuple_GetItem(args, 0));
    if (scope && kwargs)
        tbp_py_scope_args(scope, kwargs);
    return tbp_py_none();
}

static PyObject *step_begin(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    const char *text = counts(n, 2, 2) ? tbp_py_text(args[0], &size) : NULL;
    if (text)
        tbprof_step_begin(text, int_of(args[1]));
    return PyErr_Occurred() ? NULL : tbp_py_none();
}

static PyObject *step_end(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    tbprof_step_end();
    return tbp_py_none();
}

static PyObject *activity_start(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    uint64_t activity = 0;
    const char *text = counts(n, 1, 1) ? tbp_py_text(args[0], &size) : NULL;
    if (text && tbp_py_is_on())
        activity = tbprof_activity_start(text, (size_t)size, 1);
    return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLongLong(activity);
}

static PyObject *activity_end(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    uint64_t activity = counts(n, 1, 1) ? handle_of(args[0]) : 0;
    if (activity)
        tbprof_activity_end(activity);
    return PyErr_Occurred() ? NULL : tbp_py_none();
}

static PyObject *span(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    const char *text = counts(n, 3, 3) ? tbp_py_text(args[0], &size) : NULL;
    if (text)
        tbprof_span(text, (size_t)size, int_of(args[1]), int_of(args[2]));
    return PyErr_Occurred() ? NULL : tbp_py_none();
}

static PyObject *instant(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    const char *text = counts(n, 1, 2) ? tbp_py_text(args[0], &size) : NULL;
    if (text)
        tbprof_instant(text, n > 1 ? (int)int_of(args[1]) : TBPROF_INSTANT_THREAD);
    return PyErr_Occurred() ? NULL : tbp_py_none();
}

/* Whole numbers stay whole; everything else that can be a float is one. */
static PyObject *counter(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    const char *text = counts(n, 2, 2) ? tbp_py_text(args[0], &size) : NULL;
    if (!text || !tbp_py_is_on())
        return PyErr_Occurred() ? NULL : tbp_py_none();
    if (PyLong_Check(args[1])) {
        tbprof_counter_i64(text, int_of(args[1]));
        return tbp_py_none();
    }
    double value = PyFloat_AsDouble(args[1]);
    if (PyErr_Occurred())
        PyErr_Clear();
    else
        tbprof_counter_f64(text, value);
    return tbp_py_none();
}

static PyObject *flow(const void *function, PyObject *const *args, Py_ssize_t n) {
    void (*record)(int, uint64_t) = (void (*)(int, uint64_t))(uintptr_t)function;
    if (!counts(n, 2, 2))
        return NULL;
    record((int)int_of(args[0]), (uint64_t)int_of(args[1]));
    return tbp_py_none();
}

static PyObject *flow_produce(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    return flow((const void *)(uintptr_t)tbprof_flow_produce, args, n);
}

static PyObject *flow_consume(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    return flow((const void *)(uintptr_t)tbprof_flow_consume, args, n);
}

static PyObject *annotation_push(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    const char *text = counts(n, 1, 1) ? tbp_py_text(args[0], &size) : NULL;
    if (text)
        tbprof_annotation_push(text, (size_t)size);
    return PyErr_Occurred() ? NULL : tbp_py_none();
}

static PyObject *annotation_pop(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    tbprof_annotation_pop();
    return tbp_py_none();
}

/* memory_alloc(allocator, address, requested, allocated, region, data_type, shape) */
static PyObject *memory_alloc(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    if (!counts(n, 3, 7))
        return NULL;
    if (!tbp_py_is_on())
        return tbp_py_none();
    tbprof_allocation a = {.allocator = tbp_py_key(args[0])};
    a.address = (uint64_t)int_of(args[1]);
    a.requested_bytes = (uint64_t)int_of(args[2]);
    a.allocated_bytes = n > 3 ? (uint64_t)int_of(args[3]) : a.requested_bytes;
    a.region_type = n > 4 ? tbp_py_key(args[4]) : NULL;
    a.data_type = n > 5 ? (int)int_of(args[5]) : 0;
    a.shape = n > 6 ? tbp_py_text(args[6], &size) : NULL;
    if (a.allocator)
        tbprof_memory_alloc(&a);
    return tbp_py_none();
}

static PyObject *memory_free(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    const char *allocator = counts(n, 2, 2) ? tbp_py_key(args[0]) : NULL;
    if (allocator)
        tbprof_memory_free(allocator, (uint64_t)int_of(args[1]));
    return PyErr_Occurred() ? NULL : tbp_py_none();
}

static PyObject *memory_baseline(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    const char *allocator = counts(n, 4, 4) ? tbp_py_key(args[0]) : NULL;
    if (allocator)
        tbprof_memory_baseline(allocator, (uint64_t)int_of(args[1]), (uint64_t)int_of(args[2]),
                               (uint64_t)int_of(args[3]));
    return PyErr_Occurred() ? NULL : tbp_py_none();
}

static PyObject *thread_name(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    const char *text = counts(n, 1, 1) ? tbp_py_text(args[0], &size) : NULL;
    if (text)
        tbprof_thread_name(text);
    return PyErr_Occurred() ? NULL : tbp_py_none();
}

static PyObject *warn(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    Py_ssize_t size;
    const char *text = counts(n, 1, 1) ? tbp_py_text(args[0], &size) : NULL;
    if (text)
        tbprof_warn(text);
    return PyErr_Occurred() ? NULL : tbp_py_none();
}

PyMethodDef tbp_py_annotation_methods[] = {
    TBP_PY_FAST("begin", begin, "begin(name, level=1) -> handle\n\nOpens a scope; 0: it did not."),
    TBP_PY_FAST("end", end, "end(handle)\n\nCloses it, and what was begun inside."),
    {"args", (PyCFunction)(void (*)(void))scope_args, METH_VARARGS | METH_KEYWORDS,
     "args(handle, **arguments)\n\nArguments of an open scope."},
    TBP_PY_FAST("step_begin", step_begin, "step_begin(name, number)\n\nEnds the step before."),
    {"step_end", step_end, METH_NOARGS, NULL},
    TBP_PY_FAST("activity_start", activity_start, "activity_start(name) -> id\n\nAny thread ends."),
    TBP_PY_FAST("activity_end", activity_end, "activity_end(id)"),
    TBP_PY_FAST("span", span, "span(name, start_ns, duration_ns)\n\nTimed elsewhere."),
    TBP_PY_FAST("instant", instant, "instant(name, scope=0)\n\n0 thread, 1 process, 2 global."),
    TBP_PY_FAST("counter", counter, "counter(name, value)"),
    TBP_PY_FAST("flow_produce", flow_produce, "flow_produce(context_type, id)"),
    TBP_PY_FAST("flow_consume", flow_consume, "flow_consume(context_type, id)"),
    TBP_PY_FAST("annotation_push", annotation_push, "annotation_push(name)"),
    {"annotation_pop", annotation_pop, METH_NOARGS, NULL},
    TBP_PY_FAST("memory_alloc", memory_alloc,
                "memory_alloc(allocator, address, requested, allocated=requested, region=None, "
                "data_type=0, shape=None)"),
    TBP_PY_FAST("memory_free", memory_free, "memory_free(allocator, address)"),
    TBP_PY_FAST("memory_baseline", memory_baseline,
                "memory_baseline(allocator, capacity, in_use, peak)"),
    TBP_PY_FAST("thread_name", thread_name, "thread_name(name)"),
    {"twins", tbp_py_trace_twins, METH_O,
     "twins(make)\n\nScopes go with make(name); None: no more."},
    TBP_PY_FAST("warn", warn, "warn(text)\n\nA sentence for the reader of the profile."),
    {NULL, NULL, 0, NULL},
};
