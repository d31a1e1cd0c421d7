// One-dimensional complex transforms of any length, over many lines.
#pragma once
#include <cstdint>

namespace torch {

// The scale of a transform, as the rows of fft.def number it.
enum FftNormalization : int64_t { kFftAsIs, kFftByRoot, kFftBySize };

// Where line i of a tensor lies, counted in complex numbers: it begins at i / inner * outer + i % inner, and its
// elements are `inner` apart.
struct FftLayout {
  int64_t inner, outer;
  int64_t begin(int64_t i) const noexcept { return i / inner * outer + i % inner; }
};

// out[k] = scale * sum over j of in[j] exp(-2 pi i j k / n), or with the other sign when `backward`, for each of
// `lines` lines of n > 0 complex numbers. `out` may be `in` when their layouts are the same.
template <class T>
void fft_transform(const T* in, FftLayout in_layout, T* out, FftLayout out_layout, int64_t n, int64_t lines,
                   bool backward, T scale);

}  // namespace torch
