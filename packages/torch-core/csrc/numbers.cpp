// Python numbers and nested lists to tensors, and back.
#include <cmath>
#include <cstring>
#include <string>

#include "dispatch.h"
#include "python.h"
#include "torch/core/backend.h"
#include "torch/core/ops/copy.h"
#include "torch/core/promote.h"
#include "torch/core/reads.h"
#include "torch/core/stored.h"
#include "torch/core/wrapper.h"

namespace torch::python {

namespace {
// `t` becomes the tensor that the values are read from.
bool has_values(Tensor* t, const char* op) {
  TORCH_PY_TRY(false, {
    if (!to_readable(t, op)) return false;
    value_is_read(*t, op);
  })
  if (!t->is_meta()) return true;
  PyErr_Format(PyExc_RuntimeError, "%s: a tensor on device %s has no values to read here", op,
               to_string(t->device()).c_str());
  return false;
}
}  // namespace

bool is_number(PyObject* o) {
  if (PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o)) return true;
  // NumPy's scalars that are no Python numbers: they know their __index__ or __float__ and have no length.
  if (PyTuple_Check(o) || PyList_Check(o) || PyUnicode_Check(o) || o == Py_None || is_tensor(o)) return false;
  PyNumberMethods* n = Py_TYPE(o)->tp_as_number;
  if (!n || !(n->nb_index || n->nb_float)) return false;
  if (std::strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0)
    return std::strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray") != 0;
  return is_symbolic(o);
}

bool is_symbolic(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && type->tp_as_number && type->tp_as_number->nb_bool &&
         PyObject_HasAttrString(reinterpret_cast<PyObject*>(type), "__torch_symbolic__");
}

bool is_truth(PyObject* o) {
  if (PyBool_Check(o) || std::strncmp(Py_TYPE(o)->tp_name, "numpy.bool", 10) == 0) return true;
  return std::strcmp(Py_TYPE(o)->tp_name, "SymBool") == 0 && is_symbolic(o);
}

bool to_scalar(PyObject* o, Scalar* out) {
  if (PyFloat_Check(o))
    *out = PyFloat_AS_DOUBLE(o);
  else if (PyBool_Check(o))
    *out = o == Py_True;
  else if (PyLong_Check(o)) {
    int overflow;
    int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) {
      uint64_t u = overflow > 0 ? PyLong_AsUnsignedLongLong(o) : 0;
      if (overflow < 0 || PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(PyExc_OverflowError, "%R does not fit into 64 bits", o);
        return false;
      }
      *out = u;
    } else {
      *out = v;
    }
  } else if (PyComplex_Check(o)) {
    Py_complex c = PyComplex_AsCComplex(o);
    *out = std::complex<double>(c.real, c.imag);
  } else if (is_tensor(o)) {
    Tensor t = unwrap(o);
    if (!has_values(&t, kReadAsNumber)) return false;
    Object item(item_of(t));
    return item && to_scalar(item.get(), out);
  } else if (is_truth(o)) {
    int truth = PyObject_IsTrue(o);
    if (truth < 0) return false;
    *out = truth == 1;
  } else if (PyIndex_Check(o)) {
    Object n(PyNumber_Index(o));
    return n && to_scalar(n.get(), out);
  } else if (std::strncmp(Py_TYPE(o)->tp_name, "numpy.complex", 13) == 0) {
    Py_complex c = PyComplex_AsCComplex(o);
    if (PyErr_Occurred()) return false;
    *out = std::complex<double>(c.real, c.imag);
  } else {
    Object f(PyNumber_Float(o));
    if (!f) return false;
    *out = PyFloat_AS_DOUBLE(f.get());
  }
  return true;
}

PyObject* wrap_scalar(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool:
      return PyBool_FromLong(s.to_bool());
    case Scalar::Kind::Int:
      return PyLong_FromLongLong(s.to_int());
    case Scalar::Kind::UInt:
      return PyLong_FromUnsignedLongLong(uint64_t(s.to_int()));
    case Scalar::Kind::Float:
      return PyFloat_FromDouble(s.to_double());
    case Scalar::Kind::Complex:
      return PyComplex_FromDoubles(s.to_complex().real(), s.to_complex().imag());
  }
  return nullptr;
}

