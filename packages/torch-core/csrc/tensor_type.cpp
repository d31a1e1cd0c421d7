// torch.Tensor: the hand-written Python type. Arithmetic and conversions to numbers: number_slots.cpp; methods that are
// rows are added by operators.cpp; what is rare is written in Python (torch/_tensor).
#include <Python.h>
#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "dispatch.h"
#include "parser.h"
#include "torch/core/autocast.h"
#include "torch/core/wrapper.h"

namespace torch::python {

namespace {

PyTypeObject* tensor_type;

Py_hash_t tensor_hash(PyObject* self) { return Py_hash_t(reinterpret_cast<uintptr_t>(self)); }  // its id()
Py_ssize_t tensor_length(PyObject* self) {
  TensorImpl* t = impl_of(self);
  if (t->ndim == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return Py_ssize_t(t->sizes()[0]);
}

bool one_dim(PyObject* self, PyObject* arg, int64_t* out) {
  Py_ssize_t d = PyNumber_AsSsize_t(arg, PyExc_IndexError);
  if (d == -1 && PyErr_Occurred()) return false;
  TORCH_PY_TRY(false, {
    int n = impl_of(self)->ndim;
    TORCH_CHECK_INDEX(n > 0, "Dimension specified as ", d, " but tensor has no dimensions");
    *out = wrap_dim(d, n);
    return true;
  })
}
PyObject* dim_argument(PyObject* const* args, Py_ssize_t count, PyObject* kwnames, const char* op, bool* ok) {
  *ok = true;
  if (count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0) == 0) return nullptr;
  if (count <= 1 && (!kwnames || (count == 0 && PyTuple_GET_SIZE(kwnames) == 1 &&
                                  PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "dim") == 0)))
    return args[0] == Py_None ? nullptr : args[0];
  PyErr_Format(PyExc_TypeError, "%s() takes at most one argument, dim", op);
  *ok = false;
  return nullptr;
}
PyObject* tensor_size(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  bool ok;
  PyObject* dim = dim_argument(args, count, kwnames, "size", &ok);
  if (!ok) return nullptr;
  const Tensor& t = borrow(self);
  if (!dim) return wrap_size(t.sizes());
  int64_t d;
  return one_dim(self, dim, &d) ? PyLong_FromLongLong(t->sizes()[d]) : nullptr;
}
PyObject* tuple_of(IntArrayRef v) {
  PyObject* t = PyTuple_New(Py_ssize_t(v.size()));
  for (size_t i = 0; t && i < v.size(); ++i) PyTuple_SET_ITEM(t, Py_ssize_t(i), PyLong_FromLongLong(v[i]));
  return t;
}
PyObject* tensor_stride(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  bool ok;
  PyObject* dim = dim_argument(args, count, kwnames, "stride", &ok);
  if (!ok) return nullptr;
  const Tensor& t = borrow(self);
  if (!dim) return tuple_of(t.strides());
  int64_t d;
  return one_dim(self, dim, &d) ? PyLong_FromLongLong(t->strides()[d]) : nullptr;
}
PyObject* tensor_dim(PyObject* self, PyObject*) { return PyLong_FromLong(impl_of(self)->ndim); }
PyObject* tensor_numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(impl_of(self)->numel); }
PyObject* tensor_element_size(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(item_size(impl_of(self)->dtype));
}
PyObject* tensor_storage_offset(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(borrow(self).storage_offset());
}
PyObject* tensor_data_ptr(PyObject* self, PyObject*) {
  if (is_hollow(borrow(self))) return refuse_hollow(self, "data_ptr"), nullptr;
  if (!lies_in_memory(borrow(self)))
    return PyErr_Format(PyExc_RuntimeError,
                        "data_ptr: Cannot access data pointer of Tensor that doesn't have storage: a sparse tensor has "
                        "_indices() and _values()");
  return PyLong_FromVoidPtr(impl_of(self)->numel ? impl_of(self)->data() : nullptr);
}
PyObject* tensor_is_floating(PyObject* self, PyObject*) { return PyBool_FromLong(is_floating(impl_of(self)->dtype)); }
PyObject* tensor_is_complex(PyObject* self, PyObject*) { return PyBool_FromLong(is_complex(impl_of(self)->dtype)); }
PyObject* tensor_is_signed(PyObject* self, PyObject*) { return PyBool_FromLong(is_signed(impl_of(self)->dtype)); }
PyObject* tensor_is_inference(PyObject* self, PyObject*) {
  return PyBool_FromLong(impl_of(self)->flags & TensorImpl::kInference);
}
// The one argument of a method, a tensor, by place or by name; null with an error set.
PyObject* only_tensor(const char* op, const char* name, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  if (count + named != 1)
    return PyErr_Format(PyExc_TypeError, "%s() takes one argument, '%s', but %zd were given", op, name, count + named);
  if (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), name) != 0)
    return PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'; its argument is '%s'", op,
                        PyTuple_GET_ITEM(kwnames, 0), name);
  if (!is_tensor(args[0]))
    return PyErr_Format(PyExc_TypeError, "%s: expected a Tensor, got %s", op, Py_TYPE(args[0])->tp_name);
  return args[0];
}
PyObject* tensor_is_same_size(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  PyObject* other = only_tensor("is_same_size", "other", args, count, kwnames);
  if (!other) return nullptr;
  return PyBool_FromLong(borrow(self).sizes() == borrow(other).sizes());
}
PyObject* tensor_is_set_to(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  PyObject* other = only_tensor("is_set_to", "tensor", args, count, kwnames);
  if (!other) return nullptr;
  const Tensor &a = borrow(self), &b = borrow(other);
  return PyBool_FromLong(a->storage == b->storage && a->byte_offset == b->byte_offset && a.sizes() == b.sizes() &&
                         a.strides() == b.strides());
}
PyObject* tensor_is_contiguous(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  const Tensor& t = borrow(self);
  MemoryFormat f = MemoryFormat::Contiguous;
  if (count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0) > 1)
    return PyErr_Format(PyExc_TypeError, "is_contiguous() takes at most one argument, memory_format");
  if (count || kwnames)
    if (!to_memory_format(args[0], &f)) return nullptr;
  if (f == MemoryFormat::Contiguous) return PyBool_FromLong(t.is_contiguous());
  if (f == MemoryFormat::Preserve)
    return PyErr_Format(PyExc_RuntimeError, "is_contiguous: preserve_format is no layout to ask for");
  int n = f == MemoryFormat::ChannelsLast ? 4 : 5;
  if (t.dim() != n) Py_RETURN_FALSE;
  int64_t expected = 1;
  auto check = [&](int d) {
    bool ok = t->sizes()[d] == 1 || t->strides()[d] == expected;
    expected *= t->sizes()[d];
    return ok;
  };
  bool ok = check(1);
  for (int d = n - 1; d >= 2; --d) ok = check(d) && ok;
  return PyBool_FromLong((check(0) && ok) || t.numel() == 0);
}
PyObject* tensor_get_device(PyObject* self, PyObject*) {
  return PyLong_FromLong(impl_of(self)->device.type == DeviceType::CPU ? -1 : impl_of(self)->device.index);
}

