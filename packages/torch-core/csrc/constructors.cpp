// torch.tensor, torch.as_tensor, torch.asarray and the legacy constructor torch.Tensor(...).
#include <cstring>
#include <string>

#include "dispatch.h"
#include "dispatch/non_blocking.h"
#include "python.h"
#include "torch/core/ops/copy.h"

namespace torch::python {

Tensor tensor_of_data(PyObject* data, std::optional<DType> dtype, Device device);
Tensor tensor_of_buffer(PyObject* object, const char* op, bool kept);

namespace {

// A copy of `t` with the wanted dtype and device; without `copy`, `t` itself where nothing changes.
Tensor converted(const Tensor& t, std::optional<DType> dtype, std::optional<Device> device, bool copy) {
  if (!copy && (!dtype || *dtype == t.dtype()) && (!device || *device == t.device())) return t;
  ReleaseGil gil(t.numel() >= kReleaseNumel);
  return _to_copy(t, dtype, device);
}

bool has_buffer(PyObject* o) {
  return PyObject_CheckBuffer(o) && !PyBytes_Check(o) && !PyByteArray_Check(o) && !is_tensor(o) && !is_number(o);
}

// The array that an object of another library gives of its numbers, such as a column of a table; null where it gives
// none, or one of objects.
Object array_of(PyObject* data) {
  if (!PyObject_HasAttrString(data, "__array__") || PyType_Check(data)) return Object();
  Object array(PyObject_CallMethod(data, "__array__", nullptr));
  if (!array) throw PythonError();
  Object dtype(PyObject_GetAttrString(array.get(), "dtype"));
  Object objects(dtype ? PyObject_GetAttrString(dtype.get(), "hasobject") : nullptr);
  PyErr_Clear();
  return objects && objects.get() == Py_False && has_buffer(array.get()) ? std::move(array) : Object();
}

bool is_writable(PyObject* array) {
  Object flags(PyObject_GetAttrString(array, "flags"));
  Object writable(flags ? PyObject_GetAttrString(flags.get(), "writeable") : nullptr);
  PyErr_Clear();
  return writable && writable.get() == Py_True;
}

// Data of any kind: a tensor, an array, a number, nested sequences. `shares` says whether memory may be shared.
Tensor from_any(PyObject* data, std::optional<DType> dtype, std::optional<Device> device, bool copy, const char* op) {
  if (is_tensor(data)) return converted(borrow(data), dtype, device, copy);
  if (has_buffer(data)) {
    Tensor t = tensor_of_buffer(data, op, !copy);
    return converted(t, dtype, device, copy);
  }
  if (!PyList_Check(data) && !PyTuple_Check(data) && !is_number(data)) {
    if (PyObject_HasAttrString(data, "__dlpack__") || PyCapsule_CheckExact(data)) {
      Object module(PyImport_ImportModule("torch._C"));
      Object t(module ? PyObject_CallMethod(module.get(), "from_dlpack", "O", data) : nullptr);
      if (!t) throw PythonError();
      return converted(borrow(t.get()), dtype, device, copy);
    }
    if (PyObject_HasAttrString(data, "__cuda_array_interface__")) {
      Object module(PyImport_ImportModule("torch._cuda_array"));
      Object t(module ? PyObject_CallMethod(module.get(), "tensor_over", "O", data) : nullptr);
      if (!t) throw PythonError();
      return converted(borrow(t.get()), dtype, device, copy);
    }
    if (Object array = array_of(data)) {
      copy |= !is_writable(array.get());  // tables give views of their columns that are not to be written
      return converted(tensor_of_buffer(array.get(), op, !copy), dtype, device, copy);
    }
  }
  if (device && device->type != DeviceType::CPU && device->type != DeviceType::Meta)
    return converted(tensor_of_data(data, dtype, {}), dtype, device, false);
  return tensor_of_data(data, dtype, device.value_or(Device()));
}

// The memory of `data` as a tensor, never a copy of it. ValueError where it has none to share, or a conversion is
// asked.
Tensor from_shared(PyObject* data, std::optional<DType> dtype, std::optional<Device> device) {
  const bool shares = is_tensor(data) || has_buffer(data) || PyCapsule_CheckExact(data) ||
                      (!is_number(data) && !PyList_Check(data) && !PyTuple_Check(data) &&
                       (PyObject_HasAttrString(data, "__dlpack__") || PyObject_HasAttrString(data, "__array__") ||
                        PyObject_HasAttrString(data, "__cuda_array_interface__")));
  TORCH_CHECK_VALUE(shares, "asarray: the numbers of a ", Py_TYPE(data)->tp_name,
                    " have no memory to share, and copy=False forbids a copy");
  const Tensor t = from_any(data, {}, {}, false, "asarray"), r = converted(t, dtype, device, false);
  TORCH_CHECK_VALUE(r->storage == t->storage, "asarray: cannot convert ", t.dtype(), " on ", t.device(), " to ",
                    r.dtype(), " on ", r.device(), " without a copy, and copy=False forbids one");
  return r;
}

struct Target {
  std::optional<DType> dtype;
  std::optional<Device> device;
};
bool target_of(PyObject* dtype, PyObject* device, Target* t) {
  if (dtype && dtype != Py_None) {
    DType d;
    if (!to_dtype(dtype, &d)) return false;
    t->dtype = d;
  }
  if (device && device != Py_None) {
    Device d;
    if (!to_device(device, &d)) return false;
    t->device = d;
  } else if (Device d; have_default_device && default_device(&d)) {
    t->device = d;
  }
  return true;
}

// A tensor made of `data`, which modes see unless it was one before.
PyObject* wrap_made(Tensor t, PyObject* data) {
  PyObject* o = wrap(std::move(t));
  return is_tensor(data) ? o : lifted(o);
}

PyObject* tensor_function(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  if (TORCH_UNLIKELY(asks_python(0))) {
    Object function(PyObject_GetAttrString(module, "tensor"));
    if (!function) return nullptr;
    TORCH_ASK_PYTHON(function.get(), nullptr, args, count, kwnames);
  }
  PyObject *data = count ? args[0] : nullptr, *dtype = nullptr, *device = nullptr;
  bool requires_grad = false, pin_memory = false;
  if (count > 1) return PyErr_Format(PyExc_TypeError, "tensor() takes 1 positional argument but %zd were given", count);
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i) {
    PyObject *name = PyTuple_GET_ITEM(kwnames, i), *value = args[count + i];
    auto is = [&](const char* s) { return PyUnicode_CompareWithASCIIString(name, s) == 0; };
    if (is("dtype"))
      dtype = value;
    else if (is("device"))
      device = value;
    else if (is("data") && !data)
      data = value;
    else if (is("requires_grad") || is("pin_memory")) {
      int truth = PyObject_IsTrue(value);
      if (truth < 0) return nullptr;
      (is("requires_grad") ? requires_grad : pin_memory) = truth;
    } else if (is("names") && value != Py_None) {
      return PyErr_Format(PyExc_NotImplementedError, "tensor(): dims have no names in this stack; leave names= away");
    } else if (!is("layout") && !is("names")) {
      Object spelling(PyImport_ImportModule("torch._spelling"));
      Object hint(spelling ? PyObject_CallMethod(spelling.get(), "hint", "O(sssss)", name, "data", "dtype", "device",
                                                 "requires_grad", "pin_memory")
                           : nullptr);
      if (!hint) return nullptr;
      return PyErr_Format(PyExc_TypeError, "tensor() got an unexpected keyword argument '%U'%U", name, hint.get());
    }
  }
  if (!data) return PyErr_Format(PyExc_TypeError, "tensor() missing 1 required positional arguments: \"data\"");
  Target t;
  if (!target_of(dtype, device, &t)) return nullptr;
  if (is_tensor(data) &&
      PyErr_WarnEx(PyExc_UserWarning,
                   "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                   "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
                   1) < 0)
    return nullptr;
  TORCH_PY_TRY(nullptr, {
    Tensor r = is_tensor(data) ? converted(alias_of(borrow(data), true), t.dtype, t.device, true)
                               : from_any(data, t.dtype, t.device, true, "tensor");
    PyObject* o = wrap_made(std::move(r), data);
    if (o && pin_memory) o = in_pinned_memory(o);
    if (o && requires_grad && !set_requires_grad(o, true)) Py_CLEAR(o);
    return o;
  })
}

PyObject* as_tensor_function(PyObject* module, PyObject* args, PyObject* kwargs) {
  if (TORCH_UNLIKELY(asks_python(0))) {
    Object function(PyObject_GetAttrString(module, "as_tensor"));
    if (!function) return nullptr;
    TORCH_ASK_PYTHON(function.get(), args, kwargs);
  }
  static const char* names[] = {"data", "dtype", "device", nullptr};
  PyObject *data, *dtype = nullptr, *device = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:as_tensor", const_cast<char**>(names), &data, &dtype, &device))
    return nullptr;
  Target t;
  if (!target_of(dtype, device, &t)) return nullptr;
  TORCH_PY_TRY(nullptr, return wrap_made(from_any(data, t.dtype, t.device, false, "as_tensor"), data);)
}

PyObject* asarray_function(PyObject* module, PyObject* args, PyObject* kwargs) {
  if (TORCH_UNLIKELY(asks_python(0))) {
    Object function(PyObject_GetAttrString(module, "asarray"));
    if (!function) return nullptr;
    TORCH_ASK_PYTHON(function.get(), args, kwargs);
  }
  static const char* names[] = {"obj", "dtype", "device", "copy", "requires_grad", nullptr};
  PyObject *data, *dtype = nullptr, *device = nullptr, *copy = Py_None;
  int requires_grad = -1;  // not given: as the object has it
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOOp:asarray", const_cast<char**>(names), &data, &dtype, &device,
                                   &copy, &requires_grad))
    return nullptr;
  Target t;
  if (!target_of(dtype, device, &t)) return nullptr;
  TORCH_PY_TRY(nullptr, {
    Tensor r = copy == Py_False ? from_shared(data, t.dtype, t.device)
                                : from_any(data, t.dtype, t.device, copy == Py_True, "asarray");
    if (requires_grad == 0 && r.requires_grad()) r = alias_of(r, true);
    const bool has_history = r.requires_grad();
    PyObject* o = wrap_made(std::move(r), data);
    if (o && requires_grad == 1 && !has_history && !set_requires_grad(o, true)) Py_CLEAR(o);
    return o;
  })
}

