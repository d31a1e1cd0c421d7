// The operators as functions, and those functions of PyTorch's C++ that are no operators here.
#pragma once
#include "ATen/TensorUtils.h"
#include "torch/aten.h"
#include "torch/core/promote.h"

namespace torch {

// The elements once each, sorted; where each of the input is among them, and how often each was there.
inline std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& x, bool = true, bool return_inverse = false,
                                                   bool return_counts = false) {
  return torch::unique_flat(x, return_inverse, return_counts);
}
inline Tensor sparse_csr_tensor(const Tensor& rows, const Tensor& columns, const Tensor& values,
                                std::optional<IntArrayRef> size = {}, const TensorOptions& options = {}) {
  return torch::_sparse_compressed_tensor(
      rows, columns, values.to(options.argument<Kind::DType>(std::optional<DType>(values.dtype())).value()),
      Layout::SparseCsr, size);
}

inline DType result_type(const Tensor& a, const Scalar& b) { return result_type(a, number(b)); }

inline int64_t maybe_wrap_dim(int64_t dim, int64_t ndim) { return wrap_dim(dim, ndim); }
inline int64_t multiply_integers(IntArrayRef values) {
  int64_t product = 1;
  for (int64_t v : values) product *= v;
  return product;
}

inline int64_t elementSize(DType t) { return item_size(t); }
inline bool isFloatingType(DType t) { return is_floating(t); }
inline bool isComplexType(DType t) { return is_complex(t); }
inline bool isIntegralType(DType t, bool include_bool) { return is_integral(t) || (include_bool && t == DType::Bool); }
inline bool isSignedType(DType t) { return is_signed(t); }

}  // namespace torch

// torch::linalg::inv(x), torch::fft::rfft(x), torch::special::expit(x): what Python calls so.
#define TORCH_IN_SPACE(SPACE, NAME) inline constexpr const auto& NAME = ::torch::SPACE##_##NAME;
namespace torch::linalg {
#define TORCH_NAME(NAME) TORCH_IN_SPACE(linalg, NAME)
TORCH_NAME(cholesky)
TORCH_NAME(cholesky_ex)
TORCH_NAME(cond)
TORCH_NAME(cross)
TORCH_NAME(det)
TORCH_NAME(diagonal)
TORCH_NAME(eig)
TORCH_NAME(eigh)
TORCH_NAME(eigvals)
TORCH_NAME(eigvalsh)
TORCH_NAME(householder_product)
TORCH_NAME(inv)
TORCH_NAME(inv_ex)
TORCH_NAME(ldl_factor)
TORCH_NAME(ldl_solve)
TORCH_NAME(lstsq)
TORCH_NAME(lu)
TORCH_NAME(lu_factor)
TORCH_NAME(lu_solve)
TORCH_NAME(matrix_exp)
TORCH_NAME(matrix_norm)
TORCH_NAME(matrix_power)
TORCH_NAME(matrix_rank)
TORCH_NAME(multi_dot)
TORCH_NAME(norm)
TORCH_NAME(pinv)
TORCH_NAME(qr)
TORCH_NAME(slogdet)
TORCH_NAME(solve)
TORCH_NAME(solve_ex)
TORCH_NAME(solve_triangular)
TORCH_NAME(svd)
TORCH_NAME(svdvals)
TORCH_NAME(tensorinv)
TORCH_NAME(tensorsolve)
TORCH_NAME(vander)
TORCH_NAME(vecdot)
TORCH_NAME(vector_norm)
#undef TORCH_NAME
}  // namespace torch::linalg
namespace torch::fft {
#define TORCH_NAME(NAME) TORCH_IN_SPACE(fft, NAME)
TORCH_NAME(fft)
TORCH_NAME(fft2)
TORCH_NAME(fftfreq)
TORCH_NAME(fftn)
TORCH_NAME(fftshift)
TORCH_NAME(hfft)
TORCH_NAME(ifft)
TORCH_NAME(ifft2)
TORCH_NAME(ifftn)
TORCH_NAME(ifftshift)
TORCH_NAME(ihfft)
TORCH_NAME(irfft)
TORCH_NAME(irfft2)
TORCH_NAME(irfftn)
TORCH_NAME(rfft)
TORCH_NAME(rfft2)
TORCH_NAME(rfftfreq)
TORCH_NAME(rfftn)
#undef TORCH_NAME
}  // namespace torch::fft
#undef TORCH_IN_SPACE

namespace at {
using namespace torch;
}
namespace c10 {
using namespace torch;
}
