// t[key] and t[key] = value: Python's keys to Index values.
#include "torch/core/indexing.h"

#include "python.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/view.h"
#include "torch/core/reads.h"

namespace torch::python {

Tensor tensor_of_data(PyObject* data, std::optional<DType> dtype, Device device);
Tensor tensor_of_buffer(PyObject* object, const char* op, bool kept);

namespace {

int64_t as_integer(PyObject* o) {
  Object n(PyNumber_Index(o));
  if (!n) throw PythonError();
  int64_t v = PyLong_AsLongLong(n.get());
  if (v == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    PyErr_Format(PyExc_IndexError, "index %R does not fit into 64 bits", o);
    throw PythonError();
  }
  return v;
}
// An int of an index was made of another object: whoever records finds it at this parameter of an operator.
void tell_place(const Schema& schema, std::string_view name) {
  for (int i = 0; i < schema.count; ++i)
    if (schema.view(schema.params[i].name) == name) int_is_placed(&schema.params[i], kOfIndex);
}
// A slice's bound clips instead of overflowing. `name` is that of the parameter of slice.
std::optional<int64_t> bound(PyObject* o, std::string_view name) {
  if (o == Py_None) return std::nullopt;
  if (!PyIndex_Check(o)) {
    PyErr_Format(PyExc_TypeError, "slice indices must be integers or None or have an __index__ method, not %s",
                 Py_TYPE(o)->tp_name);
    throw PythonError();
  }
  Py_ssize_t v = PyNumber_AsSsize_t(o, nullptr);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  if (!PyLong_Check(o)) tell_place(OperatorFunctions<op::slice>::row().schema, name);
  return v;
}

bool is_sequence(PyObject* o) {
  return PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) && !is_tensor(o) && !PyObject_CheckBuffer(o);
}

// A tensor as an index; bytes are a mask as they were before there was a dtype for truth, with a warning.
Index index_of_tensor(Tensor t) {
  if (t.dtype() == DType::UInt8 &&
      PyErr_WarnEx(PyExc_UserWarning,
                   "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead: the mask "
                   "is mask.bool(), indices are indices.long()",
                   1) < 0)
    throw PythonError();
  return Index::of(std::move(t));
}

// Data as an index: what floats have behind the point is cut off, as in PyTorch; a tensor of floats is none.
Index index_of_data(const Tensor& t) {
  return index_of_tensor(is_floating(t.dtype()) ? _to_copy(t, DType::Int64, std::nullopt) : t);
}

Index index_of(PyObject* o, const Tensor& self) {
  if (PyLong_CheckExact(o)) return Index::at(as_integer(o));
  if (PySlice_Check(o)) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    const std::optional<int64_t> step = bound(s->step, "step"), start = bound(s->start, "start");
    return Index::slice(start, bound(s->stop, "end"), step.value_or(1));
  }
  if (o == Py_None) return Index::new_axis();
  if (o == Py_Ellipsis) return Index::ellipsis();
  if (PyBool_Check(o)) return Index::boolean(o == Py_True);
  if (is_tensor(o)) {
    if (is_any_sparse(borrow(o)) && !is_dense(borrow(o), "index")) throw PythonError();
    const Tensor& t = borrow(o);
    const bool elsewhere = t.device() != self.device() && t.device().type != DeviceType::CPU;
    // A number is one wherever it lies; where the tensor is, it stays a tensor, for which nobody waits.
    if (elsewhere && t.dim() == 0 && is_integral(t.dtype()) && t.dtype() != DType::UInt8 && !t.is_meta())
      return Index::at(as_integer(o));
    TORCH_CHECK(!elsewhere, "index: Expected all tensors to be on the same device, but the ", "tensor ", self,
                " is on ", self.device(), " and an index on ", t.device());
    return index_of_tensor(unwrap(o));
  }
  if (PyIndex_Check(o) && is_number(o)) return Index::at(as_integer(o));
  if (PyObject_CheckBuffer(o) && !PyUnicode_Check(o) && !PyBytes_Check(o)) {
    const Tensor t = tensor_of_buffer(o, "index", false);
    // A float of NumPy is no index, as one of Python is none; arrays of floats are taken.
    if (!PyNumber_Check(o) || !is_floating(t.dtype()) || PySequence_Check(o)) return index_of_data(t);
  }
  if (is_sequence(o)) {
    const Tensor t = tensor_of_data(o, std::nullopt, {});
    return t.numel() ? index_of_data(t) : Index::of(tensor_of_data(o, DType::Int64, {}));
  }
  if (PyIndex_Check(o)) {
    const int64_t at = as_integer(o);
    tell_place(OperatorFunctions<op::select>::row().schema, "index");
    return Index::at(at);
  }
  const bool is_text = PyUnicode_Check(o) || PyBytes_Check(o);
  PyErr_Format(
      is_text ? PyExc_TypeError : PyExc_IndexError,
      "a tensor of shape %S cannot be indexed by %s; use integers, slices, None, Ellipsis, bool or integer tensors",
      Object(wrap_size(self.sizes())).get(), Py_TYPE(o)->tp_name);
  throw PythonError();
}

