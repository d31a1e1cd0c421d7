// torch.jit._native: graphs, types and functions of libtorch_program for Python.
#include "python.h"

namespace torch::program {
void bind_replaced(py::module_& m);  // replaced.cpp
}

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

// Called where a method asks for what is in an instance that has nothing: one that checked_new let through.
void* refuse_bare(size_t) {
  throw pybind11::type_error("an object that was made by __new__ alone has nothing in it; call its class");
}

// copyreg, which protocols 0 and 1 go through, would call pybind11's root class, and that ends the process.
void refuse_pickles(const pybind11::handle& type) {
  namespace py = pybind11;
  if (py::reinterpret_borrow<py::dict>(type.attr("__dict__").attr("copy")()).contains("__reduce__")) return;
  type.attr("__reduce__") = py::cpp_function(
      [](const py::object& self) -> py::object {
        throw py::type_error("cannot pickle '" + std::string(Py_TYPE(self.ptr())->tp_name) + "' object");
      },
      py::name("__reduce__"), py::is_method(type));
}

void refuse_bare_instances(const pybind11::module_& m) {
  namespace py = pybind11;
  auto* root = reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base);
  bare_new = root->tp_new;
  for (auto [name, value] : py::reinterpret_borrow<py::dict>(m.attr("__dict__"))) {
    auto* type = reinterpret_cast<PyTypeObject*>(value.ptr());
    if (!PyType_Check(value.ptr()) || !PyType_IsSubtype(type, root)) continue;
    py::detail::get_type_info(type)->operator_new = refuse_bare;
    refuse_pickles(value);
    if (type->tp_new == bare_new && name.cast<std::string>() != "Graph") {  // which is made of nothing
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
  torch::program::bind_replaced(m);
  refuse_bare_instances(m);
}
