// How a random number moves with its parameter while its rank stays: -(dF/da) / f of the distribution function F and
// the density f. This is what makes draws differentiable that are not a formula of uniform numbers (Figurnov, Mohamed
// and Mnih, "Implicit reparameterization gradients", 2018).
#pragma once
#include <cmath>
#include <limits>

#include "kernels/math/gamma.h"

namespace torch::TORCH_ISA::math {

// Of a number x with the gamma distribution of concentration a. The factor that the slope of P and the density share,
// gamma_factor, is never computed: it underflows in the tails.
TORCH_ANY inline double gamma_draw_slope(double a, double x) {
  if (!(a >= 0) || !(x >= 0)) return kNan<double>;
  if (a == 0 || x == 0) return 0;
  if (std::isinf(a) || std::isinf(x)) return 1;
  const double d = (x - a) / a;
  if (a < 1e4 || std::abs(d) > 0.1) return -x * igamma_slope_per_factor(a, x);
  // Series and fraction take sqrt(a) terms. By Temme (DLMF 8.12.21), sqrt(a) (eta - shift(eta) / a) is the normal
  // number of x's rank but for O(a^-2), where eta^2 / 2 = x / a - 1 - log(x / a): it does not change with a.
  const double eta = std::copysign(std::sqrt(-2 * log1p_minus(d)), d);
  const double shift = -1.0 / 3 + eta * (1.0 / 36 + eta * (1.0 / 1620 - eta * (7.0 / 6480)));
  const double shift_slope = 1.0 / 36 + eta * (1.0 / 810 - eta * (7.0 / 2160));
  const double stretch = d == 0 ? 1 : eta / d;  // the slope of x / a by eta, less a factor x / a
  return (1 + d) * (1 - stretch * (eta + shift / a) / (2 * (1 - shift_slope / a)));
}

// The continued fraction h of I_x(p, q) = x^p (1 - x)^q / (p B(p, q)) h (DLMF 8.17.22), for x below (p + 1) / (p + q +
// 2), and its slope by p or by q.
struct BetaFraction {
  double value, slope;
};
TORCH_ANY inline BetaFraction beta_fraction(double p, double q, double x, bool by_q) {
  double c = std::numeric_limits<double>::infinity(), c_slope = 0, d = 1, d_slope = 0;
  BetaFraction h{1, 0};
  for (int n = 1; n < 1000000; ++n) {
    const double m = n / 2, top = p + n;  // n = 2 m + 1 or 2 m
    double term, slope;
    if (n % 2) {
      term = -(p + m) * (p + q + m) * x / ((top - 1) * top);
      slope = by_q ? term / (p + q + m) : term * (1 / (p + m) + 1 / (p + q + m) - 1 / (top - 1) - 1 / top);
    } else {
      term = m * (q - m) * x / ((top - 1) * top);
      slope = by_q ? m * x / ((top - 1) * top) : -term * (1 / (top - 1) + 1 / top);
    }
    const double below = 1 + term * d, below_slope = slope * d + term * d_slope;
    d = 1 / below, d_slope = -below_slope * d * d;
    c_slope = (slope - term * c_slope / c) / c, c = 1 + term / c;
    const double ratio = c * d, ratio_slope = c_slope * d + c * d_slope;
    h = {h.value * ratio, h.slope * ratio + h.value * ratio_slope};
    if (std::abs(ratio - 1) < 1e-15 && std::abs(ratio_slope * h.value) <= 1e-15 * std::abs(h.slope)) break;
  }
  return h;
}

// Of a number x with the distribution Beta(a, b), by a, over 1 - x. The part of the distribution on x's side of the
// mean is taken, so that the terms of both sums have one sign.
TORCH_ANY inline double beta_draw_slope(double x, double a, double b) {
  if (!(a >= 0) || !(b >= 0) || !(x >= 0) || !(x <= 1)) return kNan<double>;
  if (a == 0 || b == 0 || x == 0) return 0;
  const double y = 1 - x, log_x = std::log(x);
  if (x * (a + b + 2) < a + 1) {
    const BetaFraction h = beta_fraction(a, b, x, false);
    return -x / a * (h.value * (log_x + digamma_scalar(a + b) - digamma_scalar(a + 1)) + h.slope);
  }
  const BetaFraction h = beta_fraction(b, a, y, true);
  return x / b * (h.value * (log_x + digamma_scalar(a + b) - digamma_scalar(a)) + h.slope);
}

}  // namespace torch::TORCH_ISA::math
