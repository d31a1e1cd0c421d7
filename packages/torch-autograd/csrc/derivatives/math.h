// Lets derivatives be read as mathematics: g * (1 - result * result).
#pragma once
#include <cmath>

#include "torch/autograd/dims.h"
#include "torch/autograd/record.h"

namespace torch::autograd {

// A Python-like number: it yields in type promotion.
inline Tensor number(const Scalar& v) {
  return scalar_tensor_of(v,
                          v.is_complex() ? DType::Complex128
                          : v.is_float() ? DType::Float64
                          : v.is_bool()  ? DType::Bool
                                         : DType::Int64,
                          true);
}

inline Tensor operator+(const Tensor& a, const Tensor& b) { return torch::add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return torch::sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return torch::mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return torch::true_divide(a, b); }
inline Tensor operator-(const Tensor& a) { return torch::neg(a); }
inline Tensor operator+(const Tensor& a, double b) { return torch::add(a, number(b)); }
inline Tensor operator-(const Tensor& a, double b) { return torch::sub(a, number(b)); }
inline Tensor operator*(const Tensor& a, double b) { return torch::mul(a, number(b)); }
inline Tensor operator/(const Tensor& a, double b) { return torch::true_divide(a, number(b)); }
inline Tensor operator*(const Tensor& a, const Scalar& b) { return torch::mul(a, number(b)); }
inline Tensor operator+(double a, const Tensor& b) { return torch::add(b, number(a)); }
inline Tensor operator-(double a, const Tensor& b) { return torch::sub(number(a), b); }
inline Tensor operator*(double a, const Tensor& b) { return torch::mul(b, number(a)); }
inline Tensor operator/(double a, const Tensor& b) { return torch::true_divide(number(a), b); }

// The conjugate; a real tensor itself.
inline Tensor conj(const Tensor& a) { return is_complex(a.dtype()) ? torch::conj(a) : a; }

inline Tensor square(const Tensor& a) { return torch::mul(a, a); }

// g times the conjugate of a number, as the derivative of `number * x`.
inline Tensor scaled(const Tensor& g, const Scalar& s) {
  if (s.is_complex()) return g * Scalar(std::conj(s.to_complex()));
  return s.to_double() == 1 ? g : g * s;
}

}  // namespace torch::autograd
