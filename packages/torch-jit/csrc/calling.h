// Calls of programs from Python, past pybind11's dispatch, which costs as much as several small operators.
#pragma once
#include "python.h"

namespace torch::program {

// A call as Python makes it: a new reference, or null with the error set.
PyObject* call_function(const FunctionPtr& f, PyObject* args, PyObject* kwargs) noexcept;

// Runs it on bound arguments. Others go on meanwhile when it is worth that and it changes nothing but elements.
Cell run_function(Function& f, std::vector<Cell> arguments);

// What an instance of a class of pybind11's holds: T is its holder, and the object is one of that class.
template <class T>
T& holder_of(PyObject* self) {
  return reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder().template holder<T>();
}
// Instances of a class of pybind11's are called so.
inline void set_call(py::handle cls, ternaryfunc call) {
  reinterpret_cast<PyTypeObject*>(cls.ptr())->tp_call = call;
  PyType_Modified(reinterpret_cast<PyTypeObject*>(cls.ptr()));
}

}  // namespace torch::program
