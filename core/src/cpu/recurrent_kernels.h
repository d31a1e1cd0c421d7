// What src/ops/recurrent.cpp calls of src/cpu/recurrent.cpp: a step of a recurrent layer, but for its product with the
// state. All arrays are contiguous; the gates of a row lie behind one another, each `size` numbers.
#pragma once
#include <cstdint>

#include "levels/isa.h"

namespace torch {

struct CellShape {
  int64_t rows, size;
};

template <class T>
struct RecurrentKernels {
  // `gates` are sums of what comes from input and state, but for `bias` (may be null), and become i, f, g and o as they
  // act: new_cell = f cell + i g, hidden = o tanh(new_cell).
  void (*lstm)(CellShape, const T* bias, const T* cell, T* gates, T* new_cell, T* hidden);
  // Takes the gradients of hidden and of new_cell, which becomes that of cell; writes that of the sums.
  void (*lstm_backward)(CellShape, const T* grad, const T* gates, const T* cell, const T* new_cell, T* grad_cell,
                        T* grad_gates);
  // Gates r, z and n: hidden = n + z (before - n) with n = tanh(of_input + r of_state). `acted` is written with r, z, n
  // and the state's part of n.
  void (*gru)(CellShape, const T* of_input, const T* of_state, const T* before, T* acted, T* hidden);
  // Takes the gradient of hidden, which becomes that part of the gradient of `before` that passes by the gates, and
  // `more` (may be null).
  void (*gru_backward)(CellShape, const T* acted, const T* before, const T* more, T* grad, T* grad_input,
                       T* grad_state);
  // hidden = f(hidden + bias), f being tanh or relu.
  void (*rnn)(CellShape, bool relu, const T* bias, T* hidden);
  void (*rnn_backward)(CellShape, bool relu, const T* grad, const T* hidden, T* grad_sum);
};

TORCH_PER_ISA(const RecurrentKernels<float>& recurrent_float(); const RecurrentKernels<double>& recurrent_double();)

}  // namespace torch
