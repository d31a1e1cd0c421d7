// Powers, remainders and the functions of probability.
#pragma once
#include <cmath>

#include "kernels/math/trigonometric.h"

namespace torch::TORCH_ISA::math {

// exp(y log|x|), then the sign and the exceptions of C's pow. In double, for float results.
TORCH_VEC_INLINE Vec<float> pow(Vec<float> x, Vec<float> y) {
  return in_double(x, y, [](Vec<double> u, Vec<double> v) {
    using V = Vec<double>;
    const V zero(0), one(1), inf(kInfinity<double>), a = abs(u);
    V p = exp(v * log(a));
    const Mask<double> integer = trunc(v) == v, odd = integer & (trunc(v * V(0.5)) * V(2) != v) & (abs(v) < V(0x1p53));
    p = select(odd, copysign(p, u), p);
    p = select((u < zero) & (u != -inf) & !integer, V(kNan<double>), p);
    return select((v == zero) | (u == one) | ((a == one) & (abs(v) == inf)), one, p);
  });
}
TORCH_VEC_INLINE Vec<double> pow(Vec<double> x, Vec<double> y) {
  return lanewise(x, y, [](double a, double b) { return std::pow(a, b); });
}

TORCH_VEC_INLINE Vec<float> hypot(Vec<float> x, Vec<float> y) {
  return in_double(x, y, [](Vec<double> u, Vec<double> v) {
    const Vec<double> inf(kInfinity<double>);
    return select((abs(u) == inf) | (abs(v) == inf), inf, sqrt(u * u + v * v));
  });
}
TORCH_VEC_INLINE Vec<double> hypot(Vec<double> x, Vec<double> y) {
  return lanewise(x, y, [](double a, double b) { return std::hypot(a, b); });
}

// a - trunc(a / b) b, exactly. While the quotient is small enough, its product with b is exact and the rounded quotient
// is off by at most one; the few other lanes go to libm.
TORCH_VEC_INLINE Vec<double> fmod(Vec<double> a, Vec<double> b) {
  using V = Vec<double>;
  const auto exact = [](double x, double y) { return std::fmod(x, y); };
  if constexpr (!kHasFma) return lanewise(a, b, exact);
  const V q = trunc(a / b);
  const Mask<double> easy = (abs(q) < V(0x1p51)) & (abs(b) < V(kInfinity<double>));
  V r = fma(-q, b, a);
  const V toward = copysign(abs(b), a), zero(0);
  r = select((r != zero) & ((r < zero) ^ (a < zero)), r + toward, r);
  r = select(abs(r) >= abs(b), r - toward, r);
  if (__builtin_expect(!all(easy), 0)) r = select(easy, r, lanewise(a, b, exact));
  return copysign(r, a);
}
TORCH_VEC_INLINE Vec<float> fmod(Vec<float> a, Vec<float> b) {
  const auto exact = [](float x, float y) { return std::fmod(x, y); };
  const Vec<float> ratio = abs(a / b);
  const Mask<float> easy = (ratio < Vec<float>(0x1p27f)) & (abs(b) < Vec<float>(kInfinity<float>));
  Vec<float> r = in_double(a, b, [](Vec<double> x, Vec<double> y) {
    using V = Vec<double>;
    const V q = trunc(x / y), toward = copysign(abs(y), x), zero(0);
    V rest = x - q * y;  // exact: 27 bits of quotient times 24
    rest = select((rest != zero) & ((rest < zero) ^ (x < zero)), rest + toward, rest);
    return select(abs(rest) >= abs(y), rest - toward, rest);
  });
  if (__builtin_expect(!all(easy), 0)) r = select(easy, r, lanewise(a, b, exact));
  return copysign(r, a);
}

// --- error functions ---

// 1 - exp(-(a + a L(a))) with L = -log(erfc(a)) / a - 1 on [0, 4], error 2^-27.2; beyond 4 the result is 1.
TORCH_VEC_INLINE Vec<float> erf(Vec<float> x) {
  using V = Vec<float>;
  const V a = min(V(4), abs(x));
  const V exponent = fma(a,
                         polynomial(a, 0.128379166, 0.636619806, 0.102771297, -0.019117767, -0.000252899714,
                                    0.00179914793, -0.000740531657, 0.000167414182, -2.13391959e-5, 1.19184119e-6),
                         a);
  return copysign(expm1_inside(-exponent), x);
}
TORCH_VEC_INLINE Vec<float> erfc(Vec<float> x) {
  return in_double(x, [](Vec<double> v) {
    using V = Vec<double>;
    V a = abs(v);
    a = select(a > V(12), V(12), a);  // far below the smallest float
    const V t = (a - V(4)) / (a + V(4));
    // (1 + 2 a) exp(a^2) erfc(a) for a <= 10.1, error 2^-30.6.
    const V p =
        polynomial(t, 1.2329951187379025, -0.13962113069360829, 0.01537962953217473, 0.068097832809490985,
                   -0.10103781238292782, 0.093721314162601516, -0.06635463628061436, 0.037221932899551759,
                   -0.016024353562518256, 0.0050432974137444029, -0.0011366995203964479, -0.00064199945773445047);
    const V y = exp(-(a * a)) * p / (V(1) + (a + a));
    return select(v < V(0), V(2) - y, y);
  });
}
TORCH_LIBM_DOUBLE(erf)
TORCH_LIBM_DOUBLE(erfc)

// erfinv(x) / x as a function of w = -log(1 - x^2), as in M. Giles, "Approximating the erfinv function" (2012): for
// floats.
TORCH_VEC_INLINE Vec<float> erfinv(Vec<float> x) {
  return in_double(x, [](Vec<double> v) {
    using V = Vec<double>;
    const V one(1), w = -log((one - v) * (one + v)), c = w - V(2.5), s = sqrt(w) - V(3);
    // w < 5, error 2^-28.7.
    const V center =
        polynomial(c, 1.501409353510742, 0.24664028763154222, -0.0041773393717694273, -0.0012527446536316931,
                   0.00021828258584620809, -4.961915607339115e-6, -3.4345906787530766e-6, 4.6589282382991846e-7,
                   1.8033297636801301e-8, -8.7728694117546633e-9, 3.3579132275523033e-10);
    // w <= 16.8, error 2^-26.5.
    const V tail = polynomial(s, 2.8329768027147089, 1.0016749470451132, 0.0094451920695660906, -0.0076369572024218057,
                              0.0056878110436741781, -0.0035989836043146353, 0.0014828479510349919,
                              -5.3764849846280753e-5, -0.00030774239297385713, 0.00011363813053908923);
    const V y = v * select(w < V(5), center, tail);
    return select(abs(v) == one, copysign(V(kInfinity<double>), v), y);
  });
}
// Halley's iteration from a bracket-free start; the residue is taken with erfc near 1, where erf has no digits left.
TORCH_ANY inline double erfinv_scalar(double x) {
  const double a = std::abs(x);
  if (!(a < 1)) return a == 1 ? std::copysign(kInfinity<double>, x) : kNan<double>;
  const double complement = 1 - a, w = -std::log(complement * (1 + a));
  // The leading terms of S. Winitzki's formula (2008), good to 2e-3.
  const double c = 0.147, u = 2 / (kPi * c) - w / 2;
  double y = std::sqrt(std::sqrt(u * u + w / c) - u);
  for (int i = 0; i < 4; ++i) {
    const double residue = a < 0.5 ? std::erf(y) - a : complement - std::erfc(y);
    const double step = residue / (2 / std::sqrt(kPi) * std::exp(-y * y));
    const double next = y - step / (1 + y * step);
    if (next == y) break;
    y = next;
  }
  return std::copysign(a == 0 ? 0 : y, x);
}
TORCH_VEC_INLINE Vec<double> erfinv(Vec<double> x) {
  return lanewise(x, [](double v) { return erfinv_scalar(v); });
}

// --- gamma functions, lane by lane ---

TORCH_ANY inline double lgamma_scalar(double x) {
#if defined(__CUDA_ARCH__)
  return ::lgamma(x);
#else
  int sign;
  return ::lgamma_r(x, &sign);  // std::lgamma writes a global variable
#endif
}
TORCH_VEC_INLINE Vec<double> lgamma(Vec<double> x) {
  return lanewise(x, [](double v) { return lgamma_scalar(v); });
}
// The derivative of lgamma: recurrence up to 10, then the asymptotic series with Bernoulli numbers; reflection below 0.
TORCH_ANY inline double digamma_scalar(double x) {
  if (x == 0) return std::copysign(kInfinity<double>, -x);
  if (x < 0) {
    if (x == std::floor(x)) return kNan<double>;
    const double fraction = x - std::trunc(x);
    return digamma_scalar(1 - x) - kPi / std::tan(kPi * fraction);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  const double z = 1 / (x * x);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z * (1.0 / 12)))))));
  return sum + std::log(x) - 0.5 / x - (x < 1e17 ? series : 0);
}
TORCH_VEC_INLINE Vec<double> digamma(Vec<double> x) {
  return lanewise(x, [](double v) { return digamma_scalar(v); });
}
// For floats: Stirling's series from 8 on, below it after the recurrence, which is log(x (x + 1) ... (x + 7)) there.
// The few lanes that are not positive and finite go to libm. A million of lgamma take 3.9 ms instead of 14.2, of
// digamma 2.9 instead of 18.4 (one thread of an AMD EPYC, Zen 4).
TORCH_VEC_INLINE Vec<float> lgamma(Vec<float> x) {
  return in_double(x, [](Vec<double> v) {
    using V = Vec<double>;
    constexpr int kSteps = 8;
    const V one(1);
    const Mask<double> low = v < V(kSteps), easy = (v > V(0)) & (v < V(kInfinity<double>));
    V product = v;
    for (int k = 1; k < kSteps; ++k) product *= v + V(k);
    const V y = select(low, v + V(kSteps), v), r = one / y, z = r * r;
    const V series =
        r * (V(1.0 / 12) -
             z * (V(1.0 / 360) -
                  z * (V(1.0 / 1260) -
                       z * (V(1.0 / 1680) - z * (V(1.0 / 1188) - z * (V(691.0 / 360360) - z * V(1.0 / 156)))))));
    const V half_log_2pi(0.5 * std::log(2 * kPi));
    V result = (y - V(0.5)) * log(y) - y + half_log_2pi + series - log(select(low, product, one));
    result = select((v == one) | (v == V(2)), V(0), result);
    if (__builtin_expect(!all(easy), 0))
      result = select(easy, result, lanewise(v, [](double u) { return lgamma_scalar(u); }));
    return result;
  });
}
TORCH_VEC_INLINE Vec<float> digamma(Vec<float> x) {
  return in_double(x, [](Vec<double> v) {
    using V = Vec<double>;
    constexpr int kSteps = 8;
    const Mask<double> low = v < V(kSteps), easy = (v > V(0)) & (v < V(kInfinity<double>));
    V sum(1), product = v;  // 1 / x + ... + 1 / (x + 7) as a fraction
    for (int k = 1; k < kSteps; ++k) {
      const V next = v + V(k);
      sum = sum * next + product;
      product *= next;
    }
    const V y = select(low, v + V(kSteps), v), r = V(1) / y, z = r * r;
    const V series =
        z * (V(1.0 / 12) -
             z * (V(1.0 / 120) - z * (V(1.0 / 252) - z * (V(1.0 / 240) - z * (V(1.0 / 132) - z * V(691.0 / 32760))))));
    V result = log(y) - V(0.5) * r - series - select(low, sum / product, V(0));
    if (__builtin_expect(!all(easy), 0))
      result = select(easy, result, lanewise(v, [](double u) { return digamma_scalar(u); }));
    return result;
  });
}

