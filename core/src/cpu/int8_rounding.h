// Sums of integers as bytes, the same bits at every level: floats are added and multiplied one by one, and 1.5 * 2^23
// added to a number of at most 255 rounds it to the nearest integer, ties to even, which then stands in its lowest
// bits.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "cpu/int8_kernels.h"

namespace torch::TORCH_ISA {

// A number as a byte with that zero point; NaN gives the least.
inline uint8_t byte_of(float steps, float least, float most, int32_t zero) {
  constexpr float kRounding = 12582912.0f;
  steps = steps > least ? steps : least;
  steps = steps < most ? steps : most;
  return uint8_t(std::bit_cast<int32_t>(steps + kRounding) - std::bit_cast<int32_t>(kRounding) + zero);
}
inline float least_of(const Int8Result& r) { return r.relu ? 0.0f : float(-r.zero); }
inline float most_of(const Int8Result& r) { return float(255 - r.zero); }

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
