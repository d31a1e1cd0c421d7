// Circular functions of Vec<double>, within 1 ulp: what is added last is exact but for its rounding, and what comes
// before it is at most a fifth of it. Nanoseconds per element on one thread of an AMD EPYC (Zen 4, AVX512), before this
// libm lane by lane:
//
//          sin   cos   tan   asin  acos  atan  atan2
//   libm   16.1  16.6  18.7  11.8  11.8  8.2   15.1
//   here   1.3   1.3   1.9   1.3   1.4   1.6   2.3
#pragma once
#include "kernels/math/trigonometric.h"
#include "kernels/math/twofold.h"

namespace torch::TORCH_ISA::math {

#define TORCH_LIBM_DOUBLE(name)                                \
  TORCH_VEC_INLINE Vec<double> libm_##name(Vec<double> x) {    \
    return lanewise(x, [](double v) { return std::name(v); }); \
  }
TORCH_LIBM_DOUBLE(sin)
TORCH_LIBM_DOUBLE(cos)
TORCH_LIBM_DOUBLE(tan)
TORCH_LIBM_DOUBLE(asin)
TORCH_LIBM_DOUBLE(acos)
TORCH_LIBM_DOUBLE(atan)
#undef TORCH_LIBM_DOUBLE

namespace detail {

// pi/2 in three pieces.
inline constexpr double kHalfPi = 0x1.921fb54442d18p0, kHalfPi2 = 0x1.1a62633145c07p-54,
                        kHalfPi3 = -0x1.f1976b7ed8fbcp-110;

// The sine and the cosine of r = x - q pi/2.
struct SineAndCosine {
  Twofold sine, cosine;
  Vec<int64_t> q;
};
// For |x| < 2^40, where |r| is hardly more than pi/4. The first piece of pi/2 times q leaves a rest without rounding:
// it is below 1 and a multiple of 2^-53.
inline constexpr double kFarAngle = 0x1p40;
TORCH_VEC_INLINE SineAndCosine sine_and_cosine(Vec<double> x) {
  using V = Vec<double>;
  const V magic(0x1.8p52), shifted = fma(x, V(2 / kPi), magic), q = shifted - magic;
  const Twofold p = exact_product(q, V(kHalfPi2)), rest = exact_sum(fma(-q, V(kHalfPi), x), -p.high);
  const V r = rest.high, low = fma(-q, V(kHalfPi3), rest.low - p.low);
  const Twofold square = exact_product(r, r);
  const V z = square.high;
  const V sine = polynomial(z, -0.16666666666666666, 0.0083333333333333228, -0.00019841269841255028,
                            2.755731921417014e-6, -2.5052104906212719e-8, 1.6058365930198682e-10,
                            -7.5786626550026016e-13);  // error 2^-57.3
  const V cosine = polynomial(z, 0.041666666666666602, -0.0013888888888874023, 2.480158728941659e-5,
                              -2.7557314332648101e-7, 2.0875720502138348e-9, -1.1359499595542343e-11);  // 2^-59.6
  const V sine_tail = fma(z * r, sine, fma(z, low * V(-0.5), low));
  const Twofold down = ordered_sum(V(1), z * V(-0.5));
  const V cosine_tail = fma(z * z, cosine, fma(-r, low, fma(square.low, V(-0.5), down.low)));
  return {ordered_sum(r, sine_tail), ordered_sum(down.high, cosine_tail), bits_of(shifted)};
}
TORCH_VEC_INLINE Mask<double> is_odd(Vec<int64_t> q) {
  return as_mask<double>((q & Vec<int64_t>(1)) == Vec<int64_t>(1));
}
// sin(r + q pi/2).
TORCH_VEC_INLINE Vec<double> sine_in_quadrant(const SineAndCosine& a, Vec<int64_t> q) {
  const Vec<double> y = select(is_odd(q), a.cosine.high, a.sine.high);
  return from_bits<double>(bits_of(y) ^ ((q & Vec<int64_t>(2)) << 62));
}
// `near`, and libm's for the few lanes that are far.
template <class Libm>
TORCH_VEC_INLINE Vec<double> unless_far(Vec<double> x, Vec<double> near, Libm libm) {
  const Mask<double> far = abs(x) >= Vec<double>(kFarAngle);
  if (__builtin_expect(any(far), 0)) return select(far, libm(x), near);
  return near;
}

// Where the sine or the tangent of zero would lose its sign.
TORCH_VEC_INLINE Vec<double> with_zero(Vec<double> x, Vec<double> y) { return select(x == Vec<double>(0), x, y); }

}  // namespace detail

