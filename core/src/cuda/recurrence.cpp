// Recurrent layers over a sequence: whole where the weights of the state have room in a block's shared memory, else
// step by step, a product and what gates do.
#include "cuda/recurrence.h"

#include "cuda/cells.h"
#include "cuda/limits.h"
#include "cuda/tables.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/view.h"

namespace torch::cuda {

namespace {

void check_dtype(const char* op, const Tensor& t) {
  const DType d = t.dtype();
  TORCH_CHECK_IMPLEMENTED(d == DType::Float16 || d == DType::BFloat16 || d == DType::Float32 || d == DType::Float64, op,
                          ": no kernel for ", d, " tensors on ", t.device());
}
bool is_whole(const Recurrence& s, const Tensor& like) {
  return s.size < 4096 &&
         recurrence_shared_bytes(like.dtype(), s.kind, s.size) <= shared_bytes_of_block(like.device().index);
}
WholeRecurrence whole(const Recurrence& s, const Tensor& weight) {
  WholeRecurrence c{};
  c.dtype = weight.dtype(), c.kind = s.kind, c.steps = s.steps, c.batch = s.batch, c.size = s.size;
  c.reverse = s.reverse, c.w = weight.data();
  return c;
}
void* data_or_null(const Tensor& t) { return t && t.numel() ? const_cast<char*>(t.data<char>()) : nullptr; }
Tensor part(const Tensor& t, int64_t i) { return t && t.numel() ? select(t, 0, i) : Tensor(); }
// Those of the sequence, of one more.
void* of_steps(const Recurrence& s, const Tensor& t) { return data_or_null(part(t, s.after(0))); }
void* of_first(const Recurrence& s, const Tensor& t) { return data_or_null(part(t, s.before(s.at(0)))); }

// to = a b + more (may be undefined), of matrices.
void multiply(const Tensor& a, const Tensor& b, const Tensor& more, const Tensor& to) {
  const auto slab = [](const Tensor& t) {
    if (!t) return Slab{};
    const bool is_row = t.dim() == 1;
    return Slab{const_cast<char*>(t.data<char>()), is_row ? 0 : t.stride(0), t.stride(is_row ? 0 : 1), 0};
  };
  product_work.multiply("recurrence", to.device(), to.dtype(), {1, to.size(0), to.size(1), a.size(1)}, Scalar(1.0),
                        slab(a), slab(b), Scalar(more ? 1.0 : 0.0), slab(more), slab(to));
}

void forward_by_steps(const Recurrence& s, const RecurrenceCall& c) {
  const Tensor of_state = empty_tensor({s.batch, s.gates()}, c.gates.dtype(), c.gates.device()),
               w = transpose(c.weight, 0, 1);
  Tensor h = c.hidden, cell = c.cell;
  for (int64_t step = 0; step < s.steps; ++step) {
    const int64_t t = s.at(step);
    const Tensor x = select(c.gates, 0, t), new_h = select(c.output, 0, t), acted = part(c.acted, t);
    multiply(h, w, c.bias, of_state);
    if (s.is_lstm()) {
      const bool is_last = step + 1 == s.steps;
      const Tensor new_cell = c.keep ? select(c.cells, 0, s.after(t)) : is_last ? c.last_cell : empty_like(cell);
      lstm_step({x, of_state, cell, new_h, new_cell, acted});
      if (c.keep && is_last) copy_(c.last_cell, new_cell);
      cell = new_cell;
    } else if (s.is_gru()) {
      gru_step({x, of_state, h, new_h, acted});
    } else {
      rnn_step({s.is_relu(), x, of_state, new_h});
    }
    h = new_h;
  }
}

void forward(const Recurrence& s, const RecurrenceCall& c) {
  check_dtype("_recurrence", c.gates);
  if (is_whole(s, c.weight)) {
    WholeRecurrence k = whole(s, c.weight);
    k.gates = c.gates.data(), k.b = data_or_null(c.bias), k.h0 = c.hidden.data(), k.c0 = data_or_null(c.cell);
    k.out = c.output.data<char>(), k.last_cell = data_or_null(c.last_cell);
    k.cells = of_steps(s, c.cells), k.acted = data_or_null(c.acted);
    run_recurrence(k);
  } else {
    forward_by_steps(s, c);
  }
  if (c.keep) keep_states(s, c);
}

struct Gradients {
  Tensor gates, of_state, hidden, cell;  // the first two are one but for GRU
};

void backward_by_steps(const Recurrence& s, const RecurrenceGradientCall& c, const Gradients& to) {
  Tensor of_h, past;  // of the state after a step, but for what its own output was used for
  if (c.grad_last_cell && s.is_lstm())
    copy_(to.cell, c.grad_last_cell);
  else if (s.is_lstm())
    zero_(to.cell);
  for (int64_t step = s.steps - 1; step >= 0; --step) {
    const int64_t t = s.at(step);
    const Tensor own = part(c.grad, t), acted = part(c.acted, t), of_x = select(to.gates, 0, t),
                 of_state = select(to.of_state, 0, t);
    if (s.is_lstm()) {
      lstm_step_backward(
          {of_h, own, to.cell, acted, select(c.cells, 0, s.before(t)), select(c.cells, 0, s.after(t)), of_x, to.cell});
    } else if (s.is_gru()) {
      if (!past) past = empty_like(to.hidden);
      gru_step_backward({of_h, own, acted, select(c.states, 0, s.before(t)), of_x, of_state, past});
    } else {
      rnn_step_backward({s.is_relu(), of_h, own, select(c.states, 0, s.after(t)), of_x});
    }
    multiply(of_state, c.weight, past, to.hidden);
    of_h = to.hidden;
  }
}

RecurrenceGradients backward(const Recurrence& s, const RecurrenceGradientCall& c) {
  check_dtype("_recurrence_backward", c.states);
  const auto made = [&](IntArrayRef sizes) { return empty_tensor(sizes, c.states.dtype(), c.states.device()); };
  Gradients to{
      made({s.steps, s.batch, s.gates()}), {}, made({s.batch, s.size}), made({s.is_lstm() ? s.batch : 0, s.size})};
  to.of_state = s.is_gru() ? made({s.steps, s.batch, s.gates()}) : to.gates;
  if (is_whole(s, c.weight)) {
    WholeRecurrence k = whole(s, c.weight);
    k.out = of_steps(s, c.states), k.h0 = of_first(s, c.states);
    k.cells = of_steps(s, c.cells), k.c0 = of_first(s, c.cells), k.acted = data_or_null(c.acted);
    k.grad_out = data_or_null(c.grad), k.grad_c = data_or_null(c.grad_last_cell);
    k.grad_gates = to.gates.data<char>(), k.grad_of_state = to.of_state.data<char>();
    k.grad_h0 = to.hidden.data<char>(), k.grad_c0 = data_or_null(to.cell);
    run_recurrence_backward(k);
  } else {
    backward_by_steps(s, c, to);
  }
  auto [of_weight, of_bias] = recurrence_weights(s, to.of_state, c.states);
  return {to.gates, to.hidden, to.cell, of_weight, of_bias};
}

}  // namespace

const RecurrenceWork recurrences{forward, backward};

}  // namespace torch::cuda
