// Distances of all pairs of rows. A tile of pairs shares what it loads: 4 x 4 rows of AVX512 take 8 loads for 16
// differences, so that it is arithmetic that counts.
#include <algorithm>
#include <vector>

#include "cpu/distance_kernels.h"
#include "kernels/math.h"
#include "kernels/vec.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

namespace {

constexpr int kRows = 4, kColumns = kVecBytes == 64 ? 4 : 2;  // as many sums as fit in registers
constexpr int64_t kWork = 1 << 16;                            // differences of a task

template <bool Squares, class T>
TORCH_VEC_INLINE Vec<T> added(Vec<T> sum, Vec<T> d) {
  return Squares ? sum + d * d : sum + abs(d);
}

template <bool Squares, int R, int C, class T>
TORCH_VEC_INLINE void tile(const T* a, const T* b, int64_t m, T* out, int64_t row) {
  constexpr int lanes = Vec<T>::kLanes;
  Vec<T> sum[R][C];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) sum[i][j] = Vec<T>(T(0));
  const auto step = [&](auto get) {
    Vec<T> y[C];
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) y[j] = get(b + j * m);
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      const Vec<T> x = get(a + i * m);
#pragma GCC unroll 4
      for (int j = 0; j < C; ++j) sum[i][j] = added<Squares>(sum[i][j], x - y[j]);
    }
  };
  int64_t k = 0;
  for (; k + lanes <= m; k += lanes) step([k](const T* p) { return load<T>(p + k); });
  if (k < m) step([k, m](const T* p) { return load_partial<T>(p + k, int(m - k)); });
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) {
      const T s = reduce_add(sum[i][j]);
      out[i * row + j] = Squares ? T(__builtin_sqrt(s)) : s;
    }
}

template <bool Squares, int R, class T>
void rows_of_pairs(const Distances& s, const T* a, const T* b, T* out) {
  int64_t j = 0;
  for (; j + kColumns <= s.r; j += kColumns) tile<Squares, R, kColumns>(a, b + j * s.m, s.m, out + j, s.r);
  for (; j < s.r; ++j) tile<Squares, R, 1>(a, b + j * s.m, s.m, out + j, s.r);
}

// f(batch, first row, rows), the rows kRows or 1.
template <class F>
void over_rows(const Distances& s, F f) {
  const int64_t blocks = (s.p + kRows - 1) / kRows, each = std::max<int64_t>(1, kRows * s.r * s.m);
  parallel_for(s.batch * blocks, std::max<int64_t>(1, kWork / each), [&](int64_t from, int64_t to) {
    for (int64_t block = from; block < to; ++block) {
      const int64_t n = block / blocks, i = (block - n * blocks) * kRows;
      if (i + kRows <= s.p)
        f(n, i, kRows);
      else
        for (int64_t row = i; row < s.p; ++row) f(n, row, 1);
    }
  });
}

template <bool Squares, class T>
void forward_by(const Distances& s, const T* x1, const T* x2, T* out) {
  over_rows(s, [&](int64_t n, int64_t i, int rows) {
    const T *a = x1 + (n * s.p + i) * s.m, *b = x2 + n * s.r * s.m;
    T* to = out + (n * s.p + i) * s.r;
    rows == kRows ? rows_of_pairs<Squares, kRows>(s, a, b, to) : rows_of_pairs<Squares, 1>(s, a, b, to);
  });
}

// `weights` are those of R rows, one behind the other; columns [k, k + V lanes) of the gradient, of which `lanes` of
// the last are real.
template <bool Squares, int R, int V, class T>
TORCH_VEC_INLINE void gradient(const Distances& s, const T* a, const T* b, const T* weights, int64_t k, int last,
                               T* out) {
  constexpr int lanes = Vec<T>::kLanes;
  const auto get = [&](const T* p, int v) {
    return V == 1 && last < lanes ? load_partial<T>(p + k, last) : load<T>(p + k + v * lanes);
  };
  Vec<T> x[R][V], sum[R][V];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) x[i][v] = get(a + i * s.m, v), sum[i][v] = Vec<T>(T(0));
  for (int64_t j = 0; j < s.r; ++j)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      const Vec<T> y = get(b + j * s.m, v);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        const Vec<T> d = x[i][v] - y, w(weights[i * s.r + j]), zero(T(0));
        sum[i][v] += Squares ? w * d : select(d > zero, w, select(d < zero, -w, zero));
      }
    }
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      T* const to = out + i * s.m + k + v * lanes;
      if (V == 1 && last < lanes)
        store_partial(to, sum[i][v], last);
      else
        store(to, sum[i][v]);
    }
}
template <bool Squares, int R, class T>
void gradient_rows(const Distances& s, const T* a, const T* b, const T* weights, T* out) {
  constexpr int lanes = Vec<T>::kLanes;
  int64_t k = 0;
  for (; k + 2 * lanes <= s.m; k += 2 * lanes) gradient<Squares, R, 2>(s, a, b, weights, k, lanes, out);
  for (; k < s.m; k += lanes) gradient<Squares, R, 1>(s, a, b, weights, k, int(std::min<int64_t>(lanes, s.m - k)), out);
}

template <bool Squares, class T>
void backward_by(const Distances& s, const T* grad, const T* x1, const T* x2, const T* distance, T* out) {
  over_rows(s, [&](int64_t n, int64_t i, int rows) {
    const int64_t row = n * s.p + i;
    const T* weights = grad + row * s.r;
    std::vector<T> scaled;
    if (Squares) {
      scaled.resize(size_t(rows * s.r));
      const T* d = distance + row * s.r;
      for (int64_t j = 0; j < rows * s.r; ++j) scaled[size_t(j)] = d[j] == T(0) ? T(0) : weights[j] / d[j];
      weights = scaled.data();
    }
    const T *a = x1 + row * s.m, *b = x2 + n * s.r * s.m;
    T* to = out + row * s.m;
    rows == kRows ? gradient_rows<Squares, kRows>(s, a, b, weights, to)
                  : gradient_rows<Squares, 1>(s, a, b, weights, to);
  });
}

template <class T>
void forward(const Distances& s, const T* x1, const T* x2, T* out) {
  s.squares ? forward_by<true>(s, x1, x2, out) : forward_by<false>(s, x1, x2, out);
}
template <class T>
void backward(const Distances& s, const T* grad, const T* x1, const T* x2, const T* distance, T* out) {
  s.squares ? backward_by<true>(s, grad, x1, x2, distance, out) : backward_by<false>(s, grad, x1, x2, distance, out);
}

template <class T>
constexpr DistanceKernels<T> kKernels{.forward = forward<T>, .backward = backward<T>};

}  // namespace

const DistanceKernels<float>& distance_float() { return kKernels<float>; }
const DistanceKernels<double>& distance_double() { return kKernels<double>; }

}  // namespace torch::TORCH_ISA