TORCH_VEC_INLINE Vec<double> sin(Vec<double> x) {
  const auto libm = [](Vec<double> v) { return libm_sin(v); };
  if constexpr (!kHasFma) return libm(x);
  const detail::SineAndCosine a = detail::sine_and_cosine(x);
  return detail::unless_far(x, detail::with_zero(x, detail::sine_in_quadrant(a, a.q)), libm);
}
TORCH_VEC_INLINE Vec<double> cos(Vec<double> x) {
  const auto libm = [](Vec<double> v) { return libm_cos(v); };
  if constexpr (!kHasFma) return libm(x);
  const detail::SineAndCosine a = detail::sine_and_cosine(x);
  return detail::unless_far(x, detail::sine_in_quadrant(a, a.q + Vec<int64_t>(1)), libm);
}
TORCH_VEC_INLINE Vec<double> tan(Vec<double> x) {
  const auto libm = [](Vec<double> v) { return libm_tan(v); };
  if constexpr (!kHasFma) return libm(x);
  const detail::SineAndCosine a = detail::sine_and_cosine(x);
  const Mask<double> odd = detail::is_odd(a.q);
  const Twofold t = quotient({select(odd, -a.cosine.high, a.sine.high), select(odd, -a.cosine.low, a.sine.low)},
                             {select(odd, a.sine.high, a.cosine.high), select(odd, a.sine.low, a.cosine.low)});
  return detail::unless_far(x, detail::with_zero(x, t.high + t.low), libm);
}

// --- arcs ---

namespace detail {

// asin(a) for 0 <= a <= 1 is lead + tail, or pi/2 - 2 (lead + tail) where `folded`.
struct FullArc {
  Vec<double> lead, tail;
  Mask<double> folded;
};
TORCH_VEC_INLINE FullArc full_arc_sine(Vec<double> a) {
  using V = Vec<double>;
  const Mask<double> folded = a > V(0.5);
  const V z = select(folded, (V(1) - a) * V(0.5), a * a), root = sqrt(z), lead = select(folded, root, a);
  const V rest = fma(-root, root, z) / max(V(0x1p-1000), root + root);  // what sqrt(z) lost
  const V p = polynomial(z, 0.16666666666666763, 0.074999999999702679, 0.044642857175116367, 0.030381942683823205,
                         0.022372215654176974, 0.017351600210885113, 0.013980959907769423, 0.011397789534400255,
                         0.010786448431837223, 0.0036833623010032032, 0.021762685964220457, -0.021076099614595445,
                         0.032676121182464289);  // error 2^-58.7
  return {lead, fma(lead * z, p, select(folded, rest, V(0))), folded};
}
// right (high + low) - (lead + tail), right multiples of pi/2 in two pieces.
TORCH_VEC_INLINE Vec<double> less(Vec<double> high, Vec<double> low, Vec<double> lead, Vec<double> tail) {
  const Twofold s = ordered_sum(high, -lead);
  return s.high + (s.low + (low - tail));
}

}  // namespace detail

