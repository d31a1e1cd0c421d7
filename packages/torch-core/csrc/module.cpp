// torch._C: everything hot, in hand-written CPython. Its parts add themselves here, in the order they need each other.
#include "dispatch.h"
#include "torch/core/features.h"
#include "torch/core/init.h"

namespace torch::python {

namespace {

int execute(PyObject* module) {
  if (interface_number() != TORCH_CORE_INTERFACE) {
    PyErr_Format(PyExc_ImportError,
                 "torch._C was built for interface %d of libtorch_core, but the loaded library has interface %d: pip "
                 "install --force-reinstall torch-core",
                 TORCH_CORE_INTERFACE, interface_number());
    return -1;
  }
  try {
    init();
  } catch (...) {
    raise();
    return -1;
  }
  bool ok = add_errors(module) && add_objects(module) && add_storage(module) && add_tensor_type(module) &&
            add_overrides(module) && add_operators(module) && bind_number_slots() && add_generator(module) &&
            add_constructors(module) && add_buffer_functions(module) && add_runtime(module) && add_ranges(module) &&
            add_registered(module) && add_dispatch(module) && add_library(module) && add_stable(module);
  ok = ok && PyModule_AddIntConstant(module, "interface", TORCH_CORE_INTERFACE) == 0 &&
       PyModule_AddIntConstant(module, "features", feature_number()) == 0;
  return ok ? 0 : -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "torch._C",
                          "The compiled part of torch-core.",
                          0,
                          nullptr,
                          slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace torch::python

PyMODINIT_FUNC PyInit__C() { return PyModuleDef_Init(&torch::python::definition); }
