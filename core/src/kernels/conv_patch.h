// Column panels: reading the patches of kPanel consecutive positions into [step][kPanel], and writing results back.
#pragma once
#include <cstring>

#include "kernels/conv_tile.h"
#include "ops/conv/engine.h"

namespace torch::TORCH_ISA {

using conv::Grid;
using conv::Image;
using conv::Phase;
using conv::Tap;

// A number that follows from the taps of all phases: kernels keep packed weights by it.
TORCH_INLINE int64_t taps_number(const Phase* phases, int count) {
  uint64_t number = uint64_t(count);
  for (int f = 0; f < count; f++)
    for (int t = 0; t < phases[f].tap_count; t++)
      number = (number ^ uint64_t(phases[f].taps[t].index * count + f)) * 0x9e3779b97f4a7c15u;
  return int64_t(number);
}
TORCH_INLINE int64_t columns_of(const Grid& g) { return g.images * g.d * g.h * g.w; }
template <class T>
TORCH_INLINE int64_t panels_of(const Grid& g) {
  return (columns_of(g) + kPanel<T> - 1) / kPanel<T>;
}
TORCH_INLINE int floor_div(int a, int b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// Consecutive lanes of a panel that lie in one row of one image.
struct Segment {
  int lane, length;
  int64_t image;
  int z, y, x;
};
// At most one segment per lane.
template <class T>
struct Segments {
  int count = 0;
  Segment at[kPanel<T>];

  TORCH_INLINE Segments(const Grid& g, int64_t column) {
    const int64_t total = columns_of(g);
    const int lanes = int(total - column < kPanel<T> ? total - column : kPanel<T>);
    int64_t row = column / g.w;
    int x = int(column % g.w), y = int(row % g.h);
    row /= g.h;
    int z = int(row % g.d);
    int64_t image = row / g.d;
    for (int lane = 0; lane < lanes;) {
      const int length = g.w - x < lanes - lane ? g.w - x : lanes - lane;
      at[count++] = {lane, length, image, z, y, x};
      lane += length;
      x = 0;
      if (++y == g.h) y = 0, z++;
      if (z == g.d) z = 0, image++;
    }
  }
};

// Lanes to read at one virtual address: that of lane 0, whether it is among them or not.
struct Read {
  LaneMask mask;
  ptrdiff_t offset;
};

template <class T>
TORCH_INLINE typename Simd<T>::V read_lanes(const Read* reads, int count, const T* source, int stride) {
  using S = Simd<T>;
  typename S::V v{};
  for (int q = 0; q < count; q++) {
    const T* s = source + reads[q].offset;
    if (stride == 1) {
      v = S::load(reads[q].mask, s, v);
    } else if (stride == 2) {
      const uint64_t wide = spread_lanes(reads[q].mask);
      v = S::select(reads[q].mask,
                    S::even(S::load(LaneMask(wide), s), S::load(LaneMask(wide >> S::kWidth), s + S::kWidth)), v);
    } else {
      T lanes[S::kWidth];
      S::store(lanes, v);
      for (int l = 0; l < S::kWidth; l++)
        if (reads[q].mask >> l & 1) lanes[l] = s[ptrdiff_t(l) * stride];
      v = S::load(lanes);
    }
  }
  return v;
}

// What a tap reads for the lanes of a panel: at most `kPanel` runs of each of its two vectors.
template <class T>
struct TapReads {
  int count[2] = {0, 0};
  Read at[2][kPanel<T>];

  TORCH_INLINE TapReads(const Segments<T>& segments, const Image<T>& image, const int (&stride)[3], const Tap& tap) {
    constexpr int W = Simd<T>::kWidth;
    const int S2 = stride[2];
    const int first = -floor_div(tap.dx, S2) > 0 ? -floor_div(tap.dx, S2) : 0;
    const int last = floor_div(image.w - 1 - tap.dx, S2) + 1;
    for (int q = 0; q < segments.count; q++) {
      const Segment& e = segments.at[q];
      const int z = e.z * stride[0] + tap.dz, y = e.y * stride[1] + tap.dy;
      const int begin = e.x > first ? e.x : first, end = e.x + e.length < last ? e.x + e.length : last;
      if (unsigned(z) >= unsigned(image.d) || unsigned(y) >= unsigned(image.h) || begin >= end) continue;
      const LaneMask mask = lane_range(e.lane + begin - e.x, e.lane + end - e.x);
      ptrdiff_t offset =
          e.image * image.image_stride + (ptrdiff_t(z) * image.h + y) * image.w + ptrdiff_t(e.x - e.lane) * S2 + tap.dx;
      for (int h = 0; h < 2; h++, offset += ptrdiff_t(W) * S2) {
        const LaneMask m = mask >> h * W & Simd<T>::kAll;
        if (!m) continue;
        if (count[h] && at[h][count[h] - 1].offset == offset)
          at[h][count[h] - 1].mask |= m;
        else
          at[h][count[h]++] = {m, offset};
      }
    }
  }
};

// Taps whose vectors are one or two runs each, of stride 1 or 2: all that a channel gives is read before the next one,
// for planes a power of two apart share sets of the caches. conv.3d.16-32-k3.forward: 16.1 -> 14.9 ms (Zen 3).
template <class T>
class ShortReads {
  using S = Simd<T>;
  static constexpr int W = S::kWidth;
  struct Vector {
    ptrdiff_t offset[2];
    typename S::Held low[2], high[2];  // high: of stride 2, whose lanes lie in two vectors
    bool two;
  };

 public:
  static constexpr int kMost = 32;  // taps at a time

  // False where a vector has more runs.
  TORCH_INLINE bool add(const TapReads<T>& reads, int stride) {
    for (int h = 0; h < 2; h++) {
      if (reads.count[h] > 2) return false;
      Vector& v = at_[count_][h];
      v.two = reads.count[h] == 2;
      for (int q = 0; q < 2; q++) {
        const Read r = q < reads.count[h] ? reads.at[h][q] : Read{0, 0};
        v.offset[q] = r.offset;
        const uint64_t lanes = stride == 1 ? r.mask : spread_lanes(r.mask);
        v.low[q] = S::held(LaneMask(lanes) & S::kAll), v.high[q] = S::held(LaneMask(lanes >> W) & S::kAll);
      }
    }
    count_++;
    return true;
  }
  template <int kStride>
  TORCH_INLINE void run(T* d, ptrdiff_t step, const T* source, ptrdiff_t channel_stride, int64_t channels) const {
    for (int64_t c = 0; c < channels; c++, source += channel_stride, d += step)
      for (int t = 0; t < count_; t++)
        for (int h = 0; h < 2; h++) {
          const Vector& v = at_[t][h];
          __builtin_prefetch(source + channel_stride + v.offset[0]);
          typename S::V x = read<kStride>(v, 0, source);
          if (v.two) x = x + read<kStride>(v, 1, source);  // no lane is in both: one of them is zero
          S::store(d + t * kPanel<T> + h * W, x);
        }
  }
  int count() const { return count_; }

 private:
  template <int kStride>
  static TORCH_INLINE typename S::V read(const Vector& v, int q, const T* source) {
    const T* s = source + v.offset[q];
    if constexpr (kStride == 1)
      return S::load(v.low[q], s);
    else
      return S::even(S::load(v.low[q], s), S::load(v.high[q], s + W));
  }

  int count_ = 0;
  Vector at_[kMost][2];
};

// panel[(c * tap_count + t) * kPanel + lane] = image[channel + c][position of lane * stride + tap t], 0 outside the
// image. Padding, row ends and image borders cost nothing per channel: the list of reads is made once per tap.
template <class T>
void pack_patches(T* panel, const Image<T>& image, int64_t channel, int64_t channels, const Grid& grid, int64_t column,
                  const int (&stride)[3], const Tap* taps, int tap_count) {
  using S = Simd<T>;
  constexpr int W = S::kWidth;
  const Segments<T> segments(grid, column);
  const ptrdiff_t step = ptrdiff_t(tap_count) * kPanel<T>;
  const int S2 = stride[2];
  const T* const image_of_channel = image.data + channel * image.channel_stride;
  int t = 0;
  if (kVectorRegisters == 16 && S2 <= 2)
    while (t < tap_count) {
      ShortReads<T> some;
      const int begin = t;
      while (t < tap_count && some.count() < some.kMost && some.add({segments, image, stride, taps[t]}, S2)) t++;
      if (t == begin) break;
      T* d = panel + ptrdiff_t(begin) * kPanel<T>;
      S2 == 1 ? some.template run<1>(d, step, image_of_channel, image.channel_stride, channels)
              : some.template run<2>(d, step, image_of_channel, image.channel_stride, channels);
    }
  for (; t < tap_count; t++) {
    const TapReads<T> all(segments, image, stride, taps[t]);
    const auto& reads = all.at;
    const auto& count = all.count;
    const T* source = image_of_channel;
    T* d = panel + ptrdiff_t(t) * kPanel<T>;
    if (S2 == 1 && count[0] == 1 && count[1] == 1) {  // the common case: the panel lies within one row
      const Read r0 = reads[0][0], r1 = reads[1][0];
      for (int64_t c = 0; c < channels; c++, source += image.channel_stride, d += step) {
        __builtin_prefetch(source + r0.offset + 8 * image.channel_stride);
        __builtin_prefetch(source + r1.offset + 8 * image.channel_stride);
        S::store(d, S::load(r0.mask, source + r0.offset));
        S::store(d + W, S::load(r1.mask, source + r1.offset));
      }
    } else if (S2 == 1 && count[0] == 2 && count[1] == 2) {
      const Read r0 = reads[0][0], r1 = reads[1][0], s0 = reads[0][1], s1 = reads[1][1];
      for (int64_t c = 0; c < channels; c++, source += image.channel_stride, d += step) {
        S::store(d, S::load(s0.mask, source + s0.offset, S::load(r0.mask, source + r0.offset)));
        S::store(d + W, S::load(s1.mask, source + s1.offset, S::load(r1.mask, source + r1.offset)));
      }
    } else if (S2 <= 2) {
      for (int64_t c = 0; c < channels; c++, source += image.channel_stride, d += step)
        for (int h = 0; h < 2; h++)
          S::store(d + h * W, S2 == 1 ? read_lanes<T>(reads[h], count[h], source, 1)
                                      : read_lanes<T>(reads[h], count[h], source, 2));
    } else {
      for (int64_t c = 0; c < channels; c++, source += image.channel_stride, d += step)
        for (int h = 0; h < 2; h++) S::store(d + h * W, read_lanes<T>(reads[h], count[h], source, S2));
    }
  }
}

// Does every position read just its own pixel? Then panels are runs of the image itself.
template <class T>
TORCH_INLINE bool is_pointwise(const Image<T>& image, const int (&stride)[3], const Phase& p) {
  return p.tap_count == 1 && p.taps[0].dz == 0 && p.taps[0].dy == 0 && p.taps[0].dx == 0 && stride[0] == 1 &&
         stride[1] == 1 && stride[2] == 1 && p.grid.d == image.d && p.grid.h == image.h && p.grid.w == image.w;
}

// `count` neighbouring panels of a pointwise convolution, each panel_stride apart: long contiguous reads per channel.
template <class T>
void pack_pointwise(T* panels, ptrdiff_t panel_stride, const Image<T>& image, int64_t channel, int64_t channels,
                    const Grid& grid, int64_t first_panel, int64_t count) {
  using S = Simd<T>;
  const int64_t plane = int64_t(image.d) * image.h * image.w;
  for (int64_t j = 0; j < count;) {
    const int64_t column = (first_panel + j) * kPanel<T>, inside = column % plane;
    const int64_t whole = (plane - inside) / kPanel<T>, run = whole < count - j ? whole : count - j;
    if (run < 1) {
      const Tap tap{0, 0, 0, 0};
      const int one[3] = {1, 1, 1};
      pack_patches(panels + j * panel_stride, image, channel, channels, grid, column, one, &tap, 1);
      j++;
      continue;
    }
    const T* source = image.data + column / plane * image.image_stride + channel * image.channel_stride + inside;
    T* d = panels + j * panel_stride;
    for (int64_t c = 0; c < channels; c++, source += image.channel_stride, d += kPanel<T>)
      for (int64_t k = 0; k < run; k++) {
        __builtin_prefetch(source + 4 * image.channel_stride + k * kPanel<T>);
        __builtin_prefetch(source + 4 * image.channel_stride + k * kPanel<T> + S::kWidth);
        S::store(d + k * panel_stride, S::load(source + k * kPanel<T>));
        S::store(d + k * panel_stride + S::kWidth, S::load(source + k * kPanel<T> + S::kWidth));
      }
    j += run;
  }
}

// Where the lanes of a panel go in an output plane: lanes of one run are `step` apart, offset is that of lane 0.
template <class T>
struct Runs {
  int count = 0, step, lanes = 0;
  Read at[kPanel<T>];

  TORCH_INLINE Runs(const Phase& p, int64_t column, int64_t out_image, int out_h, int out_w) : step(p.step[2]) {
    const Segments<T> segments(p.grid, column);
    for (int q = 0; q < segments.count; q++) {
      const Segment& e = segments.at[q];
      lanes = e.lane + e.length;
      const int64_t z = int64_t(e.z) * p.step[0] + p.origin[0], y = int64_t(e.y) * p.step[1] + p.origin[1];
      const ptrdiff_t offset =
          e.image * out_image + (z * out_h + y) * out_w + ptrdiff_t(e.x - e.lane) * step + p.origin[2];
      const LaneMask mask = lane_range(e.lane, e.lane + e.length);
      if (count && at[count - 1].offset == offset)
        at[count - 1].mask |= mask;
      else
        at[count++] = {mask, offset};
    }
  }
  TORCH_INLINE bool direct() const { return count == 1 && step == 1; }
};

// tile[row][kPanel] to the planes of `out`.
template <class T>
void scatter(const Runs<T>& to, const T* tile, int rows, T* out, int64_t plane) {
  using S = Simd<T>;
  if (to.step == 1) {
    for (int i = 0; i < rows; i++, tile += kPanel<T>, out += plane) {
      const typename S::V low = S::load(tile), high = S::load(tile + S::kWidth);
      for (int q = 0; q < to.count; q++) {
        const LaneMask m0 = to.at[q].mask & S::kAll, m1 = to.at[q].mask >> S::kWidth & S::kAll;
        if (m0) S::store(m0, out + to.at[q].offset, low);
        if (m1) S::store(m1, out + to.at[q].offset + S::kWidth, high);
      }
    }
    return;
  }
  const ptrdiff_t step = to.step;
  for (int q = 0; q < to.count; q++) {
    const int begin = __builtin_ctz(to.at[q].mask), end = 32 - __builtin_clz(to.at[q].mask);
    for (int i = 0; i < rows; i++) {
      const T* s = tile + i * kPanel<T>;
      T* d = out + i * plane + to.at[q].offset;
      for (int l = begin; l < end; l++) d[l * step] = s[l];
    }
  }
}

// d[p * d_row + 0..rows) = s[r * s_row + p] for p < columns; rows <= kWidth. Lanes outside `keep` are left alone.
template <class T>
void transpose_strip(T* d, ptrdiff_t d_row, const T* s, ptrdiff_t s_row, int rows, int64_t columns, LaneMask keep) {
  using S = Simd<T>;
  constexpr int W = S::kWidth;
  for (int64_t p = 0; p < columns; p += W) {
    const int wide = int(columns - p < W ? columns - p : W);
    const LaneMask mask = first_lanes(wide);
    typename S::V row[W];
    for (int i = 0; i < W; i++) row[i] = i < rows ? S::load(mask, s + i * s_row + p) : typename S::V{};
    S::transpose(row);
    for (int i = 0; i < wide; i++) S::store(keep, d + (p + i) * d_row, row[i]);
  }
}

}  // namespace torch::TORCH_ISA
