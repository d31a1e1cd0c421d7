// Attention. The pass itself runs one kernel of the core, which computes weights again; where the pass is recorded, or
// a mask wants a gradient, all weights are held and the gradient is computed from public operators.
#include "torch/core/ops/attention.h"

#include "math.h"
#include "register.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/softmax.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

Tensor turned(const Tensor& t) { return torch::transpose(t, -2, -1); }

// With P = softmax(scale Q K^T + mask): dV = P^T G, dP = G V^T, dS from P and dP, dQ = scale dS K, dK = scale dS^T Q.
struct Attention {
  Saved query, key, value, mask, kept;
  bool is_causal;
  double scale;
  Attention(Recorder& r, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
            bool is_causal, double scale, bool)
      : query(r, query), key(r, key), value(r, value), mask(r, mask), kept(r, 1), is_causal(is_causal), scale(scale) {}

  void grad(Backward& b) const {
    const Tensor& g = b.output(0);
    const Tensor of_weights = b.output(1) && b.output(1).dim() > 1 ? b.output(1) : Tensor();  // those that were kept
    if (!g && !of_weights) return;
    if (!g || of_weights || grad_enabled() || b.needs(3)) return by_weights(g, of_weights, b);
    auto [gq, gk, gv] = torch::_attention_backward(g, query, key, value, mask, kept, is_causal, scale);
    if (b.needs(0)) b[0] = gq;
    if (b.needs(1)) b[1] = gk;
    if (b.needs(2)) b[2] = gv;
  }

  // From the gradients of the result and of the weights, of which one may be missing.
  void by_weights(const Tensor& g, const Tensor& of_weights, Backward& b) const {
    Tensor p = torch::_attention_weights(query, key, mask, is_causal, scale);
    if (b.needs(2) && g) b[2] = torch::matmul(turned(p), g);
    if (!b.needs(0) && !b.needs(1) && !b.needs(3)) return;
    Tensor of_p = of_weights;
    if (g) add_into(of_p, torch::matmul(g, turned(value)));
    p = torch::expand(p, of_p.sizes());  // values may be of more examples
    const Tensor of_scores = torch::softmax_backward(of_p, p, -1);
    if (b.needs(0)) b[0] = torch::matmul(of_scores, key) * number(scale);
    if (b.needs(1)) b[1] = torch::matmul(turned(of_scores), query) * number(scale);
    if (b.needs(3)) b[3] = of_scores;
  }
};

}  // namespace

void register_attention() {
  record<Attention, op::_attention_forward>();
  refuse<op::_attention_backward>("it works below autograd; differentiate scaled_dot_product_attention instead");
}

}  // namespace torch::autograd
