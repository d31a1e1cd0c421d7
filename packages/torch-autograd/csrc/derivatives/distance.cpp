// Distances of all pairs of rows: d |x - y| = (x - y) / |x - y|, or the sign of x - y, and nothing where they meet. The
// pass itself runs the core's kernel; when it is recorded, the same gradient is computed from public operators, so that
// it has derivatives of any order.
#include "torch/core/ops/distance.h"

#include "math.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

struct Cdist {
  Saved x1, x2, distance;
  double p;
  Cdist(Recorder& r, const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t>)
      : x1(r, x1), x2(r, x2), distance(r, 0), p(p) {}

  void grad(const Tensor& g, Backward& b) const {
    const auto turned = [](const Tensor& t) { return torch::transpose(t, 1, 2); };
    if (grad_enabled()) return recorded(g, b);
    if (b.needs(0)) b[0] = torch::_cdist_backward(g, x1, x2, p, distance);
    if (b.needs(1)) b[1] = torch::_cdist_backward(turned(g), x2, x1, p, turned(distance));
  }

  void recorded(const Tensor& g, Backward& b) const {
    const Tensor away = torch::unsqueeze(x1, 2) - torch::unsqueeze(x2, 1);
    Tensor slope = torch::sgn(away);
    if (p == 2) {
      const Tensor length = torch::unsqueeze(distance, 3), meet = torch::eq(length, number(0.0));
      slope = torch::masked_fill(away / torch::masked_fill(length, meet, number(1.0)), meet, number(0.0));
    }
    const Tensor weighted = torch::unsqueeze(g, 3) * slope;
    if (b.needs(0)) b[0] = torch::sum(weighted, IntArrayRef{2});
    if (b.needs(1)) b[1] = -torch::sum(weighted, IntArrayRef{1});
  }
};

}  // namespace

void register_distance() {
  record<Cdist, op::_cdist_forward>();
  refuse<op::_cdist_backward>("it works below autograd; differentiate cdist instead");
}

}  // namespace torch::autograd
