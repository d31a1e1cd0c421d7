// Activation functions (ops/activation.def).
#include "torch/core/ops/activation.h"

#include "dispatch/register.h"
#include "iterate/elementwise.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {
// A function of one tensor with scalars, into `out` or a new tensor.
Tensor activate(const char* name, Formula f, const Tensor& out, const Tensor& self, ArrayRef<Scalar> scalars = {}) {
  const Tensor* inputs[] = {&self};
  return elementwise(op_of(name, f), self.dtype(), out, inputs, scalars.data(), int(scalars.size()));
}
Tensor backward(const char* name, Formula f, const Tensor& grad, const Tensor& x, ArrayRef<Scalar> scalars = {}) {
  return binary(op_of(name, f), grad, x, scalars.data(), int(scalars.size()));
}

// plain<f>(self) and in_place<f>(self): functions without parameters.
template <Formula F, auto Name>
Tensor plain(const Tensor& self) {
  return activate(Name(), F, Tensor(), self);
}
template <Formula F, auto Name>
Tensor in_place(const Tensor& self) {
  return activate(Name(), F, self, self);
}
template <Formula F, auto Name>
Tensor gradient(const Tensor& grad, const Tensor& x) {
  return backward(Name(), F, grad, x);
}

// --- clamps and thresholds ---

void check_bounds(const Tensor& self, const Scalar& low, const Scalar& high) {
  TORCH_CHECK(self.dtype() != DType::Bool, "hardtanh: Bool inputs not supported for hardtanh");
  TORCH_CHECK(low.to_double() <= high.to_double(), "hardtanh: min_val ", low, " cannot be greater than max_val ", high);
  TORCH_CHECK(is_signed(self.dtype()) || (low.to_double() >= 0 && high.to_double() >= 0),
              "hardtanh: cannot do hardtanh on an unsigned type with negative limits");
}
Tensor hardtanh_kernel(const Tensor& self, const Scalar& low, const Scalar& high) {
  check_bounds(self, low, high);
  return activate("hardtanh", Formula::clamp, Tensor(), self, {low, high});
}
Tensor hardtanh_kernel_(const Tensor& self, const Scalar& low, const Scalar& high) {
  check_bounds(self, low, high);
  return activate("hardtanh_", Formula::clamp, self, self, {low, high});
}
Tensor relu6_kernel(const Tensor& self) {
  return activate("relu6", Formula::clamp, Tensor(), self, {Scalar(0), Scalar(6)});
}
Tensor relu6_kernel_(const Tensor& self) {
  return activate("relu6_", Formula::clamp, self, self, {Scalar(0), Scalar(6)});
}
Tensor huber_kernel(const Tensor& self, const Scalar& delta) {
  return activate("huber", Formula::huber, Tensor(), self, {delta});
}
Tensor hardtanh_gradient(const Tensor& grad, const Tensor& self, const Scalar& low, const Scalar& high) {
  return backward("hardtanh_backward", Formula::hardtanh_backward, grad, self, {low, high});
}
void check_threshold(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  check_fits("threshold", threshold, self.dtype());
  check_fits("threshold", value, self.dtype());
}
Tensor threshold_kernel(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  check_threshold(self, threshold, value);
  return activate("threshold", Formula::threshold, Tensor(), self, {threshold, value});
}
Tensor threshold_kernel_(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  check_threshold(self, threshold, value);
  return activate("threshold_", Formula::threshold, self, self, {threshold, value});
}
Tensor threshold_gradient(const Tensor& grad, const Tensor& self, const Scalar& threshold) {
  return backward("threshold_backward", Formula::threshold_backward, grad, self, {threshold});
}

// --- linear below zero ---

