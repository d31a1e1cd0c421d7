// Softmax and log-softmax over the middle dim of (outer, n, inner). Rows (inner = 1) run vectors along the row;
// otherwise a vector holds neighbouring columns, and the columns of one block stay in cache between the passes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/softmax_kernels.h"
#include "kernels/lanes.h"
#include "kernels/math.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

namespace {

template <class T>
constexpr T kLowest = -std::numeric_limits<T>::infinity();

// f(vector, where, lanes) over a row; the lanes beyond its end hold `fill`.
template <class T, class F>
TORCH_VEC_INLINE void along(const T* x, int64_t n, T fill, F f) {
  constexpr int lanes = Vec<T>::kLanes;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(load<T>(x + i), i, lanes);
  if (i < n) f(load_partial<T>(x + i, int(n - i), fill), i, int(n - i));
}

template <class T>
void forward_row(const T* x, T* y, int64_t n, SoftmaxKind kind) {
  Vec<T> top(kLowest<T>);
  along<T>(x, n, kLowest<T>, [&](Vec<T> v, int64_t, int) { top = max(v, top); });
  T m = reduce(top, [](Vec<T> a, Vec<T> b) { return max(a, b); });
  if (kind == SoftmaxKind::Safe && m == kLowest<T>) return std::fill_n(y, n, T(0)), void();
  Vec<T> high(m), sum(T(0));
  if (kind == SoftmaxKind::Log) {
    along<T>(x, n, kLowest<T>, [&](Vec<T> v, int64_t, int) { sum += math::exp(v - high); });
    Vec<T> rest(std::log(reduce_add(sum)));  // subtracted apart from max: x - max is exact near the top
    along<T>(x, n, T(0), [&](Vec<T> v, int64_t i, int count) { put(y + i, (v - high) - rest, count); });
    return;
  }
  along<T>(x, n, kLowest<T>, [&](Vec<T> v, int64_t i, int count) {
    Vec<T> e = math::exp(v - high);
    sum += e;
    put(y + i, e, count);
  });
  Vec<T> total(reduce_add(sum));
  along<T>(y, n, T(0), [&](Vec<T> v, int64_t i, int count) { put(y + i, v / total, count); });
}

template <class T>
void backward_row(const T* g, const T* y, T* out, int64_t n, bool log) {
  Vec<T> sum(T(0));
  if (log) {
    along<T>(g, n, T(0), [&](Vec<T> v, int64_t, int) { sum += v; });
    Vec<T> total(reduce_add(sum));
    along<T>(y, n, T(0), [&](Vec<T> v, int64_t i, int count) {
      Vec<T> grad = count == Vec<T>::kLanes ? load<T>(g + i) : load_partial<T>(g + i, count);
      put(out + i, grad - math::exp(v) * total, count);
    });
    return;
  }
  along<T>(y, n, T(0), [&](Vec<T> v, int64_t i, int count) {
    sum += v * (count == Vec<T>::kLanes ? load<T>(g + i) : load_partial<T>(g + i, count));
  });
  Vec<T> total(reduce_add(sum));
  along<T>(y, n, T(0), [&](Vec<T> v, int64_t i, int count) {
    Vec<T> grad = count == Vec<T>::kLanes ? load<T>(g + i) : load_partial<T>(g + i, count);
    put(out + i, v * (grad - total), count);
  });
}

// One vector of neighbouring columns, n rows `step` apart; `count` of its lanes are real.
template <class T>
void forward_columns(const T* x, T* y, int64_t n, int64_t step, int count, SoftmaxKind kind) {
  Vec<T> high(kLowest<T>), sum(T(0));
  for (int64_t i = 0; i < n; ++i) high = max(get(x + i * step, count), high);
  // Lanes that are -inf throughout: exp(-inf - 0) is 0, and 0 / 1 too.
  const auto closed = high == Vec<T>(kLowest<T>);
  if (kind == SoftmaxKind::Safe) high = select(closed, Vec<T>(T(0)), high);
  if (kind == SoftmaxKind::Log) {
    for (int64_t i = 0; i < n; ++i) sum += math::exp(get(x + i * step, count) - high);
    Vec<T> rest = math::log(sum);
    for (int64_t i = 0; i < n; ++i) put(y + i * step, (get(x + i * step, count) - high) - rest, count);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    Vec<T> e = math::exp(get(x + i * step, count) - high);
    sum += e;
    put(y + i * step, e, count);
  }
  if (kind == SoftmaxKind::Safe) sum = select(closed, Vec<T>(T(1)), sum);
  for (int64_t i = 0; i < n; ++i) put(y + i * step, get(y + i * step, count) / sum, count);
}
template <class T>
void backward_columns(const T* g, const T* y, T* out, int64_t n, int64_t step, int count, bool log) {
  Vec<T> sum(T(0));
  for (int64_t i = 0; i < n; ++i)
    sum += log ? get(g + i * step, count) : get(g + i * step, count) * get(y + i * step, count);
  for (int64_t i = 0; i < n; ++i) {
    Vec<T> v = get(y + i * step, count), grad = get(g + i * step, count);
    put(out + i * step, log ? grad - math::exp(v) * sum : v * (grad - sum), count);
  }
}

// row(offset) or columns(offset, count) for each row or block of columns, shared out by shape.
template <class T, class Row, class Columns>
void over_planes(Planes p, Row row, Columns columns) {
  if (p.n == 0) return;
  if (p.inner == 1) {
    parallel_for(p.outer, std::max<int64_t>(1, 8192 / p.n), [&](int64_t from, int64_t to) {
      for (int64_t o = from; o < to; ++o) row(o * p.n);
    });
    return;
  }
  constexpr int lanes = Vec<T>::kLanes;
  int64_t blocks = (p.inner + lanes - 1) / lanes;
  parallel_for(p.outer * blocks, std::max<int64_t>(1, 8192 / (p.n * lanes)), [&](int64_t from, int64_t to) {
    for (int64_t b = from; b < to; ++b) {
      int64_t column = b % blocks * lanes;
      columns(b / blocks * p.n * p.inner + column, int(std::min<int64_t>(lanes, p.inner - column)));
    }
  });
}

template <class T>
void forward(const T* x, T* y, Planes p, SoftmaxKind kind) {
  over_planes<T>(
      p, [&](int64_t at) { forward_row(x + at, y + at, p.n, kind); },
      [&](int64_t at, int count) { forward_columns(x + at, y + at, p.n, p.inner, count, kind); });
}
template <class T>
void backward(const T* g, const T* y, T* out, Planes p, bool log) {
  over_planes<T>(
      p, [&](int64_t at) { backward_row(g + at, y + at, out + at, p.n, log); },
      [&](int64_t at, int count) { backward_columns(g + at, y + at, out + at, p.n, p.inner, count, log); });
}

}  // namespace

const SoftmaxKernels<float>& softmax_float() {
  static constexpr SoftmaxKernels<float> k{forward<float>, backward<float>};
  return k;
}
const SoftmaxKernels<double>& softmax_double() {
  static constexpr SoftmaxKernels<double> k{forward<double>, backward<double>};
  return k;
}

}  // namespace torch::TORCH_ISA
