// Tiles of products of small integers: rows of a weight, read four bytes at a time and given to all lanes, times panels
// of inputs, whose lanes are places of the result. A lane of 32 bits holds the next four bytes where the processor has
// vpdpbusd, else the next two numbers as 16 bits for vpmaddwd, or for two products of a plain vector.
#pragma once
#include <cstdint>
#include <cstring>

#include "cpu/int8_kernels.h"
#if defined(__SSE4_1__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__)
#define TORCH_VNNI __attribute__((target("avx512vnni")))
#endif
#define TORCH_TILE __attribute__((always_inline)) inline

namespace torch::TORCH_ISA {

// Each engine: V is a register of kLanes sums; a step takes kDepth integers, which are of type Weight in rows. kRows
// rows and kVectors registers make the biggest tile. panel() reads what a panel holds for a register, kPanel bytes.
#if defined(__AVX512F__) && defined(__AVX512BW__)
struct BytesOf512 {
  using V = __m512i;
  using Weight = int8_t;
  static constexpr int kLanes = 16, kDepth = 4, kRows = 12, kVectors = 2, kPanel = 64;
  static TORCH_TILE V load(const void* at) { return _mm512_loadu_si512(at); }
  static TORCH_TILE V panel(const char* at) { return load(at); }
  static TORCH_TILE void store(void* at, V v) { _mm512_storeu_si512(at, v); }
  static TORCH_TILE V none() { return _mm512_setzero_si512(); }
  static TORCH_TILE V all(const Weight* at) {
    int32_t four;
    std::memcpy(&four, at, sizeof four);
    return _mm512_set1_epi32(four);
  }
  static TORCH_TILE void add_products(V& sum, V panel, V weight) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(panel), "v"(weight));
  }
};
struct PairsOf512 {
  using V = __m512i;
  using Weight = int16_t;
  static constexpr int kLanes = 16, kDepth = 2, kRows = 12, kVectors = 2, kPanel = 64;
  static TORCH_TILE V load(const void* at) { return _mm512_loadu_si512(at); }
  static TORCH_TILE V panel(const char* at) { return load(at); }
  static TORCH_TILE void store(void* at, V v) { _mm512_storeu_si512(at, v); }
  static TORCH_TILE V none() { return _mm512_setzero_si512(); }
  static TORCH_TILE V all(const Weight* at) {
    int32_t two;
    std::memcpy(&two, at, sizeof two);
    return _mm512_set1_epi32(two);
  }
  static TORCH_TILE void add_products(V& sum, V panel, V weight) {
    sum = _mm512_add_epi32(sum, _mm512_madd_epi16(panel, weight));
  }
};
using Pairs = PairsOf512;
#elif defined(__AVX2__)
struct Pairs {
  using V = __m256i;
  using Weight = int16_t;
  static constexpr int kLanes = 8, kDepth = 2, kRows = 6, kVectors = 2, kPanel = 32;
  static TORCH_TILE V load(const void* at) { return _mm256_loadu_si256(static_cast<const V*>(at)); }
  static TORCH_TILE V panel(const char* at) { return load(at); }
  static TORCH_TILE void store(void* at, V v) { _mm256_storeu_si256(static_cast<V*>(at), v); }
  static TORCH_TILE V none() { return _mm256_setzero_si256(); }
  static TORCH_TILE V all(const Weight* at) {
    int32_t two;
    std::memcpy(&two, at, sizeof two);
    return _mm256_set1_epi32(two);
  }
  static TORCH_TILE void add_products(V& sum, V panel, V weight) {
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(panel, weight));
  }
};
#elif defined(__SSE4_1__)
struct Pairs {
  using V = __m128i;
  using Weight = int16_t;
  static constexpr int kLanes = 4, kDepth = 2, kRows = 6, kVectors = 2, kPanel = 16;
  static TORCH_TILE V load(const void* at) { return _mm_loadu_si128(static_cast<const V*>(at)); }
  static TORCH_TILE V panel(const char* at) { return load(at); }
  static TORCH_TILE void store(void* at, V v) { _mm_storeu_si128(static_cast<V*>(at), v); }
  static TORCH_TILE V none() { return _mm_setzero_si128(); }
  static TORCH_TILE V all(const Weight* at) {
    int32_t two;
    std::memcpy(&two, at, sizeof two);
    return _mm_set1_epi32(two);
  }
  static TORCH_TILE void add_products(V& sum, V panel, V weight) {
    sum = _mm_add_epi32(sum, _mm_madd_epi16(panel, weight));
  }
};
#else
struct Pairs {
  typedef int32_t V __attribute__((vector_size(16)));
  using Weight = int16_t;
  static constexpr int kLanes = 4, kDepth = 2, kRows = 6, kVectors = 2, kPanel = 16;
  static TORCH_TILE V load(const void* at) {
    V v;
    std::memcpy(&v, at, sizeof v);
    return v;
  }
  static TORCH_TILE V panel(const char* at) { return load(at); }
  static TORCH_TILE void store(void* at, V v) { std::memcpy(at, &v, sizeof v); }
  static TORCH_TILE V none() { return V{}; }
  static TORCH_TILE V all(const Weight* at) {
    int32_t two;
    std::memcpy(&two, at, sizeof two);
    return V{} + two;
  }
  // The halves of a lane, each with its sign: the same on machines of either byte order.
  static TORCH_TILE void add_products(V& sum, V panel, V weight) {
    sum += ((panel << 16) >> 16) * ((weight << 16) >> 16) + (panel >> 16) * (weight >> 16);
  }
};
#endif

// R rows of the weight, `stride` apart, times N registers of a panel; sums stand in rows of `pitch`, and are added to
// where this is not the first block of K.
template <class T, int R, int N>
TORCH_TILE void tile(const typename T::Weight* w, int64_t stride, const char* panel, int64_t steps, int32_t* sums,
                     int64_t pitch, bool first) {
  using V = typename T::V;
  constexpr int kThirds = (R + 2) / 3;  // every third row has a pointer, the two after it follow by stride
  const typename T::Weight* row[kThirds];
  for (int i = 0; i < kThirds; ++i) row[i] = w + 3 * i * stride;
  V acc[R][N];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) acc[r][n] = first ? T::none() : T::load(sums + r * pitch + n * T::kLanes);
  for (int64_t s = 0; s < steps; ++s) {
    V in[N];
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) in[n] = T::panel(panel + (s * N + n) * T::kPanel);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      const V each = T::all(row[r / 3] + (r % 3) * stride + s * T::kDepth);
#pragma GCC unroll 2
      for (int n = 0; n < N; ++n) T::add_products(acc[r][n], in[n], each);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) T::store(sums + r * pitch + n * T::kLanes, acc[r][n]);
}

// All rows of the weight times a panel.
template <class T, int N>
TORCH_TILE void rows_times_panel(const typename T::Weight* w, int64_t rows, int64_t stride, const char* panel,
                                 int64_t steps, int32_t* sums, int64_t pitch, bool first) {
  int64_t r = 0;
  for (; r + T::kRows <= rows; r += T::kRows)
    tile<T, T::kRows, N>(w + r * stride, stride, panel, steps, sums + r * pitch, pitch, first);
  for (; r + 4 <= rows; r += 4) tile<T, 4, N>(w + r * stride, stride, panel, steps, sums + r * pitch, pitch, first);
  for (; r < rows; ++r) tile<T, 1, N>(w + r * stride, stride, panel, steps, sums + r * pitch, pitch, first);
}

}  // namespace torch::TORCH_ISA
