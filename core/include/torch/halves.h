// c10::Half and c10::BFloat16 as extensions compute in them: they take any number, `*out = a + b` rounds, and what two
// of a kind give is one again. torch::Half, which they are, asks for each rounding by name.
#pragma once
#include <concepts>
#include <type_traits>

#include "torch/core/dtype.h"
#include "torch/core/half.h"
#include "torch/core/methods.h"
#include "torch/core/scalar.h"

namespace torch::detail {

template <class Stored>
struct Rounded : Stored {
  Rounded() = default;
  constexpr Rounded(Stored value) noexcept : Stored(value) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Rounded(T value) noexcept : Stored(float(value)) {}

  // Templates of exact types: with any other number on one side, the built-in operators of float are meant.
  template <std::same_as<Rounded> A, std::same_as<Rounded> B>
  friend Rounded operator+(A a, B b) noexcept {
    return float(a) + float(b);
  }
  template <std::same_as<Rounded> A, std::same_as<Rounded> B>
  friend Rounded operator-(A a, B b) noexcept {
    return float(a) - float(b);
  }
  template <std::same_as<Rounded> A, std::same_as<Rounded> B>
  friend Rounded operator*(A a, B b) noexcept {
    return float(a) * float(b);
  }
  template <std::same_as<Rounded> A, std::same_as<Rounded> B>
  friend Rounded operator/(A a, B b) noexcept {
    return float(a) / float(b);
  }
  template <std::same_as<Rounded> A>
  friend Rounded operator-(A a) noexcept {
    return -float(a);
  }
  template <std::same_as<Rounded> A, std::same_as<Rounded> B>
  friend bool operator==(A a, B b) noexcept {
    return float(a) == float(b);
  }
  template <std::same_as<Rounded> A, std::same_as<Rounded> B>
  friend bool operator!=(A a, B b) noexcept {
    return float(a) != float(b);
  }
  template <std::same_as<Rounded> A, std::same_as<Rounded> B>
  friend bool operator<(A a, B b) noexcept {
    return float(a) < float(b);
  }
  template <std::same_as<Rounded> A, std::same_as<Rounded> B>
  friend bool operator<=(A a, B b) noexcept {
    return float(a) <= float(b);
  }
  template <std::same_as<Rounded> A, std::same_as<Rounded> B>
  friend bool operator>(A a, B b) noexcept {
    return float(a) > float(b);
  }
  template <std::same_as<Rounded> A, std::same_as<Rounded> B>
  friend bool operator>=(A a, B b) noexcept {
    return float(a) >= float(b);
  }
  operator Scalar() const noexcept { return float(*this); }
  operator Tensor() const { return number(float(*this)); }  // where an operator takes either
  Rounded& operator+=(float b) noexcept { return *this = float(*this) + b; }
  Rounded& operator-=(float b) noexcept { return *this = float(*this) - b; }
  Rounded& operator*=(float b) noexcept { return *this = float(*this) * b; }
  Rounded& operator/=(float b) noexcept { return *this = float(*this) / b; }
};

// A tensor and such a number: the operators of tensors know numbers of C++.
#define TORCH_WITH_TENSOR(OP)                         \
  template <std::same_as<Tensor> T, class Stored>     \
  Tensor operator OP(const T& a, Rounded<Stored> b) { \
    return a OP float(b);                             \
  }                                                   \
  template <class Stored, std::same_as<Tensor> T>     \
  Tensor operator OP(Rounded<Stored> a, const T& b) { \
    return float(a) OP b;                             \
  }
TORCH_WITH_TENSOR(+)
TORCH_WITH_TENSOR(-)
TORCH_WITH_TENSOR(*)
TORCH_WITH_TENSOR(/)
TORCH_WITH_TENSOR(==)
TORCH_WITH_TENSOR(!=)
TORCH_WITH_TENSOR(<)
TORCH_WITH_TENSOR(<=)
TORCH_WITH_TENSOR(>)
TORCH_WITH_TENSOR(>=)
#undef TORCH_WITH_TENSOR

}  // namespace torch::detail

namespace c10 {
using Half = torch::detail::Rounded<torch::Half>;
using BFloat16 = torch::detail::Rounded<torch::BFloat16>;
}  // namespace c10

namespace at {
using c10::BFloat16;
using c10::Half;
// What a kernel adds up in: the type itself, but for the half types.
template <class T>
struct OpMathType {
  using type = T;
};
template <class Stored>
struct OpMathType<torch::detail::Rounded<Stored>> {
  using type = float;
};
template <>
struct OpMathType<torch::Half> {
  using type = float;
};
template <>
struct OpMathType<torch::BFloat16> {
  using type = float;
};
template <class T>
using opmath_type = typename OpMathType<T>::type;
}  // namespace at

namespace torch {
template <class Stored>
struct DTypeOf<detail::Rounded<Stored>> : DTypeOf<Stored> {};
}  // namespace torch
