// Room for packed operands, and copies of rows of an operand into a panel that the micro-kernel reads in order:
// out[k][width].
#pragma once
#include <algorithm>
#include <cstdint>

#include "blas/blas.h"
#include "kernels/gemm.h"
#include "torch/core/allocator.h"

namespace torch::TORCH_ISA::gemm_parts {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t count) : bytes_(static_cast<size_t>(count) * sizeof(T)), data_(allocate(bytes_)) {}
  ~Scratch() { deallocate(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const noexcept { return static_cast<T*>(data_); }

 private:
  size_t bytes_;
  void* data_;
};

// N elements of each of N rows, transposed: at each step halves of pairs of rows change places, ever smaller ones.
template <class T, int N, int Half>
TORCH_INLINE void swap_halves(auto& v) {
  [&]<int... C>(std::integer_sequence<int, C...>) {
#pragma GCC unroll 16
    for (int r = 0; r < N; ++r) {
      if (r & Half) continue;
      const auto a = v[r], b = v[r + Half];
      v[r] = __builtin_shufflevector(a, b, (C & Half ? C - Half + N : C)...);
      v[r + Half] = __builtin_shufflevector(a, b, (C & Half ? C + N : C + Half)...);
    }
  }(std::make_integer_sequence<int, N>{});
  if constexpr (Half > 1) swap_halves<T, N, Half / 2>(v);
}
template <class T, int N>
TORCH_INLINE void transpose(const T* in, int64_t row, T* out, int64_t width) {
  typedef T V __attribute__((vector_size(N * sizeof(T))));
  typedef T Loose __attribute__((vector_size(N * sizeof(T)), aligned(alignof(T)), may_alias));
  V v[N];
#pragma GCC unroll 16
  for (int r = 0; r < N; ++r) v[r] = *reinterpret_cast<const Loose*>(in + r * row);
  swap_halves<T, N, N / 2>(v);
#pragma GCC unroll 16
  for (int r = 0; r < N; ++r) *reinterpret_cast<Loose*>(out + r * width) = v[r];
}

// The first elements of all rows of a panel, as many as are done N at a time; returns how many.
template <class T, int N>
int64_t transpose_rows(MatrixView<const T> source, int64_t rows, int64_t k, int64_t width, T* out) {
  const int64_t done = k / N * N;
  for (int64_t r0 = 0; r0 < rows; r0 += N) {
    const int64_t r = std::min(r0, rows - N);  // the last group overlaps the one before
    for (int64_t p = 0; p < done; p += N) transpose<T, N>(source.at(r, p), source.row, out + p * width + r, width);
  }
  return done;
}

// `rows` <= width rows of `source`, which starts at the panel's first element; the room of others stays as it is.
template <class T>
void pack_panel(MatrixView<const T> source, int64_t rows, int64_t k, int64_t width, T* out) {
  constexpr int kFew = 16 / sizeof(T), kHalf = std::max(kFew, kLanes<T> / 2);
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
  // Whole registers write whole lines of the cache: 1024 x 256 in panels of 32 rows, 47 -> 25 us, against groups of
  // four rows alone (AMD EPYC, Zen 4).
  int64_t done = 0;  // of k
  if (source.col == 1) {
    if (rows >= kLanes<T>)
      done = transpose_rows<T, kLanes<T>>(source, rows, k, width, out);
    else if (rows >= kHalf)
      done = transpose_rows<T, kHalf>(source, rows, k, width, out);
    else if (rows >= kFew)
      done = transpose_rows<T, kFew>(source, rows, k, width, out);
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t p = done; p < k; ++p) out[p * width + r] = *source.at(r, p);
}

}  // namespace torch::TORCH_ISA::gemm_parts
