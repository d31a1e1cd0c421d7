// Element-wise functions of several tensors. Summing over what was broadcast is left to fit().
#include "torch/core/ops/binary.h"

#include "math.h"
#include "register.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/unary.h"

namespace torch::autograd {

namespace {

// Two operands; each is saved when the other one needs it.
struct Crosswise {
  Saved self, other;
  void build(Recorder& r, const Tensor& a, const Tensor& b) {
    if (r.needs(1)) self.keep(r, a);
    if (r.needs(0)) other.keep(r, b);
  }
};
// Two operands that are both needed for either gradient.
struct Both {
  Saved self, other;
  void build(Recorder& r, const Tensor& a, const Tensor& b) {
    self.keep(r, a);
    other.keep(r, b);
  }
};

Tensor keep(const Tensor& condition, const Tensor& g) { return torch::where(condition, g, number(0.0)); }

// --- sums ---

struct Add {
  Scalar alpha;
  Add(Recorder&, const Tensor&, const Tensor&, const Scalar& alpha) : alpha(alpha) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g;
    if (b.needs(1)) b[1] = scaled(g, alpha);
  }
};
struct Sub {
  Scalar alpha;
  Sub(Recorder&, const Tensor&, const Tensor&, const Scalar& alpha) : alpha(alpha) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g;
    if (b.needs(1)) b[1] = -scaled(g, alpha);
  }
};
struct Rsub {  // other - alpha self
  Scalar alpha;
  Rsub(Recorder&, const Tensor&, const Tensor&, const Scalar& alpha) : alpha(alpha) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = -scaled(g, alpha);
    if (b.needs(1)) b[1] = g;
  }
};

// --- products ---

struct Mul : Crosswise {
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g * conj(other);
    if (b.needs(1)) b[1] = g * conj(self);
  }
};

struct Div {
  Saved self, other;
  bool rounded;
  Div(Recorder& r, const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode = {})
      : self(r, self, r.needs(1) && !rounding_mode),
        other(r, other, !rounding_mode),
        rounded(rounding_mode.has_value()) {}
  void grad(const Tensor& g, Backward& b) const {
    if (rounded) return Zero().grad(b);
    Tensor slope = g / conj(other);
    if (b.needs(1)) b[1] = -(slope * conj(self / other));
    if (b.needs(0)) b[0] = slope;
  }
};

// A mask of a number that lies on the CPU, where the gradient is.
Tensor beside(const Tensor& mask, const Tensor& g) {
  return mask.device() == g.device() ? mask : torch::_to_copy(mask, std::nullopt, g.device());
}

// x^p. A Python number is used as one: x^2 gives 2 x.
struct Pow {
  Saved self, exponent, result;
  Pow(Recorder& r, const Tensor& self, const Tensor& exponent) : self(r, self), exponent(r, exponent) {
    if (r.needs(1)) result.keep(r, 0);
  }
  void grad(const Tensor& g, Backward& b) const {
    const Tensor &x = self, &p = exponent;
    if (b.needs(0)) {
      if (p.is_wrapped_number()) {
        Scalar n = number_of(p);
        if (n.to_complex() != 0.0)
          b[0] = g * conj(torch::pow(x, number(less_one(n))) * n);
        else
          b.zero(0);
      } else {
        const Tensor flat = torch::eq(p, number(0));  // x^0 is 1, also at 0
        Tensor slope = p * torch::pow(x, torch::masked_fill(p, flat, number(1)) - 1);
        b[0] = torch::masked_fill(g * conj(slope), beside(flat, g), number(0.0));
      }
    }
    if (b.needs(1)) {                        // 0^p is 0 for all p near a positive one
      const DType t = result.raw().dtype();  // the logarithm is complex where the power is, and as precise
      const Tensor base = x.is_wrapped_number() ? torch::full({}, number_of(x), t)
                          : x.dtype() == t      ? x
                                                : torch::_to_copy(x, t);
      Tensor at_zero = torch::eq(base, number(0));
      if (!is_complex(p.dtype())) at_zero = torch::logical_and(at_zero, torch::ge(p, number(0)));
      Tensor slope = result * torch::log(torch::where(at_zero, number(1.0), base));
      b[1] = g * conj(torch::where(beside(at_zero, g), number(0.0), slope));
    }
  }

