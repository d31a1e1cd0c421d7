// Hooks that are Python functions.
#include "../collect.h"
#include "python.h"

namespace torch::autograd {

namespace {

PyObject* handle_type = nullptr;  // torch.autograd.graph.RemovableHandle, set by it

// What a hook gave back: nothing, or a tensor that takes the gradient's place.
void replace(Tensor& g, PyObject* result, const char* what) {
  if (result == Py_None) return;
  if (!is_tensor(result)) {
    PyErr_Format(PyExc_TypeError, "%s must return None or a Tensor, got %s", what, Py_TYPE(result)->tp_name);
    throw PythonError();
  }
  const Tensor& r = borrow(result);
  if (g && !(r.sizes() == g.sizes()))
    throw_error(ErrorKind::Runtime,
                message(what, " has changed the size of value: the gradient is ", g, ", the hook returned ", r));
  if (g && r.dtype() != g.dtype())
    throw_error(ErrorKind::Runtime,
                message(what, " has changed the type of value: the gradient is ", g, ", the hook returned ", r));
  g = r;
}

PyObject* tuple_of(const std::vector<Tensor>& tensors) {
  Object tuple(checked(PyTuple_New(Py_ssize_t(tensors.size()))));
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), checked(api->wrap(tensors[i])));
  return tuple.release();
}

void replace_all(std::vector<Tensor>& grads, PyObject* result, const char* what) {
  if (result == Py_None) return;
  Object sequence(PyTuple_Check(result) ? Py_NewRef(result) : PyTuple_Pack(1, result));
  if (size_t(PyTuple_GET_SIZE(sequence.get())) != grads.size())
    throw_error(ErrorKind::Runtime, message(what, " has returned an incorrect number of values (got ",
                                            PyTuple_GET_SIZE(sequence.get()), ", but expected ", grads.size(), ")"));
  for (size_t i = 0; i < grads.size(); ++i) {
    PyObject* item = PyTuple_GET_ITEM(sequence.get(), Py_ssize_t(i));
    if (item == Py_None)
      grads[i].reset();
    else
      replace(grads[i], item, what);
  }
}

struct PythonHook final : Hook {
  PyObject* function;
  explicit PythonHook(PyObject* f) : function(Py_NewRef(f)) {}
  ~PythonHook() override { python.drop(function); }
  int traverse(int (*visit)(void*, void*), void* arg) const override { return visit(function, arg); }

  void tensor(Tensor& grad) override {
    Gil gil;
    Object g(checked(api->wrap(grad)));
    Object result(checked(PyObject_CallOneArg(function, g.get())));
    replace(grad, result.get(), "a tensor's hook");
  }
  void before(std::vector<Tensor>& outputs) override {
    Gil gil;
    Object g(tuple_of(outputs));
    Object result(checked(PyObject_CallOneArg(function, g.get())));
    replace_all(outputs, result.get(), "a node's prehook");
  }
  void after(std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) override {
    Gil gil;
    Object in(tuple_of(inputs)), out(tuple_of(outputs));
    Object result(checked(PyObject_CallFunctionObjArgs(function, in.get(), out.get(), nullptr)));
    replace_all(inputs, result.get(), "a node's hook");
  }
  void accumulated(Leaf& leaf) override {
    Gil gil;
    Object o(checked(api->wrap(leaf.variable())));
    Object result(checked(PyObject_CallOneArg(function, o.get())));
    if (result.get() == Py_None || is_tensor(result.get())) return;  // `p.sub_(p.grad)` gives the tensor back
    PyErr_Format(PyExc_TypeError, "a post accumulate grad hook must return None (a Tensor changes nothing), got %s",
                 Py_TYPE(result.get())->tp_name);
    throw PythonError();
  }
};

PyObject* set_handle_type(PyObject*, PyObject* type) {
  Py_XSETREF(handle_type, Py_NewRef(type));
  Py_RETURN_NONE;
}
PyObject* remove_by_number(PyObject*, PyObject* id){TORCH_PY_TRY(nullptr, {
  const unsigned long long n = PyLong_AsUnsignedLongLong(id);
  if (PyErr_Occurred()) return nullptr;
  return PyBool_FromLong(remove_hook(n));
})} PyMethodDef functions[] = {
  {"_set_handle_type", set_handle_type, METH_O, nullptr},
  {"_remove_hook", remove_by_number, METH_O, nullptr},
  {}
};

}  // namespace

PyObject* register_hook(PyObject* owner, Node& n, HookKind kind, uint32_t output_nr, PyObject* function) {
  if (!PyCallable_Check(function)) {
    PyErr_Format(PyExc_TypeError, "a hook must be callable, got %s", Py_TYPE(function)->tp_name);
    return nullptr;
  }
  graphs_hold_objects = true;
  uint64_t id = add_hook(n, kind, output_nr, std::make_shared<PythonHook>(function));
  if (is_tensor(owner)) track(owner);  // the hook may refer to the tensor
  return PyObject_CallFunction(handle_type, "K", id);
}

PyObject* hooks_of(Node& n, uint32_t output_nr) {
  std::vector<std::pair<uint64_t, Object>> found;  // functions are kept before any Python code can run
  {
    std::lock_guard lock(hooks_mutex());
    if (n.extra)
      for (const auto& h : n.extra->tensor_hooks)
        if (h.output_nr == output_nr)
          if (auto* hook = dynamic_cast<PythonHook*>(h.hook.get()))
            found.emplace_back(hook->id, Py_NewRef(hook->function));
  }
  if (found.empty()) Py_RETURN_NONE;
  Object dict(checked(PyDict_New()));
  for (auto& [id, function] : found) {
    Object key(checked(PyLong_FromUnsignedLongLong(id)));
    if (PyDict_SetItem(dict.get(), key.get(), function.get()) < 0) return nullptr;
  }
  return dict.release();
}

bool add_hooks(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace torch::autograd
