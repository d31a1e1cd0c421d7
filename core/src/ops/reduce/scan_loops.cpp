// Running reductions on the CPU: a line's state advances element by element.
#include <cmath>

#include "dispatch/work.h"
#include "kernels/scan.h"
#include "kernels/truth.h"
#include "ops/reduce/scan.h"
#include "torch/core/operator.h"
#include "torch/core/pool.h"

namespace torch {

namespace {

constexpr int64_t kStrip = 64;  // columns that advance together
// Lines that do, where there are no columns: a step waits for the one before it, in its line only. cumprod.rows 2.46 ->
// 0.79 ms, cummax.rows 3.21 -> 1.46 ms, logcumsumexp.rows 33 -> 13 ms on one thread.
constexpr int64_t kLines = 4;
constexpr int64_t kGrain = 1 << 15;

// `Lines` lines of n that follow each other from a place on.
template <class State, int Lines, class Step>
void scan_lines(int64_t at, int64_t n, Step step) {
  State state[Lines];
  for (int64_t i = 0; i < n; ++i)
    for (int l = 0; l < Lines; ++l) step(state[l], at + l * n + i, i);
}

// A dense tensor as (outer, n, inner), scanned along n. step(state, place, i) advances the line's state by the element
// at a place of the tensor, the line's ith, and writes there; a State is made for each line.
template <class State, class Step>
void scan(int64_t outer, int64_t n, int64_t inner, Step step) {
  if (n == 0 || inner == 0) return;
  if (inner == 1) {
    parallel_for((outer + kLines - 1) / kLines, std::max<int64_t>(1, kGrain / std::max<int64_t>(n * kLines, 1)),
                 [&](int64_t begin, int64_t end) {
                   int64_t line = begin * kLines, stop = std::min(end * kLines, outer);
                   for (; line + kLines <= stop; line += kLines) scan_lines<State, kLines>(line * n, n, step);
                   for (; line < stop; ++line) scan_lines<State, 1>(line * n, n, step);
                 });
    return;
  }
  int64_t strips = (inner + kStrip - 1) / kStrip;
  parallel_for(outer * strips, std::max<int64_t>(1, kGrain / std::max<int64_t>(n * std::min(inner, kStrip), 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t task = begin; task < end; ++task) {
                   int64_t first = task % strips * kStrip, width = std::min(kStrip, inner - first),
                           base = task / strips * n * inner + first;
                   State state[kStrip];
                   for (int64_t i = 0; i < n; ++i, base += inner)
                     for (int64_t c = 0; c < width; ++c) step(state[c], base + c, i);
                 }
               });
}

template <class T>
struct SumState {
  T v{};
};
template <class T>
struct ProdState {
  T v{1};
};

// Whole lines by the kernels that there are: cumsum.1e6 2.52 -> 0.52 ms, cumsum.rows 2.32 -> 0.51 ms on one thread.
template <class T>
bool sum_along(const T* x, T* y, int64_t lines, int64_t n) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, uint64_t>) {
    if (n == 0) return true;
    const ScanKernels& k = scan_kernels();
    parallel_for(lines, std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_same_v<T, float>)
          k.sum_float(x + i * n, y + i * n, n);
        else
          k.sum_uint64(x + i * n, y + i * n, n);
      }
    });
    return true;
  }
  return false;
}

template <class T, class W>
void run_sum(const ScanCall& c) {
  const T* from = static_cast<const T*>(c.x);
  T* to = static_cast<T*>(c.out);
  if (c.inner == 1 && sum_along(from, to, c.outer, c.n)) return;
  scan<SumState<W>>(c.outer, c.n, c.inner,
                    [=](SumState<W>& a, int64_t at, int64_t) { to[at] = T(a.v += W(from[at])); });
}
template <class T, class W>
void run_prod(const ScanCall& c) {
  const T* from = static_cast<const T*>(c.x);
  T* to = static_cast<T*>(c.out);
  if constexpr (std::is_same_v<T, float>) {
    constexpr int64_t together = 16;  // lines, of any level's registers
    if (c.inner == 1 && c.outer >= 4) {
      const int64_t lines = std::max<int64_t>(1, kGrain / std::max<int64_t>(c.n * together, 1)) * together;
      return parallel_for(c.outer, lines, [&, n = c.n](int64_t begin, int64_t end) {
        scan_kernels().prod_floats(from + begin * n, to + begin * n, end - begin, n);
      });
    }
  }
  scan<ProdState<W>>(c.outer, c.n, c.inner,
                     [=](ProdState<W>& a, int64_t at, int64_t) { to[at] = T(a.v *= W(from[at])); });
}

