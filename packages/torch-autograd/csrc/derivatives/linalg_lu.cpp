// Factorizations by triangles and what follows from them: M. Giles, "Collected matrix derivative results for forward
// and reverse mode algorithmic differentiation", 2008; Cholesky: I. Murray, "Differentiation of the Cholesky
// decomposition", 2016. G stands for the gradient of the result, G_X for that of an input X.
#include "linalg.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/sort.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// d(A^-1) = -A^-1 dA A^-1
struct Inverse {
  Saved result;
  Inverse(Recorder& r, const Tensor&, bool) : result(r, 0) {}
  void grad(Backward& b) const {
    if (const Tensor& g = b.output(0)) b[0] = -product(mH(result), g, mH(result));
  }
};

// A X = B:  G_B = A^-H G,  G_A = -G_B X^H. The factorization is used again where no second derivative is asked for.
struct Solve {
  Saved a, x, lu, pivots;
  Solve(Recorder& r, const Tensor& a, const Tensor&, bool) : a(r, a), x(r, 0), lu(r, 1), pivots(r, 2) {}
  void grad(Backward& b) const {
    const Tensor& g = b.output(0);
    if (!g) return;
    Tensor gb = grad_enabled() ? torch::linalg_solve(mH(a), g) : torch::linalg_lu_solve(lu, pivots, g, true, true);
    if (b.needs(0)) b[0] = -(gb % mH(x));
    if (b.needs(1)) b[1] = gb;
  }
};

// A X = B (or X A = B) with one triangle of A.
struct SolveTriangular {
  Saved a, x;
  bool upper, left, unit;
  SolveTriangular(Recorder& r, const Tensor& a, const Tensor&, bool upper, bool left, bool unit)
      : a(r, a), x(r, 0), upper(upper), left(left), unit(unit) {}
  void grad(const Tensor& g, Backward& b) const {
    const Tensor gb = torch::linalg_solve_triangular(mH(a), g, !upper, left, unit);
    if (b.needs(1)) b[1] = gb;
    if (!b.needs(0)) return;
    const Tensor ga = left ? -(gb % mH(x)) : -(mH(x) % gb);
    b[0] = upper ? torch::triu(ga, unit) : torch::tril(ga, unit ? -1 : 0);
  }
};

// G_A = L^-H Phi(L^H G) L^-1, Phi: the Hermitian matrix with this lower triangle and half its diagonal (Murray, eq. 10)
struct Cholesky {
  Saved l;
  bool upper;
  Cholesky(Recorder& r, const Tensor&, bool upper, bool) : l(r, 0), upper(upper) {}
  void grad(Backward& b) const {
    if (!b.output(0)) return;
    const Tensor lower = upper ? mH(l) : l.get(), g = upper ? mH(b.output(0)) : b.output(0);
    const Tensor t = torch::tril(mH(lower) % g);
    const Tensor phi = t + mH(t) - torch::diag_embed(real_part(diagonal_of(t)));
    b[0] = 0.5 * solve_right(lower, solve_left(mH(lower), phi, true), false);
  }
};

// A = L L^H (U^H U):  G_L = (G_A + G_A^H) L. Both triangles of the factor get theirs, though only one is read.
Tensor of_factor(const Tensor& l, const Tensor& ga, bool upper) {
  const Tensor both = ga + mH(ga);
  return upper ? l % both : both % l;
}

struct CholeskySolve {
  Saved l, x;
  bool upper;
  CholeskySolve(Recorder& r, const Tensor&, const Tensor& l, bool upper) : l(r, l), x(r, 0), upper(upper) {}
  void grad(const Tensor& g, Backward& b) const {
    const Tensor gb = torch::cholesky_solve(g, l, upper);
    if (b.needs(0)) b[0] = gb;
    if (b.needs(1)) b[1] = of_factor(l, -(gb % mH(x)), upper);
  }
};

struct CholeskyInverse {
  Saved l, inverse;
  bool upper;
  CholeskyInverse(Recorder& r, const Tensor& l, bool upper) : l(r, l), inverse(r, 0), upper(upper) {}
  Tensor grad(const Tensor& g) const { return of_factor(l, -product(inverse, g, inverse), upper); }
};

