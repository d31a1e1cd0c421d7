// One machine vector of the level this file is compiled for, as convolution and pooling need it: loads and stores by
// lane mask, de-interleaving for stride 2, and a register transpose. Arithmetic uses the operators of GCC's vector
// types.
#pragma once
#include <cstdint>
#include <utility>

#include "torch/core/macros.h"

#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace torch::TORCH_ISA {

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#define TORCH_CONV_AVX512 1
inline constexpr int kVectorBytes = 64, kVectorRegisters = 32;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32, kVectorRegisters = 16;
#else
inline constexpr int kVectorBytes = 16, kVectorRegisters = 16;
#endif

using LaneMask = uint32_t;  // bit i stands for lane i; may cover two vectors, the upper one in the upper bits

TORCH_INLINE LaneMask first_lanes(int n) { return n >= 32 ? ~0u : n <= 0 ? 0u : (1u << n) - 1; }
TORCH_INLINE LaneMask lane_range(int begin, int end) { return first_lanes(end) & ~first_lanes(begin); }

template <class T>
struct Simd {
  static constexpr int kWidth = kVectorBytes / int(sizeof(T));
  static constexpr LaneMask kAll = kWidth == 32 ? ~0u : (1u << kWidth) - 1;
  typedef T V __attribute__((vector_size(kVectorBytes)));
  typedef T Loose __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));

  static TORCH_INLINE V load(const T* p) { return *reinterpret_cast<const Loose*>(p); }
  static TORCH_INLINE void store(T* p, V v) { *reinterpret_cast<Loose*>(p) = v; }
  static TORCH_INLINE V fill(T x) { return fill(Lanes{}, x); }

  // A mask in the form that loads take, for loops that use it often.
#if defined(__AVX2__) && !defined(TORCH_CONV_AVX512)
  using Held = __m256i;
  static TORCH_INLINE Held held(LaneMask mask) { return lane_bits(mask); }
  static TORCH_INLINE V load(Held mask, const T* p) {
    if constexpr (sizeof(T) == 4)
      return (V)_mm256_maskload_ps(p, mask);
    else
      return (V)_mm256_maskload_pd(p, mask);
  }
#else
  using Held = LaneMask;
  static TORCH_INLINE Held held(LaneMask mask) { return mask; }
#endif

  // Lanes outside the mask touch no memory: they read as zero, or keep `other`.
  static TORCH_INLINE V load(LaneMask mask, const T* p) {
#if defined(TORCH_CONV_AVX512)
    if constexpr (sizeof(T) == 4)
      return (V)_mm512_maskz_loadu_ps(__mmask16(mask), p);
    else
      return (V)_mm512_maskz_loadu_pd(__mmask8(mask), p);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4)
      return (V)_mm256_maskload_ps(p, lane_bits(mask));
    else
      return (V)_mm256_maskload_pd(p, lane_bits(mask));
#else
    V v{};
    for (int i = 0; i < kWidth; i++)
      if (mask >> i & 1) v[i] = p[i];
    return v;
#endif
  }
  static TORCH_INLINE V load(LaneMask mask, const T* p, V other) {
#if defined(TORCH_CONV_AVX512)
    if constexpr (sizeof(T) == 4)
      return (V)_mm512_mask_loadu_ps((__m512)other, __mmask16(mask), p);
    else
      return (V)_mm512_mask_loadu_pd((__m512d)other, __mmask8(mask), p);
#elif defined(__AVX2__)
    return select(mask, load(mask, p), other);
#else
    for (int i = 0; i < kWidth; i++)
      if (mask >> i & 1) other[i] = p[i];
    return other;
#endif
  }
  static TORCH_INLINE void store(LaneMask mask, T* p, V v) {
#if defined(TORCH_CONV_AVX512)
    if constexpr (sizeof(T) == 4)
      _mm512_mask_storeu_ps(p, __mmask16(mask), (__m512)v);
    else
      _mm512_mask_storeu_pd(p, __mmask8(mask), (__m512d)v);
#elif defined(__AVX2__)
    // Zen 3 takes 12 cycles for a store with a mask, and 1 without (uops.info).
    mask &= kAll;
    if (mask == kAll)
      store(p, v);
    else if (mask == 0)
      return;
    else if constexpr (sizeof(T) == 4)
      _mm256_maskstore_ps(p, lane_bits(mask), (__m256)v);
    else
      _mm256_maskstore_pd(p, lane_bits(mask), (__m256d)v);
#else
    for (int i = 0; i < kWidth; i++)
      if (mask >> i & 1) p[i] = v[i];
#endif
  }
  // a where the mask is set, else b.
  static TORCH_INLINE V select(LaneMask mask, V a, V b) {
#if defined(TORCH_CONV_AVX512)
    if constexpr (sizeof(T) == 4)
      return (V)_mm512_mask_mov_ps((__m512)b, __mmask16(mask), (__m512)a);
    else
      return (V)_mm512_mask_mov_pd((__m512d)b, __mmask8(mask), (__m512d)a);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4)
      return (V)_mm256_blendv_ps((__m256)b, (__m256)a, _mm256_castsi256_ps(lane_bits(mask)));
    else
      return (V)_mm256_blendv_pd((__m256d)b, (__m256d)a, _mm256_castsi256_pd(lane_bits(mask)));
