// torch.UntypedStorage: the bytes under tensors, as a Python object with the buffer protocol.
#include <Python.h>
#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "dispatch.h"
#include "foreign.h"
#include "python.h"
#include "storage/copy_bytes.h"
#include "storage/lending.h"
#include "torch/core/backend.h"
#include "torch/core/wrapper.h"

namespace torch::python {

// Foreign memory: a Python buffer kept exported while the storage lives.
void release_buffer(Storage* s) noexcept {
  HoldGil gil;
  auto* view = static_cast<Py_buffer*>(s->context);
  PyBuffer_Release(view);
  delete view;
}

namespace {

struct PyStorage {
  PyObject_HEAD Storage* storage;  // owned reference
  PyObject* weak;
};
PyTypeObject* storage_type;

Storage* storage_of(PyObject* o) { return reinterpret_cast<PyStorage*>(o)->storage; }

PyObject* wrap_storage(StorageRef s) {
  if (s->pyobj) {
    auto* o = static_cast<PyObject*>(s->pyobj);
    if (!(s->flags & Storage::kOwnsPyobj)) return Py_NewRef(o);
    s->flags &= ~Storage::kOwnsPyobj;  // its reference to the object becomes the caller's, ours to it the object's
    s.release();
    return o;
  }
  auto* o = PyObject_New(PyStorage, storage_type);
  if (!o) return nullptr;
  s->pyobj = o;
  o->weak = nullptr;
  o->storage = s.release();
  return reinterpret_cast<PyObject*>(o);
}

// Someone waits for the end of the storage, which lives on without its object: then so does the object.
bool change_sides(PyStorage* o) {
  Storage* s = o->storage;
  if (!o->weak || s->use_count() == 1) return false;
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(o), 1);
  s->flags |= Storage::kOwnsPyobj;
  StorageRef::steal(s).reset();
  return true;
}

void release_object(Storage* s) noexcept {
  if (!can_have_gil()) return;
  HoldGil gil;
  s->refs.store(1, std::memory_order_relaxed);
  s->flags &= ~Storage::kOwnsPyobj;
  Py_DECREF(static_cast<PyObject*>(s->pyobj));
}

void storage_dealloc(PyObject* self) {
  auto* o = reinterpret_cast<PyStorage*>(self);
  if (change_sides(o)) return;
  o->storage->pyobj = nullptr;
  if (o->weak) PyObject_ClearWeakRefs(self);
  StorageRef::steal(o->storage).reset();
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* storage_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"size", "device", nullptr};
  Py_ssize_t n = 0;
  PyObject* device = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|nO:UntypedStorage", const_cast<char**>(names), &n, &device))
    return nullptr;
  Device d;
  if (device && device != Py_None && !to_device(device, &d)) return nullptr;
  if (n < 0) {
    PyErr_Format(PyExc_RuntimeError, "UntypedStorage: size must not be negative, got %zd", n);
    return nullptr;
  }
  TORCH_PY_TRY(nullptr, return wrap_storage(StorageRef::steal(Storage::make(size_t(n), d)));)
}

int storage_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  Storage* s = storage_of(self);
  if (s->device.type != DeviceType::CPU) {
    PyErr_SetString(PyExc_BufferError, "this storage is not in CPU memory");
    return -1;
  }
  static char empty;
  if (PyBuffer_FillInfo(view, self, s->data ? s->data : &empty, Py_ssize_t(s->nbytes), s->flags & Storage::kReadOnly,
                        flags) < 0)
    return -1;
  lend(s);
  return 0;
}
void storage_releasebuffer(PyObject* self, Py_buffer*) { give_back(storage_of(self)); }
Py_ssize_t storage_length(PyObject* self) { return Py_ssize_t(storage_of(self)->nbytes); }
PyObject* storage_nbytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(storage_of(self)->nbytes); }
PyObject* storage_data_ptr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(storage_of(self)->data); }
PyObject* storage_is_shared(PyObject* self, PyObject*) {
  const Storage* s = storage_of(self);
  return PyBool_FromLong(s->is_shared() || s->device.type == DeviceType::CUDA);
}
PyObject* storage_use_count(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLong(storage_of(self)->use_count());
}
PyObject* storage_cdata(PyObject* self, void*) { return PyLong_FromVoidPtr(storage_of(self)); }
PyObject* storage_device(PyObject* self, void*) { return wrap_device(storage_of(self)->device); }
PyObject* storage_resizable(PyObject* self, PyObject*) {
  return PyBool_FromLong(storage_of(self)->flags & Storage::kResizable);
}

