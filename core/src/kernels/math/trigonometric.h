// Circular functions. Vec<float> is reduced and evaluated in double, Vec<double> in math/circular.h.
#pragma once
#include <cmath>

#include "kernels/math/exponential.h"

namespace torch::TORCH_ISA::math {

inline constexpr double kPi = 3.14159265358979323846;

namespace detail {

// x = q pi/2 + r, |r| <= pi/4, for |x| < 2^27. pi/2 in two pieces: the first has 25 bits, so that its product with q is
// exact; the second brings the sum to 78 bits, enough for the float nearest to a multiple of pi/2.
struct Quadrant {
  Vec<double> r;
  Vec<int64_t> q;
};
TORCH_VEC_INLINE Quadrant reduce_angle(Vec<double> x) {
  using V = Vec<double>;
  const V magic(0x1.8p52);  // adding it rounds to an integer and leaves that in the low bits
  const V shifted = x * V(2 / kPi) + magic, q = shifted - magic;
  const V r = fma(q, V(-1.58932547735281966916e-08), fma(q, V(-0x1.921fb5p0), x));
  return {r, bits_of(shifted)};
}
TORCH_VEC_INLINE Vec<double> sin_reduced(Vec<double> r) {  // error 2^-37.6
  return r * polynomial(r * r, 1.0, -0.16666666641640862, 0.0083333293869289702, -0.00019839335096964654,
                        2.7183135779283048e-6);  // a product keeps -0
}
TORCH_VEC_INLINE Vec<double> cos_reduced(Vec<double> r) {  // error 2^-43.2
  using V = Vec<double>;
  const V z = r * r;
  return fma(z * z,
             polynomial(z, 0.041666666622825421, -0.0013888883753269087, 2.4799519972260308e-5, -2.7210234363010229e-7),
             fma(z, V(-0.5), V(1)));
}
// sin(r + q pi/2).
TORCH_VEC_INLINE Vec<double> sin_quadrant(Vec<double> r, Vec<int64_t> q) {
  using I = Vec<int64_t>;
  const Vec<double> y = select(as_mask<double>((q & I(1)) == I(1)), cos_reduced(r), sin_reduced(r));
  return from_bits<double>(bits_of(y) ^ ((q & I(2)) << 62));
}
// The vector form below 2^27, libm above.
template <class Near, class Far>
TORCH_VEC_INLINE Vec<float> with_far_angles(Vec<float> x, Near near, Far far) {
  const Mask<float> large = abs(x) >= Vec<float>(0x1p27f);
  Vec<float> y = in_double(x, near);
  if (__builtin_expect(any(large), 0)) y = select(large, lanewise(x, far), y);
  return y;
}
TORCH_ANY inline float far_sin(float x) { return static_cast<float>(std::sin(static_cast<double>(x))); }
TORCH_ANY inline float far_cos(float x) { return static_cast<float>(std::cos(static_cast<double>(x))); }
TORCH_ANY inline float far_tan(float x) { return static_cast<float>(std::tan(static_cast<double>(x))); }

// atan(t) for 0 <= t <= 1, error 2^-34.
TORCH_VEC_INLINE Vec<double> atan_reduced(Vec<double> t) {
  const Vec<double> z = t * t;
  return fma(t * z,
             polynomial(z, -0.33333332234499408, 0.19999932168711182, -0.14284250523501657, 0.11095200504534335,
                        -0.0898878626421757, 0.072693758731085398, -0.054704473567863877, 0.034704797758130228,
                        -0.016471667097387767, 0.0049994461146455494, -0.0007113351077164291),
             t);
}
// asin(t) for t^2 = z <= 1/4, error 2^-39.9.
TORCH_VEC_INLINE Vec<double> asin_reduced(Vec<double> t, Vec<double> z) {
  return fma(t * z,
             polynomial(z, 0.16666666626542387, 0.075000050555359993, 0.044640684038032161, 0.030426892577040513,
                        0.021862626900044084, 0.020660651915240899, 0.001944861733724418, 0.03294503376305076),
             t);
}
// asin(a) for 0 <= a <= 1 is p, or pi/2 - 2 p where `folded`.
struct Arc {
  Vec<double> p;
  Mask<double> folded;
};
TORCH_VEC_INLINE Arc arc_sine(Vec<double> a) {
  using V = Vec<double>;
  const Mask<double> folded = a > V(0.5);
  const V z = select(folded, (V(1) - a) * V(0.5), a * a);
  return {asin_reduced(select(folded, sqrt(z), a), z), folded};
}

}  // namespace detail

TORCH_VEC_INLINE Vec<float> sin(Vec<float> x) {
  return detail::with_far_angles(
      x,
      [](Vec<double> v) {
        const detail::Quadrant a = detail::reduce_angle(v);
        return detail::sin_quadrant(a.r, a.q);
      },
      detail::far_sin);
}
TORCH_VEC_INLINE Vec<float> cos(Vec<float> x) {
  return detail::with_far_angles(
      x,
      [](Vec<double> v) {
        const detail::Quadrant a = detail::reduce_angle(v);
        return detail::sin_quadrant(a.r, a.q + Vec<int64_t>(1));
      },
      detail::far_cos);
}
TORCH_VEC_INLINE Vec<float> tan(Vec<float> x) {
  return detail::with_far_angles(
      x,
      [](Vec<double> v) {
        const detail::Quadrant a = detail::reduce_angle(v);
        return detail::sin_quadrant(a.r, a.q) / detail::sin_quadrant(a.r, a.q + Vec<int64_t>(1));
      },
      detail::far_tan);
}
TORCH_VEC_INLINE Vec<float> asin(Vec<float> x) {
  return in_double(x, [](Vec<double> v) {
    const detail::Arc a = detail::arc_sine(abs(v));
    return copysign(select(a.folded, Vec<double>(kPi / 2) - (a.p + a.p), a.p), v);
  });
}
TORCH_VEC_INLINE Vec<float> acos(Vec<float> x) {
  return in_double(x, [](Vec<double> v) {
    using V = Vec<double>;
    const detail::Arc a = detail::arc_sine(abs(v));
    const V twice = a.p + a.p;
    return select(a.folded, select(v < V(0), V(kPi) - twice, twice), V(kPi / 2) - copysign(a.p, v));
  });
}
TORCH_VEC_INLINE Vec<float> atan(Vec<float> x) {
  return in_double(x, [](Vec<double> v) {
    using V = Vec<double>;
    const V a = abs(v);
    const Mask<double> steep = a > V(1);
    const V p = detail::atan_reduced(select(steep, V(1) / a, a));
    return copysign(select(steep, V(kPi / 2) - p, p), v);
  });
}
TORCH_VEC_INLINE Vec<float> atan2(Vec<float> y, Vec<float> x) {
  return in_double(y, x, [](Vec<double> v, Vec<double> u) {
    using V = Vec<double>;
    const V a = abs(u), b = abs(v);
    const Mask<double> steep = b > a;
    const V small = select(steep, a, b), large = select(steep, b, a);
    V t = small / large;
    t = select(large == V(0), V(0), select(small == V(kInfinity<double>), V(1), t));
    V p = detail::atan_reduced(t);
    p = select(steep, V(kPi / 2) - p, p);
    p = select(as_mask<double>(bits_of(u) < Vec<int64_t>(0)), V(kPi) - p, p);
    p = copysign(p, v);
    return select(isnan(u) | isnan(v), u + v, p);
  });
}

}  // namespace torch::TORCH_ISA::math
