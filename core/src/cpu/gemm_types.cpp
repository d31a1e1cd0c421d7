// Products of integers and complex numbers, conversions of the 16-bit types, and the table of all product kernels.
#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "cpu/gemm_kernels.h"
#include "torch/core/pool.h"
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace torch::TORCH_ISA {

void gemm_f32(const Product<float>&);
void gemm_f64(const Product<double>&);
int64_t gemm_packed_f32(int64_t, int64_t);
int64_t gemm_packed_f64(int64_t, int64_t);
void gemm_pack_f32(int64_t, int64_t, MatrixView<const float>, float*);
void gemm_pack_f64(int64_t, int64_t, MatrixView<const double>, double*);
#if defined(__AVX512F__)
void gemm_pairs(const Product<float>&);
void gemm_tiles(const TileProduct&);
#else
constexpr decltype(GemmKernels::pairs) gemm_pairs = nullptr;
constexpr decltype(GemmKernels::tiles) gemm_tiles = nullptr;
#endif
float dot_f32(int64_t, const float*, const float*);
double dot_f64(int64_t, const double*, const double*);

namespace {

// Integers wrap; below 32 bits they would be promoted to int, whose overflow is undefined.
template <class T>
TORCH_INLINE void add_product(T& sum, T x, T y) {
  using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, T>;
  sum = static_cast<T>(Wide(sum) + Wide(x) * Wide(y));
}
// The plain formula: without the library's search for infinities, as every BLAS.
template <class T>
TORCH_INLINE std::complex<T> multiply(std::complex<T> x, std::complex<T> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
template <class T>
TORCH_INLINE void add_product(std::complex<T>& sum, std::complex<T> x, std::complex<T> y) {
  sum += multiply(x, y);
}
template <class T>
TORCH_INLINE T times(T x, T y) {
  T product{};
  add_product(product, x, y);
  return product;
}

// Row by row: a slice of C stays in cache while rows of B, gathered when they are not contiguous, are added to it.
template <class T>
void product(const Product<T>& given) {
  Product<T> p = given;
  if (p.n == 1) p.c.col = 1;
  if (p.m == 1) p.c.row = 1;
  if (p.c.col != 1 && p.c.row == 1) p = p.transposed();
  constexpr int64_t kSlice = 1024, kRun = 64;
  const int64_t rows = std::clamp<int64_t>(p.m / 64, 4, 32);
  parallel_for(p.m, 2 * p.m * p.n * p.k < 100'000 ? p.m : rows, [&](int64_t begin, int64_t end) {
    std::vector<T> gathered(p.b.col == 1 ? 0 : static_cast<size_t>(kRun * std::min(kSlice, p.n)));
    std::vector<T> sum(static_cast<size_t>((end - begin) * std::min(kSlice, p.n)));
    for (int64_t j0 = 0; j0 < p.n; j0 += kSlice) {
      const int64_t width = std::min(kSlice, p.n - j0);
      std::fill(sum.begin(), sum.end(), T{});
      for (int64_t k0 = 0; k0 < p.k; k0 += kRun) {
        const int64_t depth = std::min(kRun, p.k - k0);
        const T* b = p.b.at(k0, j0);
        int64_t b_row = p.b.row;
        if (p.b.col != 1) {
          for (int64_t k = 0; k < depth; ++k)
            for (int64_t j = 0; j < width; ++j) gathered[k * width + j] = *p.b.at(k0 + k, j0 + j);
          b = gathered.data();
          b_row = width;
        }
        for (int64_t i = begin; i < end; ++i) {
          T* const c = sum.data() + (i - begin) * width;
          for (int64_t k = 0; k < depth; ++k) {
            const T a = *p.a.at(i, k0 + k), *const row = b + k * b_row;
            for (int64_t j = 0; j < width; ++j) add_product(c[j], a, row[j]);
          }
        }
      }
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < width; ++j) {
          T value = times(p.alpha, sum[(i - begin) * width + j]);
          if (p.beta != T{}) add_product(value, p.beta, *p.d.at(i, j0 + j));
          *p.c.at(i, j0 + j) = value;
        }
    }
  });
}

void half_to_float(int64_t n, const Half* x, float* y) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
#endif
  for (; i < n; ++i) y[i] = x[i];
}
void float_to_half(int64_t n, const float* x, Half* y) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
  for (; i < n; ++i) y[i] = Half(x[i]);
}
void bfloat16_to_float(int64_t n, const BFloat16* x, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i];
}
void float_to_bfloat16(int64_t n, const float* x, BFloat16* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = BFloat16(x[i]);
}

void pair_up(int64_t n, const BFloat16* low, const BFloat16* high, uint32_t* pairs) {
  if (high)
    for (int64_t i = 0; i < n; ++i) pairs[i] = uint32_t(low[i].bits) | uint32_t(high[i].bits) << 16;
  else
    for (int64_t i = 0; i < n; ++i) pairs[i] = low[i].bits;
}

constexpr GemmKernels kTable = {
    gemm_f32,
    gemm_f64,
    gemm_packed_f32,
    gemm_packed_f64,
    gemm_pack_f32,
    gemm_pack_f64,
    product<uint8_t>,
    product<uint16_t>,
    product<uint32_t>,
    product<uint64_t>,
    product<std::complex<float>>,
    product<std::complex<double>>,
    gemm_pairs,
    gemm_tiles,
    dot_f32,
    dot_f64,
    half_to_float,
    float_to_half,
    bfloat16_to_float,
    float_to_bfloat16,
    pair_up,
};

}  // namespace

const GemmKernels& gemm_table() { return kTable; }

}  // namespace torch::TORCH_ISA
