// Norms of many tensors at once: a launch for 64 of them, and another that puts their parts together.
#pragma once
#include <vector>

#include "torch/core/tensor.h"

namespace torch::cuda {

enum class NormOrder { One, Two, Infinite };
// One number for each tensor. Those are dense, of one floating dtype, and on one device.
Tensor norms_of(const std::vector<Tensor>& tensors, NormOrder order);

}  // namespace torch::cuda