TORCH_VEC_INLINE Vec<double> asin(Vec<double> x) {
  using V = Vec<double>;
  if constexpr (!kHasFma) return libm_asin(x);
  const detail::FullArc a = detail::full_arc_sine(abs(x));
  const V folded = detail::less(V(detail::kHalfPi), V(detail::kHalfPi2), a.lead + a.lead, a.tail + a.tail);
  return copysign(select(a.folded, folded, a.lead + a.tail), x);
}
TORCH_VEC_INLINE Vec<double> acos(Vec<double> x) {
  using V = Vec<double>;
  if constexpr (!kHasFma) return libm_acos(x);
  const detail::FullArc a = detail::full_arc_sine(abs(x));
  const Mask<double> negative = x < V(0);
  const V lead = a.lead + a.lead, tail = a.tail + a.tail;
  // pi/2 - asin(x), and of folded arcs pi - 2 asin(...) on the left.
  const V turned =
      detail::less(select(a.folded, V(2 * detail::kHalfPi), V(detail::kHalfPi)),
                   select(a.folded, V(2 * detail::kHalfPi2), V(detail::kHalfPi2)),
                   select(a.folded, lead, copysign(a.lead, x)), select(a.folded, tail, copysign(a.tail, x)));
  return select(a.folded & !negative, lead + tail, turned);
}

namespace detail {

// atan(y / x) of y, x >= 0 that are not both 0 or infinite, in [0, pi/2], or pi minus that where `mirrored`. The ratio
// of the smaller to the larger is below 1; above tan(pi/8), pi/4 is taken from its arc.
TORCH_VEC_INLINE Vec<double> full_arc(Vec<double> y, Vec<double> x, Mask<double> mirrored) {
  using V = Vec<double>;
  const V zero(0);
  const Mask<double> steep = y > x;
  const V small = select(steep, x, y), large = select(steep, y, x);
  const Mask<double> wide = small > large * V(0.41421356237309503);
  const Twofold difference = exact_sum(small, -large), sum = exact_sum(small, large);
  const Twofold t = quotient({select(wide, difference.high, small), select(wide, difference.low, zero)},
                             {select(wide, sum.high, large), select(wide, sum.low, zero)});
  const V z = t.high * t.high;
  const V p = polynomial(z, -0.33333333333333326, 0.19999999999997684, -0.14285714285389825, 0.11111111088291599,
                         -0.090909081486556131, 0.076922828523902559, -0.066662281466672524, 0.058770354463538059,
                         -0.05218492491305534, 0.045039085476669058, -0.03348283576345449,
                         0.015203679534339957);  // error 2^-58.3
  const V tail = fma(t.high * z, p, t.low);
  // Quarters of pi/2: 0 or 1/2, taken from 1 where steep, and that from 2 where mirrored.
  V quarters = select(wide, V(0.5), zero);
  quarters = select(steep, V(1) - quarters, quarters);
  quarters = select(mirrored, V(2) - quarters, quarters);
  const Mask<double> back = steep ^ mirrored;
  const Twofold base = exact_product(quarters, V(kHalfPi));
  const Twofold s = ordered_sum(base.high, select(back, -t.high, t.high));
  return s.high + (s.low + (fma(quarters, V(kHalfPi2), base.low) + select(back, -tail, tail)));
}

}  // namespace detail

TORCH_VEC_INLINE Vec<double> atan(Vec<double> x) {
  using V = Vec<double>;
  if constexpr (!kHasFma) return libm_atan(x);
  const V a = min(V(0x1p100), abs(x));  // pi/2 from 2^54 on; keeps NaN
  return copysign(detail::full_arc(a, V(1), a < V(0)), x);
}
TORCH_VEC_INLINE Vec<double> atan2(Vec<double> y, Vec<double> x) {
  using V = Vec<double>;
  if constexpr (!kHasFma) return lanewise(y, x, [](double v, double u) { return std::atan2(v, u); });
  const V inf(kInfinity<double>), one(1), zero(0);
  V b = abs(y), a = abs(x);
  const V larger = max(a, b);
  // So that nothing overflows, and what the ratio loses in rounding does not underflow where the ratio does not.
  const V factor = select(larger > V(0x1p900), V(0x1p-200), select(larger < V(0x1p500), V(0x1p500), one));
  const Mask<double> infinite = larger == inf;
  b = select(infinite, select(b == inf, one, zero), b * factor);
  a = select(infinite, select(a == inf, one, zero), select(larger == zero, one, a * factor));
  const Mask<double> left = as_mask<double>(bits_of(x) < Vec<int64_t>(0));
  return select(isnan(x) | isnan(y), x + y, copysign(detail::full_arc(b, a, left), y));
}

}  // namespace torch::TORCH_ISA::math
