// var, std and their forms with the mean: one pass that merges blocks' means and squared distances.
#include <cmath>

#include "dispatch/work.h"
#include "ops/create/fill.h"
#include "ops/reduce/engine.h"
#include "ops/reduce/store.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

using Dims = std::optional<IntArrayRef>;
using Correction = std::optional<Scalar>;

double variance(const MomentsAcc& a, double correction, bool root) {
  double v = a.m2 / std::max(a.count - correction, 0.0);  // 0 / 0 is the NaN that one element gives
  if (a.count == 0) v = NAN;
  return root ? std::sqrt(v) : v;
}

template <class T, bool kRoot>
void finish_rows(const void* acc, int64_t n, double correction, void* out) {
  const auto* a = static_cast<const MomentsAcc*>(acc);
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = T(variance(a[i], correction, kRoot));
}

template <class T>
auto of_rows(bool root) {
  return root ? finish_rows<T, true> : finish_rows<T, false>;
}

// The spread (variance or deviation) and, where wanted, the mean of a real tensor.
void moments_into(const char* op, const Tensor& self, const DimSet& dims, double correction, bool root,
                  const Tensor& spread, const Tensor* mean) {
  DType t = self.dtype() == DType::Float64 ? DType::Float64 : DType::Float32;
  Tensor outs[2] = {spread, mean ? *mean : spread};
  Ending ending{op, root ? Ending::Deviation : Ending::Variance, correction};
  if (!mean && spread.dtype() == DType::Float32) ending.of_rows = of_rows<float>(root);
  if (!mean && spread.dtype() == DType::Float64) ending.of_rows = of_rows<double>(root);
  run_reduction(
      {Reduce::Moments, t, t}, self, dims, outs, mean ? 2 : 1,
      [&](const void* acc, int64_t n, char* const* out, const int64_t* step) {
        auto* a = static_cast<const MomentsAcc*>(acc);
        store_results(spread.dtype(), n, out[0], step[0], [&](int64_t i) { return variance(a[i], correction, root); });
        if (mean)
          store_results(mean->dtype(), n, out[1], step[1],
                        [&](int64_t i) { return a[i].count == 0 ? NAN : a[i].mean; });
      },
      ending);
}

struct Spread {
  Tensor spread, mean;
};
Spread spread_of(const char* op, const Tensor& self, Dims dim, const Correction& correction, bool keepdim, bool root,
                 bool with_mean) {
  DType t = self.dtype();
  TORCH_CHECK(is_floating(t) || is_complex(t), op, ": only support floating point and complex dtypes, got ", t,
              "; convert with x.float()");
  DimSet dims = reduce_dims(op, dim, self.dim());
  ReduceOut spread = make_out(self, dims, keepdim, real_of(t));
  ReduceOut mean;
  if (with_mean) mean = make_out(self, dims, keepdim, t);
  if (self.is_meta()) return {spread.result, mean.result};
  double c = correction ? correction->to_double() : 1;
  if (!is_complex(t)) {
    moments_into(op, self, dims, c, root, spread.kept, with_mean ? &mean.kept : nullptr);
    return {spread.result, mean.result};
  }
  // The variance of a complex number is that of both parts added.
  Tensor parts = view_as_real(self), means = with_mean ? view_as_real(mean.kept) : Tensor();
  Tensor re = select(parts, -1, 0), im = select(parts, -1, 1),
         other = empty_tensor(spread.kept.sizes(), real_of(t), self.device());
  Tensor re_mean = with_mean ? select(means, -1, 0) : Tensor(), im_mean = with_mean ? select(means, -1, 1) : Tensor();
  moments_into(op, re, dims, c, false, spread.kept, with_mean ? &re_mean : nullptr);
  moments_into(op, im, dims, c, false, other, with_mean ? &im_mean : nullptr);
  add_(spread.kept, other);
  if (root) sqrt_(spread.kept);
  return {spread.result, mean.result};
}

Correction unbiased_correction(bool unbiased) { return Scalar(unbiased ? 1 : 0); }

Tensor var_kernel(const Tensor& self, Dims dim, const Correction& c, bool keepdim) {
  return spread_of("var", self, dim, c, keepdim, false, false).spread;
}
Tensor var_unbiased_composite(const Tensor& self, bool unbiased) {
  return var(self, std::nullopt, unbiased_correction(unbiased));
}
Tensor var_dim_composite(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return var(self, dim, unbiased_correction(unbiased), keepdim);
}
Tensor std_kernel(const Tensor& self, Dims dim, const Correction& c, bool keepdim) {
  return spread_of("std", self, dim, c, keepdim, true, false).spread;
}
Tensor std_unbiased_composite(const Tensor& self, bool unbiased) {
  return stddev(self, std::nullopt, unbiased_correction(unbiased));
}
Tensor std_dim_composite(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return stddev(self, dim, unbiased_correction(unbiased), keepdim);
}

using Two = std::tuple<Tensor, Tensor>;
Two var_mean_kernel(const Tensor& self, Dims dim, const Correction& c, bool keepdim) {
  Spread s = spread_of("var_mean", self, dim, c, keepdim, false, true);
  return {s.spread, s.mean};
}
Two var_mean_unbiased_composite(const Tensor& self, bool unbiased) {
  return var_mean(self, std::nullopt, unbiased_correction(unbiased));
}
Two var_mean_dim_composite(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return var_mean(self, dim, unbiased_correction(unbiased), keepdim);
}
// Not the root of a variance, which may be out of the dtype's range where the deviation is not.
Two std_mean_composite(const Tensor& self, Dims dim, const Correction& c, bool keepdim) {
  const Tensor spread = stddev(self, dim, c, keepdim);
  return {spread, mean(self, dim, keepdim)};
}
Two std_mean_unbiased_composite(const Tensor& self, bool unbiased) {
  return std_mean(self, std::nullopt, unbiased_correction(unbiased));
}
Two std_mean_dim_composite(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return std_mean(self, dim, unbiased_correction(unbiased), keepdim);
}

}  // namespace

void register_reduce_moments() {
  set_native<op::var>(var_kernel);
  set_composite<op::var_unbiased>(var_unbiased_composite);
  set_composite<op::var_dim>(var_dim_composite);
  set_native<op::stddev>(std_kernel);
  set_composite<op::stddev_unbiased>(std_unbiased_composite);
  set_composite<op::stddev_dim>(std_dim_composite);
  set_native<op::var_mean>(var_mean_kernel);
  set_composite<op::var_mean_unbiased>(var_mean_unbiased_composite);
  set_composite<op::var_mean_dim>(var_mean_dim_composite);
  set_composite<op::std_mean>(std_mean_composite);
  set_composite<op::std_mean_unbiased>(std_mean_unbiased_composite);
  set_composite<op::std_mean_dim>(std_mean_dim_composite);
}

}  // namespace torch
