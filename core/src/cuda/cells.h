// One step of a recurrent layer after its product: what its gates do, element by element, in one launch, and its
// derivative. Gates lie beside each other as weights have them: i, f, g, o of LSTM, r, z, n of GRU. All tensors are
// matrices of a row for each example, of one dtype, whose rows may have gaps between them; results are written where
// they are to be.
#pragma once
#include "torch/core/tensor.h"

namespace torch::cuda {

// x and h: gates of the input and of the state, (n, 4 size). acted, (n, 4 size): the gates as they act, for the
// derivative; undefined: not kept.
struct LstmStep {
  Tensor x, h, c, new_h, new_c, acted;
};
void lstm_step(const LstmStep&);
// Gradients of new_h, the sum of two, and of new_c may be undefined. Writes those of both gates, and of c, which may be
// where grad_c is.
struct LstmGradient {
  Tensor grad_h, more, grad_c, acted, c, new_c, of_gates, of_c;
};
void lstm_step_backward(const LstmGradient&);

// x and h: (n, 3 size). acted, (n, 4 size): r, z, n and what h gives to n.
struct GruStep {
  Tensor x, h, before, new_h, acted;
};
void gru_step(const GruStep&);
struct GruGradient {
  Tensor grad, more, acted, before, of_x, of_h, of_before;
};
void gru_step_backward(const GruGradient&);

// new_h = f(x + h), f being tanh or relu, and the gradient of the sum.
struct RnnStep {
  bool relu;
  Tensor x, h, new_h;
};
void rnn_step(const RnnStep&);
struct RnnGradient {
  bool relu;
  Tensor grad, more, new_h, of_sum;
};
void rnn_step_backward(const RnnGradient&);

}  // namespace torch::cuda
