// Orthogonal polynomials by their three-term recurrences (A&S 22.7).
#include <cmath>

#include "ops/special/special.h"

namespace torch::special {

namespace {

// p_0 = 1, p_1, and p_(k+1) = next(k, p_k, p_(k-1)).
template <class Next>
double recurrence(double degree, double first, Next next) {
  const int64_t n = degree > 0 && degree < 9e18 ? int64_t(degree) : 0;
  if (!(degree > -1) || degree >= 9e18) return degree >= 9e18 ? kNan : 0;
  double below = 1, p = first;
  if (n == 0) return 1;
  for (int64_t k = 1; k < n; ++k) {
    const double above = next(double(k), p, below);
    if (!std::isfinite(above)) return above;
    below = p;
    p = above;
  }
  return p;
}
// The four kinds of Chebyshev differ in p_1 alone.
double chebyshev_recurrence(double x, double n, double first) {
  return recurrence(n, first, [x](double, double p, double below) { return 2 * x * p - below; });
}

// A degree may be any number, so where the recurrence neither grows nor ends soon it gives way to x = cos(t)
// (A&S 22.3.15).
bool by_angle(double x, double n) { return std::abs(x) < 1 && n > 50; }
bool at_end(double x, double n) { return std::abs(x) == 1 && n > -1 && n < 9e18; }
double to_power_of(double n, double x) {
  return x > 0 || std::fmod(std::trunc(n), 2) == 0 ? 1 : -1;
}  // x^n of 1 and -1

}  // namespace

double chebyshev_polynomial_t(double x, double n) {
  if (at_end(x, n)) return to_power_of(n, x);
  if (by_angle(x, n)) return std::cos(std::trunc(n) * std::acos(x));
  return chebyshev_recurrence(x, n, x);
}
double chebyshev_polynomial_u(double x, double n) {
  if (at_end(x, n)) return to_power_of(n, x) * (std::trunc(n) + 1);
  if (by_angle(x, n)) return std::sin((std::trunc(n) + 1) * std::acos(x)) / std::sqrt((1 - x) * (1 + x));
  return chebyshev_recurrence(x, n, 2 * x);
}
double chebyshev_polynomial_v(double x, double n) {
  if (at_end(x, n)) return x > 0 ? 1 : to_power_of(n, x) * (2 * std::trunc(n) + 1);
  if (by_angle(x, n)) return std::cos((std::trunc(n) + 0.5) * std::acos(x)) / std::sqrt((1 + x) / 2);
  return chebyshev_recurrence(x, n, 2 * x - 1);
}
double chebyshev_polynomial_w(double x, double n) {
  if (at_end(x, n)) return x > 0 ? 2 * std::trunc(n) + 1 : to_power_of(n, x);
  if (by_angle(x, n)) return std::sin((std::trunc(n) + 0.5) * std::acos(x)) / std::sqrt((1 - x) / 2);
  return chebyshev_recurrence(x, n, 2 * x + 1);
}
double shifted_chebyshev_polynomial_t(double x, double n) { return chebyshev_polynomial_t(2 * x - 1, n); }
double shifted_chebyshev_polynomial_u(double x, double n) { return chebyshev_polynomial_u(2 * x - 1, n); }
double shifted_chebyshev_polynomial_v(double x, double n) { return chebyshev_polynomial_v(2 * x - 1, n); }
double shifted_chebyshev_polynomial_w(double x, double n) { return chebyshev_polynomial_w(2 * x - 1, n); }

double hermite_polynomial_h(double x, double n) {
  return recurrence(n, 2 * x, [x](double k, double p, double below) { return 2 * (x * p - k * below); });
}
double hermite_polynomial_he(double x, double n) {
  return recurrence(n, x, [x](double k, double p, double below) { return x * p - k * below; });
}
double laguerre_polynomial_l(double x, double n) {
  return recurrence(n, 1 - x,
                    [x](double k, double p, double below) { return ((2 * k + 1 - x) * p - k * below) / (k + 1); });
}
double legendre_polynomial_p(double x, double n) {
  return recurrence(n, x,
                    [x](double k, double p, double below) { return ((2 * k + 1) * x * p - k * below) / (k + 1); });
}

}  // namespace torch::special
