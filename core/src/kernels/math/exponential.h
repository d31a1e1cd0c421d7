// Exponentials and logarithms, and the hyperbolic functions that follow from them.
#pragma once
#include <limits>

#include "kernels/vec.h"

namespace torch::TORCH_ISA::math {

using TORCH_ISA::abs;
using TORCH_ISA::ceil;
using TORCH_ISA::floor;
using TORCH_ISA::round;
using TORCH_ISA::sqrt;
using TORCH_ISA::trunc;

// c0 + c1 x + c2 x^2 + ...
template <class T, class... C>
TORCH_VEC_INLINE Vec<T> polynomial(Vec<T> x, C... coefficients) {
  const T c[] = {static_cast<T>(coefficients)...};
  constexpr int n = sizeof...(C);
  Vec<T> y(c[n - 1]);
  for (int i = n - 2; i >= 0; i--) y = fma(y, x, Vec<T>(c[i]));
  return y;
}

// The same as two chains, of even and of odd powers: for many coefficients, where the next step waits for the last one.
template <class T, class... C>
TORCH_VEC_INLINE Vec<T> long_polynomial(Vec<T> x, C... coefficients) {
  const T c[] = {static_cast<T>(coefficients)...};
  constexpr int n = sizeof...(C);
  static_assert(n % 2 == 0);
  const Vec<T> z = x * x;
  Vec<T> even(c[n - 2]), odd(c[n - 1]);
  for (int i = n - 4; i >= 0; i -= 2) {
    even = fma(even, z, Vec<T>(c[i]));
    odd = fma(odd, z, Vec<T>(c[i + 1]));
  }
  return fma(odd, x, even);
}

// f on both halves of a float vector, in double.
template <class F>
TORCH_VEC_INLINE Vec<float> in_double(Vec<float> x, F f) {
  const DoublePair p = to_double(x);
  return to_float({f(p.low), f(p.high)});
}
template <class F>
TORCH_VEC_INLINE Vec<float> in_double(Vec<float> x, Vec<float> y, F f) {
  const DoublePair p = to_double(x), q = to_double(y);
  return to_float({f(p.low, q.low), f(p.high, q.high)});
}

template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
inline constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

template <class T>
struct Ieee;
template <>
struct Ieee<float> {
  static constexpr int kFraction = 23, kBias = 127;
  static constexpr int32_t kSqrtHalf = 0x3f3504f3;  // bits of sqrt(1/2)
};
template <>
struct Ieee<double> {
  static constexpr int kFraction = 52, kBias = 1023;
  static constexpr int64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
};

// ln 2 in two pieces; k * kLn2High is exact for every exponent k.
template <class T>
inline constexpr T kLn2High = sizeof(T) == 4 ? T(0x1.62e4p-1) : T(0x1.62e42feep-1);
template <class T>  // ln 2 - kLn2High
inline constexpr T kLn2Low = sizeof(T) == 4 ? T(1.42860682030941723212e-6) : T(1.90821492927058781614e-10);
inline constexpr double kLog2E = 1.44269504088896340736;
inline constexpr double kLn2 = 0.693147180559945309417;

// 2^k for integers k that are exponents of normal numbers.
template <class T>
TORCH_VEC_INLINE Vec<T> power_of_two(Vec<LaneInt<T>> k) {
  return from_bits<T>((k + Vec<LaneInt<T>>(Ieee<T>::kBias)) << Ieee<T>::kFraction);
}
// Integral floats to integers of the same width: exact for |k| < 2^(fraction bits - 1), without a conversion, which for
// double needs AVX512.
template <class T>
TORCH_VEC_INLINE Vec<LaneInt<T>> to_integer(Vec<T> k) {
  const T magic = T(1.5) * T(LaneInt<T>(1) << Ieee<T>::kFraction);
  return bits_of(k + Vec<T>(magic)) - bits_of(Vec<T>(magic));
}
// x * 2^k with one rounding, also into infinity and the subnormal numbers; |k| up to twice the largest exponent.
template <class T>
TORCH_VEC_INLINE Vec<T> scale(Vec<T> x, Vec<T> k) {
#if defined(TORCH_VEC_AVX512)
  if constexpr (sizeof(T) == 4)
    return Vec<T>(_mm512_maskz_scalef_ps(0xffff, x.raw, k.raw));
  else
    return Vec<T>(_mm512_maskz_scalef_pd(0xff, x.raw, k.raw));
#else
  const Vec<LaneInt<T>> n = to_integer(k), half = n >> 1;
  return x * power_of_two<T>(half) * power_of_two<T>(n - half);
#endif
}

// exp(r) - 1 for |r| <= ln(2) / 2.
TORCH_VEC_INLINE Vec<float> expm1_reduced(Vec<float> r) {  // error 2^-31.3 of exp(r)
  const Vec<float> p = polynomial(r, 0.5, 0.166666657, 0.0416664705, 0.00833350886, 0.00139332446, 0.000197586152);
  return fma(r * r, p, r);
}
TORCH_VEC_INLINE Vec<double> expm1_tail(Vec<double> r) {  // (exp(r) - 1 - r) / r^2, error 2^-60.8 of exp(r)
  return polynomial(r, 0.5, 0.16666666666666671, 0.041666666666666491, 0.0083333333333263596, 0.0013888888889004173,
                    0.00019841269874142648, 2.4801587043808047e-5, 2.7557256157697039e-6, 2.7557542456263614e-7,
                    2.5104935071763339e-8, 2.0824972513966806e-9);
}
TORCH_VEC_INLINE Vec<double> expm1_reduced(Vec<double> r) { return fma(r * r, expm1_tail(r), r); }

// x = k ln 2 + r, and expm1(r).
template <class T>
struct Reduced {
  Vec<T> k, p;
};
template <class T>
TORCH_VEC_INLINE Reduced<T> reduce_exponential(Vec<T> x) {
  const Vec<T> k = round(x * Vec<T>(T(kLog2E)));
  const Vec<T> r = fma(k, Vec<T>(-kLn2Low<T>), fma(k, Vec<T>(-kLn2High<T>), x));
  return {k, expm1_reduced(r)};
}

// Beyond these exp(x) is infinite or rounds to zero.
template <class T>
inline constexpr T kExpHigh = sizeof(T) == 4 ? 89 : 710;
template <class T>
inline constexpr T kExpLow = sizeof(T) == 4 ? -104 : -746;
template <class T>  // keeps NaN
TORCH_VEC_INLINE Vec<T> clamp(Vec<T> x, T low, T high) {
  return min(Vec<T>(high), max(Vec<T>(low), x));
}

template <class T>
TORCH_VEC_INLINE Vec<T> exp(Vec<T> x) {
  const Reduced<T> e = reduce_exponential(clamp(x, kExpLow<T>, kExpHigh<T>));
  return scale(Vec<T>(1) + e.p, e.k);
}
// exp(x) / 2, finite where exp(x) just overflows.
template <class T>
TORCH_VEC_INLINE Vec<T> half_exp(Vec<T> x) {
  const Reduced<T> e = reduce_exponential(clamp(x, kExpLow<T>, kExpHigh<T> + 1));
  return scale(Vec<T>(1) + e.p, e.k - Vec<T>(1));
}
template <class T>
TORCH_VEC_INLINE Vec<T> exp2(Vec<T> x) {
  x = clamp(x, T(sizeof(T) == 4 ? -151 : -1076), T(sizeof(T) == 4 ? 129 : 1025));
  const Vec<T> k = round(x);
  return scale(Vec<T>(1) + expm1_reduced((x - k) * Vec<T>(T(kLn2))), k);
}
// expm1 of x from -60 to the logarithm of the largest number, without the sign of zero.
template <class T>
TORCH_VEC_INLINE Vec<T> expm1_inside(Vec<T> x) {
  const Reduced<T> e = reduce_exponential(x);
  // 2^k p + (2^k - 1), halved so that 2^k stays finite.
  const Vec<T> half = power_of_two<T>(to_integer(e.k) - Vec<LaneInt<T>>(1));
  const Vec<T> y = fma(half, e.p, half - Vec<T>(T(0.5)));
  return y + y;
}
template <class T>
TORCH_VEC_INLINE Vec<T> expm1(Vec<T> x) {
  return copysign(expm1_inside(clamp(x, T(-60), kExpHigh<T>)), x);
}

// --- logarithms ---

// R with log((1 + s) / (1 - s)) = 2 s + s z R(z), z = s^2 <= (sqrt(2) - 1)^4.
TORCH_VEC_INLINE Vec<float> log_tail(Vec<float> z) {  // error 2^-30.1 of the logarithm
  return polynomial(z, 0.666667759, 0.399775416, 0.298717529);
}
TORCH_VEC_INLINE Vec<double> log_tail(Vec<double> z) {  // error 2^-59.0 of the logarithm
  return polynomial(z, 0.6666666666666734, 0.39999999999414898, 0.2857142874233044, 0.22222198579796629,
                    0.18183563949965456, 0.1531406087380224, 0.14795840629316342);
}

// x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2).
template <class T>
struct Magnitude {
  Vec<T> k, f;
};
template <class T>
TORCH_VEC_INLINE Magnitude<T> magnitude(Vec<T> x) {  // of positive finite x
  using I = LaneInt<T>;
  // Subnormal numbers are first made normal.
  constexpr int lift = Ieee<T>::kFraction + 2;
  const Mask<T> tiny = x < Vec<T>(std::numeric_limits<T>::min());
  x = select(tiny, x * Vec<T>(T(int64_t(1) << lift)), x);
  const Vec<I> offset = bits_of(x) - Vec<I>(I(Ieee<T>::kSqrtHalf));
  const Vec<I> exponent = offset >> Ieee<T>::kFraction;
  const Vec<T> f = from_bits<T>(bits_of(x) - (exponent << Ieee<T>::kFraction)) - Vec<T>(1);
  // The exponent as a float, through the bits of a number in [2^fraction, 2^(fraction + 1)) whose last place is 1.
  const T magic = T(1.5) * T(I(1) << Ieee<T>::kFraction);
  const Vec<T> k = from_bits<T>(exponent + bits_of(Vec<T>(magic))) - Vec<T>(magic);
  return {k - select(tiny, Vec<T>(T(lift)), Vec<T>(0)), f};
}
// log(1 + f) = f - (square - s * tail), square = f^2 / 2.
// Below, what may be fused is written as fma, so that a compiler that fuses and one that does not give the same bits.
template <class T>
struct LogParts {
  Vec<T> k, f, square, s, tail;
};
template <class T>
TORCH_VEC_INLINE LogParts<T> log_parts(Vec<T> x) {  // of positive finite x
  const auto [k, f] = magnitude(x);
  const Vec<T> s = f / (Vec<T>(2) + f), z = s * s, square = Vec<T>(T(0.5)) * f * f;
  return {k, f, square, s, fma(z, log_tail(z), square)};
}
// The values of a logarithm at 0, infinity, below 0 and at NaN.
template <class T>
TORCH_VEC_INLINE Vec<T> log_edges(Vec<T> x, Vec<T> y) {
  y = select(x == Vec<T>(kInfinity<T>), x, y);
  y = select(x == Vec<T>(0), Vec<T>(-kInfinity<T>), y);
  return select(x >= Vec<T>(0), y, Vec<T>(kNan<T>));
}
template <class T>
TORCH_VEC_INLINE Vec<T> log(Vec<T> x) {
  const LogParts<T> p = log_parts(x);
  const Vec<T> low = p.square - fma(p.k, Vec<T>(kLn2Low<T>), p.s * p.tail);
  return log_edges(x, fma(p.k, Vec<T>(kLn2High<T>), p.f - low));
}
template <class T>
TORCH_VEC_INLINE Vec<T> log1p(Vec<T> x) {
  const Vec<T> u = Vec<T>(1) + x;
  const LogParts<T> p = log_parts(u);
  // What 1 + x lost in rounding, relative to u.
  const Vec<T> lost = select(u > Vec<T>(2), Vec<T>(1) - (u - x), x - (u - Vec<T>(1))) / u;
  const Vec<T> low = p.square - fma(p.s, p.tail, fma(p.k, Vec<T>(kLn2Low<T>), lost));
  return copysign(log_edges(u, fma(p.k, Vec<T>(kLn2High<T>), p.f - low)), x);
}

// log(x) / log(b): 1 / log(b) and log(2) / log(b) in two pieces each, of which the first have trailing zeros, so that
// products with the upper half of log(1 + f) and with k are exact (as in FreeBSD's e_log10.c).
template <class T>
TORCH_VEC_INLINE Vec<T> log_base(Vec<T> x, T scale_high, T scale_low, T k_high, T k_low) {
  using I = LaneInt<T>;
  const LogParts<T> p = log_parts(x);
  const Vec<I> upper(I(sizeof(T) == 4 ? int64_t(-4096) : int64_t(-4294967296)));
  const Vec<T> high = from_bits<T>(bits_of(p.f - p.square) & upper);
  const Vec<T> low = fma(p.s, p.tail, (p.f - high) - p.square);
  const Vec<T> whole = p.k * Vec<T>(k_high), sum = fma(high, Vec<T>(scale_high), whole);
  const Vec<T> correction = fma(p.k, Vec<T>(k_low), fma(low + high, Vec<T>(scale_low), low * Vec<T>(scale_high)));
  return log_edges(x, (correction + fma(high, Vec<T>(scale_high), whole - sum)) + sum);
}
TORCH_VEC_INLINE Vec<float> log2(Vec<float> x) {  // log2(e) = 0x1.716p0 - 1.76052861e-4
  return log_base(x, 0x1.716p0f, -1.76052861e-4f, 1.0f, 0.0f);
}
TORCH_VEC_INLINE Vec<double> log2(Vec<double> x) {
  return log_base(x, 0x1.71547652p0, 1.67517131648865110689e-10, 1.0, 0.0);
}
TORCH_VEC_INLINE Vec<double> log10(Vec<double> x) {  // log10(e), then log10(2)
  return log_base(x, 0x1.bcb7b15p-2, 1.41498268538580090792e-10, 0x1.34413509f6p-2, 3.69423907715893053656e-13);
}
TORCH_VEC_INLINE Vec<float> log10(Vec<float> x) {
  return in_double(x, [](Vec<double> v) { return log10(v); });
}

// --- what follows ---

// With t = exp(2 |x|) - 1: t / (t + 2), or 1 - 2 / (t + 2), whose error vanishes as the result nears 1.
template <class T>
TORCH_VEC_INLINE Vec<T> tanh(Vec<T> x) {
  const Vec<T> two(2), a = min(Vec<T>(T(20)), abs(x));  // beyond 20 it is 1 in either precision
  const Vec<T> t = expm1_inside(a + a);
  const Mask<T> large = t > Vec<T>(1);
  const Vec<T> q = select(large, two, t) / (t + two);
  return copysign(select(large, Vec<T>(1) - q, q), x);
}
template <class T>
TORCH_VEC_INLINE Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> e = exp(-abs(x));
  return select(x < Vec<T>(0), e, Vec<T>(1)) / (Vec<T>(1) + e);
}

