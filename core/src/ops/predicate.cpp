#include "torch/core/ops/predicate.h"

#include "dispatch/register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/reads.h"
#include "torch/core/wrapper.h"

namespace torch {

namespace {

bool truth(const char* op, const Tensor& t) {
  TORCH_CHECK_IMPLEMENTED(!t.is_meta(), op, ": a meta tensor has no values to compare");
  values_to_read(op, t);
  value_is_read(t, op);
  return number_of(values_to_read(op, all(t))).to_double() != 0;
}

// For checks of arguments: where values cannot be known, nothing speaks against them.
bool holds_kernel(const Tensor& self) { return self.is_meta() || number_of(all(self)).to_double() != 0; }

bool equal_composite(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.device() == other.device(), "equal: expected both tensors on one device, got ", self.device(),
              " and ", other.device());
  return self.sizes() == other.sizes() && truth("equal", eq(self, other));
}

bool allclose_composite(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  TORCH_CHECK(self.dtype() == other.dtype(), "allclose: expected both tensors to have one dtype, got ", self.dtype(),
              " and ", other.dtype());
  return truth("allclose", isclose(self, other, rtol, atol, equal_nan));
}

}  // namespace

void register_predicate() {
  set_native<op::_holds>(holds_kernel);
  set_composite<op::equal>(equal_composite);
  set_composite<op::allclose>(allclose_composite);
}

}  // namespace torch
