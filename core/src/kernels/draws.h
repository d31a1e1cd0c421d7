// Numbers that take a few uniform ones each, in double: the same text for the CPU and for a thread of a GPU.
#pragma once
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/philox_counter.h"

namespace torch {

// --- gamma ---

TORCH_ANY inline double normal_number(Uniforms& uniform) {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

// The logarithm of a gamma number, by Marsaglia and Tsang ("A simple method for generating gamma variables", 2000). Of
// concentrations below 1 the number is one of concentration a + 1 times u^(1/a), which underflows long before its
// logarithm says nothing any more.
TORCH_ANY inline double log_gamma_number(double a, Uniforms uniform) {
  if (std::isnan(a) || std::isinf(a)) return a;
  const double boost = a < 1 ? std::log(uniform()) / (a < 1e-300 ? 1e-300 : a) : 0;
  const double d = (a < 1 ? a + 1 : a) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal_number(uniform), t = 1 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t;
    if (std::log(uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return boost + std::log(d) + std::log(v);
  }
}

// --- Poisson ---

// Below 10 by inversion, above by Hörmann's transformed rejection PTRS ("The transformed rejection method for
// generating Poisson random variables", 1993).
TORCH_ANY inline double poisson_number(double rate, Uniforms uniform) {
  if (rate == 0) return 0;
  if (rate < 10) {
    double p = std::exp(-rate), sum = p;
    const double u = uniform();
    int64_t k = 0;
    while (u > sum && k < 200) {
      p *= rate / double(++k);
      sum += p;
    }
    return double(k);
  }
  const double log_rate = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = uniform() - 0.5, v = uniform(), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <= k * log_rate - rate - std::lgamma(k + 1))
      return k;
  }
}

// --- binomial ---

// log(k!) less Stirling's (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2.
TORCH_ANY inline double stirling_rest(double k) {
  const double r = 1 / (k + 1), q = r * r;
  if (k >= 10) return r * (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q / 1680)));
  double factorial = 1;
  for (int i = 2; i <= int(k); ++i) factorial *= i;
  return std::log(factorial) - (k + 0.5) * std::log(k + 1) + (k + 1) - std::log(2 * std::numbers::pi) / 2;
}

// For p <= 1/2. Means below 10 by inversion, above by Hörmann's transformed rejection BTRS ("The generation of binomial
// random variates", 1993).
TORCH_ANY inline double smaller_binomial(double n, double p, Uniforms& uniform) {
  const double q = 1 - p, odds = p / q;
  if (n * p < 10) {
    double chance = std::exp(n * std::log1p(-p)), sum = chance, k = 0;
    const double u = uniform();
    while (u > sum && k < n && k < 200) {
      chance *= (n - k) / (k + 1) * odds;
      ++k;
      sum += chance;
    }
    return k;
  }
  const double spread = std::sqrt(n * p * q), b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double middle = n * p + 0.5, v_r = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * spread,
               m = std::floor((n + 1) * p);
  for (;;) {
    const double u = uniform() - 0.5, us = 0.5 - std::abs(u), v = uniform();
    const double k = std::floor((2 * a / us + b) * u + middle);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > n) continue;
    const double bound = (m + 0.5) * std::log((m + 1) / (odds * (n - m + 1))) +
                         (n + 1) * std::log((n - m + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_rest(m) + stirling_rest(n - m) -
                         stirling_rest(k) - stirling_rest(n - k);
    if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

TORCH_ANY inline double binomial_number(double count, double p, Uniforms uniform) {
  if (std::isnan(count) || std::isnan(p)) return std::numeric_limits<double>::quiet_NaN();
  const double n = std::floor(count);
  if (n == 0 || p == 0) return 0;
  if (p == 1) return n;
  return p <= 0.5 ? smaller_binomial(n, p, uniform) : n - smaller_binomial(n, 1 - p, uniform);
}

}  // namespace torch
