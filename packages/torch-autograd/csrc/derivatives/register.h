// One function per family fills the Autograd slots of the family's operators.
#pragma once

namespace torch::autograd {

#define TORCH_FOR_EACH_DERIVATIVE_FAMILY(X) X(copy) X(activation) X(unary) X(binary) X(view) X(join) X(index) X(reduce) X(matmul) X(conv) \
  X(pooling) X(resample) X(norm) X(softmax) X(embedding) X(loss) X(random) X(not_differentiable)
#define X(family) void register_##family();
TORCH_FOR_EACH_DERIVATIVE_FAMILY(X)
#undef X

inline void register_derivatives() {
#define X(family) register_##family();
  TORCH_FOR_EACH_DERIVATIVE_FAMILY(X)
#undef X
}

}  // namespace torch::autograd
