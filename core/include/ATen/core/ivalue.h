// c10::IValue, and the tuples that it may hold.
#pragma once
#include "torch/core/methods.h"  // before what includes tensor.h
//
#include <string>
#include <variant>
#include <vector>

#include "ATen/core/List.h"
#include "c10/util/intrusive_ptr.h"
#include "torch/aten.h"

namespace c10::ivalue {
struct Tuple;
}

namespace torch {

// A value of any of the kinds that programs have: what a context's saved_data holds.
class IValue {
 public:
  IValue() = default;
  IValue(bool v) : value_(v) {}
  IValue(double v) : value_(v) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  IValue(T v) : value_(int64_t(v)) {}
  IValue(const char* v) : value_(std::string(v)) {}
  IValue(std::string v) : value_(std::move(v)) {}
  IValue(Tensor v) : value_(std::move(v)) {}
  IValue(IntArrayRef v) : value_(std::vector<int64_t>(v.begin(), v.end())) {}
  IValue(std::vector<int64_t> v) : value_(std::move(v)) {}
  IValue(std::vector<double> v) : value_(std::move(v)) {}
  IValue(std::vector<Tensor> v) : value_(std::move(v)) {}
  IValue(c10::intrusive_ptr<c10::ivalue::Tuple> v) : value_(std::move(v)) {}
  template <class T>
    requires std::is_constructible_v<IValue, std::vector<T>>
  IValue(const c10::List<T>& v) : IValue(v.vec()) {}
  IValue(const Scalar& v) {
    if (v.is_integral())
      value_ = v.to_int();
    else
      value_ = v.to_double();
  }
  template <class T>
  IValue(const std::optional<T>& v) {
    if (v) *this = IValue(*v);
  }

  bool isNone() const { return is<std::monostate>(); }
  bool isBool() const { return is<bool>(); }
  bool isInt() const { return is<int64_t>(); }
  bool isDouble() const { return is<double>(); }
  bool isString() const { return is<std::string>(); }
  bool isTensor() const { return is<Tensor>(); }
  bool isScalar() const { return isBool() || isInt() || isDouble(); }
  bool isIntList() const { return is<std::vector<int64_t>>(); }
  bool isDoubleList() const { return is<std::vector<double>>(); }
  bool isTensorList() const { return is<std::vector<Tensor>>(); }
  bool isTuple() const { return is<c10::intrusive_ptr<c10::ivalue::Tuple>>(); }
  bool toBool() const { return get<bool>("a bool"); }
  int64_t toInt() const { return get<int64_t>("an int"); }
  double toDouble() const { return get<double>("a double"); }
  ScalarOfPrograms toScalar() const {
    return isBool() ? Scalar(toBool()) : isInt() ? Scalar(toInt()) : Scalar(toDouble());
  }
  const std::string& toStringRef() const { return get<std::string>("a string"); }
  const Tensor& toTensor() const { return get<Tensor>("a tensor"); }
  const std::vector<int64_t>& toIntVector() const { return get<std::vector<int64_t>>("a list of ints"); }
  c10::List<int64_t> toIntList() const { return toIntVector(); }
  c10::List<Tensor> toTensorList() const { return toTensorVector(); }
  const c10::intrusive_ptr<c10::ivalue::Tuple>& toTuple() const {
    return get<c10::intrusive_ptr<c10::ivalue::Tuple>>("a tuple");
  }
  const c10::ivalue::Tuple& toTupleRef() const { return *toTuple(); }
  const std::vector<double>& toDoubleVector() const { return get<std::vector<double>>("a list of doubles"); }
  const std::vector<Tensor>& toTensorVector() const { return get<std::vector<Tensor>>("a list of tensors"); }
  // What `f` gives for the value of its own type; std::monostate stands for None.
  template <class F>
  auto visit(const F& f) const {
    return std::visit(f, value_);
  }
  template <class T>
  T to() const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return T(toInt());
    else if constexpr (std::is_floating_point_v<T>)
      return T(toDouble());
    else
      return get<T>("of this type");
  }

 private:
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  template <class T>
  const T& get(const char* wanted) const {
    constexpr const char* kNames[] = {"None",
                                      "a bool",
                                      "an int",
                                      "a double",
                                      "a string",
                                      "a tensor",
                                      "a list of ints",
                                      "a list of doubles",
                                      "a list of tensors",
                                      "a tuple"};
    TORCH_CHECK(is<T>(), "IValue: it is ", kNames[value_.index()], ", and not ", wanted);
    return std::get<T>(value_);
  }
  std::variant<std::monostate, bool, int64_t, double, std::string, Tensor, std::vector<int64_t>, std::vector<double>,
               std::vector<Tensor>, c10::intrusive_ptr<c10::ivalue::Tuple>>
      value_;
};

}  // namespace torch

namespace c10 {
using torch::IValue;
}

namespace c10::ivalue {
struct Tuple : intrusive_ptr_target {
  explicit Tuple(std::vector<IValue> elements) : elements_(std::move(elements)) {}
  static intrusive_ptr<Tuple> create(std::vector<IValue> elements) {
    return make_intrusive<Tuple>(std::move(elements));
  }
  const std::vector<IValue>& elements() const { return elements_; }
  size_t size() const { return elements_.size(); }

 private:
  std::vector<IValue> elements_;
};
}  // namespace c10::ivalue
