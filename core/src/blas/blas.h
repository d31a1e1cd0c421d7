// Matrix products.  c = alpha * a @ b + beta * d  over views with any strides.
//
// Two providers stand behind: our own kernels, which serve every type, and OpenBLAS, a shared library that is opened at
// first need and serves complex products and LAPACK. Who serves a call depends on its shape and type and on the CPU,
// never on the number of threads, and results have the same bits for any number of threads.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

#include "torch/core/macros.h"

namespace torch {

// Element (i, j) is data[i * row + j * col]. Strides may be 0 (broadcast) or negative in what is read.
template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t row = 0, col = 0;

  T* at(int64_t i, int64_t j) const noexcept { return data + i * row + j * col; }
  MatrixView transposed() const noexcept { return {data, col, row}; }
  operator MatrixView<const T>() const noexcept { return {data, row, col}; }
};

// What a product is multiplied by: of 16-bit types a float, since 2.03 rounded to their few bits is another number.
template <class T>
using Factor = std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;

// c (m, n) = alpha * a (m, k) @ b (k, n) + beta * d (m, n). With beta == 0 d is not read (and may be null); with k == 0
// the product is 0. d may be c itself, or have stride 0 (a bias), but not overlap c otherwise; a and b never overlap c.
// T: float, double, std::complex of them, Half, BFloat16 (summed in float), and (u)int8 to (u)int64 (modulo 2^bits).
template <class T>
TORCH_API void gemm(int64_t m, int64_t n, int64_t k, Factor<T> alpha, MatrixView<const T> a, MatrixView<const T> b,
                    Factor<T> beta, MatrixView<const T> d, MatrixView<T> c);

// The same for `batch` products whose operands lie a fixed number of elements apart.
template <class T>
struct BatchView {
  MatrixView<T> matrix;
  int64_t batch = 0;  // stride between products
};
template <class T>
TORCH_API void gemm_batch(int64_t batch, int64_t m, int64_t n, int64_t k, Factor<T> alpha, BatchView<const T> a,
                          BatchView<const T> b, Factor<T> beta, BatchView<const T> d, BatchView<T> c);

// Sum of x[i] * y[i], summed in blocks that depend only on n.
template <class T>
TORCH_API T blas_dot(int64_t n, const T* x, int64_t x_stride, const T* y, int64_t y_stride);

// The classic row-major call.
enum class Transpose : uint8_t { No, Yes };
template <class T>
void gemm(Transpose trans_a, Transpose trans_b, int64_t m, int64_t n, int64_t k, Factor<T> alpha, const T* a,
          int64_t lda, const T* b, int64_t ldb, Factor<T> beta, T* c, int64_t ldc) {
  const MatrixView<const T> va{a, lda, 1}, vb{b, ldb, 1};
  gemm<T>(m, n, k, alpha, trans_a == Transpose::Yes ? va.transposed() : va,
          trans_b == Transpose::Yes ? vb.transposed() : vb, beta, {c, ldc, 1}, {c, ldc, 1});
}

// --- providers -------------------------------------------------------------------------------------------------------

enum class BlasProvider : uint8_t { Auto, Own, OpenBlas };
// Auto leaves the choice to shape and type. Pinning OpenBlas throws ErrorKind::Runtime when the library is not found.
// The environment variable TORCH_BLAS=auto|own|openblas sets the start; a path in it names the library.
TORCH_API void set_blas_provider(BlasProvider provider);
TORCH_API BlasProvider blas_provider();
TORCH_API const char* blas_provider_name(BlasProvider provider) noexcept;
TORCH_API BlasProvider last_blas_provider() noexcept;  // of this thread's last product

// Where OpenBLAS (scipy-openblas32) lies; takes effect when it has not been opened yet.
TORCH_API void set_blas_library(const std::string& path);
TORCH_API std::string blas_library();      // path of the opened library, empty when there is none
TORCH_API std::string blas_description();  // its own words about itself, for torch.doctor

// A function of OpenBLAS or its LAPACK by its usual name ("dgetrf_", "cblas_dgemm"); nullptr when the library or the
// function is not there. `integers` are 32 bits wide.
TORCH_API void* blas_symbol(const char* name);
// The same, or ErrorKind::Runtime saying that `op` needs scipy-openblas32 and how to install it.
TORCH_API void* require_blas_symbol(const char* op, const char* name);

}  // namespace torch
