// Products by cuBLASLt, where it is found.
#pragma once
#include <cuda_runtime.h>

#include "ops/product.h"

namespace torch::cuda {

// c = alpha * a @ b + beta * d on the stream, or false where the library is not there, or has no algorithm for these
// matrices: then our own kernels do it. A row that is added to every row (d.row == 0, beta == 1) is its epilogue.
bool multiply_by_cublas(const char* op, int device, cudaStream_t stream, DType dtype, const ProductSize& size,
                        const ::torch::Scalar& alpha, const Slab& a, const Slab& b, const ::torch::Scalar& beta,
                        const Slab& d, const Slab& c);

}  // namespace torch::cuda
