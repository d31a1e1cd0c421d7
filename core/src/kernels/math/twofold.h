// Doubles of twice the precision, for functions whose result would otherwise be off by more than its rounding: sums
// that are not evaluated, high + low with |low| at most half a last place of high. They need a fused multiply-add;
// processors without one (TORCH_CPU_LEVEL=v2) leave to libm what is computed with them.
//
// A compiler that fuses a product into the sum behind it would compute another high than the one that low belongs to:
// what goes into a sum here comes from product(), which is a fused operation already.
#pragma once
#include "kernels/math/exponential.h"

namespace torch::TORCH_ISA::math {

struct Twofold {
  Vec<double> high, low;
};

TORCH_VEC_INLINE Vec<double> product(Vec<double> a, Vec<double> b) { return fma(a, b, Vec<double>(0)); }
TORCH_VEC_INLINE Twofold exact_product(Vec<double> a, Vec<double> b) {
  const Vec<double> high = product(a, b);
  return {high, fma(a, b, -high)};
}
TORCH_VEC_INLINE Twofold exact_sum(Vec<double> a, Vec<double> b) {
  const Vec<double> high = a + b, part = high - a;
  return {high, (a - (high - part)) + (b - part)};
}
TORCH_VEC_INLINE Twofold ordered_sum(Vec<double> a, Vec<double> b) {  // exact for |a| >= |b| and for a = 0
  const Vec<double> high = a + b;
  return {high, b - (high - a)};
}
// n / d with an error of 2^-100 or so, for d far from overflow and underflow; not in order where n and d were not.
TORCH_VEC_INLINE Twofold quotient(Twofold n, Twofold d) {
  const Vec<double> inverse = Vec<double>(1) / d.high, q = product(n.high, inverse);
  return {q, fma(-q, d.low, fma(-q, d.high, n.high) + n.low) * inverse};
}
TORCH_VEC_INLINE Twofold product(Twofold a, Twofold b) {
  const Twofold p = exact_product(a.high, b.high);
  return {p.high, fma(a.high, b.low, fma(a.low, b.high, p.low))};
}

// exp(x) = 2^k e for |x.high| up to 1100, with an error of 2^-58.
struct TwofoldExponential {
  Vec<double> k;
  Twofold e;
};
TORCH_VEC_INLINE TwofoldExponential exponential(Twofold x) {
  using V = Vec<double>;
  const V k = round(x.high * V(kLog2E));
  const V r = fma(k, V(-kLn2High<double>), x.high);  // exact
  const Twofold reduced = exact_sum(r, -product(k, V(kLn2Low<double>)));
  const Twofold linear = ordered_sum(V(1), reduced.high);
  const V square = reduced.high * reduced.high, tail = expm1_tail(reduced.high);
  const V low = fma(reduced.low + x.low, fma(square, tail, linear.high), linear.low);
  return {k, ordered_sum(linear.high, fma(square, tail, low))};
}

// log(x) of positive finite x, with a relative error of 2^-66.
TORCH_VEC_INLINE Twofold logarithm(Vec<double> x) {
  using V = Vec<double>;
  const Magnitude<double> m = magnitude(x);
  // s = f / (2 + f); log(1 + f) = 2 s + s z (2/3 + z Q(z)), z = s^2.
  const Twofold d = ordered_sum(V(2), m.f);
  const Twofold s = quotient({m.f, V(0)}, d);
  const Twofold z = product(s, s);
  const V q = polynomial(z.high, 0.40000000000002256, 0.28571428570100071, 0.22222222519809132, 0.18181784378845667,
                         0.15386756724880402, 0.13256833136399443, 0.131961760913195);
  const Twofold tail =
      product(product(s, z), ordered_sum(V(0x1.5555555555555p-1), fma(z.high, q, V(0x1.5555555555555p-55))));
  const Twofold lead = ordered_sum(m.k * V(kLn2High<double>), s.high + s.high);
  const Twofold sum = ordered_sum(lead.high, tail.high);
  const V low = fma(m.k, V(kLn2Low<double>), (lead.low + sum.low) + (tail.low + (s.low + s.low)));
  return ordered_sum(sum.high, low);
}

}  // namespace torch::TORCH_ISA::math