// The modified Bessel function I0: its power series, and from 20 on the asymptotic series of Abramowitz and
// Stegun 9.7.1.
TORCH_ANY inline double i0_scalar(double x) {
  const double a = std::abs(x);
  if (!(a < 1000)) return a * kInfinity<double>;  // or NaN
  double sum = 1, term = 1;
  if (a < 20) {
    const double z = a * a / 4;
    for (int k = 1; term > sum * 1e-17; ++k) sum += term *= z / (double(k) * k);
    return sum;
  }
  for (int k = 1; k < 40; ++k) {
    const double next = term * (2.0 * k - 1) * (2.0 * k - 1) / (8 * k * a);
    if (next < sum * 1e-17 || next > term) break;
    sum += term = next;
  }
  return std::exp(a / 2) * (std::exp(a / 2) / std::sqrt(2 * kPi * a) * sum);
}
TORCH_VEC_INLINE Vec<double> i0(Vec<double> x) {
  return lanewise(x, [](double v) { return i0_scalar(v); });
}
TORCH_VEC_INLINE Vec<float> i0(Vec<float> x) {
  return lanewise(x, [](float v) { return static_cast<float>(i0_scalar(v)); });
}

// The Hurwitz zeta function, sum of (k + q)^-s over k >= 0, by Euler-Maclaurin summation from the tenth term on
// (Abramowitz and Stegun 23.2.9); s > 1.
TORCH_ANY inline double zeta_scalar(double s, double q) {
  if (s == 1) return kInfinity<double>;
  if (s < 1) return kNan<double>;
  if (q == kInfinity<double>) return 0;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity<double>;
    if (s != std::floor(s)) return kNan<double>;
  }
  double sum = 0;
  int k = 0;
  for (; k < 10 || q + k < 10; ++k) sum += std::pow(q + k, -s);
  const double a = q + k, b = std::pow(a, -s);
  sum += b * a / (s - 1) + 0.5 * b;
  // B_2j / (2j)!
  constexpr double kTerms[] = {1.0 / 12,          -1.0 / 720,
                               1.0 / 30240,       -1.0 / 1209600,
                               1.0 / 47900160,    -691.0 / 1307674368000,
                               1.0 / 74724249600, -3617.0 / 10670622842880000};
  double factor = s, power = b / a;
  for (int j = 0; j < 8; ++j) {
    const double term = kTerms[j] * factor * power;
    sum += term;
    if (std::abs(term) < 1e-17 * std::abs(sum)) break;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2);
    power /= a * a;
  }
  return sum;
}
// The nth derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x).
TORCH_ANY inline double polygamma_scalar(int64_t n, double x) {
  if (n == 0) return digamma_scalar(x);
  if (n == 1 && x < 0 && (x != std::floor(x) || std::isinf(x))) {  // reflection
    const double s = std::sin(kPi * (x - std::floor(x)));
    return kPi * kPi / (s * s) - zeta_scalar(2, 1 - x);
  }
  return (n % 2 ? 1 : -1) * std::exp(lgamma_scalar(double(n) + 1)) * zeta_scalar(double(n) + 1, x);
}

