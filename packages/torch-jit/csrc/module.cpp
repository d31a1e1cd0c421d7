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

newfunc bare_new = nullptr;

// pybind11 makes an instance with nothing in it for `C.__new__(C)`, which is what pickles ask for; its methods would
// read that.
PyObject* checked_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) || (kwargs && PyDict_GET_SIZE(kwargs))) return bare_new(type, args, kwargs);
  PyErr_Format(PyExc_TypeError,
               "%s: made of nothing; objects of programs are not read from pickles, torch.jit.load reads archives",
               type->tp_name);
  return nullptr;
}

void refuse_bare_instances(const pybind11::module_& m) {
  namespace py = pybind11;
  auto* root = reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base);
  bare_new = root->tp_new;
  for (auto [name, value] : py::reinterpret_borrow<py::dict>(m.attr("__dict__"))) {
    auto* type = reinterpret_cast<PyTypeObject*>(value.ptr());
    const bool is_bound = PyType_Check(value.ptr()) && PyType_IsSubtype(type, root);
    if (is_bound && type->tp_new == bare_new && name.cast<std::string>() != "Graph") {  // which is made of nothing
      type->tp_new = checked_new;
      PyType_Modified(type);
    }
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
  refuse_bare_instances(m);
}
