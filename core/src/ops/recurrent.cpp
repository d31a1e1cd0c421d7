// One direction of a recurrent layer over a sequence: checks and shapes, and what the CPU does, the products with the
// state and the order of the steps.
#include "torch/core/ops/recurrent.h"

#include <algorithm>
#include <string_view>

#include "blas/blas.h"
#include "cpu/gemm_kernels.h"
#include "cpu/recurrent_kernels.h"
#include "dispatch/register.h"
#include "dispatch/work.h"
#include "iterate/dense.h"
#include "ops/norm.h"
#include "ops/recurrence_work.h"
#include "storage/forms.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

RecurrenceKind kind_of(const char* op, std::string_view kind) {
  if (kind == "LSTM") return RecurrenceKind::Lstm;
  if (kind == "GRU") return RecurrenceKind::Gru;
  if (kind == "RNN_TANH") return RecurrenceKind::Tanh;
  TORCH_CHECK_VALUE(kind == "RNN_RELU", op, ": kind must be LSTM, GRU, RNN_TANH or RNN_RELU, got '", kind, "'");
  return RecurrenceKind::Relu;
}

void check_like(const char* op, const char* which, const Tensor& t, IntArrayRef sizes, DType dtype) {
  TORCH_CHECK(t.sizes() == sizes, op, ": expected ", which, " of size ", sizes, ", got ", t.sizes());
  TORCH_CHECK(t.dtype() == dtype, op, ": expected ", which, " of ", dtype, " as the others, got ", t.dtype());
}

Recurrence sequence_of(const char* op, const Tensor& gates, const Tensor& hidden, const Tensor& cell,
                       const Tensor& weight, const Tensor& bias, std::string_view kind, bool reverse) {
  const DType dtype = gates.dtype();
  TORCH_CHECK_IMPLEMENTED(is_floating(dtype), op, ": takes gates of floating point, got ", dtype);
  TORCH_CHECK(gates.dim() == 3 && hidden.dim() == 2, op, ": expected gates (T, N, G) and hidden (N, H), got ",
              gates.sizes(), " and ", hidden.sizes());
  Recurrence s{kind_of(op, kind), gates.size(0), hidden.size(0), hidden.size(1), reverse};
  TORCH_CHECK(s.steps > 0, op, ": expected a sequence of at least one step, got gates ", gates.sizes());
  check_like(op, "gates", gates, {s.steps, s.batch, s.gates()}, dtype);
  check_like(op, "hidden", hidden, {s.batch, s.size}, dtype);
  check_like(op, "weight", weight, {s.gates(), s.size}, dtype);
  TORCH_CHECK(bool(cell) == s.is_lstm(), op, ": a cell belongs to LSTM, and kind is ", kind);
  if (cell) check_like(op, "cell", cell, {s.batch, s.size}, dtype);
  if (bias) check_like(op, "bias", bias, {s.gates()}, dtype);
  return s;
}

template <class T>
const T* data_or_null(const Tensor& t) {
  return t ? t.data<T>() : nullptr;
}

// The matrix (k, n) that the steps of a sequence are multiplied by: packed for products of several rows, once for all
// steps, and where it is a constant (storage/forms.h) once for all calls.
template <class T>
class StepWeight {
 public:
  StepWeight(const Recurrence& s, const Tensor& whose, MatrixView<const T> view, int64_t n, int64_t k)
      : view_(view), n_(n), k_(k) {
    if (s.batch == 1 || s.steps == 1 || blas_provider() == BlasProvider::OpenBlas) return;
    const GemmKernels& kernels = gemm_kernels();
    const auto pack = [&](T* to) {
      if constexpr (sizeof(T) == 4)
        kernels.pack_f32(n, k, view, to);
      else
        kernels.pack_f64(n, k, view, to);
    };
    const int64_t count = sizeof(T) == 4 ? kernels.packed_f32(n, k) : kernels.packed_f64(n, k);
    packed_ = form_of<T>({view.data, FormKind::Step, {n, k, view.row, view.col, int64_t(sizeof(T))}}, count, pack);
    if (packed_) return;
    own_ = empty_tensor({count}, whose.dtype(), whose.device());
    pack(own_.data<T>());
    packed_ = own_.data<T>();
  }

  // c = a @ this + beta * d, of contiguous a and c.
  void multiply(int64_t rows, const T* a, T beta, MatrixView<const T> d, T* c) const {
    const MatrixView<const T> left{a, k_, 1};
    const MatrixView<T> to{c, n_, 1};
    if (!packed_) return gemm<T>(rows, n_, k_, T(1), left, view_, beta, d, to);
    const Product<T> product{rows, n_, k_, T(1), left, view_, beta, d, to, {}, packed_};
    if constexpr (sizeof(T) == 4)
      gemm_kernels().f32(product);
    else
      gemm_kernels().f64(product);
  }

 private:
  const MatrixView<const T> view_;
  const int64_t n_, k_;
  const T* packed_ = nullptr;
  Tensor own_;
};

template <class T>
struct Forward {
  const Recurrence& s;
  const RecurrentKernels<T>& kernels;
  const T *gates, *bias;
  StepWeight<T> weight;  // (H, G)