Py_buffer* writable_buffer(PyObject* object, bool* read_only) {
  auto* view = new Py_buffer;
  *read_only = false;
  if (PyObject_GetBuffer(object, view, PyBUF_WRITABLE | PyBUF_SIMPLE) == 0) return view;
  PyErr_Clear();
  *read_only = true;
  if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE) == 0) return view;
  delete view;
  return nullptr;
}
// _storage_from_buffer(obj, shared=False): a storage over the object's own memory, which it keeps alive.
PyObject* storage_from_buffer(PyObject*, PyObject* args) {
  PyObject* object;
  int shared = 0;
  if (!PyArg_ParseTuple(args, "O|p:_storage_from_buffer", &object, &shared)) return nullptr;
  bool read_only;
  Py_buffer* view = writable_buffer(object, &read_only);
  if (!view) return nullptr;
  TORCH_PY_TRY(nullptr, {
    Storage* s = Storage::adopt(view->buf, size_t(view->len), release_buffer, view);
    s->flags = uint8_t((shared ? Storage::kShared : 0) | (read_only ? Storage::kReadOnly : 0));
    return wrap_storage(StorageRef::steal(s));
  })
}
// _adopt(buffer, shared=True): moves the storage, in place, onto other memory of at least its size; the bytes are
// copied over first.
PyObject* storage_replace(PyObject* self, PyObject* args) {
  PyObject* object;
  int shared = 1, copy = 1;
  if (!PyArg_ParseTuple(args, "O|pp:_adopt", &object, &shared, &copy)) return nullptr;
  Storage* s = storage_of(self);
  bool read_only;
  Py_buffer* view = writable_buffer(object, &read_only);
  if (!view) return nullptr;
  if (s->device.type != DeviceType::CPU || read_only || size_t(view->len) < s->nbytes) {
    PyErr_Format(PyExc_ValueError, "_adopt: a writable buffer of at least %zu bytes is needed, got %zd", s->nbytes,
                 view->len);
    PyBuffer_Release(view);
    delete view;
    return nullptr;
  }
  if (copy) copy_bytes(view->buf, s->data, s->nbytes);
  wait_for_flights();
  s->replace(view->buf, s->nbytes, release_buffer, view);
  s->flags = uint8_t(shared ? Storage::kShared : 0);
  Py_RETURN_NONE;
}

// Other Python threads run while much is copied.
void copy_unlocked(void* to, const void* from, size_t bytes) {
  ReleaseGil released(bytes >= 256 << 10);
  copy_bytes(to, from, bytes);
}

// A Python buffer for the time of one call, or until the deleter of a storage releases it.
class Buffer {
 public:
  explicit Buffer(PyObject* object) : view_(new Py_buffer) {
    if (PyObject_GetBuffer(object, view_, PyBUF_SIMPLE) < 0) delete std::exchange(view_, nullptr);
  }
  ~Buffer() {
    if (!view_) return;
    PyBuffer_Release(view_);
    delete view_;
  }
  Buffer(const Buffer&) = delete;
  explicit operator bool() const { return view_; }
  const Py_buffer* operator->() const { return view_; }

 private:
  Py_buffer* view_;
};

PyObject* bytes_of(PyObject*, PyObject* object) {
  Buffer from(object);
  Object made(from ? PyBytes_FromStringAndSize(nullptr, from->len) : nullptr);
  if (made) copy_unlocked(PyBytes_AS_STRING(made.get()), from->buf, size_t(from->len));
  return made.release();
}

// A copy: the bytes may be in other hands, which expect them never to change.
PyObject* restore_storage(PyObject*, PyObject* object) {
  Buffer from(object);
  if (!from) return nullptr;
  TORCH_PY_TRY(nullptr, {
    StorageRef s = StorageRef::steal(Storage::make(size_t(from->len)));
    copy_unlocked(s->data, from->buf, size_t(from->len));
    return wrap_storage(std::move(s));
  })
}

