// __torch_function__: whose class takes part in calls. A tensor of such a class carries DispatchKey::Python, and a
// thread with a mode includes it, so that a call of plain tensors learns of neither by more than a test of keys it has
// computed. C++ leaves the key out (ThreadKeys of layer.cpp): an override sees what Python calls. The rest of the
// protocol is torch/overrides.py.
#include "parser.h"
#include "torch/core/ops/view.h"

namespace torch::python {

constinit thread_local bool overrides_off = false;

namespace {

PyObject* disabled;         // torch._C._disabled_torch_function_impl
PyObject* attribute;        // "__torch_function__"
PyObject* enter = nullptr;  // torch.overrides._enter, once it was needed

Object from_protocol(const char* name) {
  Object module(PyImport_ImportModule("torch.overrides"));
  return Object(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
}

// The function's own result: for classes that leave calls as they are. A derived class that sees calls comes here by
// super(), so its own function must not be asked again.
PyObject* disabled_override(PyObject*, PyObject* given) {
  PyObject *function, *types, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(given, "OO|OO:_disabled_torch_function_impl", &function, &types, &args, &kwargs))
    return nullptr;
  if (args && !PyTuple_Check(args) && !PyList_Check(args))
    return PyErr_Format(PyExc_TypeError, "_disabled_torch_function_impl(): args must be a tuple or a list, not %.200s",
                        Py_TYPE(args)->tp_name);
  if (kwargs == Py_None) kwargs = nullptr;
  if (kwargs && !PyDict_Check(kwargs))
    return PyErr_Format(PyExc_TypeError, "_disabled_torch_function_impl(): kwargs must be a dict or None, not %.200s",
                        Py_TYPE(kwargs)->tp_name);
  Object given_args(args ? PySequence_Tuple(args) : PyTuple_New(0)), plain(from_protocol("_plain"));
  if (!given_args || !plain) return nullptr;
  return PyObject_CallFunctionObjArgs(plain.get(), function, given_args.get(), kwargs ? kwargs : Py_None, nullptr);
}

PyObject* set_function_mode(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  const Keys bit = key(DispatchKey::Python);
  thread_keys.include = Keys(truth ? thread_keys.include | bit : thread_keys.include & ~bit);
  Py_RETURN_NONE;
}

PyObject* set_overrides_off(PyObject*, PyObject* off) {
  const int truth = PyObject_IsTrue(off);
  return truth < 0 ? nullptr : PyBool_FromLong(std::exchange(overrides_off, truth != 0));
}

PyObject* as_subclass(PyObject* self, PyObject* cls) {
  if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), api->tensor_type))
    return PyErr_Format(PyExc_TypeError, "as_subclass(): argument 'cls' must be a subclass of Tensor, not %R", cls);
  TORCH_PY_TRY(nullptr, return make_subclass(reinterpret_cast<PyTypeObject*>(cls), alias(borrow(self)));)
}

// Only the list refers to the tensor at `i`, from Python or from C++: it may become an object of another class.
bool is_new(PyObject* list, Py_ssize_t i) noexcept {
  PyObject* o = PyList_GET_ITEM(list, i);
  auto* plain = reinterpret_cast<PyTensor*>(o);
  return Py_TYPE(o) == api->tensor_type && Py_REFCNT(o) == 1 && !plain->dict && !plain->weak && plain->impl &&
         plain->impl->use_count() == 1;
}

// A view of a result would have a node and a base besides, two references to the result's graph.
PyObject* give_class(PyObject*, PyObject* args) {
  PyObject *list, *cls;
  if (!PyArg_ParseTuple(args, "O!O!:_give_class", &PyList_Type, &list, &PyType_Type, &cls)) return nullptr;
  if (PyList_GET_SIZE(list) != 1 || !is_tensor(PyList_GET_ITEM(list, 0)))
    return PyErr_Format(PyExc_TypeError, "_give_class: expected a list of one Tensor, got %R", list);
  if (!is_new(list, 0)) return as_subclass(PyList_GET_ITEM(list, 0), cls);
  if (!PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), api->tensor_type))
    return PyErr_Format(PyExc_TypeError, "_give_class: expected a subclass of Tensor, not %R", cls);
  TORCH_PY_TRY(nullptr, {
    PyObject* made = make_subclass(reinterpret_cast<PyTypeObject*>(cls), unwrap(PyList_GET_ITEM(list, 0)));
    if (made && PyList_SetSlice(list, 0, 1, nullptr) < 0) Py_CLEAR(made);  // the plain object goes
    return made;
  })
}

