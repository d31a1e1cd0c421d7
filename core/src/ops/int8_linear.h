// The kernel of the row `_int8_linear`, which the family of matrix products registers.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

Tensor int8_linear_kernel(const Tensor& input, const Tensor& weight, const Tensor& scale, const Tensor& bias);
// That of `_int8_dynamic`, under the name of either.
Tensor int8_product(const char* op, const Tensor& input, const Tensor& weight, const Tensor& scale, const Tensor& bias,
                    bool reduce_range);

// Whether bytes are the weight that `_int8_pack` makes for this input and these scales (quantized.cpp).
void check_packed_weight(const char* op, const Tensor& input, const Tensor& weight, const Tensor& scale,
                         const Tensor& bias);

}  // namespace torch
