// Filling fresh memory without going through an operator.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

// Every element of a contiguous tensor becomes the value (converted); nothing on the Meta device.
void fill_contiguous(const Tensor& out, const Scalar& value);
void zero_contiguous(const Tensor& out);

inline Tensor new_zeros_tensor(IntArrayRef sizes, DType dtype, Device device = {}) {
  Tensor out = empty_tensor(sizes, dtype, device);
  zero_contiguous(out);
  return out;
}

}  // namespace torch
