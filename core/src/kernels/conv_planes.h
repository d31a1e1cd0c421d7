// Padded copies of image planes, split by the stride: on a phase plane each tap of a convolution is a plain load at a
// constant offset, whatever the stride and the padding.
#pragma once
#include <cstring>

#include "kernels/conv_patch.h"

namespace torch::TORCH_ISA {

struct PlaneSplit {
  int h, w;         // of the source
  int sy, sx;       // stride: sy * sx phase planes per channel
  int top, left;    // padding before the first row and column
  int rows, pitch;  // of a phase plane
  TORCH_INLINE int64_t plane() const { return int64_t(rows) * pitch; }
  TORCH_INLINE int64_t channel() const { return plane() * sy * sx; }
};

// dst[c][ry][rx][i][j] = src[c][(first_row + i) * sy + ry - top][j * sx + rx - left], 0 outside. Lanes outside the
// source read as zero, so that the padding needs no loop of its own; with a stride of 2 both phases share their loads.
// Channels of the source lie `apart`.
template <class T>
void split_planes(T* dst, const T* src, int64_t channels, int64_t apart, const PlaneSplit& p, int first_row) {
  using S = Simd<T>;
  constexpr int W = S::kWidth, kRowsAhead = 4;
  for (int64_t c = 0; c < channels; c++, src += apart)
    for (int ry = 0; ry < p.sy; ry++, dst += p.sx * p.plane())
      for (int j = 0; j < p.pitch; j += W) {
        const LaneMask keep = first_lanes(p.pitch - j) & S::kAll;
        const int column = j * p.sx - p.left;  // of lane 0 in the first phase
        const LaneMask low = lane_range(-column, p.w - column) & S::kAll,
                       high = lane_range(-column - W, p.w - column - W) & S::kAll;
        T* d = dst + j;
        for (int i = 0; i < p.rows; i++, d += p.pitch) {
          const int y = (first_row + i) * p.sy + ry - p.top;
          // Rows are read a vector at a time: whole ones come before, in their order. 3 to 32 channels of 224 x 224
          // with a stride of 2 take 172 to 194 us within EfficientNet instead of 241 (one thread, AMD EPYC, Zen 5).
          if (j == 0) prefetch_to_read(src + int64_t(y + kRowsAhead * p.sy) * p.w, p.w);
          const bool outside = unsigned(y) >= unsigned(p.h);
          const T* s = src + int64_t(outside ? 0 : y) * p.w + column;
          if (p.sx <= 2) {
            const typename S::V a = S::load(outside ? 0 : low, s);
            if (p.sx == 1) {
              S::store(keep, d, a);
              continue;
            }
            const typename S::V b = S::load(outside ? 0 : high, s + W);
            S::store(keep, d, S::even(a, b));
            S::store(keep, d + p.plane(), S::odd(a, b));
          } else {
            for (int rx = 0; rx < p.sx; rx++)
              for (int l = 0; l < W && j + l < p.pitch; l++) {
                const int x = l * p.sx + rx;
                d[rx * p.plane() + l] = outside || unsigned(column + x) >= unsigned(p.w) ? T(0) : s[x];
              }
          }
        }
      }
}

}  // namespace torch::TORCH_ISA
