// Softmax and log-softmax over the middle dim of (outer, n, inner). Rows (inner = 1) run vectors along the row;
// otherwise a vector holds neighbouring columns, and the columns of one strip stay in cache between the passes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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
  // max passes over NaN, which a line must not hide
  if (kind == SoftmaxKind::Safe && m == kLowest<T> && std::all_of(x, x + n, [](T v) { return v == kLowest<T>; }))
    return std::fill_n(y, n, T(0)), void();
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

// A strip of `W` vectors of neighbouring columns, n rows `step` apart; `count` lanes of the last vector are real.
// A narrow strip of a wide matrix touches as many pages as it has rows, in every pass. W of 4 instead of 1, in ms,
// before, after and PyTorch's with two threads (Intel Xeon with AMX): softmax.columns.1e6 0.71, 0.47, 0.56;
// log_softmax 0.79, 0.48, 0.52; 21 planes of 64 x 64 in 8 images 0.26, 0.17, 0.34.
template <class T, int W>
struct Strip {
  int64_t n, step;
  int count;

  // f(where, w, lanes) for each vector of each row.
  template <class F>
  TORCH_VEC_INLINE void each(F f) const {
    for (int64_t i = 0; i < n; ++i) across(i * step, f, std::make_integer_sequence<int, W>());
  }

 private:
  template <class F, int... I>
  TORCH_VEC_INLINE void across(int64_t at, F f, std::integer_sequence<int, I...>) const {
    (f(at + I * Vec<T>::kLanes, I, I + 1 < W ? Vec<T>::kLanes : count), ...);
  }
};

template <class T, int W>
void forward_columns(const T* x, T* y, Strip<T, W> strip, SoftmaxKind kind) {
  Vec<T> high[W], sum[W], one(T(1));
  for (int w = 0; w < W; ++w) high[w] = Vec<T>(kLowest<T>), sum[w] = Vec<T>(T(0));
  strip.each([&](int64_t at, int w, int count) { high[w] = max(get(x + at, count), high[w]); });
  if (kind == SoftmaxKind::Log) {
    strip.each([&](int64_t at, int w, int count) { sum[w] += math::exp(get(x + at, count) - high[w]); });
    for (int w = 0; w < W; ++w) sum[w] = math::log(sum[w]);
    strip.each([&](int64_t at, int w, int count) { put(y + at, (get(x + at, count) - high[w]) - sum[w], count); });
    return;
  }
  // Lanes that are -inf throughout: exp(-inf - 0) is 0, and 0 / 1 too.
  const bool safe = kind == SoftmaxKind::Safe;
  for (int w = 0; w < W && safe; ++w) high[w] = select(high[w] == Vec<T>(kLowest<T>), Vec<T>(T(0)), high[w]);
  strip.each([&](int64_t at, int w, int count) {
    Vec<T> e = math::exp(get(x + at, count) - high[w]);
    sum[w] += e;
    put(y + at, e, count);
  });
  for (int w = 0; w < W && safe; ++w) sum[w] = select(sum[w] == Vec<T>(T(0)), one, sum[w]);
  strip.each([&](int64_t at, int w, int count) { put(y + at, get(y + at, count) / sum[w], count); });
}

template <class T, int W>
void backward_columns(const T* g, const T* y, T* out, Strip<T, W> strip, bool log) {
  Vec<T> sum[W];
  for (int w = 0; w < W; ++w) sum[w] = Vec<T>(T(0));
  strip.each([&](int64_t at, int w, int count) {
    sum[w] += log ? get(g + at, count) : get(g + at, count) * get(y + at, count);
  });
  strip.each([&](int64_t at, int w, int count) {
    Vec<T> v = get(y + at, count), grad = get(g + at, count);
    put(out + at, log ? grad - math::exp(v) * sum[w] : v * (grad - sum[w]), count);
  });
}

// row(offset) or columns(offset, strip) for each row or strip of columns, shared out by shape.
template <class T, class Row, class Columns>
void over_planes(Planes p, Row row, Columns columns) {
  if (p.n == 0) return;
  if (p.inner == 1) {
    parallel_for(p.outer, std::max<int64_t>(1, 8192 / p.n), [&](int64_t from, int64_t to) {
      for (int64_t o = from; o < to; ++o) row(o * p.n);
    });
    return;
  }
  constexpr int lanes = Vec<T>::kLanes, width = 4;
  const int64_t wide = p.inner / (width * lanes), rest = p.inner - wide * width * lanes;
  const int64_t strips = wide + (rest + lanes - 1) / lanes;
  parallel_for(p.outer * strips, std::max<int64_t>(1, 8192 / (p.n * lanes)), [&](int64_t from, int64_t to) {
    for (int64_t s = from; s < to; ++s) {
      const int64_t plane = s / strips * p.n * p.inner, which = s % strips;
      if (which < wide) {
        columns(plane + which * width * lanes, Strip<T, width>{p.n, p.inner, lanes});
      } else {
        const int64_t column = (wide * width + which - wide) * lanes;
        columns(plane + column, Strip<T, 1>{p.n, p.inner, int(std::min<int64_t>(lanes, p.inner - column))});
      }
    }
  });
}

template <class T>
void forward(const T* x, T* y, Planes p, SoftmaxKind kind) {
  over_planes<T>(
      p, [&](int64_t at) { forward_row(x + at, y + at, p.n, kind); },
      [&](int64_t at, auto strip) { forward_columns(x + at, y + at, strip, kind); });
}
template <class T>
void backward(const T* g, const T* y, T* out, Planes p, bool log) {
  over_planes<T>(
      p, [&](int64_t at) { backward_row(g + at, y + at, out + at, p.n, log); },
      [&](int64_t at, auto strip) { backward_columns(g + at, y + at, out + at, strip, log); });
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
