// Counting and searching: one_hot, bincount, searchsorted.
#include <algorithm>

#include "dispatch/work.h"
#include "ops/create/fill.h"
#include "ops/index/index.h"
#include "ops/sort/sort_work.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"
#include "torch/core/pool.h"
#include "torch/core/promote.h"

namespace torch {

namespace {

// The smallest and the largest of contiguous int64 numbers; on another device than the CPU this waits.
std::pair<int64_t, int64_t> ends_of(const Tensor& x) {
  if (x.device().type != DeviceType::CPU) return {number_of(amin(x)).to_int(), number_of(amax(x)).to_int()};
  const int64_t* const p = x.data<int64_t>();
  int64_t low = p[0], high = p[0];
  for (int64_t i = 1; i < x.numel(); ++i) {
    low = std::min(low, p[i]);
    high = std::max(high, p[i]);
  }
  return {low, high};
}

Tensor one_hot_kernel(const Tensor& self, int64_t num_classes) {
  TORCH_CHECK(self.dtype() == DType::Int64, "one_hot is only applicable to index tensor of type LongTensor, got ",
              self.dtype());
  DimVector sizes(self.sizes());
  if (self.numel() == 0 || self.is_meta()) {
    TORCH_CHECK(num_classes > 0, "one_hot: Can not infer total number of classes from empty tensor.");
    sizes.push_back(num_classes);
    return new_zeros_tensor(sizes, DType::Int64, self.device());
  }
  Tensor x = as_contiguous(self, DType::Int64);
  const auto [low, high] = ends_of(x);
  TORCH_CHECK(low >= 0, "one_hot: Class values must be non-negative, got ", low);
  if (num_classes == -1) num_classes = high + 1;
  TORCH_CHECK(num_classes > 0, "one_hot: num_classes should be positive, got ", num_classes);
  TORCH_CHECK(high < num_classes, "one_hot: Class values must be smaller than num_classes, got ", high,
              " with num_classes=", num_classes);
  sizes.push_back(num_classes);
  Tensor out = new_zeros_tensor(sizes, DType::Int64, self.device());
  if (x.device().type != DeviceType::CPU) return scatter_value(out, -1, unsqueeze(x, -1), 1);
  const int64_t* const p = x.data<int64_t>();
  int64_t* q = out.data<int64_t>();
  for (int64_t i = 0; i < x.numel(); ++i) q[i * num_classes + p[i]] = 1;
  return out;
}

Tensor bincount_kernel(const Tensor& self, const Tensor& weights, int64_t minlength) {
  TORCH_CHECK(self.dim() == 1 && is_integral(self.dtype()),
              "bincount only supports 1-d non-negative integral inputs, got ", self);
  TORCH_CHECK(minlength >= 0, "bincount: minlength should be >= 0, got ", minlength);
  TORCH_CHECK_IMPLEMENTED(!self.is_meta(),
                          "bincount: the size of the result is in the values, which Meta tensors do not have");
  if (self.numel() == 0) return new_zeros_tensor({minlength}, DType::Int64, self.device());
  if (weights)
    TORCH_CHECK(weights.sizes() == self.sizes(),
                "bincount: weights should be 1-d and have the same length as input, got ", weights.sizes(), " and ",
                self.sizes());
  Tensor x = as_contiguous(self, DType::Int64);
  int64_t size = minlength;
  const int64_t n = x.numel();
  if (n > 0) {
    const auto [low, high] = ends_of(x);
    TORCH_CHECK(low >= 0, "bincount only supports 1-d non-negative integral inputs, got ", low);
    TORCH_CHECK(high < INT64_MAX, "bincount: ", high, " is too large");
    size = std::max(size, high + 1);
  }
  DType result = !weights ? DType::Int64 : weights.dtype() == DType::Float32 ? DType::Float32 : DType::Float64;
  if (x.device().type != DeviceType::CPU) {
    const DType inside = weights ? DType::Float64 : DType::Int64;
    const Tensor zeros = new_zeros_tensor({size}, inside, x.device());
    Tensor added = weights ? as_contiguous(weights, inside) : empty_tensor({n}, inside, x.device());
    if (!weights) fill_contiguous(added, 1);
    return as_contiguous(scatter_add(zeros, 0, x, added), result);
  }
  const int64_t* const p = x.data<int64_t>();
  if (!weights) {
    Tensor out = new_zeros_tensor({size}, DType::Int64);
    int64_t* counts = out.data<int64_t>();
    for (int64_t i = 0; i < n; ++i) ++counts[p[i]];
    return out;
  }
  Tensor w = as_contiguous(weights, DType::Float64), sums = new_zeros_tensor({size}, DType::Float64);
  double* totals = sums.data<double>();
  const double* shares = w.data<double>();
  for (int64_t i = 0; i < n; ++i) totals[p[i]] += shares[i];
  return as_contiguous(sums, result);
}

// Whether contiguous int64 numbers lie in [0, n); on another device than the CPU this waits.
bool all_below(const Tensor& index, int64_t n) {
  if (index.device().type == DeviceType::CPU)
    return index_kernels().check64(index.data<int64_t>(), index.numel(), n) < 0;
  if (index.numel() == 0) return true;
  const auto [low, high] = ends_of(index);
  return low >= 0 && high < n;
}

// A number of the host where a device's tensor is wanted.
Tensor on_device_of(const Tensor& self, const Tensor& out) {
  return self.device() == out.device() ? self : _to_copy(self, self.dtype(), out.device());
}

// Halves the range without a branch that the processor would have to guess.
template <class T, bool right>
int64_t place(const T* p, const int64_t* sorter, int64_t n, T value) {
  int64_t first = 0;
  while (n > 0) {
    int64_t half = n / 2;
    T x = p[sorter ? sorter[first + half] : first + half];
    // NaN sorts behind everything.
    bool go = right ? !(x > value) && !(x != x && value == value) : x < value || (value != value && x == x);
    first = go ? first + half + 1 : first;
    n = go ? n - half - 1 : half;
  }
  return first;
}

Tensor searchsorted_kernel(const Tensor& sequence, const Tensor& self, bool out_int32, bool right,
                           std::optional<std::string_view> side, const Tensor& sorter) {
  const char* op = "torch.searchsorted(): ";
  TORCH_CHECK(!side || *side == "left" || *side == "right", op, "side can only be 'left' or 'right' but got ",
              side.value_or(""));
  TORCH_CHECK(!(side && *side == "left" && right), op,
              "side and right can't be set to opposites, got side of left while right was True");
  if (side && *side == "right") right = true;
  TORCH_CHECK(sequence.dim() > 0, op, "boundaries tensor should have positive dimension, but got 0 dimension");
  TORCH_CHECK(sequence.device() == self.device() || self.is_wrapped_number(), op,
              "boundaries and input value tensors should be on one device, got ", sequence.device(), " and ",
              self.device());
  TORCH_CHECK_IMPLEMENTED(!is_complex(sequence.dtype()) && !is_complex(self.dtype()), op,
                          "complex numbers have no order, got boundaries of ", sequence.dtype(), " and values of ",
                          self.dtype());
  bool shared = sequence.dim() == 1;
  if (!shared) {
    bool fits = self.dim() == sequence.dim();
    for (int64_t d = 0; fits && d < self.dim() - 1; ++d) fits = self.size(d) == sequence.size(d);
    TORCH_CHECK(fits, op,
                "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
                "value tensor must match, but we got ",
                "boundaries tensor ", Bracketed{sequence.sizes()}, " and input value tensor ", Bracketed{self.sizes()});
  }
  int64_t n = sequence.size(-1);
  TORCH_CHECK(!out_int32 || n < INT32_MAX, op, "the size of boundaries' last dimension should be less than ", INT32_MAX,
              ", but we got ", n);
  Tensor order;
  if (sorter) {
    TORCH_CHECK(sorter.sizes() == sequence.sizes() && sorter.dtype() == DType::Int64, op,
                "sorter must be an int64 tensor of the boundaries' shape ", Bracketed{sequence.sizes()}, ", got ",
                sorter);
    order = as_contiguous(sorter, DType::Int64);
    TORCH_CHECK(sequence.is_meta() || all_below(order, n), op, "sorter index out of range");
  }
  Tensor out = empty_tensor(self.sizes(), out_int32 ? DType::Int32 : DType::Int64, sequence.device());
  if (out.numel() == 0 || out.is_meta()) return out;
  // A Python number keeps its own precision against integer boundaries.
  DType t = compute_dtype(self.is_wrapped_number() ? sequence.dtype() : promote_types(sequence.dtype(), self.dtype()));
  if (self.is_wrapped_number() && !is_floating(t) && is_floating(self.dtype())) t = DType::Float64;
  if (t == DType::Bool) t = DType::UInt8;
  Tensor bounds = as_contiguous(sequence, t), values = as_contiguous(on_device_of(self, out), t);
  if (out.device().type != DeviceType::CPU) {
    work<SortWork>.on(out)->search("searchsorted", bounds, values, order, n, shared ? 0 : values.size(-1), right, out);
    return out;
  }
  int64_t row = shared ? values.numel() : values.size(-1);
  visit_dtype(t, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) {
      parallel_for(values.numel(), 4096, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          int64_t start = shared ? 0 : i / row * n;
          const T* p = bounds.data<T>() + start;
          const int64_t* s = order ? order.data<int64_t>() + start : nullptr;
          T v = values.data<T>()[i];
          int64_t at = right ? place<T, true>(p, s, n, v) : place<T, false>(p, s, n, v);
          if (out_int32)
            out.data<int32_t>()[i] = int32_t(at);
          else
            out.data<int64_t>()[i] = at;
        }
      });
    }
  });
  return out;
}
Tensor bucketize_composite(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  TORCH_CHECK(boundaries.dim() == 1, "bucketize: boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(),
              ")");
  return searchsorted(boundaries, self, out_int32, right);
}

}  // namespace

void register_index_search() {
  set_native<op::one_hot>(one_hot_kernel);
  set_native<op::bincount>(bincount_kernel);
  set_native<op::searchsorted>(searchsorted_kernel);
  set_composite<op::bucketize>(bucketize_composite);
}

}  // namespace torch
