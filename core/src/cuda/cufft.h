// Fourier transforms by cuFFT, where it is found (libraries.h).
#pragma once
#include "torch/core/tensor.h"

namespace torch::cuda {

// What FftWork::transform does, but for its scale, on the current stream of the device; false where cuFFT is not found,
// or would need a call for each of many slices.
bool transform_by_cufft(const Tensor& from, const Tensor& to, int64_t dim, bool backward);

}  // namespace torch::cuda