PyMethodDef functions[] = {
    {"tensor", TORCH_FASTCALL(tensor_function),
     "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)\n--\n\nA new tensor with a copy "
     "of numbers, nested sequences or an array.\n\n"
     ">>> torch.tensor([[1, 2], [3, 4]]), torch.tensor(2.5)\n"
     "(tensor([[1, 2],\n"
     "        [3, 4]]), tensor(2.5000))"},
    {"as_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(as_tensor_function)),
     METH_VARARGS | METH_KEYWORDS,
     "as_tensor(data, dtype=None, device=None)\n--\n\nThe data as a tensor, sharing memory and graph where it can.\n\n"
     ">>> torch.as_tensor([1.0, 2.0])\n"
     "tensor([1., 2.])"},
    {"asarray", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(asarray_function)), METH_VARARGS | METH_KEYWORDS,
     "asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None)\n--\n\nThe object as a tensor, sharing "
     "memory where it can, and its history unless ``requires_grad`` is False."},
    {}};

}  // namespace

// The constructor of 2016: torch.Tensor() empty, torch.Tensor(2, 3) uninitialised, torch.Tensor([1, 2]) from data,
// torch.Tensor(tensor) an alias, torch.Tensor(storage) over its memory. The one thing may be named: data=, other=,
// storage=, size=.

