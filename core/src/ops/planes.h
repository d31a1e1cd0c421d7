// What the operators on dense planes share: bringing operands into the form and the dtype of their kernels.
#pragma once
#include "iterate/iterate.h"

namespace torch {

// Row-major without gaps, and of this dtype.
inline Tensor dense(const Tensor& t, DType dtype) {
  if (!t || (t.dtype() == dtype && t.is_contiguous())) return t;
  if (t.dtype() == dtype) return contiguous_copy(t);
  Tensor out = empty_tensor(t.sizes(), dtype, t.device());
  copy_into(out, t);
  return out;
}
inline Tensor to_dtype(const Tensor& t, DType dtype) { return t && t.dtype() != dtype ? preserving_copy(t, dtype) : t; }

// Half types are exact in float; integers take what the caller names.
template <class Name>
DType compute_type(const Name& op, DType dtype, DType of_integers) {
  TORCH_CHECK_IMPLEMENTED(!is_complex(dtype) && dtype != DType::Bool, op, ": not implemented for ", name(dtype));
  if (dtype == DType::Float64) return dtype;
  return is_floating(dtype) ? DType::Float32 : of_integers;
}

// f(float{}) or f(double{})
template <class F>
void with_type(DType compute, F f) {
  if (compute == DType::Float32)
    f(float{});
  else
    f(double{});
}

}  // namespace torch