 private:
  static Scalar less_one(const Scalar& n) {
    return n.is_complex() ? Scalar(n.to_complex() - 1.0)
           : n.is_float() ? Scalar(n.to_double() - 1)
                          : Scalar(n.to_int() - 1);
  }
};

struct Addcmul {
  Saved tensor1, tensor2;
  Scalar value;
  Addcmul(Recorder& r, const Tensor&, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value)
      : tensor1(r, tensor1, r.needs(2)), tensor2(r, tensor2, r.needs(1)), value(value) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g;
    if (b.needs(1)) b[1] = scaled(g, value) * conj(tensor2);
    if (b.needs(2)) b[2] = scaled(g, value) * conj(tensor1);
  }
};
struct Addcdiv {
  Saved tensor1, tensor2;
  Scalar value;
  Addcdiv(Recorder& r, const Tensor&, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value)
      : tensor1(r, tensor1, r.needs(2)), tensor2(r, tensor2, r.needs(1) || r.needs(2)), value(value) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g;
    if (b.needs(1)) b[1] = scaled(g, value) / conj(tensor2);
    if (b.needs(2)) b[2] = -(scaled(g, value) * conj(tensor1 / square(tensor2)));
  }
};

struct Lerp {
  Saved self, end, weight;
  Lerp(Recorder& r, const Tensor& self, const Tensor& end, const Tensor& weight)
      : self(r, self, r.needs(2)), end(r, end, r.needs(2)), weight(r, weight, r.needs(0) || r.needs(1)) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0))
      b[0] = g - g * conj(weight);  // not 1 - weight: of a Python number that is only as good as the default dtype
    if (b.needs(1)) b[1] = g * conj(weight);
    if (b.needs(2)) b[2] = g * conj(end - self);
  }
};

// --- rests of divisions ---

struct Fmod {
  Saved self, other;
  Fmod(Recorder& r, const Tensor& self, const Tensor& other) : self(r, self, r.needs(1)), other(r, other, r.needs(1)) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g;
    if (b.needs(1)) b[1] = -(g * torch::div(self, other, "trunc"));
  }
};
struct Remainder {
  Saved self, other;
  Remainder(Recorder& r, const Tensor& self, const Tensor& other)
      : self(r, self, r.needs(1)), other(r, other, r.needs(1)) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g;
    if (b.needs(1)) b[1] = -(g * torch::div(self, other, "floor"));
  }
};

// --- choices: where both are equal each gets half ---

struct Maximum : Both {
  void grad(const Tensor& g, Backward& b) const {
    Tensor half = torch::where(torch::eq(self, other), g * 0.5, g);
    if (b.needs(0)) b[0] = torch::masked_fill(half, torch::lt(self, other), number(0.0));
    if (b.needs(1)) b[1] = torch::masked_fill(half, torch::gt(self, other), number(0.0));
  }
};
struct Minimum : Both {
  void grad(const Tensor& g, Backward& b) const {
    Tensor half = torch::where(torch::eq(self, other), g * 0.5, g);
    if (b.needs(0)) b[0] = torch::masked_fill(half, torch::gt(self, other), number(0.0));
    if (b.needs(1)) b[1] = torch::masked_fill(half, torch::lt(self, other), number(0.0));
  }
};
// With NaN ignored there are no halves: self wins.
struct Fmax : Both {
  void grad(const Tensor& g, Backward& b) const {
    Tensor first = torch::logical_or(torch::ge(self, other), torch::isnan(other));
    if (b.needs(0)) b[0] = keep(first, g);
    if (b.needs(1)) b[1] = torch::masked_fill(g, first, number(0.0));
  }
};
struct Fmin : Both {
  void grad(const Tensor& g, Backward& b) const {
    Tensor first = torch::logical_or(torch::le(self, other), torch::isnan(other));
    if (b.needs(0)) b[0] = keep(first, g);
    if (b.needs(1)) b[1] = torch::masked_fill(g, first, number(0.0));
  }
};

