/* SPDX-License-Identifier: Apache-2.0
 *
 * Capture on demand for Python: one server in this process, and a client for such servers.
 */
#include "python_shim/src/py_shared.h"

static tbprof_server *server; /* of start_server; NULL: none */

/* Called from a thread of a server. What goes wrong is told in the profile. */
static void trace_python(int level) {
    if (!Py_IsInitialized())
        return;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *core = PyImport_ImportModule("tbprof._core");
    PyObject *done = core ? PyObject_CallMethod(core, "trace_in_capture", "i", level) : NULL;
    if (!done) {
        PyErr_Clear();
        tbprof_warn("Python functions were not traced: the tracer did not start");
    }
    Py_XDECREF(done);
    Py_XDECREF(core);
    PyGILState_Release(state);
}

void tbp_py_server_init(void) {
    tbprof_server_python_tracer(trace_python);
}

/* What does not fit is out of every range. */
static int as_int(long long n) {
    return n < INT_MIN || n > INT_MAX ? INT_MIN : (int)n;
}

/* server_start(port, bind, token, allow_python_tracer, mode, allow_root, allow_peers,
 * max_duration_ms, allow_remote_workers) -> port; None, 0 and mode -1: as the environment says */
static PyObject *server_start(PyObject *self, PyObject *args) {
    int allow_python_tracer = 0, mode = -1, allow_remote_workers = 0;
    long long port, max_duration_ms = 0;
    const char *bind = NULL, *token = NULL, *roots = NULL, *peers = NULL;
    tbprof_server_options options;
    (void)self;
    if (!PyArg_ParseTuple(args, "L|zzpizzLp:server_start", &port, &bind, &token,
                          &allow_python_tracer, &mode, &roots, &peers, &max_duration_ms,
                          &allow_remote_workers))
        return NULL;
    if (server)
        return PyErr_Format(PyExc_ValueError, "Only one profiler server can be active at a time.");
    tbprof_server_options_init(&options);
    options.bind = bind ? bind : options.bind;
    options.token = token ? token : options.token;
    options.mode = mode >= 0 ? mode : options.mode;
    options.allow_root = roots ? roots : options.allow_root;
    options.allow_peers = peers ? peers : options.allow_peers;
    options.max_duration_ms = max_duration_ms ? (uint64_t)max_duration_ms : options.max_duration_ms;
    options.allow_python_tracer |= allow_python_tracer;
    options.allow_remote_workers |= allow_remote_workers;
    tbprof_status status;
    Py_BEGIN_ALLOW_THREADS status = tbprof_server_start(as_int(port), &options, &server);
    Py_END_ALLOW_THREADS if (status != TBPROF_OK) return tbp_py_refuse(status);
    return PyLong_FromLong(tbprof_server_port(server));
}

static PyObject *server_stop(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    tbprof_server *old = server;
    server = NULL;
    if (!old)
        return PyErr_Format(PyExc_ValueError, "No active profiler server.");
    Py_BEGIN_ALLOW_THREADS tbprof_server_stop(old);
    Py_END_ALLOW_THREADS return tbp_py_none();
}

/* client_trace(addresses, logdir, duration_ms, workers, attempts, levels of host, device and Python
 * tracer, delay_ms) -> (folder, what went wrong with some of several) */
static PyObject *client_trace(PyObject *self, PyObject *args) {
    const char *addresses, *logdir, *workers;
    char folder[4096] = "";
    unsigned long long duration_ms, delay_ms;
    tbprof_client_options options;
    tbprof_status status;
    (void)self;
    tbprof_client_options_init(&options);
    if (!PyArg_ParseTuple(args, "ssKziiiiK:client_trace", &addresses, &logdir, &duration_ms,
                          &workers, &options.attempts, &options.host_tracer_level,
                          &options.device_tracer_level, &options.python_tracer_level, &delay_ms))
        return NULL;
    options.worker_list = workers && *workers ? workers : NULL;
    options.delay_ms = delay_ms;
    Py_BEGIN_ALLOW_THREADS status =
        tbprof_client_trace(addresses, logdir, duration_ms, &options, folder, sizeof folder);
    Py_END_ALLOW_THREADS if (status != TBPROF_OK) return tbp_py_refuse(status);
    return Py_BuildValue("(ss)", folder, tbprof_last_error());
}

static PyObject *client_monitor(PyObject *self, PyObject *args) {
    const char *address;
    unsigned long long duration_ms;
    int level;
    char text[8192];
    tbprof_status status;
    (void)self;
    if (!PyArg_ParseTuple(args, "sKi:client_monitor", &address, &duration_ms, &level))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status =
        tbprof_client_monitor(address, duration_ms, level, text, sizeof text);
    Py_END_ALLOW_THREADS if (status != TBPROF_OK) return tbp_py_refuse(status);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyMethodDef tbp_py_server_methods[] = {
    {"server_start", server_start, METH_VARARGS,
     "server_start(port, bind=None, token=None, allow_python_tracer=False, mode=-1, "
     "allow_root=None, allow_peers=None, max_duration_ms=0, allow_remote_workers=False) -> port"},
    {"server_stop", server_stop, METH_NOARGS, NULL},
    {"client_trace", client_trace, METH_VARARGS, NULL},
    {"client_monitor", client_monitor, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
