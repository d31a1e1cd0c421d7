// What a row gives, as Python has it: tensors, lists, numbers, and sequences with names.
#include <Python.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>

#include "operators.h"

namespace torch::python {

namespace {

// Each result on a line of its own, so that rows of tensors stay below each other.
PyObject* named_result_repr(PyObject* self) {
  Object fields(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "__match_args__"));
  Object lines(fields ? PyList_New(0) : nullptr);
  if (!lines) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    Object line(PyUnicode_FromFormat("%U=%R", PyTuple_GET_ITEM(fields.get(), i), PyTuple_GET_ITEM(self, i)));
    if (!line || PyList_Append(lines.get(), line.get()) < 0) return nullptr;
  }
  Object between(PyUnicode_FromString(",\n"));
  Object text(between ? PyUnicode_Join(between.get(), lines.get()) : nullptr);
  return text ? PyUnicode_FromFormat("%s(\n%U)", Py_TYPE(self)->tp_name, text.get()) : nullptr;
}

// A result's class is named by its function: torch.linalg.eigh returns a linalg_eigh.
std::string result_name(const Row& row) {
  const std::string module = row.attr.python ? row.attr.python : "", name(row.schema.op_name());
  return module == "linalg" ? module + "_" + name : name;
}

// Whether a call gives a named sequence. Moments, norms and pools name their results in the schema only: in PyTorch
// they are plain tuples.
bool is_named(const Row& row) {
  constexpr std::string_view kPlain[] = {"std_mean",
                                         "var_mean",
                                         "max_pool1d_with_indices",
                                         "max_pool2d_with_indices",
                                         "max_pool3d_with_indices",
                                         "adaptive_max_pool1d",
                                         "adaptive_max_pool2d",
                                         "adaptive_max_pool3d",
                                         "native_layer_norm",
                                         "native_batch_norm",
                                         "native_group_norm"};
  const Schema& s = row.schema;
  return s.result_count > 1 && s.results[0].name.len > 0 &&
         std::find(std::begin(kPlain), std::end(kPlain), s.op_name()) == std::end(kPlain);
}

PyTypeObject* named_result(const Row& row) {
  static std::map<const Row*, PyTypeObject*> types;
  auto& type = types[&row];
  if (type) return type;
  const Schema& s = row.schema;
  static std::deque<std::string> names;  // structseq keeps the pointers
  static PyStructSequence_Field fields[kMaxResults + 1];
  for (int i = 0; i < s.result_count; ++i) {
    names.emplace_back(s.view(s.results[i].name));
    fields[i] = {names.back().c_str(), nullptr};
  }
  fields[s.result_count] = {nullptr, nullptr};
  names.emplace_back("torch.return_types." + result_name(row));
  PyStructSequence_Desc desc = {names.back().c_str(), nullptr, fields, s.result_count};
  if ((type = PyStructSequence_NewType(&desc))) type->tp_repr = named_result_repr;
  return type;
}

PyObject* return_type_function(PyObject*, PyObject* name) {
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (PyErr_Occurred()) return nullptr;
  if (text)
    for (const Row* row : all_rows())
      if (is_named(*row) && result_name(*row) == text)
        return Py_XNewRef(reinterpret_cast<PyObject*>(named_result(*row)));
  PyErr_SetObject(PyExc_KeyError, name);
  return nullptr;
}
PyMethodDef functions[] = {{"_return_type", return_type_function, METH_O, "The class of an operator's named results."},
                           {}};

}  // namespace

PyObject* wrap_result(const Row& row, Result& r) {
  const Schema& s = row.schema;
  if (s.result_count == 0) Py_RETURN_NONE;
  if (s.result_count == 1) {
    switch (s.results[0].kind) {
      case Kind::Tensor:
        return wrap(std::move(r.tensors[0]));
      case Kind::TensorList: {
        PyObject* t = PyTuple_New(Py_ssize_t(r.list.size()));
        for (size_t i = 0; t && i < r.list.size(); ++i) PyTuple_SET_ITEM(t, Py_ssize_t(i), wrap(std::move(r.list[i])));
        return t;
      }
      case Kind::IntList:
        return wrap_size(r.ints);
      case Kind::Bool:
        return PyBool_FromLong(r.value.i != 0);
      case Kind::Int:
        return PyLong_FromLongLong(r.value.i);
      case Kind::Float:
        return PyFloat_FromDouble(r.value.d);
      case Kind::DType:
        return wrap_dtype(DType(r.value.i));
      case Kind::Scalar: {
        switch (r.value.scalar_kind) {
          case Scalar::Kind::Bool:
            return PyBool_FromLong(r.value.i != 0);
          case Scalar::Kind::Int:
            return PyLong_FromLongLong(r.value.i);
          case Scalar::Kind::UInt:
            return PyLong_FromUnsignedLongLong(uint64_t(r.value.i));
          case Scalar::Kind::Float:
            return PyFloat_FromDouble(r.value.d);
          case Scalar::Kind::Complex:
            return PyComplex_FromDoubles(r.value.d, r.value.imag);
        }
      } break;
      default:
        break;
    }
    PyErr_SetString(PyExc_SystemError, "a result of this kind has no Python form");
    return nullptr;
  }
  const bool named = is_named(row);
  PyObject* t = named ? PyStructSequence_New(named_result(row)) : PyTuple_New(s.result_count);
  for (int i = 0; t && i < s.result_count; ++i) {
    PyObject* o = wrap(std::move(r.tensors[i]));
    if (named)
      PyStructSequence_SET_ITEM(t, i, o);
    else
      PyTuple_SET_ITEM(t, i, o);
  }
  return t;
}

bool add_result_types(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace torch::python