namespace {

struct Legacy {
  PyTypeObject* type;
  DType dtype;
  bool says_dtype;  // torch.DoubleTensor, x.new(): other tensors and storages must have it
  Device device;
};

void check_says(const Legacy& l, DType given) {
  TORCH_CHECK_TYPE(!l.says_dtype || given == l.dtype, "expected ", l.dtype, " (got ", given, "); use .to(", l.dtype,
                   ") to convert");
}

PyObject* legacy_of_sizes(const Legacy& l, PyObject* items) {
  std::vector<int64_t> sizes;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i) {
    Object item(Py_NewRef(PySequence_Fast_GET_ITEM(items, i)));
    Object index(PyFloat_Check(item.get()) || PyBool_Check(item.get()) ? nullptr : PyNumber_Index(item.get()));
    if (!index) {
      if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
      PyErr_Clear();
      return PyErr_Format(PyExc_TypeError,
                          "new() received an invalid combination of arguments - expected sizes as ints, a sequence "
                          "or a Tensor, got %s at position %zd",
                          Py_TYPE(item.get())->tp_name, i + 1);
    }
    sizes.push_back(PyLong_AsLongLong(index.get()));
    if (PyErr_Occurred()) return nullptr;
  }
  checked_numel("new", sizes);
  if (has_dispatch_mode() && l.type == api->tensor_type) {  // a mode sees torch.empty
    Object module(PyImport_ImportModule("torch._dispatch"));
    Object size(wrap_size(sizes)), dtype(wrap_dtype(l.dtype)), device(wrap_device(l.device));
    return module ? PyObject_CallMethod(module.get(), "empty", "OOO", size.get(), dtype.get(), device.get()) : nullptr;
  }
  return make_subclass(l.type, empty_tensor(sizes, l.dtype, l.device));
}

