// Tiles of products of small integers: a few rows, read four bytes at a time and given to all lanes, times panels,
// whose lanes are places of the result. All engines are exact, and so equal.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cpu/int8_kernels.h"
#include "torch/core/cpu.h"
#if defined(__SSE4_1__)
#include <immintrin.h>
#endif

#define TORCH_TILE __attribute__((always_inline)) inline

namespace torch::TORCH_ISA {

// A register of kLanes sums of 32 bits, and what the levels have for bytes and pairs of 16 bits in its lanes.
#if defined(__AVX512F__) && defined(__AVX512BW__)
#define TORCH_INT8_512
struct Lanes {
  using V = __m512i;
  static constexpr int kLanes = 16, kTile = 24;  // registers of a tile
  static TORCH_TILE V load(const void* at) { return _mm512_loadu_si512(at); }
  static TORCH_TILE void store(void* at, V v) { _mm512_storeu_si512(at, v); }
  static TORCH_TILE V none() { return _mm512_setzero_si512(); }
  static TORCH_TILE V everywhere(int32_t bits) { return _mm512_set1_epi32(bits); }
  static TORCH_TILE V sum(V a, V b) { return _mm512_add_epi32(a, b); }
  static TORCH_TILE V products_of_pairs(V a, V b) { return _mm512_madd_epi16(a, b); }
  static TORCH_TILE V products_of_bytes(V bytes, V with_sign) { return _mm512_maddubs_epi16(bytes, with_sign); }
  static TORCH_TILE V even_bytes(V v) { return _mm512_srai_epi16(_mm512_slli_epi16(v, 8), 8); }
  static TORCH_TILE V odd_bytes(V v) { return _mm512_srai_epi16(v, 8); }
};
#elif defined(__AVX2__)
struct Lanes {
  using V = __m256i;
  static constexpr int kLanes = 8, kTile = 12;
  static TORCH_TILE V load(const void* at) { return _mm256_loadu_si256(static_cast<const V*>(at)); }
  static TORCH_TILE void store(void* at, V v) { _mm256_storeu_si256(static_cast<V*>(at), v); }
  static TORCH_TILE V none() { return _mm256_setzero_si256(); }
  static TORCH_TILE V everywhere(int32_t bits) { return _mm256_set1_epi32(bits); }
  static TORCH_TILE V sum(V a, V b) { return _mm256_add_epi32(a, b); }
  static TORCH_TILE V products_of_pairs(V a, V b) { return _mm256_madd_epi16(a, b); }
  static TORCH_TILE V products_of_bytes(V bytes, V with_sign) { return _mm256_maddubs_epi16(bytes, with_sign); }
  static TORCH_TILE V even_bytes(V v) { return _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8); }
  static TORCH_TILE V odd_bytes(V v) { return _mm256_srai_epi16(v, 8); }
};
#elif defined(__SSE4_1__)
struct Lanes {
  using V = __m128i;
  static constexpr int kLanes = 4, kTile = 12;
  static TORCH_TILE V load(const void* at) { return _mm_loadu_si128(static_cast<const V*>(at)); }
  static TORCH_TILE void store(void* at, V v) { _mm_storeu_si128(static_cast<V*>(at), v); }
  static TORCH_TILE V none() { return _mm_setzero_si128(); }
  static TORCH_TILE V everywhere(int32_t bits) { return _mm_set1_epi32(bits); }
  static TORCH_TILE V sum(V a, V b) { return _mm_add_epi32(a, b); }
  static TORCH_TILE V products_of_pairs(V a, V b) { return _mm_madd_epi16(a, b); }
  static TORCH_TILE V products_of_bytes(V bytes, V with_sign) { return _mm_maddubs_epi16(bytes, with_sign); }
  static TORCH_TILE V even_bytes(V v) { return _mm_srai_epi16(_mm_slli_epi16(v, 8), 8); }
  static TORCH_TILE V odd_bytes(V v) { return _mm_srai_epi16(v, 8); }
};
#else
struct Lanes {
  typedef int32_t V __attribute__((vector_size(16)));
  typedef int16_t Shorts __attribute__((vector_size(16)));
  typedef uint16_t Unsigned __attribute__((vector_size(16)));
  static constexpr int kLanes = 4, kTile = 12;
  static TORCH_TILE V load(const void* at) {
    V v;
    std::memcpy(&v, at, sizeof v);
    return v;
  }
  static TORCH_TILE void store(void* at, V v) { std::memcpy(at, &v, sizeof v); }
  static TORCH_TILE V none() { return V{}; }
  static TORCH_TILE V everywhere(int32_t bits) { return V{} + bits; }
  static TORCH_TILE V sum(V a, V b) { return a + b; }
  // The halves of a lane, each with its sign: the same on machines of either byte order.
  static TORCH_TILE V products_of_pairs(V a, V b) {
    return ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
  }
  static TORCH_TILE V products_of_bytes(V bytes, V with_sign) {
    const Unsigned u = Unsigned(bytes);
    return V(Shorts(u & 0xff) * Shorts(even_bytes(with_sign)) + Shorts(u >> 8) * Shorts(odd_bytes(with_sign)));
  }
  static TORCH_TILE V even_bytes(V v) { return V(Shorts(Unsigned(v) << 8) >> 8); }
  static TORCH_TILE V odd_bytes(V v) { return V(Shorts(v) >> 8); }
};
#endif

