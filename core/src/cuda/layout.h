// The dims of a call and the strides of its operands, on the host, and what kernels get of them (geometry.h).
#pragma once
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "cuda/geometry.h"
#include "torch/core/tensor.h"

namespace torch::cuda {

// Dims of a call, in any order until sorted: innermost first.
struct Dims {
  int count = 0, operands = 0;
  int64_t size[kMaxDims];
  int64_t stride[kOperands][kMaxDims];  // bytes

  void add_dim(int64_t n) { size[count++] = n; }
  // Of all dims so far; what it does not have, or has once, is repeated.
  void add_operand(const Tensor& t) {
    const int skip = count - int(t.dim());
    for (int d = 0; d < count; ++d) {
      const bool repeats = d < skip || (t.size(d - skip) == 1 && size[d] != 1);
      stride[operands][d] = repeats ? 0 : t.stride(d - skip) * t.item_size();
    }
    ++operands;
  }
  void add_number() { std::fill_n(stride[operands++], count, int64_t(0)); }

  // By the first operand's strides, or, of dims that it repeats, by those of another one; without dims of one element,
  // neighbours that go on where the other ends made one.
  void simplify(int repeated_by = 0) {
    const auto step = [&](int d) { return std::abs(stride[0][d] ? stride[0][d] : stride[repeated_by][d]); };
    int order[kMaxDims], n = 0;
    for (int d = count - 1; d >= 0; --d)
      if (size[d] != 1) order[n++] = d;
    std::stable_sort(order, order + n, [&](int a, int b) { return step(a) < step(b); });
    const Dims old = *this;
    count = 0;
    for (int i = 0; i < n; ++i) {
      const int d = order[i];
      bool joins = count > 0;
      for (int k = 0; k < operands && joins; ++k) joins = old.stride[k][d] == stride[k][count - 1] * size[count - 1];
      if (joins) {
        size[count - 1] *= old.size[d];
        continue;
      }
      size[count] = old.size[d];
      for (int k = 0; k < operands; ++k) stride[k][count] = old.stride[k][d];
      ++count;
    }
  }
  int64_t numel() const { return std::accumulate(size, size + count, int64_t(1), std::multiplies<>()); }
  Geometry geometry() const {  // of at most kDims dims of 2^31 elements
    Geometry g;
    g.ndim = count;
    for (int d = 0; d < count; ++d) {
      g.size[d] = Divider(uint32_t(std::max<int64_t>(size[d], 1)));
      for (int k = 0; k < operands; ++k) g.stride[k][d] = stride[k][d];
    }
    return g;
  }
};

}  // namespace torch::cuda
