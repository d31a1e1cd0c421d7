// Lets tensors be written as mathematics in C++: 1 - 2 * sigmoid(x). A number yields in type promotion, as in Python.
#pragma once
#include "torch/core/ops/binary.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/unary.h"

namespace torch {

// A 0-d tensor that promotes like a Python number.
inline Tensor number(const Scalar& v) {
  return scalar_tensor_of(v,
                          v.is_complex() ? DType::Complex128
                          : v.is_float() ? DType::Float64
                          : v.is_bool()  ? DType::Bool
                                         : DType::Int64,
                          true);
}

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return true_divide(a, b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator+(const Tensor& a, const Scalar& b) { return add(a, number(b)); }
inline Tensor operator-(const Tensor& a, const Scalar& b) { return sub(a, number(b)); }
inline Tensor operator*(const Tensor& a, const Scalar& b) { return mul(a, number(b)); }
inline Tensor operator/(const Tensor& a, const Scalar& b) { return true_divide(a, number(b)); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return add(number(a), b); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return sub(number(a), b); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return mul(number(a), b); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return true_divide(number(a), b); }

}  // namespace torch