// The items of a list that stands for a tuple, as it did in NumPy and here until 2018: x[[[0, 1], [2, 3]]] is
// x[[0, 1], [2, 3]]. Null when the list is one index: x[[0, 1]].
Object as_tuple(PyObject* key) {
  constexpr Py_ssize_t kAxes = 32;  // a longer one cannot be a tuple of indices
  Object items(PySequence_Tuple(key));
  if (!items) throw PythonError();
  if (PyTuple_GET_SIZE(items.get()) >= kAxes) return Object();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (!is_tensor(item) && !PySequence_Check(item) && !PySlice_Check(item) && item != Py_Ellipsis && item != Py_None)
      continue;
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "Using a non-tuple sequence for multidimensional indexing is deprecated: x[seq] is x[tuple(seq)] "
                     "here, but x[torch.tensor(seq)] for NumPy. Write the one that you mean",
                     1) < 0)
      throw PythonError();
    return items;
  }
  return Object();
}

// The indices of a key; one on the stack where there is one only.
struct Indices {
  Index one;
  std::vector<Index> many;
  bool tuple = false;
  Indices(PyObject* key, const Tensor& self) {
    Object items;
    if (TORCH_UNLIKELY(PyList_Check(key) || (!PyTuple_Check(key) && is_sequence(key)))) {
      items = as_tuple(key);
      if (items) key = items.get();
    }
    if (PyTuple_Check(key)) {
      tuple = true;
      many.reserve(size_t(PyTuple_GET_SIZE(key)));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) many.push_back(index_of(PyTuple_GET_ITEM(key, i), self));
    } else {
      one = index_of(key, self);
    }
  }
  operator ArrayRef<Index>() const { return tuple ? ArrayRef<Index>(many) : ArrayRef<Index>(&one, 1); }
};

}  // namespace

PyObject* tensor_subscript(PyObject* self, PyObject* key) {
  if (TORCH_UNLIKELY(asks_python(impl_of(self)->keys) || bring_override(&key, 1)))
    TORCH_ASK_PYTHON("__getitem__", self, &key, 1, nullptr);
  TORCH_PY_TRY(nullptr, {
    const Tensor& t = borrow(self);
    if (TORCH_LIKELY(PyLong_CheckExact(key) && t.dim() > 0)) {
      int64_t i = as_integer(key), n = t.size(0);
      TORCH_CHECK_INDEX(i >= -n && i < n, "index ", i, " is out of bounds for dimension 0 with size ", n);
      return wrap(select(t, 0, i));
    }
    Indices indices(key, t);
    return wrap(get_item(t, indices));
  })
}

PyObject* tensor_item(PyObject* self, Py_ssize_t i) {
  if (TORCH_UNLIKELY(asks_python(impl_of(self)->keys))) {
    Object key(PyLong_FromSsize_t(i));
    PyObject* const args[] = {key.get()};
    if (!key) return nullptr;
    TORCH_ASK_PYTHON("__getitem__", self, args, 1, nullptr);
  }
  TORCH_PY_TRY(nullptr, {
    Index x = Index::at(i);
    return wrap(get_item(borrow(self), ArrayRef<Index>(&x, 1)));
  })
}

int tensor_ass_subscript(PyObject* self, PyObject* key, PyObject* value) {
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
    return -1;
  }
  PyObject* const args[] = {key, value};
  if (TORCH_UNLIKELY(asks_python(impl_of(self)->keys) || bring_override(args, 2))) {
    Object answer(ask_python("__setitem__", self, args, 2, nullptr));
    if (answer.get() != Py_NotImplemented) return answer ? 0 : -1;
  }
  TORCH_PY_TRY(-1, {
    const Tensor& t = borrow(self);
    Indices indices(key, t);
    Tensor v;
    if (is_tensor(value))
      v = unwrap(value);
    else if (is_number(value)) {
      Scalar s;
      if (!to_scalar(value, &s)) throw PythonError();
      set_item(t, indices, s);
      return 0;
    } else if (PyObject_CheckBuffer(value))
      v = tensor_of_buffer(value, "setitem", false);
    else
      v = tensor_of_data(value, t.dtype(), {});
    set_item(t, indices, v);
    return 0;
  })
}

}  // namespace torch::python
