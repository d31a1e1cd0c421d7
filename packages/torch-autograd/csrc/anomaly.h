// Anomaly mode: errors of a derivative are told with the stack of the operation it belongs to, and nan is an error.
#pragma once
#include "torch/autograd/backward.h"

namespace torch::autograd {

void apply_watched(Node& n, Backward& b);
void check_nan(const Node& n, uint32_t input, const Tensor& g);  // RuntimeError names the node

}  // namespace torch::autograd
