// Operators by name, called through all layers:
//
//   static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("mine::scaled", "").typed<at::Tensor(
//       const at::Tensor&, double)>();
//   op.call(x, 2.0);
//
// The call goes by torch.ops, in Python.
#pragma once
#include <optional>
#include <string>

#include "torch/extension.h"

namespace c10 {

struct OperatorName {
  std::string name, overload_name;
};

template <class F>
class TypedOperatorHandle;
template <class R, class... A>
class TypedOperatorHandle<R(A...)> {
 public:
  explicit TypedOperatorHandle(pybind11::handle op) : op_(op) {}
  R call(A... a) const {
    pybind11::gil_scoped_acquire gil;
    const pybind11::object found = op_(pybind11::cast(a)...);
    if constexpr (std::is_lvalue_reference_v<R>)
      return std::get<0>(std::tuple<A...>(std::forward<A>(a)...));  // what the operator wrote to
    else if constexpr (!std::is_void_v<R>)
      return found.cast<R>();
  }

 private:
  pybind11::handle op_;
};

class OperatorHandle {
 public:
  explicit OperatorHandle(pybind11::handle op) : op_(op) {}
  template <class F>
  TypedOperatorHandle<F> typed() const {
    return TypedOperatorHandle<F>(op_);
  }

 private:
  pybind11::handle op_;  // of an operator, which stays as long as the process
};

class Dispatcher {
 public:
  static Dispatcher& singleton() {
    static Dispatcher one;
    return one;
  }
  std::optional<OperatorHandle> findSchema(const OperatorName& name) const {
    namespace py = pybind11;
    py::gil_scoped_acquire gil;
    const size_t colons = name.name.find("::");
    TORCH_CHECK(colons != std::string::npos, "Dispatcher: an operator is named as namespace::name, got ", name.name);
    py::object at = py::module_::import("torch").attr("ops");
    const std::string overload = name.overload_name.empty() ? "default" : name.overload_name;
    for (const std::string& step : {name.name.substr(0, colons), name.name.substr(colons + 2), overload}) {
      at = py::getattr(at, step.c_str(), py::none());
      if (at.is_none()) return std::nullopt;
    }
    return OperatorHandle(at.release());
  }
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload_name) const {
    const std::optional<OperatorHandle> found = findSchema({name, overload_name});
    TORCH_CHECK(found, "Could not find schema for ", name, ".", overload_name);
    return *found;
  }
};

}  // namespace c10

namespace torch {
using c10::Dispatcher;
}
namespace at {
using c10::Dispatcher;
}
