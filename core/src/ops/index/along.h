// An index for every element: the rows of the last dim, one by one, on the CPU.
#pragma once
#include <algorithm>

#include "ops/index/index.h"
#include "torch/core/pool.h"

namespace torch {

constexpr int64_t kAlongGrain = 1 << 15;

// An index over self and a tensor of the index's shape, row by row of the last dim.
struct Walk {
  int64_t rows, n;                // rows, and elements in each
  int64_t independent;            // consecutive rows that may write to the same places; all others do not meet
  int64_t along;                  // self's stride of the indexed dim
  int64_t self_step, other_step;  // along a row; self_step is 0 when the last dim is the indexed one
  DimVector sizes, self_strides, other_strides;  // of the dims before the last; self's is 0 for the indexed one
};

inline Walk walk_of(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& other) {
  Walk w;
  int64_t last = index.dim() - 1;
  w.n = index.size(last);
  w.along = self.stride(dim);
  w.self_step = dim == last ? 0 : self.stride(last);
  w.other_step = other.stride(last);
  w.rows = 1;
  w.independent = 1;
  for (int64_t d = 0; d < last; ++d) {
    w.sizes.push_back(index.size(d));
    w.self_strides.push_back(d == dim ? 0 : self.stride(d));
    w.other_strides.push_back(other.stride(d));
    w.rows *= index.size(d);
    if (d >= dim) w.independent *= index.size(d);
  }
  return w;
}

// f(self's offset, other's offset, first element of the dense index) for rows [begin, end).
template <class F>
void each_row(const Walk& w, int64_t begin, int64_t end, F f) {
  for (int64_t r = begin; r < end; ++r) {
    int64_t left = r, a = 0, b = 0;
    for (int d = w.sizes.size() - 1; d >= 0; --d) {
      int64_t q = left / w.sizes[d], i = left - q * w.sizes[d];
      a += i * w.self_strides[d];
      b += i * w.other_strides[d];
      left = q;
    }
    f(a, b, r * w.n);
  }
}

// f(target, value) for each element, in order where places meet.
template <class T, class F>
void scatter_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, F f) {
  const Walk w = walk_of(self, dim, index, src);
  T* to = self.data<T>();
  const T* from = src.data<T>();
  const int64_t* at = index.data<int64_t>();
  // Rows that may meet stay on one thread; where the last dim is the indexed one, a row meets none but itself.
  int64_t groups = w.rows / std::max<int64_t>(w.independent, 1), work = std::max<int64_t>(w.independent * w.n, 1);
  parallel_for(groups, std::max<int64_t>(1, kAlongGrain / work), [&](int64_t begin, int64_t end) {
    each_row(w, begin * w.independent, end * w.independent, [&](int64_t a, int64_t b, int64_t first) {
      // In registers: what f writes might be the walk, for all the compiler knows.
      T* const row = to + a;
      const T* const other = from + b;
      const int64_t* const place = at + first;
      const int64_t n = w.n, along = w.along, step = w.self_step, other_step = w.other_step;
      if (step == 0 && along == 1 && other_step == 1)
        for (int64_t i = 0; i < n; ++i) f(row[place[i]], other[i]);
      else
        for (int64_t i = 0; i < n; ++i) f(row[place[i] * along + i * step], other[i * other_step]);
    });
  });
}

}  // namespace torch
