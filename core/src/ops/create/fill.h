// Filling fresh memory without going through an operator.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

// Every element of a contiguous tensor becomes the value (converted); nothing on the Meta device.
void fill_contiguous(const Tensor& out, const Scalar& value);
void zero_contiguous(const Tensor& out);

// As empty_tensor, of sizes that the caller of `op` gave: an error is about that operator.
inline Tensor asked_tensor(const char* op, IntArrayRef sizes, DType dtype, Device device) {
  for (int64_t s : sizes)
    if (s < 0) checked_numel(op, sizes);
  return empty_tensor(sizes, dtype, device);
}

inline Tensor new_zeros_tensor(IntArrayRef sizes, DType dtype, Device device = {}) {
  Tensor out = empty_tensor(sizes, dtype, device);
  zero_contiguous(out);
  return out;
}

}  // namespace torch