Tensor tensor_of_number(PyObject* o) {
  Scalar s;
  if (!to_scalar(o, &s)) throw PythonError();
  switch (s.kind()) {
    case Scalar::Kind::Bool:
      return scalar_tensor_of(s, DType::Bool, true);
    case Scalar::Kind::Int:
      return scalar_tensor_of(s, DType::Int64, true);
    case Scalar::Kind::UInt:
      return scalar_tensor_of(s, DType::UInt64, true);
    case Scalar::Kind::Float:
      return scalar_tensor_of(s, DType::Float64, true);
    case Scalar::Kind::Complex:
      return scalar_tensor_of(s, DType::Complex128, true);
  }
  __builtin_unreachable();
}

PyObject* item_of(const Tensor& t) {
  if (TORCH_LIKELY(t.device().type == DeviceType::CPU)) return item_of(t, t.data());
  TORCH_PY_TRY(nullptr, {
    alignas(16) char element[16];
    on_device::read_scalar("item", element, t.data(), size_t(t.item_size()), t.device());
    return item_of(t, element);
  })
}
PyObject* item_of(const Tensor& t, const void* element) {
  if (TORCH_UNLIKELY(is_stored(t.dtype()))) return wrap_scalar(stored_value(t.dtype(), element));
  switch (t.dtype()) {
    case DType::Bool:
      return PyBool_FromLong(*static_cast<const uint8_t*>(element));
    case DType::Float16:
      return PyFloat_FromDouble(float(*static_cast<const Half*>(element)));
    case DType::BFloat16:
      return PyFloat_FromDouble(float(*static_cast<const BFloat16*>(element)));
    case DType::Float32:
      return PyFloat_FromDouble(*static_cast<const float*>(element));
    case DType::Float64:
      return PyFloat_FromDouble(*static_cast<const double*>(element));
    case DType::Complex64: {
      auto c = *static_cast<const Complex64*>(element);
      return PyComplex_FromDoubles(c.real(), c.imag());
    }
    case DType::Complex128: {
      auto c = *static_cast<const Complex128*>(element);
      return PyComplex_FromDoubles(c.real(), c.imag());
    }
    case DType::UInt64:
      return PyLong_FromUnsignedLongLong(*static_cast<const uint64_t*>(element));
    default:
      return visit_dtype(t.dtype(), [&](auto zero) -> PyObject* {
        using T = decltype(zero);
        if constexpr (std::is_integral_v<T>)
          return PyLong_FromLongLong(int64_t(*static_cast<const T*>(element)));
        else
          return nullptr;
      });
  }
}

