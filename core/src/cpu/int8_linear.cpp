// Products of int8 rows: vpdpbusd where the processor has it (four products of an unsigned and a signed byte to a
// lane), else vpmaddwd of AVX2 (two products of 16 bits to a lane), else 16-bit multiplication as the compiler makes
// it. All are exact, and so equal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "cpu/int8_kernels.h"
#include "cpu/int8_rounding.h"
#include "cpu/int8_rows.h"
#include "cpu/int8_tiles.h"
#include "torch/core/cpu.h"
#include "torch/core/pool.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace torch::TORCH_ISA {

namespace {

inline float number(const Int8Linear& p, int32_t sum, float step, int64_t j) {
  return number_of(sum, step, p.scale[j], p.bias ? p.bias[j] : 0.0f);
}

// Column j of a row whose numbers are bytes already.
inline void store_byte(const Int8Linear& p, int32_t sum, int64_t i, int64_t j) {
  p.out[i * p.n + j] = byte_of_sum(sum, p.result.bias ? p.result.bias[j] : 0.0f, p.result.scale[j], p.result);
}

// A row of the input as integers of 16 bits; what a step stands for, where the row says it.
inline float widened(const Int8Linear& p, int64_t i, int16_t* row) {
  if (!p.bytes) return rounded(p.x + i * p.k, p.k, row, 0);
  const uint8_t* from = p.bytes + i * p.k;
  for (int64_t l = 0; l < p.k; ++l) row[l] = int16_t((from[l] ^ p.result.flip) - p.zero);
  return 0;
}

void rows_of_16_bits(const Int8Linear& p) {
  const std::unique_ptr<int16_t[]> q(new int16_t[size_t(p.m * p.k)]);
  const std::unique_ptr<float[]> step(new float[size_t(p.m)]);
  parallel_for(p.m, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, p.k)), [&](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) step[size_t(i)] = widened(p, i, &q[size_t(i * p.k)]);
  });
  parallel_for(p.n, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, p.m * p.k)), [&](int64_t a, int64_t b) {
    for (int64_t j = a; j < b; ++j) {
      const int8_t* w = p.weight + j * p.k;
      for (int64_t i = 0; i < p.m; ++i) {
        const int16_t* v = &q[size_t(i * p.k)];
        int32_t sum = 0;
        for (int64_t l = 0; l < p.k; ++l) sum += int32_t(v[l]) * int32_t(int16_t(w[l]));
        if (p.bytes)
          store_byte(p, sum, i, j);
        else
          p.y[i * p.n + j] = number(p, sum, step[size_t(i)], j);
      }
    }
  });
}

#if defined(__AVX2__)
constexpr int64_t kInputBytes = 24576;

using Lanes4 = int32_t __attribute__((vector_size(16)));
using Floats4 = float __attribute__((vector_size(16)));
using Doubles4 = double __attribute__((vector_size(32)));

// What number() gives, of four columns at once: one by one they took as long as the products of 1024 numbers.
inline void store_numbers(const Int8Linear& p, Lanes4 sums, float step, float* y, int64_t j) {
  Floats4 scale, bias = {};
  std::memcpy(&scale, p.scale + j, sizeof scale);
  if (p.bias) std::memcpy(&bias, p.bias + j, sizeof bias);
  const Doubles4 sum = __builtin_convertvector(__builtin_convertvector(sums, Floats4), Doubles4);
  const Doubles4 all = sum * __builtin_convertvector(step * scale, Doubles4) + __builtin_convertvector(bias, Doubles4);
  const Floats4 out = __builtin_convertvector(all, Floats4);
  std::memcpy(y, &out, sizeof out);
}

