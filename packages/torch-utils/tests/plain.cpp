// A module without the headers of torch, which compiles in a moment; NUMBER is what its one function gives.
#include <Python.h>
static PyObject* number(PyObject*, PyObject*) { return PyLong_FromLong(NUMBER); }
static PyMethodDef functions[] = {{"number", number, METH_NOARGS, nullptr}, {}};
#define NAME(x) NAME_(x)
#define NAME_(x) #x
#define INIT(x) INIT_(x)
#define INIT_(x) PyInit_##x
static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, NAME(TORCH_EXTENSION_NAME), nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC INIT(TORCH_EXTENSION_NAME)() { return PyModule_Create(&module); }
