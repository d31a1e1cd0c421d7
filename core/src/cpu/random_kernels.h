// Fills of contiguous memory with random numbers, compiled once per instruction set (src/cpu/random.cpp). Each starts
// at its stream's position, which callers advance by whole groups, so that cuts do not show in the result.
#pragma once
#include <cstdint>

#include "torch/core/random.h"

namespace torch {

struct RandomKernels {
  void (*words)(RandomStream, int64_t n, uint32_t* out);
  // [from, to), from `bits` random bits (at most 24 and 53). One word per float, two per double.
  void (*uniform_f32)(RandomStream, int64_t n, float from, float to, int bits, float* out);
  void (*uniform_f64)(RandomStream, int64_t n, double from, double to, double* out);
  void (*normal_f32)(RandomStream, int64_t n, float mean, float std, float* out);
  void (*normal_f64)(RandomStream, int64_t n, double mean, double std, double* out);
  void (*exponential_f32)(RandomStream, int64_t n, float rate, float* out);
  void (*exponential_f64)(RandomStream, int64_t n, double rate, double* out);
  void (*cauchy_f32)(RandomStream, int64_t n, float median, float sigma, float* out);
  void (*cauchy_f64)(RandomStream, int64_t n, double median, double sigma, double* out);
  void (*geometric_f32)(RandomStream, int64_t n, double p, float* out);
  void (*geometric_f64)(RandomStream, int64_t n, double p, double* out);
  // out = word < threshold; one word per element. kAlways is above every word.
  void (*below_u8)(RandomStream, int64_t n, uint64_t threshold, uint8_t* out);
  // out = 1 with probability p[i], else 0.
  void (*bernoulli_f32)(RandomStream, int64_t n, const float* p, float* out);
  void (*bernoulli_f64)(RandomStream, int64_t n, const double* p, double* out);
  // y = x * scale where word < threshold, else 0; mask says where.
  void (*dropout_f32)(RandomStream, int64_t n, uint64_t threshold, float scale, const float* x, float* y,
                      uint8_t* mask);
  // from + [0, range): one word per element up to kOneWordRange, two above; range 0 stands for 2^64.
  void (*integers)(RandomStream, int64_t n, int64_t from, uint64_t range, int64_t* out);
};
constexpr uint64_t kAlways = uint64_t(1) << 32;
// The share of values that come once too often is range / 2^32.
constexpr uint64_t kOneWordRange = 1 << 20;

TORCH_API const RandomKernels& random_kernels();  // of the level in force

// Words per element and the pieces that fills are cut into.
constexpr int64_t kRandomGrain = 16384;
static_assert(kRandomGrain % kWordsPerGroup == 0);

}  // namespace torch