// Four columns of row i, from j on.
inline void store_four(const Int8Linear& p, Lanes4 sums, float step, int64_t i, int64_t j) {
  if (!p.bytes) return store_numbers(p, sums, step, p.y + i * p.n + j, j);
  const Int8Result& r = p.result;
  const float least = least_of(r), most = most_of(r);
  Floats4 scale, bias = {};
  std::memcpy(&scale, r.scale + j, sizeof scale);
  if (r.bias) std::memcpy(&bias, r.bias + j, sizeof bias);
  const Floats4 steps = (__builtin_convertvector(sums, Floats4) + bias) * scale;
  uint8_t* out = p.out + i * p.n + j;
  for (int c = 0; c < 4; ++c) out[c] = uint8_t(byte_of(steps[c], least, most, r.zero) ^ r.flip);
}

// R rows of the input (16 bits) times C rows of the weight, whose bytes are widened as they come. The four sums of
// each register are found for four registers at once.
template <int R, int C>
inline void products(const int16_t* q, int64_t stride, const int8_t* weight, int64_t k, int32_t* sums, int64_t pitch) {
  __m256i acc[R * C];
  for (int a = 0; a < R * C; ++a) acc[a] = _mm256_setzero_si256();
  auto turn = [&](int64_t l, const int8_t* w, int64_t next) __attribute__((always_inline)) {
    __m256i wide[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c)
      wide[c] = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w + c * next)));
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + r * stride + l));
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) acc[r * C + c] = _mm256_add_epi32(acc[r * C + c], _mm256_madd_epi16(v, wide[c]));
    }
  };
  int64_t l = 0;
  for (; l + 16 <= k; l += 16) turn(l, weight + l, k);
  if (l < k) {
    int8_t rest[C * 16] = {};
    for (int c = 0; c < C; ++c) std::memcpy(rest + 16 * c, weight + c * k + l, size_t(k - l));
    turn(l, rest, 16);
  }
#pragma GCC unroll 2
  for (int a = 0; a < R * C; a += 4) {
    const __m256i none = _mm256_setzero_si256();
    const __m256i ab = _mm256_hadd_epi32(acc[a], a + 1 < R * C ? acc[a + (R * C > 1 ? 1 : 0)] : none),
                  cd = R * C < 4 ? none : _mm256_hadd_epi32(acc[a + (R * C < 4 ? 0 : 2)], acc[a + (R * C < 4 ? 0 : 3)]),
                  all = _mm256_hadd_epi32(ab, cd);
    const Lanes4 found = Lanes4(_mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
    for (int o = 0; o < 4 && a + o < R * C; ++o) sums[(a + o) / C * pitch + (a + o) % C] = found[o];
  }
}

// R rows of the input times the rows j to j + 4 of the weight, or to the last.
template <int R>
inline void four_columns(const Int8Linear& p, const int16_t* q, int64_t stride, const float* step, int64_t i,
                         int64_t j) {
  int32_t sums[R * 4] = {};
  const int8_t* w = p.weight + j * p.k;
  const int64_t some = std::min<int64_t>(4, p.n - j);
  if (some == 4 && R == 1) {
    products<1, 4>(q + i * stride, stride, w, p.k, sums, 4);
  } else if (some == 4) {
    products<R, 2>(q + i * stride, stride, w, p.k, sums, 4);
    products<R, 2>(q + i * stride, stride, w + 2 * p.k, p.k, sums + 2, 4);
  } else {
    for (int64_t c = 0; c < some; ++c) products<R, 1>(q + i * stride, stride, w + c * p.k, p.k, sums + c, 4);
  }
  for (int64_t r = 0; r < R; ++r) {
    if (some == 4) {
      Lanes4 four;
      std::memcpy(&four, sums + 4 * r, sizeof four);
      store_four(p, four, step[i + r], i + r, j);
    } else {
      for (int64_t c = 0; c < some; ++c) {
        if (p.bytes)
          store_byte(p, sums[4 * r + c], i + r, j + c);
        else
          p.y[(i + r) * p.n + j + c] = number(p, sums[4 * r + c], step[i + r], j + c);
      }
    }
  }
}

