// Distances of all pairs of rows: checks and shapes.
#include "torch/core/ops/distance.h"

#include <algorithm>
#include <cmath>

#include "cpu/distance_kernels.h"
#include "dispatch/register.h"
#include "dispatch/work.h"
#include "iterate/dense.h"
#include "ops/norm.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

Distances pairs_of(const char* op, const Tensor& x1, const Tensor& x2, double p) {
  TORCH_CHECK(x1.dim() == 3 && x2.dim() == 3 && x1.size(0) == x2.size(0) && x1.size(2) == x2.size(2), op,
              ": expected x1 (B, P, M) and x2 (B, R, M), got ", x1.sizes(), " and ", x2.sizes());
  TORCH_CHECK_IMPLEMENTED((x1.dtype() == DType::Float32 || x1.dtype() == DType::Float64) && x1.dtype() == x2.dtype(),
                          op, ": takes rows of float32 or float64, got ", x1.dtype(), " and ", x2.dtype());
  TORCH_CHECK_IMPLEMENTED(p == 1 || p == 2, op, ": takes p = 1 or 2, got ", p, "; cdist has any");
  return {x1.size(0), x1.size(1), x2.size(1), x1.size(2), p == 2};
}

// What a device without kernels does, as it can.
Tensor differences(const Tensor& x1, const Tensor& x2) { return unsqueeze(x1, 2) - unsqueeze(x2, 1); }
bool has_kernels(const Tensor& t) { return work<DistanceKernels<float>>.find(t.device()) != nullptr; }

Tensor forward(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t>) {
  const Distances s = pairs_of("_cdist_forward", x1, x2, p);
  const DType dtype = x1.dtype();
  Tensor out = empty_tensor({s.batch, s.p, s.r}, dtype, x1.device());
  if (out.is_meta() || out.numel() == 0) return out;
  if (!has_kernels(x1)) return norm(differences(x1, x2), Scalar(p), IntArrayRef{-1});
  const Tensor a = as_contiguous(x1, dtype), b = as_contiguous(x2, dtype);
  as_float(dtype, [&](auto zero) {
    using T = decltype(zero);
    work<DistanceKernels<T>>.on(out)->forward(s, a.data<T>(), b.data<T>(), out.data<T>());
  });
  return out;
}

Tensor backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& cdist) {
  const char* const op = "_cdist_backward";
  const Distances s = pairs_of(op, x1, x2, p);
  const DType dtype = x1.dtype();
  for (const Tensor* t : {&grad, &cdist})
    TORCH_CHECK(t->sizes() == IntArrayRef({s.batch, s.p, s.r}) && t->dtype() == dtype, op, ": expected ",
                t == &grad ? "grad" : "cdist", " of ", dtype, " and size (", s.batch, ", ", s.p, ", ", s.r, "), got ",
                t->dtype(), " and ", t->sizes());
  Tensor out = empty_tensor(x1.sizes(), dtype, x1.device());
  if (out.is_meta() || out.numel() == 0) return out;
  if (!has_kernels(x1)) {
    const Tensor d = differences(x1, x2);
    const Tensor weights = p == 2 ? masked_fill(grad / cdist, eq(cdist, number(0.0)), number(0.0)) : grad;
    return sum(unsqueeze(weights, 3) * (p == 2 ? d : sgn(d)), IntArrayRef{2});
  }
  const Tensor g = as_contiguous(grad, dtype), a = as_contiguous(x1, dtype), b = as_contiguous(x2, dtype),
               c = as_contiguous(cdist, dtype);
  as_float(dtype, [&](auto zero) {
    using T = decltype(zero);
    work<DistanceKernels<T>>.on(out)->backward(s, g.data<T>(), a.data<T>(), b.data<T>(), c.data<T>(), out.data<T>());
  });
  return out;
}

}  // namespace

void register_distance() {
  set_native<op::_cdist_forward>(forward);
  set_native<op::_cdist_backward>(backward);
}

}  // namespace torch