PyObject* get_shape(PyObject* self, void*) { return wrap_size(borrow(self).sizes()); }
PyObject* get_dtype(PyObject* self, void*) { return wrap_dtype(impl_of(self)->dtype); }
PyObject* get_device(PyObject* self, void*) { return wrap_device(impl_of(self)->device); }
PyObject* get_layout(PyObject* self, void*) { return wrap_layout(layout_of(borrow(self))); }
PyObject* get_is_sparse(PyObject* self, void*) { return PyBool_FromLong(is_sparse(borrow(self))); }
PyObject* get_is_sparse_csr(PyObject* self, void*) {
  return PyBool_FromLong(layout_of(borrow(self)) == Layout::SparseCsr);
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(impl_of(self)->ndim); }
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromLongLong(item_size(impl_of(self)->dtype)); }
PyObject* get_cdata(PyObject* self, void*) { return PyLong_FromVoidPtr(impl_of(self)); }
PyObject* get_nbytes(PyObject* self, void*) {
  if (!lies_in_memory(borrow(self)))
    return PyErr_Format(PyExc_RuntimeError,
                        "nbytes is not defined for sparse tensors; add those of _indices() and _values(), or multiply "
                        "numel() by element_size() for the size of a dense one");
  return PyLong_FromLongLong(item_size(impl_of(self)->dtype) * impl_of(self)->numel);
}
PyObject* get_version(PyObject* self, void*) {
  if (impl_of(self)->flags & TensorImpl::kInference)
    return PyErr_Format(PyExc_RuntimeError, "Inference tensors do not track version counter.");
  return PyLong_FromUnsignedLong(borrow(self).version());
}
PyObject* get_base(PyObject* self, void*) {
  TensorImpl* b = impl_of(self)->base;
  return b ? wrap(Tensor(Ref<TensorImpl>::share(b))) : Py_NewRef(Py_None);
}
PyObject* get_requires_grad(PyObject* self, void*) {
  TORCH_PY_TRY(nullptr, return PyBool_FromLong(detail::keys_in(borrow(self)) & key(DispatchKey::Autograd));)
}
int put_requires_grad(PyObject* self, PyObject* value, void*) {
  int truth = value ? PyObject_IsTrue(value) : -1;
  if (truth < 0) {
    if (!value) PyErr_SetString(PyExc_AttributeError, "requires_grad cannot be deleted");
    return -1;
  }
  return set_requires_grad(self, truth) ? 0 : -1;
}
PyObject* is_device(PyObject* self, void* type) {
  return PyBool_FromLong(int(impl_of(self)->device.type) == int(reinterpret_cast<intptr_t>(type)));
}
PyObject* get_false(PyObject*, void*) { Py_RETURN_FALSE; }
// Of the class of self, as results of operators are; a class that answers operators makes it.
PyObject* get_data(PyObject* self, void*) {
  if (answers_dispatch(Py_TYPE(self))) return PyObject_CallMethod(self, "detach", nullptr);
  TORCH_PY_TRY(nullptr, {
    Tensor alias = alias_of(borrow(self), false);
    if (bring_override(&self, 1) && keeps_class(Py_TYPE(self))) return make_subclass(Py_TYPE(self), std::move(alias));
    return wrap(std::move(alias));
  })
}
// x.data = y: x takes over y's memory and geometry, in place; its identity, graph and Python object stay.
int put_data(PyObject* self, PyObject* value, void*) {
  if (!value || !is_tensor(value)) {
    PyErr_Format(PyExc_TypeError, "data: must be set to a Tensor, not %s", value ? Py_TYPE(value)->tp_name : "deleted");
    return -1;
  }
  TensorImpl* t = impl_of(self);
  Tensor from = unwrap(value);
  constexpr Keys kMemory = key(DispatchKey::CPU) | key(DispatchKey::CUDA) | key(DispatchKey::PrivateUse1) |
                           key(DispatchKey::Stored);  // of any of these devices, of any dtype
  if ((t->keys ^ from->keys) & kBackendKeys & Keys(~kMemory)) {
    PyErr_SetString(PyExc_RuntimeError,
                    "data: the new tensor must be of the same layout, and both or neither on the Meta device");
    return -1;
  }
  wait_for_flights();
  const bool is_moved = t->device.type != from->device.type;
  TORCH_PY_TRY(-1, {
    TORCH_CHECK(is_floating(from.dtype()) || is_complex(from.dtype()) || !borrow(self).requires_grad(),
                "data set to a tensor that requires gradients must be floating point or complex dtype, got ", from);
    t->set_ndim(from->ndim);
    std::memcpy(t->sizes(), from->sizes(), sizeof(int64_t) * from->ndim);
    std::memcpy(t->strides(), from->strides(), sizeof(int64_t) * from->ndim);
    // The version counter stays that of self: a graph that saved self must not be fooled.
    if (!t->own_version) {
      t->own_version = new VersionCounter;
      t->own_version->value = t->storage->version.load();
    }
    from->storage->retain();
    StorageRef::steal(std::exchange(t->storage, from->storage)).reset();
    if (from->payload) from->payload->retain();
    if (Payload* old = std::exchange(t->payload, from->payload)) Ref<Payload>::steal(old).reset();
    t->byte_offset = from->byte_offset;
    t->dtype = from->dtype;
    t->device = from->device;
    t->keys = Keys((t->keys & ~kBackendKeys) | (from->keys & kBackendKeys));
    if (TensorImpl* old = std::exchange(t->base, nullptr)) {
      if (!t->autograd) t->keys &= Keys(~key(DispatchKey::Autograd));  // what it claimed was its base's
      t->flags = uint8_t(t->flags & ~TensorImpl::kNoGradView);
      Tensor(Ref<TensorImpl>::steal(old)).reset();
    }
    t->refresh_geometry();
  })
  // A leaf's gradients are to come from where it is now: torch-autograd looks at it anew.
  if (is_moved && borrow(self).requires_grad() && autocast::is_leaf(t))
    return set_requires_grad(self, false) && set_requires_grad(self, true) ? 0 : -1;
  return 0;
}

