// The life of a tensor's Python object.
//
// Usually the object owns the tensor and the tensor knows its object. An object with attributes, weak references or a
// class of its own (Parameter) must not end while C++ holds the tensor: a graph, a module written in C++. So when its
// count falls to zero the two change sides: the tensor owns the object until Python asks for it again or the last
// handle goes, and then the object owns the tensor again. A plain tensor has nothing to lose: its object just goes.
#include <Python.h>
#include <structmember.h>

#include "dispatch.h"

namespace torch::python {

int ReleaseGil::active = 0;

bool can_have_gil() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  const bool finalizing = Py_IsFinalizing();
#else
  const bool finalizing = _Py_IsFinalizing();
#endif
  return Py_IsInitialized() && (!finalizing || PyGILState_Check());
}

namespace {

PyTypeObject* tensor_type;
constexpr int kFreeWrappers = 256;
PyTensor* free_wrappers[kFreeWrappers];
int free_count = 0;

// The tensor would live on without its object.
bool is_held_elsewhere(const TensorImpl* t) noexcept {
  return t->use_count() > 1 || (TORCH_UNLIKELY(t->autograd != nullptr) && t->autograd->keeps_tensor());
}

// The object's count is zero. True: it lives on, owned by the tensor.
bool change_sides(PyObject* self) {
  TensorImpl* t = impl_of(self);
  if (!t || t->pyobj != self || !is_held_elsewhere(t)) return false;
  Py_SET_REFCNT(self, 1);
  if (PyObject_GC_IsTracked(self)) {  // off the list of a collector that is about to clear it
    PyObject_GC_UnTrack(self);
    PyObject_GC_Track(self);
  }
  t->owns_pyobj = true;
  if (t->drop()) TensorImpl::destroy(t);  // those others let go just now
  return true;
}

void release_pyobj_of(TensorImpl* t) noexcept {
  if (!can_have_gil()) return;
  HoldGil gil;
  t->refs.store(1, std::memory_order_relaxed);
  t->owns_pyobj = false;
  Py_DECREF(static_cast<PyObject*>(t->pyobj));
}

// Enters again with the GIL, as every flight begins: not while another thread changes what it reads.
void pause_flight() noexcept {
  if (!flight::leave()) return;
  flight::step_aside();
  const PyGILState_STATE gil = take_gil([] { return PyGILState_Ensure(); });
  flight::enter();
  PyGILState_Release(gil);
}

// Calls f(member) for each object that a subclass keeps in __slots__.
template <class F>
int for_each_slot(PyObject* self, F f) {
  for (PyTypeObject* type = Py_TYPE(self); type != tensor_type; type = type->tp_base)
    if (PyMemberDef* m = type->tp_members)
      for (; m->name; ++m)
        if (m->type == T_OBJECT_EX && !(m->flags & READONLY))
          if (int r = f(*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + m->offset))) return r;
  return 0;
}

void end_object(PyObject* self);

// Python's own function for the end of a subclass empties __slots__ before it asks the base: too early for us.
void subclass_dealloc(PyObject* self) {
  if (change_sides(self)) return;
  PyTypeObject* type = Py_TYPE(self);
  if (type->tp_finalize && PyObject_CallFinalizerFromDealloc(self) < 0) return;  // __del__ kept it alive
  PyObject_GC_UnTrack(self);
  Py_TRASHCAN_BEGIN(self, tensor_dealloc);
  for_each_slot(self, [](PyObject*& o) {
    Py_CLEAR(o);
    return 0;
  });
  end_object(self);
  Py_TRASHCAN_END;
}
int subclass_traverse(PyObject* self, visitproc visit, void* arg) {
  int r = tensor_traverse(self, visit, arg);
  if (r || !is_collectable(self)) return r;
  return for_each_slot(self, [&](PyObject* o) { return o ? visit(o, arg) : 0; });
}

}  // namespace

// An object that the tensor may outlive does not show what it refers to, so that the collector takes that for
// reachable; one that the tensor owns has that reference to itself, which a graph may show. The answer must stay the
// same during one collection: only code that borrows an argument and runs without the GIL could change it.
bool is_collectable(PyObject* self) {
  TensorImpl* t = impl_of(self);
  return !t || t->owns_pyobj || (ReleaseGil::active == 0 && !is_held_elsewhere(t));
}

// Of Tensor and of its subclasses: Python gives an object another class only where both end in one function.
void tensor_dealloc(PyObject* self) {
  if (TORCH_LIKELY(Py_TYPE(self) == tensor_type))
    end_object(self);
  else
    subclass_dealloc(self);
}

