// torch.autograd._C: the tape's Python face.
#include "python/python.h"
#include "torch/autograd/record.h"

namespace torch::autograd {

namespace {

PyObject* set_grad_enabled(PyObject*, PyObject* value) {
  int t = PyObject_IsTrue(value);
  if (t < 0) return nullptr;
  return PyBool_FromLong(std::exchange(thread_state.grad_mode, t != 0));
}
PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.grad_mode); }
PyObject* set_inference_mode(PyObject*, PyObject* value) {
  int t = PyObject_IsTrue(value);
  if (t < 0) return nullptr;
  inference_flag = t ? uint8_t(TensorImpl::kInference) : 0;
  return PyBool_FromLong(std::exchange(thread_state.inference_mode, t != 0));
}
PyObject* is_inference_mode_enabled(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.inference_mode); }
PyObject* set_anomaly(PyObject*, PyObject* args) {
  int enabled, check_nan;
  if (!PyArg_ParseTuple(args, "pp", &enabled, &check_nan)) return nullptr;
  AnomalyMode before = std::exchange(anomaly_mode, AnomalyMode{enabled != 0, check_nan != 0});
  return Py_BuildValue("(NN)", PyBool_FromLong(before.enabled), PyBool_FromLong(before.check_nan));
}
PyObject* get_anomaly(PyObject*, PyObject*) {
  return Py_BuildValue("(NN)", PyBool_FromLong(anomaly_mode.enabled), PyBool_FromLong(anomaly_mode.check_nan));
}
PyObject* count_live_nodes(PyObject*, PyObject*) { return PyLong_FromLongLong(live_nodes()); }
PyObject* is_in_backward(PyObject*, PyObject*) { return PyBool_FromLong(in_backward()); }
PyObject* do_passes_reach_all_leaves(PyObject*, PyObject*) { return PyBool_FromLong(passes_reach_all_leaves()); }
PyObject* set_requires_grad_of(PyObject*, PyObject* args) {
  PyObject* tensor;
  int value;
  if (!PyArg_ParseTuple(args, "Op", &tensor, &value)) return nullptr;
  if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %s", Py_TYPE(tensor)->tp_name);
  TORCH_PY_TRY(nullptr, set_requires_grad(*python::impl_of(tensor), value);)
  Py_RETURN_NONE;
}

// {schema: how} of all rows that take a tensor: "derivative", "zero", "not differentiable", "refused",
// "composite", or "missing".
PyObject* differentiability(PyObject*, PyObject*) {
  static const char* const names[] = {"derivative", "zero", "not differentiable", "refused"};
  TORCH_PY_TRY(nullptr, {
    Object all(checked(PyDict_New()));
    for (const Row* row : all_rows()) {
      const Schema& s = row->schema;
      bool takes_tensor = false;
      for (int i = 0; i < s.count; ++i)
        takes_tensor |= s.params[i].kind == Kind::Tensor || s.params[i].kind == Kind::TensorList;
      if (!takes_tensor) continue;
      const char* how = row->attr.is_composite ? "composite" : "missing";
      for (const Treated& t : treated_rows())
        if (std::string_view(t.op->text) == s.text) how = names[int(t.how)];
      Object value(checked(PyUnicode_FromString(how)));
      if (PyDict_SetItemString(all.get(), s.text, value.get()) < 0) return nullptr;
    }
    return all.release();
  })
}

PyMethodDef functions[] = {
    {"_differentiability", differentiability, METH_NOARGS, "How each row's gradient is served: for tests."},
    {"_set_grad_enabled", set_grad_enabled, METH_O, "Sets the thread's grad mode; returns what it was."},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS,
     "is_grad_enabled()\n--\n\nTrue when operations are recorded on this thread."},
    {"_set_inference_mode", set_inference_mode, METH_O, nullptr},
    {"is_inference_mode_enabled", is_inference_mode_enabled, METH_NOARGS,
     "is_inference_mode_enabled()\n--\n\nTrue inside inference_mode()."},
    {"_set_anomaly", set_anomaly, METH_VARARGS, nullptr},
    {"_get_anomaly", get_anomaly, METH_NOARGS, nullptr},
    {"_live_nodes", count_live_nodes, METH_NOARGS, "How many nodes exist, of all threads: for tests."},
    {"_in_backward", is_in_backward, METH_NOARGS, nullptr},
    {"_passes_reach_all_leaves", do_passes_reach_all_leaves, METH_NOARGS, nullptr},
    {"_set_requires_grad", set_requires_grad_of, METH_VARARGS, nullptr},
    {}};

int exec(PyObject* module) {
  if (!python::import_api()) return -1;
  TORCH_PY_TRY(-1, {
    init();
    install_location();
    if (!add_node_type(module) || !add_function_type(module) || !add_hooks(module) || !add_saved_hooks(module) ||
        !add_func(module))
      return -1;
    if (!add_tensor_attributes() || PyModule_AddFunctions(module, tensor_functions) < 0) return -1;
  })
  return 0;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(exec)}, {}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "torch.autograd._C", "The tape.", 0, functions, slots, nullptr, nullptr, nullptr};

}  // namespace

}  // namespace torch::autograd

PyMODINIT_FUNC PyInit__C() { return PyModuleDef_Init(&torch::autograd::definition); }
