// Orthogonal polynomials by their three-term recurrences (A&S 22.7). Who includes it says before what special::poll()
// does in a long loop, and what special::Long is: a number of at least 64 bits.
#pragma once
#include <cmath>
#include <numbers>

#include "ops/special/bessel.h"

namespace torch::special {

// p_0 = 1, p_1, and p_(k+1) = next(k, p_k, p_(k-1)).
template <class Next>
TORCH_ANY double recurrence(double degree, double first, Next next) {
  const int64_t n = degree > 0 && degree < 9e18 ? int64_t(degree) : 0;
  if (!(degree > -1) || degree >= 9e18) return degree >= 9e18 ? kNan : 0;
  double below = 1, p = first;
  if (n == 0) return 1;
  if (n > 1000) poll();  // a task is thousands of these
  for (int64_t k = 1; k < n; ++k) {
    const double above = next(double(k), p, below);
    if (!std::isfinite(above)) return above;
    below = p;
    p = above;
    if (k % (1 << 20) == 0) poll();
  }
  return p;
}
// The four kinds of Chebyshev differ only in p_1.
TORCH_ANY inline double chebyshev_recurrence(double x, double n, double first) {
  return recurrence(n, first, [x](double, double p, double below) { return 2 * x * p - below; });
}

// A degree may be any number, so where the recurrence neither grows nor ends soon it gives way to x = cos(t)
// (A&S 22.3.15).
TORCH_ANY inline bool by_angle(double x, double n) { return std::abs(x) < 1 && n > 50; }
TORCH_ANY inline bool at_end(double x, double n) { return std::abs(x) == 1 && n > -1 && n < 9e18; }
TORCH_ANY inline double to_power_of(double n, double x) {
  return x > 0 || std::fmod(std::trunc(n), 2) == 0 ? 1 : -1;
}  // x^n of 1 and -1

TORCH_ANY inline double chebyshev_polynomial_t(double x, double n) {
  if (at_end(x, n)) return to_power_of(n, x);
  if (by_angle(x, n)) return std::cos(std::trunc(n) * std::acos(x));
  return chebyshev_recurrence(x, n, x);
}
TORCH_ANY inline double chebyshev_polynomial_u(double x, double n) {
  if (at_end(x, n)) return to_power_of(n, x) * (std::trunc(n) + 1);
  if (by_angle(x, n)) return std::sin((std::trunc(n) + 1) * std::acos(x)) / std::sqrt((1 - x) * (1 + x));
  return chebyshev_recurrence(x, n, 2 * x);
}
TORCH_ANY inline double chebyshev_polynomial_v(double x, double n) {
  if (at_end(x, n)) return x > 0 ? 1 : to_power_of(n, x) * (2 * std::trunc(n) + 1);
  if (by_angle(x, n)) return std::cos((std::trunc(n) + 0.5) * std::acos(x)) / std::sqrt((1 + x) / 2);
  return chebyshev_recurrence(x, n, 2 * x - 1);
}
TORCH_ANY inline double chebyshev_polynomial_w(double x, double n) {
  if (at_end(x, n)) return x > 0 ? 2 * std::trunc(n) + 1 : to_power_of(n, x);
  if (by_angle(x, n)) return std::sin((std::trunc(n) + 0.5) * std::acos(x)) / std::sqrt((1 - x) / 2);
  return chebyshev_recurrence(x, n, 2 * x + 1);
}
TORCH_ANY inline double shifted_chebyshev_polynomial_t(double x, double n) {
  return chebyshev_polynomial_t(2 * x - 1, n);
}
TORCH_ANY inline double shifted_chebyshev_polynomial_u(double x, double n) {
  return chebyshev_polynomial_u(2 * x - 1, n);
}
TORCH_ANY inline double shifted_chebyshev_polynomial_v(double x, double n) {
  return chebyshev_polynomial_v(2 * x - 1, n);
}
TORCH_ANY inline double shifted_chebyshev_polynomial_w(double x, double n) {
  return chebyshev_polynomial_w(2 * x - 1, n);
}

TORCH_ANY inline double hermite_polynomial_h(double x, double n) {
  return recurrence(n, 2 * x, [x](double k, double p, double below) { return 2 * (x * p - k * below); });
}
TORCH_ANY inline double hermite_polynomial_he(double x, double n) {
  return recurrence(n, x, [x](double k, double p, double below) { return x * p - k * below; });
}

// Degrees from which on recurrences give way to sums whose length does not depend on the degree.
constexpr double kLegendreSums = 1000, kLaguerreSums = 10000;
constexpr double kCalm = 18;  // phase up to which a power series keeps enough digits of a Long, e^18 of 2^64

// The sum over k of n (n - 1) ... (n - k + 1) rising(k) / k!^2 z^k, where rising(k) gives the next factor.
template <class Rising>
TORCH_ANY double power_series(double n, Long z, Rising rising) {
  Long term = 1, sum = 1;
  for (double k = 0; k < n; ++k) {
    term = term * Long((n - k) * rising(k)) / Long((k + 1) * (k + 1)) * z;
    sum = sum + term;
    if (!(std::fabs(double(term)) > 1e-20 * std::fabs(double(sum))) || !std::isfinite(double(sum))) break;
  }
  return double(sum);
}

// P_n(cos t) for n sin t above kCalm (Stieltjes; Bogaert, Michiels and Fostier, "O(1) computation of Legendre
// polynomials", 2012, 3.1).
TORCH_ANY inline double legendre_wave(double n, double t, double sine) {
  const double w = n + 0.75;
  double c = 2 / std::sqrt(std::numbers::pi * w) * (1 - 1 / (64 * w * w) + 21 / (8192 * w * w * w * w));
  double power = std::sqrt(2 * sine), sum = 0;
  for (double m = 0; m < 60; ++m) {
    sum += c / power * std::cos((n + m + 0.5) * t - (m + 0.5) * (std::numbers::pi / 2));
    const double ratio = (m + 0.5) * (m + 0.5) / ((m + 1) * (n + m + 1.5)) / (2 * sine);
    if (ratio >= 1 || c / power < 1e-18) break;
    c *= ratio * 2 * sine;
    power *= 2 * sine;
  }
  return sum;
}
TORCH_ANY inline double legendre_of_high_degree(double x, double n) {
  const double sign = x < 0 && std::fmod(n, 2) != 0 ? -1 : 1;
  x = std::abs(x);
  const double sine = std::sqrt((1 - x) * (1 + x));
  if (x < 1 && n * sine > kCalm) return sign * legendre_wave(n, 2 * std::asin(std::sqrt((1 - x) / 2)), sine);
  return sign * power_series(n, (Long(x) - Long(1)) * Long(0.5), [n](double k) { return n + k + 1; });
}

// L_n(x) as a sum of Bessel functions (Tricomi; A&S 22.15.2 is its first term), for x^3 up to some 100 n.
TORCH_ANY inline double laguerre_wave(double x, double n) {
  const double w = n + 0.5, z = 2 * std::sqrt(w * x), q = std::sqrt(x / (4 * w));
  double bessel = bessel_j0(z), next = bessel_j1(z), a[3] = {1, 0, 0.5}, power = 1, sum = 0;
  for (double m = 0; m < 120; ++m) {
    sum += a[0] * power * bessel;
    const double above = 2 * (m + 1) / z * next - bessel, last = ((m + 2) * a[1] - 2 * w * a[0]) / (m + 3);
    bessel = next, next = above;
    a[0] = a[1], a[1] = a[2], a[2] = last;
    power *= q;
    if (m > 6 && std::abs(a[0] * power) < 1e-17 && std::abs(a[1] * power * q) < 1e-17) break;
  }
  return std::exp(x / 2) * sum;
}

TORCH_ANY inline double laguerre_polynomial_l(double x, double n) {
  if (n > kLaguerreSums && n < 9e18) {
    const double degree = std::trunc(n);
    if (x <= 0 || 4 * degree * x <= kCalm * kCalm) return power_series(degree, -x, [](double) { return 1.0; });
    if (x * x * x <= 100 * degree) return laguerre_wave(x, degree);
  }
  return recurrence(n, 1 - x,
                    [x](double k, double p, double below) { return ((2 * k + 1 - x) * p - k * below) / (k + 1); });
}
TORCH_ANY inline double legendre_polynomial_p(double x, double n) {
  if (n > kLegendreSums && n < 9e18 && std::isfinite(x)) return legendre_of_high_degree(x, std::trunc(n));
  return recurrence(n, x,
                    [x](double k, double p, double below) { return ((2 * k + 1) * x * p - k * below) / (k + 1); });
}

}  // namespace torch::special