// The object whose memory this is: what was given to _storage_from_buffer or _adopt, or None.
PyObject* storage_owner(PyObject* self, void*) {
  Storage* s = storage_of(self);
  if (s->deleter != release_buffer || !s->context) Py_RETURN_NONE;
  return Py_NewRef(static_cast<Py_buffer*>(s->context)->obj);
}

PyMethodDef methods[] = {
    {"nbytes", storage_nbytes, METH_NOARGS, "Size in bytes."},
    {"size", storage_nbytes, METH_NOARGS, "Size in bytes."},
    {"data_ptr", storage_data_ptr, METH_NOARGS, "Address of the first byte."},
    {"is_shared", storage_is_shared, METH_NOARGS, "True when the memory is shared between processes."},
    {"resizable", storage_resizable, METH_NOARGS, "True when the storage owns its memory and can grow."},
    {"_use_count", storage_use_count, METH_NOARGS, "Tensors and Python objects that hold this storage."},
    {"_adopt", storage_replace, METH_VARARGS,
     "_adopt(buffer, shared=True, copy=True): moves the storage, with its bytes unless they are there already, onto a "
     "writable buffer."},
    {}};
PyGetSetDef getset[] = {
    {"_owner", storage_owner, nullptr, "The object whose memory this is, or None.", nullptr},
    {"_cdata", storage_cdata, nullptr, "Which storage this is: the address of its header.", nullptr},
    {"device", storage_device, nullptr, "Where the memory lies.", nullptr},
    {}};
PyMethodDef functions[] = {
    {"_storage_from_buffer", storage_from_buffer, METH_VARARGS, "A storage over a Python buffer."},
    {"_restore", restore_storage, METH_O, "_restore(buffer)\n--\n\nThe storage that a pickle holds as bytes."},
    {"_bytes", bytes_of, METH_O, "bytes(buffer), where big buffers are copied by several threads."},
    {}};

// --- on Tensor ---

