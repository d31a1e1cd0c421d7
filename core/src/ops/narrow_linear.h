// The kernel of the row `_narrow_linear`, which the family of quantized operators registers.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

Tensor narrow_linear_kernel(const Tensor& input, const Tensor& weight, const Tensor& scale, int64_t group);

}  // namespace torch
