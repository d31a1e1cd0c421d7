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

// Row i as integers with `offset` added, filled up to `stride` with zeros, which meet zeros of the weight; what a step
// of it stands for. Bytes stay as they are where they are to be uint8, else their zero point is taken away.
template <class Q>
inline float row_of_integers(const Int8Linear& p, int64_t i, int offset, Q* row, int64_t stride) {
  std::fill(row + p.k, row + stride, Q(0));
  if (!p.bytes) return rounded(p.x + i * p.k, p.k, row, offset);
  const uint8_t* from = p.bytes + i * p.k;
  const int zero = sizeof(Q) == 1 ? 0 : p.zero;
  for (int64_t l = 0; l < p.k; ++l) row[l] = Q((from[l] ^ p.result.flip) - zero);
  return 0;
}

}  // namespace torch::TORCH_ISA
