// A step of an optimizer for many tensors in one launch. The formulas are those of the operators that torch.optim is
// written in, one after the other, without their way through memory; half types are rounded once, at the end.
#pragma once
#include <vector>

#include "torch/core/tensor.h"

namespace torch::cuda {

// How gradients come: of a scaled loss, and with a number that is not 0 where a step must not be made. Both may be
// undefined; else they are float32 of one element, on the device of the tensors.
struct Unscaling {
  Tensor scale, found_inf;
};

struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize, is_first;  // is_first: momentum buffers have no numbers yet
};
struct AdamStep {
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize, decoupled;
};

// lists[k][i] is the k-th tensor of parameter i: parameter, gradient, then its states. All of one device and dtype, of
// the same memory format, dense. SGD: momentum buffers, or none. Adam: both moments, and with amsgrad the largest
// second one; `counts` are numbers of steps, this one included, or one-element tensors of float32 that have them.
void step_sgd(const std::vector<std::vector<Tensor>>& lists, const SgdStep& step, const Unscaling& unscaling);
void step_adam(const std::vector<std::vector<Tensor>>& lists, const std::vector<double>& counts,
               const std::vector<Tensor>& counted, const AdamStep& step, const Unscaling& unscaling);

}  // namespace torch::cuda
