// Tensors that stand for others (DispatchKey::Wrapped), where a composite has to look at values.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

// Set by torch-autograd: the values of all examples that a tensor stands for (vmap), the primal of
// a dual number.
TORCH_API extern Tensor (*values_behind)(const Tensor& wrapper);
// Whether elements lie in the storage: also those of a wrapper that lies where the tensor within it does (dual
// numbers).
TORCH_API bool lies_in_memory(const Tensor& t);
// Set by torch-autograd: the tensor within, where it is one and no batch (functionalize); else undefined.
TORCH_API extern Tensor (*value_behind)(const Tensor& wrapper);
// The tensor to read values from in place of `t`: itself, or the one that it stands for; undefined where those are
// many.
TORCH_API Tensor readable(const Tensor& t);
// What a check that holds for each example has to look at.
inline Tensor all_values(const Tensor& t) { return t.has_memory() ? t : values_behind(t); }
// The same for a decision, which can go only one way for all examples: RuntimeError names the operator.
TORCH_API Tensor values_to_read(const char* op, const Tensor& t);

}  // namespace torch
