#include "ops/recurrence_work.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"
#include "torch/core/recurrence.h"

namespace torch {

namespace {

// d sigmoid and d tanh by their results
Tensor of_sigmoid(const Tensor& g, const Tensor& y) { return g * y * (1 - y); }
Tensor of_tanh(const Tensor& g, const Tensor& y) { return g * (1 - y * y); }
Tensor sum_of(const Tensor& a, const Tensor& b) { return a && b ? a + b : a ? a : b; }

RecurrentStep taken(int64_t time, const Tensor& x, const Tensor& u, const Tensor& h, const Tensor& c,
                    std::string_view kind) {
  RecurrentStep s{time, h, {}, c, {}, {}};
  if (kind == "LSTM") {
    const std::vector<Tensor> sums = chunk(x + u, 4, 1);
    const Tensor i = sigmoid(sums[0]), f = sigmoid(sums[1]), g = tanh(sums[2]), o = sigmoid(sums[3]);
    s.gates = {i, f, g, o};
    s.new_cell = f * c + i * g;
    s.after = o * tanh(s.new_cell);
  } else if (kind == "GRU") {
    const std::vector<Tensor> xs = chunk(x, 3, 1), us = chunk(u, 3, 1);
    const Tensor r = sigmoid(xs[0] + us[0]), z = sigmoid(xs[1] + us[1]), n = tanh(xs[2] + r * us[2]);
    s.gates = {r, z, n, us[2]};
    s.after = n + z * (h - n);
  } else {
    s.after = kind == "RNN_TANH" ? tanh(x + u) : relu(x + u);
  }
  return s;
}

}  // namespace

std::vector<RecurrentStep> recurrent_steps(const Tensor& gates, const Tensor& hidden, const Tensor& cell,
                                           const Tensor& weight, const Tensor& bias, std::string_view kind,
                                           bool reverse) {
  std::vector<RecurrentStep> steps;
  Tensor h = hidden, c = cell;
  const int64_t count = gates.size(0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t time = reverse ? count - 1 - i : i;
    steps.push_back(taken(time, select(gates, 0, time), linear(h, weight, bias), h, c, kind));
    h = steps.back().after, c = steps.back().new_cell;
  }
  return steps;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> recurrent_gradients(std::vector<RecurrentStep> steps,
                                                                       const Tensor& grad, const Tensor& grad_last_cell,
                                                                       const Tensor& weight, std::string_view kind) {
  std::vector<Tensor> of_gates(steps.size());
  Tensor dh, dc = grad_last_cell, of_weight, of_bias;
  for (; !steps.empty(); steps.pop_back()) {
    const RecurrentStep& s = steps.back();
    dh = sum_of(grad ? select(grad, 0, s.time) : Tensor(), dh);
    if (!dh) dh = zeros_like(s.after);
    Tensor of_input, of_state, past;  // past: of the state before, where it passes by the gates
    if (kind == "LSTM") {
      const Tensor &i = s.gates[0], &f = s.gates[1], &g = s.gates[2], &o = s.gates[3], bent = tanh(s.new_cell);
      dc = sum_of(dc, of_tanh(dh * o, bent));
      of_state = of_input = cat(std::vector<Tensor>{of_sigmoid(dc * g, i), of_sigmoid(dc * s.cell, f),
                                                    of_tanh(dc * i, g), of_sigmoid(dh * bent, o)},
                                1);
      dc = dc * f;
    } else if (kind == "GRU") {
      const Tensor &r = s.gates[0], &z = s.gates[1], &n = s.gates[2];
      const Tensor dn = of_tanh(dh * (1 - z), n), dr = of_sigmoid(dn * s.gates[3], r),
                   dz = of_sigmoid(dh * (s.before - n), z);
      of_input = cat(std::vector<Tensor>{dr, dz, dn}, 1);
      of_state = cat(std::vector<Tensor>{dr, dz, dn * r}, 1);
      past = dh * z;
    } else {
      of_state = of_input =
          kind == "RNN_TANH" ? of_tanh(dh, s.after) : masked_fill(dh, le(s.after, number(0.0)), number(0.0));
    }
    of_gates[size_t(s.time)] = of_input;
    of_weight = sum_of(of_weight, mm(transpose(of_state, 0, 1), s.before));
    of_bias = sum_of(of_bias, sum(of_state, IntArrayRef{0}));
    dh = sum_of(mm(of_state, weight), past);
  }
  return {stack(of_gates), dh, dc, of_weight, of_bias};
}

namespace {

std::string_view name_of(const Recurrence& s) {
  return s.is_lstm() ? "LSTM" : s.is_gru() ? "GRU" : s.is_relu() ? "RNN_RELU" : "RNN_TANH";
}

void forward(const Recurrence& s, const RecurrenceCall& c) {
  std::vector<RecurrentStep> steps =
      recurrent_steps(c.gates, c.hidden, c.cell, c.weight, c.bias, name_of(s), s.reverse);
  if (c.cell) copy_(c.last_cell, steps.back().new_cell);
  for (const RecurrentStep& step : steps) {
    copy_(select(c.output, 0, step.time), step.after);
    if (!c.keep) continue;
    if (c.cell) copy_(select(c.cells, 0, s.after(step.time)), step.new_cell);
    if (s.acted()) copy_(select(c.acted, 0, step.time), cat(step.gates, 1));
  }
  if (c.keep) keep_states(s, c);
}

RecurrenceGradients backward(const Recurrence& s, const RecurrenceGradientCall& c) {
  std::vector<RecurrentStep> steps;
  for (int64_t i = 0; i < s.steps; ++i) {
    const int64_t t = s.at(i);
    RecurrentStep step{t, select(c.states, 0, s.before(t)), select(c.states, 0, s.after(t)), {}, {}, {}};
    if (s.is_lstm()) step.cell = select(c.cells, 0, s.before(t)), step.new_cell = select(c.cells, 0, s.after(t));
    if (s.acted()) step.gates = chunk(select(c.acted, 0, t), 4, 1);
    steps.push_back(std::move(step));
  }
  RecurrenceGradients found =
      recurrent_gradients(std::move(steps), c.grad, s.is_lstm() ? c.grad_last_cell : Tensor(), c.weight, name_of(s));
  if (!std::get<2>(found)) std::get<2>(found) = empty_tensor({0, s.size}, c.weight.dtype(), c.weight.device());
  return found;
}

}  // namespace

const RecurrenceWork recurrence_by_operators{forward, backward};

}  // namespace torch
