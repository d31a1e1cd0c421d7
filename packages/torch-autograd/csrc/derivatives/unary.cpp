// Element-wise functions of one tensor: the gradient is g times the conjugate of the slope.
#include "torch/core/ops/unary.h"

#include <numbers>

#include "math.h"
#include "register.h"
#include "torch/core/ops/activation.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/special.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

using std::numbers::ln10, std::numbers::ln2, std::numbers::pi;
const double kSqrtPi = std::sqrt(pi);

// --- slopes in terms of the input ---

// clang-format off
struct Abs : FromSelf { Tensor grad(const Tensor& g) const { return g * torch::sgn(self); } };
struct Acos : FromSelf { Tensor grad(const Tensor& g) const { return -(g * conj(torch::rsqrt(1 - square(self)))); } };
struct Acosh : FromSelf { Tensor grad(const Tensor& g) const { return g * conj(torch::rsqrt(self - 1) * torch::rsqrt(self + 1)); } };
struct Asin : FromSelf { Tensor grad(const Tensor& g) const { return g * conj(torch::rsqrt(1 - square(self))); } };
struct Asinh : FromSelf { Tensor grad(const Tensor& g) const { return g * conj(torch::rsqrt(square(self) + 1)); } };
struct Atan : FromSelf { Tensor grad(const Tensor& g) const { return g / conj(square(self) + 1); } };
struct Atanh : FromSelf { Tensor grad(const Tensor& g) const { return g / conj(1 - square(self)); } };
struct Cos : FromSelf { Tensor grad(const Tensor& g) const { return -(g * conj(torch::sin(self))); } };
struct Cosh : FromSelf { Tensor grad(const Tensor& g) const { return g * conj(torch::sinh(self)); } };
struct Erf : FromSelf { Tensor grad(const Tensor& g) const { return g * (2 / kSqrtPi * torch::exp(-square(self))); } };
struct Erfc : FromSelf { Tensor grad(const Tensor& g) const { return g * (-2 / kSqrtPi * torch::exp(-square(self))); } };
struct Lgamma : FromSelf { Tensor grad(const Tensor& g) const { return g * torch::digamma(self); } };
struct Log : FromSelf { Tensor grad(const Tensor& g) const { return g / conj(self); } };
struct Log10 : FromSelf { Tensor grad(const Tensor& g) const { return g / (conj(self) * ln10); } };
struct Log1p : FromSelf { Tensor grad(const Tensor& g) const { return g / conj(self + 1); } };
struct Log2 : FromSelf { Tensor grad(const Tensor& g) const { return g / (conj(self) * ln2); } };
struct Sin : FromSelf { Tensor grad(const Tensor& g) const { return g * conj(torch::cos(self)); } };
struct Sinh : FromSelf { Tensor grad(const Tensor& g) const { return g * conj(torch::cosh(self)); } };
struct Square : FromSelf { Tensor grad(const Tensor& g) const { return g * (2 * conj(self)); } };

// --- slopes in terms of the result ---

struct Erfinv : FromSelf { Tensor grad(const Tensor& g) const { return g * (kSqrtPi / 2 * torch::exp(square(torch::erfinv(self)))); } };
struct Exp : FromResult { Tensor grad(const Tensor& g) const { return g * conj(result); } };
struct Exp2 : FromResult { Tensor grad(const Tensor& g) const { return g * (conj(result) * ln2); } };
struct Expm1 : FromResult { Tensor grad(const Tensor& g) const { return g * conj(result + 1); } };
struct Reciprocal : FromResult { Tensor grad(const Tensor& g) const { return -(g * conj(square(result))); } };
struct Relu : FromResult { Tensor grad(const Tensor& g) const { return torch::threshold_backward(g, result, 0); } };
struct Rsqrt : FromResult { Tensor grad(const Tensor& g) const { return g * (-0.5 * conj(square(result) * result)); } };
struct Sqrt : FromResult { Tensor grad(const Tensor& g) const { return g / (2 * conj(result)); } };
struct Tan : FromResult { Tensor grad(const Tensor& g) const { return g * conj(square(result) + 1); } };
struct Sigmoid : FromResult {
  Tensor grad(const Tensor& g) const {
    const Tensor& y = result;
    return is_complex(y.dtype()) ? g * conj(y * (1 - y)) : torch::sigmoid_backward(g, y);
  }
};
struct Tanh : FromResult {
  Tensor grad(const Tensor& g) const {
    const Tensor& y = result;
    return is_complex(y.dtype()) ? g * conj(1 - square(y)) : torch::tanh_backward(g, y);
  }
};

// --- constant slopes ---

struct Neg { Tensor grad(const Tensor& g) const { return -g; } };
struct Frac { Tensor grad(const Tensor& g) const { return g; } };
struct Deg2rad { Tensor grad(const Tensor& g) const { return g * (pi / 180); } };
struct Rad2deg { Tensor grad(const Tensor& g) const { return g * (180 / pi); } };
struct Conj { Tensor grad(const Tensor& g) const { return conj(g); } };
// clang-format on

// --- more than a line ---

struct Digamma : FromSelf {
  Tensor grad(const Tensor& g) const { return g * torch::polygamma(1, self); }
};
struct Polygamma {
  Saved self;
  int64_t n;
  Polygamma(Recorder& r, int64_t n, const Tensor& self) : self(r, self), n(n) {}
  Polygamma(Recorder& r, const Tensor& self, int64_t n) : self(r, self), n(n) {}
  Tensor grad(const Tensor& g) const { return g * torch::polygamma(n + 1, self); }
};

