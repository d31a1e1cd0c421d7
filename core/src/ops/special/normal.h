// The normal distribution and what belongs to it.
#pragma once
#include <cmath>
#include <numbers>

#include "ops/special/coefficients.h"
#include "ops/special/series.h"

namespace torch::special {

using std::numbers::pi, std::numbers::sqrt2;

// exp(x^2) erfc(x).
TORCH_ANY inline double erfcx(double x) {
  if (x < -26.7) return kInfinity;
  const double a = std::abs(x), y = chebyshev<kErfcx>((a - 3.75) / (a + 3.75)) / (1 + 2 * a);
  if (x == kInfinity) return 0;
  if (!(x < 0)) return y;
  const double square = x * x;  // its rounding error would grow with exp
  return 2 * std::exp(square) * (1 + std::fma(x, x, -square)) - y;
}

TORCH_ANY inline double ndtr(double x) { return std::erfc(-x / sqrt2) / 2; }

TORCH_ANY inline double log_ndtr(double x) {
  if (x == -kInfinity) return x;
  return x < -1 ? std::log(erfcx(-x / sqrt2) / 2) - x * x / 2 : std::log1p(-std::erfc(x / sqrt2) / 2);
}

// Halley's iteration on ndtr(x) = p from the approximation of A&S 26.2.23, off by at most 4.5e-4; twice is enough.
TORCH_ANY inline double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p > 0.5) return p == 1 ? kInfinity : -ndtri(1 - p);
  if (p == 0) return -kInfinity;
  if (p == 0.5) return 0;
  const double logarithm = std::log(p), t = std::sqrt(-2 * logarithm);
  double x = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  for (int i = 0; i < 2; ++i) {
    // (ndtr(x) - p) / density(x), for the tail as well.
    const double u = std::sqrt(pi / 2) * erfcx(-x / sqrt2) - std::sqrt(2 * pi) * std::exp(logarithm + x * x / 2);
    x -= u / (1 + x * u / 2);
  }
  return x;
}

TORCH_ANY inline double entr(double x) { return x > 0 ? -x * std::log(x) : x == 0 ? 0 : x < 0 ? -kInfinity : x; }

TORCH_ANY inline double xlog1py(double x, double y) { return std::isnan(y) ? y : x == 0 ? 0 : x * std::log1p(y); }

}  // namespace torch::special