  // One step from the state `h` (and `c`), whose parts are written where they are to stay.
  void step(int64_t time, const T* h, const T* c, T* acted, T* sums, T* new_c, T* new_h) const {
    const int64_t n = s.gates();
    const T* x = gates + time * s.batch * n;
    if (s.is_gru()) {
      weight.multiply(s.batch, h, T(bias ? 1 : 0), {bias, 0, 1}, sums);
      kernels.gru(s.cell(), x, sums, h, acted, new_h);
      return;
    }
    T* const sum = s.is_lstm() ? acted : new_h;
    weight.multiply(s.batch, h, T(1), {x, n, 1}, sum);
    if (s.is_lstm())
      kernels.lstm(s.cell(), bias, c, acted, new_c, new_h);
    else
      kernels.rnn(s.cell(), s.is_relu(), bias, new_h);
  }
};

// Half types are composed of operators.
bool has_kernels(DType t) { return t == DType::Float32 || t == DType::Float64; }

void forward_on_cpu(const Recurrence& s, const RecurrenceCall& c) {
  const DType dtype = c.gates.dtype();
  if (!has_kernels(dtype)) return recurrence_by_operators.forward(s, c);
  const auto made = [&](IntArrayRef sizes) { return empty_tensor(sizes, dtype, c.gates.device()); };
  const bool has_cell = s.is_lstm();
  const Tensor sums = made({s.batch, s.is_gru() ? s.gates() : 0}), passing = made({s.batch, c.keep ? 0 : s.acted()}),
               two = made({has_cell && !c.keep ? 2 : 0, s.batch, s.size});
  as_float(dtype, [&](auto zero) {
    using T = decltype(zero);
    const MatrixView<const T> turned{c.weight.data<T>(), 1, s.size};
    const Forward<T> run{s,
                         work<RecurrentKernels<T>>.on_cpu(),
                         c.gates.data<T>(),
                         data_or_null<T>(c.bias),
                         {s, c.weight, turned, s.gates(), s.size}};
    const int64_t n = s.state();
    const T *h_before = c.hidden.data<T>(), *c_before = data_or_null<T>(c.cell);
    for (int64_t step = 0; step < s.steps; ++step) {
      const int64_t t = s.at(step);
      T* const new_h = c.output.data<T>() + t * n;
      T* const new_c = !has_cell ? nullptr : c.keep ? c.cells.data<T>() + s.after(t) * n : two.data<T>() + step % 2 * n;
      T* const gates_here = c.keep ? c.acted.data<T>() + t * s.batch * s.acted() : passing.data<T>();
      run.step(t, h_before, c_before, gates_here, sums.data<T>(), new_c, new_h);
      h_before = new_h, c_before = new_c;
    }
    if (has_cell) std::copy_n(c_before, n, c.last_cell.data<T>());
  });
  if (c.keep) keep_states(s, c);
}

RecurrenceGradients backward_on_cpu(const Recurrence& s, const RecurrenceGradientCall& c) {
  const DType dtype = c.states.dtype();
  if (!has_kernels(dtype)) return recurrence_by_operators.backward(s, c);
  const auto made = [&](IntArrayRef sizes) { return empty_tensor(sizes, dtype, c.states.device()); };
  const bool has_cell = s.is_lstm();
  Tensor grad_gates = made({s.steps, s.batch, s.gates()}), grad_hidden = made({s.batch, s.size}),
         grad_cell = made({has_cell ? s.batch : 0, s.size});
  // Of GRU, whose gates of the state are scaled before they meet those of the input.
  const Tensor grad_state = s.is_gru() ? made({s.steps, s.batch, s.gates()}) : grad_gates;
  as_float(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto clear = [](const Tensor& t) { std::fill_n(t.data<T>(), t.numel(), T(0)); };
    clear(grad_hidden), clear(grad_cell);
    const RecurrentKernels<T>& kernels = work<RecurrentKernels<T>>.on_cpu();
    const T *const h = c.states.data<T>(), *const cells = c.cells.data<T>(), *const a = c.acted.data<T>();
    const int64_t n = s.state(), g = s.gates(), wide = s.batch * g;
    const auto given = [&](int64_t step) {  // the gradient of a step's own output
      return c.grad && step >= 0 ? c.grad.data<T>() + s.at(step) * n : nullptr;
    };
    T* const dh = grad_hidden.data<T>();
    if (const T* own = given(s.steps - 1)) std::copy_n(own, n, dh);
    const StepWeight<T> weight(s, c.weight, {c.weight.data<T>(), s.size, 1}, s.size, g);
    if (c.grad_last_cell && has_cell) std::copy_n(c.grad_last_cell.data<T>(), n, grad_cell.data<T>());
    for (int64_t step = s.steps - 1; step >= 0; --step) {
      const int64_t t = s.at(step);
      T *const dx = grad_gates.data<T>() + t * wide, *const ds = grad_state.data<T>() + t * wide;
      const T *const before = h + s.before(t) * n, *const after = h + s.after(t) * n,
                     *const gates = a + t * s.batch * s.acted(), *more = given(step - 1);
      if (has_cell) {
        kernels.lstm_backward(s.cell(), dh, gates, cells + s.before(t) * n, cells + s.after(t) * n, grad_cell.data<T>(),
                              dx);
      } else if (s.is_gru()) {
        kernels.gru_backward(s.cell(), gates, before, more, dh, dx, ds);
        more = dh;
      } else {
        kernels.rnn_backward(s.cell(), s.is_relu(), dh, after, dx);
      }
      weight.multiply(s.batch, ds, T(more ? 1 : 0), {more, s.size, 1}, dh);
    }
  });
  auto [of_weight, of_bias] = recurrence_weights(s, grad_state, c.states);
  return {grad_gates, grad_hidden, grad_cell, of_weight, of_bias};
}

