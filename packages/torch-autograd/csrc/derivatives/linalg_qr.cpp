// QR factorization and products of reflections. G_X is the gradient of X. S. Walter, L. Lehmann, "Algorithmic
// differentiation of linear algebra functions with application in optimum experimental design", 2010; wide matrices:
// D. Roberts, L. Roberts, "QR and LQ decomposition matrix backpropagation algorithms for square, wide, and deep", 2020.
#include "linalg.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// The Hermitian matrix with this lower triangle.
Tensor mirrored(const Tensor& m) {
  const Tensor below = torch::tril(m, -1);
  return below + mH(below) + torch::diag_embed(real_part(diagonal_of(m)));
}

// A = Q R with Q's columns spanning A's:  G_A = [G_Q + Q mirrored(R G_R^H - G_Q^H Q)] R^-H.
// Of a wide A = [X, Y] = Q [U, V] the same holds for X with V's share in G_Q, and G_Y = Q G_V.
struct Qr {
  Saved q, r;
  enum Mode { Reduced, Complete, OnlyR } mode;
  Qr(Recorder& rec, const Tensor&, std::string_view mode)
      : q(rec, 0),
        r(rec, 1),
        mode(mode == "r"          ? OnlyR
             : mode == "complete" ? Complete
                                  : Reduced) {}
  void grad(Backward& b) const {
    TORCH_CHECK(mode != OnlyR,
                "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
                "Please use linalg.qr(A, mode='reduced') if you are going to differentiate through it.");
    const Tensor &q_ = q, &r_ = r;
    const int64_t m = q_.size(-2), n = r_.size(-1);
    TORCH_CHECK(mode != Complete || m <= n,
                "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.");
    Tensor gq = b.output(0), gr = b.output(1), rest;
    if (!gq && !gr) return;
    Tensor u = r_;
    if (m < n) {
      u = torch::narrow(r_, -1, 0, m);
      if (gr) {
        const Tensor gv = torch::narrow(gr, -1, m, n - m), v = torch::narrow(r_, -1, m, n - m);
        gr = torch::narrow(gr, -1, 0, m);
        rest = q_ % gv;
        const Tensor share = product(q_, v, mH(gv));
        gq = gq ? gq + share : share;
      }
    }
    Tensor inner;
    if (gr) inner = u % mH(gr);
    if (gq) inner = inner ? inner - mH(gq) % q_ : -(mH(gq) % q_);
    Tensor ga = q_ % mirrored(inner);
    if (gq) ga = ga + gq;
    ga = solve_right(mH(u), ga, false);
    if (m < n) {
      if (!rest) rest = torch::zeros_like(torch::narrow(q_ % r_, -1, m, n - m));
      ga = torch::cat(std::vector<Tensor>{ga, rest}, -1);
    }
    b[0] = ga;
  }
};

struct Gradients {
  Tensor a, tau, x;
};

// y = H_1 ... H_k x with H_i = 1 - t_i v_i v_i^H, where v_i is column i of a below its diagonal, and 1 on it. With
// `adjoint` y = H_k^H ... H_1^H x.
Gradients of_reflections(const Tensor& a, const Tensor& tau, const Tensor& x, const Tensor& g, bool adjoint) {
  const int64_t k = tau.size(-1), m = a.size(-2), n = a.size(-1);
  std::vector<Tensor> states(static_cast<size_t>(k) + 1), ga(static_cast<size_t>(k)), gt(static_cast<size_t>(k));
  const Tensor columns = torch::tril(a, -1) + torch::eye(m, n, a.dtype(), a.device());
  const auto vector = [&](int64_t i) { return torch::tril(torch::narrow(columns, -1, i, 1), -i); };
  const auto factor = [&](int64_t i) {
    const Tensor t = torch::unsqueeze(torch::narrow(tau, -1, i, 1), -1);
    return adjoint ? conj(t) : t;
  };
  const auto place = [&](int64_t step) { return adjoint ? k - 1 - step : step; };  // the step-th from the left
  states[size_t(k)] = x;
  for (int64_t s = k - 1; s >= 0; --s) {
    const Tensor v = vector(place(s)), &state = states[size_t(s) + 1];
    states[size_t(s)] = state - factor(place(s)) * (v % (mH(v) % state));
  }
  Tensor go = g;
  for (int64_t s = 0; s < k; ++s) {
    const int64_t i = place(s);
    const Tensor v = vector(i), t = factor(i), &state = states[size_t(s) + 1];
    const Tensor p = mH(v) % state, r = mH(v) % go;
    const Tensor of_t = -torch::sum(r * conj(p), IntArrayRef({-1}));
    gt[size_t(i)] = adjoint ? conj(of_t) : of_t;
    ga[size_t(i)] = -(conj(t) * (go % mH(p))) - t * (state % mH(r));
    go = go - conj(t) * (v % r);
  }
  Gradients all{{}, {}, go};
  if (k == 0) return all;
  all.tau = torch::cat(gt, -1);
  if (n > k) {
    std::vector<int64_t> sizes = a.sizes().vec();
    sizes.back() = n - k;
    ga.push_back(torch::zeros(sizes, a.dtype(), a.device()));
  }
  all.a = torch::tril(torch::cat(ga, -1), -1);
  return all;
}

// The first columns of the product: y for x = the first columns of the identity.
struct HouseholderProduct {
  Saved a, tau;
  HouseholderProduct(Recorder& r, const Tensor& a, const Tensor& tau) : a(r, a), tau(r, tau) {}
  void grad(const Tensor& g, Backward& b) const {
    const Tensor& x = a;
    const Tensor start = torch::expand(torch::eye(x.size(-2), x.size(-1), x.dtype(), x.device()), x.sizes());
    const Gradients all = of_reflections(x, tau, start, g, false);
    b[0] = all.a;
    b[1] = all.tau;
  }
};

struct Ormqr {
  Saved a, tau, other;
  bool left, transposed;
  Ormqr(Recorder& r, const Tensor& a, const Tensor& tau, const Tensor& other, bool left, bool transposed)
      : a(r, a), tau(r, tau), other(r, other), left(left), transposed(transposed) {}
  void grad(const Tensor& g, Backward& b) const {
    if (!b.needs(0) && !b.needs(1)) {
      b[2] = torch::ormqr(a, tau, g, left, !transposed);
      return;
    }
    // C Q is the adjoint of Q^H C^H.
    const Gradients all =
        left ? of_reflections(a, tau, other, g, transposed) : of_reflections(a, tau, mH(other), mH(g), !transposed);
    b[0] = all.a;
    b[1] = all.tau;
    b[2] = left ? all.x : mH(all.x);
  }
};

}  // namespace

void register_linalg_qr() {
  record<Qr, op::linalg_qr>();
  record<HouseholderProduct, op::linalg_householder_product>();
  record<Ormqr, op::ormqr>();
  refuse_in_backward<op::geqrf>("torch.linalg.qr has one");
}

}  // namespace torch::autograd
