#include "register.h"
#include "torch/core/ops.h"

namespace torch {

namespace {

Tensor add_kernel(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  TORCH_CHECK_IMPLEMENTED(self.sizes() == other.sizes() && self.dtype() == DType::Float32 && other.dtype() == DType::Float32 &&
                              self.is_contiguous() && other.is_contiguous(),
                          "add: only contiguous float32 tensors of one shape so far, got ", self, " and ", other);
  Tensor out = empty_tensor(self.sizes(), self.dtype(), self.device());
  if (out.is_meta()) return out;
  float *q = out.data<float>(), a = alpha.to<float>();
  const float *x = self.data<float>(), *y = other.data<float>();
  for (int64_t i = 0, n = out.numel(); i < n; ++i) q[i] = x[i] + a * y[i];
  return out;
}

}  // namespace

void register_pointwise() { set_native<op::add>(add_kernel); }

}  // namespace torch
