// Rows of an input as small integers, for products with a weight of bytes.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>

#include "cpu/int8_kernels.h"
#include "cpu/int8_rounding.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

constexpr int64_t kNumbersAtOnce = 32768;  // which a thread looks through or rounds

// What integers stand for that the numbers of an input become.
inline Int8Steps steps_of(const Int8Linear& p) {
  std::atomic<int32_t> least{0}, most{0};
  parallel_for(p.m * p.k, kNumbersAtOnce, [&](int64_t a, int64_t b) {
    int32_t low = 0, high = 0;
    for (int64_t i = a; i < b; ++i) {
      const int32_t x = in_order(p.x[i]);
      low = std::min(low, x), high = std::max(high, x);
    }
    for (int32_t is = least; low < is && !least.compare_exchange_weak(is, low);) {
    }
    for (int32_t is = most; high > is && !most.compare_exchange_weak(is, high);) {
    }
  });
  return steps_between(least, most, p.reduce_range);
}

// The greatest of n bytes.
inline uint8_t greatest(const uint8_t* bytes, int64_t n) {
  std::atomic<uint8_t> most{0};
  parallel_for(n, 16 * kNumbersAtOnce, [&](int64_t a, int64_t b) {
    uint8_t high = 0;
    for (int64_t i = a; i < b; ++i) high = std::max(high, bytes[i]);
    for (uint8_t is = most; high > is && !most.compare_exchange_weak(is, high);) {
    }
  });
  return most;
}

// Row i as bytes, filled up to `stride` with zeros, which meet zeros of the weight. Numbers are copied before the
// loops: bytes that are written may lie anywhere.
inline void bytes_of_row(const Int8Linear& p, const Int8Steps& steps, int64_t i, uint8_t* row, int64_t stride) {
  const int64_t k = p.k;
  std::fill(row + k, row + stride, uint8_t(0));
  if (p.out) {
    const uint8_t *const from = p.bytes + i * k, flip = p.result.flip;
    for (int64_t l = 0; l < k; ++l) row[l] = from[l] ^ flip;
  } else {
    const float* const from = p.x + i * k;
    const Int8Steps s = steps;
    for (int64_t l = 0; l < k; ++l) row[l] = byte_in(s, from[l]);
  }
}

}  // namespace torch::TORCH_ISA
