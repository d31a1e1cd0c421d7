// Copies rows of an operand into a panel that the micro-kernel reads in order: out[k][width].
#pragma once
#include <algorithm>
#include <cstdint>

#include "blas/blas.h"
#include "kernels/gemm.h"

namespace torch::TORCH_ISA::gemm_parts {

// 16 bytes of each of `16 / sizeof(T)` rows, transposed.
TORCH_INLINE void transpose_small(const float* in, int64_t row, float* out, int64_t width) {
  typedef float V __attribute__((vector_size(16)));
  typedef float Loose __attribute__((vector_size(16), aligned(4), may_alias));
  const auto at = [&](int r) { return V(*reinterpret_cast<const Loose*>(in + r * row)); };
  const V a = at(0), b = at(1), c = at(2), d = at(3);
  const V ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const V cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const auto put = [&](int k, V v) { *reinterpret_cast<Loose*>(out + k * width) = v; };
  put(0, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
  put(1, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
  put(2, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
  put(3, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
}
TORCH_INLINE void transpose_small(const double* in, int64_t row, double* out, int64_t width) {
  typedef double V __attribute__((vector_size(16)));
  typedef double Loose __attribute__((vector_size(16), aligned(8), may_alias));
  const V a = *reinterpret_cast<const Loose*>(in), b = *reinterpret_cast<const Loose*>(in + row);
  *reinterpret_cast<Loose*>(out) = __builtin_shufflevector(a, b, 0, 2);
  *reinterpret_cast<Loose*>(out + width) = __builtin_shufflevector(a, b, 1, 3);
}

// `rows` <= width rows of `source`, which starts at the panel's first element; missing rows become zero.
template <class T>
void pack_panel(MatrixView<const T> source, int64_t rows, int64_t k, int64_t width, T* out) {
  constexpr int64_t kStep = 16 / sizeof(T);
  if (rows < width)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t r = rows; r < width; ++r) out[p * width + r] = 0;
  if (source.row == 1) {
    if (rows == width && width % kLanes<T> == 0) {
      for (int64_t p = 0; p < k; ++p)
        for (int64_t r = 0; r < width; r += kLanes<T>)
          store(out + p * width + r, load(source.data + p * source.col + r));
    } else {
      for (int64_t p = 0; p < k; ++p)
        for (int64_t r = 0; r < rows; ++r) out[p * width + r] = source.data[p * source.col + r];
    }
    return;
  }
  int64_t done = 0;  // of k
  if (source.col == 1 && rows >= kStep) {
    done = k / kStep * kStep;
    for (int64_t r0 = 0; r0 < rows; r0 += kStep) {
      const int64_t r = std::min(r0, rows - kStep);  // the last group overlaps the one before
      for (int64_t p = 0; p < done; p += kStep)
        transpose_small(source.at(r, p), source.row, out + p * width + r, width);
    }
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t p = done; p < k; ++p) out[p * width + r] = *source.at(r, p);
}

}  // namespace torch::TORCH_ISA::gemm_parts
