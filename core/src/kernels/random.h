// From random words to distributions, on scalars and vectors. The logarithm and the circle are series of our own: their
// arguments are in [0, 1], and the same formula on every machine gives the same numbers but for the last bit.
#pragma once
#include <cstdint>
#include <type_traits>

#include "kernels/vec.h"

namespace torch::TORCH_ISA {

// 1.5 * 2^52 (2^23): a small integer k is the lowest bits of kShift + k, so adding it converts between the two. AVX2
// has no instruction for 64-bit integers.
template <class T>
constexpr T kShift = std::is_same_v<T, float> ? T(12582912.0) : T(6755399441055744.0);
template <class T>
TORCH_VEC_INLINE Vec<T> small_to_float(Vec<LaneInt<T>> k) {
  return from_bits<T>(k + Vec<LaneInt<T>>(bits_of(kShift<T>))) - Vec<T>(kShift<T>);
}

// ln(x) for normal x in (0, 1]:  x = 2^e * m with m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh((m - 1) / (m + 1)).
template <class T>
TORCH_VEC_INLINE Vec<T> log_of_unit(Vec<T> x) {
  constexpr int kFraction = std::is_same_v<T, float> ? 23 : 52, kTerms = std::is_same_v<T, float> ? 5 : 10;
  using I = LaneInt<T>;
  constexpr I kRootHalf = std::is_same_v<T, float> ? I(0x3f3504f3) : I(0x3fe6a09e667f3bcdLL);
  const Vec<I> shifted = bits_of(x) - Vec<I>(kRootHalf), e = shifted >> kFraction;  // arithmetic shift: floor
  const Vec<T> m = from_bits<T>(bits_of(x) - (e << kFraction)), exponent = small_to_float<T>(e);
  const Vec<T> s = (m - Vec<T>(1)) / (m + Vec<T>(1)), z = s * s;
  Vec<T> series(T(1) / T(2 * kTerms - 1));
  for (int i = kTerms - 2; i >= 0; --i) series = fma(series, z, Vec<T>(T(1) / T(2 * i + 1)));
  constexpr double kLn2 = 0.693147180559945309417232121458;
  constexpr T kHigh = std::is_same_v<T, float> ? T(0.693359375) : T(0.693147180369123816490);  // its last bits are zero
  return fma(exponent, Vec<T>(kHigh), fma(exponent, Vec<T>(T(kLn2 - double(kHigh))), Vec<T>(2) * s * series));
}

// Sine and cosine of 2 pi u for u in [-1, 1]: the quarter turn is exact, the rest by Taylor's series.
template <class T>
struct Turn {
  Vec<T> sin, cos;
};
template <class T>
TORCH_VEC_INLINE Turn<T> turn(Vec<T> u) {
  using I = LaneInt<T>;
  constexpr int kTerms = std::is_same_v<T, float> ? 6 : 10;
  constexpr double kPi = 3.141592653589793238462643383280;
  const Vec<T> shifted = u * Vec<T>(4) + Vec<T>(kShift<T>), quarter = shifted - Vec<T>(kShift<T>);
  const Vec<T> x = (u - quarter * Vec<T>(T(0.25))) * Vec<T>(T(2 * kPi)), z = x * x;
  // sin x = x (1 - z/6 (1 - z/20 (1 - ...))), cos x = 1 - z/2 (1 - z/12 (1 - ...))
  Vec<T> sine(1), cosine(1);
  for (int i = kTerms - 1; i >= 1; --i) {
    sine = fma(sine * z, Vec<T>(T(-1) / T(2 * i * (2 * i + 1))), Vec<T>(1));
    cosine = fma(cosine * z, Vec<T>(T(-1) / T(2 * i * (2 * i - 1))), Vec<T>(1));
  }
  sine = sine * x;
  const Vec<I> q = bits_of(shifted) & Vec<I>(3);
  const Mask<T> swapped = {(q & Vec<I>(1)).raw != Vec<I>(0).raw};
  const Vec<T> first = select(swapped, cosine, sine), second = select(swapped, sine, cosine);
  constexpr int kSign = int(sizeof(T)) * 8 - 1;
  const Vec<I> sin_sign = (q >> 1) << kSign, cos_sign = ((q + Vec<I>(1)) >> 1) << kSign;
  return {from_bits<T>(bits_of(first) ^ sin_sign), from_bits<T>(bits_of(second) ^ cos_sign)};
}

// Words as numbers of [0, 1) with `bits` bits, or strictly between 0 and 1.
TORCH_VEC_INLINE Vec<float> unit(Vec<uint32_t> w, int bits) {
  return convert<float>(bitcast<int32_t>(w >> (32 - bits))) * Vec<float>(1.0f / float(uint32_t(1) << bits));
}
TORCH_VEC_INLINE Vec<float> open_unit(Vec<uint32_t> w) {
  return (convert<float>(bitcast<int32_t>(w >> 9)) + Vec<float>(0.5f)) * Vec<float>(1.0f / float(1 << 23));
}
// The integer goes into the fraction of a number in [1, 2): no conversion from 64 bits needed.
TORCH_VEC_INLINE Vec<double> open_unit(Vec<uint64_t> w) {
  const Vec<int64_t> fraction = bitcast<int64_t>((w >> 12) | Vec<uint64_t>(uint64_t(0x3ff) << 52));
  return from_bits<double>(fraction) - Vec<double>(1 - 1.0 / double(uint64_t(1) << 53));
}
TORCH_VEC_INLINE Vec<double> unit(Vec<uint64_t> w) {
  const Vec<int64_t> fraction = bitcast<int64_t>((w >> 12) | Vec<uint64_t>(uint64_t(0x3ff) << 52));
  const Vec<uint64_t> lowest = Vec<uint64_t>(0) - ((w >> 11) & Vec<uint64_t>(1));  // adds 2^-53
  const Vec<double> last = from_bits<double>(bitcast<int64_t>(lowest & Vec<uint64_t>(uint64_t(1023 - 53) << 52)));
  return (from_bits<double>(fraction) - Vec<double>(1)) + last;
}

}  // namespace torch::TORCH_ISA