PyGetSetDef getset[] = {
    {"shape", get_shape, nullptr, "The sizes of the dimensions, a torch.Size.", nullptr},
    {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
    {"device", get_device, nullptr, "Where the tensor lies.", nullptr},
    {"layout", get_layout, nullptr, "torch.strided, torch.sparse_coo, torch.sparse_csr, ...", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"__dict__", get_dict, put_dict, nullptr, nullptr},
    {"_attributes", get_attributes, nullptr, "__dict__, or None before the first attribute.", nullptr},
    {"_cdata", get_cdata, nullptr, "Which tensor this is: the address of its header.", nullptr},
    {"_version", get_version, nullptr, "Counts in-place changes.", nullptr},
    {"_base", get_base, nullptr, "The tensor that this one is a view of, or None.", nullptr},
    {"requires_grad", get_requires_grad, put_requires_grad, "True when gradients are recorded for this tensor.",
     nullptr},
    {"data", get_data, put_data, "The same memory without graph and with a version counter of its own.", nullptr},
    {"is_cpu", is_device, nullptr, nullptr, reinterpret_cast<void*>(intptr_t(DeviceType::CPU))},
    {"is_cuda", is_device, nullptr, nullptr, reinterpret_cast<void*>(intptr_t(DeviceType::CUDA))},
    {"is_meta", is_device, nullptr, nullptr, reinterpret_cast<void*>(intptr_t(DeviceType::Meta))},
    {"is_sparse", get_is_sparse, nullptr, "True for tensors of layout torch.sparse_coo.", nullptr},
    {"is_sparse_csr", get_is_sparse_csr, nullptr, "True for tensors of layout torch.sparse_csr.", nullptr},
    {"is_quantized", get_false, nullptr, nullptr, nullptr},
    {"is_nested", get_false, nullptr, nullptr, nullptr},
    {"is_mkldnn", get_false, nullptr, nullptr, nullptr},
    {}};

PyObject* make_subclass_method(PyObject* type, PyObject* args) {
  PyObject *data, *cls;
  int requires_grad = 0;
  if (!PyArg_ParseTuple(args, "OO|p:_make_subclass", &cls, &data, &requires_grad)) return nullptr;
  if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), tensor_type) || !is_tensor(data))
    return PyErr_Format(PyExc_TypeError, "_make_subclass: expected a subclass of Tensor and a Tensor, got %R and %s",
                        cls, Py_TYPE(data)->tp_name);
  (void)type;
  TORCH_PY_TRY(nullptr, {
    PyObject* o = make_subclass(reinterpret_cast<PyTypeObject*>(cls), alias_of(borrow(data), true));
    if (o && requires_grad && !set_requires_grad(o, true)) Py_CLEAR(o);
    return o;
  })
}

