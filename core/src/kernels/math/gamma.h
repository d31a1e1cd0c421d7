// The gamma function's logarithm, its derivatives, and the incomplete gamma functions.
#pragma once
#include <cmath>

#include "kernels/math/trigonometric.h"
#include "kernels/math/twofold.h"

namespace torch::TORCH_ISA::math {

TORCH_ANY inline double lgamma_scalar(double x) {
#if defined(__CUDA_ARCH__)
  return ::lgamma(x);
#else
  int sign;
  return ::lgamma_r(x, &sign);  // std::lgamma writes a global variable
#endif
}
namespace detail {

// lgamma(x) = (x - 1) (x - 2) (1/2 + V(x - 3/2)) around its zeros, for |x - 3/2| <= 0.6.
TORCH_VEC_INLINE Vec<double> lgamma_middle(Vec<double> x) {
  using V = Vec<double>;
  const V v =
      long_polynomial(x - V(1.5), -0.01687104945901911, -0.14595989591430608, 0.062911401074564874,
                      -0.031308487501010777, 0.016797098631196931, -0.0094256224484918841, 0.0054464578439415833,
                      -0.0032120740761829394, 0.0019229161594237763, -0.0011644145001920233, 0.00071152190125267677,
                      -0.00043799470184160651, 0.00027128135847257401, -0.00016889876870071442, 0.00010558972930382714,
                      -6.628143807171547e-5, 4.1960569968654439e-5, -2.6559970119026321e-5, 1.6052577817395864e-5,
                      -1.007601807620138e-5, 8.4147670596371512e-6, -5.5792731705967525e-6, 2.4671331311580419e-7,
                      5.5511411401474157e-8, 3.1715936760548786e-6, -2.1316284823558011e-6);  // error 2^-58.45
  const Twofold q = product(Twofold{x - V(1), V(0)}, exact_sum(x, V(-2)));
  return fma(q.high, v, q.high * V(0.5)) + q.low * (V(0.5) + v);
}
// Stirling's series from 8 on, to twice the precision but for its last terms; below it that of x + 8 less the logarithm
// of x (x + 1) ... (x + 7), which are about as large as each other: an error of 2^-60.
TORCH_VEC_INLINE Vec<double> lgamma_series(Vec<double> x) {
  using V = Vec<double>;
  constexpr int kSteps = 8;
  const V one(1), zero(0);
  const Mask<double> low = x < V(kSteps);
  Twofold y{x, zero}, less{zero, zero};
  if (any(low)) {
    Twofold steps{x, zero};
    for (int k = 1; k < kSteps; ++k) steps = product(steps, exact_sum(x, V(k)));
    const Twofold logged = logarithm(select(low, steps.high, one));
    less = {select(low, logged.high, zero), select(low, logged.low + steps.low / steps.high, zero)};
    const Twofold moved = exact_sum(x, V(kSteps));
    y = {select(low, moved.high, x), select(low, moved.low, zero)};
  }
  const V r = one / y.high, z = r * r;
  const V series = r * polynomial(z, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360,
                                  1.0 / 156, -3617.0 / 122400, 43867.0 / 244188);
  Twofold log_y = logarithm(y.high);
  log_y.low += y.low * r;
  const Twofold left = exact_sum(y.high, V(-0.5)), lead = product({left.high, left.low + y.low}, log_y);
  // log(2 pi) / 2 in two pieces.
  const Twofold a = exact_sum(lead.high, -less.high), b = exact_sum(a.high, -y.high);
  const Twofold c = exact_sum(b.high, V(0x1.d67f1c864beb5p-1));
  const V rest = (a.low + b.low) + (c.low + lead.low) - (less.low + y.low) + V(-0x1.65b5a1b7ff5dfp-55);
  return c.high + (rest + series);
}

}  // namespace detail

// Within 1.5 ulp, 7.7 ns per element on one thread of an AMD EPYC (Zen 4; with AVX2 11), 15.4 in libm, where all goes
// that is not positive.
TORCH_VEC_INLINE Vec<double> lgamma(Vec<double> x) {
  using V = Vec<double>;
  const auto libm = [](double v) { return lgamma_scalar(v); };
  if constexpr (!kHasFma) return lanewise(x, libm);
  const Mask<double> easy = (x > V(0)) & (x < V(0x1p1000)), middle = abs(x - V(1.5)) <= V(0.6);
  V result = detail::lgamma_series(select(easy, x, V(1)));
  if (any(middle)) result = select(middle, detail::lgamma_middle(x), result);
  if (__builtin_expect(!all(easy), 0)) result = select(easy, result, lanewise(x, libm));
  return result;
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
// Positive finite numbers in registers, those below 10 after nine steps; the others one by one. 2.6 ns per element on
// one thread of an AMD EPYC (Zen 4, AVX512), so 18.6.
TORCH_VEC_INLINE Vec<double> digamma(Vec<double> x) {
  using V = Vec<double>;
  constexpr int kSteps = 9;
  const V one(1);
  const Mask<double> low = x < V(10), easy = (x > V(0)) & (x < V(kInfinity<double>));
  V sum(0);  // 1 / (x + 1) + ... + 1 / (x + 8), two at a time
  for (int k = kSteps - 2; k > 0; k -= 2) {
    const V first = x + V(k), second = x + V(k + 1);
    sum += (first + second) / (first * second);
  }
  sum += one / x;
  const V y = select(low, x + V(kSteps), x), r = one / y, z = r * r;
  const V series = z * polynomial(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12,
                                  -3617.0 / 8160);
  V result = log(y) - fma(r, V(0.5), series) - select(low, sum, V(0));
  if (__builtin_expect(!all(easy), 0))
    result = select(easy, result, lanewise(x, [](double u) { return digamma_scalar(u); }));
  return result;
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

// B_2j / (2j)! for j from 1 on.
inline constexpr int kZetaTerms = 8;
TORCH_ANY inline double zeta_term(int j) {
  constexpr double kTerms[kZetaTerms] = {1.0 / 12,          -1.0 / 720,
                                         1.0 / 30240,       -1.0 / 1209600,
                                         1.0 / 47900160,    -691.0 / 1307674368000,
                                         1.0 / 74724249600, -3617.0 / 10670622842880000};
  return kTerms[j];
}
// The Hurwitz zeta function, sum of (k + q)^-s over k >= 0, for s > 1 and q from -10 on, by Euler-Maclaurin summation
// from the tenth positive term on (Abramowitz and Stegun 23.2.9).
TORCH_ANY inline double zeta_sum(double s, double q) {
  double sum = 0;
  int k = 0;
  for (; k < 10 || q + k < 10; ++k) sum += std::pow(q + k, -s);
  const double a = q + k, b = std::pow(a, -s);
  sum += b * a / (s - 1) + 0.5 * b;
  double factor = s, power = b / a;
  for (int j = 0; j < kZetaTerms; ++j) {
    const double term = zeta_term(j) * factor * power;
    sum += term;
    if (std::abs(term) < 1e-17 * std::abs(sum)) break;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2);
    power /= a * a;
  }
  return sum;
}
TORCH_ANY inline double zeta_scalar(double s, double q) {
  if (s == 1) return kInfinity<double>;
  if (s < 1) return kNan<double>;
  if (q == kInfinity<double>) return 0;
  const double below = std::floor(q);
  if (q <= 0 && q == below) return kInfinity<double>;
  if (q <= 0 && s != std::floor(s)) return kNan<double>;
  if (!(q < -10)) return zeta_sum(s, q);
  // Negative terms, up to sign, are those from the last of them on without those beyond the first.
  const double mirrored = zeta_sum(s, below + 1 - q) - zeta_sum(s, 1 - q);
  return zeta_sum(s, q - below) + (std::fmod(s, 2) == 0 ? mirrored : -mirrored);
}
TORCH_ANY inline double factorial(int64_t n) {  // exact up to 22
  double product = 1;
  for (int64_t k = 2; k <= n && k < 172; ++k) product *= double(k);
  return product;
}
// The nth derivative of digamma: (-1)^(n+1) n! zeta(n + 1, x).
TORCH_ANY inline double polygamma_scalar(int64_t n, double x) {
  if (n == 0) return digamma_scalar(x);
  if (n == 1 && x == -kInfinity<double>) return kNan<double>;
  return (n % 2 ? 1 : -1) * factorial(n) * zeta_scalar(double(n) + 1, x);
}

// Of positive numbers in registers, for n small enough that neither powers nor n! round away: ten terms of the sum
// below 10 + n, and Euler-Maclaurin summation behind them. For n = 1, 3.5 ns per element on one thread of an AMD EPYC
// (Zen 4, AVX512), so 335.
TORCH_VEC_INLINE Vec<double> polygamma(Vec<double> x, int64_t n) {
  using V = Vec<double>;
  const auto scalar = [n](double u) { return polygamma_scalar(n, u); };
  if (n == 0) return digamma(x);
  if (n > 20) return lanewise(x, scalar);
  const auto power = [n](V base, int64_t extra) {
    V result = base;
    for (int64_t i = 1; i < n + extra; ++i) result *= base;
    return result;
  };
  constexpr int kSteps = 10;
  const V one(1), zero(0);
  const Mask<double> low = x < V(double(kSteps + n));
  const Mask<double> easy = x > zero;
  V sum = zero;
  for (int k = kSteps - 1; k >= 0; --k) sum += one / power(x + V(k), 1);
  const V r = one / select(low, x + V(kSteps), x), z = r * r;
  // B_2j / (2j)! times n + 1, (n + 1) (n + 2) (n + 3), ...
  double terms[kZetaTerms], rising = double(n) + 1;
  for (int j = 0; j < kZetaTerms; ++j) {
    terms[j] = zeta_term(j) * rising;
    rising *= double(n + 2 * j + 2) * double(n + 2 * j + 3);
  }
  V tail(terms[kZetaTerms - 1]);
  for (int j = kZetaTerms - 2; j >= 0; --j) tail = fma(tail, z, V(terms[j]));
  const V rest = power(r, 0) * (fma(tail, z, r * V(0.5)) + V(1.0 / double(n)));
  V result = (select(low, sum, zero) + rest) * V((n % 2 ? 1 : -1) * factorial(n));
  if (__builtin_expect(!all(easy), 0)) result = select(easy, result, lanewise(x, scalar));
  return result;
}
TORCH_VEC_INLINE Vec<float> polygamma(Vec<float> x, int64_t n) {
  return in_double(x, [n](Vec<double> v) { return polygamma(v, n); });
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
