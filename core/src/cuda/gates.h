// What the gates of recurrent layers are bent by.
#pragma once
#include "cuda/formula_kernels.h"
#include "kernels/unary.h"

namespace torch::cuda {

template <class N>
TORCH_VEC_INLINE N sigmoid_of(N x) {
  return N(evaluate<formula::sigmoid>(&x, x));
}
template <class N>
TORCH_VEC_INLINE N tanh_of(N x) {
  return N(evaluate<formula::tanh>(&x, x));
}

}  // namespace torch::cuda