PyMethodDef methods[] = {
    {"size", TORCH_FASTCALL(tensor_size),
     "size(dim=None)\n--\n\nThe sizes of all dimensions as torch.Size, or of one as int.\n\n"
     ">>> torch.zeros(2, 3).size(), torch.zeros(2, 3).size(1)\n"
     "(torch.Size([2, 3]), 3)"},
    {"stride", TORCH_FASTCALL(tensor_stride),
     "stride(dim=None)\n--\n\nThe strides of all dimensions as a tuple, or of one as int, in elements.\n\n"
     ">>> torch.zeros(2, 3).stride(), torch.zeros(2, 3).stride(0)\n"
     "((3, 1), 3)"},
    {"dim", tensor_dim, METH_NOARGS,
     "dim()\n--\n\nNumber of dimensions.\n\n"
     ">>> torch.zeros(2, 3).dim()\n"
     "2"},
    {"ndimension", tensor_dim, METH_NOARGS,
     "ndimension()\n--\n\nNumber of dimensions.\n\n"
     ">>> torch.zeros(2, 3).ndimension()\n"
     "2"},
    {"numel", tensor_numel, METH_NOARGS,
     "numel()\n--\n\nNumber of elements.\n\n"
     ">>> torch.zeros(2, 3).numel()\n"
     "6"},
    {"nelement", tensor_numel, METH_NOARGS,
     "nelement()\n--\n\nNumber of elements.\n\n"
     ">>> torch.zeros(2, 3).nelement()\n"
     "6"},
    {"element_size", tensor_element_size, METH_NOARGS,
     "element_size()\n--\n\nBytes of one element.\n\n"
     ">>> torch.ones(1, dtype=torch.float64).element_size()\n"
     "8"},
    {"storage_offset", tensor_storage_offset, METH_NOARGS,
     "storage_offset()\n--\n\nElements from the storage's start to the first one.\n\n"
     ">>> torch.arange(6)[2:].storage_offset()\n"
     "2"},
    {"data_ptr", tensor_data_ptr, METH_NOARGS,
     "data_ptr()\n--\n\nAddress of the first element.\n\n"
     ">>> x = torch.ones(2)\n"
     ">>> x.data_ptr() == x.numpy().ctypes.data\n"
     "True"},
    {"is_floating_point", tensor_is_floating, METH_NOARGS,
     "is_floating_point()\n--\n\nTrue for float16, bfloat16, float32 and float64.\n\n"
     ">>> torch.ones(1).is_floating_point()\n"
     "True"},
    {"is_complex", tensor_is_complex, METH_NOARGS, "is_complex()\n--\n\nTrue for complex64 and complex128."},
    {"is_signed", tensor_is_signed, METH_NOARGS,
     "is_signed()\n--\n\nTrue when the dtype holds negative values.\n\n"
     ">>> torch.ones(1).is_signed(), torch.ones(1, dtype=torch.uint8).is_signed()\n"
     "(True, False)"},
    {"is_inference", tensor_is_inference, METH_NOARGS,
     "is_inference()\n--\n\nTrue when the tensor was made inside torch.inference_mode()."},
    {"is_same_size", TORCH_FASTCALL(tensor_is_same_size),
     "is_same_size(other)\n--\n\nTrue when both have the same sizes.\n\n"
     ">>> torch.ones(2).is_same_size(torch.zeros(2))\n"
     "True"},
    {"is_set_to", TORCH_FASTCALL(tensor_is_set_to),
     "is_set_to(tensor)\n--\n\nTrue when both are the same piece of the same storage.\n\n"
     ">>> x = torch.ones(2)\n"
     ">>> x.is_set_to(x), x.is_set_to(torch.ones(2))\n"
     "(True, False)"},
    {"is_shared", tensor_is_shared, METH_NOARGS,
     "is_shared()\n--\n\nTrue when the memory is shared between processes.\n\n>>> torch.ones(1).is_shared()\nFalse"},
    {"is_contiguous", TORCH_FASTCALL(tensor_is_contiguous),
     "is_contiguous(memory_format=torch.contiguous_format)\n--\n\nTrue when the elements lie in memory in row-major "
     "order without gaps.\n\n"
     ">>> torch.zeros(2, 3).is_contiguous(), torch.zeros(2, 3).t().is_contiguous()\n"
     "(True, False)"},
    {"to", TORCH_FASTCALL(to_conversion),
     "to(*args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None)\n--\n\nThe tensor with "
     "another dtype or on another device; itself when nothing changes.\n\n"
     ">>> torch.ones(1).to(torch.int64), torch.ones(1).to(\"meta\").device\n"
     "(tensor([1]), device(type='meta'))"},
    {"get_device", tensor_get_device, METH_NOARGS,
     "get_device()\n--\n\nIndex of the device, -1 on the CPU.\n\n"
     ">>> torch.ones(1).get_device()\n"
     "-1"},
    {"__complex__", tensor_complex, METH_NOARGS, nullptr},
    {"_make_subclass", make_subclass_method, METH_VARARGS | METH_STATIC,
     "A tensor of a subclass over the data of another."},
    {}};

