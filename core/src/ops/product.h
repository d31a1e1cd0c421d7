// A matrix product over memory of a dtype known at run time, for the operators that are one.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

// Batches of matrices in memory; strides count elements.
struct Slab {
  void* data = nullptr;
  int64_t row = 0, col = 0, batch = 0;
  Slab transposed() const noexcept { return {data, col, row, batch}; }
};

// The last two dimensions of a tensor, and the stride of the one before when there is one.
Slab slab_of(const Tensor& t) noexcept;

struct ProductSize {
  int64_t batch, m, n, k;
};

// c = alpha * a @ b + beta * d (blas.h), all on `device`. NotImplemented, naming `op`, for bool.
void multiply(const char* op, Device device, DType dtype, const ProductSize& size, const Scalar& alpha, const Slab& a,
              const Slab& b, const Scalar& beta, const Slab& d, const Slab& c);

// What a device does. No size is 0 but k; d.data may be null.
struct ProductWork {
  decltype(&torch::multiply) multiply;
};
extern const ProductWork product_on_cpu;

}  // namespace torch
