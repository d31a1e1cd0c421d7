// What is worth keeping from one transform of a length to the next.
#pragma once
#include <memory>
#include <vector>

#include "cpu/fft_kernels.h"
#include "dispatch/work.h"

namespace torch {

template <class T>
const FftKernels<T>& fft_kernels() {
  return work<FftKernels<T>>.on_cpu();
}

// n = columns * rows: the transform of a line as transforms of its columns, a product with roots of unity, and
// transforms of its rows (D. Bailey, "FFTs in external or hierarchical memory", 1990). One line so fills the lanes, and
// long ones stay in the cache.
template <class T>
struct FftSplit {
  FftPasses<T> columns, rows;
  std::vector<T> lane;  // w(n)^(k l) for k < columns, l < lanes, in the form of FftLines::lane
  int64_t step = 1;     // w(n)^t = coarse[t / step] * fine[t % step]
  std::vector<double> coarse, fine;
};

// The transform as a convolution with a chirp, of a length with only small factors (L. Bluestein 1970).
template <class T>
struct FftChirp {
  int64_t n;                // of the convolution
  std::vector<T> chirp;     // w(2 n)^(j^2)
  std::vector<T> spectrum;  // of the conjugate chirp
};

template <class T>
struct FftPlan {
  // Short lengths have `passes`, longer ones `split`, those between both; one with a large prime factor has `chirp`.
  std::unique_ptr<FftPasses<T>> passes;
  std::unique_ptr<FftSplit<T>> split;
  std::unique_ptr<FftChirp<T>> chirp;
};

// The plan of this length; the calling thread keeps the latest few.
template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n);

// w(n)^k = exp(-2 pi i k / n) for k <= n / 4, as (re, im); kept likewise.
template <class T>
std::shared_ptr<const std::vector<T>> quarter_roots(int64_t n);

}  // namespace torch
