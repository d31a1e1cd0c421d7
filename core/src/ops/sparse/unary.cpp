// Element-wise operators that leave zero zero: they work only on the values.
#include "torch/core/ops/unary.h"

#include "ops/sparse/sparse.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/pointwise.h"

namespace torch {

namespace {

// f(a + b) is not f(a) + f(b): equal places are summed first, unless the operator is linear.
template <class Tag, bool kLinear>
Tensor plain(const Tensor& self) {
  const Tensor s = kLinear ? self : coalesce(self);
  return with_values(s, Operator<Tag>()(values_of(s)));
}
template <class Tag, bool kLinear>
Tensor in_place(const Tensor& self) {
  Tensor r = plain<Tag, kLinear>(self);
  TORCH_CHECK(r.dtype() == self.dtype(), detail::Signature<Tag>::schema.op_name(), "_: result type ", r.dtype(),
              " can't be cast to the desired output type ", self.dtype());
  return _sparse_assign_(self, r);
}
template <class Tag, class InPlace, bool kLinear = false>
void values_alone() {
  set_sparse<Tag>(plain<Tag, kLinear>);
  set_sparse<InPlace>(in_place<Tag, kLinear>);
}

// Parts of complex values are views of them, and sparse tensors hold values of their own.
Tensor real_sparse(const Tensor& self) {
  return is_complex(self.dtype()) ? with_values(self, contiguous(real(values_of(self)))) : self;
}
Tensor imag_sparse(const Tensor& self) {
  TORCH_CHECK(is_complex(self.dtype()), "imag is not implemented for tensors with non-complex dtypes, got ", self);
  return with_values(self, contiguous(imag(values_of(self))));
}

Tensor round_sparse(const Tensor& self, int64_t decimals) {
  const Tensor s = coalesce(self);
  return with_values(s, round(values_of(s), decimals));
}

Tensor pow_sparse(const Tensor& self, const Tensor& exponent) {
  TORCH_CHECK_IMPLEMENTED(is_sparse(self) && !is_sparse(exponent) && exponent.dim() == 0,
                          "pow: a sparse tensor has powers with numbers as exponents; use to_dense() first");
  TORCH_CHECK(is_complex(exponent.dtype()) || gt(exponent, number(0)).data<bool>()[0],
              "pow: a sparse tensor to a power that is not positive has no zeros left; use to_dense() first");
  const Tensor s = coalesce(self);
  return with_values(s, pow(values_of(s), exponent));
}
Tensor pow_sparse_(const Tensor& self, const Tensor& exponent) {
  Tensor r = pow_sparse(self, exponent);
  TORCH_CHECK(r.dtype() == self.dtype(), "pow_: result type ", r.dtype(), " can't be cast to the desired output type ",
              self.dtype());
  return _sparse_assign_(self, r);
}

}  // namespace

void register_sparse_unary() {
  values_alone<op::neg, op::neg_, true>();
  values_alone<op::deg2rad, op::deg2rad_, true>();
  values_alone<op::rad2deg, op::rad2deg_, true>();
  values_alone<op::conj_physical, op::conj_physical_, true>();
  values_alone<op::abs, op::abs_>();
  values_alone<op::asin, op::asin_>();
  values_alone<op::asinh, op::asinh_>();
  values_alone<op::atan, op::atan_>();
  values_alone<op::atanh, op::atanh_>();
  values_alone<op::ceil, op::ceil_>();
  values_alone<op::erf, op::erf_>();
  values_alone<op::erfinv, op::erfinv_>();
  values_alone<op::expm1, op::expm1_>();
  values_alone<op::floor, op::floor_>();
  values_alone<op::frac, op::frac_>();
  values_alone<op::log1p, op::log1p_>();
  values_alone<op::relu, op::relu_>();
  values_alone<op::sgn, op::sgn_>();
  values_alone<op::sign, op::sign_>();
  values_alone<op::sin, op::sin_>();
  values_alone<op::sinh, op::sinh_>();
  values_alone<op::sqrt, op::sqrt_>();
  values_alone<op::square, op::square_>();
  values_alone<op::tan, op::tan_>();
  values_alone<op::tanh, op::tanh_>();
  values_alone<op::trunc, op::trunc_>();
  set_sparse<op::round>(round_sparse);
  set_sparse<op::round_>(
      [](const Tensor& self, int64_t decimals) { return _sparse_assign_(self, round_sparse(self, decimals)); });
  set_sparse<op::pow>(pow_sparse);
  set_sparse<op::pow_>(pow_sparse_);
  set_sparse<op::isinf>(plain<op::isinf, false>);
  set_sparse<op::isnan>(plain<op::isnan, false>);
  set_sparse<op::isneginf>(plain<op::isneginf, false>);
  set_sparse<op::isposinf>(plain<op::isposinf, false>);
  set_sparse<op::signbit>(plain<op::signbit, false>);
  set_sparse<op::real>(real_sparse);
  set_sparse<op::imag>(imag_sparse);
  admit_composite<op::positive>();
  admit_composite<op::conj>();
  admit_composite<op::resolve_conj>();
  admit_composite<op::resolve_neg>();
}

}  // namespace torch
