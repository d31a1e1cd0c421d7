// What the normalisations share: shapes, checks of parameters, the dtype that they compute in.
#pragma once
#include "cpu/norm_kernels.h"
#include "iterate/dense.h"
#include "torch/core/tensor.h"

namespace torch {

// f(T{}) for float or double.
template <class F>
void as_float(DType t, F f) {
  if (t == DType::Float64)
    f(double{});
  else
    f(float{});
}

inline NormShape channels_of(const char* op, const Tensor& x) {
  TORCH_CHECK_VALUE(x.dim() >= 2 || (x.dim() == 1 && x.size(0) == 0), op,
                    ": expected input (N, C, *) with at least 2 dims, got ", x);
  TORCH_CHECK_IMPLEMENTED(is_floating(x.dtype()), op, ": input must be floating point, got ", x.dtype());
  if (x.dim() == 1) return {0, 0, 1};  // nothing at all
  NormShape s{x.size(0), x.size(1), 1};
  for (int64_t d = 2; d < x.dim(); ++d) s.inner *= x.size(d);
  return s;
}
inline void check_parameter(const char* op, const char* which, const Tensor& p, int64_t c) {
  TORCH_CHECK(!p || (p.dim() == 1 && p.size(0) == c), op, ": ", which, " should contain ", c,
              " elements, one for each channel of input, not ", p ? p.sizes() : IntArrayRef());
}
inline Tensor parameter(const Tensor& p, DType compute) { return p ? as_contiguous(p, compute) : Tensor(); }

// Parameters of float32 beside input of a half type are as usual: everything computes in float.
inline DType norm_dtype(const Tensor& x) { return compute_dtype(x.dtype()); }

void register_group_norm();  // group_norm.cpp

}  // namespace torch