struct Clamp {
  Saved self;
  std::optional<Scalar> min, max;
  Clamp(Recorder& r, const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max)
      : self(r, self), min(min), max(max) {}
  Tensor grad(const Tensor& g) const {
    Tensor inside;
    if (min) inside = torch::ge(self, number(*min));
    if (max)
      inside = inside ? torch::logical_and(inside, torch::le(self, number(*max))) : torch::le(self, number(*max));
    return keep(inside, g);
  }
};
struct ClampTensor {
  Saved self, min, max;
  ClampTensor(Recorder& r, const Tensor& self, const Tensor& min, const Tensor& max)
      : self(r, self), min(r, min), max(r, max) {}
  void grad(const Tensor& g, Backward& b) const {
    // What is NaN lies on no side of a bound, and where bounds have crossed, which no self lies between, max is the
    // result.
    if (b.needs(0)) {
      Tensor inside = min ? torch::ge(self, min) : Tensor();
      if (max) inside = inside ? torch::logical_and(inside, torch::le(self, max)) : torch::le(self, max);
      b[0] = keep(inside, g);
    }
    if (b.needs(1)) {
      const Tensor low = torch::lt(self, min);
      b[1] = keep(max ? torch::logical_and(low, torch::lt(min, max)) : low, g);
    }
    if (b.needs(2)) {
      const Tensor high = torch::gt(self, max);
      b[2] = keep(min ? torch::logical_or(high, torch::gt(min, max)) : high, g);
    }
  }
};

struct Where {
  Saved condition;
  Where(Recorder& r, const Tensor& condition, const Tensor&, const Tensor&) : condition(r, condition) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(1)) b[1] = torch::where(condition, g, number(0.0));
    if (b.needs(2)) b[2] = torch::where(condition, number(0.0), g);
  }
};
struct MaskedFill {
  Saved mask;
  MaskedFill(Recorder& r, const Tensor&, const Tensor& mask, const Tensor&) : mask(r, mask) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = torch::masked_fill(g, mask, number(0.0));
    if (b.needs(2)) b[2] = keep(mask, g);
  }
};
// The neighbour of self moves with it; where both are equal it is other, as a constant.
struct Nextafter : Both {
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = torch::masked_fill(g, torch::eq(self, other), number(0.0));
    if (b.needs(1)) b[1] = zeros_for(b, 1);
  }
};
struct Heaviside {
  Saved self;
  Heaviside(Recorder& r, const Tensor& self, const Tensor&) : self(r, self, r.needs(1)) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(1)) b[1] = keep(torch::eq(self, number(0)), g);
  }
};

// --- others ---

// The incomplete gamma functions of (a, x): the slope by x is x^(a-1) exp(-x) / gamma(a).
Tensor gamma_density(const Tensor& a, const Tensor& x) {
  return torch::exp((a - 1) * torch::log(x) - x - torch::lgamma(a));
}
template <int sign>
struct Igamma {
  Saved self, other;
  Igamma(Recorder& r, const Tensor& self, const Tensor& other) : self(r, self), other(r, other) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g * (double(sign) * torch::igamma_slope(self, other));
    if (b.needs(1)) b[1] = g * (double(sign) * gamma_density(self, other));
  }
};
// Its slope by x is that of the density by a.
struct IgammaSlope {
  Saved self, other;
  IgammaSlope(Recorder& r, const Tensor& self, const Tensor& other) : self(r, self), other(r, other) {}
  void grad(const Tensor& g, Backward& b) const {
    const Tensor &a = self, &x = other;
    TORCH_CHECK_IMPLEMENTED(!b.needs(0),
                            "igamma: the second derivative with respect to the first argument is not there");
    if (b.needs(1)) b[1] = g * (gamma_density(a, x) * (torch::log(x) - torch::digamma(a)));
  }
};

struct Atan2 : Both {  // of (y, x)
  void grad(const Tensor& g, Backward& b) const {
    const Tensor y = as_floats(self, g), x = as_floats(other, g);  // squares of integers wrap
    Tensor r2 = square(x) + square(y);
    // Divided by infinity, a gradient is zero at the origin, and so are those of this formula.
    Tensor slope = g / torch::masked_fill(r2, torch::eq(r2, number(0)), number(INFINITY));
    if (b.needs(0)) b[0] = slope * x;
    if (b.needs(1)) b[1] = -(slope * y);
  }

