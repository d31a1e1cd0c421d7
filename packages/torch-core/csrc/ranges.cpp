// Ranges of the user's in a profile: record_function of torch-autograd, the steps of optimizers, the batches of
// loaders.
#include "python.h"
#include "torch/core/profile.h"

namespace torch::python {

namespace {

PyObject* profiling(PyObject*, PyObject*) { return PyBool_FromLong(profile::on()); }

PyObject* begin_range(PyObject*, PyObject* name) {
  Py_ssize_t size;
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : nullptr;
  if (!text) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "record_function: the name of a range must be a str, got %s",
                   Py_TYPE(name)->tp_name);
    return nullptr;
  }
  if (!profile::on()) return PyLong_FromLong(0);
  return PyLong_FromUnsignedLongLong(profile::begin(profile::Scope::User, std::string_view(text, size_t(size))));
}

PyObject* end_range(PyObject*, PyObject* handle) {
  const unsigned long long h = PyLong_AsUnsignedLongLong(handle);
  if (h == ~0ull && PyErr_Occurred()) return nullptr;
  profile::end(h);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_profiling", profiling, METH_NOARGS, "_profiling()\n--\n\nTrue while a profiler records."},
    {"_begin_range", begin_range, METH_O,
     "_begin_range(name)\n--\n\nOpens a range in the profile that is recorded; gives its handle, 0 when none is."},
    {"_end_range", end_range, METH_O, "_end_range(handle)\n--\n\nEnds a range, on any thread; 0 is none."},
    {}};

}  // namespace

bool add_ranges(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace torch::python
