// Operators that need no function of their own for sparse tensors, since zeros stay zeros.
#pragma once
#include "ops/sparse/sparse.h"
#include "torch/core/layer.h"

namespace torch {

// f(0) is 0, whatever numbers the call has behind its first argument.
bool keeps_zero(const Row& row, const Value* given);
// Whether all but the first argument are numbers, or dense tensors that stand for one.
bool is_alone(const Row& row, const Value* given);
// f(0, 0) is 0, of two tensors.
bool keeps_zero_pairs(const Row& row, const Value* given);

inline const Tensor& tensor_in(const Value& v) { return reinterpret_cast<const Tensor&>(v.tensor); }
[[noreturn]] void refuse_layout(const Row& row, const Tensor& t);

void register_sparse_layer();

}  // namespace torch
