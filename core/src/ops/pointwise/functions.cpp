// Functions of one tensor with parameters of their own, conjugates, and questions about dtypes.
#include <cmath>
#include <limits>

#include "dispatch/work.h"
#include "iterate/complex_loops.h"
#include "iterate/elementwise.h"
#include "ops/pointwise/pointwise.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

Tensor round_into(const Tensor& out, const Tensor& self, int64_t decimals) {
  TORCH_CHECK_IMPLEMENTED(!is_complex(self.dtype()), "round is not supported for complex inputs");
  const Tensor* inputs[] = {&self};
  if (decimals == 0) return elementwise(op_of("round", Formula::round), self.dtype(), out, inputs);
  TORCH_CHECK_IMPLEMENTED(is_floating(self.dtype()), "round: not implemented for ", self.dtype(), " with decimals");
  const Scalar scalars[] = {std::pow(10.0, double(std::abs(decimals))), double(decimals < 0)};
  return elementwise(op_of("round", Formula::round_scaled), self.dtype(), out, inputs, scalars, 2);
}
Tensor round_kernel(const Tensor& self, int64_t decimals) { return round_into(Tensor(), self, decimals); }
Tensor round_kernel_(const Tensor& self, int64_t decimals) { return round_into(self, self, decimals); }

Tensor nan_to_num_into(const Tensor& out, const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                       std::optional<double> neginf) {
  const DType t = self.dtype();
  if (t <= DType::UInt64) return out ? out : preserving_copy(self, t);
  const double largest = t == DType::Float16                            ? 65504.0
                         : t == DType::BFloat16                         ? 0x1.fep127
                         : t == DType::Float32 || t == DType::Complex64 ? double(std::numeric_limits<float>::max())
                                                                        : std::numeric_limits<double>::max();
  const Scalar scalars[] = {nan.value_or(0), posinf.value_or(largest), neginf.value_or(-largest)};
  const Elementwise op = op_of("nan_to_num", Formula::nan_to_num);
  if (!is_complex(t)) {
    const Tensor* inputs[] = {&self};
    return elementwise(op, t, out, inputs, scalars, 3);
  }
  Tensor result = out ? out : preserving_copy(self, t);  // both parts, as a real tensor
  const Tensor parts = view_as_real(result);
  const Tensor* inputs[] = {&parts};
  elementwise(op, real_of(t), parts, inputs, scalars, 3);
  return result;
}
Tensor nan_to_num_kernel(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                         std::optional<double> neginf) {
  return nan_to_num_into(Tensor(), self, nan, posinf, neginf);
}
Tensor nan_to_num_kernel_(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                          std::optional<double> neginf) {
  return nan_to_num_into(self, self, nan, posinf, neginf);
}
Tensor logit_kernel(const Tensor& self, std::optional<double> eps) {
  const Scalar s = eps.value_or(-1.0);
  return unary(op_of("logit", Formula::logit, true), self, &s, 1);
}
Tensor logit_kernel_(const Tensor& self, std::optional<double> eps) {
  const Scalar s = eps.value_or(-1.0);
  return unary_(op_of("logit_", Formula::logit, true), self, &s, 1);
}
Tensor polygamma_into(const Tensor& out, int64_t n, const Tensor& self) {
  TORCH_CHECK(n >= 0, "polygamma(n, x) does not support negative n.");
  const Scalar order = n;
  const Elementwise op = op_of("polygamma", Formula::polygamma, true);
  const Tensor* inputs[] = {&self};
  return elementwise(op, promoted_dtype(op, inputs), out, inputs, &order, 1);
}
// log of pi^(p (p - 1) / 4) times the product of gamma(x - j / 2) for j < p.
Tensor mvlgamma_kernel(const Tensor& self, int64_t p) {
  TORCH_CHECK(p >= 1 && p <= 1 << 20,
              "mvlgamma: p has to be greater than or equal to 1, and at most 2^20 (it is the "
              "number of lgammas of each element), got ",
              p);
  Tensor sum;
  for (int64_t j = 0; j < p; ++j) {
    Tensor term = lgamma(sub(self, scalar_tensor_of(0.5 * double(j), DType::Float64, true)));
    sum = sum ? add(sum, term) : term;
  }
  return add(sum, scalar_tensor_of(double(p * (p - 1)) / 4 * std::log(M_PI), DType::Float64, true));
}
void frexp_loop_32(char* const* data, int64_t n, const void*) {
  for (int64_t i = 0; i < n; ++i)
    reinterpret_cast<float*>(data[0])[i] =
        std::frexp(reinterpret_cast<const float*>(data[2])[i], reinterpret_cast<int*>(data[1]) + i);
}
void frexp_loop_64(char* const* data, int64_t n, const void*) {
  for (int64_t i = 0; i < n; ++i)
    reinterpret_cast<double*>(data[0])[i] =
        std::frexp(reinterpret_cast<const double*>(data[2])[i], reinterpret_cast<int*>(data[1]) + i);
}
std::tuple<Tensor, Tensor> frexp_kernel(const Tensor& self) {
  TORCH_CHECK(is_floating(self.dtype()), "frexp: torch.frexp() only supports floating-point dtypes, got ",
              self.dtype());
  Tensor mantissa = empty_like_tensor(self, self.dtype()), exponent = empty_like_tensor(self, DType::Int32);
  if (self.is_meta()) return {mantissa, exponent};
  if (self.device().type != DeviceType::CPU) {
    copy_into(exponent, unary(op_of("frexp", Formula::frexp_exponent), self));
    return {unary(op_of("frexp", Formula::frexp_mantissa), self), exponent};
  }
  const DType t = self.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  TensorImpl* operands[] = {mantissa.get(), exponent.get(), self.get()};
  iterate({.loop = t == DType::Float64 ? frexp_loop_64 : frexp_loop_32,
           .outputs = 2,
           .inputs = 1,
           .types = {t, DType::Int32, t}},
          operands);
  return {mantissa, exponent};
}
Tensor angle_kernel(const Tensor& self) { return unary({"angle", &angle_loops, true}, self); }
Tensor isreal_kernel(const Tensor& self) {
  if (is_complex(self.dtype())) return eq(imag(self), scalar_tensor_of(0.0, real_of(self.dtype())));
  return ones_like(self, DType::Bool);
}
Tensor positive_kernel(const Tensor& self) {
  TORCH_CHECK(self.dtype() != DType::Bool, "positive: The `+` operator, on a bool tensor is not supported.");
  return self;
}

