// Tensors that stand for others (Slot::Wrapped), where a composite has to look at values.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

// Set by torch-autograd: the values of all examples that a tensor stands for (vmap).
TORCH_API extern Tensor (*values_behind)(const Tensor& wrapper);
// What a check that holds for each example has to look at.
inline Tensor all_values(const Tensor& t) { return t.has_memory() ? t : values_behind(t); }
// Before a decision, which can go only one way for all examples: RuntimeError names the operator.
TORCH_API void check_has_values(const char* op, const Tensor& t);

}  // namespace torch
