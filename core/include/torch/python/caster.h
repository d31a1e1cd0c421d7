// Teaches pybind11 the types of torch-core: Tensor, Scalar, DType, Device and IntArrayRef as arguments and results.
// With pybind11/stl.h also std::vector and std::optional of them. No pybind11 class crosses a border between modules:
// tensors go through the capsule torch._C._api, so an extension and torch-core may be built with different versions of
// pybind11.
//
// Python's None is no Tensor; where it is allowed, take a std::optional<Tensor>. An undefined Tensor returns as None.
// torch::Error arrives in Python as the class that its kind names, in every function of the module.
#pragma once
#include <pybind11/pybind11.h>

#include "torch/python/api.h"

namespace torch::python {

// Fetches the table of torch._C and has pybind11 translate our errors in this module; once.
inline void attach() {
  if (api) return;
  if (!import_api()) throw pybind11::error_already_set();
  pybind11::register_local_exception_translator([](std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const Error&) {
      api->raise();
    } catch (const PythonError&) {
    }
  });
}

namespace detail {
// While the module is being imported, so that a function which touches no tensor has its errors translated too. A
// library loaded by other means attaches with its first conversion.
inline const bool attached = [] {
  if (Py_IsInitialized() && PyGILState_Check()) try {
      attach();
    } catch (pybind11::error_already_set& error) {
      error.discard_as_unraisable("torch/extension.h");
    }
  return true;
}();
}  // namespace detail

inline pybind11::object owned(PyObject* o) {
  if (!o) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(o);
}

// For a conversion that failed: the error is dropped, and pybind11 tries the next overload or tells all signatures.
inline bool no_match() {
  PyErr_Clear();
  return false;
}

}  // namespace torch::python

namespace pybind11::detail {

template <>
struct type_caster<torch::Tensor> {
  PYBIND11_TYPE_CASTER(torch::Tensor, const_name("torch.Tensor"));

  bool load(handle source, bool) {
    torch::python::attach();
    if (!torch::python::is_tensor(source.ptr())) return false;
    value = torch::python::unwrap(source.ptr());
    return true;
  }
  static handle cast(torch::Tensor t, return_value_policy, handle) {
    torch::python::attach();
    return torch::python::owned(torch::python::api->wrap(std::move(t))).release();
  }
};

template <>
struct type_caster<torch::Scalar> {
  PYBIND11_TYPE_CASTER(torch::Scalar, const_name("complex"));

  bool load(handle source, bool) {
    torch::python::attach();
    return torch::python::api->to_scalar(source.ptr(), &value) || torch::python::no_match();
  }
  static handle cast(const torch::Scalar& s, return_value_policy, handle) {
    torch::python::attach();
    return torch::python::owned(torch::python::api->wrap_scalar(s)).release();
  }
};

template <>
struct type_caster<torch::DType> {
  PYBIND11_TYPE_CASTER(torch::DType, const_name("torch.dtype"));

  bool load(handle source, bool) {
    torch::python::attach();
    return torch::python::api->to_dtype(source.ptr(), &value) || torch::python::no_match();
  }
  static handle cast(torch::DType t, return_value_policy, handle) {
    torch::python::attach();
    return torch::python::owned(torch::python::api->wrap_dtype(t)).release();
  }
};

template <>
struct type_caster<torch::Device> {
  PYBIND11_TYPE_CASTER(torch::Device, const_name("torch.device"));

  bool load(handle source, bool) {
    torch::python::attach();
    return torch::python::api->to_device(source.ptr(), &value) || torch::python::no_match();
  }
  static handle cast(torch::Device d, return_value_policy, handle) {
    torch::python::attach();
    return torch::python::owned(torch::python::api->wrap_device(d)).release();
  }
};

// A list or tuple of ints; the caster holds them for the length of the call.
template <>
struct type_caster<torch::IntArrayRef> {
  PYBIND11_TYPE_CASTER(torch::IntArrayRef, const_name("collections.abc.Sequence[int]"));

  bool load(handle source, bool) {
    if (!PyList_Check(source.ptr()) && !PyTuple_Check(source.ptr())) return false;
    ints_.clear();
    for (handle item : reinterpret_borrow<sequence>(source)) {
      if (!PyIndex_Check(item.ptr())) return false;
      int64_t i = PyLong_AsLongLong(reinterpret_steal<object>(PyNumber_Index(item.ptr())).ptr());
      if (i == -1 && PyErr_Occurred()) return torch::python::no_match();
      ints_.push_back(i);
    }
    value = ints_;
    return true;
  }
  static handle cast(torch::IntArrayRef v, return_value_policy, handle) {
    torch::python::attach();
    return torch::python::owned(torch::python::api->wrap_size(v)).release();
  }

 private:
  std::vector<int64_t> ints_;
};

}  // namespace pybind11::detail
