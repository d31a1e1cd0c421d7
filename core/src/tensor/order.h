// The order of a tensor's dims in memory.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

// A fresh contiguous tensor takes the order of dims of another one of its shape, unless that repeats elements.
void keep_order(const Tensor& fresh, const Tensor& like);

}  // namespace torch
