// Quantiles, in public operators over one sort; histc and isin.
#include <algorithm>
#include <cmath>

#include "dispatch/work.h"
#include "iterate/elementwise.h"
#include "ops/create/fill.h"
#include "ops/sort/rows.h"
#include "ops/sort/sorting.h"
#include "torch/core/arithmetic.h"
#include "torch/core/interrupt.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/predicate.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/sort.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"
#include "torch/core/promote.h"
#include "torch/core/wrapper.h"

namespace torch {

namespace {

Tensor quantile_of(const char* op, const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation, bool ignore_nan) {
  TORCH_CHECK(self.numel() > 0, op, "() input tensor must be non-empty");
  TORCH_CHECK(self.dtype() == DType::Float32 || self.dtype() == DType::Float64, op,
              "() input tensor must be either float or double dtype, got ", self.dtype());
  TORCH_CHECK(q.dim() <= 1, op, "() q must be a scalar or 1D tensor, got shape ", q.sizes());
  TORCH_CHECK(q.dtype() == self.dtype(), op, "() q tensor must be same dtype as the input tensor, got ", q.dtype(),
              " and ", self.dtype());
  TORCH_CHECK(interpolation == "linear" || interpolation == "lower" || interpolation == "higher" ||
                  interpolation == "midpoint" || interpolation == "nearest",
              op, "() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ",
              interpolation);
  Tensor flat = dim ? self : reshape(self, {-1});
  int64_t d = wrap_dim(dim.value_or(0), flat.dim());
  if (flat.dim() == 0) flat = unsqueeze(flat, 0);
  int64_t last = flat.dim() - 1, n = flat.size(d);
  Tensor sorted = std::get<0>(sort(movedim(flat, {d}, {last}), last));
  // Ranks: (..., Q), where each line has its own number of valid elements.
  Tensor ranks = reshape(q, {-1});
  Tensor broken = any(isnan(sorted), IntArrayRef(&last, 1), true);
  if (ignore_nan) {
    Tensor valid = sum(logical_not(isnan(sorted)), IntArrayRef(&last, 1), true);
    ranks = mul(ranks, sub(_to_copy(valid, self.dtype()), number(1)));
    ranks = masked_fill(ranks, lt(ranks, number(0)), number(0));
  } else {  // a NaN stands last, and is what comes out
    ranks = mul(ranks, number(double(n - 1)));
    DimVector shape(sorted.sizes());
    shape.back() = ranks.size(-1);
    ranks = masked_fill(expand(ranks, shape), broken, number(double(n - 1)));
  }
  if (interpolation == "lower")
    ranks = floor(ranks);
  else if (interpolation == "higher")
    ranks = ceil(ranks);
  else if (interpolation == "nearest")
    ranks = round(ranks);
  Tensor below_rank = floor(ranks), below = gather(sorted, last, _to_copy(below_rank, DType::Int64)), result = below;
  if (interpolation == "linear" || interpolation == "midpoint") {
    Tensor above = gather(sorted, last, _to_copy(ceil(ranks), DType::Int64));
    Tensor weight = interpolation == "midpoint" ? number(0.5) : sub(ranks, below_rank);
    result = lerp(below, above, weight);
  }
  result = movedim(result, {last}, {0});  // (Q, rest...)
  if (keepdim && dim && self.dim() > 0) result = unsqueeze(result, d + 1);
  if (keepdim && !dim) {
    DimVector shape(size_t(self.dim()) + 1, 1);
    shape[0] = result.size(0);
    result = reshape(result, shape);
  }
  return q.dim() > 0 ? result : select(result, 0, 0);
}

template <bool ignore_nan>
Tensor quantile_tensor_composite(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                                 std::string_view interpolation) {
  constexpr const char* op = ignore_nan ? "nanquantile" : "quantile";
  if (q.dtype() == self.dtype())
    TORCH_CHECK(_holds(logical_and(ge(q, number(0)), le(q, number(1)))), op, "() q values must be in the range [0, 1]");
  return quantile_of(op, self, q, dim, keepdim, interpolation, ignore_nan);
}
template <bool ignore_nan>
Tensor quantile_composite(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                          std::string_view interpolation) {
  constexpr const char* op = ignore_nan ? "nanquantile" : "quantile";
  TORCH_CHECK(q >= 0 && q <= 1, op, "() q must be in the range [0, 1] but got ", q);
  return quantile_of(op, self, full({}, q, self.dtype(), self.device()), dim, keepdim, interpolation, ignore_nan);
}

Tensor histc_kernel(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  TORCH_CHECK(bins > 0, "torch.histc: bins must be > 0, but got ", bins);
  const bool counts_integers = is_integral(self.dtype()) && self.device().type != DeviceType::CPU;
  TORCH_CHECK_IMPLEMENTED(is_floating(self.dtype()) || counts_integers,
                          "torch.histc: only floating point tensors, got ", self.dtype(), "; convert with x.float()");
  double low = min.to_double(), high = max.to_double();
  const auto check_range = [&](double& from, double& to) {
    TORCH_CHECK(std::isfinite(from) && std::isfinite(to), "torch.histc: range of [", from, ", ", to, "] is not finite");
    TORCH_CHECK(from <= to, "torch.histc: max must be larger than min, got ", min, " and ", max);
    if (from == to) from -= 1, to += 1;
  };
  Tensor out = new_zeros_tensor({bins}, self.dtype(), self.device());
  if (self.is_meta()) return out;
  Tensor x = as_contiguous(self, counts_integers ? DType::Int64 : DType::Float64);
  if (low == high && x.numel() > 0) low = number_of(amin(x)).to_double(), high = number_of(amax(x)).to_double();
  check_range(low, high);
  if (x.numel()) copy_into(out, work<Sorting>.on(x)->histc(x, bins, low, high));
  return out;
}

// Sorted once, then found by bisection.
Tensor isin_kernel(const Tensor& given, const Tensor& given_test, bool, bool invert) {
  const Tensor* const inputs[] = {&given, &given_test};
  const Device device = common_device("isin", inputs);  // to which a number beside a tensor goes
  const auto there = [&](const Tensor& t) { return t.device() == device ? t : _to_copy(t, t.dtype(), device); };
  const Tensor elements = there(given), test = there(given_test);
  TORCH_CHECK(!is_complex(elements.dtype()) && !is_complex(test.dtype()), "isin: complex numbers have no order; got ",
              elements, " and ", test);
  if (elements.is_meta()) return empty_tensor(elements.sizes(), DType::Bool, device);
  DType t = compute_dtype(result_type(given, given_test));
  if (t == DType::Bool) t = DType::UInt8;
  Tensor x = as_contiguous(elements, t), y = as_contiguous(std::get<0>(sort(reshape(as_dtype(test, t), {-1}))), t);
  return work<Sorting>.on(x)->isin(x, y, invert);
}

}  // namespace

Tensor on_cpu::histc(const Tensor& x, int64_t bins, double low, double high) {
  Tensor out = new_zeros_tensor({bins}, DType::Int64);
  const double* p = x.data<double>();
  int64_t* counts = out.data<int64_t>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (!(p[i] >= low && p[i] <= high)) continue;
    const double place = (p[i] - low) / (high - low) * double(bins);  // NaN where high - low overflows
    ++counts[place >= double(bins) ? bins - 1 : place > 0 ? int64_t(place) : 0];
  }
  return out;
}

Tensor on_cpu::isin(const Tensor& elements, const Tensor& sorted, bool invert) {
  Tensor out = empty_tensor(elements.sizes(), DType::Bool);
  visit_dtype(elements.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) {
      const T *first = sorted.data<T>(), *last = first + sorted.numel();
      auto nan_last = [](T a, T b) { return a < b || (a == a && b != b); };
      for (int64_t i = 0; i < elements.numel(); ++i) {
        if (TORCH_UNLIKELY(i % (1 << 20) == (1 << 20) - 1)) check_interrupt();
        T v = elements.data<T>()[i];
        const T* at = std::lower_bound(first, last, v, nan_last);
        out.data<bool>()[i] = (at != last && *at == v) != invert;
      }
    }
  });
  return out;
}

void register_sort_quantile() {
  set_composite<op::quantile>(quantile_composite<false>);
  set_composite<op::quantile_tensor>(quantile_tensor_composite<false>);
  set_composite<op::nanquantile>(quantile_composite<true>);
  set_composite<op::nanquantile_tensor>(quantile_tensor_composite<true>);
  set_native<op::histc>(histc_kernel);
  set_native<op::isin>(isin_kernel);
}

}  // namespace torch
