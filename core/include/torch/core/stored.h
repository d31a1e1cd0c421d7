// One element of a dtype that only stores numbers (dtype.h).
#pragma once
#include "torch/core/dtype.h"
#include "torch/core/scalar.h"

namespace torch {

TORCH_API Scalar stored_value(DType t, const void* element) noexcept;

}  // namespace torch
