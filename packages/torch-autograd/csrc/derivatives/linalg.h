// Matrices in derivatives: G^H for the adjoint, batches in the leading dims.
#pragma once
#include "math.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

inline Tensor mT(const Tensor& a) { return torch::transpose(a, -2, -1); }
inline Tensor mH(const Tensor& a) { return conj(mT(a)); }
inline Tensor operator%(const Tensor& a, const Tensor& b) { return torch::matmul(a, b); }
inline Tensor product(const Tensor& a) { return a; }
inline Tensor product(const Tensor& a, const auto&... rest) { return torch::matmul(a, product(rest...)); }

inline Tensor diagonal_of(const Tensor& a) { return torch::diagonal(a, 0, -2, -1); }
inline Tensor identity(int64_t n, const Tensor& like) {
  return torch::eye(n, std::nullopt, like.dtype(), like.device());
}
inline Tensor real_part(const Tensor& a) { return is_complex(a.dtype()) ? torch::real(a) : a; }

// op(A) X = B and X op(A) = B with one triangle of A.
inline Tensor solve_left(const Tensor& a, const Tensor& b, bool upper, bool unit = false) {
  return torch::linalg_solve_triangular(a, b, upper, true, unit);
}
inline Tensor solve_right(const Tensor& a, const Tensor& b, bool upper, bool unit = false) {
  return torch::linalg_solve_triangular(a, b, upper, false, unit);
}

}  // namespace torch::autograd