namespace {

PyObject* tensor_item_method(PyObject* self, PyObject*) {
  Tensor t = unwrap(self);
  if (t.numel() != 1) {
    PyErr_Format(PyExc_RuntimeError, "item: a Tensor with %lld elements cannot be converted to Scalar",
                 (long long)t.numel());
    return nullptr;
  }
  if (TORCH_UNLIKELY(gives_its_number(t))) return number_given(self);
  return has_values(&t, "item") ? item_of(t) : nullptr;
}

PyObject* nested(const Tensor& t, int dim, const char* at) {
  if (dim == t.dim()) return item_of(t, at);
  const int64_t n = t.sizes()[size_t(dim)];
  const int64_t step = n > 1 ? t.strides()[size_t(dim)] * t.item_size() : 0;  // of one element it may be anything
  PyObject* list = PyList_New(n);
  if (!list) return nullptr;
  for (int64_t i = 0; i < n; ++i, at += step) {
    PyObject* o = nested(t, dim + 1, at);
    if (!o) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SET_ITEM(list, i, o);
  }
  return list;
}
PyObject* tensor_tolist(PyObject* self, PyObject*) {
  Tensor t = unwrap(self);
  if (!has_values(&t, "tolist")) return nullptr;
  TORCH_PY_TRY(nullptr, {
    const Tensor here =
        t.device().type == DeviceType::CPU ? t : readable(_to_copy(alias_of(t, true), std::nullopt, Device()));
    return nested(here, 0, static_cast<const char*>(here.data()));
  })
}

// --- torch.tensor(data): one pass finds the shape and the dtype, a second one fills ---

enum class Category : uint8_t { None, Bool, Int, UInt, Float, Complex };
struct Data {
  std::vector<int64_t> sizes;
  Category category = Category::None;
  DType tensor_dtype = DType::Bool;  // of tensors, arrays and NumPy scalars among the data
  bool has_tensor = false;
};

bool is_sequence(PyObject* o) {
  if (PyList_Check(o) || PyTuple_Check(o)) return true;
  return !PyUnicode_Check(o) && !PyBytes_Check(o) && !PyDict_Check(o) && !is_number(o) && PySequence_Check(o);
}
PyObject* fast(PyObject* o) { return PySequence_Fast(o, "expected a sequence"); }

// What an array without dims holds, as a number of NumPy: such an array says that it is a sequence and has no length.
// Null for all else.
Object held_number(PyObject* o) {
  if (!is_sequence(o) || PyList_Check(o) || PyTuple_Check(o) || is_tensor(o) || PySequence_Size(o) >= 0)
    return Object();
  PyErr_Clear();
  Object none(PyTuple_New(0)), item(none ? PyObject_GetItem(o, none.get()) : nullptr);
  PyErr_Clear();
  return item && is_number(item.get()) ? std::move(item) : Object();
}

// The dtype of a NumPy scalar, whose types are named after it; those of other subclasses of float and int are numbers.
std::optional<DType> numpy_dtype(PyObject* o) {
  static constexpr std::pair<std::string_view, DType> kNames[] = {
      {"float64", DType::Float64},     {"float32", DType::Float32},      {"float16", DType::Float16},
      {"int64", DType::Int64},         {"int32", DType::Int32},          {"int16", DType::Int16},
      {"int8", DType::Int8},           {"uint8", DType::UInt8},          {"uint16", DType::UInt16},
      {"uint32", DType::UInt32},       {"uint64", DType::UInt64},        {"bool", DType::Bool},
      {"bool_", DType::Bool},          {"longlong", DType::Int64},       {"ulonglong", DType::UInt64},
      {"complex64", DType::Complex64}, {"complex128", DType::Complex128}};
  for (PyTypeObject* type = Py_TYPE(o); type; type = type->tp_base) {
    const std::string_view name = type->tp_name;
    if (!name.starts_with("numpy.")) continue;
    for (const auto& [text, dtype] : kNames)
      if (name.substr(6) == text) return dtype;
    return std::nullopt;
  }
  return std::nullopt;
}

// Items run code of their own (__len__, __index__, __float__), which can change the list that they stand in.
bool same_length(PyObject* fast, Py_ssize_t n) {
  if (PySequence_Fast_GET_SIZE(fast) == n) return true;
  PyErr_SetString(PyExc_RuntimeError, "tensor: a sequence changed its length while it was read");
  return false;
}

bool scan(PyObject* o, size_t depth, Data* d) {
  if (depth > size_t(kMaxDims)) {
    PyErr_Format(PyExc_ValueError, "tensor: lists are nested more than %d deep", kMaxDims);
    return false;
  }
  if (const Object number = held_number(o)) return scan(number.get(), depth, d);
  bool scalar_tensor = is_tensor(o) && impl_of(o)->ndim == 0;
  if (depth && is_tensor(o) && !scalar_tensor) {  // among numbers a tensor is one
    scalar_tensor = borrow(o).numel() == 1;
    if (!scalar_tensor) {
      PyErr_Format(PyExc_ValueError,
                   "tensor: only one element tensors can be converted to Python scalars, and a list holds one of %lld; "
                   "torch.stack joins tensors",
                   (long long)borrow(o).numel());
      return false;
    }
  }
  if (!scalar_tensor && is_sequence(o)) {
    Object f(fast(o));
    if (!f) return false;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(f.get());
    if (d->sizes.size() == depth) {
      if (d->category != Category::None || d->has_tensor) {
        PyErr_Format(PyExc_ValueError, "tensor: a list stands where other items at dim %zu are numbers", depth);
        return false;
      }
      d->sizes.push_back(n);
    } else if (d->sizes[depth] != n) {
      PyErr_Format(
          PyExc_ValueError,
          "expected sequence of length %lld at dim %zu (got %zd); rows of a tensor are equally long: pad them, "
          "for instance by torch.nn.utils.rnn.pad_sequence",
          (long long)d->sizes[depth], depth, n);
      return false;
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!same_length(f.get(), n)) return false;
      Object item(Py_NewRef(PySequence_Fast_GET_ITEM(f.get(), i)));
      if (!scan(item.get(), depth + 1, d)) return false;
    }
    return true;
  }
  if (depth != d->sizes.size()) {
    PyErr_Format(PyExc_TypeError, "tensor: expected a sequence at dim %zu, got %s", depth, Py_TYPE(o)->tp_name);
    return false;
  }
  Category c;
  std::optional<DType> of_numpy;
  if (!PyFloat_CheckExact(o) && !PyLong_CheckExact(o) && !PyBool_Check(o)) of_numpy = numpy_dtype(o);
  if (scalar_tensor || of_numpy) {
    DType t = scalar_tensor ? impl_of(o)->dtype : *of_numpy;
    d->tensor_dtype = d->has_tensor ? promote_types(d->tensor_dtype, t) : t;
    d->has_tensor = true;
    return true;
  }
  if (PyBool_Check(o))
    c = Category::Bool;
  else if (PyLong_Check(o)) {
    c = Category::Int;
    int overflow;
    (void)PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow > 0) c = Category::UInt;
  } else if (PyFloat_Check(o))
    c = Category::Float;
  else if (PyComplex_Check(o))
    c = Category::Complex;
  else if (is_number(o)) {
    Scalar s;
    if (!to_scalar(o, &s)) return false;
    c = s.is_bool()       ? Category::Bool
        : s.is_integral() ? Category::Int
        : s.is_float()    ? Category::Float
                          : Category::Complex;
  } else {
    // As users catch it: a text is a TypeError, a list of texts a ValueError, and what has no dtype a RuntimeError.
    const bool is_text = PyUnicode_Check(o) || PyBytes_Check(o);
    const bool lists_texts = PyUnicode_Check(o) && depth && d->category == Category::None && !d->has_tensor;
    PyErr_Format(lists_texts ? PyExc_ValueError
                 : is_text   ? PyExc_TypeError
                             : PyExc_RuntimeError,
                 "tensor: could not infer a dtype: invalid data type '%s'; expected numbers or nested lists of numbers",
                 Py_TYPE(o)->tp_name);
    return false;
  }
  if (c > d->category) d->category = c;
  return true;
}

