// What kernels over raw pointers ask of their operands.
#pragma once
#include "iterate/iterate.h"

namespace torch {

// Contiguous and of that dtype: the tensor itself where it is so already.
inline Tensor as_contiguous(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype && t.is_contiguous()) return t;
  Tensor r = empty_tensor(t.sizes(), dtype, t.device());
  copy_into(r, t);
  return r;
}
inline Tensor as_dtype(const Tensor& t, DType dtype) { return t.dtype() == dtype ? t : preserving_copy(t, dtype); }

// The half types compute in float.
inline DType compute_dtype(DType t) { return is_reduced_floating(t) ? DType::Float32 : t; }

}  // namespace torch
