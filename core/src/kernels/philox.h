// Philox4x32-10 on vectors. A word sits in the lower half of a 64-bit lane, where one multiplication gives both halves
// of the product; what is left in the upper halves is ignored by the next multiplication.
//
// A group of 8 counters with words w0 .. w3 gives 32 words of output: w0[0] w1[0] w0[1] w1[1] ... w0[7] w1[7], then the
// same of w2 and w3. The order does not depend on the width of the vectors.
#pragma once
#include <cstdint>

#include "cpu/random_kernels.h"
#include "kernels/vec.h"

namespace torch::TORCH_ISA {

using Words = Vec<uint64_t>;

TORCH_VEC_INLINE Words multiply_low(Words a, Words b) {
#if defined(TORCH_VEC_AVX512)
  return (Words::Raw)_mm512_maskz_mul_epu32(0xff, (__m512i)a.raw, (__m512i)b.raw);  // gcc 12 warns about the plain one
#elif defined(__AVX2__)
  return (Words::Raw)_mm256_mul_epu32((__m256i)a.raw, (__m256i)b.raw);
#elif defined(__SSE2__)
  return (Words::Raw)_mm_mul_epu32((__m128i)a.raw, (__m128i)b.raw);
#else
  const Words low(uint64_t(0xffffffff));
  return (a & low).raw * (b & low).raw;
#endif
}

// `groups` groups from the stream's position on.
inline void philox_groups(RandomStream stream, int64_t groups, uint32_t* out) {
  constexpr int kLanes = Words::kLanes, kPer = 8 / kLanes;  // vectors per group
  constexpr int kSide = kPer < 4 ? 4 / kPer : 1;            // groups side by side, which hides the products' latency
  constexpr int kVectors = kPer * kSide;
  const Words m0(uint64_t(0xD2511F53)), m1(uint64_t(0xCD9E8D57)), low(uint64_t(0xffffffff));
  uint64_t lane_index[kLanes];
  for (int i = 0; i < kLanes; ++i) lane_index[i] = uint64_t(i);
  const Words lanes = load<uint64_t>(lane_index);
  for (int64_t g = 0; g < groups; g += kSide) {
    uint32_t spare[kSide * kWordsPerGroup];
    uint32_t* const to = g + kSide <= groups ? out + g * kWordsPerGroup : spare;
    Words c0[kVectors], c1[kVectors], c2[kVectors], c3[kVectors];
    const uint64_t first = (stream.position + uint64_t(g)) * 8;
    for (int v = 0; v < kVectors; ++v) {
      const Words counter = lanes + Words(first + uint64_t(v * kLanes));
      c0[v] = counter;
      c1[v] = counter >> 32;
      c2[v] = c3[v] = Words(uint64_t(0));
    }
    uint32_t k0 = uint32_t(stream.seed), k1 = uint32_t(stream.seed >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85)
      for (int v = 0; v < kVectors; ++v) {
        const Words p0 = multiply_low(m0, c0[v]), p1 = multiply_low(m1, c2[v]);
        c0[v] = (p1 >> 32) ^ c1[v] ^ Words(uint64_t(k0));
        c2[v] = (p0 >> 32) ^ c3[v] ^ Words(uint64_t(k1));
        c1[v] = p1;
        c3[v] = p0;
      }
    for (int v = 0; v < kVectors; ++v) {
      uint32_t* const group = to + v / kPer * kWordsPerGroup + v % kPer * 2 * kLanes;
      store(group, (c0[v] & low) | (c1[v] << 32));
      store(group + 16, (c2[v] & low) | (c3[v] << 32));
    }
    if (to == spare)
      for (int64_t i = 0; i < (groups - g) * kWordsPerGroup; ++i) out[g * kWordsPerGroup + i] = spare[i];
  }
}

}  // namespace torch::TORCH_ISA
