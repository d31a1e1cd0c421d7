// pybind11 knows the types of PyTorch's C++ as arguments and results: dtypes, lists and dicts of programs, objects of
// classes that are registered.
#pragma once
#include "torch/core/methods.h"  // before what includes tensor.h
//
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "ATen/core/Dict.h"
#include "ATen/core/List.h"
#include "c10/util/intrusive_ptr.h"
#include "torch/aten.h"
#include "torch/python/caster.h"

PYBIND11_DECLARE_HOLDER_TYPE(T, c10::intrusive_ptr<T>, true)

namespace pybind11::detail {

template <>
struct type_caster<torch::ScalarType> {
  PYBIND11_TYPE_CASTER(torch::ScalarType, const_name("torch.dtype"));

  bool load(handle source, bool convert) {
    type_caster<torch::DType> dtype;
    if (!dtype.load(source, convert)) return false;
    value = cast_op<torch::DType>(dtype);
    return true;
  }
  static handle cast(torch::ScalarType t, return_value_policy policy, handle parent) {
    return type_caster<torch::DType>::cast(t, policy, parent);
  }
};

template <>
struct type_caster<torch::ScalarOfPrograms> {
  PYBIND11_TYPE_CASTER(torch::ScalarOfPrograms, const_name("complex"));

  bool load(handle source, bool convert) {
    type_caster<torch::Scalar> number;
    if (!number.load(source, convert)) return false;
    value = cast_op<torch::Scalar>(number);
    return true;
  }
  static handle cast(const torch::ScalarOfPrograms& s, return_value_policy policy, handle parent) {
    return type_caster<torch::Scalar>::cast(s, policy, parent);
  }
};

template <class T>
struct type_caster<c10::List<T>> {
  PYBIND11_TYPE_CASTER(c10::List<T>, const_name("list[") + make_caster<T>::name + const_name("]"));

  bool load(handle source, bool convert) {
    make_caster<std::vector<T>> values;
    if (!values.load(source, convert)) return false;
    value = cast_op<std::vector<T>&&>(std::move(values));
    return true;
  }
  static handle cast(const c10::List<T>& list, return_value_policy policy, handle parent) {
    return make_caster<std::vector<T>>::cast(list.vec(), policy, parent);
  }
};

template <class Key, class Value>
struct type_caster<c10::Dict<Key, Value>> {
  using Type = c10::Dict<Key, Value>;
  PYBIND11_TYPE_CASTER(Type, const_name("dict[") + make_caster<Key>::name + const_name(", ") +
                                 make_caster<Value>::name + const_name("]"));

  bool load(handle source, bool convert) {
    if (!PyDict_Check(source.ptr())) return false;
    value = Type();
    for (auto item : reinterpret_borrow<dict>(source)) {
      make_caster<Key> key;
      make_caster<Value> held;
      if (!key.load(item.first, convert) || !held.load(item.second, convert)) return false;
      value.insert(cast_op<Key&&>(std::move(key)), cast_op<Value&&>(std::move(held)));
    }
    return true;
  }
  static handle cast(const Type& items, return_value_policy policy, handle parent) {
    dict made;
    for (const auto& item : items)
      made[reinterpret_steal<object>(make_caster<Key>::cast(item.key(), policy, parent))] =
          reinterpret_steal<object>(make_caster<Value>::cast(item.value(), policy, parent));
    return made.release();
  }
};

// A view of values that the caster holds for the length of the call.
template <class T>
struct type_caster<torch::ArrayRef<T>> {
  PYBIND11_TYPE_CASTER(torch::ArrayRef<T>,
                       const_name("collections.abc.Sequence[") + make_caster<T>::name + const_name("]"));

  bool load(handle source, bool convert) {
    make_caster<std::vector<T>> values;
    if (!values.load(source, convert)) return false;
    held_ = cast_op<std::vector<T>&&>(std::move(values));
    value = held_;
    return true;
  }
  static handle cast(torch::ArrayRef<T> v, return_value_policy policy, handle parent) {
    return make_caster<std::vector<T>>::cast(v.vec(), policy, parent);
  }

 private:
  std::vector<T> held_;
};

}  // namespace pybind11::detail
