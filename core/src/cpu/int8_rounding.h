// Sums of integers as bytes, the same bits at every level: floats are added and multiplied one by one, and 1.5 * 2^23
// added to a number of at most 255 rounds it to the nearest integer, ties to even, which then stands in its lowest
// bits.
#pragma once
#include <algorithm>
#include <bit>
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

// A product, of numbers or of registers of them, that is not fused with what is added to it: the bits are the same at
// every level.
template <class T>
TORCH_VEC_INLINE T unfused_product(T a, T b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  T c = a * b;
#if defined(__AVX512F__)
  asm("" : "+v"(c));
#elif defined(__SSE2__)
  asm("" : "+x"(c));
#elif defined(__aarch64__)
  asm("" : "+w"(c));
#endif
  return c;
#endif
}
// A sum as a number.
TORCH_VEC_INLINE float number_of(int32_t sum, float step, float scale, float bias) {
  return unfused_product(float(sum), step * scale) + bias;
}
// A number in steps of `scale` as a byte, and back.
TORCH_VEC_INLINE uint8_t quantized(float x, float scale, int32_t zero, uint8_t flip) {
  return uint8_t(byte_of(x / scale, float(-zero), float(255 - zero), zero) ^ flip);
}
TORCH_VEC_INLINE float dequantized(uint8_t x, float scale, int32_t zero, uint8_t flip) {
  return float(int32_t(x ^ flip) - zero) * scale;
}
// The sum of two bytes, also in double.
TORCH_VEC_INLINE uint8_t sum_of(const Int8Sum& p, int64_t i) {
  const double a = double(int32_t(p.a[i] ^ p.flip) - p.zero_a) * double(p.scale_a),
               b = double(int32_t(p.b[i] ^ p.flip) - p.zero_b) * double(p.scale_b);
  const float least = p.relu ? 0.0f : float(-p.zero), most = float(255 - p.zero);
  return uint8_t(byte_of(float(a + b), least, most, p.zero) ^ p.flip);
}
// A sum of products as a byte.
TORCH_VEC_INLINE uint8_t byte_of_sum(int32_t sum, float bias, float scale, const Int8Result& r) {
  return uint8_t(byte_of((float(sum) + bias) * scale, least_of(r), most_of(r), r.zero) ^ r.flip);
}

// n sums of one row of the weight.
inline void bytes_of_row(const int32_t* sums, int64_t n, int32_t less, float bias, float scale, const Int8Result& r,
                         uint8_t* out) {
  const float least = least_of(r), most = most_of(r);
  const int32_t zero = r.zero;
  const uint8_t flip = r.flip;
  for (int64_t i = 0; i < n; ++i)
    out[i] = uint8_t(byte_of((float(sums[i] - less) + bias) * scale, least, most, zero) ^ flip);
}

}  // namespace torch::TORCH_ISA