Tensor leaky_relu_kernel(const Tensor& self, const Scalar& slope) {
  return activate("leaky_relu", Formula::leaky_relu, Tensor(), self, {slope});
}
Tensor leaky_relu_kernel_(const Tensor& self, const Scalar& slope) {
  return activate("leaky_relu_", Formula::leaky_relu, self, self, {slope});
}
Tensor leaky_relu_gradient(const Tensor& grad, const Tensor& self, const Scalar& slope) {
  return backward("leaky_relu_backward", Formula::leaky_relu_backward, grad, self, {slope});
}
Tensor prelu_kernel(const Tensor& self, const Tensor& weight) {
  TORCH_CHECK(weight.dim() <= 1,
              "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  TORCH_CHECK(self.dtype() == weight.dtype(), "prelu: Type promoting not supported. Got ", self.dtype(), " and ",
              weight.dtype());
  if (weight.numel() == 1)
    return _prelu_kernel(self, weight.dim() == 1 && self.dim() == 0 ? reshape(weight, {}) : weight);
  TORCH_CHECK(self.dim() > 0, "prelu: Not allow zero-dim input tensor.");
  const int64_t channels = self.dim() > 1 ? self.size(1) : 1;
  TORCH_CHECK(weight.numel() == channels,
              "prelu: Mismatch of parameter numbers and input channel size. Found parameter numbers = ", weight.numel(),
              " and channel size = ", channels, ".");
  std::vector<int64_t> shape(size_t(self.dim()), 1);
  shape[1] = channels;
  return _prelu_kernel(self, reshape(weight, shape));
}

// --- exponential below zero ---

Tensor elu_into(const char* name, const Tensor& out, const Tensor& self, const Scalar& alpha, const Scalar& scale,
                const Scalar& input_scale) {
  return activate(name, Formula::elu, out, self, {Scalar(alpha.to_double() * scale.to_double()), scale, input_scale});
}
Tensor elu_kernel(const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  return elu_into("elu", Tensor(), self, alpha, scale, input_scale);
}
Tensor elu_kernel_(const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  return elu_into("elu_", self, self, alpha, scale, input_scale);
}
Tensor elu_gradient(const Tensor& grad, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                    bool is_result, const Tensor& x) {
  TORCH_CHECK(
      !is_result || alpha.to_double() >= 0,
      "elu_backward: in-place elu with a negative alpha cannot be differentiated: its result does not tell its input");
  return backward("elu_backward", is_result ? Formula::elu_backward_result : Formula::elu_backward, grad, x,
                  {Scalar(alpha.to_double() * scale.to_double()), scale, input_scale});
}
// G. Klambauer et al., "Self-normalizing neural networks" (2017).
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;
Tensor selu_kernel(const Tensor& self) { return elu(self, kSeluAlpha, kSeluScale, 1); }
Tensor selu_kernel_(const Tensor& self) { return elu_(self, kSeluAlpha, kSeluScale, 1); }
double inverse_of(const Scalar& alpha) {
  TORCH_CHECK(alpha.to_double() != 0, "celu: ZeroDivisionError: alpha cannot be 0 for CELU");
  return 1 / alpha.to_double();
}
Tensor celu_kernel(const Tensor& self, const Scalar& alpha) { return elu(self, alpha, 1.0, inverse_of(alpha)); }
Tensor celu_kernel_(const Tensor& self, const Scalar& alpha) { return elu_(self, alpha, 1.0, inverse_of(alpha)); }

// --- smooth ---

