// Sums of integers as bytes, the same bits at every level: floats are added and multiplied one by one, or by a std::fma
// that is rounded once everywhere, and 1.5 * 2^23 added to a number of at most 255 rounds it to the nearest integer,
// ties to even, which then stands in its lowest bits.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "cpu/int8_kernels.h"
#include "kernels/vec.h"

namespace torch::TORCH_ISA {

// A number as a byte with that zero point; NaN gives the least.
TORCH_VEC_INLINE uint8_t byte_of(float steps, float least, float most, int32_t zero) {
  constexpr float kRounding = 12582912.0f;
  steps = steps > least ? steps : least;
  steps = steps < most ? steps : most;
  return uint8_t(std::bit_cast<int32_t>(steps + kRounding) - std::bit_cast<int32_t>(kRounding) + zero);
}
TORCH_VEC_INLINE float least_of(const Int8Result& r) { return r.relu ? 0.0f : float(-r.zero); }
TORCH_VEC_INLINE float most_of(const Int8Result& r) { return float(255 - r.zero); }

// Bits of a number as an integer of the same order, NaN beyond infinity; and back.
TORCH_VEC_INLINE int32_t in_order(int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }
TORCH_VEC_INLINE int32_t in_order(float x) { return in_order(std::bit_cast<int32_t>(x)); }

// What the bytes of an input are that is rounded as it comes: round(x * inverse) + zero, up to `last`.
struct Int8Steps {
  float scale, inverse;
  int32_t zero, last;
};
// For numbers between two, zero among them, which come as in_order() makes them: the range of a byte, or half of it
// (`reduce_range`), is that of the numbers, and zero has a byte of its own. Steps are not below 6.1e-5. This is
// FBGEMM's choice, and with it PyTorch's. Both ends of half a range may be rounded away from it: the last byte is 128.
// Where a number is NaN or infinite, no scale is good for all: it is NaN, and so is what follows.
TORCH_VEC_INLINE Int8Steps steps_between(int32_t least, int32_t most, bool reduce_range) {
  constexpr float kSmallest = 6.1e-5f, kGreatest = 3.4028235e38f;
  constexpr int32_t kInfinity = 0x7f800000, kMinusInfinity = -kInfinity - 1;
  const int32_t range = reduce_range ? 127 : 255, last = reduce_range ? 128 : 255;
  if (most >= kInfinity || least <= kMinusInfinity) return {std::bit_cast<float>(0x7fc00000), 0, 0, last};
  float low = std::bit_cast<float>(in_order(least));
  double scale = (double(std::bit_cast<float>(most)) - double(low)) / range;
  if (float(scale) == 0 || 1 / float(scale) > kGreatest) scale = double(0.1f);
  if (scale < double(kSmallest)) {
    low *= float(double(kSmallest) / scale);
    scale = double(kSmallest);
  }
  const double zero = -double(low) / scale;
  const float step = float(scale);
  return {step, 1 / step, int32_t(std::rint(zero < range ? zero : range)), last};
}
// The zero point is added before a number is rounded, and once, which decides ties: the integers are PyTorch's.
TORCH_VEC_INLINE uint8_t byte_in(const Int8Steps& s, float x) {
  return byte_of(std::fma(x, s.inverse, float(s.zero)), 0, float(s.last), 0);
}
// A sum as a number.
TORCH_VEC_INLINE float number_of(int32_t sum, float step, float scale, float bias) {
  return std::fma(float(sum), step * scale, bias);
}
// A number as a byte, by the inverse of the scale, as in PyTorch (a quotient would fall to the other side of some
// ties, and so would a number that is rounded before the zero point is added); and back.
TORCH_VEC_INLINE uint8_t quantized(float x, float inverse, int32_t zero, uint8_t flip) {
  return uint8_t(byte_of(std::fma(x, inverse, float(zero)), 0, 255, 0) ^ flip);
}
TORCH_VEC_INLINE float dequantized(uint8_t x, float scale, int32_t zero, uint8_t flip) {
  return float(int32_t(x ^ flip) - zero) * scale;
}
// The sum of what two bytes stand for, by the inverse of its scale; rounded where PyTorch rounds it.
TORCH_VEC_INLINE uint8_t sum_of(const Int8Sum& p, uint8_t a, uint8_t b) {
  const int32_t shift = p.flip;  // 128 for bytes with signs
  const float x = std::fma(float(int32_t(a ^ p.flip) - shift), p.scale_a, p.less_a),
              y = std::fma(float(int32_t(b ^ p.flip) - shift), p.scale_b, p.less_b);
  return uint8_t(byte_of((x + y) * p.inverse, p.relu ? 0.0f : float(-p.zero), float(255 - p.zero), p.zero) ^ p.flip);
}
// A sum of products as a byte.
TORCH_VEC_INLINE uint8_t byte_of_sum(int32_t sum, float bias, float scale, const Int8Result& r) {
  return uint8_t(byte_of((float(sum) + bias) * scale, least_of(r), most_of(r), r.zero) ^ r.flip);
}

// n sums of one row of the weight.
inline void bytes_of_sums(const int32_t* sums, int64_t n, int32_t less, float bias, float scale, const Int8Result& r,
                          uint8_t* out) {
  const float least = least_of(r), most = most_of(r);
  const int32_t zero = r.zero;
  const uint8_t flip = r.flip;
  for (int64_t i = 0; i < n; ++i)
    out[i] = uint8_t(byte_of((float(sums[i] - less) + bias) * scale, least, most, zero) ^ flip);
}

}  // namespace torch::TORCH_ISA
