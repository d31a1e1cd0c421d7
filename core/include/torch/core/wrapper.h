// Tensors that stand for others (Slot::Wrapped), where a composite has to look at values.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

// __torch_dispatch__: above the devices, beneath Wrapped and Autograd. Who is asked sees what is left of a call when
// derivatives are recorded, batches taken apart, and composites run.
constexpr Slot kDispatchSlot = Slot(4);

// Set by torch-autograd: the values of all examples that a tensor stands for (vmap), the primal of
// a dual number.
TORCH_API extern Tensor (*values_behind)(const Tensor& wrapper);
// Whether elements lie in the storage: also those of a wrapper that lies where the tensor within it does (dual
// numbers).
TORCH_API bool lies_in_memory(const Tensor& t);
// What a check that holds for each example has to look at.
inline Tensor all_values(const Tensor& t) { return t.has_memory() ? t : values_behind(t); }
// Before a decision, which can go only one way for all examples: RuntimeError names the operator.
TORCH_API void check_has_values(const char* op, const Tensor& t);

}  // namespace torch
