// Recurrent layers in public operators: for gradients that have gradients, and for devices without a kernel.
#pragma once
#include <string_view>
#include <tuple>
#include <vector>

#include "torch/core/tensor.h"

namespace torch {

// What a step had and made, and what its gradient takes: the gates as they act, i f g o of an LSTM, r z n of a GRU with
// the state's part of n. Cells are those of an LSTM.
struct RecurrentStep {
  int64_t time;
  Tensor before, after, cell, new_cell;
  std::vector<Tensor> gates;
};

// The steps of `_recurrence` in the order in which they are taken.
TORCH_API std::vector<RecurrentStep> recurrent_steps(const Tensor& gates, const Tensor& hidden, const Tensor& cell,
                                                     const Tensor& weight, const Tensor& bias, std::string_view kind,
                                                     bool reverse);

// The gradients of gates, hidden, cell, weight and bias by those of the output and the last cell, of which one may be
// undefined.
TORCH_API std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> recurrent_gradients(std::vector<RecurrentStep> steps,
                                                                                 const Tensor& grad,
                                                                                 const Tensor& grad_last_cell,
                                                                                 const Tensor& weight,
                                                                                 std::string_view kind);

}  // namespace torch
