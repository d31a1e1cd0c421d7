// The winners of windows, a byte in memory and an int in a lane.
#pragma once
#include <cstring>

#include "kernels/conv_simd.h"

namespace torch::TORCH_ISA {

typedef int32_t Winners __attribute__((vector_size(kVectorBytes)));

// With a mask, since the plain forms start from a register that g++ 12 holds for uninitialized.
TORCH_INLINE Winners load_winners(int count, const uint8_t* p) {
  constexpr int W = Simd<float>::kWidth;
  uint8_t bytes[W] = {};
  std::memcpy(bytes, p, size_t(count));
#if defined(TORCH_CONV_AVX512)
  return (Winners)_mm512_maskz_cvtepu8_epi32(__mmask16(-1), _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
#elif defined(__AVX2__)
  return (Winners)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
#else
  Winners v{};
  for (int i = 0; i < W; i++) v[i] = bytes[i];
  return v;
#endif
}
TORCH_INLINE void store_winners(LaneMask mask, uint8_t* p, Winners v) {
#if defined(TORCH_CONV_AVX512)
  _mm512_mask_cvtepi32_storeu_epi8(p, __mmask16(mask), (__m512i)v);
#elif defined(__AVX2__)
  const __m256i wide = (__m256i)v;
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
  const __m128i bytes = _mm_packus_epi16(words, words);
  if (mask == Simd<float>::kAll) return _mm_storel_epi64(reinterpret_cast<__m128i*>(p), bytes);
  uint64_t rest = uint64_t(_mm_cvtsi128_si64(bytes));
  for (int i = 0; i < Simd<float>::kWidth; i++, rest >>= 8)
    if (mask >> i & 1) p[i] = uint8_t(rest);
#else
  for (int i = 0; i < Simd<float>::kWidth; i++)
    if (mask >> i & 1) p[i] = uint8_t(v[i]);
#endif
}

}  // namespace torch::TORCH_ISA
