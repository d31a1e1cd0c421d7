// Saved tensors as programs see them: Python functions that keep them elsewhere (saved_tensors_hooks), and attributes
// of the node that saved them.
#include "../node_lock.h"
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
// --- node._saved_self, node._raw_saved_self ---

struct PySaved {
  PyObject_HEAD Node* node;  // owned reference
  Saved* saved;              // inside of it
};
PyTypeObject* saved_type = nullptr;

// Runs f without the GIL, for which a pass that has the node may be waiting.
auto with_saved(Node& n, auto f) {
  NoGil off;
  NodeLock lock(n);
  return f();
}

PyObject* register_saved_hooks(PyObject* self, PyObject* args) {
  PyObject *p, *u;
  if (!PyArg_ParseTuple(args, "OO:register_hooks", &p, &u)) return nullptr;
  TORCH_PY_TRY(nullptr, {
    auto* o = reinterpret_cast<PySaved*>(self);
    auto hooks = Ref<SavedHooks>::steal(new PythonSavedHooks(p, u));
    with_saved(*o->node, [&] {
      check_not_freed(*o->node);
      TORCH_CHECK(!o->saved->is_hooked(), "register_hooks: the tensor that ", o->node->name(),
                  " saved has hooks already (of saved_tensors_hooks, or of an earlier call)");
      o->saved->pack(*hooks);
    });
    Py_RETURN_NONE;
  })
}

PyMethodDef functions[] = {
    {"_push_saved_hooks", push, METH_VARARGS, nullptr}, {"_pop_saved_hooks", pop, METH_NOARGS, nullptr}, {}};

void saved_dealloc(PyObject* self) {
  Node* n = reinterpret_cast<PySaved*>(self)->node;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
  if (n && n->drop()) Node::destroy(n);
}

PyMethodDef saved_methods[] = {
    {"register_hooks", register_saved_hooks, METH_VARARGS,
     "Keeps pack(tensor) instead of the tensor, called at once; unpack of that gives the tensor to backward."},
    {}};

constexpr std::string_view kSaved = "_saved_", kRaw = "_raw_saved_";

}  // namespace

PyObject* saved_attribute(Node& n, std::string_view name) {
  const bool raw = name.starts_with(kRaw);
  if (!raw && !name.starts_with(kSaved)) return nullptr;
  const std::string_view wanted = name.substr((raw ? kRaw : kSaved).size());
  Tensor t;
  Saved* found = nullptr;
  with_saved(n, [&] {
    if (n.saved_at) check_not_freed(n);
    for (NamedSaved& s : saved_of(n))
      if (s.name == wanted) found = s.saved;
    if (found && !raw) t = found->show(n);
  });
  if (!found) return nullptr;
  if (!raw) return api->wrap(t);
  auto* o = reinterpret_cast<PySaved*>(checked(saved_type->tp_alloc(saved_type, 0)));
  n.retain();
  o->node = &n;
  o->saved = found;
  return reinterpret_cast<PyObject*>(o);
}

std::vector<std::string> saved_attributes(Node& n) {
  std::vector<std::string> names;
  with_saved(n, [&] {
    for (NamedSaved& s : saved_of(n)) {
      names.push_back(std::string(kSaved) + s.name);
      names.push_back(std::string(kRaw) + s.name);
    }
  });
  return names;
}

bool add_saved_hooks(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(saved_dealloc)},
                         {Py_tp_methods, saved_methods},
                         {Py_tp_doc, const_cast<char*>("A tensor that a node saved for backward.")},
                         {}};
  PyType_Spec spec = {"torch._C._autograd.SavedTensor", sizeof(PySaved), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  saved_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return saved_type && PyModule_AddObjectRef(module, "SavedTensor", reinterpret_cast<PyObject*>(saved_type)) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace torch::autograd
