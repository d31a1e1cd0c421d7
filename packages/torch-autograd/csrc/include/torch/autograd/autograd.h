// Backward and gradients for C++ programs; Python's torch.autograd is a thin layer over this.
#pragma once
#include "torch/autograd/backward.h"

namespace torch::autograd {

// Sets the functions of all operators at the key Autograd. Call once before the first tensor requires a gradient;
// importing torch.autograd does it.
TORCH_API void init();

// Adds d(tensors)/d(leaf) to the .grad of each leaf; with `inputs` only to theirs. `grads` may be empty or hold
// undefined tensors for scalars. RuntimeError when a tensor has no graph or a gradient does not fit.
TORCH_API void backward(TensorList tensors, TensorList grads = {}, bool retain_graph = false, bool create_graph = false,
                        TensorList inputs = {});

// The gradients of the sum of `outputs` with respect to `inputs`, in their order. An input that nothing reaches is an
// error, or an undefined tensor with `allow_unused`.
TORCH_API std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList grads = {},
                                   bool retain_graph = false, bool create_graph = false, bool allow_unused = false);

}  // namespace torch::autograd
