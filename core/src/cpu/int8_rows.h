// Rows of an input as small integers, for products with a weight of bytes.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "cpu/int8_kernels.h"

namespace torch::TORCH_ISA {

// What a row of the input becomes: integers of 8 bits, and what a step stands for (NaN for a row with NaN or infinity).
template <class Q>
inline float rounded(const float* x, int64_t k, Q* q, int offset) {
  uint32_t most = 0;  // numbers without their sign are ordered as their bits are
  for (int64_t i = 0; i < k; ++i) most = std::max(most, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  const float size = std::bit_cast<float>(most);
  if (most >= 0x7f800000u || 127 / size > 3e38f) {
    std::fill(q, q + k, Q(offset));
    return most >= 0x7f800000u ? std::nanf("") : 0.0f;
  }
  const float inverse = 127 / size;
  for (int64_t i = 0; i < k; ++i) q[i] = Q(int32_t(std::nearbyint(x[i] * inverse)) + offset);
  return size / 127;
}

// Row i as uint8, filled up to `stride` with zeros, which meet zeros of the weight; what a step of it stands for.
inline float row_as_bytes(const Int8Linear& p, int64_t i, uint8_t* row, int64_t stride) {
  std::memset(row + p.k, 0, size_t(stride - p.k));
  if (!p.bytes) return rounded(p.x + i * p.k, p.k, row, 128);
  const uint8_t* from = p.bytes + i * p.k;
  for (int64_t l = 0; l < p.k; ++l) row[l] = from[l] ^ p.result.flip;
  return 0;
}

}  // namespace torch::TORCH_ISA
