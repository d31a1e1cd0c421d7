// One step of LSTM and GRU after its products: what their gates do, element by element, in one launch, and its
// derivative. Gates lie beside each other as weights have them: i, f, g, o of LSTM, r, z, n of GRU.
#pragma once
#include "torch/core/tensor.h"

namespace torch::cuda {

// x and h: (n, 4 size) and c: (n, size), contiguous, of one dtype; gates may have gaps between rows. Gives h', c' and
// the gates as they act, for the derivative.
struct LstmStep {
  Tensor h, c, acted;
};
LstmStep lstm_step(const Tensor& x, const Tensor& h, const Tensor& c);
// Of both gates, and of c. Gradients may be undefined.
struct LstmGradient {
  Tensor gates, c;
};
LstmGradient lstm_step_backward(const Tensor& grad_h, const Tensor& grad_c, const Tensor& acted, const Tensor& c,
                                const Tensor& new_c);

// x and h: (n, 3 size), before: (n, size). `acted`: r, z, n and what h gives to n.
struct GruStep {
  Tensor h, acted;
};
GruStep gru_step(const Tensor& x, const Tensor& h, const Tensor& before);
struct GruGradient {
  Tensor x, h, before;
};
GruGradient gru_step_backward(const Tensor& grad, const Tensor& acted, const Tensor& before);

}  // namespace torch::cuda