PyObject* legacy_of_tensor(const Legacy& l, const Tensor& from) {
  check_says(l, from.dtype());
  return make_subclass(l.type, alias_of(from, true));
}

PyObject* legacy_of_storage(const Legacy& l, PyObject* storage) {
  Object module(PyImport_ImportModule("torch._compat.classes"));
  Object dtype(wrap_dtype(l.dtype));
  Object t(module ? PyObject_CallMethod(module.get(), "over", "OO", storage, dtype.get()) : nullptr);
  return t ? make_subclass(l.type, unwrap(t.get())) : nullptr;
}

PyObject* legacy_of_data(const Legacy& l, PyObject* data) {
  if (PyUnicode_Check(data) || PyBytes_Check(data))
    return PyErr_Format(PyExc_TypeError, "new(): invalid data type '%s'", Py_TYPE(data)->tp_name);
  if (!has_buffer(data) && !PySequence_Check(data))
    return PyErr_Format(PyExc_TypeError, "new(): data must be a sequence (got %s)", Py_TYPE(data)->tp_name);
  if (has_dispatch_mode() && l.type == api->tensor_type) {  // a mode sees torch.tensor
    Object module(PyImport_ImportModule("torch._dispatch"));
    Object dtype(wrap_dtype(l.dtype)), device(wrap_device(l.device));
    return module ? PyObject_CallMethod(module.get(), "tensor", "OOO", data, dtype.get(), device.get()) : nullptr;
  }
  return lifted(make_subclass(l.type, from_any(data, l.dtype, l.device, true, "Tensor")));
}

bool is_storage(PyObject* o) { return !PyType_Check(o) && PyObject_HasAttrString(o, "untyped"); }

PyObject* legacy_of_one(const Legacy& l, PyObject* a) {
  if (is_tensor(a)) return legacy_of_tensor(l, borrow(a));
  if (is_size(a)) return legacy_of_sizes(l, a);
  if (!has_buffer(a) && PyIndex_Check(a) && !PyBool_Check(a)) {
    Object sizes(PyTuple_Pack(1, a));
    return sizes ? legacy_of_sizes(l, sizes.get()) : nullptr;
  }
  return is_storage(a) ? legacy_of_storage(l, a) : legacy_of_data(l, a);
}

PyObject* legacy_of_named(const Legacy& l, PyObject* name, PyObject* value) {
  const auto is = [&](const char* word) { return PyUnicode_CompareWithASCIIString(name, word) == 0; };
  const auto refuse = [&](const char* wanted) {
    return PyErr_Format(PyExc_TypeError, "new(): argument '%U' must be %s, not %s", name, wanted,
                        Py_TYPE(value)->tp_name);
  };
  if (is("data")) return legacy_of_one(l, value);
  if (is("size"))
    return PyTuple_Check(value) || PyList_Check(value) ? legacy_of_sizes(l, value) : refuse("tuple of ints");
  if (is("other")) return is_tensor(value) ? legacy_of_tensor(l, borrow(value)) : refuse("Tensor");
  if (is("storage")) return is_storage(value) ? legacy_of_storage(l, value) : refuse("a storage");
  return PyErr_Format(PyExc_TypeError,
                      "new() got an unexpected keyword argument '%U'; use torch.tensor(data, dtype=...)", name);
}

PyObject* legacy_new(Legacy l, PyObject* args, PyObject* kwargs) {
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  PyObject *key, *value, *name = nullptr, *named = nullptr;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);) {
    if (PyUnicode_CompareWithASCIIString(key, "device") == 0) {
      if (n == 1 && is_tensor(PyTuple_GET_ITEM(args, 0)))
        return PyErr_Format(PyExc_RuntimeError,
                            "new(): a tensor is not made from a tensor with device=; use tensor.to(device)");
      Device d = l.device;
      if (value != Py_None && !to_device(value, &d)) return nullptr;
      if (d.type != l.device.type)
        return PyErr_Format(PyExc_RuntimeError,
                            "legacy constructor expects device type: %s but device type: %s was passed; use "
                            "torch.empty(..., device=...)",
                            to_string(Device(l.device.type)).c_str(), to_string(Device(d.type)).c_str());
      l.device = d;
    } else if (n || named) {
      return PyErr_Format(PyExc_TypeError, "new() takes '%U' by name only when nothing else is given", key);
    } else {
      name = key;
      named = value;
    }
  }
  TORCH_PY_TRY(nullptr, {
    if (named) return legacy_of_named(l, name, named);
    if (n == 1) return legacy_of_one(l, PyTuple_GET_ITEM(args, 0));
    if (n) return legacy_of_sizes(l, args);
    return make_subclass(l.type, empty_tensor({0}, l.dtype, l.device));
  })
}