 private:
  static Tensor as_floats(const Tensor& t, const Tensor& g) {
    return is_floating(t.dtype()) ? t : torch::_to_copy(t, g.dtype());
  }
};
struct Hypot {
  Saved self, other, result;
  Hypot(Recorder& r, const Tensor& self, const Tensor& other)
      : self(r, self, r.needs(0)), other(r, other, r.needs(1)), result(r, 0) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g * (self / result);
    if (b.needs(1)) b[1] = g * (other / result);
  }
};
struct Copysign {
  Saved self, result;
  Copysign(Recorder& r, const Tensor& self, const Tensor&) : self(r, self), result(r, 0) {}
  void grad(const Tensor& g, Backward& b) const {
    const Tensor& x = self;
    if (b.needs(0)) b[0] = g * (result / torch::masked_fill(x, torch::eq(x, number(0)), number(INFINITY)));
    if (b.needs(1)) b[1] = torch::zeros_like(g);
  }
};
struct Xlogy : Both {
  void grad(const Tensor& g, Backward& b) const {
    const Tensor &x = self, &y = other;
    if (b.needs(0)) {
      Tensor flat = torch::logical_and(torch::eq(x, number(0)), torch::le(y, number(0)));
      b[0] = torch::masked_fill(torch::xlogy(g, y), flat, number(0.0));
    }
    if (b.needs(1)) b[1] = g * (x / y);
  }
};
// By the difference, not by the result: at 1e20 its last digit is worth more than the whole slope.
struct Logaddexp {
  Saved self, other;
  Logaddexp(Recorder& r, const Tensor& self, const Tensor& other) : self(r, self), other(r, other) {}
  void grad(const Tensor& g, Backward& b) const {
    if (b.needs(0)) b[0] = g * conj(torch::sigmoid(self - other));
    if (b.needs(1)) b[1] = g * conj(torch::sigmoid(other - self));
  }
};
struct Logaddexp2 {
  Saved self, other;
  Logaddexp2(Recorder& r, const Tensor& self, const Tensor& other) : self(r, self), other(r, other) {}
  void grad(const Tensor& g, Backward& b) const {
    Tensor difference = (self - other) * std::numbers::ln2;
    if (b.needs(0)) b[0] = g * torch::sigmoid(difference);
    if (b.needs(1)) b[1] = g * torch::sigmoid(-difference);
  }
};

}  // namespace

void register_binary() {
  record<Add, op::add, op::add_>();
  record<Addcdiv, op::addcdiv, op::addcdiv_>();
  record<Addcmul, op::addcmul, op::addcmul_>();
  record<Atan2, op::atan2, op::atan2_>();
  record<Clamp, op::clamp, op::clamp_>();
  record<ClampTensor, op::clamp_tensor, op::clamp_tensor_>();
  record<Copysign, op::copysign, op::copysign_>();
  record<Div, op::div, op::div_, op::true_divide, op::true_divide_>();
  record<Fmax, op::fmax>();
  record<Fmin, op::fmin>();
  record<Fmod, op::fmod, op::fmod_>();
  record<Heaviside, op::heaviside, op::heaviside_>();
  record<Hypot, op::hypot, op::hypot_>();
  record<Igamma<1>, op::igamma, op::igamma_>();
  record<Igamma<-1>, op::igammac, op::igammac_>();
  record<IgammaSlope, op::igamma_slope>();
  record<Lerp, op::lerp, op::lerp_>();
  record<Logaddexp, op::logaddexp>();
  record<Logaddexp2, op::logaddexp2>();
  record<MaskedFill, op::masked_fill, op::masked_fill_>();
  record<Maximum, op::maximum>();
  record<Minimum, op::minimum>();
  record<Mul, op::mul, op::mul_>();
  record<Nextafter, op::nextafter, op::nextafter_>();
  record<Pow, op::pow, op::pow_>();
  record<Remainder, op::remainder, op::remainder_>();
  record<Rsub, op::rsub>();
  record<Sub, op::sub, op::sub_>();
  record<Where, op::where>();
  record<Xlogy, op::xlogy, op::xlogy_>();
  record<Zero, op::floor_divide, op::floor_divide_>();
  // Comparisons in place overwrite what was there.
  record<Zero, op::eq_, op::ne_, op::lt_, op::le_, op::gt_, op::ge_, op::logical_and_, op::logical_or_,
         op::logical_xor_>();
}

}  // namespace torch::autograd
