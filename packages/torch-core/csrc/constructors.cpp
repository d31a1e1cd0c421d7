// torch.tensor, torch.as_tensor, torch.asarray and the legacy constructor torch.Tensor(...).
#include <cstring>
#include <string>

#include "python.h"
#include "torch/core/ops/copy.h"

namespace torch::python {

Tensor tensor_of_data(PyObject* data, std::optional<DType> dtype, Device device);
Tensor tensor_of_buffer(PyObject* object, const char* op);

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

// Data of any kind: a tensor, an array, a number, nested sequences. `shares` says whether memory may be shared.
Tensor from_any(PyObject* data, std::optional<DType> dtype, std::optional<Device> device, bool copy, const char* op) {
  if (is_tensor(data)) return converted(borrow(data), dtype, device, copy);
  if (has_buffer(data)) {
    Tensor t = tensor_of_buffer(data, op);
    return converted(t, dtype, device, copy);
  }
  if (!PyList_Check(data) && !PyTuple_Check(data) && PyObject_HasAttrString(data, "__dlpack__")) {
    Object module(PyImport_ImportModule("torch._C"));
    Object t(module ? PyObject_CallMethod(module.get(), "from_dlpack", "O", data) : nullptr);
    if (!t) throw PythonError();
    return converted(borrow(t.get()), dtype, device, copy);
  }
  if (device && device->type == DeviceType::CUDA)
    return converted(tensor_of_data(data, dtype, {}), dtype, device, false);
  return tensor_of_data(data, dtype, device.value_or(Device()));
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
  }
  return true;
}

PyObject* tensor_function(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  PyObject *data = count ? args[0] : nullptr, *dtype = nullptr, *device = nullptr;
  bool requires_grad = false;
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
      if (is("requires_grad"))
        requires_grad = truth;
      else if (truth)
        return PyErr_Format(
            PyExc_RuntimeError,
            "pin_memory: pinned memory needs the distribution 'torch-core-cuda', which is not installed");
    } else if (!is("layout") && !is("names")) {
      return PyErr_Format(PyExc_TypeError, "tensor() got an unexpected keyword argument '%U'", name);
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
    PyObject* o = wrap(std::move(r));
    if (o && requires_grad && !set_requires_grad(o, true)) Py_CLEAR(o);
    return o;
  })
}

PyObject* as_tensor_function(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"data", "dtype", "device", nullptr};
  PyObject *data, *dtype = nullptr, *device = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:as_tensor", const_cast<char**>(names), &data, &dtype, &device))
    return nullptr;
  Target t;
  if (!target_of(dtype, device, &t)) return nullptr;
  TORCH_PY_TRY(nullptr, return wrap(from_any(data, t.dtype, t.device, false, "as_tensor"));)
}

PyObject* asarray_function(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"obj", "dtype", "device", "copy", "requires_grad", nullptr};
  PyObject *data, *dtype = nullptr, *device = nullptr, *copy = Py_None;
  int requires_grad = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOOp:asarray", const_cast<char**>(names), &data, &dtype, &device,
                                   &copy, &requires_grad))
    return nullptr;
  Target t;
  if (!target_of(dtype, device, &t)) return nullptr;
  TORCH_PY_TRY(nullptr, {
    Tensor r = from_any(data, t.dtype, t.device, copy == Py_True, "asarray");
    if (copy == Py_False && is_tensor(data))
      TORCH_CHECK_VALUE(r->storage == borrow(data)->storage,
                        "asarray: cannot convert without a copy, and copy=False forbids one");
    PyObject* o = wrap(std::move(r));
    if (o && requires_grad && !set_requires_grad(o, true)) Py_CLEAR(o);
    return o;
  })
}

PyMethodDef functions[] = {
    {"tensor", TORCH_FASTCALL(tensor_function),
     "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)\n--\n\nA new tensor with a copy "
     "of numbers, nested sequences or an array."},
    {"as_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(as_tensor_function)),
     METH_VARARGS | METH_KEYWORDS,
     "as_tensor(data, dtype=None, device=None)\n--\n\nThe data as a tensor, sharing memory and graph where it can."},
    {"asarray", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(asarray_function)), METH_VARARGS | METH_KEYWORDS,
     "asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False)\n--\n\nThe object as a tensor, sharing "
     "memory where it can."},
    {}};

}  // namespace

