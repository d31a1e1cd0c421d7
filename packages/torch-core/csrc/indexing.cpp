#include "python.h"
namespace torch::python {
PyObject* tensor_subscript(PyObject*, PyObject*) { PyErr_SetString(PyExc_NotImplementedError, "indexing"); return nullptr; }
int tensor_ass_subscript(PyObject*, PyObject*, PyObject*) { PyErr_SetString(PyExc_NotImplementedError, "indexing"); return -1; }
PyObject* tensor_item(PyObject*, Py_ssize_t) { PyErr_SetString(PyExc_NotImplementedError, "indexing"); return nullptr; }
}
