// Sums, quotients and powers.
#include "iterate/elementwise.h"
#include "ops/pointwise/pointwise.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/unary.h"

namespace torch {

namespace {

constexpr Elementwise kAdd = op_of("add", Formula::add), kAddScaled = op_of("add", Formula::add_scaled);
constexpr Elementwise kSub = op_of("sub", Formula::sub), kSubScaled = op_of("sub", Formula::add_scaled);

bool is_one(const Scalar& s) { return s.kind() == Scalar::Kind::Int && s.to_int() == 1; }

TORCH_NOINLINE void check_alpha(const char* op, DType t, const Scalar& alpha) {
  TORCH_CHECK(alpha.kind() != Scalar::Kind::Bool || t == DType::Bool, op,
              ": Boolean alpha only supported for Boolean results.");
  TORCH_CHECK(alpha.is_integral() || is_floating(t) || is_complex(t), op,
              ": For integral input tensors, argument alpha must not be a floating point number.");
  TORCH_CHECK(!alpha.is_complex() || is_complex(t), op,
              ": For non-complex input tensors, argument alpha must not be a complex number.");
}
TORCH_NOINLINE void check_no_bool(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(
      self.dtype() != DType::Bool || other.dtype() != DType::Bool,
      "sub: Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
      "operator instead.");
  TORCH_CHECK(self.dtype() != DType::Bool && other.dtype() != DType::Bool,
              "sub: Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
              "mask, use "
              "the `~` or `logical_not()` operator instead.");
}
Scalar negated(const Scalar& s) {
  return s.is_complex() ? Scalar(-s.to_complex())
         : s.is_float() ? Scalar(-s.to_double())
                        : Scalar(int64_t(0 - uint64_t(s.to_int())));
}

Tensor add_kernel(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (TORCH_LIKELY(is_one(alpha))) return binary(kAdd, self, other);
  check_alpha("add", result_type(self, other), alpha);
  return binary(kAddScaled, self, other, &alpha, 1);
}
Tensor add_kernel_(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (TORCH_LIKELY(is_one(alpha))) return binary_(kAdd, self, other);
  check_alpha("add", result_type(self, other), alpha);
  return binary_(kAddScaled, self, other, &alpha, 1);
}
Tensor sub_kernel(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_no_bool(self, other);
  if (TORCH_LIKELY(is_one(alpha))) return binary(kSub, self, other);
  check_alpha("sub", result_type(self, other), alpha);
  const Scalar minus = negated(alpha);
  return binary(kSubScaled, self, other, &minus, 1);
}
Tensor sub_kernel_(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_no_bool(self, other);
  if (TORCH_LIKELY(is_one(alpha))) return binary_(kSub, self, other);
  check_alpha("sub", result_type(self, other), alpha);
  const Scalar minus = negated(alpha);
  return binary_(kSubScaled, self, other, &minus, 1);
}
Tensor rsub_kernel(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return sub_kernel(other, self, alpha);
}

Tensor trunc_quotient(const Tensor& self, const Tensor& other) {
  return binary(op_of("div", Formula::div_trunc), self, other);
}
bool rounds_down(std::string_view mode) {
  TORCH_CHECK(mode == "trunc" || mode == "floor",
              "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", mode, "'");
  return mode == "floor";
}
Tensor div_kernel(const Tensor& self, const Tensor& other, std::optional<std::string_view> mode) {
  if (!mode) return OperatorFunctions<op::true_divide>::get(DispatchKey::CPU)(self, other);
  return rounds_down(*mode) ? OperatorFunctions<op::floor_divide>::get(DispatchKey::CPU)(self, other)
                            : trunc_quotient(self, other);
}
Tensor div_kernel_(const Tensor& self, const Tensor& other, std::optional<std::string_view> mode) {
  if (!mode) return OperatorFunctions<op::true_divide_>::get(DispatchKey::CPU)(self, other);
  if (rounds_down(*mode)) return OperatorFunctions<op::floor_divide_>::get(DispatchKey::CPU)(self, other);
  const Elementwise trunc_op = op_of("div_", Formula::div_trunc);
  if (!is_integral(self.dtype())) return binary_(trunc_op, self, other);
  Tensor result = trunc_quotient(self, other);  // first, since a zero divisor is found midway
  check_in_place("div_", self, result.sizes(), result.dtype());
  copy_into(self, result);
  return self;
}

Tensor pow_into(const Tensor& out, const Tensor& self, const Tensor& exponent) {
  const Tensor* both[] = {&self, &exponent};
  const Elementwise op = op_of("pow", Formula::pow);
  DType dtype = result_type(self, exponent);
  if (exponent.dim() == 0 && exponent.device().type == DeviceType::CPU && !self.is_meta() && !is_complex(dtype)) {
    const Scalar e = number_of(exponent);
    const Tensor* one[] = {&self};
    if (is_integral(dtype)) {
      TORCH_CHECK(e.to_int() >= 0 || !exponent.is_wrapped_number(),
                  "pow: Integers to negative integer powers are not allowed.");
    }
    const double p = e.to_double();
    const bool real = is_floating(dtype);
    auto power = [&](Formula f) { return elementwise(op_of("pow", f), dtype, out, one); };
    auto given = [&](const Tensor& r) {
      if (!out) return r;
      check_in_place("pow", out, r.sizes(), r.dtype());
      copy_into(out, r);
      return out;
    };
    auto named = [&](auto tag) {
      using Tag = decltype(tag);
      Tensor x = dtype == self.dtype() ? self : preserving_copy(self, dtype);
      return given(OperatorFunctions<Tag>::get(DispatchKey::CPU)(x));
    };
    if (dtype == DType::Bool && exponent.is_wrapped_number()) {
      const Tensor r = preserving_copy(self, dtype);
      return given(p == 1 ? r : fill_(r, Scalar(true)));
    }
    if (p == 2) return named(op::square());
    if (p == 3) return power(Formula::cube);
    if (real && p == 0.5 && exponent.is_wrapped_number()) return named(op::sqrt());
    if (real && p == -0.5 && exponent.is_wrapped_number()) return named(op::rsqrt());
    if (real && p == -1) return named(op::reciprocal());
    if (real && p == -2) return power(Formula::reciprocal_square);
  }
  return elementwise(op, dtype, out, both);
}
Tensor pow_kernel(const Tensor& self, const Tensor& exponent) { return pow_into(Tensor(), self, exponent); }
Tensor pow_kernel_(const Tensor& self, const Tensor& exponent) { return pow_into(self, self, exponent); }
Tensor float_power_kernel(const Tensor& self, const Tensor& exponent) {
  const DType t = is_complex(self.dtype()) || is_complex(exponent.dtype()) ? DType::Complex128 : DType::Float64;
  auto wide = [&](const Tensor& x) { return x.dtype() == t ? x : _to_copy(x, t); };
  return pow(wide(self), wide(exponent));
}

// 2^other, for whole numbers in the precision of self: in float32, 2^200 would be infinite.
Tensor power_of_two(const Tensor& self, const Tensor& other) {
  const bool whole = is_integral(other.dtype()) || other.dtype() == DType::Bool;
  const DType t = self.dtype() == DType::Float64 || self.dtype() == DType::Complex128 ? DType::Float64 : DType::Float32;
  const bool inexact = is_floating(self.dtype()) || is_complex(self.dtype());
  return pow(scalar_tensor_of(2.0, DType::Float64, true), whole && inexact ? _to_copy(other, t) : other);
}
bool is_half_by_whole(const Tensor& self, const Tensor& other) {
  return is_reduced_floating(self.dtype()) && (is_integral(other.dtype()) || other.dtype() == DType::Bool);
}
Tensor ldexp_kernel(const Tensor& self, const Tensor& other) {
  if (is_half_by_whole(self, other))
    return _to_copy(mul(_to_copy(self, DType::Float32), power_of_two(self, other)), self.dtype());
  return mul(self, power_of_two(self, other));
}
Tensor ldexp_kernel_(const Tensor& self, const Tensor& other) {
  return is_half_by_whole(self, other) ? copy_(self, ldexp_kernel(self, other)) : mul_(self, power_of_two(self, other));
}

Tensor isclose_kernel(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  TORCH_CHECK(self.dtype() == other.dtype(), "isclose: ", self.dtype(), " did not match ", other.dtype());
  TORCH_CHECK(rtol >= 0, "isclose: rtol must be greater than or equal to zero, but got ", rtol);
  TORCH_CHECK(atol >= 0, "isclose: atol must be greater than or equal to zero, but got ", atol);
  auto number = [](double v) { return scalar_tensor_of(v, DType::Float64, true); };
  Tensor close = eq(self, other);
  const bool inexact = self.dtype() > DType::UInt64;
  if (equal_nan && inexact) close = logical_or(close, logical_and(isnan(self), isnan(other)));
  if (rtol == 0 && atol == 0) return close;
  Tensor x = inexact ? self : _to_copy(self, default_dtype()), y = inexact ? other : _to_copy(other, default_dtype());
  Tensor allowed = add(mul(abs(y), number(rtol)), number(atol)), gap = abs(sub(x, y));
  return logical_or(close, logical_and(isfinite(gap), le(gap, allowed)));
}

}  // namespace

void register_pointwise_arithmetic() {
  set_native<op::add>(add_kernel), set_native<op::add_>(add_kernel_);
  set_native<op::sub>(sub_kernel), set_native<op::sub_>(sub_kernel_), set_native<op::rsub>(rsub_kernel);
  set_native<op::div>(div_kernel), set_native<op::div_>(div_kernel_);
  set_native<op::pow>(pow_kernel), set_native<op::pow_>(pow_kernel_);
  set_composite<op::float_power>(float_power_kernel);
  set_composite<op::ldexp>(ldexp_kernel), set_composite<op::ldexp_>(ldexp_kernel_);
  set_composite<op::isclose>(isclose_kernel);
}

}  // namespace torch
