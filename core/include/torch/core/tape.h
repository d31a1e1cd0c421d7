// What a program asks of the tape. Set by torch-autograd; null without it, where nothing requires a gradient.
//
// A planned stretch of a program is one node: it computes its results past the tape, and says itself what the gradients
// of its inputs are.
#pragma once
#include <memory>
#include <vector>

#include "torch/core/tensor.h"

namespace torch {

struct OwnDerivative {
  virtual ~OwnDerivative() = default;
  // The gradients of the inputs, undefined where there is none, from those of the outputs, of which at least one is
  // defined. `saved` is what was given to record(), without what is saved for graphs.
  virtual std::vector<Tensor> gradients(const std::vector<Tensor>& saved, const std::vector<Tensor>& grads) const = 0;
  // For a pass that is itself recorded: the outputs again, one operator after the other, as they are computed without a
  // tape.
  virtual std::vector<Tensor> outputs(const std::vector<Tensor>& inputs) const = 0;
  // Which of the saved tensors an input is; -1: its values do not matter to any gradient.
  virtual int saved_input(size_t input) const = 0;
  // How many of the saved tensors, the last ones, only a pass that is itself recorded reads: until then they may
  // change.
  virtual size_t saved_for_graphs() const { return 0; }
};

struct Tape {
  // Makes `outputs` those of one node above `inputs`.
  void (*record)(std::shared_ptr<const OwnDerivative> of, TensorList inputs, TensorList saved,
                 std::vector<Tensor>& outputs);
  // Of the sum of outputs * grads, with respect to inputs; undefined where nothing arrives.
  std::vector<Tensor> (*gradients)(TensorList outputs, TensorList inputs, TensorList grads);
  // The same values as a tensor that requires a gradient and that nothing has made.
  Tensor (*leaf)(const Tensor& t);
};
extern TORCH_API const Tape* tape;

}  // namespace torch