// An integer dtype holds what fits. Of negative ints an unsigned one holds the last bits, down to minus its greatest
// value: uint8 takes -255 to 255.
template <class T>
bool fits(const Scalar& s) {
  using Limits = std::numeric_limits<T>;
  if (s.is_float()) {
    const double x = s.to_double(), above = 2.0 * double(Limits::max() / 2 + 1);
    return x >= double(Limits::min()) && x < above && (x <= double(Limits::max()) || sizeof(T) == 8);
  }
  if (s.kind() == Scalar::Kind::UInt) return std::is_same_v<T, uint64_t>;
  if constexpr (std::is_same_v<T, uint64_t>) return s.to_int() >= 0;
  const int64_t highest = int64_t(Limits::max()), lowest = std::is_signed_v<T> ? int64_t(Limits::min()) : -highest;
  return sizeof(T) == 8 || (s.to_int() >= lowest && s.to_int() <= highest);
}
// As users catch it: one dtype's range is a RuntimeError, that of 64 bits a ValueError, and uint64 has its own.
PyObject* class_of_overflow(const Scalar* s, DType t) {
  if (s && s->is_float()) return PyExc_RuntimeError;
  if (t == DType::UInt64) return PyExc_OverflowError;
  return !s || s->kind() == Scalar::Kind::UInt ? PyExc_ValueError : PyExc_RuntimeError;
}

// An int beyond 64 bits.
template <class T>
bool store_huge(PyObject* o, T* out) {
  if constexpr (std::is_same_v<T, bool>) {
    *out = true;
  } else if constexpr (std::is_integral_v<T>) {
    PyErr_Format(class_of_overflow(nullptr, dtype_of<T>), "%R does not fit into 64 bits, nor into %s", o,
                 name(dtype_of<T>));
    return false;
  } else {
    const double x = PyLong_AsDouble(o);
    if (x == -1 && PyErr_Occurred()) return false;
    *out = Scalar(x).to<T>();
  }
  return true;
}

