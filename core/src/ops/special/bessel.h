// Bessel and Airy functions of orders 0 and 1. Near zero a Chebyshev series in x^2, with the logarithm beside it where
// there is one; far out a series in powers of 1 / x, times what grows, decays or swings there.
#pragma once
#include <cmath>
#include <numbers>

#include "ops/special/coefficients.h"
#include "ops/special/series.h"

namespace torch::special {

using std::numbers::pi;

TORCH_ANY inline double below(double end, double x) { return 2 * x / end - 1; }
TORCH_ANY inline double below_squared(double end, double x) { return 2 * (x / end) * (x / end) - 1; }
TORCH_ANY inline double beyond(double begin, double x) { return 2 * begin / x - 1; }
TORCH_ANY inline double beyond_squared(double begin, double x) { return 2 * (begin / x) * (begin / x) - 1; }

// P and Q of A&S 9.2.5 times sqrt(2 / (pi x)), with the sine and cosine of x - pi / 4 (order 0) or x - 3 pi / 4 (order
// 1).
struct Wave {
  double p, q, sine, cosine;

  TORCH_ANY Wave(int order, double x) {
    const double t = beyond_squared(8, x), length = std::sqrt(2 / (pi * x));
    p = length * (order ? chebyshev<kP1>(t) : chebyshev<kP0>(t));
    q = length * (order ? chebyshev<kQ1>(t) : chebyshev<kQ0>(t)) / x;
    const double s = std::sin(x), c = std::cos(x), half = std::numbers::sqrt2 / 2;
    sine = (order ? -s - c : s - c) * half;
    cosine = (order ? s - c : s + c) * half;
  }
  TORCH_ANY double j() const { return p * cosine - q * sine; }
  TORCH_ANY double y() const { return p * sine + q * cosine; }
};

// exp(x) y without an overflow on the way.
TORCH_ANY inline double grown(double x, double y) { return std::exp(x / 2) * y * std::exp(x / 2); }

TORCH_ANY inline double bessel_j0(double x) {
  x = std::abs(x);
  if (x <= 8) return chebyshev<kJ0Small>(below_squared(8, x));
  return x == kInfinity ? 0 : Wave(0, x).j();
}
TORCH_ANY inline double bessel_j1(double x) {
  const double a = std::abs(x);
  if (a <= 8) return x * chebyshev<kJ1Small>(below_squared(8, a));
  return a == kInfinity ? std::copysign(0.0, x) : std::copysign(1.0, x) * Wave(1, a).j();
}
TORCH_ANY inline double bessel_y0(double x) {
  if (x == 0) return -kInfinity;
  if (x < 0) return kNan;
  if (x <= 8) return chebyshev<kY0Small>(below_squared(8, x)) + 2 / pi * std::log(x) * bessel_j0(x);
  return x == kInfinity ? 0 : Wave(0, x).y();
}
TORCH_ANY inline double bessel_y1(double x) {
  if (x == 0) return -kInfinity;
  if (x < 0) return kNan;
  if (x <= 8) return x * chebyshev<kY1Small>(below_squared(8, x)) + 2 / pi * (std::log(x) * bessel_j1(x) - 1 / x);
  return x == kInfinity ? 0 : Wave(1, x).y();
}

TORCH_ANY inline double i0e(double x) {
  x = std::abs(x);
  return x <= 8 ? chebyshev<kI0Small>(below(8, x)) : chebyshev<kI0Large>(beyond(8, x)) / std::sqrt(x);
}
TORCH_ANY inline double i1e(double x) {
  const double a = std::abs(x);
  if (a <= 8) return x * chebyshev<kI1Small>(below(8, a));
  return std::copysign(chebyshev<kI1Large>(beyond(8, a)) / std::sqrt(a), x);
}
TORCH_ANY inline double modified_bessel_i0(double x) { return std::isinf(x) ? kInfinity : grown(std::abs(x), i0e(x)); }
TORCH_ANY inline double modified_bessel_i1(double x) { return std::isinf(x) ? x : grown(std::abs(x), i1e(x)); }

TORCH_ANY inline double scaled_modified_bessel_k0(double x) {
  if (x == 0) return kInfinity;
  if (x < 0) return kNan;
  if (x <= 2) return std::exp(x) * (chebyshev<kK0Small>(below_squared(2, x)) - std::log(x / 2) * modified_bessel_i0(x));
  return chebyshev<kK0Large>(beyond(2, x)) / std::sqrt(x);
}
TORCH_ANY inline double scaled_modified_bessel_k1(double x) {
  if (x == 0) return kInfinity;
  if (x < 0) return kNan;
  if (x <= 2)
    return std::exp(x) * (chebyshev<kK1Small>(below_squared(2, x)) / x + std::log(x / 2) * modified_bessel_i1(x));
  return chebyshev<kK1Large>(beyond(2, x)) / std::sqrt(x);
}
TORCH_ANY inline double modified_bessel_k0(double x) { return std::exp(-x) * scaled_modified_bessel_k0(x); }
TORCH_ANY inline double modified_bessel_k1(double x) { return std::exp(-x) * scaled_modified_bessel_k1(x); }

TORCH_ANY inline double spherical_bessel_j0(double x) { return std::isinf(x) ? 0 : x == 0 ? 1 : std::sin(x) / x; }

TORCH_ANY inline double airy_ai(double x) {
  if (x >= -6 && x <= 1) return chebyshev<kAiryMiddle>((2 * x + 5) / 7);
  if (std::isinf(x)) return 0;
  const double a = std::abs(x), zeta = 2 * a * std::sqrt(a) / 3, root = std::sqrt(pi) * std::sqrt(std::sqrt(a));
  if (x > 0) return std::exp(-zeta) / (2 * root) * chebyshev<kAiryDecay>(beyond(2.0 / 3, zeta));
  const double t = beyond_squared(4 * std::sqrt(6.0), zeta), phase = zeta + pi / 4;
  return (std::sin(phase) * chebyshev<kAiryP>(t) - std::cos(phase) * chebyshev<kAiryQ>(t) / zeta) / root;
}

}  // namespace torch::special
