// One direction of a recurrent layer over a sequence: checks and shapes, the products with the state, the order of the
// steps.
#include "torch/core/ops/recurrent.h"

#include <algorithm>
#include <string_view>

#include "blas/blas.h"
#include "cpu/recurrent_kernels.h"
#include "dispatch/register.h"
#include "dispatch/work.h"
#include "iterate/dense.h"
#include "ops/norm.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"
#include "torch/core/recurrence.h"

namespace torch {

namespace {

enum class Kind : uint8_t { Lstm, Gru, Tanh, Relu };

struct Sequence {
  Kind kind;
  int64_t steps, batch, size;
  bool reverse;

  int64_t gates() const noexcept { return (kind == Kind::Lstm ? 4 : kind == Kind::Gru ? 3 : 1) * size; }
  int64_t acted() const noexcept { return kind == Kind::Lstm || kind == Kind::Gru ? 4 * size : 0; }
  int64_t state() const noexcept { return batch * size; }
  CellShape cell() const noexcept { return {batch, size}; }
  bool is_relu() const noexcept { return kind == Kind::Relu; }
  // The place in time of a step, in the order in which they are taken.
  int64_t at(int64_t step) const noexcept { return reverse ? steps - 1 - step : step; }
  // States and cells lie in the order of time, one more than steps: the first before those of the sequence, or behind
  // them where it is gone through from its end. So each step's state before it lies `before` places from its own.
  int64_t before(int64_t time) const noexcept { return time + (reverse ? 1 : 0); }
  int64_t after(int64_t time) const noexcept { return time + (reverse ? 0 : 1); }
};

Kind kind_of(const char* op, std::string_view kind) {
  if (kind == "LSTM") return Kind::Lstm;
  if (kind == "GRU") return Kind::Gru;
  if (kind == "RNN_TANH") return Kind::Tanh;
  TORCH_CHECK_VALUE(kind == "RNN_RELU", op, ": kind must be LSTM, GRU, RNN_TANH or RNN_RELU, got '", kind, "'");
  return Kind::Relu;
}

void check_like(const char* op, const char* which, const Tensor& t, IntArrayRef sizes, DType dtype) {
  TORCH_CHECK(t.sizes() == sizes, op, ": expected ", which, " of size ", sizes, ", got ", t.sizes());
  TORCH_CHECK(t.dtype() == dtype, op, ": expected ", which, " of ", dtype, " as the others, got ", t.dtype());
}

Sequence sequence_of(const char* op, const Tensor& gates, const Tensor& hidden, const Tensor& cell,
                     const Tensor& weight, const Tensor& bias, std::string_view kind, bool reverse) {
  const DType dtype = gates.dtype();
  TORCH_CHECK_IMPLEMENTED(dtype == DType::Float32 || dtype == DType::Float64, op,
                          ": takes gates of float32 or float64, got ", dtype);
  TORCH_CHECK(gates.dim() == 3 && hidden.dim() == 2, op, ": expected gates (T, N, G) and hidden (N, H), got ",
              gates.sizes(), " and ", hidden.sizes());
  Sequence s{kind_of(op, kind), gates.size(0), hidden.size(0), hidden.size(1), reverse};
  TORCH_CHECK(s.steps > 0, op, ": expected a sequence of at least one step, got gates ", gates.sizes());
  check_like(op, "gates", gates, {s.steps, s.batch, s.gates()}, dtype);
  check_like(op, "hidden", hidden, {s.batch, s.size}, dtype);
  check_like(op, "weight", weight, {s.gates(), s.size}, dtype);
  TORCH_CHECK(bool(cell) == (s.kind == Kind::Lstm), op, ": a cell belongs to LSTM, and kind is ", kind);
  if (cell) check_like(op, "cell", cell, {s.batch, s.size}, dtype);
  if (bias) check_like(op, "bias", bias, {s.gates()}, dtype);
  return s;
}

template <class T>
const T* data_or_null(const Tensor& t) {
  return t ? t.data<T>() : nullptr;
}

template <class T>
struct Forward {
  const Sequence& s;
  const RecurrentKernels<T>& kernels;
  const T *gates, *bias;
  MatrixView<const T> weight;  // (H, G)

