/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the events of the function tracer come from before Python 3.12: the profile function of
 * each thread. It is set by PyEval_SetProfile, which is exported by every Python but is no part of
 * the stable interface, hence looked up by name, as what lists the threads is. Threads that are
 * started while tracing is on set it themselves (profile_bootstrap is given to
 * threading.setprofile); when tracing is off again, a thread drops it at its next event.
 */
#include "python_shim/src/py_shared.h"

#include <dlfcn.h>

struct _frame;
typedef int profile_function(PyObject *, struct _frame *, int, PyObject *);
typedef void set_profile(profile_function *, PyObject *);
typedef PyObject *get_code(struct _frame *);

enum { CALL = 0, RETURN = 3, C_CALL = 4, C_EXCEPTION = 5, C_RETURN = 6 }; /* PyTrace_… */

static struct {
    set_profile *set;
    get_code *code;
    PyThreadState *(*first)(PyInterpreterState *);
    PyThreadState *(*next)(PyThreadState *);
    PyInterpreterState *(*interpreter)(PyThreadState *);
} eval;

static void *symbol(const char *name) {
    return dlsym(RTLD_DEFAULT, name);
}

static void find_symbols(void) {
    eval.set = (set_profile *)(uintptr_t)symbol("PyEval_SetProfile");
    eval.code = (get_code *)(uintptr_t)symbol("PyFrame_GetCode");
    eval.first = (PyThreadState *
                  (*)(PyInterpreterState *))(uintptr_t)symbol("PyInterpreterState_ThreadHead");
    eval.next = (PyThreadState * (*)(PyThreadState *))(uintptr_t)symbol("PyThreadState_Next");
    eval.interpreter = (PyInterpreterState *
                        (*)(PyThreadState *))(uintptr_t)symbol("PyThreadState_GetInterpreter");
}

static int on_code(struct _frame *frame, int what) {
    PyObject *code = eval.code(frame);
    if (what == CALL)
        tbp_py_tracer_enter_code(code);
    else
        tbp_py_tracer_leave_code(code);
    Py_DECREF(code);
    return 0;
}

static int on_event(PyObject *self, struct _frame *frame, int what, PyObject *argument) {
    (void)self;
    if (!tbp_py_tracer_level()) {
        eval.set(NULL, NULL);
        return 0;
    }
    if (what == CALL || what == RETURN)
        return on_code(frame, what);
    if (tbp_py_tracer_level() < 2 || !argument)
        return 0;
    if (what == C_CALL)
        tbp_py_tracer_enter_c(argument);
    else if (what == C_RETURN || what == C_EXCEPTION)
        tbp_py_tracer_leave_c(argument);
    return 0;
}

/* PyEval_SetProfile is for the current thread: each is it for a moment. The lock of the interpreter
 * is ours meanwhile. */
static void for_all_threads(profile_function *function) {
    PyThreadState *own = PyThreadState_Get(), *t = NULL;
    if (eval.first && eval.next && eval.interpreter)
        t = eval.first(eval.interpreter(own));
    for (; t; t = eval.next(t)) {
        if (t == own)
            continue;
        PyThreadState_Swap(t);
        eval.set(function, NULL);
        PyThreadState_Swap(own);
    }
    eval.set(function, NULL);
}

PyObject *tbp_py_profile_install(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    find_symbols();
    if (!eval.set || !eval.code)
        return PyErr_Format(PyExc_RuntimeError, "this Python has no PyEval_SetProfile");
    for_all_threads(on_event);
    return tbp_py_none();
}

PyObject *tbp_py_profile_remove(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    if (eval.set)
        eval.set(NULL, NULL);
    return tbp_py_none();
}

/* The profile function of a new thread, called with its first event. */
PyObject *tbp_py_profile_bootstrap(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self, (void)args, (void)n;
    eval.set(tbp_py_tracer_level() ? on_event : NULL, NULL);
    return tbp_py_none();
}
