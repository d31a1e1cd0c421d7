// What derivatives need beside arithmetic of tensors to be read as mathematics.
#pragma once
#include <cmath>

#include "torch/autograd/dims.h"
#include "torch/autograd/record.h"
#include "torch/core/arithmetic.h"

namespace torch::autograd {

// The conjugate; a real tensor itself.
inline Tensor conj(const Tensor& a) { return is_complex(a.dtype()) ? torch::conj(a) : a; }

inline Tensor square(const Tensor& a) { return torch::mul(a, a); }

// g times the conjugate of a number, as the derivative of `number * x`.
inline Tensor scaled(const Tensor& g, const Scalar& s) {
  if (s.is_complex()) return g * Scalar(std::conj(s.to_complex()));
  return s.to_double() == 1 ? g : g * s;
}

}  // namespace torch::autograd
