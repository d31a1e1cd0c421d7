// One number of Python's kind: bool, int, float or complex.
#pragma once
#include <complex>
#include <cstdint>
#include <ostream>

#include "torch/core/dtype.h"

namespace torch {

class Scalar {
 public:
  enum class Kind : uint8_t { Bool, Int, UInt, Float, Complex };  // UInt: an int above INT64_MAX
  constexpr Scalar() noexcept : Scalar(int64_t(0)) {}
  constexpr Scalar(bool v) noexcept : i_(v), kind_(Kind::Bool) {}
  constexpr Scalar(int v) noexcept : i_(v), kind_(Kind::Int) {}
  constexpr Scalar(int64_t v) noexcept : i_(v), kind_(Kind::Int) {}
  constexpr Scalar(long long v) noexcept : i_(v), kind_(Kind::Int) {}
  constexpr Scalar(uint64_t v) noexcept : i_(int64_t(v)), kind_(v >> 63 ? Kind::UInt : Kind::Int) {}
  constexpr Scalar(float v) noexcept : d_(double(v)), kind_(Kind::Float) {}
  constexpr Scalar(double v) noexcept : d_(v), kind_(Kind::Float) {}
  constexpr Scalar(std::complex<double> v) noexcept : d_(v.real()), imag_(v.imag()), kind_(Kind::Complex) {}

  constexpr Kind kind() const noexcept { return kind_; }
  constexpr bool is_bool() const noexcept { return kind_ == Kind::Bool; }
  constexpr bool is_integral() const noexcept { return kind_ <= Kind::UInt; }  // bool included
  constexpr bool is_float() const noexcept { return kind_ == Kind::Float; }
  constexpr bool is_complex() const noexcept { return kind_ == Kind::Complex; }

  // Conversions as C++ converts, without a range check; `to<Complex>` of a real number has no imaginary part.
  constexpr double to_double() const noexcept {
    return kind_ == Kind::UInt ? double(uint64_t(i_)) : is_integral() ? double(i_) : d_;
  }
  constexpr int64_t to_int() const noexcept { return is_integral() ? i_ : int64_t(d_); }
  constexpr bool to_bool() const noexcept { return is_integral() ? i_ != 0 : d_ != 0 || imag_ != 0; }
  constexpr std::complex<double> to_complex() const noexcept { return {to_double(), is_complex() ? imag_ : 0.0}; }
  template <class T>
  T to() const noexcept {
    if constexpr (std::is_same_v<T, bool>)
      return to_bool();
    else if constexpr (std::is_integral_v<T>)
      return is_integral() ? T(i_) : T(int64_t(d_));
    else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
      return T(to_complex());
    else if constexpr (std::is_same_v<T, double>)
      return to_double();
    else
      return T(float(to_double()));
  }

  // The dtype that `torch.tensor(number)` has: bool, int64, the default dtype or its complex partner.
  DType dtype() const noexcept {
    switch (kind_) {
      case Kind::Bool:
        return DType::Bool;
      case Kind::Int:
        return DType::Int64;
      case Kind::UInt:
        return DType::UInt64;
      case Kind::Float:
        return default_dtype();
      case Kind::Complex:
        return complex_of(default_dtype());
    }
    __builtin_unreachable();
  }

 private:
  union {
    int64_t i_;
    double d_;
  };
  double imag_ = 0;
  Kind kind_;
};

TORCH_API std::ostream& operator<<(std::ostream&, const Scalar&);

}  // namespace torch
