/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof._tbprof: the capture runtime for Python. The module is the sum of its parts; see
 * py_shared.h. It loads libtbprof.so from its own folder, so that C, C++ and Python code of a
 * process record into the same session.
 */
#include "python_shim/src/py_shared.h"

static int add_parts(PyObject *module) {
    PyMethodDef *parts[] = {tbp_py_annotation_methods, tbp_py_session_methods,
                            tbp_py_server_methods, tbp_py_tracer_methods};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (PyModule_AddFunctions(module, parts[i]))
            return -1;
    }
    if (tbp_py_trace_add(module) || tbp_py_tracer_add(module))
        return -1;
    tbp_py_server_init();
    return PyModule_AddStringConstant(module, "version", tbprof_version());
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)add_parts}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_tbprof", "The capture runtime.", 0, NULL, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__tbprof(void);
PyMODINIT_FUNC PyInit__tbprof(void) {
    return PyModuleDef_Init(&definition);
}
