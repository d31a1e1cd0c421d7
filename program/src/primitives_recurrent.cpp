// Recurrent layers by the names and arguments that PyTorch's programs have for them. A direction of a layer is one
// operator, as it is in torch.nn; of half types, with a projection, and where somebody looks at the operators that are
// called, it goes step by step. A trace of two LSTM layers (64, 128) over 50 x 4 x 64: 1.99 -> 0.90 ms, 2.05 in PyTorch
// (one thread of an Intel Xeon with AMX, beside load, least of 40).
#include <algorithm>

#include "primitives.h"
#include "torch/core/layer.h"
#include "torch/core/ops/activation.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/random.h"
#include "torch/core/ops/recurrent.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"
#include "torch/core/sparse.h"

namespace torch::program {

namespace {

using T = const Tensor&;

struct Kind {
  const char *op, *name;  // of the program and of the core
  bool has_cell;
};
constexpr Kind kLstm{"lstm", "LSTM", true}, kGru{"gru", "GRU", false}, kTanh{"rnn_tanh", "RNN_TANH", false},
    kRelu{"rnn_relu", "RNN_RELU", false};

// The state of one direction; `c` of LSTM alone.
struct State {
  Tensor h, c;
};
// Those of one direction of one layer, in the order of archives; what there is none of is undefined.
struct Weights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

State step(const Kind& kind, T gates, const State& s, const Weights& w) {
  const Tensor of_state = torch::linear(s.h, w.w_hh, w.b_hh);
  if (kind.has_cell) {  // c' = f c + i g, h' = o tanh(c')
    const std::vector<Tensor> g = torch::chunk(torch::add(gates, of_state), 4, 1);
    const Tensor c =
        torch::add(torch::mul(torch::sigmoid(g[1]), s.c), torch::mul(torch::sigmoid(g[0]), torch::tanh(g[2])));
    const Tensor h = torch::mul(torch::sigmoid(g[3]), torch::tanh(c));
    return {w.w_hr ? torch::linear(h, w.w_hr) : h, c};
  }
  if (&kind == &kGru) {  // h' = n + z (h - n) with n = tanh(W x + r (U h))
    const std::vector<Tensor> x = torch::chunk(gates, 3, 1), u = torch::chunk(of_state, 3, 1);
    const Tensor z = torch::sigmoid(torch::add(x[1], u[1]));
    const Tensor n = torch::tanh(torch::add(x[2], torch::mul(torch::sigmoid(torch::add(x[0], u[0])), u[2])));
    return {torch::add(n, torch::mul(z, torch::sub(s.h, n))), {}};
  }
  const Tensor sum = torch::add(gates, of_state);
  return {&kind == &kRelu ? torch::relu(sum) : torch::tanh(sum), {}};
}

// Whether one operator takes all steps, with no one who would see it in their place; `records`: what needs a gradient.
bool is_whole(T gates, const State& s, const Weights& w, bool& records) {
  if (w.w_hr || !is_floating(gates.dtype())) return false;
  unsigned keys = 0;
  for (const Tensor* t : {&gates, &s.h, &s.c, &w.w_hh, &w.b_hh}) {
    if (!*t) continue;
    if (t->dtype() != gates.dtype() || layout_of(*t) != Layout::Strided) return false;
    keys |= (*t)->keys;
  }
  const unsigned in_force = keys_in_force(keys);
  records = in_force & key(DispatchKey::Autograd);
  constexpr unsigned kSeen = key(DispatchKey::Trace) | key(DispatchKey::Python) | key(DispatchKey::Dispatch);
  return !(in_force & (kSeen | key(DispatchKey::Wrapped)));
}

Tensor direction(const Kind& kind, T x, State& s, const Weights& w, bool reverse) {
  const Tensor gates = torch::linear(x, w.w_ih, w.b_ih);
  bool records = false;
  if (is_whole(gates, s, w, records)) {
    auto [output, last_cell, states, cells, acted] =
        torch::_recurrence(gates, s.h, s.c, w.w_hh, w.b_hh, kind.name, reverse, records);
    s = {torch::select(output, 0, reverse ? 0 : -1), kind.has_cell ? last_cell : Tensor()};
    return output;
  }
  std::vector<Tensor> steps = torch::unbind(gates, 0);
  if (reverse) std::reverse(steps.begin(), steps.end());
  for (Tensor& each : steps) s = step(kind, each, s, w), each = s.h;
  if (reverse) std::reverse(steps.begin(), steps.end());
  return torch::stack(steps, 0);
}

struct Flags {
  bool has_biases;
  int64_t layers;
  double dropout;
  bool train, both, batch_first;
};

// The outputs and the last states, and of LSTM the cells.
Cell layers(const Kind& kind, T input, T h, T c, const Cell& params, const Flags& f) {
  TORCH_CHECK(input.dim() == 3, kind.op, ": expected input of 3 dims, (steps, batch, size), got ", input.sizes());
  TORCH_CHECK(input.size(f.batch_first ? 1 : 0) > 0, kind.op, ": expected a sequence of at least one step, got ",
              input.sizes());
  const int64_t ways = f.both ? 2 : 1, count = int64_t(params.items().size());
  const int64_t places = f.layers > 0 && f.layers < int64_t(1) << 32 ? f.layers * ways : 0;
  TORCH_CHECK(places && count && count % places == 0, kind.op, ": ", count, " weights cannot belong to ", f.layers,
              " layers in ", ways, " directions alike");
  const int64_t each = count / places, plain = f.has_biases ? 4 : 2;
  TORCH_CHECK(each == plain || (each == plain + 1 && kind.has_cell), kind.op, ": expected ", plain,
              " weights for each layer and direction where has_biases is ", f.has_biases ? "True" : "False", ", got ",
              each);
  for (const Tensor* state : {&h, &c})
    TORCH_CHECK(!*state || (state->dim() == 3 && state->size(0) == places), kind.op, ": expected states of shape (",
                places, ", batch, size), got ", state->sizes());
  const auto weight = [&](int64_t place, int64_t i) { return params.items()[size_t(place * each + i)].to_tensor(); };
  Tensor x = f.batch_first ? torch::transpose(input, 0, 1) : input;
  std::vector<Tensor> last_h, last_c;
  for (int64_t layer = 0; layer < f.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t way = 0; way < ways; ++way) {
      const int64_t at = layer * ways + way;
      Weights w{weight(at, 0), weight(at, 1), {}, {}, {}};
      if (f.has_biases) w.b_ih = weight(at, 2), w.b_hh = weight(at, 3);
      if (each > plain) w.w_hr = weight(at, plain);
      State s{torch::select(h, 0, at), c ? torch::select(c, 0, at) : Tensor()};
      outputs.push_back(direction(kind, x, s, w, way == 1));
      last_h.push_back(s.h);
      if (kind.has_cell) last_c.push_back(s.c);
    }
    x = ways == 1 ? outputs[0] : torch::cat(outputs, -1);
    if (f.dropout > 0 && f.train && layer + 1 < f.layers) x = torch::dropout(x, f.dropout, true);
  }
  std::vector<Cell> results{f.batch_first ? torch::transpose(x, 0, 1) : x, torch::stack(last_h, 0)};
  if (kind.has_cell) results.push_back(torch::stack(last_c, 0));
  return Cell::tuple(std::move(results));
}

Flags flags(const Cell* a) {  // from `has_biases` on
  return {a[0].to_bool(), a[1].to_int(), a[2].to_double(), a[3].to_bool(), a[4].to_bool(), a[5].to_bool()};
}

}  // namespace

void register_recurrent() {
  add_primitive(
      "aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
      "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
      [](Cell* a) {
        const std::vector<Cell>& hx = a[1].items();
        TORCH_CHECK(hx.size() == 2, "lstm: expected the states h and c, got ", hx.size(), " tensors");
        return layers(kLstm, a[0].to_tensor(), hx[0].to_tensor(), hx[1].to_tensor(), a[2], flags(a + 3));
      },
      false, true);
#define RECURRENT(NAME, KIND)                                                                             \
  add_primitive(                                                                                          \
      "aten::" NAME                                                                                       \
      ".input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, " \
      "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",                            \
      [](Cell* a) { return layers(KIND, a[0].to_tensor(), a[1].to_tensor(), {}, a[2], flags(a + 3)); }, false, true)
  RECURRENT("gru", kGru);
  RECURRENT("rnn_tanh", kTanh);
  RECURRENT("rnn_relu", kRelu);
#undef RECURRENT
}

}  // namespace torch::program
