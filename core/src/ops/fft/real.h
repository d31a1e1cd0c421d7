// Transforms between real lines and the first half of their spectrum. A line of even length n is transformed as n / 2
// complex numbers (W. Press et al., "Numerical recipes", 3rd ed., 12.3.2).
#pragma once
#include <cstdint>

namespace torch {

// Rows of n real numbers to rows of n / 2 + 1 complex ones, both without gaps.
template <class T>
void fft_real(const T* in, T* out, int64_t n, int64_t rows, bool backward, T scale);
// Rows of n / 2 + 1 complex numbers to rows of n real ones; the imaginary parts of what must be real do not count.
template <class T>
void fft_to_real(const T* in, T* out, int64_t n, int64_t rows, bool backward, T scale);

}  // namespace torch
