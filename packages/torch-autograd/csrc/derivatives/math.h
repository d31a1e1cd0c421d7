// What derivatives need beside arithmetic of tensors to be read as mathematics.
#pragma once
#include "torch/autograd/dims.h"
#include "torch/autograd/record.h"
#include "torch/core/arithmetic.h"

namespace torch::autograd {

// The conjugate; a real tensor itself.
Tensor conj(const Tensor& a);

Tensor square(const Tensor& a);

// g times the conjugate of a number, as the derivative of `number * x`.
Tensor scaled(const Tensor& g, const Scalar& s);

// Each element's neighbour along a dim: the one before (step -1) or behind it (step 1); `border` where there is none.
Tensor neighbour(const Tensor& a, int64_t dim, int step, double border);

}  // namespace torch::autograd