using Five = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

Five forward(const Tensor& gates, const Tensor& hidden, const Tensor& cell, const Tensor& weight, const Tensor& bias,
             std::string_view kind, bool reverse, bool keep) {
  const Recurrence s = sequence_of("_recurrence", gates, hidden, cell, weight, bias, kind, reverse);
  const DType dtype = gates.dtype();
  const auto made = [&](IntArrayRef sizes) { return empty_tensor(sizes, dtype, gates.device()); };
  const int64_t kept = keep ? s.steps + 1 : 0;
  RecurrenceCall c{};
  c.output = made({s.steps, s.batch, s.size}), c.last_cell = made({s.is_lstm() ? s.batch : 0, s.size});
  c.states = made({kept, s.batch, s.size}), c.cells = made({s.is_lstm() ? kept : 0, s.batch, s.size});
  c.acted = made({keep ? s.steps : 0, s.batch, s.acted()});
  if (!gates.is_meta() && c.output.numel() != 0) {
    const auto rows = [&](const Tensor& t) { return t ? as_contiguous(t, dtype) : Tensor(); };
    c.gates = rows(gates), c.hidden = rows(hidden), c.cell = rows(cell), c.weight = rows(weight), c.bias = rows(bias);
    c.keep = keep;
    work<RecurrenceWork>.on(c.output)->forward(s, c);
  }
  return {c.output, c.last_cell, c.states, c.cells, c.acted};
}

Five backward(const Tensor& grad, const Tensor& grad_last_cell, const Tensor& weight, const Tensor& states,
              const Tensor& cells, const Tensor& acted, std::string_view kind, bool reverse) {
  constexpr const char* op = "_recurrence_backward";
  TORCH_CHECK(states.dim() == 3 && states.size(0) > 1, op,
              ": needs what _recurrence keeps with keep=True: states of size (T + 1, N, H), got ", states.sizes());
  const Recurrence s{kind_of(op, kind), states.size(0) - 1, states.size(1), states.size(2), reverse};
  const DType dtype = states.dtype();
  check_like(op, "weight", weight, {s.gates(), s.size}, dtype);
  check_like(op, "acted", acted, {s.steps, s.batch, s.acted()}, dtype);
  check_like(op, "cells", cells, {s.is_lstm() ? s.steps + 1 : 0, s.batch, s.size}, dtype);
  if (grad) check_like(op, "grad", grad, {s.steps, s.batch, s.size}, dtype);
  const int64_t cell_sizes[] = {s.is_lstm() ? s.batch : 0, s.size};
  if (grad_last_cell) check_like(op, "grad_last_cell", grad_last_cell, cell_sizes, dtype);
  if (states.is_meta() || states.numel() == 0) {
    const auto made = [&](IntArrayRef sizes) { return zeros(sizes, dtype, states.device()); };
    return {made({s.steps, s.batch, s.gates()}), made({s.batch, s.size}), made(cell_sizes), made({s.gates(), s.size}),
            made({s.gates()})};
  }
  const auto rows = [&](const Tensor& t) { return t ? as_contiguous(t, dtype) : Tensor(); };
  return work<RecurrenceWork>.on(states)->backward(
      s, {rows(grad), rows(grad_last_cell), rows(weight), rows(states), rows(cells), rows(acted)});
}

}  // namespace

void keep_states(const Recurrence& s, const RecurrenceCall& c) {
  // Apart from the output, which whoever has it may change.
  copy_(narrow(c.states, 0, s.after(0), s.steps), c.output);
  const int64_t first = s.before(s.at(0));
  copy_(select(c.states, 0, first), c.hidden);
  if (c.cell) copy_(select(c.cells, 0, first), c.cell);
}

std::tuple<Tensor, Tensor> recurrence_weights(const Recurrence& s, const Tensor& grad_state, const Tensor& states) {
  const Tensor rows = flatten(grad_state, 0, 1), before = flatten(narrow(states, 0, s.before(0), s.steps), 0, 1);
  return {mm(transpose(rows, 0, 1), before), sum(rows, IntArrayRef{0})};
}

const RecurrenceWork recurrence_on_cpu{forward_on_cpu, backward_on_cpu};

void register_recurrent() {
  set_native<op::_recurrence>(forward);
  set_native<op::_recurrence_backward>(backward);
}

}  // namespace torch
