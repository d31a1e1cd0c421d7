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

// What a vector of each phase is made of.
struct PlaneStrip {
  LaneMask keep, low, high;  // lanes that are written, and those of its two vectors of the source that are within it
  bool is_whole;
};

// A row of the source, from the first column of `strips` on, to its phases.
template <class T>
TORCH_INLINE void split_row(T* d, const T* s, const PlaneStrip* strips, int count, const PlaneSplit& p) {
  using S = Simd<T>;
  constexpr int W = S::kWidth;
  for (int k = 0; k < count; k++, d += W, s += p.sx * W) {
    const PlaneStrip& strip = strips[k];
    if (p.sx == 1) {
      strip.is_whole ? S::store(d, S::load(s)) : S::store(strip.keep, d, S::load(strip.low, s));
    } else if (strip.is_whole) {
      const typename S::V a = S::load(s), b = S::load(s + W);
      S::store(d, S::even(a, b));
      S::store(d + p.plane(), S::odd(a, b));
    } else {
      const typename S::V a = S::load(strip.low, s), b = S::load(strip.high, s + W);
      S::store(strip.keep, d, S::even(a, b));
      S::store(strip.keep, d + p.plane(), S::odd(a, b));
    }
  }
}

// dst[c][ry][rx][i][j] = src[c][(first_row + i) * sy + ry - top][j * sx + rx - left], 0 outside. Lanes outside the
// source read as zero, so that the padding needs no loop of its own; with a stride of 2 both phases share their loads.
// Channels of the source lie `apart`. Rows are read and written in their order: 3 to 16 channels of 224 x 224 with a
// stride of 2 take 156 us within MobileNetV3, and 204 by strips of a vector from the first row to the last (one thread,
// AMD EPYC, Zen 4).
template <class T>
void split_planes(T* dst, const T* src, int64_t channels, int64_t apart, const PlaneSplit& p, int first_row) {
  using S = Simd<T>;
  constexpr int W = S::kWidth, kStrips = 16, kRowsAhead = 4;
  for (int first = 0; first < p.pitch; first += kStrips * W) {
    PlaneStrip strips[kStrips];
    const int left = (p.pitch - first + W - 1) / W, count = left < kStrips ? left : kStrips;
    const int width = count * W < p.pitch - first ? count * W : p.pitch - first;
    for (int k = 0; k < count; k++) {
      const int j = first + k * W, column = j * p.sx - p.left;  // of lane 0 in the first phase
      PlaneStrip& s = strips[k];
      s.keep = first_lanes(p.pitch - j) & S::kAll;
      s.low = lane_range(-column, p.w - column) & S::kAll;
      s.high = lane_range(-column - W, p.w - column - W) & S::kAll;
      s.is_whole = s.keep == S::kAll && s.low == S::kAll && (p.sx == 1 || s.high == S::kAll);
    }
    T* d = dst + first;
    const T* channel = src;
    for (int64_t c = 0; c < channels; c++, channel += apart)
      for (int ry = 0; ry < p.sy; ry++, d += (p.sx - 1) * p.plane())
        for (int i = 0; i < p.rows; i++, d += p.pitch) {
          const int y = (first_row + i) * p.sy + ry - p.top;
          if (unsigned(y) >= unsigned(p.h)) {
            for (int rx = 0; rx < p.sx; rx++) std::memset(d + rx * p.plane(), 0, size_t(width) * sizeof(T));
            continue;
          }
          const T* s = channel + int64_t(y) * p.w - p.left + int64_t(first) * p.sx;
          prefetch_to_read(s + int64_t(kRowsAhead) * p.sy * p.w, width * p.sx);
          if (p.sx <= 2)
            split_row(d, s, strips, count, p);
          else
            for (int rx = 0; rx < p.sx; rx++)
              for (int j = 0; j < width; j++) {
                const int x = j * p.sx + rx;
                d[rx * p.plane() + j] = unsigned(first * p.sx - p.left + x) >= unsigned(p.w) ? T(0) : s[x];
              }
        }
  }
}

}  // namespace torch::TORCH_ISA
