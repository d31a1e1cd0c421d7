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

// dst[c][ry][rx][i][j] = src[c][(first_row + i) * sy + ry - top][j * sx + rx - left], 0 outside.
template <class T>
void split_planes(T* dst, const T* src, int64_t channels, const PlaneSplit& p, int first_row) {
  using S = Simd<T>;
  constexpr int W = S::kWidth;
  for (int64_t c = 0; c < channels; c++, src += int64_t(p.h) * p.w)
    for (int ry = 0; ry < p.sy; ry++)
      for (int rx = 0; rx < p.sx; rx++) {
        const int begin = -floor_div(rx - p.left, p.sx), end = floor_div(p.w - 1 - rx + p.left, p.sx) + 1;
        const int low = begin < 0 ? 0 : begin > p.pitch ? p.pitch : begin;
        const int high = end < low ? low : end > p.pitch ? p.pitch : end;
        for (int i = 0; i < p.rows; i++, dst += p.pitch) {
          const int y = (first_row + i) * p.sy + ry - p.top;
          if (unsigned(y) >= unsigned(p.h)) {
            std::memset(dst, 0, size_t(p.pitch) * sizeof(T));
            continue;
          }
          const T* s = src + int64_t(y) * p.w + rx - p.left;
          for (int j = 0; j < low; j++) dst[j] = 0;
          for (int j = high; j < p.pitch; j++) dst[j] = 0;
          for (int j = low; j < high; j += W) {
            const LaneMask mask = first_lanes(high - j);
            if (p.sx == 1) {
              S::store(mask, dst + j, S::load(mask, s + j));
            } else if (p.sx == 2) {
              const uint64_t wide = spread_lanes(mask & S::kAll);
              S::store(mask, dst + j,
                       S::even(S::load(LaneMask(wide), s + 2 * j), S::load(LaneMask(wide >> W), s + 2 * j + W)));
            } else {
              for (int l = 0; l < W && j + l < high; l++) dst[j + l] = s[int64_t(j + l) * p.sx];
            }
          }
        }
      }
}

}  // namespace torch::TORCH_ISA
