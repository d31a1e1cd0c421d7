// The end of a weight gradient that was summed as [c, tap][o] in several slices.
#pragma once
#include "kernels/conv_patch.h"
#include "kernels/conv_tasks.h"

namespace torch::TORCH_ISA {

// sums[0] += sums[1] + ... in order.
template <class T>
void add_slices(T* sums, int64_t slices, int64_t size) {
  if (slices == 1) return;
  parallel_for(size, 65536, [&](int64_t begin, int64_t end) {
    for (int64_t k = 1; k < slices; k++)
      for (int64_t i = begin; i < end; i++) sums[i] += sums[k * size + i];
  });
}

// dw[o][r] = sums[r][o], rows of sums `pitch` apart.
template <class T>
void turn_back(T* dw, const T* sums, int64_t outputs, int64_t rows, int64_t pitch) {
  constexpr int W = Simd<T>::kWidth;
  parallel_for((rows + W - 1) / W, 65536 / (outputs * W) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin * W; r < end * W && r < rows; r += W) {
      const int count = int(rows - r < W ? rows - r : W);
      transpose_strip(dw + r, rows, sums + r * pitch, pitch, count, outputs, first_lanes(count));
    }
  });
}

}  // namespace torch::TORCH_ISA