  // One step from the state `h` (and `c`), whose parts are written where they are to stay.
  void step(int64_t time, const T* h, const T* c, T* acted, T* sums, T* new_c, T* new_h) const {
    const int64_t n = s.gates();
    const T* x = gates + time * s.batch * n;
    const MatrixView<const T> state{h, s.size, 1};
    if (s.kind == Kind::Gru) {
      const MatrixView<const T> b{bias, 0, 1};
      gemm<T>(s.batch, n, s.size, T(1), state, weight, T(bias ? 1 : 0), b, {sums, n, 1});
      kernels.gru(s.cell(), x, sums, h, acted, new_h);
      return;
    }
    T* const sum = s.kind == Kind::Lstm ? acted : new_h;
    gemm<T>(s.batch, n, s.size, T(1), state, weight, T(1), {x, n, 1}, {sum, n, 1});
    if (s.kind == Kind::Lstm)
      kernels.lstm(s.cell(), bias, c, acted, new_c, new_h);
    else
      kernels.rnn(s.cell(), s.is_relu(), bias, new_h);
  }
};

using Five = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

bool has_kernels(const Tensor& t) { return t.is_meta() || t.device().type == DeviceType::CPU; }

Five forward_by_operators(const Sequence& s, const Tensor& gates, const Tensor& hidden, const Tensor& cell,
                          const Tensor& weight, const Tensor& bias, std::string_view kind, bool keep) {
  std::vector<RecurrentStep> steps = recurrent_steps(gates, hidden, cell, weight, bias, kind, s.reverse);
  const auto made = [&](IntArrayRef sizes) { return empty_tensor(sizes, gates.dtype(), gates.device()); };
  const Tensor last_cell = cell ? clone(steps.back().new_cell) : made({0, s.size}), last = steps.back().after,
               last_of_cells = steps.back().new_cell;
  if (s.reverse) std::reverse(steps.begin(), steps.end());
  std::vector<Tensor> outputs, states, cells, acted;
  for (const RecurrentStep& step : steps) {
    outputs.push_back(step.after), states.push_back(step.before);
    if (cell) cells.push_back(step.cell);
    if (s.acted()) acted.push_back(cat(step.gates, 1));
  }
  const auto with = [&](std::vector<Tensor>& before, const Tensor& end) {
    before.insert(s.reverse ? before.begin() : before.end(), end);
    return stack(before);
  };
  return {stack(outputs), last_cell, keep ? with(states, last) : made({0, s.batch, s.size}),
          keep && cell ? with(cells, last_of_cells) : made({0, s.batch, s.size}),
          keep && s.acted() ? stack(acted) : made({keep ? s.steps : 0, s.batch, s.acted()})};
}

Five backward_by_operators(const Sequence& s, const Tensor& grad, const Tensor& grad_last_cell, const Tensor& weight,
                           const Tensor& states, const Tensor& cells, const Tensor& acted, std::string_view kind) {
  std::vector<RecurrentStep> steps;
  for (int64_t i = 0; i < s.steps; ++i) {
    const int64_t t = s.at(i);
    RecurrentStep step{t, select(states, 0, s.before(t)), select(states, 0, s.after(t)), {}, {}, {}};
    if (s.kind == Kind::Lstm) step.cell = select(cells, 0, s.before(t)), step.new_cell = select(cells, 0, s.after(t));
    if (s.acted()) step.gates = chunk(select(acted, 0, t), 4, 1);
    steps.push_back(std::move(step));
  }
  auto [of_gates, of_hidden, of_cell, of_weight, of_bias] =
      recurrent_gradients(std::move(steps), grad, grad_last_cell, weight, kind);
  if (!of_cell) of_cell = empty_tensor({0, s.size}, weight.dtype(), weight.device());
  return {of_gates, of_hidden, of_cell, of_weight, of_bias};
}

Five forward(const Tensor& gates, const Tensor& hidden, const Tensor& cell, const Tensor& weight, const Tensor& bias,
             std::string_view kind, bool reverse, bool keep) {
  const Sequence s = sequence_of("_recurrence", gates, hidden, cell, weight, bias, kind, reverse);
  const DType dtype = gates.dtype();
  if (!has_kernels(gates)) return forward_by_operators(s, gates, hidden, cell, weight, bias, kind, keep);
  const auto made = [&](IntArrayRef sizes) { return empty_tensor(sizes, dtype, gates.device()); };
  const bool has_cell = s.kind == Kind::Lstm;
  const int64_t kept = keep ? s.steps + 1 : 0;
  Tensor output = made({s.steps, s.batch, s.size}), last_cell = made({has_cell ? s.batch : 0, s.size}),
         states = made({kept, s.batch, s.size}), cells = made({has_cell ? kept : 0, s.batch, s.size}),
         acted = made({keep ? s.steps : 0, s.batch, s.acted()});
  if (gates.is_meta() || output.numel() == 0) return {output, last_cell, states, cells, acted};
  const Tensor x = as_contiguous(gates, dtype), h = as_contiguous(hidden, dtype),
               c = cell ? as_contiguous(cell, dtype) : Tensor(), b = bias ? as_contiguous(bias, dtype) : Tensor();
  // A product of several rows reads a matrix fastest along its rows, so that the steps share one transpose.
  const bool turned = s.batch > 1 && s.steps > 1;
  const Tensor w = as_contiguous(turned ? transpose(weight, 0, 1) : weight, dtype);
  const Tensor sums = made({s.batch, s.kind == Kind::Gru ? s.gates() : 0}),
               passing = made({s.batch, keep ? 0 : s.acted()}),
               two = made({has_cell && !keep ? 2 : 0, s.batch, s.size});
  as_float(dtype, [&](auto zero) {
    using T = decltype(zero);
    const MatrixView<const T> rows{w.data<T>(), turned ? s.gates() : s.size, 1};
    const Forward<T> run{s, *work<RecurrentKernels<T>>.on(output), x.data<T>(), data_or_null<T>(b),
                         turned ? rows : rows.transposed()};
    const int64_t n = s.state();
    const T *h_before = h.data<T>(), *c_before = data_or_null<T>(c);
    for (int64_t step = 0; step < s.steps; ++step) {
      const int64_t t = s.at(step);
      T* const new_h = output.data<T>() + t * n;
      T* const new_c = !has_cell ? nullptr : keep ? cells.data<T>() + s.after(t) * n : two.data<T>() + step % 2 * n;
      T* const gates_here = keep ? acted.data<T>() + t * s.batch * s.acted() : passing.data<T>();
      run.step(t, h_before, c_before, gates_here, sums.data<T>(), new_c, new_h);
      h_before = new_h, c_before = new_c;
    }
    if (has_cell) std::copy_n(c_before, n, last_cell.data<T>());
    if (keep) {  // apart from the output, which whoever has it may change
      const int64_t first = s.before(s.at(0));
      std::copy_n(h.data<T>(), n, states.data<T>() + first * n);
      std::copy_n(output.data<T>(), s.steps * n, states.data<T>() + s.after(0) * n);
      if (has_cell) std::copy_n(c.data<T>(), n, cells.data<T>() + first * n);
    }
  });
  return {output, last_cell, states, cells, acted};
}

Five backward(const Tensor& grad, const Tensor& grad_last_cell, const Tensor& weight, const Tensor& states,
              const Tensor& cells, const Tensor& acted, std::string_view kind, bool reverse) {
  constexpr const char* op = "_recurrence_backward";
  TORCH_CHECK(states.dim() == 3 && states.size(0) > 1, op,
              ": needs what _recurrence keeps with keep=True: states of size (T + 1, N, H), got ", states.sizes());
  const Sequence s{kind_of(op, kind), states.size(0) - 1, states.size(1), states.size(2), reverse};
  const DType dtype = states.dtype();
  const bool has_cell = s.kind == Kind::Lstm;
  check_like(op, "weight", weight, {s.gates(), s.size}, dtype);
  check_like(op, "acted", acted, {s.steps, s.batch, s.acted()}, dtype);
  check_like(op, "cells", cells, {has_cell ? s.steps + 1 : 0, s.batch, s.size}, dtype);
  if (grad) check_like(op, "grad", grad, {s.steps, s.batch, s.size}, dtype);
  if (grad_last_cell) check_like(op, "grad_last_cell", grad_last_cell, {has_cell ? s.batch : 0, s.size}, dtype);
  if (!has_kernels(states)) return backward_by_operators(s, grad, grad_last_cell, weight, states, cells, acted, kind);
  const auto made = [&](IntArrayRef sizes) { return empty_tensor(sizes, dtype, states.device()); };
  Tensor grad_gates = made({s.steps, s.batch, s.gates()}), grad_hidden = made({s.batch, s.size}),
         grad_cell = made({has_cell ? s.batch : 0, s.size}), grad_weight = made({s.gates(), s.size});
  // Of GRU, whose gates of the state are scaled before they meet those of the input.
  const Tensor grad_state = s.kind == Kind::Gru ? made({s.steps, s.batch, s.gates()}) : grad_gates;
  const auto of_bias = [&] { return sum(reshape(grad_state, {s.steps * s.batch, s.gates()}), IntArrayRef{0}); };
  if (grad_gates.is_meta()) return {grad_gates, grad_hidden, grad_cell, grad_weight, made({s.gates()})};
  as_float(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto clear = [](const Tensor& t) { std::fill_n(t.data<T>(), t.numel(), T(0)); };
    clear(grad_hidden), clear(grad_cell);
    if (grad_gates.numel() == 0) return clear(grad_weight);
    const RecurrentKernels<T>& kernels = *work<RecurrentKernels<T>>.on(grad_gates);
    const Tensor w = as_contiguous(weight, dtype), of_output = grad ? as_contiguous(grad, dtype) : Tensor(),
                 h = as_contiguous(states, dtype), c = as_contiguous(cells, dtype), a = as_contiguous(acted, dtype);
    const int64_t n = s.state(), g = s.gates(), wide = s.batch * g;
    const auto given = [&](int64_t step) {  // the gradient of a step's own output
      return of_output && step >= 0 ? of_output.data<T>() + s.at(step) * n : nullptr;
    };
    T* const dh = grad_hidden.data<T>();
    if (const T* own = given(s.steps - 1)) std::copy_n(own, n, dh);
    if (grad_last_cell) std::copy_n(as_contiguous(grad_last_cell, dtype).data<T>(), n, grad_cell.data<T>());
    for (int64_t step = s.steps - 1; step >= 0; --step) {
      const int64_t t = s.at(step);
      T *const dx = grad_gates.data<T>() + t * wide, *const ds = grad_state.data<T>() + t * wide;
      const T *const before = h.data<T>() + s.before(t) * n, *const after = h.data<T>() + s.after(t) * n,
                     *const gates = a.data<T>() + t * s.batch * s.acted(), *more = given(step - 1);
      if (has_cell) {
        kernels.lstm_backward(s.cell(), dh, gates, c.data<T>() + s.before(t) * n, c.data<T>() + s.after(t) * n,
                              grad_cell.data<T>(), dx);
      } else if (s.kind == Kind::Gru) {
        kernels.gru_backward(s.cell(), gates, before, more, dh, dx, ds);
        more = dh;
      } else {
        kernels.rnn_backward(s.cell(), s.is_relu(), dh, after, dx);
      }
      gemm<T>(s.batch, s.size, g, T(1), {ds, g, 1}, {w.data<T>(), s.size, 1}, T(more ? 1 : 0), {more, s.size, 1},
              {dh, s.size, 1});
    }
    const MatrixView<const T> rows{grad_state.data<T>(), g, 1};
    gemm<T>(g, s.size, s.steps * s.batch, T(1), rows.transposed(), {h.data<T>() + s.before(0) * n, s.size, 1}, T(0), {},
            {grad_weight.data<T>(), s.size, 1});
  });
  return {grad_gates, grad_hidden, grad_cell, grad_weight, of_bias()};
}

}  // namespace

void register_recurrent() {
  set_native<op::_recurrence>(forward);
  set_native<op::_recurrence_backward>(backward);
}

}  // namespace torch
