// Products of int8 rows: vpdpbusd where the processor has it (four products of an unsigned and a signed byte to a
// lane), else 16-bit multiplication. Both are exact, and so equal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "cpu/int8_kernels.h"
#include "torch/core/cpu.h"
#include "torch/core/pool.h"
#if defined(__AVX512F__) && defined(__AVX512BW__)
#include <immintrin.h>
#endif

namespace torch::TORCH_ISA {

namespace {

// What a row of the input becomes: integers of 8 bits, and what a step stands for (NaN for a row with NaN or infinity).
template <class Q>
float rounded(const float* x, int64_t k, Q* q, int offset) {
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

// A sum of integers as a number. The product of two floats is exact in double, so that a fused and a separate addition
// agree.
inline float number(const Int8Linear& p, int32_t sum, float step, int64_t j) {
  return float(double(float(sum)) * double(step * p.scale[j]) + double(p.bias ? p.bias[j] : 0.0f));
}

void rows_of_16_bits(const Int8Linear& p) {
  const std::unique_ptr<int16_t[]> q(new int16_t[size_t(p.m * p.k)]);
  const std::unique_ptr<float[]> step(new float[size_t(p.m)]);
  parallel_for(p.m, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, p.k)), [&](int64_t a, int64_t b) {
    for (int64_t i = a; i < b; ++i) step[size_t(i)] = rounded(p.x + i * p.k, p.k, &q[size_t(i * p.k)], 0);
  });
  parallel_for(p.n, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, p.m * p.k)), [&](int64_t a, int64_t b) {
    for (int64_t j = a; j < b; ++j) {
      const int8_t* w = p.weight + j * p.k;
      for (int64_t i = 0; i < p.m; ++i) {
        const int16_t* v = &q[size_t(i * p.k)];
        int32_t sum = 0;
        for (int64_t l = 0; l < p.k; ++l) sum += int32_t(v[l]) * int32_t(int16_t(w[l]));
        p.y[i * p.n + j] = number(p, sum, step[size_t(i)], j);
      }
    }
  });
}

#if defined(__AVX512F__) && defined(__AVX512BW__)
constexpr int64_t kInputBytes = 24576;
#define TORCH_VNNI __attribute__((target("avx512vnni")))

using Lanes16 = int32_t __attribute__((vector_size(64)));
using Lanes8 = int32_t __attribute__((vector_size(32)));
using Lanes4 = int32_t __attribute__((vector_size(16)));

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

// sum += bytes * signed bytes, four at a time. Written out, for gcc 12 copies each sum before its own intrinsic.
TORCH_VNNI inline void add_products(__m512i& sum, __m512i bytes, __m512i signs) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(bytes), "vm"(signs));
}

// R rows of the input (bytes, 128 added to each) times C rows of the weight; `sums` are those of the weight's rows,
// which take the 128 back. The first block of rows finds them on the way.
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
  if (Sum) sums = 128 * sums_of(total);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    const Lanes4 found = sums_of(acc[r]) - sums;
    float* y = p.y + (i + r) * p.n + j;
    if constexpr (C == 4)
      store_numbers(p, found, step[i + r], y, j);
    else
      for (int c = 0; c < C; ++c) y[c] = number(p, found[c], step[i + r], j + c);
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
    for (int64_t i = a; i < b; ++i) {
      uint8_t* row = q + i * stride;
      step[size_t(i)] = rounded(p.x + i * p.k, p.k, row, 128);
      std::memset(row + p.k, 128, size_t(stride - p.k));
    }
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

void linear(const Int8Linear& p) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  if (p.k > 0 && cpu_features().avx512_vnni) return rows_of_bytes(p);
#endif
  rows_of_16_bits(p);
}

}  // namespace

const Int8Kernels& int8_table() {
  static constexpr Int8Kernels table{linear};
  return table;
}

}  // namespace torch::TORCH_ISA
