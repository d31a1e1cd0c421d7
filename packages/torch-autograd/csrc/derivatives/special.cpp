// Functions of torch.special. Bessel functions, the Airy function and polynomials count as not differentiable, as users
// of PyTorch know them.
#include "torch/core/ops/special.h"

#include <numbers>

#include "math.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/unary.h"

namespace torch::autograd {

namespace {

using std::numbers::pi;

// f(x), and a number where x is 0, which f does not get to see: second derivatives pass through here.
template <class F>
Tensor at_zero(const Tensor& x, double value, F f) {
  const Tensor zero = torch::eq(x, number(0));
  return torch::where(zero, number(value), f(torch::masked_fill(x, zero, number(1.0))));
}

// clang-format off
struct Erfcx : FromSelf { Tensor grad(const Tensor& g) const { return g * (2 * self * torch::erfcx(self) - 2 / std::sqrt(pi)); } };
struct I0e : FromSelf { Tensor grad(const Tensor& g) const { return g * (torch::i1e(self) - torch::sgn(self) * torch::i0e(self)); } };
struct LogNdtr : FromSelf { Tensor grad(const Tensor& g) const { return g * (std::sqrt(2 / pi) / torch::erfcx(self * -std::sqrt(0.5))); } };
struct Ndtr : FromSelf { Tensor grad(const Tensor& g) const { return g * (torch::exp(square(self) * -0.5) / std::sqrt(2 * pi)); } };
struct Ndtri : FromResult { Tensor grad(const Tensor& g) const { return g * (torch::exp(square(result) * 0.5) * std::sqrt(2 * pi)); } };
// clang-format on

struct I1 : FromSelf {
  Tensor grad(const Tensor& g) const {
    return g * at_zero(self, 0.5, [](const Tensor& x) { return torch::i0(x) - torch::i1(x) / x; });
  }
};
struct I1e : FromSelf {
  Tensor grad(const Tensor& g) const {
    return g * at_zero(self, 0.5, [](const Tensor& x) {
             const Tensor y = torch::i1e(x);
             return torch::i0e(x) - torch::sgn(x) * y - y / x;
           });
  }
};
struct Entr : FromSelf {  // infinite at 0, where the function starts, and NaN where there is none
  Tensor grad(const Tensor& g) const { return g * (-torch::log(self) - 1); }
};

struct Xlog1py {
  Saved self, other;
  Xlog1py(Recorder& r, const Tensor& self, const Tensor& other) : self(r, self), other(r, other) {}
  void grad(const Tensor& g, Backward& b) const {
    const Tensor &x = self, &y = other;
    if (b.needs(0)) {
      Tensor flat = torch::logical_and(torch::eq(x, number(0)), torch::le(y, number(-1)));
      b[0] = torch::masked_fill(torch::xlog1py(g, y), flat, number(0.0));
    }
    if (b.needs(1)) b[1] = g * (x / (y + 1));
  }
};
struct Zeta {
  Saved self, other;
  Zeta(Recorder& r, const Tensor& self, const Tensor& other) : self(r, self), other(r, other) {}
  void grad(const Tensor& g, Backward& b) const {
    TORCH_CHECK_IMPLEMENTED(!b.needs(0),
                            "the derivative for 'zeta' is not implemented by the first argument; detach() it");
    const Tensor &s = self, &q = other;
    if (b.needs(1)) b[1] = g * (-s * torch::zeta(s + 1, q));
  }
};

}  // namespace

void register_special() {
  record<Entr, op::entr>();
  record<Erfcx, op::erfcx>();
  record<I0e, op::i0e>();
  record<I1, op::i1>();
  record<I1e, op::i1e>();
  record<LogNdtr, op::log_ndtr>();
  record<Ndtr, op::ndtr>();
  record<Ndtri, op::ndtri>();
  record<Xlog1py, op::xlog1py>();
  record<Zeta, op::zeta>();
  not_differentiable<op::airy_ai, op::bessel_j0, op::bessel_j1, op::bessel_y0, op::bessel_y1, op::modified_bessel_i0,
                     op::modified_bessel_i1, op::modified_bessel_k0, op::modified_bessel_k1,
                     op::scaled_modified_bessel_k0, op::scaled_modified_bessel_k1, op::spherical_bessel_j0>();
  not_differentiable<op::chebyshev_polynomial_t, op::chebyshev_polynomial_u, op::chebyshev_polynomial_v,
                     op::chebyshev_polynomial_w, op::hermite_polynomial_h, op::hermite_polynomial_he,
                     op::laguerre_polynomial_l, op::legendre_polynomial_p, op::shifted_chebyshev_polynomial_t,
                     op::shifted_chebyshev_polynomial_u, op::shifted_chebyshev_polynomial_v,
                     op::shifted_chebyshev_polynomial_w>();
}

}  // namespace torch::autograd
