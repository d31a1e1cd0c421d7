// What a device other than the CPU does for Fourier transforms; shapes and dtypes have been checked.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

struct FftWork {
  // to[k] = scale * sum over j of from[j] exp(-2 pi i j k / n), or with the other sign when `backward`, along a dim of
  // two contiguous complex tensors of one shape, which may be one.
  void (*transform)(const Tensor& from, const Tensor& to, int64_t dim, bool backward, double scale);
};

}  // namespace torch