PyMethodDef functions[] = {
    {"_give_class", give_class, METH_VARARGS,
     "_give_class(held, cls)\n--\n\nThe one tensor of the list as one of ``cls``: itself, taken from the list, where "
     "only the list holds it, and else as :meth:`Tensor.as_subclass`."},
    {"_set_function_mode", set_function_mode, METH_O,
     "_set_function_mode(on)\n--\n\nWhether this thread has a mode that sees all calls."},
    {"_set_overrides_off", set_overrides_off, METH_O,
     "_set_overrides_off(off)\n--\n\nWhether calls of this thread ask no override; returns the former setting."},
    {"_disabled_torch_function_impl", disabled_override, METH_VARARGS,
     "_disabled_torch_function_impl(func, types, args=(), kwargs=None)\n--\n\n``__torch_function__`` of a class that "
     "leaves operators as they are."},
    {}};
PyMethodDef methods[] = {{"as_subclass", as_subclass, METH_O,
                          "as_subclass(cls)\n--\n\nThe tensor as one of a subclass of Tensor: same memory and graph."},
                         {}};

}  // namespace

bool overrides_calls(PyTypeObject* type) noexcept {
  PyObject* own = type == api->tensor_type ? nullptr : _PyType_Lookup(type, attribute);
  return own && own != disabled;
}

bool keeps_class(PyTypeObject* type) noexcept {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (base == api->tensor_type) return true;
    PyObject* own = _PyType_Lookup(base, attribute);
    if (own == disabled) return false;
  }
  return true;
}

// Also in a list or tuple, and in those of an index; no deeper, for a list may hold itself.
static bool brings_override(PyObject* o, int depth = 2) noexcept {
  PyTypeObject* type = Py_TYPE(o);
  if (type == api->tensor_type || type == &PyLong_Type || type == &PyFloat_Type || type == &PySlice_Type ||
      PyType_Check(o))
    return false;
  if (type == &PyTuple_Type || type == &PyList_Type) {
    for (Py_ssize_t i = 0; depth && i < PySequence_Fast_GET_SIZE(o); ++i)
      if (brings_override(PySequence_Fast_ITEMS(o)[i], depth - 1)) return true;
    return false;
  }
  return overrides_calls(type);
}
bool bring_override(PyObject* const* args, Py_ssize_t count) noexcept {
  for (Py_ssize_t i = 0; i < count && !overrides_off; ++i)
    if (brings_override(args[i])) return true;
  return false;
}

PyObject* ask_python(PyObject* function, PyObject* args, PyObject* kwargs) {
  if (!enter && !(enter = from_protocol("_enter").release())) return nullptr;
  return PyObject_CallFunctionObjArgs(enter, function, args, kwargs ? kwargs : Py_None, nullptr);
}
PyObject* ask_about_operands(PyObject* function, PyObject* a, PyObject* b) {
  static PyObject* const declined = from_protocol("_declined").release();
  Object ask(declined ? from_protocol("_enter_operator") : Object());
  Object operands(ask ? PyTuple_Pack(2, a, b) : nullptr);
  PyObject* answer = operands ? PyObject_CallFunctionObjArgs(ask.get(), function, operands.get(), nullptr) : nullptr;
  if (!answer || answer != declined) return answer;
  Py_DECREF(answer);
  return nullptr;
}
PyObject* ask_python(PyObject* function, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  const Py_ssize_t first = self ? 1 : 0;
  Object all(PyTuple_New(first + count)),
      named(kwnames && PyTuple_GET_SIZE(kwnames) ? PyDict_New() : Py_NewRef(Py_None));
  if (!all || !named) return nullptr;
  if (self) PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(self));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(all.get(), first + i, Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i)
    if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(kwnames, i), args[count + i]) < 0) return nullptr;
  return ask_python(function, all.get(), named.get());
}
PyObject* ask_python(const char* method, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  Object function(PyObject_GetAttrString(reinterpret_cast<PyObject*>(api->tensor_type), method));
  return function ? ask_python(function.get(), self, args, count, kwnames) : nullptr;
}

bool add_overrides(PyObject* module) {
  Object method(PyDescr_NewMethod(api->tensor_type, methods));
  return (attribute = PyUnicode_InternFromString("__torch_function__")) &&
         PyModule_AddFunctions(module, functions) == 0 &&
         (disabled = PyObject_GetAttrString(module, "_disabled_torch_function_impl")) && method &&
         PyObject_SetAttrString(reinterpret_cast<PyObject*>(api->tensor_type), "as_subclass", method.get()) == 0;
}

}  // namespace torch::python
