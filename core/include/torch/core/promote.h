// Which dtype an operation on several tensors computes in.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

// The smallest dtype that holds both: bool < integers < floats < complex. Of a signed and an unsigned integer it is the
// next wider signed one; uint64 with a signed integer has none (ErrorKind::Runtime).
TORCH_API DType promote_types(DType a, DType b);

// As users know it from `torch.result_type`: tensors with dimensions decide; a 0-d tensor, and behind it a Python
// number, only counts when its category (bool, integer, float, complex) is higher.
TORCH_API DType result_type(TensorList tensors);
TORCH_API DType result_type(const Tensor& a, const Tensor& b);

// Whether an in-place operation may store a result of dtype `from` in a tensor of dtype `to`: not into a lower
// category.
TORCH_API bool can_cast(DType from, DType to) noexcept;

}  // namespace torch
