// What derivatives need beside arithmetic of tensors to be read as mathematics.
#pragma once
#include <cmath>

#include "torch/autograd/dims.h"
#include "torch/autograd/record.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/join.h"

namespace torch::autograd {

// The conjugate; a real tensor itself.
inline Tensor conj(const Tensor& a) { return is_complex(a.dtype()) ? torch::conj(a) : a; }

inline Tensor square(const Tensor& a) { return torch::mul(a, a); }

// g times the conjugate of a number, as the derivative of `number * x`.
inline Tensor scaled(const Tensor& g, const Scalar& s) {
  if (s.is_complex()) return g * Scalar(std::conj(s.to_complex()));
  return s.to_double() == 1 ? g : g * s;
}

// Each element's neighbour along a dim: the one before (step -1) or behind it (step 1); `border` where there is none.
inline Tensor neighbour(const Tensor& a, int64_t dim, int step, double border) {
  std::vector<int64_t> pad(size_t(2 * (a.dim() - dim)));  // from the last dim on, front and back
  pad[pad.size() - 2] = -step;
  pad[pad.size() - 1] = step;
  return torch::constant_pad_nd(a, pad, border);
}

}  // namespace torch::autograd
