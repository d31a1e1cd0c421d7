// Element-wise operators with parameters of their own (ops/pointwise.def).
#include <cmath>
#include <limits>

#include "complex_loops.h"
#include "elementwise.h"
#include "isa.h"
#include "register.h"
#include "torch/core/ops.h"

namespace torch {

TORCH_PER_ISA(extern const LoopRow formula_loops[]; extern const LoopRow where_loops;)

namespace {

enum {
#define TORCH_FORMULA(NAME) k_##NAME,
#include "kernels/formulas.def"
#undef TORCH_FORMULA
  kFormulas
};
LoopRow formulas[kFormulas];
LoopRow where_row;

constexpr Elementwise op_of(const char* name, Formula f, bool floats = false) {
  return {name, &formulas[int(f)], floats};
}
constexpr Elementwise kAdd = op_of("add", Formula::add), kAddScaled = op_of("add", Formula::add_scaled);
constexpr Elementwise kSub = op_of("sub", Formula::sub), kSubScaled = op_of("sub", Formula::add_scaled);

// --- sums and differences
// ----------------------------------------------------------------------------------------------

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

// --- quotients
// -----------------------------------------------------------------------------------------------------------

Tensor trunc_quotient(const Tensor& self, const Tensor& other) {
  return binary(op_of("div", Formula::div_trunc), self, other);
}
bool rounds_down(std::string_view mode) {
  TORCH_CHECK(mode == "trunc" || mode == "floor",
              "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", mode, "'");
  return mode == "floor";
}
Tensor div_kernel(const Tensor& self, const Tensor& other, std::optional<std::string_view> mode) {
  if (!mode) return OperatorSlots<op::true_divide>::get(Slot::CPU)(self, other);
  return rounds_down(*mode) ? OperatorSlots<op::floor_divide>::get(Slot::CPU)(self, other)
                            : trunc_quotient(self, other);
}
Tensor div_kernel_(const Tensor& self, const Tensor& other, std::optional<std::string_view> mode) {
  if (!mode) return OperatorSlots<op::true_divide_>::get(Slot::CPU)(self, other);
  if (rounds_down(*mode)) return OperatorSlots<op::floor_divide_>::get(Slot::CPU)(self, other);
  const Elementwise trunc_op = op_of("div_", Formula::div_trunc);
  if (!is_integral(self.dtype())) return binary_(trunc_op, self, other);
  Tensor result = trunc_quotient(self, other);  // first, since a zero divisor is found midway
  check_in_place("div_", self, result.sizes(), result.dtype());
  copy_into(self, result);
  return self;
}

// --- powers
// ----------------------------------------------------------------------------------------------------------------

Tensor pow_into(const Tensor& out, const Tensor& self, const Tensor& exponent) {
  const Tensor* both[] = {&self, &exponent};
  const Elementwise op = op_of("pow", Formula::pow);
  DType dtype = result_type(self, exponent);
  if (exponent.dim() == 0 && !exponent.is_meta() && !self.is_meta() && !is_complex(dtype)) {
    const Scalar e = number_of(exponent);
    const Tensor* one[] = {&self};
    if (is_integral(dtype)) {
      TORCH_CHECK(e.to_int() >= 0 || !exponent.is_wrapped_number(),
                  "pow: Integers to negative integer powers are not allowed.");
    }
    const double p = e.to_double();
    const bool real = is_floating(dtype);
    auto power = [&](Formula f) { return elementwise(op_of("pow", f), dtype, out, one); };
    auto named = [&](auto tag) {
      using Tag = decltype(tag);
      Tensor x = dtype == self.dtype() ? self : preserving_copy(self, dtype);
      Tensor r = OperatorSlots<Tag>::get(Slot::CPU)(x);
      if (!out) return r;
      check_in_place("pow", out, r.sizes(), r.dtype());
      copy_into(out, r);
      return out;
    };
    if (p == 2) return named(op::square());
    if (p == 3) return power(Formula::cube);
    if (real && p == 0.5) return named(op::sqrt());
    if (real && p == -0.5) return named(op::rsqrt());
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

// --- of one tensor
// -----------------------------------------------------------------------------------------------------------

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

// --- bounds
// --------------------------------------------------------------------------------------------------------------------

Tensor clamp_into(const Tensor& out, const Tensor& self, const std::optional<Scalar>& low,
                  const std::optional<Scalar>& high) {
  TORCH_CHECK(low || high, "torch.clamp: At least one of 'min' or 'max' must not be None");
  TORCH_CHECK_IMPLEMENTED(!is_complex(self.dtype()), "clamp is not supported for complex types");
  // Numbers of a higher category raise the result's.
  Tensor a = low ? scalar_tensor_of(*low, low->is_float() ? DType::Float64 : low->dtype(), true) : Tensor();
  Tensor b = high ? scalar_tensor_of(*high, high->is_float() ? DType::Float64 : high->dtype(), true) : Tensor();
  const DType t = result_type({self, a, b});
  TORCH_CHECK_IMPLEMENTED(!is_complex(t), "clamp is not supported for complex types");
  const Tensor* inputs[] = {&self};
  if (low && high) {
    const Scalar both[] = {*low, *high};
    return elementwise(op_of("clamp", Formula::clamp), t, out, inputs, both, 2);
  }
  return elementwise(op_of("clamp", low ? Formula::clamp_min : Formula::clamp_max), t, out, inputs,
                     low ? &*low : &*high, 1);
}
Tensor clamp_kernel(const Tensor& self, const std::optional<Scalar>& low, const std::optional<Scalar>& high) {
  return clamp_into(Tensor(), self, low, high);
}
Tensor clamp_kernel_(const Tensor& self, const std::optional<Scalar>& low, const std::optional<Scalar>& high) {
  return clamp_into(self, self, low, high);
}
Tensor clamp_tensor_into(const Tensor& out, const Tensor& self, const Tensor& low, const Tensor& high) {
  TORCH_CHECK(low || high, "torch.clamp: At least one of 'min' or 'max' must not be None");
  if (low && high) {
    const Tensor* inputs[] = {&self, &low, &high};
    return elementwise(op_of("clamp", Formula::clamp_tensor), result_type({self, low, high}), out, inputs);
  }
  if (out) {
    Tensor r = low ? maximum(self, low) : minimum(self, high);
    check_in_place("clamp_", out, r.sizes(), r.dtype());
    copy_into(out, r);
    return out;
  }
  return low ? OperatorSlots<op::maximum>::get(Slot::CPU)(self, low)
             : OperatorSlots<op::minimum>::get(Slot::CPU)(self, high);
}
Tensor clamp_tensor_kernel(const Tensor& self, const Tensor& low, const Tensor& high) {
  return clamp_tensor_into(Tensor(), self, low, high);
}
Tensor clamp_tensor_kernel_(const Tensor& self, const Tensor& low, const Tensor& high) {
  return clamp_tensor_into(self, self, low, high);
}

// A number goes to the form with numbers, a tensor to that with tensors.
Tensor clamp_min_kernel(const Tensor& self, const Tensor& low) {
  return low.is_wrapped_number() ? clamp(self, number_of(low)) : clamp_tensor(self, low);
}
Tensor clamp_min_kernel_(const Tensor& self, const Tensor& low) {
  return low.is_wrapped_number() ? clamp_(self, number_of(low)) : clamp_tensor_(self, low);
}
Tensor clamp_max_kernel(const Tensor& self, const Tensor& high) {
  return high.is_wrapped_number() ? clamp(self, std::nullopt, number_of(high)) : clamp_tensor(self, Tensor(), high);
}
Tensor clamp_max_kernel_(const Tensor& self, const Tensor& high) {
  return high.is_wrapped_number() ? clamp_(self, std::nullopt, number_of(high)) : clamp_tensor_(self, Tensor(), high);
}

// --- choosing
// --------------------------------------------------------------------------------------------------------------------

// out = mask ? a : b, in the dtype of `out`; shapes are checked.
void choose(const Tensor& out, const Tensor& mask, const Tensor& a, const Tensor& b) {
  const DType t = out.dtype();
  TensorImpl* operands[] = {out.get(), mask.get(), a.get(), b.get()};
  iterate({.loop = where_row[t], .outputs = 1, .inputs = 3, .types = {t, DType::Bool, t, t}}, operands);
}
Tensor where_kernel(const Tensor& condition, const Tensor& self, const Tensor& other) {
  TORCH_CHECK(condition.dtype() == DType::Bool || condition.dtype() == DType::UInt8,
              "where expected condition to be a boolean tensor, but got a tensor with dtype ",
              legacy_name(condition.dtype()));
  const Tensor* inputs[] = {&condition, &self, &other};
  Shape shape;
  broadcast("where", inputs, shape);
  Tensor out =
      empty_result(shape, result_type(self, other), common_device("where", inputs), {&self, &other, &condition});
  if (!out.is_meta()) choose(out, condition, self, other);
  return out;
}
void check_mask(const Tensor& self, const Tensor& mask, const Tensor& value) {
  TORCH_CHECK(mask.dtype() == DType::Bool || mask.dtype() == DType::UInt8,
              "masked_fill only supports boolean masks, but got mask with dtype ", legacy_name(mask.dtype()));
  TORCH_CHECK(value.dim() == 0, "masked_fill only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  TORCH_CHECK(!value.is_meta() || self.is_meta(),
              "masked_fill: Expected all tensors to be on the same device, but self is on ", self.device(),
              " and value on meta");
  if (value.dtype() != self.dtype() && !value.is_meta()) check_fits("masked_fill", number_of(value), self.dtype());
}
Tensor masked_fill_kernel(const Tensor& self, const Tensor& mask, const Tensor& value) {
  check_mask(self, mask, value);
  const Tensor* inputs[] = {&self, &mask};
  Shape shape;
  broadcast("masked_fill", inputs, shape);
  Tensor out = empty_result(shape, self.dtype(), common_device("masked_fill", inputs), {&self});
  if (!out.is_meta()) choose(out, mask, value, self);
  return out;
}
Tensor masked_fill_kernel_(const Tensor& self, const Tensor& mask, const Tensor& value) {
  check_mask(self, mask, value);
  TORCH_CHECK(is_expandable_to(mask.sizes(), self.sizes()), "masked_fill_: The shape of mask ", mask.sizes(),
              " does not broadcast to the shape of self ", self.sizes());
  check_internal_overlap("masked_fill_", self);
  if (self.is_meta()) return self;
  choose(self, check_overlap("masked_fill_", self, mask), check_overlap("masked_fill_", self, value), self);
  return self;
}

// --- of three tensors
// --------------------------------------------------------------------------------------------------------------

Tensor lerp_into(const Tensor& out, const Tensor& self, const Tensor& end, const Tensor& weight) {
  TORCH_CHECK(self.dtype() == end.dtype(), "lerp: expected dtype ", self.dtype(), " for `end` but got dtype ",
              end.dtype());
  if (weight.is_wrapped_number()) {
    const Scalar w = number_of(weight);
    check_fits("lerp", w, self.dtype());
    const Tensor* inputs[] = {&self, &end};
    return elementwise(op_of("lerp", Formula::lerp_scalar), self.dtype(), out, inputs, &w, 1);
  }
  TORCH_CHECK(weight.dtype() == self.dtype() || weight.dim() == 0, "lerp: expected dtype ", self.dtype(),
              " for `weight` but got dtype ", weight.dtype());
  const Tensor* inputs[] = {&self, &end, &weight};
  return elementwise(op_of("lerp", Formula::lerp), self.dtype(), out, inputs);
}
Tensor lerp_kernel(const Tensor& self, const Tensor& end, const Tensor& weight) {
  return lerp_into(Tensor(), self, end, weight);
}
Tensor lerp_kernel_(const Tensor& self, const Tensor& end, const Tensor& weight) {
  return lerp_into(self, self, end, weight);
}

void check_value(const char* op, DType t, const Scalar& value) {
  TORCH_CHECK(value.is_integral() || is_floating(t) || is_complex(t), op,
              ": For integral input tensors, argument value must not be a floating point number.");
}
Tensor addcmul_kernel(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  check_value("addcmul", result_type({self, a, b}), value);
  return ternary(op_of("addcmul", Formula::addcmul), self, a, b, &value, 1);
}
Tensor addcmul_kernel_(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  check_value("addcmul_", result_type({self, a, b}), value);
  return ternary_(op_of("addcmul_", Formula::addcmul), self, a, b, &value, 1);
}
void check_quotient(const Tensor& a, const Tensor& b) {
  TORCH_CHECK(
      a.dtype() > DType::UInt64 || b.dtype() > DType::UInt64,
      "addcdiv: Integer division with addcdiv is no longer supported; convert one of the tensors to float, or use "
      "self + value * torch.trunc(tensor1 / tensor2)");
}
Tensor addcdiv_kernel(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  check_quotient(a, b);
  return ternary(op_of("addcdiv", Formula::addcdiv), self, a, b, &value, 1);
}
Tensor addcdiv_kernel_(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  check_quotient(a, b);
  return ternary_(op_of("addcdiv_", Formula::addcdiv), self, a, b, &value, 1);
}

// --- written in other operators
// ------------------------------------------------------------------------------------------------------

Tensor ldexp_kernel(const Tensor& self, const Tensor& other) {
  return mul(self, pow(scalar_tensor_of(2.0, DType::Float64, true), other));
}
Tensor ldexp_kernel_(const Tensor& self, const Tensor& other) {
  return mul_(self, pow(scalar_tensor_of(2.0, DType::Float64, true), other));
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

// --- conjugates and dtypes
// -----------------------------------------------------------------------------------------------

constexpr Elementwise kConj = {"conj_physical", &conj_loops, false};
Tensor conj_physical_kernel(const Tensor& self) {
  return is_complex(self.dtype()) ? unary(kConj, self) : preserving_copy(self, self.dtype());
}
Tensor conj_physical_kernel_(const Tensor& self) { return is_complex(self.dtype()) ? unary_(kConj, self) : self; }
Tensor conj_kernel(const Tensor& self) { return is_complex(self.dtype()) ? conj_physical(self) : self; }
Tensor itself(const Tensor& self) { return self; }

}  // namespace

const LoopRow* loops_of(Formula f) noexcept { return &formulas[int(f)]; }

void register_pointwise() {
#if TORCH_X86
  fill_loops(formulas, pick_level<const LoopRow*>(nullptr, v2::formula_loops, v3::formula_loops, v4::formula_loops),
             complex_formula_loops, kFormulas);
  where_row = *pick_level<const LoopRow*>(nullptr, &v2::where_loops, &v3::where_loops, &v4::where_loops);
#else
  fill_loops(formulas, generic::formula_loops, complex_formula_loops, kFormulas);
  where_row = generic::where_loops;
#endif
  set_native<op::add>(add_kernel), set_native<op::add_>(add_kernel_);
  set_native<op::sub>(sub_kernel), set_native<op::sub_>(sub_kernel_), set_native<op::rsub>(rsub_kernel);
  set_native<op::div>(div_kernel), set_native<op::div_>(div_kernel_);
  set_native<op::pow>(pow_kernel), set_native<op::pow_>(pow_kernel_);
  set_composite<op::float_power>(float_power_kernel);
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
  set_composite<op::mvlgamma_>([](const Tensor& self, int64_t p) { return copy_(self, mvlgamma_kernel(self, p)); });
  set_native<op::frexp>(frexp_kernel);
  set_native<op::angle>(angle_kernel);
  set_composite<op::isreal>(isreal_kernel);
  set_native<op::clamp>(clamp_kernel), set_native<op::clamp_>(clamp_kernel_);
  set_native<op::clamp_tensor>(clamp_tensor_kernel), set_native<op::clamp_tensor_>(clamp_tensor_kernel_);
  set_composite<op::clamp_min>(clamp_min_kernel), set_composite<op::clamp_min_>(clamp_min_kernel_);
  set_composite<op::clamp_max>(clamp_max_kernel), set_composite<op::clamp_max_>(clamp_max_kernel_);
  set_native<op::where>(where_kernel);
  set_native<op::masked_fill>(masked_fill_kernel), set_native<op::masked_fill_>(masked_fill_kernel_);
  set_native<op::lerp>(lerp_kernel), set_native<op::lerp_>(lerp_kernel_);
  set_native<op::addcmul>(addcmul_kernel), set_native<op::addcmul_>(addcmul_kernel_);
  set_native<op::addcdiv>(addcdiv_kernel), set_native<op::addcdiv_>(addcdiv_kernel_);
  set_composite<op::ldexp>(ldexp_kernel), set_composite<op::ldexp_>(ldexp_kernel_);
  set_composite<op::isclose>(isclose_kernel);
  set_composite<op::conj>(conj_kernel), set_composite<op::resolve_conj>(itself), set_composite<op::resolve_neg>(itself);
  set_native<op::conj_physical>(conj_physical_kernel), set_native<op::conj_physical_>(conj_physical_kernel_);
  set_native<op::can_cast_op>([](DType from, DType to) { return can_cast(from, to); });
  set_native<op::promote_types_op>([](DType a, DType b) { return promote_types(a, b); });
  set_native<op::result_type_op>([](const Tensor& a, const Tensor& b) { return result_type(a, b); });
}

}  // namespace torch
