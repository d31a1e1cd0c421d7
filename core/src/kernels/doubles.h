// A register of floats as two of doubles and back, as vec.h has it, where GCC makes several instructions of one:
// __builtin_convertvector of half a register goes through memory with AVX2 (GCC 12).
#pragma once
#include "kernels/vec.h"

namespace torch::TORCH_ISA {

TORCH_VEC_INLINE DoublePair doubles_of(Vec<float> x) {
#if defined(__AVX2__) && !defined(TORCH_VEC_AVX512)
  const __m256 v = (__m256)x.raw;
  return {Vec<double>((Vec<double>::Raw)_mm256_cvtps_pd(_mm256_castps256_ps128(v))),
          Vec<double>((Vec<double>::Raw)_mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)))};
#else
  return to_double(x);
#endif
}
TORCH_VEC_INLINE Vec<float> floats_of(DoublePair x) {
#if defined(__AVX2__) && !defined(TORCH_VEC_AVX512)
  return Vec<float>(
      (Vec<float>::Raw)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)x.high.raw), _mm256_cvtpd_ps((__m256d)x.low.raw)));
#else
  return to_float(x);
#endif
}

}  // namespace torch::TORCH_ISA
