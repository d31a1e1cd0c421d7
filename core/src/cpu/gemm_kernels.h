// What each instruction set offers for matrix products (src/cpu/gemm*.cpp), and how the host side reaches it.
#pragma once
#include <complex>
#include <cstdint>

#include "blas/blas.h"
#include "dispatch/work.h"
#include "storage/epilogue.h"
#include "torch/core/cpu.h"
#include "torch/core/half.h"

namespace torch {

// One product, c = alpha * a @ b + beta * d (blas.h). m, n, k > 0.
template <class T>
struct Product {
  int64_t m, n, k;
  Factor<T> alpha;
  MatrixView<const T> a, b;
  Factor<T> beta;
  MatrixView<const T> d;
  MatrixView<T> c;
  Epilogue epilogue = {};     // where c is dense
  const T* packed = nullptr;  // b, as GemmKernels::pack made it; of float and double

  // The same product read the other way round: c' = b' @ a'.
  Product transposed() const noexcept {
    return {n, m, k, alpha, b.transposed(), a.transposed(), beta, d.transposed(), c.transposed(), epilogue, nullptr};
  }
};

// c = alpha * a @ b of bfloat16 in float; c is (m, n), row by row.
struct TileProduct {
  int64_t m, n, k;
  float alpha;
  MatrixView<const BFloat16> a, b;
  float* c;
};

struct GemmKernels {
  void (*f32)(const Product<float>&);
  void (*f64)(const Product<double>&);
  // A matrix (k, n) as products read it, for who has many of them; and how many elements that takes.
  int64_t (*packed_f32)(int64_t n, int64_t k);
  int64_t (*packed_f64)(int64_t n, int64_t k);
  void (*pack_f32)(int64_t n, int64_t k, MatrixView<const float> b, float* to);
  void (*pack_f64)(int64_t n, int64_t k, MatrixView<const double> b, double* to);
  void (*u8)(const Product<uint8_t>&);
  void (*u16)(const Product<uint16_t>&);
  void (*u32)(const Product<uint32_t>&);
  void (*u64)(const Product<uint64_t>&);
  void (*c64)(const Product<std::complex<float>>&);
  void (*c128)(const Product<std::complex<double>>&);
  // Where avx512_bf16 is, else null: a and b are pairs of bfloat16, which follow each other along k, and k counts
  // pairs.
  void (*pairs)(const Product<float>&);
  void (*tiles)(const TileProduct&);  // where amx_bf16 is and the system grants its registers, else null
  float (*dot_f32)(int64_t n, const float* x, const float* y);  // one block, contiguous
  double (*dot_f64)(int64_t n, const double* x, const double* y);
  void (*half_to_float)(int64_t n, const Half* x, float* y);
  void (*float_to_half)(int64_t n, const float* x, Half* y);
  void (*bfloat16_to_float)(int64_t n, const BFloat16* x, float* y);
  void (*float_to_bfloat16)(int64_t n, const float* x, BFloat16* y);
  void (*pair_up)(int64_t n, const BFloat16* low, const BFloat16* high, uint32_t* pairs);  // no high ones: zero
};

// Of the level in force.
inline const GemmKernels& gemm_kernels() noexcept { return work<GemmKernels>.on_cpu(); }

}  // namespace torch
