#include "ops/product.h"

#include "blas/blas.h"
#include "dispatch/work.h"

namespace torch {

Slab slab_of(const Tensor& t) noexcept {
  const int64_t n = t.dim();
  return {t.data(), t.stride(n - 2), t.stride(n - 1), n > 2 ? t.stride(n - 3) : 0};
}

namespace {

void multiply_on_cpu(const char*, Device, DType dtype, const ProductSize& size, const Scalar& alpha, const Slab& a,
                     const Slab& b, const Scalar& beta, const Slab& d, const Slab& c) {
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool>) {
      const auto read = [](const Slab& s) {
        return BatchView<const T>{{static_cast<const T*>(s.data), s.row, s.col}, s.batch};
      };
      const BatchView<T> out{{static_cast<T*>(c.data), c.row, c.col}, c.batch};
      if (size.batch == 1)
        gemm<T>(size.m, size.n, size.k, alpha.to<Factor<T>>(), read(a).matrix, read(b).matrix, beta.to<Factor<T>>(),
                read(d).matrix, out.matrix);
      else
        gemm_batch<T>(size.batch, size.m, size.n, size.k, alpha.to<Factor<T>>(), read(a), read(b), beta.to<Factor<T>>(),
                      read(d), out);
    }
  });
}

}  // namespace

const ProductWork product_on_cpu{multiply_on_cpu};

void multiply(const char* op, Device device, DType dtype, const ProductSize& size, const Scalar& alpha, const Slab& a,
              const Slab& b, const Scalar& beta, const Slab& d, const Slab& c) {
  TORCH_CHECK_IMPLEMENTED(dtype != DType::Bool, op,
                          ": not implemented for torch.bool; convert the operands, for example with .to(torch.uint8)");
  if (const auto* there = work<ProductWork>.on(device))
    there->multiply(op, device, dtype, size, alpha, a, b, beta, d, c);
}

}  // namespace torch