// The constructor of 2016: torch.Tensor() empty, torch.Tensor(2, 3) uninitialised, torch.Tensor([1, 2]) from data,
// torch.Tensor(tensor) an alias. `dtype` is that of the class (torch.DoubleTensor), null for the default.
PyObject* legacy_new(PyTypeObject* type, PyObject* args, std::optional<DType> dtype) {
  DType t = dtype.value_or(default_dtype());
  Py_ssize_t n = PyTuple_GET_SIZE(args);
  TORCH_PY_TRY(nullptr, {
    if (n == 1) {
      PyObject* a = PyTuple_GET_ITEM(args, 0);
      if (is_tensor(a)) {
        const Tensor& from = borrow(a);
        if (dtype)
          TORCH_CHECK_TYPE(from.dtype() == t, "expected ", t, " (got ", from.dtype(), "); use .to(", t, ") to convert");
        return make_subclass(type, alias_of(from, true));
      }
      if (PyList_Check(a) ||
          (PyTuple_Check(a) && Py_TYPE(a) == &PyTuple_Type && PyTuple_GET_SIZE(a) &&
           !PyLong_Check(PyTuple_GET_ITEM(a, 0))) ||
          has_buffer(a))
        return make_subclass(type, from_any(a, t, std::nullopt, true, "Tensor"));
      if (PyTuple_Check(a)) {
        if (Py_TYPE(a) == &PyTuple_Type) return make_subclass(type, from_any(a, t, std::nullopt, true, "Tensor"));
        args = a;  // torch.Size
        n = PyTuple_GET_SIZE(a);
      } else if (!PyIndex_Check(a)) {
        return PyErr_Format(PyExc_TypeError, "new(): data must be a sequence (got %s)", Py_TYPE(a)->tp_name);
      }
    }
    std::vector<int64_t> sizes;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = PyTuple_GET_ITEM(args, i);
      Object index(PyFloat_Check(item) ? nullptr : PyNumber_Index(item));
      if (!index) {
        PyErr_Clear();
        return PyErr_Format(PyExc_TypeError,
                            "new() received an invalid combination of arguments - expected sizes as ints, a sequence "
                            "or a Tensor, got %s at position %zd",
                            Py_TYPE(item)->tp_name, i + 1);
      }
      sizes.push_back(PyLong_AsLongLong(index.get()));
      if (PyErr_Occurred()) return nullptr;
    }
    if (n == 0) sizes.push_back(0);
    checked_numel("new", sizes);
    return make_subclass(type, empty_tensor(sizes, t));
  })
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (kwargs && PyDict_GET_SIZE(kwargs)) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    PyObject* data = nullptr;
    while (PyDict_Next(kwargs, &at, &key, &value)) {
      if (PyUnicode_CompareWithASCIIString(key, "data") == 0)
        data = value;
      else if (PyUnicode_CompareWithASCIIString(key, "device") != 0)
        return PyErr_Format(PyExc_TypeError,
                            "Tensor() got an unexpected keyword argument '%U'; use torch.tensor(data, dtype=...)", key);
    }
    if (data) {
      Object one(PyTuple_Pack(1, data));
      return one ? legacy_new(type, one.get(), std::nullopt) : nullptr;
    }
  }
  return legacy_new(type, args, std::nullopt);
}

namespace {
// _legacy_new(dtype, args): what torch.FloatTensor(...) calls.
PyObject* legacy_function(PyObject*, PyObject* args) {
  PyObject *dtype, *rest;
  DType t;
  if (!PyArg_ParseTuple(args, "OO!:_legacy_new", &dtype, &PyTuple_Type, &rest) || !to_dtype(dtype, &t)) return nullptr;
  return legacy_new(api->tensor_type, rest, t);
}
PyMethodDef legacy_functions[] = {
    {"_legacy_new", legacy_function, METH_VARARGS, "The legacy constructor with a dtype."}, {}};
}  // namespace

// t.to(dtype), t.to(device, dtype), t.to(other), each with non_blocking, copy and memory_format.
PyObject* to_conversion(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  const Tensor& t = borrow(self);
  std::optional<DType> dtype;
  std::optional<Device> device;
  std::optional<MemoryFormat> format;
  bool copy = false;
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
      if (flags++) copy = a == Py_True;
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
    if (is("copy")) {
      int truth = PyObject_IsTrue(value);
      if (truth < 0) return nullptr;
      copy = truth;
    } else if (is("non_blocking"))
      continue;
    else if (is("dtype") || is("device") || is("other") || is("memory_format")) {
      if (!take(value)) return nullptr;
    } else {
      return PyErr_Format(PyExc_TypeError, "to() got an unexpected keyword argument '%U'", name);
    }
  }
  TORCH_PY_TRY(nullptr, {
    if (device && device->type == DeviceType::CPU) device->index = -1;
    bool formatted = format && *format != MemoryFormat::Preserve;
    if (!copy && !formatted && (!dtype || *dtype == t.dtype()) && (!device || *device == t.device()))
      return Py_NewRef(self);
    Tensor r = converted(t, dtype, device, copy || !formatted);
    if (formatted) r = contiguous(r, *format);
    return wrap(std::move(r));
  })
}

bool add_constructors(PyObject* module) {
  return PyModule_AddFunctions(module, functions) == 0 && PyModule_AddFunctions(module, legacy_functions) == 0;
}

}  // namespace torch::python