#else
    for (int i = 0; i < kWidth; i++)
      if (mask >> i & 1) b[i] = a[i];
    return b;
#endif
  }

  static TORCH_INLINE V even(V a, V b) { return even(Lanes{}, a, b); }  // a0 a2 ... b0 b2 ...
  static TORCH_INLINE V odd(V a, V b) { return odd(Lanes{}, a, b); }    // a1 a3 ... b1 b3 ...
  template <int kFirst>
  static TORCH_INLINE V from_lane(V a, V b) {  // those of a from kFirst on, and the first ones of b
    return from_lane<kFirst>(Lanes{}, a, b);
  }
  static TORCH_INLINE V zip_low(V a, V b) { return zip(Lanes{}, a, b); }    // a0 b0 a1 b1 ..., first half
  static TORCH_INLINE V zip_high(V a, V b) { return zip2(Lanes{}, a, b); }  // second half

  static TORCH_INLINE T sum(V v) {
    T lanes[kWidth];
    store(lanes, v);
    for (int n = kWidth / 2; n; n /= 2)
      for (int i = 0; i < n; i++) lanes[i] += lanes[i + n];
    return lanes[0];
  }

  // kWidth rows of kWidth lanes, turned over their diagonal: log2(kWidth) rounds of interleaving.
  static TORCH_INLINE void transpose(V (&row)[kWidth]) {
    for (int step = 1; step < kWidth; step *= 2) {
      V next[kWidth];
      for (int i = 0; i < kWidth / 2; i++) {
        next[2 * i] = zip_low(row[i], row[i + kWidth / 2]);
        next[2 * i + 1] = zip_high(row[i], row[i + kWidth / 2]);
      }
      for (int i = 0; i < kWidth; i++) row[i] = next[i];
    }
  }

 private:
  using Lanes = std::make_integer_sequence<int, kWidth>;
  template <int... I>
  static TORCH_INLINE V fill(std::integer_sequence<int, I...>, T x) {
    return V{((void)I, x)...};
  }
  template <int... I>
  static TORCH_INLINE V even(std::integer_sequence<int, I...>, V a, V b) {
    return __builtin_shufflevector(a, b, (2 * I)...);
  }
  template <int... I>
  static TORCH_INLINE V odd(std::integer_sequence<int, I...>, V a, V b) {
    return __builtin_shufflevector(a, b, (2 * I + 1)...);
  }
  template <int kFirst, int... I>
  static TORCH_INLINE V from_lane(std::integer_sequence<int, I...>, V a, V b) {
    return __builtin_shufflevector(a, b, (I + kFirst)...);
  }
  template <int... I>
  static TORCH_INLINE V zip(std::integer_sequence<int, I...>, V a, V b) {
    return __builtin_shufflevector(a, b, (I / 2 + I % 2 * kWidth)...);
  }
  template <int... I>
  static TORCH_INLINE V zip2(std::integer_sequence<int, I...>, V a, V b) {
    return __builtin_shufflevector(a, b, (kWidth / 2 + I / 2 + I % 2 * kWidth)...);
  }
#if defined(__AVX2__) && !defined(TORCH_CONV_AVX512)
  static TORCH_INLINE __m256i lane_bits(LaneMask mask) {
    if constexpr (sizeof(T) == 4) {
      const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
      return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(int(mask)), bit), bit);
    } else {
      const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
      return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(mask), bit), bit);
    }
  }
#endif
};

// Lane i of a stride-2 read needs element 2 * i: the mask with a zero between any two bits.
TORCH_INLINE uint64_t spread_lanes(LaneMask mask) {
#if defined(__BMI2__)
  return _pdep_u64(mask, 0x5555555555555555u);
#else
  uint64_t m = mask;
  m = (m | m << 16) & 0x0000ffff0000ffffu;
  m = (m | m << 8) & 0x00ff00ff00ff00ffu;
  m = (m | m << 4) & 0x0f0f0f0f0f0f0f0fu;
  m = (m | m << 2) & 0x3333333333333333u;
  return (m | m << 1) & 0x5555555555555555u;
#endif
}

}  // namespace torch::TORCH_ISA
