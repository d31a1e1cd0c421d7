// What chooses or mixes elements: clamp, where, masked_fill, lerp, addcmul, addcdiv.
#include <cmath>

#include "dispatch/work.h"
#include "iterate/elementwise.h"
#include "ops/pointwise/pointwise.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

bool is_nan(const std::optional<Scalar>& bound) { return bound && bound->is_float() && std::isnan(bound->to_double()); }

Tensor clamp_into(const Tensor& out, const Tensor& self, const std::optional<Scalar>& low,
                  const std::optional<Scalar>& high) {
  TORCH_CHECK(low || high, "torch.clamp: At least one of 'min' or 'max' must not be None");
  TORCH_CHECK_IMPLEMENTED(!is_complex(self.dtype()), "clamp is not supported for complex types");
  // Numbers of a higher category raise the result's.
  Tensor a = low ? scalar_tensor_of(*low, low->is_float() ? DType::Float64 : low->dtype(), true) : Tensor();
  Tensor b = high ? scalar_tensor_of(*high, high->is_float() ? DType::Float64 : high->dtype(), true) : Tensor();
  const DType t = result_type({self, a, b});
  TORCH_CHECK_IMPLEMENTED(!is_complex(t), "clamp is not supported for complex types");
  if (is_nan(low) || is_nan(high)) {  // the formulas of numbers compare, and would pass the bound by
    const Tensor& nan = is_nan(low) ? a : b;
    const Tensor* inputs[] = {&self, &nan, &nan};
    return elementwise(op_of("clamp", Formula::clamp_tensor), t, out, inputs);
  }
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
  return low ? OperatorFunctions<op::maximum>::get(DispatchKey::CPU)(self, low)
             : OperatorFunctions<op::minimum>::get(DispatchKey::CPU)(self, high);
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

// out = mask ? a : b, in the dtype of `out`; shapes are checked.
void choose(const char* op, const Tensor& out, const Tensor& mask, const Tensor& a, const Tensor& b) {
  if (TORCH_UNLIKELY(out.device().type != DeviceType::CPU)) {
    if (const auto* there = work<ElementwiseWork>.on(out)) there->choose(op, out, mask, a, b);
    return;
  }
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
  const DType dtype = result_type(self, other);
  if (TORCH_UNLIKELY(is_stored(dtype)))  // of float16 and a complex number
    return _to_copy(where(condition, _to_copy(self, wide_of(dtype)), _to_copy(other, wide_of(dtype))), dtype);
  Tensor out = empty_result(shape, dtype, common_device("where", inputs), {&self, &other, &condition});
  choose("where", out, condition, self, other);
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
  // Row by row whatever the order of self: programs view what masked_fill gives.
  Tensor out = empty_tensor(shape, self.dtype(), common_device("masked_fill", inputs));
  choose("masked_fill", out, mask, value, self);
  return out;
}
// Elements that share one place in memory are filled where the mask of any of them says so.
bool fill_shared(const Tensor& self, const Tensor& mask, const Tensor& value) {
  if (TORCH_LIKELY(self.is_contiguous())) return false;
  Tensor once = self;
  std::vector<int64_t> shared;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (self.stride(d) == 0 && self.size(d) > 1) {
      once = narrow(once, d, 0, 1);
      shared.push_back(d);
    }
  if (shared.empty()) return false;
  masked_fill_(once, any(expand(mask, self.sizes()), IntArrayRef(shared), true), value);
  return true;
}
Tensor masked_fill_kernel_(const Tensor& self, const Tensor& mask, const Tensor& value) {
  check_mask(self, mask, value);
  TORCH_CHECK(is_expandable_to(mask.sizes(), self.sizes()), "masked_fill_: The shape of mask ", mask.sizes(),
              " does not broadcast to the shape of self ", self.sizes());
  if (TORCH_UNLIKELY(mask.device() != self.device())) {
    const Tensor* inputs[] = {&self, &mask};
    common_device("masked_fill_", inputs);
  }
  if (self.is_meta() || fill_shared(self, mask, value)) return self;
  const Tensor held = value->storage == self->storage ? clone(value) : value;  // one number: an element of self, too
  choose("masked_fill_", self, check_overlap("masked_fill_", self, mask), held, self);
  return self;
}

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

}  // namespace

void register_pointwise_choice() {
  set_native<op::clamp>(clamp_kernel), set_native<op::clamp_>(clamp_kernel_);
  set_native<op::clamp_tensor>(clamp_tensor_kernel), set_native<op::clamp_tensor_>(clamp_tensor_kernel_);
  set_composite<op::clamp_min>(clamp_min_kernel), set_composite<op::clamp_min_>(clamp_min_kernel_);
  set_composite<op::clamp_max>(clamp_max_kernel), set_composite<op::clamp_max_>(clamp_max_kernel_);
  set_native<op::where>(where_kernel);
  set_native<op::masked_fill>(masked_fill_kernel), set_native<op::masked_fill_>(masked_fill_kernel_);
  set_native<op::lerp>(lerp_kernel), set_native<op::lerp_>(lerp_kernel_);
  set_native<op::addcmul>(addcmul_kernel), set_native<op::addcmul_>(addcmul_kernel_);
  set_native<op::addcdiv>(addcdiv_kernel), set_native<op::addcdiv_>(addcdiv_kernel_);
}

}  // namespace torch
