// Out of line, so that what is written as mathematics does not compile again with the rows of these four families.
#include "torch/core/arithmetic.h"

#include "torch/core/ops/binary.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/unary.h"

namespace torch {

Tensor number(const Scalar& v) {
  return scalar_tensor_of(v,
                          v.is_complex() ? DType::Complex128
                          : v.is_float() ? DType::Float64
                          : v.is_bool()  ? DType::Bool
                                         : DType::Int64,
                          true);
}

Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return true_divide(a, b); }
Tensor operator-(const Tensor& a) { return neg(a); }
Tensor operator+(const Tensor& a, const Scalar& b) { return add(a, number(b)); }
Tensor operator-(const Tensor& a, const Scalar& b) { return sub(a, number(b)); }
Tensor operator*(const Tensor& a, const Scalar& b) { return mul(a, number(b)); }
Tensor operator/(const Tensor& a, const Scalar& b) { return true_divide(a, number(b)); }
Tensor operator+(const Scalar& a, const Tensor& b) { return add(number(a), b); }
Tensor operator-(const Scalar& a, const Tensor& b) { return sub(number(a), b); }
Tensor operator*(const Scalar& a, const Tensor& b) { return mul(number(a), b); }
Tensor operator/(const Scalar& a, const Tensor& b) { return true_divide(number(a), b); }

}  // namespace torch
