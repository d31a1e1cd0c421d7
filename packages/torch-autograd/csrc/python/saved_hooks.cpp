// saved_tensors_hooks: Python functions that keep saved tensors elsewhere.
#include "python.h"

namespace torch::autograd {

namespace {

struct PythonSavedHooks final : SavedHooks {
  PyObject *pack_function, *unpack_function;
  PythonSavedHooks(PyObject* p, PyObject* u) : pack_function(Py_NewRef(p)), unpack_function(Py_NewRef(u)) {}
  ~PythonSavedHooks() override {
    python.drop(pack_function);
    python.drop(unpack_function);
  }
  void* pack(const Tensor& t) override {
    Gil gil;
    ThreadHooksOff off;
    Object o(checked(api->wrap(t)));
    return checked(PyObject_CallOneArg(pack_function, o.get()));
  }
  Tensor unpack(void* packed) override {
    Gil gil;
    Object r(checked(PyObject_CallOneArg(unpack_function, static_cast<PyObject*>(packed))));
    if (!is_tensor(r.get())) {
      PyErr_Format(PyExc_TypeError,
                   "Output of saved tensor unpack_hook expected to be a Tensor but got result of type %s",
                   Py_TYPE(r.get())->tp_name);
      throw PythonError();
    }
    return borrow(r.get());
  }
  void drop_packed(void* packed) noexcept override { python.drop(packed); }

  // What pack computes is not packed itself.
  struct ThreadHooksOff {
    SavedHooks* before = std::exchange(thread_state.saved_hooks, nullptr);
    ~ThreadHooksOff() { thread_state.saved_hooks = before; }
  };
};

PyObject* push(PyObject*, PyObject* args) {
  PyObject *p, *u;
  if (!PyArg_ParseTuple(args, "OO", &p, &u)) return nullptr;
  auto* h = new PythonSavedHooks(p, u);
  h->outer = thread_state.saved_hooks;
  thread_state.saved_hooks = h;
  Py_RETURN_NONE;
}
PyObject* pop(PyObject*, PyObject*) {
  SavedHooks* h = thread_state.saved_hooks;
  if (!h) {
    PyErr_SetString(PyExc_RuntimeError, "no saved tensors hooks are active");
    return nullptr;
  }
  thread_state.saved_hooks = h->outer;
  Ref<SavedHooks>::steal(h).reset();
  Py_RETURN_NONE;
}
PyMethodDef functions[] = {
    {"_push_saved_hooks", push, METH_VARARGS, nullptr}, {"_pop_saved_hooks", pop, METH_NOARGS, nullptr}, {}};

}  // namespace

bool add_saved_hooks(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace torch::autograd
