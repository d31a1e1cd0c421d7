// Formulas over the index: ranges, lines, windows. In double, the same text for the CPU and for a thread of a GPU; the
// value is converted once.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <variant>

#ifndef TORCH_ANY
#define TORCH_ANY
#endif

namespace torch {

// Wraps around, as integers of memory do.
struct CountBy {
  uint64_t from, by;
  TORCH_ANY int64_t operator()(int64_t i) const { return int64_t(from + by * uint64_t(i)); }
};
struct StepBy {
  double from, by;
  TORCH_ANY double operator()(int64_t i) const { return from + by * double(i); }
};
// The two halves count from their own end, so that both ends are exact and the result is symmetric.
template <class V>
struct LineOf {
  V start, end, step;
  int64_t steps;
  LineOf(V start, V end, int64_t steps)
      : start(start), end(end), step(steps > 1 ? (end - start) / V(double(steps - 1)) : V(0)), steps(steps) {}
  TORCH_ANY V operator()(int64_t i) const {
    return i < steps / 2 || steps == 1 ? start + step * V(double(i)) : end - step * V(double(steps - 1 - i));
  }
};
struct PowersOf {
  double base;
  LineOf<double> line;
  TORCH_ANY double operator()(int64_t i) const { return std::pow(base, line(i)); }
};

// --- windows: of x = i / last, 1 where there is one element ---

// a - b cos(2 pi x) + c cos(4 pi x)
struct CosineWindow {
  double a, b, c, last;
  int64_t length;
  TORCH_ANY double operator()(int64_t i) const {
    if (length == 1) return 1;
    const double x = double(i) / last;
    const double wave = a - b * std::cos(2 * std::numbers::pi * x);
    return c == 0 ? wave : wave + c * std::cos(4 * std::numbers::pi * x);
  }
};
struct TriangleWindow {
  double last;
  int64_t length;
  TORCH_ANY double operator()(int64_t i) const { return length == 1 ? 1 : 1 - std::fabs(2 * (double(i) / last) - 1); }
};
// Modified Bessel function of order 0 by its power series: all terms are positive, so nothing cancels.
TORCH_ANY inline double bessel_i0(double x) {
  double sum = 1, term = 1, quarter = x * x / 4;
  for (int k = 1; k < 2000 && term > sum * 1e-18; ++k) {
    term *= quarter / (double(k) * double(k));
    sum += term;
  }
  return sum;
}
struct KaiserWindow {
  double beta, scale, last;  // scale: bessel_i0(beta)
  int64_t length;
  TORCH_ANY double operator()(int64_t i) const {
    if (length == 1) return 1;
    const double centred = 2 * (double(i) / last) - 1, rest = 1 - centred * centred;
    return bessel_i0(beta * std::sqrt(rest > 0 ? rest : 0.0)) / scale;
  }
};

using Sequence = std::variant<CountBy, StepBy, LineOf<double>, PowersOf, CosineWindow, TriangleWindow, KaiserWindow>;

}  // namespace torch
