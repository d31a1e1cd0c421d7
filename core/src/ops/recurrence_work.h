// What the operators `_recurrence` and `_recurrence_backward` have done for them, once operands are known to fit each
// other: the CPU goes through the steps with kernels of its own, a plug-in may take them whole, and other devices
// compose them of operators.
#pragma once
#include <cstdint>
#include <tuple>

#include "cpu/recurrent_kernels.h"
#include "torch/core/tensor.h"

namespace torch {

enum class RecurrenceKind : uint8_t { Lstm, Gru, Tanh, Relu };

struct Recurrence {
  RecurrenceKind kind;
  int64_t steps, batch, size;
  bool reverse;

  bool is_lstm() const noexcept { return kind == RecurrenceKind::Lstm; }
  bool is_gru() const noexcept { return kind == RecurrenceKind::Gru; }
  bool is_relu() const noexcept { return kind == RecurrenceKind::Relu; }
  int64_t gates() const noexcept { return (is_lstm() ? 4 : is_gru() ? 3 : 1) * size; }
  int64_t acted() const noexcept { return is_lstm() || is_gru() ? 4 * size : 0; }
  int64_t state() const noexcept { return batch * size; }
  CellShape cell() const noexcept { return {batch, size}; }
  // The place in time of a step, in the order in which they are taken.
  int64_t at(int64_t step) const noexcept { return reverse ? steps - 1 - step : step; }
  // States and cells lie in the order of time, one more than steps: the first before those of the sequence, or behind
  // them where it is gone through from its end. So each step's state before it lies `before` places from its own.
  int64_t before(int64_t time) const noexcept { return time + (reverse ? 1 : 0); }
  int64_t after(int64_t time) const noexcept { return time + (reverse ? 0 : 1); }
};

// All contiguous, of one dtype and device. Undefined: a bias that is 0, the cell of what is no LSTM.
struct RecurrenceCall {
  Tensor gates, hidden, cell, weight, bias;
  // To be written. The first is (T, N, H), last_cell of an LSTM (N, H). With `keep`, states and cells (T + 1, N, H) and
  // acted (T, N, 4 H), what the gradient takes; else empty.
  Tensor output, last_cell, states, cells, acted;
  bool keep;
};
// Undefined: a gradient that is 0.
struct RecurrenceGradientCall {
  Tensor grad, grad_last_cell, weight, states, cells, acted;
};
// Of gates, hidden, cell, weight and bias.
using RecurrenceGradients = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

struct RecurrenceWork {
  void (*forward)(const Recurrence&, const RecurrenceCall&);
  RecurrenceGradients (*backward)(const Recurrence&, const RecurrenceGradientCall&);
};
extern const RecurrenceWork recurrence_on_cpu, recurrence_by_operators;

// Writes states, and of an LSTM the first cell, of a pass that has written the output.
TORCH_API void keep_states(const Recurrence&, const RecurrenceCall&);
// The gradients of weight and bias by those of the gates that come from the state.
TORCH_API std::tuple<Tensor, Tensor> recurrence_weights(const Recurrence&, const Tensor& grad_state,
                                                        const Tensor& states);

}  // namespace torch
