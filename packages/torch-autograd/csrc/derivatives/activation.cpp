// Activation functions. The first derivative is one kernel of the core; its own derivative is g times that kernel
// again, and v g times the second derivative of the function, which is written out here.
#include "torch/core/ops/activation.h"

#include <numbers>

#include "math.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/unary.h"

namespace torch::autograd {

namespace {

using std::numbers::pi;

// Functions whose gradient is backward(g, x).
template <auto& backward>
struct ByInput : FromSelf {
  Tensor grad(const Tensor& g) const { return backward(g, self); }
};
template <auto& backward>
struct ByResult : FromResult {
  Tensor grad(const Tensor& g) const { return backward(g, result); }
};

// backward(g, x): linear in g; `curvature` is f''(x), undefined where that is zero everywhere.
template <auto& backward, Tensor (*curvature)(const Tensor&)>
struct Backward2 {
  Saved g, x;
  static constexpr bool kCurved = curvature != nullptr;
  Backward2(Recorder& r, const Tensor& g, const Tensor& x) : g(r, g, kCurved && r.needs(1)), x(r, x) {}
  void grad(const Tensor& v, Backward& b) const {
    if (b.needs(0)) b[0] = backward(v, x);
    if constexpr (kCurved)
      if (b.needs(1)) b[1] = v * g * curvature(x);
    if constexpr (!kCurved)
      if (b.needs(1)) b.zero(1);
  }
};

Tensor sigmoid_curve(const Tensor& y) { return 1 - 2 * y; }  // in terms of the result
Tensor tanh_curve(const Tensor& y) { return -2 * y; }
Tensor silu_curve(const Tensor& x) {
  Tensor s = torch::sigmoid(x);
  return s * (1 - s) * (2 + x * (1 - 2 * s));
}
Tensor mish_curve(const Tensor& x) {
  Tensor s = torch::sigmoid(x), t = torch::tanh(torch::softplus(x));
  return s * (1 - square(t)) * (2 + x * (1 - s) - 2 * (x * t * s));
}
Tensor log_sigmoid_curve(const Tensor& x) {
  Tensor s = torch::sigmoid(x);
  return s * (s - 1);
}
Tensor hardswish_curve(const Tensor& x) {
  Tensor inside = torch::lt(torch::abs(x), number(3.0));
  return torch::_to_copy(inside, x.dtype()) / 3;
}

struct Threshold {
  Saved x;
  Scalar threshold;
  Threshold(Recorder& r, const Tensor& self, const Scalar& threshold, const Scalar&)
      : x(r, self), threshold(threshold) {}
  Tensor grad(const Tensor& g) const { return torch::threshold_backward(g, x, threshold); }
};
struct ThresholdBackward {
  Saved x;
  Scalar threshold;
  ThresholdBackward(Recorder& r, const Tensor&, const Tensor& x, const Scalar& threshold)
      : x(r, x), threshold(threshold) {}
  void grad(const Tensor& v, Backward& b) const {
    if (b.needs(0)) b[0] = torch::threshold_backward(v, x, threshold);
    if (b.needs(1)) b.zero(1);
  }
};

// The result, too, knows where it was clamped, so that an in-place form needs no copy; other forms keep their input:
// what users change after the call is the result.
struct Hardtanh {
  Saved x;
  Scalar min, max;
  Hardtanh(Recorder& r, const Tensor& self, const Scalar& min, const Scalar& max) : min(min), max(max) {
    if (r.in_place())
      x.keep(r, 0);
    else
      x.keep(r, self);
  }
  Hardtanh(Recorder& r, const Tensor& self) : Hardtanh(r, self, 0, 6) {}  // relu6
  Tensor grad(const Tensor& g) const { return torch::hardtanh_backward(g, x, min, max); }
};
struct Huber {
  Saved x;
  Scalar delta;
  Huber(Recorder& r, const Tensor& self, const Scalar& delta) : x(r, self), delta(delta) {}
  Tensor grad(const Tensor& g) const { return g * torch::hardtanh(x, Scalar(-delta.to_double()), delta); }
};
struct HardtanhBackward {
  Saved x;
  Scalar min, max;
  HardtanhBackward(Recorder& r, const Tensor&, const Tensor& x, const Scalar& min, const Scalar& max)
      : x(r, x), min(min), max(max) {}
  void grad(const Tensor& v, Backward& b) const {
    if (b.needs(0)) b[0] = torch::hardtanh_backward(v, x, min, max);
    if (b.needs(1)) b.zero(1);
  }
};

// With a positive slope the result's sign is the input's, and an in-place form needs no copy.
struct LeakyRelu {
  Saved x;
  Scalar slope;
  LeakyRelu(Recorder& r, const Tensor& self, const Scalar& slope) : slope(slope) {
    if (r.in_place() && slope.to_double() > 0)
      x.keep(r, 0);
    else
      x.keep(r, self);
  }
  Tensor grad(const Tensor& g) const { return torch::leaky_relu_backward(g, x, slope); }
};
struct LeakyReluBackward {
  Saved x;
  Scalar slope;
  LeakyReluBackward(Recorder& r, const Tensor&, const Tensor& x, const Scalar& slope) : x(r, x), slope(slope) {}
  void grad(const Tensor& v, Backward& b) const {
    if (b.needs(0)) b[0] = torch::leaky_relu_backward(v, x, slope);
    if (b.needs(1)) b.zero(1);
  }
};

struct Elu {
  Saved x;
  Scalar alpha, scale, input_scale;
  bool by_result;
  Elu(Recorder& r, const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale)
      : alpha(alpha), scale(scale), input_scale(input_scale), by_result(r.in_place() && alpha.to_double() >= 0) {
    if (by_result)
      x.keep(r, 0);
    else
      x.keep(r, self);
  }
  Tensor grad(const Tensor& g) const { return torch::elu_backward(g, alpha, scale, input_scale, by_result, x); }
};
struct EluBackward {
  Saved g, x;
  Scalar alpha, scale, input_scale;
  bool by_result;
  EluBackward(Recorder& r, const Tensor& g, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
              bool by_result, const Tensor& x)
      : g(r, g, r.needs(1)), x(r, x), alpha(alpha), scale(scale), input_scale(input_scale), by_result(by_result) {}
  void grad(const Tensor& v, Backward& b) const {
    if (b.needs(0)) b[0] = torch::elu_backward(v, alpha, scale, input_scale, by_result, x);
    if (!b.needs(1)) return;
    double in = input_scale.to_double(), steep = alpha.to_double() * scale.to_double() * in * in;
    Tensor left = torch::lt(x, number(0));
    b[1] = torch::where(left, by_result ? v * g * in : v * g * (steep * torch::exp(x * in)), number(0.0));
  }
};

struct Gelu {
  Saved x;
  bool tanh;
  Gelu(Recorder& r, const Tensor& self, std::string_view approximate) : x(r, self), tanh(approximate == "tanh") {}
  Tensor grad(const Tensor& g) const { return torch::gelu_backward(g, x, tanh ? "tanh" : "none"); }
};
struct GeluBackward {
  Saved g, x;
  bool tanh;
  GeluBackward(Recorder& r, const Tensor& g, const Tensor& x, std::string_view approximate)
      : g(r, g, r.needs(1)), x(r, x), tanh(approximate == "tanh") {}
  void grad(const Tensor& v, Backward& b) const {
    if (b.needs(0)) b[0] = torch::gelu_backward(v, x, tanh ? "tanh" : "none");
    if (!b.needs(1)) return;
    if (!tanh) {  // phi(x) (2 - x^2)
      b[1] = v * g * (torch::exp(square(x) * -0.5) * (2 - square(x)) / std::sqrt(2 * pi));
      return;
    }
    const double k = std::sqrt(2 / pi), c = 0.044715;  // tanh(k (x + c x^3)), Hendrycks & Gimpel 2016
    Tensor x2 = square(x), t = torch::tanh(k * (x * (1 + c * x2))), flat = 1 - square(t);
    Tensor du = k * (1 + 3 * c * x2), ddu = 6 * k * c * x;
    b[1] = v * g * (flat * du + 0.5 * (x * flat * (ddu - 2 * (t * square(du)))));
  }
};

struct Softplus {
  Saved x;
  Scalar beta, threshold;
  Softplus(Recorder& r, const Tensor& self, const Scalar& beta, const Scalar& threshold)
      : x(r, self), beta(beta), threshold(threshold) {}
  Tensor grad(const Tensor& g) const { return torch::softplus_backward(g, x, beta, threshold); }
};
struct SoftplusBackward {
  Saved g, x;
  Scalar beta, threshold;
  SoftplusBackward(Recorder& r, const Tensor& g, const Tensor& x, const Scalar& beta, const Scalar& threshold)
      : g(r, g, r.needs(1)), x(r, x), beta(beta), threshold(threshold) {}
  void grad(const Tensor& v, Backward& b) const {
    if (b.needs(0)) b[0] = torch::softplus_backward(v, x, beta, threshold);
    if (!b.needs(1)) return;
    Tensor bx = x * beta, s = torch::sigmoid(bx);
    b[1] = torch::masked_fill(v * g * (s * (1 - s) * beta), torch::gt(bx, number(threshold)), number(0.0));
  }
};

struct Shrink {
  Saved x;
  Scalar lambd;
  Shrink(Recorder& r, const Tensor& self, const Scalar& lambd) : x(r, self), lambd(lambd) {}
  Tensor grad(const Tensor& g) const { return torch::hardshrink_backward(g, x, lambd); }
};
struct ShrinkBackward {
  Saved x;
  Scalar lambd;
  ShrinkBackward(Recorder& r, const Tensor&, const Tensor& x, const Scalar& lambd) : x(r, x), lambd(lambd) {}
  void grad(const Tensor& v, Backward& b) const {
    if (b.needs(0)) b[0] = torch::hardshrink_backward(v, x, lambd);
    if (b.needs(1)) b.zero(1);
  }
};

struct Prelu {
  Saved self, weight;
  Prelu(Recorder& r, const Tensor& self, const Tensor& weight) : self(r, self), weight(r, weight, r.needs(0)) {}
  void grad(const Tensor& g, Backward& b) const {
    Tensor right = torch::gt(self, number(0));
    if (b.needs(0)) b[0] = tied_to_input(torch::where(right, g, g * weight), b, 0);
    if (b.needs(1)) b[1] = torch::where(right, number(0.0), g * self);
  }
};

}  // namespace

void register_activation() {
  record<ByInput<torch::hardsigmoid_backward>, op::hardsigmoid, op::hardsigmoid_>();
  record<ByInput<torch::hardswish_backward>, op::hardswish, op::hardswish_>();
  record<ByInput<torch::silu_backward>, op::silu, op::silu_>();
  record<ByInput<torch::mish_backward>, op::mish, op::mish_>();
  record<ByInput<torch::log_sigmoid_backward>, op::log_sigmoid>();
  record<Backward2<torch::sigmoid_backward, sigmoid_curve>, op::sigmoid_backward>();
  record<Backward2<torch::tanh_backward, tanh_curve>, op::tanh_backward>();
  record<Backward2<torch::hardsigmoid_backward, nullptr>, op::hardsigmoid_backward>();
  record<Backward2<torch::hardswish_backward, hardswish_curve>, op::hardswish_backward>();
  record<Backward2<torch::silu_backward, silu_curve>, op::silu_backward>();
  record<Backward2<torch::mish_backward, mish_curve>, op::mish_backward>();
  record<Backward2<torch::log_sigmoid_backward, log_sigmoid_curve>, op::log_sigmoid_backward>();
  record<Threshold, op::threshold, op::threshold_>();
  record<ThresholdBackward, op::threshold_backward>();
  record<Hardtanh, op::hardtanh, op::hardtanh_, op::relu6, op::relu6_>();
  record<Huber, op::huber>();
  record<HardtanhBackward, op::hardtanh_backward>();
  record<LeakyRelu, op::leaky_relu, op::leaky_relu_>();
  record<LeakyReluBackward, op::leaky_relu_backward>();
  record<Elu, op::elu, op::elu_>();
  record<EluBackward, op::elu_backward>();
  record<Gelu, op::gelu>();
  record<GeluBackward, op::gelu_backward>();
  record<Softplus, op::softplus>();
  record<SoftplusBackward, op::softplus_backward>();
  record<Shrink, op::hardshrink, op::softshrink>();
  record<ShrinkBackward, op::hardshrink_backward>();
  record<Prelu, op::_prelu_kernel>();
}

}  // namespace torch::autograd