// The regularised incomplete gamma functions P and Q = 1 - P: the power series below a + 1, the continued fraction (by
// Lentz's method) above (Abramowitz and Stegun 6.5.29 and 6.5.31).
TORCH_ANY inline double log1p_minus(double d) {  // log(1 + d) - d
  if (std::abs(d) > 0.1) return std::log1p(d) - d;
  double sum = 0, power = -d;
  for (int k = 2; k < 20; ++k) sum += (power *= -d) / k;
  return -sum;
}
// x^a exp(-x) / gamma(a). Of large a the logarithms are as large and cancel: around x = a their difference is taken
// first, and gamma is Stirling's series (Abramowitz and Stegun 6.1.41).
TORCH_ANY inline double gamma_factor(double a, double x) {
  if (a < 20) return std::exp(a * std::log(x) - x - lgamma_scalar(a));
  const double d = (x - a) / a, r = 1 / a, q = r * r;
  const double exponent = std::abs(d) < 0.5 ? a * log1p_minus(d) : a * std::log(x / a) + (a - x);
  const double stirling = r * (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q * (1.0 / 1680 - q / 1188))));
  return std::sqrt(a / (2 * kPi)) * std::exp(exponent - stirling);
}
// Large a and x near it, where series and fraction take sqrt(a) terms: P or Q by Temme's uniform expansion (DLMF 8.12),
// eta^2 / 2 = x / a - 1 - log(x / a).
TORCH_ANY inline bool is_uniform(double a, double x) { return a >= 1e4 && std::abs(x - a) <= 0.05 * a; }
TORCH_ANY inline double gamma_uniform(double a, double x, bool upper) {
  constexpr double kC0[] = {-1.0 / 3,        1.0 / 12,    -2.0 / 135,         1.0 / 864,         1.0 / 2835,
                            -139.0 / 777600, 1.0 / 25515, -571.0 / 261273600, -281.0 / 151559100};
  constexpr double kC1[] = {-1.0 / 540, -1.0 / 288, 1.0 / 378, -77.0 / 77760, 1.0 / 4860};
  constexpr double kC2 = 25.0 / 6048;
  const double d = (x - a) / a, half_square = -log1p_minus(d);
  const double eta = std::copysign(std::sqrt(2 * half_square), d);
  const auto at_eta = [&](const double* c, int n) {
    double sum = 0;
    while (n--) sum = sum * eta + c[n];
    return sum;
  };
  const double terms = at_eta(kC0, 9) + (at_eta(kC1, 5) + kC2 / a) / a;
  const double rest = std::exp(-a * half_square) / std::sqrt(2 * kPi * a) * terms;
  const double tail = std::erfc((upper ? eta : -eta) * std::sqrt(a / 2)) / 2;
  return upper ? tail + rest : tail - rest;
}
TORCH_ANY inline double gamma_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int k = 1; k < 10000 && term > sum * 1e-17; ++k) sum += term *= x / (a + k);
  return sum * gamma_factor(a, x);
}
TORCH_ANY inline double gamma_fraction(double a, double x) {
  const double tiny = 1e-300;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
  for (int k = 1; k < 10000; ++k) {
    const double n = -k * (k - a);
    b += 2;
    d = n * d + b;
    d = 1 / (std::abs(d) < tiny ? tiny : d);
    c = b + n / c;
    if (std::abs(c) < tiny) c = tiny;
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-16) break;
  }
  return h * gamma_factor(a, x);
}
TORCH_ANY inline double igamma_scalar(double a, double x) {
  if (!(a >= 0) || !(x >= 0)) return kNan<double>;
  if (a == 0) return x > 0 ? 1 : kNan<double>;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan<double> : 0;
  if (std::isinf(x)) return 1;
  if (is_uniform(a, x)) return gamma_uniform(a, x, false);
  return x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}