// A = P L U. With M = L^-1 P^T dA U^-1:  dL = L tril(M, -1), dU = triu(M) U for square matrices; the other rows of L,
// or columns of U, follow from A's.
struct LuFactor {
  Saved lu, pivots;
  LuFactor(Recorder& r, const Tensor&, bool, bool) : lu(r, 0), pivots(r, 1) {}
  void grad(Backward& b) const {
    const Tensor& g = b.output(0);
    if (!g) return;
    const Tensor& f = lu;
    const int64_t m = f.size(-2), n = f.size(-1), k = std::min(m, n);
    const Tensor head = torch::narrow(torch::narrow(f, -2, 0, k), -1, 0, k);  // L's and U's square parts
    const Tensor l = torch::tril(head, -1) + identity(k, f), u = torch::triu(head);
    const Tensor g_head = torch::narrow(torch::narrow(g, -2, 0, k), -1, 0, k);
    Tensor gl = torch::tril(g_head, -1), gu = torch::triu(g_head), rest;
    if (m > n) {
      const Tensor l2 = torch::narrow(f, -2, k, m - k);
      rest = solve_right(mH(u), torch::narrow(g, -2, k, m - k), false);
      gu = gu - mH(l2) % rest;
    } else if (m < n) {
      const Tensor u2 = torch::narrow(f, -1, k, n - k);
      rest = solve_left(mH(l), torch::narrow(g, -1, k, n - k), true, true);
      gl = gl - rest % mH(u2);
    }
    const Tensor middle = torch::tril(mH(l) % gl, -1) + torch::triu(gu % mH(u));
    Tensor ga = solve_right(mH(u), solve_left(mH(l), middle, true, true), false);
    if (m != n) ga = torch::cat(std::vector<Tensor>{ga, rest}, m > n ? -2 : -1);
    const Tensor order = torch::argsort(torch::_lu_permutation(pivots, m));
    b[0] = torch::gather(ga, -2, torch::expand(torch::unsqueeze(order, -1), ga.sizes()));
  }
};

// --- determinants ---

// det(U V^H) V diag(products of the other singular values) U^H, the adjugate, where A may be singular.
Tensor adjugate(const Tensor& a) {
  const auto [u, s, vh] = torch::_linalg_svd(a, false, true);
  const int64_t n = a.size(-1);
  const Tensor others = torch::masked_fill(torch::expand(torch::unsqueeze(s, -2), a.sizes()),
                                           torch::eye(n, std::nullopt, DType::Bool, a.device()), number(1.0));
  const Tensor turn = torch::linalg_det(u % vh);
  return torch::unsqueeze(torch::unsqueeze(turn, -1), -1) *
         (mH(vh) % (torch::unsqueeze(torch::prod(others, -1), -1) * mH(u)));
}

// d det(A) = tr(adj(A) dA), adj(A) = det(A) A^-1 where that exists.
struct Det {
  Saved a, result;
  Det(Recorder& r, const Tensor& a) : a(r, a), result(r, 0) {}
  Tensor grad(const Tensor& g) const {
    const auto wide = [](const Tensor& t) { return torch::unsqueeze(torch::unsqueeze(t, -1), -1); };
    if (has_zero(result)) return wide(g) * mH(adjugate(a));
    return wide(g * conj(result)) * mH(torch::linalg_inv(a));
  }

 private:
  static bool has_zero(const Tensor& d) {
    if (d.is_meta()) return false;
    if (!d.has_memory()) return true;  // of one of many examples: what holds for all
    GradMode off(false);
    return number_of(torch::any(torch::eq(d, number(0)))).to_int() != 0;
  }
};

// With t = tr(A^-1 dA): d logabsdet = Re t, d sign = i Im(t) sign.
struct Slogdet {
  Saved a, sign;
  Slogdet(Recorder& r, const Tensor& a) : a(r, a), sign(r, 0) {}
  void grad(Backward& b) const {
    const Tensor &gs = b.output(0), &gl = b.output(1);
    Tensor w = gl;
    if (gs && is_complex(gs.dtype())) {
      Tensor turn = torch::imag(conj(gs) * sign) * Scalar(std::complex<double>(0, -1));
      w = gl ? gl + turn : turn;
    }
    if (!w) return;
    const Tensor& x = a;
    // As wide as x: n x n numbers beside n matrices would count as n vectors. Infinite where x is singular.
    const auto [inverse, info] = torch::linalg_solve_ex(mH(x), torch::expand(identity(x.size(-1), x), x.sizes()));
    b[0] = torch::unsqueeze(torch::unsqueeze(w, -1), -1) * inverse;
  }
};

}  // namespace

void register_linalg_lu() {
  record<Inverse, op::linalg_inv_ex>();
  record<Solve, op::_linalg_solve>();
  record<SolveTriangular, op::linalg_solve_triangular>();
  record<Cholesky, op::linalg_cholesky_ex>();
  record<CholeskySolve, op::cholesky_solve>();
  record<CholeskyInverse, op::cholesky_inverse>();
  record<LuFactor, op::linalg_lu_factor_ex>();
  record<Det, op::linalg_det>();
  record<Slogdet, op::linalg_slogdet>();
  not_differentiable<op::_lu_permutation>();
}

}  // namespace torch::autograd