bool add_methods(PyMethodDef* defs) {
  for (; defs->ml_name; ++defs) {
    PyObject* d = defs->ml_flags & METH_STATIC ? PyStaticMethod_New(Object(PyCFunction_New(defs, nullptr)).get())
                                               : PyDescr_NewMethod(tensor_type, defs);
    Object descriptor(d);
    if (!d || PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), defs->ml_name, d) < 0) return false;
  }
  return true;
}

Api api_table;

}  // namespace

// The setter that torch.autograd installs on the type; before that, importing it is what this does.
bool set_requires_grad(PyObject* tensor, bool value) {
  if (!value && !borrow(tensor).requires_grad()) return true;
  Object part(PyImport_ImportModule("torch.autograd"));
  if (!part) return false;
  Object hook(PyObject_GetAttrString(part.get(), "_set_requires_grad"));
  if (!hook) return false;
  Object done(PyObject_CallFunctionObjArgs(hook.get(), tensor, value ? Py_True : Py_False, nullptr));
  return bool(done);
}

PyObject* in_pinned_memory(PyObject* tensor) {
  Object pageable(tensor);
  return PyObject_CallMethod(tensor, "pin_memory", nullptr);
}

bool add_tensor_type(PyObject* module) {
  static PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
                                  {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak), READONLY, nullptr},
                                  {}};