// Each engine: a step takes kDepth integers, which are of type Number in rows, and of kPanel bytes for a register in a
// panel. kRows rows and kVectors registers make the biggest tile. A panel's register, and what a row gives to all
// lanes, are Panel and All.
//
// Two numbers of 16 bits to a lane.
struct Pairs : Lanes {
  using Number = int16_t;
  using Panel = V;
  using All = V;
  static constexpr int kDepth = 2, kVectors = 2, kRows = kTile / kVectors, kPanel = int(sizeof(V));
  static TORCH_TILE Panel panel(const char* at) { return load(at); }
  static TORCH_TILE All all(const Number* at) {
    int32_t two;
    std::memcpy(&two, at, sizeof two);
    return everywhere(two);
  }
  static TORCH_TILE void add_products(V& to, Panel panel, All row) { to = sum(to, products_of_pairs(panel, row)); }
};

// What engines of four bytes to a lane share.
template <class N>
struct Fours : Lanes {
  using Number = N;
  using Panel = V;
  using All = V;
  static constexpr int kDepth = 4, kVectors = 2, kRows = kTile / kVectors, kPanel = int(sizeof(V));
  static TORCH_TILE Panel panel(const char* at) { return load(at); }
  static TORCH_TILE All all(const Number* at) {
    int32_t four;
    std::memcpy(&four, at, sizeof four);
    return everywhere(four);
  }
};

// Bytes of at most 128, and bytes with signs: two products are a number of 16 bits (at least -2 * 128 * 128), so that
// the halves of a lane can be added by a product with ones. Three instructions do what Pairs takes four for. The bytes
// are those of the panel, or those of the row.
constexpr int kNarrow = 128;
template <class N>
struct Narrow : Fours<N> {
  using V = typename Lanes::V;
  static TORCH_TILE void add_products(V& to, V panel, V row) {
    const V both = std::is_signed_v<N> ? Lanes::products_of_bytes(panel, row) : Lanes::products_of_bytes(row, panel);
    to = Lanes::sum(to, Lanes::products_of_pairs(both, Lanes::everywhere(0x00010001)));
  }
};

// Four products of a byte and a byte with its sign to a lane; with AVX2 as AVX-VNNI has them (ResNet-18 of static int8,
// one image, 54 -> 22 ms at level v3 of an Intel Xeon).
#if defined(__AVX2__)
#define TORCH_HAS_DOT4
#ifdef TORCH_INT8_512
#define TORCH_DOT4 "vpdpbusd"
inline bool has_dot4() { return cpu_features().avx512_vnni; }
#else
#define TORCH_DOT4 "%{vex%} vpdpbusd"
inline bool has_dot4() { return __builtin_cpu_supports("avxvnni"); }
#endif
template <class N>
struct Dot4 : Fours<N> {
  using V = typename Lanes::V;
  static TORCH_TILE void add_products(V& to, V panel, V row) {
    if constexpr (std::is_signed_v<N>)
      asm(TORCH_DOT4 " %2, %1, %0" : "+v"(to) : "v"(panel), "v"(row));
    else
      asm(TORCH_DOT4 " %2, %1, %0" : "+v"(to) : "v"(row), "v"(panel));
  }
};
#undef TORCH_DOT4
#endif

// R rows, `stride` apart, times N registers of a panel; sums stand in rows of `pitch`, and are added to where this is
// not the first block of K. A function of its own, for in one with others the compiler keeps sums in memory:
// 64 x 1024 x 1024 took 760 us in place of 400 (AMD EPYC, Zen 4).
template <class T, int R, int N>
__attribute__((noinline)) void tile(const typename T::Number* w, int64_t stride, const char* panel, int64_t steps,
                                    int32_t* sums, int64_t pitch, bool first) {
  using V = typename T::V;
  constexpr int kThirds = (R + 2) / 3;  // every third row has a pointer, the two after it follow by stride
  const typename T::Number* row[kThirds];
  for (int i = 0; i < kThirds; ++i) row[i] = w + 3 * i * stride;
  V acc[R][N];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) acc[r][n] = first ? T::none() : T::load(sums + r * pitch + n * T::kLanes);
  for (int64_t s = 0; s < steps; ++s) {
    typename T::Panel in[N];
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) in[n] = T::panel(panel + (s * N + n) * T::kPanel);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      const typename T::All each = T::all(row[r / 3] + (r % 3) * stride + s * T::kDepth);
#pragma GCC unroll 2
      for (int n = 0; n < N; ++n) T::add_products(acc[r][n], in[n], each);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) T::store(sums + r * pitch + n * T::kLanes, acc[r][n]);
}

// All rows times a panel, in tiles as equal as can be: of 64 rows, four of 11 and two of 10, where tiles of 12 would
// leave one of 4, whose sums wait for each other. `done(first, count)` is called for the rows of each.
template <class T, int N, class Done>
TORCH_TILE void rows_times_panel(const typename T::Number* w, int64_t rows, int64_t stride, const char* panel,
                                 int64_t steps, int32_t* sums, int64_t pitch, bool first, Done done) {
  static constexpr auto tiles = []<int... R>(std::integer_sequence<int, R...>) {
    return std::array{tile<T, R + 1, N>...};
  }(std::make_integer_sequence<int, T::kRows>());
  int64_t r = 0;
  for (int64_t left = (rows + T::kRows - 1) / T::kRows; left; --left) {
    const int64_t now = (rows - r + left - 1) / left;
    tiles[size_t(now - 1)](w + r * stride, stride, panel, steps, sums + r * pitch, pitch, first);
    done(r, now);
    r += now;
  }
}

}  // namespace torch::TORCH_ISA