// _legacy_new(dtype, device, args, kwargs): torch.FloatTensor(...) and x.new(...).
PyObject* legacy_function(PyObject*, PyObject* args) {
  PyObject *dtype, *device, *rest, *named;
  Legacy l{api->tensor_type, DType::Float32, true, {}};
  if (!PyArg_ParseTuple(args, "OOO!O!:_legacy_new", &dtype, &device, &PyTuple_Type, &rest, &PyDict_Type, &named) ||
      !to_dtype(dtype, &l.dtype) || !to_device(device, &l.device))
    return nullptr;
  return legacy_new(l, rest, named);
}
// Where torch.Tensor(...) makes tensors; torch.set_default_tensor_type() says it.
Device legacy_device;
PyObject* set_legacy_device(PyObject*, PyObject* device) {
  if (!to_device(device, &legacy_device)) return nullptr;
  Py_RETURN_NONE;
}
PyMethodDef legacy_functions[] = {
    {"_legacy_new", legacy_function, METH_VARARGS, "The legacy constructor with a dtype."},
    {"_set_legacy_device", set_legacy_device, METH_O, "Where torch.Tensor(...) makes tensors."},
    {}};
}  // namespace

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return legacy_new({type, default_dtype(), false, legacy_device}, args, kwargs);
}

// t.to(dtype), t.to(device, dtype), t.to(other), each with non_blocking, copy and memory_format.
PyObject* to_conversion(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  if (TORCH_UNLIKELY(asks_python(impl_of(self)->keys))) TORCH_ASK_PYTHON("to", self, args, count, kwnames);
  const Tensor& t = borrow(self);
  std::optional<DType> dtype;
  std::optional<Device> device;
  std::optional<MemoryFormat> format;
  bool copy = false, non_blocking = false;
  int flags = 0;  // positional bools: non_blocking, copy
  auto take = [&](PyObject* a) -> bool {
    if (a == Py_None) return true;
    if (is_dtype(a) || PyType_Check(a)) {
      DType d;
      if (!to_dtype(a, &d)) return false;
      dtype = d;
    } else if (is_tensor(a)) {
      dtype = impl_of(a)->dtype;
      device = impl_of(a)->device;
    } else if (PyBool_Check(a)) {
      (flags++ ? copy : non_blocking) = a == Py_True;
    } else if (is_memory_format(a)) {
      MemoryFormat f;
      if (!to_memory_format(a, &f)) return false;
      format = f;
    } else if (is_device_like(a)) {
      Device d;
      if (!to_device(a, &d)) return false;
      device = d;
    } else {
      PyErr_Format(PyExc_TypeError,
                   "to() received an invalid argument of type %s; expected a torch.dtype, a torch.device, a str such "
                   "as 'cpu', or a Tensor",
                   Py_TYPE(a)->tp_name);
      return false;
    }
    return true;
  };
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!take(args[i])) return nullptr;
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i) {
    PyObject *name = PyTuple_GET_ITEM(kwnames, i), *value = args[count + i];
    auto is = [&](const char* s) { return PyUnicode_CompareWithASCIIString(name, s) == 0; };
    if (is("copy") || is("non_blocking")) {
      int truth = PyObject_IsTrue(value);
      if (truth < 0) return nullptr;
      (is("copy") ? copy : non_blocking) = truth;
    } else if (is("dtype") || is("device") || is("other") || is("memory_format")) {
      if (!take(value)) return nullptr;
    } else {
      return PyErr_Format(PyExc_TypeError, "to() got an unexpected keyword argument '%U'", name);
    }
  }
  TORCH_PY_TRY(nullptr, {
    bool formatted = format && *format != MemoryFormat::Preserve;
    if (!copy && !formatted && (!dtype || *dtype == t.dtype()) && (!device || *device == t.device()))
      return Py_NewRef(self);
    const NonBlocking leave(non_blocking);
    Tensor r = converted(t, dtype, device, copy || !formatted);
    if (formatted) r = contiguous(r, *format);
    // What lies both ways, by sizes of one, gets the strides that were asked for: results follow them.
    if (formatted && *format != MemoryFormat::Contiguous && r.numel() &&
        (r.stride(1) != 1 || r.stride(-1) != r.size(1)))
      r = clone(r, *format);
    return wrap(std::move(r));
  })
}

bool add_constructors(PyObject* module) {
  return PyModule_AddFunctions(module, functions) == 0 && PyModule_AddFunctions(module, legacy_functions) == 0;
}

}  // namespace torch::python
