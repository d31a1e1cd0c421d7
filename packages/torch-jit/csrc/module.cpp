// torch.jit._native: graphs, types and functions of libtorch_program for Python.
#include "python.h"

namespace {

void translate(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (...) {
    torch::program::raise_as_python();
  }
}

}  // namespace

// An error that a program raised is one of the class that it named; builtins are looked through, and torch.jit's own.
void torch::program::raise_as_python() {
  try {
    throw;
  } catch (const OverloadError& e) {
    py::object type = py::module_::import("torch.jit._native").attr("OverloadError");
    PyErr_SetString(type.ptr(), e.what());
  } catch (const Raised& e) {
    py::object type = py::module_::import("torch.jit._errors").attr("raised")(e.class_name());
    PyErr_SetString(type.ptr(), e.what());
  }
}

PYBIND11_MODULE(_native, m) {
  torch::python::attach();
  m.attr("OverloadError") = pybind11::reinterpret_steal<pybind11::object>(PyErr_NewExceptionWithDoc(
      "torch.jit._native.OverloadError", "No overload of an operator fits the arguments of a call.", PyExc_RuntimeError,
      nullptr));
  pybind11::register_local_exception_translator(translate);
  torch::program::bind_types(m);
  torch::program::bind_graph(m);
  torch::program::bind_nodes(m);
  torch::program::bind_functions(m);
  torch::program::bind_cells(m);
  torch::program::bind_modes(m);
  torch::program::bind_trace(m);
  torch::program::bind_door(m);
  torch::program::bind_plan(m);
  torch::program::bind_archive(m);
  torch::program::bind_callable(m);
  torch::program::bind_containers(m);
}