struct I0 : FromSelf {
  Tensor grad(const Tensor& g) const { return g * torch::i1(self); }
};

struct Sinc : FromSelf {
  Tensor grad(const Tensor& g) const {
    Tensor px = self * pi;
    Tensor squares = px * self;  // 0 also where these are too small
    Tensor slope = (px * torch::cos(px) - torch::sin(px)) / squares;
    const Tensor flat = torch::eq(squares, number(0));
    return torch::masked_fill(g, flat, number(0.0)) * conj(torch::where(flat, number(0.0), slope));
  }
};

// Of a complex number: what changes its direction. Of a real one nothing does.
struct Sgn : FromSelf {
  void grad(const Tensor& g, Backward& b) const {
    if (!is_complex(self.raw().dtype())) return Zero().grad(b);
    Tensor length = torch::abs(self), y = torch::sgn(self);
    Tensor across = (g - torch::real(g * conj(y)) * y) / length;
    b[0] = torch::where(torch::eq(length, number(0)), number(0.0), across);
  }
};
struct Angle : FromSelf {
  void grad(const Tensor& g, Backward& b) const {
    const Tensor& z = self;
    if (!is_complex(z.dtype())) return Zero().grad(b);
    Tensor turned = g * (z / torch::square(torch::abs(z))) * Scalar(std::complex<double>(0, 1));
    b[0] = torch::where(torch::eq(z, number(0)), number(0.0), turned);
  }
};

struct NanToNum {
  Saved self;
  NanToNum(Recorder& r, const Tensor& self, const auto&...) : self(r, self) {}
  Tensor grad(const Tensor& g) const { return g * torch::isfinite(self); }
};

struct Frexp {
  Saved exponent;
  Frexp(Recorder& r, const Tensor&) : exponent(r, 1) {}
  void grad(Backward& b) const {
    if (b.output(0)) b[0] = b.output(0) / torch::exp2(torch::_to_copy(exponent, b.output(0).dtype()));
  }
};

struct Logit {
  Saved self;
  std::optional<double> eps;
  Logit(Recorder& r, const Tensor& self, std::optional<double> eps) : self(r, self), eps(eps) {}
  Tensor grad(const Tensor& g) const {
    const Tensor& x = self;
    Tensor slope = g / (x * (1 - x));
    // Outside of [0, 1] there is no function, nor a slope of it.
    if (!eps) return torch::masked_fill(slope, torch::gt(torch::abs(x - 0.5), number(0.5)), number(NAN));
    Tensor clamped = torch::logical_or(torch::lt(x, number(*eps)), torch::gt(x, number(1 - *eps)));
    return torch::masked_fill(slope, clamped, number(0.0));
  }
};

}  // namespace

void register_unary() {
  record<Abs, op::abs, op::abs_>();
  record<Acos, op::acos, op::acos_>();
  record<Acosh, op::acosh, op::acosh_>();
  record<Angle, op::angle>();
  record<Asin, op::asin, op::asin_>();
  record<Asinh, op::asinh, op::asinh_>();
  record<Atan, op::atan, op::atan_>();
  record<Atanh, op::atanh, op::atanh_>();
  record<Conj, op::conj_physical, op::conj_physical_>();
  record<Cos, op::cos, op::cos_>();
  record<Cosh, op::cosh, op::cosh_>();
  record<Deg2rad, op::deg2rad, op::deg2rad_>();
  record<Digamma, op::digamma, op::digamma_>();
  record<Erf, op::erf, op::erf_>();
  record<Erfc, op::erfc, op::erfc_>();
  record<Erfinv, op::erfinv, op::erfinv_>();
  record<Exp, op::exp, op::exp_>();
  record<Exp2, op::exp2, op::exp2_>();
  record<Expm1, op::expm1, op::expm1_>();
  record<Frac, op::frac, op::frac_>();
  record<Frexp, op::frexp>();
  record<I0, op::i0, op::i0_>();
  record<Lgamma, op::lgamma, op::lgamma_>();
  record<Log, op::log, op::log_>();
  record<Log10, op::log10, op::log10_>();
  record<Log1p, op::log1p, op::log1p_>();
  record<Log2, op::log2, op::log2_>();
  record<Logit, op::logit, op::logit_>();
  record<NanToNum, op::nan_to_num, op::nan_to_num_>();
  record<Neg, op::neg, op::neg_>();
  record<Polygamma, op::polygamma, op::polygamma_>();
  record<Rad2deg, op::rad2deg, op::rad2deg_>();
  record<Reciprocal, op::reciprocal, op::reciprocal_>();
  record<Relu, op::relu, op::relu_>();
  record<Rsqrt, op::rsqrt, op::rsqrt_>();
  record<Sgn, op::sgn, op::sgn_>();
  record<Sigmoid, op::sigmoid, op::sigmoid_>();
  record<Sin, op::sin, op::sin_>();
  record<Sinc, op::sinc, op::sinc_>();
  record<Sinh, op::sinh, op::sinh_>();
  record<Sqrt, op::sqrt, op::sqrt_>();
  record<Square, op::square, op::square_>();
  record<Tan, op::tan, op::tan_>();
  record<Tanh, op::tanh, op::tanh_>();
  // Steps: their slope is zero wherever they have one.
  record<Zero, op::ceil, op::ceil_, op::floor, op::floor_, op::round, op::round_, op::sign, op::sign_, op::trunc,
         op::trunc_>();
  record<Zero, op::logical_not_>();
}

}  // namespace torch::autograd