template <class T>
bool store(PyObject* o, T* out) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    if (PyFloat_CheckExact(o)) {
      *out = T(PyFloat_AS_DOUBLE(o));
      return true;
    }
  }
  Scalar s;
  if (!to_scalar(o, &s)) {
    if (!PyLong_Check(o) || !PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
    PyErr_Clear();
    return store_huge(o, out);
  }
  if constexpr (!is_complex(dtype_of<T>) && !std::is_same_v<T, bool>) {
    if (s.is_complex()) {
      PyErr_Format(PyExc_TypeError, "tensor: %R cannot be converted to %s without losing its imaginary part", o,
                   name(dtype_of<T>));
      return false;
    }
  }
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (!fits<T>(s)) {
      PyErr_Format(class_of_overflow(&s, dtype_of<T>), "value cannot be converted to type %s without overflow: %R",
                   name(dtype_of<T>), o);
      return false;
    }
    if (s.is_float()) {
      *out = T(s.to_double());
      return true;
    }
  }
  *out = s.to<T>();
  return true;
}

template <class T>
bool fill(PyObject* o, const int64_t* sizes, size_t dims, T*& out) {
  if (dims == 0) {
    const Object number = held_number(o);
    return store(number ? number.get() : o, out++);
  }
  Object f(fast(o));
  if (!f) return false;
  for (Py_ssize_t i = 0; i < *sizes; ++i) {
    if (!same_length(f.get(), *sizes)) return false;
    PyObject* item = PySequence_Fast_GET_ITEM(f.get(), i);
    if (dims == 1 && PyFloat_CheckExact(item)) {
      if (!store(item, out++)) return false;
      continue;
    }
    Object held(Py_NewRef(item));
    if (!fill(item, sizes + 1, dims - 1, out)) return false;
  }
  return true;
}

}  // namespace

// A new contiguous tensor of nested sequences or a number. Throws PythonError.
Tensor tensor_of_data(PyObject* data, std::optional<DType> dtype, Device device) {
  if (dtype && TORCH_UNLIKELY(is_stored(*dtype)))
    return _to_copy(tensor_of_data(data, wide_of(*dtype), device), *dtype);
  Data d;
  if (!scan(data, 0, &d)) throw PythonError();
  DType t;
  if (dtype)
    t = *dtype;
  else {
    switch (d.category) {
      case Category::None:
        t = d.has_tensor ? d.tensor_dtype : default_dtype();
        break;
      case Category::Bool:
        t = DType::Bool;
        break;
      case Category::Int:
        t = DType::Int64;
        break;
      case Category::UInt:
        t = DType::UInt64;
        break;
      case Category::Float:
        t = default_dtype();
        break;
      case Category::Complex:
        t = complex_of(default_dtype());
        break;
      default:
        __builtin_unreachable();
    }
    if (d.has_tensor && d.category != Category::None) t = promote_types(t, d.tensor_dtype);
  }
  // An empty inner list has ended the shape early: [[], []] is (2, 0).
  Tensor r = empty_tensor(d.sizes, t, device.type == DeviceType::Meta ? device : Device());
  if (r.is_meta()) return r;
  if (r.numel() == 0) return r;
  bool ok = visit_dtype(t, [&](auto zero) {
    auto* out = r.data<decltype(zero)>();
    return fill(data, d.sizes.data(), d.sizes.size(), out);
  });
  if (!ok) throw PythonError();
  return r;
}

PyMethodDef number_methods[] = {{"item", tensor_item_method, METH_NOARGS,
                                 "item()\n--\n\nThe value of a tensor with one element as a Python number.\n\n"
                                 ">>> torch.tensor([2.5]).item()\n"
                                 "2.5"},
                                {"tolist", tensor_tolist, METH_NOARGS,
                                 "tolist()\n--\n\nThe values as nested lists of Python numbers.\n\n"
                                 ">>> torch.tensor([[1, 2], [3, 4]]).tolist()\n"
                                 "[[1, 2], [3, 4]]"},
                                {}};

}  // namespace torch::python