#define TORCH_FLOAT_IN_DOUBLE(name)                             \
  TORCH_VEC_INLINE Vec<float> name(Vec<float> x) {              \
    return in_double(x, [](Vec<double> v) { return name(v); }); \
  }

TORCH_VEC_INLINE Vec<double> sinh(Vec<double> x) {
  using V = Vec<double>;
  const V a = abs(x), t = expm1(a);
  return copysign(select(a > V(22), half_exp(a), V(0.5) * (t + t / (t + V(1)))), x);
}
TORCH_VEC_INLINE Vec<double> cosh(Vec<double> x) {
  const Vec<double> half = half_exp(abs(x));
  return half + Vec<double>(0.25) / half;
}
// Large arguments go to log(2 x); 2^28 squared is still far from overflow.
TORCH_VEC_INLINE Vec<double> asinh(Vec<double> x) {
  using V = Vec<double>;
  const V a = abs(x), square = a * a;
  const V y = select(a > V(0x1p28), log(a) + V(kLn2), log1p(a + square / (V(1) + sqrt(square + V(1)))));
  return copysign(y, x);
}
TORCH_VEC_INLINE Vec<double> acosh(Vec<double> x) {
  using V = Vec<double>;
  const V t = x - V(1);
  const V y = select(x > V(0x1p28), log(x) + V(kLn2), log1p(t + sqrt(t * (x + V(1)))));
  return select(t < V(0), V(kNan<double>), y);
}
TORCH_VEC_INLINE Vec<double> atanh(Vec<double> x) {
  using V = Vec<double>;
  const V a = abs(x);
  return copysign(V(0.5) * log1p((a + a) / (V(1) - a)), x);
}
TORCH_FLOAT_IN_DOUBLE(sinh)
TORCH_FLOAT_IN_DOUBLE(cosh)
TORCH_FLOAT_IN_DOUBLE(asinh)
TORCH_FLOAT_IN_DOUBLE(acosh)
TORCH_FLOAT_IN_DOUBLE(atanh)

}  // namespace torch::TORCH_ISA::math
