// The order of a tensor's dims in memory.
#pragma once
#include <vector>

#include "torch/core/tensor.h"

namespace torch {

// A fresh contiguous tensor takes the order of dims of another one of its shape, unless that repeats elements.
void keep_order(const Tensor& fresh, const Tensor& like);

// The strides of a memory format that puts the channels last; `op` is who refuses sizes that are not of 4 or 5 dims.
std::vector<int64_t> channels_last_strides(const char* op, IntArrayRef sizes, MemoryFormat format);

}  // namespace torch
