// Convolutions of integers whose sums do not fit into a double: tap by tap, as products of integers.
#pragma once
#include "ops/conv/shape.h"
#include "torch/core/tensor.h"

namespace torch {

// As conv_forward and conv_backward_data of shape.h, with wrapping sums; `x` is (n, channels, sizes), with all three
// sizes, and so is the result. The weights have their taps in one dim: (outer, inner, taps).
Tensor whole_convolution(const ConvShape& shape, const Tensor& x, const Tensor& weight);
Tensor whole_convolution_transposed(const ConvShape& shape, const Tensor& x, const Tensor& weight);

}  // namespace torch
