// Least squares, pseudoinverse, exponential. G is the gradient of the result.
#include "linalg.h"
#include "register.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P for P = pinv(A) (G. Golub, V. Pereyra, "The
// differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate", 1973, eq. 4.12)
Tensor of_pinv(const Tensor& a, const Tensor& p, const Tensor& g) {
  const Tensor ph = mH(p), gh = mH(g), outer = product(gh, p, ph), inner = product(ph, p, gh);
  return (outer - product(a, p, outer)) + (inner - product(inner, p, a)) - product(ph, g, ph);
}

struct Pinv {
  Saved a, p;
  Pinv(Recorder& r, const Tensor& a, const Tensor&, const Tensor&, bool) : a(r, a), p(r, 0) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = of_pinv(a, p, g);
  }
};

// X = pinv(A) B; the residuals |A X - B|^2 do not change with X, which makes them least.
struct Lstsq {
  Saved a, b_, x;
  Lstsq(Recorder& r, const Tensor& a, const Tensor& b, double, std::string_view) : a(r, a), b_(r, b), x(r, 0) {}
  void grad(Backward& b) const {
    const Tensor &g = b.output(0), &gr = b.output(1);
    if (g) {
      const Tensor p = torch::linalg_pinv(a);
      if (b.needs(0)) b[0] = of_pinv(a, p, g % mH(b_));
      if (b.needs(1)) b[1] = mH(p) % g;
    }
    if (gr && gr.numel() > 0) {  // no residuals where A has not full rank
      const Tensor rest = 2.0 * torch::unsqueeze(gr, -2) * (a % x - b_);
      if (b.needs(0)) add_into(b[0], rest % mH(x));
      if (b.needs(1)) add_into(b[1], -rest);
    }
  }
};

// exp of [[A^H, G], [0, A^H]] has the derivative in direction G in its upper right block (R. Mathias, "A chain rule for
// matrix functions and applications", 1996).
struct MatrixExp {
  Saved a;
  MatrixExp(Recorder& r, const Tensor& a) : a(r, a) {}
  Tensor grad(const Tensor& g) const {
    const Tensor ah = mH(a), none = torch::zeros_like(g);
    const int64_t n = g.size(-1);
    const Tensor top = torch::cat(std::vector<Tensor>{ah, g}, -1), low = torch::cat(std::vector<Tensor>{none, ah}, -1);
    const Tensor e = torch::linalg_matrix_exp(torch::cat(std::vector<Tensor>{top, low}, -2));
    return torch::narrow(torch::narrow(e, -2, 0, n), -1, n, n);
  }
};

}  // namespace

void register_linalg_functions() {
  record<Pinv, op::linalg_pinv>();
  record<Lstsq, op::_linalg_lstsq>();
  record<MatrixExp, op::linalg_matrix_exp>();
  refuse_in_backward<op::linalg_ldl_factor_ex, op::linalg_ldl_solve, op::pstrf>(
      "torch.linalg.solve and cholesky have one");
}

}  // namespace torch::autograd
