/* SPDX-License-Identifier: Apache-2.0
 *
 * Python values as what the runtime takes: texts of names, keys whose address stays, arguments of a
 * scope. Nothing here raises: an annotation must never break the program that it annotates.
 */
#include "python_shim/src/py_shared.h"

enum { KEYS = 4096, KEY_SLOTS = 8192 }; /* slots: a power of two, never more than half full */

/* str objects are found by address: keyword names are interned, so the same name is the same
 * object. The table holds them for good, and with them their texts. */
static struct {
    PyObject *at[KEY_SLOTS];
    const char *text[KEY_SLOTS];
    unsigned n;
} keys;

const char *tbp_py_text(PyObject *object, Py_ssize_t *size) {
    const char *text = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, size) : NULL;
    if (!text)
        PyErr_Clear();
    return text;
}

/* Where the key is, or where it would go. */
static unsigned slot_of(const PyObject *key) {
    unsigned slot = (unsigned)(((uintptr_t)key >> 4) * 0x9e3779b1u) & (KEY_SLOTS - 1);
    while (keys.at[slot] && keys.at[slot] != key)
        slot = (slot + 1) & (KEY_SLOTS - 1);
    return slot;
}

static const char *add_key(PyObject *key) {
    Py_ssize_t size;
    if (!PyUnicode_Check(key))
        return NULL;
    Py_INCREF(key);
    PyUnicode_InternInPlace(&key);
    unsigned slot = slot_of(key);
    if (!keys.at[slot] && keys.n < KEYS) {
        const char *text = tbp_py_text(key, &size);
        if (text) {
            Py_INCREF(key);
            keys.at[slot] = key;
            keys.text[slot] = text;
            keys.n++;
        }
    }
    Py_DECREF(key);
    return keys.text[slot];
}

const char *tbp_py_key(PyObject *key) {
    unsigned slot = slot_of(key);
    return keys.at[slot] ? keys.text[slot] : add_key(key);
}

static void text_arg(tbprof_scope scope, const char *key, PyObject *value) {
    PyObject *str = PyObject_Str(value);
    Py_ssize_t size;
    const char *text = str ? tbp_py_text(str, &size) : NULL;
    if (text)
        tbprof_scope_arg_str(scope, key, text, (size_t)size);
    PyErr_Clear();
    Py_XDECREF(str);
}

/* Whole numbers, also those of numpy; 0 if it is none, or does not fit. */
static int int_arg(tbprof_scope scope, const char *key, PyObject *value) {
    int overflow = 0;
    PyObject *number = PyIndex_Check(value) ? PyNumber_Index(value) : NULL;
    long long i = number ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
    int is_int = number && !overflow && !PyErr_Occurred();
    PyErr_Clear();
    Py_XDECREF(number);
    if (is_int)
        tbprof_scope_arg_i64(scope, key, i);
    return is_int;
}

static void one_arg(tbprof_scope scope, const char *key, PyObject *value) {
    if (PyFloat_Check(value))
        tbprof_scope_arg_f64(scope, key, PyFloat_AsDouble(value));
    else if (!int_arg(scope, key, value))
        text_arg(scope, key, value);
}

int tbp_py_scope_args(tbprof_scope scope, PyObject *kwargs) {
    PyObject *name, *value;
    Py_ssize_t at = 0;
    int seen = 0;
    while (PyDict_Next(kwargs, &at, &name, &value)) {
        const char *key = tbp_py_key(name);
        if (!key)
            continue;
        if (!strcmp(key, "_r"))
            seen |= TBP_PY_HAS_ROOT;
        else if (!strcmp(key, "step_num"))
            seen |= TBP_PY_HAS_STEP_NUM;
        one_arg(scope, key, value);
    }
    return seen;
}
