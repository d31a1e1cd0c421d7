// One function per family sets the functions of the family's operators at the key Autograd.
#pragma once

namespace torch::autograd {

#define TORCH_FOR_EACH_DERIVATIVE_FAMILY(X) \
  X(activation)                             \
  X(attention)                              \
  X(binary)                                 \
  X(conv)                                   \
  X(copy)                                   \
  X(distance)                               \
  X(embedding)                              \
  X(fft)                                    \
  X(index)                                  \
  X(join)                                   \
  X(linalg_functions)                       \
  X(linalg_lu)                              \
  X(linalg_qr)                              \
  X(linalg_spectral)                        \
  X(loss)                                   \
  X(matmul)                                 \
  X(norm)                                   \
  X(pooling)                                \
  X(random)                                 \
  X(recurrent)                              \
  X(reduce)                                 \
  X(resample)                               \
  X(scan)                                   \
  X(scatter)                                \
  X(softmax)                                \
  X(sparse)                                 \
  X(special)                                \
  X(unary)                                  \
  X(view)                                   \
  X(not_differentiable)

#define X(family) void register_##family();
TORCH_FOR_EACH_DERIVATIVE_FAMILY(X)
#undef X

inline void register_derivatives() {
#define X(family) register_##family();
  TORCH_FOR_EACH_DERIVATIVE_FAMILY(X)
#undef X
}

}  // namespace torch::autograd