namespace {
void end_object(PyObject* self) {
  auto* o = reinterpret_cast<PyTensor*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (TORCH_UNLIKELY(o->dict != nullptr || o->weak != nullptr)) {
    if (type == tensor_type && change_sides(self)) return;
    if (PyObject_GC_IsTracked(self)) PyObject_GC_UnTrack(self);
    if (o->weak) PyObject_ClearWeakRefs(self);
    Py_CLEAR(o->dict);
  } else if (PyObject_GC_IsTracked(self)) {
    PyObject_GC_UnTrack(self);
  }
  if (TensorImpl* t = std::exchange(o->impl, nullptr)) {
    if (t->pyobj == self) t->pyobj = nullptr;
    if (t->drop()) TensorImpl::destroy(t);
  }
  if (TORCH_LIKELY(type == tensor_type && free_count < kFreeWrappers))
    free_wrappers[free_count++] = o;
  else
    type->tp_free(self);
  Py_DECREF(type);
}
}  // namespace

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!is_collectable(self)) return 0;
  Py_VISIT(reinterpret_cast<PyTensor*>(self)->dict);
  TensorImpl* t = impl_of(self);
  if (!t || !t->autograd || t->owns_pyobj) return 0;  // who owns the tensor shows its graph
  struct Visitor {
    visitproc visit;
    void* arg;
  } visitor{visit, arg};
  return t->autograd->traverse(
      [](void* object, void* v) {
        auto* to = static_cast<Visitor*>(v);
        return to->visit(static_cast<PyObject*>(object), to->arg);
      },
      &visitor);
}

// The collector also clears an object that only a cycle refers to in Python: what C++ holds keeps its attributes.
int tensor_clear(PyObject* self) {
  if (!is_collectable(self)) return 0;
  Py_CLEAR(reinterpret_cast<PyTensor*>(self)->dict);
  return for_each_slot(self, [](PyObject*& o) {
    Py_CLEAR(o);
    return 0;
  });
}

// A tensor can be part of a reference cycle only once it has attributes, hooks or a graph: it is tracked from then on.
namespace {
void track(PyObject* self) {
  if (!PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
}
void track_attributes(PyObject* self) {
  if (reinterpret_cast<PyTensor*>(self)->dict) track(self);
}

// How its objects end: the bases too, or an object could not be given the class of its base.
void prepare_class(PyTypeObject* type) {
  for (PyTypeObject* t = type; t != tensor_type && t->tp_dealloc != tensor_dealloc; t = t->tp_base) {
    t->tp_dealloc = tensor_dealloc;
    t->tp_traverse = subclass_traverse;
    t->tp_clear = tensor_clear;
  }
}
void set_keys_of_class(TensorImpl* t, PyTypeObject* type) {
  t->keys &= Keys(~(key(DispatchKey::Python) | key(DispatchKey::Dispatch)));
  if (type == tensor_type) return;
  if (overrides_calls(type)) t->keys |= key(DispatchKey::Python);
  if (answers_dispatch(type)) t->keys |= key(DispatchKey::Dispatch);
}
}  // namespace

int tensor_setattro(PyObject* self, PyObject* name, PyObject* value) {
  static PyObject* const class_name = PyUnicode_InternFromString("__class__");
  const bool is_class = name == class_name && value && PyType_Check(value);
  auto* type = reinterpret_cast<PyTypeObject*>(value);
  if (TORCH_UNLIKELY(is_class && PyType_IsSubtype(type, tensor_type))) prepare_class(type);
  int r = PyObject_GenericSetAttr(self, name, value);
  if (TORCH_UNLIKELY(is_class && r == 0 && impl_of(self))) set_keys_of_class(impl_of(self), type);
  track_attributes(self);
  return r;
}
PyObject* get_dict(PyObject* self, void*) {
  PyObject* dict = PyObject_GenericGetDict(self, nullptr);
  track_attributes(self);
  return dict;
}
int put_dict(PyObject* self, PyObject* dict, void*) {
  int r = PyObject_GenericSetDict(self, dict, nullptr);
  track_attributes(self);
  return r;
}
PyObject* get_attributes(PyObject* self, void*) {
  PyObject* dict = reinterpret_cast<PyTensor*>(self)->dict;
  return Py_NewRef(dict ? dict : Py_None);
}

PyObject* wrap(Tensor tensor) {
  TensorImpl* t = tensor.release();
  if (TORCH_UNLIKELY(!t)) Py_RETURN_NONE;
  if (TORCH_UNLIKELY(t->pyobj != nullptr)) {
    auto* o = static_cast<PyObject*>(t->pyobj);
    if (std::exchange(t->owns_pyobj, false))
      return o;  // our reference to the tensor becomes the object's, its to us ours
    Py_INCREF(o);
    if (TORCH_UNLIKELY(t->autograd != nullptr)) track(o);
    if (t->drop()) TensorImpl::destroy(t);
    return o;
  }
  PyTensor* o;
  if (TORCH_LIKELY(free_count > 0)) {
    o = free_wrappers[--free_count];
    PyObject_Init(reinterpret_cast<PyObject*>(o), tensor_type);
  } else {
    o = PyObject_GC_New(PyTensor, tensor_type);
    if (!o) {
      Tensor(Ref<TensorImpl>::steal(t)).reset();
      return nullptr;
    }
    o->weak = nullptr;
    o->dict = nullptr;
  }
  o->impl = t;
  t->pyobj = o;
  if (TORCH_UNLIKELY(t->autograd != nullptr)) PyObject_GC_Track(o);
  return reinterpret_cast<PyObject*>(o);
}

PyObject* make_subclass(PyTypeObject* type, Tensor tensor) {
  if (type == tensor_type) return wrap(std::move(tensor));
  prepare_class(type);
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) return nullptr;
  TensorImpl* t = tensor.release();
  reinterpret_cast<PyTensor*>(o)->impl = t;
  t->pyobj = o;
  set_keys_of_class(t, type);
  return o;
}

void install_life() {
  tensor_type = api->tensor_type;
  release_pyobj = release_pyobj_of;
  flight::pause = pause_flight;
}

}  // namespace torch::python