PyObject* tensor_storage(PyObject* self, PyObject*) {
  if (is_hollow(borrow(self))) return refuse_hollow(self, "untyped_storage"), nullptr;
  if (!lies_in_memory(borrow(self)))
    return PyErr_Format(PyExc_NotImplementedError,
                        "untyped_storage: Cannot access storage of a sparse tensor; its _indices() and _values() have "
                        "one each");
  TensorImpl* t = impl_of(self);
  return wrap_storage(StorageRef::share(t->storage));
}
// _tensor_over(storage, dtype, offset, size, stride): checked against the storage's bounds.
PyObject* tensor_over(PyObject*, PyObject* args) {
  PyObject *storage, *dtype, *size, *stride;
  long long offset;
  if (!PyArg_ParseTuple(args, "O!OLO!O!:_tensor_over", storage_type, &storage, &dtype, &offset, &PyTuple_Type, &size,
                        &PyTuple_Type, &stride))
    return nullptr;
  DType t;
  if (!to_dtype(dtype, &t)) return nullptr;
  Py_ssize_t n = PyTuple_GET_SIZE(size);
  std::vector<int64_t> sizes, strides;
  if (PyTuple_GET_SIZE(stride) != n) {
    PyErr_Format(PyExc_RuntimeError, "a tensor has as many strides as sizes, got %zd sizes and %zd strides", n,
                 PyTuple_GET_SIZE(stride));
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(size, i)));
    strides.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(stride, i)));
  }
  if (PyErr_Occurred()) return nullptr;
  Storage* s = storage_of(storage);
  TORCH_PY_TRY(nullptr, {
    checked_numel("tensor over a storage", sizes);
    // 128 bits: hostile sizes and strides must not wrap around.
    __int128 low = offset, high = offset;
    bool empty = false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 0)
        empty = true;
      else
        (strides[i] < 0 ? low : high) += __int128(sizes[i] - 1) * strides[i];
    }
    check_aligned("tensor over a storage", s->data, t);
    // One without elements may begin anywhere, as set_ and PyTorch's files have it: nothing is read there.
    TORCH_CHECK(empty ? offset >= 0 && __int128(offset) * item_size(t) <= std::numeric_limits<int64_t>::max()
                      : low >= 0 && (high + 1) * item_size(t) <= __int128(s->nbytes),
                "a tensor of size ", IntArrayRef(sizes), ", stride ", IntArrayRef(strides), ", offset ", offset,
                " and dtype ", t, " does not fit into a storage of ", s->nbytes, " bytes");
    Tensor r = Tensor(Ref<TensorImpl>::steal(TensorImpl::make()));
    r->set_ndim(int(n));
    std::copy(sizes.begin(), sizes.end(), r->sizes());
    std::copy(strides.begin(), strides.end(), r->strides());
    r->dtype = t;
    r->device = s->device;
    r->keys = Keys(backend_key(s->device.type) | dtype_key(t));
    s->retain();
    r->storage = s;
    r->byte_offset = offset * item_size(t);
    r->refresh_geometry();
    return wrap(std::move(r));
  })
}
// _rebuild_tensor(storage, dtype, offset, size, stride, requires_grad) is what unpicklers call.
PyObject* rebuild_tensor(PyObject* module, PyObject* args) {
  if (PyTuple_GET_SIZE(args) != 6)
    return PyErr_Format(PyExc_TypeError, "_rebuild_tensor() takes 6 arguments, got %zd", PyTuple_GET_SIZE(args));
  int grad = PyObject_IsTrue(PyTuple_GET_ITEM(args, 5));
  Object head(grad < 0 ? nullptr : PyTuple_GetSlice(args, 0, 5));
  PyObject* r = head ? tensor_over(module, head.get()) : nullptr;
  if (r && grad && !set_requires_grad(r, true)) Py_CLEAR(r);
  return r;
}
// _storage_over(address, nbytes, device, owner): foreign memory, of a device, that `owner` keeps.
PyObject* storage_over(PyObject*, PyObject* args) {
  unsigned long long address;
  Py_ssize_t nbytes;
  PyObject *place, *owner;
  if (!PyArg_ParseTuple(args, "KnOO:_storage_over", &address, &nbytes, &place, &owner)) return nullptr;
  Device device;
  if (!to_device(place, &device)) return nullptr;
  TORCH_PY_TRY(nullptr, {
    TORCH_CHECK_VALUE(nbytes >= 0 && (address || !nbytes), "a storage of ", nbytes, " bytes at address ", address);
    const auto let_go = [](Storage* s) noexcept {
      HoldGil gil;
      Py_DECREF(static_cast<PyObject*>(s->context));
    };
    const Device full = full_device(device);
    StorageRef s =
        StorageRef::steal(Storage::adopt(reinterpret_cast<void*>(address), size_t(nbytes), let_go, Py_NewRef(owner)));
    s->device = full;
    return wrap_storage(std::move(s));
  })
}
PyMethodDef tensor_functions[] = {
    {"_storage_over", storage_over, METH_VARARGS, "A storage over memory that another object keeps."},
    {"_rebuild_tensor", rebuild_tensor, METH_VARARGS, "A tensor over a storage, checked against its bounds."},
    {"_tensor_over", tensor_over, METH_VARARGS, "A tensor over a storage."},
    {}};

}  // namespace

PyMethodDef storage_methods[] = {{"untyped_storage", tensor_storage, METH_NOARGS,
                                  "untyped_storage()\n--\n\nThe storage that holds this tensor's elements."},
                                 {}};

bool add_storage(PyObject* module) {
  static PyMemberDef weak_member[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyStorage, weak), 1, nullptr}, {}};
  PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(storage_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(storage_dealloc)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(storage_getbuffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(storage_releasebuffer)},
      {Py_sq_length, reinterpret_cast<void*>(storage_length)},
      {Py_tp_methods, methods},
      {Py_tp_getset, getset},
      {Py_tp_members, weak_member},
      {Py_tp_doc, const_cast<char*>("UntypedStorage(size=0, device=None)\n--\n\nThe bytes under one or more tensors.")},
      {}};
  release_storage_object = release_object;
  PyType_Spec spec = {"torch.UntypedStorage", sizeof(PyStorage), 0, Py_TPFLAGS_DEFAULT, slots};
  storage_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return storage_type && PyModule_AddType(module, storage_type) == 0 && PyModule_AddFunctions(module, functions) == 0 &&
         PyModule_AddFunctions(module, tensor_functions) == 0;
}

}  // namespace torch::python
