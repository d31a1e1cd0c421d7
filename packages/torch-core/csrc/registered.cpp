// torch._C.Registered: the base of classes whose attributes also lie in three dicts of the instance, `_parameters`,
// `_buffers` and `_modules`. The dicts are the only place of what they hold, so that whoever edits, copies or replaces
// one sees nothing stale; and a name is found there without an exception raised and caught on the way. So it is with
// the dicts of hooks: `_hooked` looks at them as they are.
#include "python.h"

namespace torch::python {

namespace {

PyObject* registered;  // the type
PyObject* dicts[3];    // the names of the three dicts
PyObject* hooks[4];    // those of four more, which hold what runs around a call
PyObject* missing;     // "_missing"

PyObject* entry(PyObject* entries, PyObject* name) {
  if (PyDict_CheckExact(entries) || PyODict_CheckExact(entries))
    return Py_XNewRef(PyDict_GetItemWithError(entries, name));
  Object held(Py_NewRef(entries));  // the code of another class runs here
  return PySequence_Contains(entries, name) == 1 ? PyObject_GetItem(entries, name) : nullptr;
}

PyObject* say_missing(PyObject* self, PyObject* name) {
  return PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute %R", Py_TYPE(self)->tp_name, name);
}

PyObject* raise_missing(PyObject* self, PyObject* name) {
  Object raised(PyObject_CallMethodOneArg(self, missing, name));
  if (raised) PyErr_SetObject(PyExc_AttributeError, name);
  return nullptr;
}

PyObject* find_or_raise(PyObject* self, PyObject* name) {
  Object state(PyObject_GenericGetDict(self, nullptr));
  if (!state) return nullptr;
  for (PyObject* dict : dicts) {
    PyObject* entries = PyDict_GetItemWithError(state.get(), dict);
    PyObject* value = entries ? entry(entries, name) : nullptr;
    if (value || PyErr_Occurred()) return value;
  }
  return raise_missing(self, name);
}

// Every call asks, so this is one lookup for the caller in place of four.
PyObject* hooked(PyObject* self, void*) {
  Object state(PyObject_GenericGetDict(self, nullptr));
  if (!state) return nullptr;
  for (PyObject* name : hooks) {
    PyObject* entries = PyDict_GetItemWithError(state.get(), name);
    if (!entries) return PyErr_Occurred() ? nullptr : raise_missing(self, name);
    const int some = PyDict_Check(entries) ? PyDict_GET_SIZE(entries) != 0 : PyObject_IsTrue(entries);
    if (some) return some < 0 ? nullptr : Py_NewRef(Py_True);
  }
  return Py_NewRef(Py_False);
}

#if PY_VERSION_HEX < 0x030c0000
// Before Python 3.12 the slot of a class with __getattr__ raises and drops an AttributeError whenever that is asked
// (850 ns a lookup; with this one, 70). Classes that keep both __getattribute__ and __getattr__ get this slot instead.
PyObject* get(PyObject* self, PyObject* name) {
  PyObject* value = _PyObject_GenericGetAttrWithDict(self, name, nullptr, 1);
  return value || PyErr_Occurred() ? value : find_or_raise(self, name);
}

bool same_attribute(PyObject* a, PyObject* b, const char* name) {
  Object x(PyObject_GetAttrString(a, name)), y(PyObject_GetAttrString(b, name));
  return x && x.get() == y.get();
}
#endif

PyObject* init_subclass(PyObject* cls, PyObject* args, PyObject* kwargs) {
  Object super(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PySuper_Type), registered, cls, nullptr));
  Object next(super ? PyObject_GetAttrString(super.get(), "__init_subclass__") : nullptr);
  Object done(next ? PyObject_Call(next.get(), args, kwargs) : nullptr);
  if (!done) return nullptr;
#if PY_VERSION_HEX < 0x030c0000
  auto* object = reinterpret_cast<PyObject*>(&PyBaseObject_Type);
  if (same_attribute(cls, object, "__getattribute__") && same_attribute(cls, registered, "__getattr__"))
    reinterpret_cast<PyTypeObject*>(cls)->tp_getattro = get;
  if (PyErr_Occurred()) return nullptr;
#endif
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"__getattr__", find_or_raise, METH_O,
     "__getattr__($self, name, /)\n--\n\nThe entry of _parameters, _buffers or _modules; else _missing(name) raises."},
    {"_missing", say_missing, METH_O, "Raises the AttributeError for a name; derived classes have words of their own."},
    {"__init_subclass__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(init_subclass)),
     METH_CLASS | METH_VARARGS | METH_KEYWORDS, nullptr},
    {}};

PyGetSetDef getset[] = {{"_hooked", hooked, nullptr, "Is there a hook that a call has to run?", nullptr}, {}};

char doc[] = "Finds attributes also in its dicts _parameters, _buffers and _modules.";
PyType_Slot slots[] = {{Py_tp_methods, methods}, {Py_tp_getset, getset}, {Py_tp_doc, doc}, {}};
PyType_Spec spec = {"torch._C.Registered", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

bool add_registered(PyObject* module) {
  const char* dict_names[] = {"_parameters", "_buffers", "_modules"};
  const char* hook_names[] = {"_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks"};
  for (int i = 0; i < 3; ++i)
    if (!(dicts[i] = PyUnicode_InternFromString(dict_names[i]))) return false;
  for (int i = 0; i < 4; ++i)
    if (!(hooks[i] = PyUnicode_InternFromString(hook_names[i]))) return false;
  if (!(missing = PyUnicode_InternFromString("_missing")) || !(registered = PyType_FromSpec(&spec))) return false;
  return PyModule_AddObjectRef(module, "Registered", registered) == 0;
}

}  // namespace torch::python
