// What src/ops/fft calls of src/cpu/fft.cpp: transforms of several lines at once, one line in each lane of a register.
#pragma once
#include <cstdint>
#include <vector>

#include "levels/isa.h"

namespace torch {

// How to transform lines of one smooth length: a radix for each pass, and the roots of unity that its passes need.
template <class T>
struct FftPasses {
  int64_t n = 1;
  std::vector<int> radices;
  std::vector<T> twiddles;  // for each pass, each p < m, each k = 1 ... r-1: w(n)^(p k), as (re, im); n shrinks by r
  std::vector<T> roots;     // for each pass with a radix other than 2, 3, 4, 5: w(r)^k for k < r
};

// Up to lanes() lines. Strides and offsets count complex numbers. `backward` takes the other sign in the exponent.
template <class T>
struct FftLines {
  const T* in = nullptr;
  T* out = nullptr;
  const int64_t *in_at = nullptr, *out_at = nullptr;  // where each line begins
  int64_t in_step = 1, out_step = 1;                  // from element to element
  int lines = 0;
  bool backward = false;
  T scale = T(1);
  // Element k of line l is multiplied by start[k] * lane[k][l] (complex; lane holds lanes() of them for each k), when
  // these are not null.
  const T *start = nullptr, *lane = nullptr;
  T* scratch = nullptr;  // 4 * n * lanes(), 64-byte aligned
};

constexpr int kMaxFftRadix = 31;  // a larger prime factor goes through a convolution

template <class T>
struct FftKernels {
  int lanes;
  void (*lines)(const FftPasses<T>&, const FftLines<T>&);
};

TORCH_PER_ISA(const FftKernels<float>& fft_float(); const FftKernels<double>& fft_double();)

}  // namespace torch