#define SLOT(slot, f) {slot, reinterpret_cast<void*>(f)}
  std::vector<PyType_Slot> slots = {
      SLOT(Py_tp_new, tensor_new),
      SLOT(Py_tp_dealloc, tensor_dealloc),
      SLOT(Py_tp_traverse, tensor_traverse),
      SLOT(Py_tp_clear, tensor_clear),
      SLOT(Py_tp_setattro, tensor_setattro),
      SLOT(Py_tp_hash, tensor_hash),
      {Py_tp_members, members},
      {Py_tp_methods, methods},
      {Py_tp_getset, getset},
      SLOT(Py_mp_length, tensor_length),
      SLOT(Py_sq_length, tensor_length),
      SLOT(Py_mp_subscript, tensor_subscript),
      SLOT(Py_mp_ass_subscript, tensor_ass_subscript),
      SLOT(Py_sq_item, tensor_item),
      SLOT(Py_bf_getbuffer, tensor_getbuffer),
      SLOT(Py_bf_releasebuffer, tensor_releasebuffer),
      {Py_tp_doc,
       const_cast<char*>("An array of numbers of one dtype on one device.\n\n>>> x = torch.tensor([[1.0, 2.0], [3.0, "
                         "4.0]])\n>>> x.shape, x.dtype, x.device\n(torch.Size([2, 2]), torch.float32, "
                         "device(type='cpu'))\n>>> x @ x + 1\ntensor([[ 8., 11.],\n        [16., 23.]])")}};
#undef SLOT
  for (const PyType_Slot& slot : number_slots()) slots.push_back(slot);
  slots.push_back({});
  PyType_Spec spec = {"torch.Tensor", sizeof(PyTensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!tensor_type || !name_special_methods(tensor_type) || PyModule_AddType(module, tensor_type) < 0) return false;
  api_table = {TORCH_CORE_INTERFACE, TORCH_CORE_FEATURES, tensor_type, wrap,     raise,     call_row,  wrap_dtype,
               wrap_device,          wrap_size,           wrap_scalar, to_dtype, to_device, to_scalar, make_subclass};
  api = &api_table;
  install_life();
  if (!add_methods(number_methods) || !add_methods(storage_methods) || !add_methods(buffer_methods)) return false;
  Object capsule(PyCapsule_New(&api_table, "torch._C._api", nullptr));
  return capsule && PyModule_AddObjectRef(module, "_api", capsule.get()) == 0;
}

}  // namespace torch::python
