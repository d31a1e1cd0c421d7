// Values of a call as Python's objects, and an object of Python as a result: for what Python answers in an operator's
// place.
#include "values.h"

#include <string>

#include "torch/core/autocast.h"
#include "torch/core/ops/view.h"
#include "torch/core/wrapper.h"

namespace torch::python {

namespace {

PyObject* object_of_tensor(const Tensor& t, bool number = false) {
  if (!t) return Py_NewRef(Py_None);
  if (number && t.is_wrapped_number() && t.dim() == 0 && t.has_memory()) return item_of(t, t.data());
  return wrap(Tensor(t));
}

}  // namespace

PyObject* object_of(const Parameter& p, const Value& v) {
  if (p.kind == Kind::Tensor) return object_of_tensor(reinterpret_cast<const Tensor&>(v.tensor), p.accepts_number);
  if (!v.present) return Py_NewRef(Py_None);
  switch (p.kind) {
    case Kind::TensorList: {
      Object list(checked(PyList_New(v.size)));
      for (int64_t i = 0; i < v.size; ++i)
        PyList_SET_ITEM(list.get(), i, checked(object_of_tensor(static_cast<const Tensor*>(v.data)[i])));
      return list.release();
    }
    case Kind::IntList: {
      Object list(checked(PyList_New(v.size)));
      for (int64_t i = 0; i < v.size; ++i)
        PyList_SET_ITEM(list.get(), i, checked(PyLong_FromLongLong(static_cast<const int64_t*>(v.data)[i])));
      return list.release();
    }
    case Kind::Scalar:
      return wrap_scalar(detail::unbox<const Scalar&, Kind::Scalar, false>(v));
    case Kind::Int:
      return PyLong_FromLongLong(v.i);
    case Kind::Bool:
      return PyBool_FromLong(v.i != 0);
    case Kind::Float:
      return PyFloat_FromDouble(v.d);
    case Kind::Str:
      return PyUnicode_FromStringAndSize(static_cast<const char*>(v.data), v.size);
    case Kind::DType:
      return wrap_dtype(DType(v.i));
    case Kind::Device:
      return wrap_device(Device(DeviceType(v.i), int(v.size)));
    case Kind::Layout:
      return wrap_layout(Layout(v.i));
    case Kind::MemoryFormat:
      return wrap_memory_format(MemoryFormat(v.i));
    default:
      return Py_NewRef(Py_None);  // generators are those of C++
  }
}

// --- results ---

namespace {

[[noreturn]] void refuse(const Row& row, const char* wanted, PyObject* got, const Answer& answer) {
  PyErr_Format(PyExc_TypeError, "%s: %s %s, %s, not %s", std::string(row.schema.op_name()).c_str(), answer.who, wanted,
               answer.why, Py_TYPE(got)->tp_name);
  throw PythonError();
}

// A result that has a graph, or is an argument, is given a place of its own in the graph that is being recorded. One
// that a class made for this call and marked as requiring gradients gives the mark up: detaching it would ask the class
// again.
Tensor tensor_of(const Row& row, PyObject* o, const Value* arguments, const Answer& answer) {
  if (o == Py_None) return {};
  if (!is_tensor(o)) refuse(row, "a Tensor", o, answer);
  const Tensor& t = borrow(o);
  if (!answer.is_beneath_autograd) return t;
  bool is_argument = false;
  for (int i = 0; i < row.schema.count; ++i)
    is_argument |= row.schema.params[i].kind == Kind::Tensor && arguments[i].tensor == t.get();
  if (!is_argument && !t.requires_grad()) return t;
  if (!t.has(DispatchKey::Dispatch)) return alias_of(t, true);
  if (is_argument || !autocast::is_leaf(t.get())) return detach(t);
  if (!set_requires_grad(o, false)) throw PythonError();
  return t;
}

std::vector<Tensor> tensors_of(const Row& row, PyObject* o, const Value* arguments, const Answer& answer) {
  if (is_tensor(o)) refuse(row, "a sequence of Tensors", o, answer);  // which has rows, but is none
  Object items(PySequence_Fast(o, ""));
  if (!items) {
    PyErr_Clear();
    refuse(row, "a sequence of Tensors", o, answer);
  }
  // One of several results may be left out by operators of torch itself, as gradients are that are not needed.
  const bool may_lack = answer.is_beneath_autograd && row.schema.result_count > 1;
  std::vector<Tensor> list;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!is_tensor(item) && !(may_lack && item == Py_None))
      refuse(row, "a sequence of Tensors", PyUnicode_Check(o) ? o : item, answer);
    list.push_back(tensor_of(row, item, arguments, answer));
  }
  return list;
}

}  // namespace

void put_result(const Row& row, PyObject* o, const Value* arguments, const Answer& answer, Result& result) {
  const Schema& s = row.schema;
  if (s.result_count == 0) return;
  if (s.in_place() && s.params[0].kind == Kind::Tensor) {
    result.tensors[0] = Tensor(Ref<TensorImpl>::share(arguments[0].tensor));
    return;
  }
  if (s.result_count > 1) {
    std::vector<Tensor> list = tensors_of(row, o, arguments, answer);
    if (list.size() != s.result_count) refuse(row, ("a tuple of " + std::to_string(s.result_count)).c_str(), o, answer);
    std::move(list.begin(), list.end(), result.tensors);
    return;
  }
  result.value.present = true;
  switch (s.results[0].kind) {
    case Kind::Tensor:
      if (!(result.tensors[0] = tensor_of(row, o, arguments, answer))) refuse(row, "a Tensor", o, answer);
      return;
    case Kind::TensorList:
      result.list = tensors_of(row, o, arguments, answer);
      return;
    case Kind::Bool: {
      const int truth = PyObject_IsTrue(o);
      if (truth < 0) throw PythonError();
      result.value.i = truth;
      return;
    }
    case Kind::Int:
      result.value.i = PyLong_AsLongLong(o);
      break;
    case Kind::Float:
      result.value.d = PyFloat_AsDouble(o);
      break;
    case Kind::Scalar: {
      Scalar number;
      if (!to_scalar(o, &number)) throw PythonError();
      detail::box(result, number);
      return;
    }
    case Kind::DType: {
      DType t;
      if (!to_dtype(o, &t)) throw PythonError();
      result.value.i = int64_t(t);
      return;
    }
    case Kind::IntList: {
      Object items(checked(PySequence_Fast(o, "a sequence of ints is wanted here")));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
        result.ints.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items.get(), i)));
      break;
    }
    default:
      refuse(row, "what this kind of operator does", o, answer);
  }
  if (PyErr_Occurred()) throw PythonError();
}

}  // namespace torch::python