TORCH_ANY inline double igammac_scalar(double a, double x) {
  if (!(a >= 0) || !(x >= 0)) return kNan<double>;
  if (a == 0) return x > 0 ? 0 : kNan<double>;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNan<double> : 1;
  if (std::isinf(x)) return 0;
  if (is_uniform(a, x)) return gamma_uniform(a, x, true);
  return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

// The slope of P by a, without its gamma_factor; that of Q is its negative. Below a + 1 the power series (6.5.29) term
// by term: the slope of 1 / gamma(a + k + 1) is -digamma(a + k + 1) times it, so that nearly all terms have one sign.
// Above, the continued fraction of Q, its recurrence differentiated along with it; both parts of that sum are positive.
TORCH_ANY inline double igamma_slope_per_factor(double a, double x) {
  const double log_x = std::log(x);
  if (x < a + 1) {
    double term = 1 / a, psi = digamma_scalar(a + 1), sum = 0;
    for (int k = 1; k < 10000; ++k) {
      const double part = term * (log_x - psi);
      sum += part;
      if (term * (1 + std::abs(log_x - psi)) <= std::abs(sum) * 1e-17) break;  // only one part may be 0
      psi += 1 / (a + k);
      term *= x / (a + k);
    }
    return sum;
  }
  struct Dual {  // a number and its slope by a
    double v, s;
  };
  Dual c{1e300, 0}, d{1 / (x + 1 - a), 0};
  d.s = d.v * d.v;
  Dual h = d;
  double b = x + 1 - a;
  for (int k = 1; k < 10000; ++k) {
    const double n = k * (a - k);
    b += 2;
    const Dual below{n * d.v + b, k * d.v + n * d.s - 1};
    d = {1 / below.v, -below.s / (below.v * below.v)};
    c = {b + n / c.v, -1 + (k - n * c.s / c.v) / c.v};
    const Dual ratio{d.v * c.v, d.s * c.v + d.v * c.s};
    h = {h.v * ratio.v, h.s * ratio.v + h.v * ratio.s};
    if (std::abs(ratio.v - 1) < 1e-16 && std::abs(ratio.s * h.v) <= std::abs(h.s) * 1e-16) break;
  }
  return -(h.s + h.v * (log_x - digamma_scalar(a)));
}
TORCH_ANY inline double igamma_slope_scalar(double a, double x) {
  if (!(a > 0) || !(x >= 0) || (std::isinf(a) && std::isinf(x))) return kNan<double>;
  if (x == 0 || std::isinf(a) || std::isinf(x)) return 0;
  return gamma_factor(a, x) * igamma_slope_per_factor(a, x);
}

}  // namespace torch::TORCH_ISA::math