bool by_tanh(std::string_view approximate) {
  TORCH_CHECK(approximate == "none" || approximate == "tanh",
              "gelu: approximate argument must be either none or tanh, got '", approximate, "'");
  return approximate == "tanh";
}
Tensor gelu_kernel(const Tensor& self, std::string_view approximate) {
  return activate("gelu", by_tanh(approximate) ? Formula::gelu_tanh : Formula::gelu, Tensor(), self);
}
Tensor gelu_gradient(const Tensor& grad, const Tensor& self, std::string_view approximate) {
  return backward("gelu_backward", by_tanh(approximate) ? Formula::gelu_tanh_backward : Formula::gelu_backward, grad,
                  self);
}
Tensor softplus_kernel(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  return activate("softplus", Formula::softplus, Tensor(), self, {beta, threshold});
}
Tensor softplus_gradient(const Tensor& grad, const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  return backward("softplus_backward", Formula::softplus_backward, grad, self, {beta, threshold});
}
Tensor hardshrink_kernel(const Tensor& self, const Scalar& lambda) {
  return activate("hardshrink", Formula::hardshrink, Tensor(), self, {lambda});
}
Tensor softshrink_kernel(const Tensor& self, const Scalar& lambda) {
  TORCH_CHECK(lambda.to_double() >= 0, "softshrink: lambda must be greater or equal to 0, but found to be ", lambda,
              ".");
  return activate("softshrink", Formula::softshrink, Tensor(), self, {lambda});
}
Tensor hardshrink_gradient(const Tensor& grad, const Tensor& self, const Scalar& lambda) {
  return backward("hardshrink_backward", Formula::hardshrink_backward, grad, self, {lambda});
}
Tensor glu_kernel(const Tensor& self, int64_t dim) {
  TORCH_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  const int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
  TORCH_CHECK(n % 2 == 0, "glu: Halving dimension must be even, but dimension ", d, " is size ", n);
  return mul(narrow(self, d, 0, n / 2), sigmoid(narrow(self, d, n / 2, n / 2)));
}

}  // namespace

void register_activation() {
#define TORCH_ACTIVATION(NAME) set_native<op::NAME>(plain<Formula::NAME, [] { return #NAME; }>)
#define TORCH_ACTIVATION_(NAME) set_native<op::NAME##_>(in_place<Formula::NAME, [] { return #NAME "_"; }>)
#define TORCH_GRADIENT(NAME) set_native<op::NAME>(gradient<Formula::NAME, [] { return #NAME; }>)
  TORCH_ACTIVATION(hardsigmoid), TORCH_ACTIVATION_(hardsigmoid), TORCH_GRADIENT(hardsigmoid_backward);
  TORCH_ACTIVATION(hardswish), TORCH_ACTIVATION_(hardswish), TORCH_GRADIENT(hardswish_backward);
  TORCH_ACTIVATION(silu), TORCH_ACTIVATION_(silu), TORCH_GRADIENT(silu_backward);
  TORCH_ACTIVATION(mish), TORCH_ACTIVATION_(mish), TORCH_GRADIENT(mish_backward);
  TORCH_ACTIVATION(log_sigmoid), TORCH_GRADIENT(log_sigmoid_backward);
  TORCH_GRADIENT(sigmoid_backward), TORCH_GRADIENT(tanh_backward);
  set_native<op::relu6>(relu6_kernel), set_native<op::relu6_>(relu6_kernel_);
  set_native<op::hardtanh>(hardtanh_kernel), set_native<op::hardtanh_>(hardtanh_kernel_);
  set_native<op::huber>(huber_kernel);
  set_native<op::hardtanh_backward>(hardtanh_gradient);
  set_native<op::threshold>(threshold_kernel), set_native<op::threshold_>(threshold_kernel_);
  set_native<op::threshold_backward>(threshold_gradient);
  set_native<op::leaky_relu>(leaky_relu_kernel), set_native<op::leaky_relu_>(leaky_relu_kernel_);
  set_native<op::leaky_relu_backward>(leaky_relu_gradient);
  set_native<op::elu>(elu_kernel), set_native<op::elu_>(elu_kernel_), set_native<op::elu_backward>(elu_gradient);
  set_composite<op::selu>(selu_kernel), set_composite<op::selu_>(selu_kernel_);
  set_composite<op::celu>(celu_kernel), set_composite<op::celu_>(celu_kernel_);
  set_native<op::gelu>(gelu_kernel), set_native<op::gelu_backward>(gelu_gradient);
  set_native<op::softplus>(softplus_kernel), set_native<op::softplus_backward>(softplus_gradient);
  set_native<op::hardshrink>(hardshrink_kernel), set_native<op::hardshrink_backward>(hardshrink_gradient);
  set_native<op::softshrink>(softshrink_kernel);
  set_composite<op::prelu>(prelu_kernel);
  set_native<op::_prelu_kernel>(
      [](const Tensor& x, const Tensor& w) { return binary(op_of("prelu", Formula::prelu), x, w); });
  set_composite<op::glu>(glu_kernel);
}

}  // namespace torch
