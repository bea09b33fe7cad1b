/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of tbprof._tbprof share: the module that lets Python annotate through the capture
 * runtime (capture/tbprof.h). It keeps to the stable interface of Python 3.9, so that one build
 * serves all later versions; the few functions below were in every Python since 3.9 but joined
 * that interface later, or only by symbol.
 *
 * All of it runs with the interpreter's lock held, unless a function says otherwise: tables here
 * need no lock of their own.
 */
#ifndef TBP_PYTHON_SHIM_SRC_PY_SHARED_H
#define TBP_PYTHON_SHIM_SRC_PY_SHARED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "capture/tbprof.h"

#ifndef METH_FASTCALL /* in Python since 3.7, in the stable interface since 3.10 */
#define METH_FASTCALL 0x0080
#endif
#ifndef Py_TPFLAGS_HAVE_VECTORCALL /* in Python since 3.8, in the stable interface since 3.12 */
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
PyAPI_FUNC(PyObject *) PyVectorcall_Call(PyObject *callable, PyObject *args, PyObject *names);
#endif
typedef PyObject *tbp_py_vectorcall(PyObject *self, PyObject *const *args, size_t flag_and_n,
                                    PyObject *names);
#if Py_LIMITED_API + 0 < 0x030a0000
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *size);
#endif

typedef PyObject *tbp_py_fast(PyObject *self, PyObject *const *args, Py_ssize_t n);
#define TBP_PY_FAST(name, function, doc)                                                           \
    { name, (PyCFunction)(void (*)(void))(function), METH_FASTCALL, doc }

static inline PyObject *tbp_py_none(void) {
    Py_INCREF(Py_None);
    return Py_None;
}

/* Whether anything is recorded now. */
static inline int tbp_py_is_on(void) {
    return (__atomic_load_n(&tbprof_g_state, __ATOMIC_RELAXED) & 0xff) != 0;
}

/* ---- py_values.c ---- */

/* The text of a str, for as long as the object lives; NULL without an exception if there is none
 * (no str, or lone surrogates). */
const char *tbp_py_text(PyObject *object, Py_ssize_t *size);
/* The text of a key at an address that stays, or NULL: no str, or more than 4,096 keys. */
const char *tbp_py_key(PyObject *key);

enum { TBP_PY_HAS_ROOT = 1, TBP_PY_HAS_STEP_NUM = 2 }; /* "_r", "step_num" were among them */
/* Gives an open scope the arguments of a dict. Never fails: what has no text is left out. */
int tbp_py_scope_args(tbprof_scope scope, PyObject *kwargs);

/* ---- the parts of the module; each adds what it has, 0 or -1 with an exception ---- */

int tbp_py_trace_add(PyObject *module);
int tbp_py_tracer_add(PyObject *module);
/* From now on each Scope and record_function is entered and left together with make(name); None: no
 * longer. */
PyObject *tbp_py_trace_twins(PyObject *self, PyObject *make);
extern PyMethodDef tbp_py_annotation_methods[], tbp_py_session_methods[], tbp_py_server_methods[],
    tbp_py_tracer_methods[];

/* ---- py_session.c ---- */

/* Raises what tbprof.errors makes of the status and the runtime's text; NULL. */
PyObject *tbp_py_refuse(tbprof_status status);

/* ---- py_server.c ---- */

/* Lets captures by a server start the function tracer. */
void tbp_py_server_init(void);

/* ---- py_tracer.c, for py_profile.c ---- */

/* Opens and closes the scope of a code object or C function on this thread. enter: 0 if functions
 * of that file are not wanted. */
int tbp_py_tracer_enter_code(PyObject *code);
void tbp_py_tracer_leave_code(PyObject *code);
void tbp_py_tracer_enter_c(PyObject *callable);
void tbp_py_tracer_leave_c(PyObject *callable);
int tbp_py_tracer_level(void); /* 0: not tracing */

/* ---- py_profile.c ---- */

PyObject *tbp_py_profile_install(PyObject *self, PyObject *unused);
PyObject *tbp_py_profile_remove(PyObject *self, PyObject *unused);
PyObject *tbp_py_profile_bootstrap(PyObject *self, PyObject *const *args, Py_ssize_t n);

#endif
