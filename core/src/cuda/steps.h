// A step of an optimizer for many tensors in one launch (step_kernel.h). The formulas are those of the operators that
// torch.optim is written in, one after the other, without their way through memory; half types are rounded once, at the
// end.
#pragma once
#include <map>
#include <string>
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

// Numbers that each parameter has of its own: the k-th of parameter i is values[k][i], or what on_device[k][i], float64
// of one element, has when the kernel runs; or all are made of counts[i], float32 of one element.
struct NumbersOfSteps {
  std::vector<std::vector<double>> values;
  std::vector<std::vector<Tensor>> on_device;
  std::vector<Tensor> counts;
};

// The other algorithms of torch.optim, by the names of their files. What all parameters share are numbers with names.
struct StepOptions {
  std::map<std::string, double, std::less<>> all;
  double operator[](const char* name) const;
};
struct AlgorithmOfSteps {
  const char* op;
  int states, own;  // at most so many lists of states, and as many numbers of each parameter
  void (*step)(const char* op, const std::vector<std::vector<Tensor>>& lists, const NumbersOfSteps& numbers,
               const StepOptions& options);
};
AlgorithmOfSteps algorithm_of_steps(const std::string& name);

}  // namespace torch::cuda