void rows_of_pairs(const Int8Linear& p) {
  const int64_t stride = (p.k + 15) / 16 * 16;
  const std::unique_ptr<int16_t[]> q(new int16_t[size_t(p.m * stride)]);
  const std::unique_ptr<float[]> step(new float[size_t(p.m)]);
  parallel_for(p.m, std::max<int64_t>(1, 32768 / stride), [&](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) {
      int16_t* row = &q[size_t(i * stride)];
      step[size_t(i)] = widened(p, i, row);
      std::fill(row + p.k, row + stride, int16_t(0));
    }
  });
  parallel_for((p.n + 3) / 4, std::max<int64_t>(1, 131072 / (4 * p.m * stride)), [&](int64_t a, int64_t b) {
    // As many rows of the input as stay in the first cache while the weight goes by.
    const int64_t some = std::max<int64_t>(4, kInputBytes / (2 * stride) / 4 * 4);
    for (int64_t first = 0; first < p.m; first += some) {
      const int64_t last = std::min(first + some, p.m);
      for (int64_t j = 4 * a; j < std::min(4 * b, p.n); j += 4) {
        int64_t i = first;
        for (; i + 4 <= last; i += 4) four_columns<4>(p, q.get(), stride, step.get(), i, j);
        for (; i < last; ++i) four_columns<1>(p, q.get(), stride, step.get(), i, j);
      }
    }
  });
}
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__)

using Lanes16 = int32_t __attribute__((vector_size(64)));
using Lanes8 = int32_t __attribute__((vector_size(32)));

// The sums of four registers: neighbours are added crosswise, then the quarters. (Vectors of the compiler, for gcc 12
// warns of the undefined registers that its own intrinsics read.)
inline Lanes4 sums_of(Lanes16 a, Lanes16 b, Lanes16 c, Lanes16 d) {
#define TORCH_LOW(x, y) __builtin_shufflevector(x, y, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define TORCH_HIGH(x, y) __builtin_shufflevector(x, y, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
  const Lanes16 ab = TORCH_LOW(a, b) + TORCH_HIGH(a, b), cd = TORCH_LOW(c, d) + TORCH_HIGH(c, d);
#undef TORCH_LOW
#undef TORCH_HIGH
  const Lanes16 all = __builtin_shufflevector(ab, cd, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
                      __builtin_shufflevector(ab, cd, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  const Lanes8 half = __builtin_shufflevector(all, all, 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
}
template <int C>
Lanes4 sums_of(const __m512i (&v)[C]) {
  const Lanes16 none = {};
  return sums_of(Lanes16(v[0]), C > 1 ? Lanes16(v[C > 1]) : none, C > 2 ? Lanes16(v[C > 2 ? 2 : 0]) : none,
                 C > 3 ? Lanes16(v[C > 3 ? 3 : 0]) : none);
}

// sum += bytes * signed bytes, four at a time. Written out, for gcc 12 copies each sum before its own intrinsic.
TORCH_VNNI inline void add_products(__m512i& sum, __m512i bytes, __m512i signs) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(bytes), "vm"(signs));
}

// R rows of the input (bytes, 128 or a zero point added to each) times C rows of the weight; `sums` are those of the
// weight's rows, which take that back. The first block of rows finds them on the way.
template <int R, int C, bool Sum>
TORCH_VNNI inline void block(const Int8Linear& p, const uint8_t* q, int64_t stride, const float* step, int64_t i,
                             int64_t j, Lanes4& sums) {
  __m512i acc[R][C], total[C];
  const __m512i ones = _mm512_set1_epi8(1);
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) {
    total[c] = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) acc[r][c] = _mm512_setzero_si512();
  }
  const int64_t k = p.k;
  const int8_t* weight[C];
  const uint8_t* row[R];
  for (int c = 0; c < C; ++c) weight[c] = p.weight + (j + c) * k;
  for (int r = 0; r < R; ++r) row[r] = q + (i + r) * stride;
  auto turn = [&](int64_t l, auto load) __attribute__((always_inline)) TORCH_VNNI {
    __m512i w[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      w[c] = load(weight[c] + l);
      if (Sum) add_products(total[c], ones, w[c]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const __m512i v = _mm512_loadu_si512(row[r] + l);
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) add_products(acc[r][c], v, w[c]);
    }
  };
  int64_t l = 0;