// The latest of equals; a NaN stays until the next NaN.
template <bool kMax>
void run_extreme(const ScanCall& c) {
  visit_dtype(c.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, Complex64> && !std::is_same_v<T, Complex128>) {
      // The order of halves and bools is that of what they convert to.
      using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
      struct State {
        int64_t at = -1;
        Wide best{};
      };
      const auto* from = static_cast<const Element<T>*>(c.x);
      T* best = static_cast<T*>(c.out);
      scan<State>(c.outer, c.n, c.inner, [=, index = c.index](State& a, int64_t at, int64_t i) {
        Wide v = Wide(from[at]);
        if (a.at < 0 || v != v || (a.best == a.best && (kMax ? v >= a.best : v <= a.best))) a = {i, v};
        best[at] = T(a.best);
        index[at] = a.at;
      });
    }
  });
}

// log(exp(a) + exp(b)); by real parts for complex numbers, whose logarithm is not wrapped to (-pi, pi].
double log_add(double a, double b) {
  if (a != a || b != b) return a + b;
  double high = std::fmax(a, b), low = std::fmin(a, b);
  return low != high || std::isfinite(low) ? high + std::log1p(std::exp(low - high)) : high;
}
Complex128 log_add(Complex128 a, Complex128 b) {
  if (a != a || b != b) return a + b;
  Complex128 high = a.real() >= b.real() ? a : b, low = a.real() >= b.real() ? b : a;
  if (!std::isfinite(low.real())) return high;
  Complex128 ratio = std::exp(low - high);  // at most 1 in magnitude
  double re = ratio.real(), im = ratio.imag();
  // log |1 + r| from |1 + r|^2 - 1, which is small where r is
  return high + Complex128(0.5 * std::log1p(re * (2 + re) + im * im), std::atan2(im, 1 + re));
}
template <class W>
struct LogSum {
  W v{-INFINITY};
};
template <class T, class W>
void run_log_sum(const ScanCall& c) {
  const T* from = static_cast<const T*>(c.x);
  T* to = static_cast<T*>(c.out);
  scan<LogSum<W>>(c.outer, c.n, c.inner,
                  [=](LogSum<W>& a, int64_t at, int64_t) { to[at] = T(a.v = log_add(a.v, W(from[at]))); });
}

template <class T, class W>
void run_recurrence(const ScanCall& c) {
  const T *from = static_cast<const T*>(c.x), *by = static_cast<const T*>(c.factor);
  T* to = static_cast<T*>(c.out);
  const int64_t n = c.n, inner = c.inner;
  const bool reverse = c.reverse;
  scan<SumState<W>>(c.outer, n, inner, [=](SumState<W>& a, int64_t at, int64_t i) {
    const int64_t here = reverse ? at + (n - 1 - 2 * i) * inner : at;
    a.v = i ? W(from[here]) + W(by[here]) * a.v : W(from[here]);
    to[here] = T(a.v);
  });
}

// What floats and complex numbers compute in, and what they run in: singles in double.
template <class F>
void visit_wide(DType compute, F f) {
  if (compute == DType::Float64)
    f(double(), double());
  else if (compute == DType::Float32)
    f(float(), double());
  else if (compute == DType::Complex64)
    f(Complex64(), Complex128());
  else
    f(Complex128(), Complex128());
}

void run(const ScanCall& c) {
  if (c.scan == Scan::Max) return run_extreme<true>(c);
  if (c.scan == Scan::Min) return run_extreme<false>(c);
  if (c.type == DType::Int64)  // wraps
    return c.scan == Scan::Sum ? run_sum<uint64_t, uint64_t>(c) : run_prod<uint64_t, uint64_t>(c);
  visit_wide(c.type, [&](auto element, auto wide) {
    using T = decltype(element);
    using W = decltype(wide);
    switch (c.scan) {
      case Scan::Sum:
        return run_sum<T, W>(c);
      case Scan::Prod:
        return run_prod<T, W>(c);
      case Scan::LogSum:
        return run_log_sum<T, W>(c);
      default:
        return run_recurrence<T, W>(c);
    }
  });
}

}  // namespace

constexpr ScanWork scans_on_cpu{run};

}  // namespace torch
