// Recurrent layers. The pass itself runs the core's kernels; when it is recorded, the same gradient is computed from
// public operators, so that it has derivatives of any order.
#include "torch/core/ops/recurrent.h"

#include <string>

#include "register.h"
#include "torch/autograd/record.h"
#include "torch/core/recurrence.h"

namespace torch::autograd {

namespace {

struct Recurrence {
  Saved gates, hidden, cell, weight, bias, states, cells, acted;
  std::string kind;
  bool reverse, kept;
  Recurrence(Recorder& r, const Tensor& gates, const Tensor& hidden, const Tensor& cell, const Tensor& weight,
             const Tensor& bias, std::string_view kind, bool reverse, bool keep)
      : gates(r, gates),
        hidden(r, hidden),
        cell(r, cell),
        weight(r, weight),
        bias(r, bias),
        states(r, 2),
        cells(r, 3),
        acted(r, 4),
        kind(kind),
        reverse(reverse),
        kept(keep) {}

  void grad(Backward& b) const {
    const Tensor &g = b.output(0), &of_cell = b.output(1);  // what it keeps is for this gradient, and has none
    if (!g && !of_cell) return;
    auto [gx, gh, gc, gw, gb] =
        grad_enabled() || !kept
            ? torch::recurrent_gradients(torch::recurrent_steps(gates, hidden, cell, weight, bias, kind, reverse), g,
                                         of_cell, weight, kind)
            : torch::_recurrence_backward(g, of_cell, weight, states, cells, acted, kind, reverse);
    if (b.needs(0)) b[0] = gx;
    if (b.needs(1)) b[1] = gh;
    if (b.needs(2)) b[2] = gc;
    if (b.needs(3)) b[3] = gw;
    if (b.needs(4)) b[4] = gb;
  }
};

}  // namespace

void register_recurrent() {
  record<Recurrence, op::_recurrence>();
  refuse<op::_recurrence_backward>(
      "the gradient of a recurrent layer is recorded by the layer's own derivative, where it has derivatives of any "
      "order");
}

}  // namespace torch::autograd