#pragma GCC unroll 2
  for (; l + 64 <= k; l += 64) turn(l, [](const int8_t* at) { return _mm512_loadu_si512(at); });
  if (l < k) {
    const __mmask64 there = (__mmask64{1} << (k - l)) - 1;
    turn(l, [there](const int8_t* at) { return _mm512_maskz_loadu_epi8(there, at); });
  }
  if (Sum) sums = (p.bytes ? p.zero : 128) * sums_of(total);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    const Lanes4 found = sums_of(acc[r]) - sums;
    if constexpr (C == 4) {
      store_four(p, found, step[i + r], i + r, j);
    } else {
      for (int c = 0; c < C; ++c) {
        if (p.bytes)
          store_byte(p, found[c], i + r, j + c);
        else
          p.y[(i + r) * p.n + j + c] = number(p, found[c], step[i + r], j + c);
      }
    }
  }
}

// Rows `first` to `last` of the input times C rows of the weight.
template <int C>
TORCH_VNNI inline void columns(const Int8Linear& p, const uint8_t* q, int64_t stride, const float* step, int64_t first,
                               int64_t last, int64_t j) {
  Lanes4 sums = {};
  int64_t i = first;
  if (i + 4 <= last) {
    block<4, C, true>(p, q, stride, step, i, j, sums);
    for (i += 4; i + 4 <= last; i += 4) block<4, C, false>(p, q, stride, step, i, j, sums);
  } else {
    block<1, C, true>(p, q, stride, step, i++, j, sums);
  }
  for (; i < last; ++i) block<1, C, false>(p, q, stride, step, i, j, sums);
}

TORCH_VNNI void rows_of_bytes(const Int8Linear& p) {
  const int64_t stride = (p.k + 63) / 64 * 64;
  // From a cache line on: every load would touch two.
  const std::unique_ptr<uint8_t[]> memory(new uint8_t[size_t(p.m * stride + 63)]);
  uint8_t* const q = memory.get() + (64 - reinterpret_cast<uintptr_t>(memory.get()) % 64) % 64;
  const std::unique_ptr<float[]> step(new float[size_t(p.m)]);
  parallel_for(p.m, std::max<int64_t>(1, 32768 / stride), [&](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) step[size_t(i)] = row_as_bytes(p, i, q + i * stride, stride);
  });
  const int64_t blocks = (p.n + 3) / 4, work = 4 * p.m * stride;
  parallel_for(blocks, std::max<int64_t>(1, 262144 / work), [&](int64_t a, int64_t b) TORCH_VNNI {
    // As many rows of the input as stay in the first cache while the weight goes by.
    const int64_t some = std::max<int64_t>(4, kInputBytes / stride / 4 * 4);
    for (int64_t first = 0; first < p.m; first += some) {
      const int64_t last = std::min(first + some, p.m);
      for (int64_t j = 4 * a; j < std::min(4 * b, p.n);) {
        if (j + 4 <= p.n) {
          columns<4>(p, q, stride, step.get(), first, last, j);
          j += 4;
        } else {
          columns<1>(p, q, stride, step.get(), first, last, j++);
        }
      }
    }
  });
}
#endif

}  // namespace

void int8_linear(const Int8Linear& p) {
  if (p.packed) return int8_packed_linear(p);
#if defined(__AVX512F__) && defined(__AVX512BW__)
  if (p.k > 0 && cpu_features().avx512_vnni) return rows_of_bytes(p);
#endif
#if defined(__AVX2__)
  if (p.k > 0) return rows_of_pairs(p);
#endif
  rows_of_16_bits(p);
}

}  // namespace torch::TORCH_ISA
