// t[key] and t[key] = value: Python's keys to Index values.
#include "torch/core/indexing.h"

#include "python.h"
#include "torch/core/ops/view.h"

namespace torch::python {

Tensor tensor_of_data(PyObject* data, std::optional<DType> dtype, Device device);
Tensor tensor_of_buffer(PyObject* object, const char* op);

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
// A slice's bound clips instead of overflowing.
std::optional<int64_t> bound(PyObject* o) {
  if (o == Py_None) return std::nullopt;
  if (!PyIndex_Check(o)) {
    PyErr_Format(PyExc_TypeError, "slice indices must be integers or None or have an __index__ method, not %s",
                 Py_TYPE(o)->tp_name);
    throw PythonError();
  }
  Py_ssize_t v = PyNumber_AsSsize_t(o, nullptr);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}

Index index_of(PyObject* o, const Tensor& self) {
  if (PyLong_CheckExact(o)) return Index::at(as_integer(o));
  if (PySlice_Check(o)) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    std::optional<int64_t> step = bound(s->step);
    return Index::slice(bound(s->start), bound(s->stop), step.value_or(1));
  }
  if (o == Py_None) return Index::new_axis();
  if (o == Py_Ellipsis) return Index::ellipsis();
  if (PyBool_Check(o)) return Index::boolean(o == Py_True);
  if (is_tensor(o)) {
    if (!is_dense(borrow(o), "index")) throw PythonError();
    TORCH_CHECK(!borrow(o).is_meta() || self.is_meta(),
                "index: Expected all tensors to be on the same device, but the ", "tensor ", self, " is on ",
                self.device(), " and an index on ", borrow(o).device());
    return Index::of(unwrap(o));
  }
  if (PyIndex_Check(o) && is_number(o)) return Index::at(as_integer(o));
  if (PyObject_CheckBuffer(o) && !PyUnicode_Check(o) && !PyBytes_Check(o))
    return Index::of(tensor_of_buffer(o, "index"));
  if (PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o)) {
    Tensor t = tensor_of_data(o, std::nullopt, {});
    if (t.numel() == 0) t = tensor_of_data(o, DType::Int64, {});
    return Index::of(std::move(t));
  }
  PyErr_Format(
      PyExc_TypeError,
      "a tensor of shape %S cannot be indexed by %s; use integers, slices, None, Ellipsis, bool or integer tensors",
      Object(wrap_size(self.sizes())).get(), Py_TYPE(o)->tp_name);
  throw PythonError();
}

// The indices of a key; one on the stack where there is one only.
struct Indices {
  Index one;
  std::vector<Index> many;
  bool tuple = false;
  Indices(PyObject* key, const Tensor& self) {
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

PyObject* tensor_subscript(PyObject* self, PyObject* key){
    TORCH_PY_TRY(nullptr,
                 {
                   const Tensor& t = borrow(self);
                   if (TORCH_LIKELY(PyLong_CheckExact(key) && t.dim() > 0)) {
                     int64_t i = as_integer(key), n = t.size(0);
                     TORCH_CHECK_INDEX(i >= -n && i < n, "index ", i, " is out of bounds for dimension 0 with size ",
                                       n);
                     return wrap(select(t, 0, i));
                   }
                   Indices indices(key, t);
                   return wrap(get_item(t, indices));
                 })}

PyObject* tensor_item(PyObject* self, Py_ssize_t i) {
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
  TORCH_PY_TRY(-1, {
    const Tensor& t = borrow(self);
    Indices indices(key, t);
    Tensor v;
    if (is_tensor(value))
      v = unwrap(value);
    else if (is_number(value))
      v = tensor_of_number(value);
    else if (PyObject_CheckBuffer(value))
      v = tensor_of_buffer(value, "setitem");
    else
      v = tensor_of_data(value, t.dtype(), {});
    set_item(t, indices, v);
    return 0;
  })
}

}  // namespace torch::python
