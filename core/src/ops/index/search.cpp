// Counting and searching: one_hot, bincount, searchsorted.
#include <algorithm>
#include <mutex>

#include "dispatch/work.h"
#include "ops/create/fill.h"
#include "ops/index/index.h"
#include "ops/sort/sorting.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"
#include "torch/core/pool.h"
#include "torch/core/promote.h"

namespace torch {

namespace {

// --- on the CPU ---

constexpr int64_t kPiece = 1 << 16;  // elements that a thread looks through at a time

std::pair<int64_t, int64_t> ends_on_cpu(const Tensor& x) {
  const int64_t* const p = x.data<int64_t>();
  std::mutex together;
  int64_t lowest = p[0], highest = p[0];
  parallel_for(x.numel(), kPiece, [&](int64_t begin, int64_t end) {
    int64_t low = p[begin], high = p[begin];
    for (int64_t i = begin + 1; i < end; ++i) low = std::min(low, p[i]), high = std::max(high, p[i]);
    const std::lock_guard lock(together);
    lowest = std::min(lowest, low), highest = std::max(highest, high);
  });
  return {lowest, highest};
}

Tensor mark_on_cpu(const Tensor& out, const Tensor& x) {
  const int64_t* const p = x.data<int64_t>();
  int64_t* q = out.data<int64_t>();
  const int64_t classes = out.size(-1);
  for (int64_t i = 0; i < x.numel(); ++i) q[i * classes + p[i]] = 1;
  return out;
}

// Counts of pieces, where the numbers are many more than what they count, are added up.
void count_into(int64_t* counts, int64_t size, const int64_t* p, int64_t n) {
  constexpr int64_t kMostPieces = 8;
  const int64_t pieces = std::min({n / kPiece, n / (4 * size), kMostPieces});
  if (pieces < 2) {
    for (int64_t i = 0; i < n; ++i) ++counts[p[i]];
    return;
  }
  const Tensor parts = new_zeros_tensor({pieces - 1, size}, DType::Int64);
  parallel_run(pieces, [&](int64_t piece) {
    int64_t* const mine = piece ? parts.data<int64_t>() + (piece - 1) * size : counts;
    for (int64_t i = n * piece / pieces, end = n * (piece + 1) / pieces; i < end; ++i) ++mine[p[i]];
  });
  for (int64_t piece = 0; piece < pieces - 1; ++piece)
    for (int64_t k = 0; k < size; ++k) counts[k] += parts.data<int64_t>()[piece * size + k];
}

Tensor count_on_cpu(const Tensor& x, const Tensor& weights, int64_t size) {
  const int64_t* const p = x.data<int64_t>();
  Tensor out = new_zeros_tensor({size}, weights ? DType::Float64 : DType::Int64);
  if (weights) {
    double* totals = out.data<double>();
    const double* shares = weights.data<double>();
    for (int64_t i = 0; i < x.numel(); ++i) totals[p[i]] += shares[i];
  } else {
    count_into(out.data<int64_t>(), size, p, x.numel());
  }
  return out;
}

// --- on other devices ---

std::pair<int64_t, int64_t> ends_by_operators(const Tensor& x) {
  return {number_of(amin(x)).to_int(), number_of(amax(x)).to_int()};
}
Tensor mark_by_operators(const Tensor& out, const Tensor& x) { return scatter_value(out, -1, unsqueeze(x, -1), 1); }
Tensor count_by_operators(const Tensor& x, const Tensor& weights, int64_t size) {
  Tensor added = weights ? weights : empty_tensor(x.sizes(), DType::Int64, x.device());
  if (!weights) fill_contiguous(added, 1);
  return scatter_add(new_zeros_tensor({size}, added.dtype(), x.device()), 0, x, added);
}

// --- operators ---

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
  const Counting& there = *work<Counting>.on(x);
  const auto [low, high] = there.ends(x);
  TORCH_CHECK(low >= 0, "one_hot: Class values must be non-negative, got ", low);
  if (num_classes == -1) num_classes = high + 1;
  TORCH_CHECK(num_classes > 0, "one_hot: num_classes should be positive, got ", num_classes);
  TORCH_CHECK(high < num_classes, "one_hot: Class values must be smaller than num_classes, got ", high,
              " with num_classes=", num_classes);
  sizes.push_back(num_classes);
  return there.mark(new_zeros_tensor(sizes, DType::Int64, self.device()), x);
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
  const Counting& there = *work<Counting>.on(x);
  const auto [low, high] = there.ends(x);
  TORCH_CHECK(low >= 0, "bincount only supports 1-d non-negative integral inputs, got ", low);
  TORCH_CHECK(high < INT64_MAX, "bincount: ", high, " is too large");
  const Tensor shares = weights ? as_contiguous(weights, DType::Float64) : Tensor();
  const Tensor counts = there.count(x, shares, std::max(minlength, high + 1));
  return weights && weights.dtype() == DType::Float32 ? as_contiguous(counts, DType::Float32) : counts;
}

// Whether contiguous int64 numbers lie in [0, n).
bool all_below(const Tensor& index, int64_t n) {
  if (index.numel() == 0) return true;
  const auto [low, high] = work<Counting>.on(index)->ends(index);
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
  work<Sorting>.on(out)->search(bounds, values, order, n, shared ? 0 : values.size(-1), right, out);
  return out;
}
Tensor bucketize_composite(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  TORCH_CHECK(boundaries.dim() == 1, "bucketize: boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(),
              ")");
  return searchsorted(boundaries, self, out_int32, right);
}

}  // namespace

void on_cpu::search(const Tensor& bounds, const Tensor& values, const Tensor& sorter, int64_t n, int64_t row,
                    bool right, const Tensor& out) {
  visit_dtype(bounds.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) {
      parallel_for(values.numel(), 4096, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          int64_t start = row ? i / row * n : 0;
          const T* p = bounds.data<T>() + start;
          const int64_t* s = sorter ? sorter.data<int64_t>() + start : nullptr;
          T v = values.data<T>()[i];
          int64_t at = right ? place<T, true>(p, s, n, v) : place<T, false>(p, s, n, v);
          if (out.dtype() == DType::Int32)
            out.data<int32_t>()[i] = int32_t(at);
          else
            out.data<int64_t>()[i] = at;
        }
      });
    }
  });
}

constexpr Counting counting_on_cpu{.ends = ends_on_cpu, .mark = mark_on_cpu, .count = count_on_cpu};
constexpr Counting counting_by_operators{
    .ends = ends_by_operators, .mark = mark_by_operators, .count = count_by_operators};

void register_index_search() {
  set_native<op::one_hot>(one_hot_kernel);
  set_native<op::bincount>(bincount_kernel);
  set_native<op::searchsorted>(searchsorted_kernel);
  set_composite<op::bucketize>(bucketize_composite);
}

}  // namespace torch