constexpr Elementwise kConj = {"conj_physical", &conj_loops, false};
Tensor conj_physical_kernel(const Tensor& self) {
  return is_complex(self.dtype()) ? unary(kConj, self) : preserving_copy(self, self.dtype());
}
Tensor conj_physical_kernel_(const Tensor& self) { return is_complex(self.dtype()) ? unary_(kConj, self) : self; }
Tensor conj_kernel(const Tensor& self) { return is_complex(self.dtype()) ? conj_physical(self) : self; }
Tensor itself(const Tensor& self) { return self; }

}  // namespace

void register_pointwise_functions() {
  set_composite<op::positive>(positive_kernel);
  set_native<op::round>(round_kernel), set_native<op::round_>(round_kernel_);
  set_native<op::nan_to_num>(nan_to_num_kernel), set_native<op::nan_to_num_>(nan_to_num_kernel_);
  set_native<op::logit>(logit_kernel), set_native<op::logit_>(logit_kernel_);
  set_native<op::igamma_slope>([](const Tensor& self, const Tensor& other) {
    return binary(op_of("_igamma_slope", Formula::igamma_slope), self, other);
  });
  set_native<op::polygamma>([](int64_t n, const Tensor& self) { return polygamma_into(Tensor(), n, self); });
  set_native<op::polygamma_>([](const Tensor& self, int64_t n) { return polygamma_into(self, n, self); });
  set_composite<op::polygamma_method>([](const Tensor& self, int64_t n) { return polygamma(n, self); });
  set_composite<op::mvlgamma>(mvlgamma_kernel);
  set_composite<op::mvlgamma_>([](const Tensor& self, int64_t p) {
    const Tensor result = mvlgamma_kernel(self, p);
    TORCH_CHECK(can_cast(result.dtype(), self.dtype()), "mvlgamma: result type ", result.dtype(),
                " can't be cast to the desired output type ", self.dtype());
    return copy_(self, result);
  });
  set_native<op::frexp>(frexp_kernel);
  set_native<op::angle>(angle_kernel);
  set_composite<op::isreal>(isreal_kernel);
  set_composite<op::conj>(conj_kernel), set_composite<op::resolve_conj>(itself), set_composite<op::resolve_neg>(itself);
  set_native<op::conj_physical>(conj_physical_kernel), set_native<op::conj_physical_>(conj_physical_kernel_);
  set_native<op::can_cast_op>([](DType from, DType to) { return can_cast(from, to); });
  set_native<op::promote_types_op>([](DType a, DType b) { return promote_types(a, b); });
  set_native<op::result_type_op>([](const Tensor& a, const Tensor& b) { return result_type(a, b); });
}

}  // namespace torch
