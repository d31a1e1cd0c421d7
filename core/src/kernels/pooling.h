// Pooling by its definition, for any type, number of dims and size of window. The vector forms of cpu/pool2d.cpp do the
// same for float.
#pragma once
#include <cstring>
#include <limits>
#include <type_traits>

#include "ops/conv/pooling.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

using pool::Bins;
using pool::Divisor;
using pool::Windows;

// f(first plane, last plane), cut so that a piece is worth a thread.
template <class F>
void for_planes(int64_t planes, int64_t work_per_plane, F f) {
  parallel_for(planes, 32768 / (work_per_plane + 1) + 1, f);
}

// The taps [begin, end) of a window that lie inside the input, along one dim.
struct Reach {
  int64_t start, begin, end;  // tap t reads start + t * dilation
};
TORCH_INLINE constexpr Reach reach(const Windows& w, int dim, int64_t position) {
  const int64_t start = position * w.stride[dim] - w.padding[dim], step = w.dilation[dim];
  const int64_t begin = start < 0 ? (-start + step - 1) / step : 0;
  const int64_t last = w.in[dim] - 1 - start, end = last < 0 ? 0 : last / step + 1;
  return {start, begin, end < w.kernel[dim] ? end : w.kernel[dim]};
}

// f(output index, taps along z, y, x) for every window of a plane.
template <class F>
TORCH_INLINE void for_windows(const Windows& w, F f) {
  int64_t o = 0;
  for (int64_t z = 0; z < w.out[0]; z++) {
    const Reach rz = reach(w, 0, z);
    for (int64_t y = 0; y < w.out[1]; y++) {
      const Reach ry = reach(w, 1, y);
      for (int64_t x = 0; x < w.out[2]; x++) f(o++, rz, ry, reach(w, 2, x));
    }
  }
}

template <class T>
TORCH_INLINE constexpr bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x != x;
  else
    return false;
}

// The largest element of a window and its tap; of a window without elements, minus infinity.
template <class T>
struct Best {
  T value;
  int64_t tap;  // or the place, in a bin
};
template <class T>
TORCH_INLINE constexpr Best<T> best_of(const Windows& w, const T* plane, Reach rz, Reach ry, Reach rx) {
  Best<T> best{std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest(),
               (rz.begin * w.kernel[1] + ry.begin) * w.kernel[2] + rx.begin};
  for (int64_t z = rz.begin; z < rz.end; z++)
    for (int64_t t = ry.begin; t < ry.end; t++)
      for (int64_t s = rx.begin; s < rx.end; s++) {
        const T value = plane[((rz.start + z * w.dilation[0]) * w.in[1] + ry.start + t * w.dilation[1]) * w.in[2] +
                              rx.start + s * w.dilation[2]];
        if (value > best.value || is_nan(value)) best = {value, (z * w.kernel[1] + t) * w.kernel[2] + s};
      }
  return best;
}
template <class T, class Winner>
void max_forward(const Windows& w, const T* x, T* y, Winner* winners) {
  for_planes(w.planes, w.out_plane() * w.taps(), [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; p++) {
      const T* plane = x + p * w.in_plane();
      T* out = y + p * w.out_plane();
      for_windows(w, [&](int64_t o, Reach rz, Reach ry, Reach rx) {
        const Best<T> best = best_of(w, plane, rz, ry, rx);
        out[o] = best.value;
        if (winners) winners[p * w.out_plane() + o] = Winner(best.tap);
      });
    }
  });
}

// Where each tap reads, from where tap 0 of its window does. Windows of padding alone (`partial`) have a winner that is
// not in the input.
template <class Winner>
struct TapOffsets {
  static constexpr int64_t kKept = sizeof(Winner) == 1 ? 256 : 0;
  int64_t offset[kKept + 1];
  bool partial = kKept == 0;

  explicit TapOffsets(const Windows& w) {
    for (int dim = 0; dim < 3 && !partial; dim++)
      for (int64_t i = 0; i < w.out[dim]; i++) {
        const Reach r = reach(w, dim, i);
        partial |= r.begin >= r.end;
      }
    if (partial) return;
    int64_t tap = 0;
    for (int64_t z = 0; z < w.kernel[0]; z++)
      for (int64_t y = 0; y < w.kernel[1]; y++)
        for (int64_t x = 0; x < w.kernel[2]; x++)
          offset[tap++] = (z * w.dilation[0] * w.in[1] + y * w.dilation[1]) * w.in[2] + x * w.dilation[2];
  }
};

// Calls f(output index, input index) for every window of plane p whose winner lies inside the input.
template <class Winner, class F>
TORCH_INLINE void for_winners(const Windows& w, const TapOffsets<Winner>& places, const Winner* winners, int64_t p,
                              F f) {
  const Winner* of_plane = winners + p * w.out_plane();
  if (!places.partial) {
    int64_t o = 0;
    for (int64_t z = 0; z < w.out[0]; z++)
      for (int64_t y = 0; y < w.out[1]; y++) {
        int64_t first =
            ((z * w.stride[0] - w.padding[0]) * w.in[1] + y * w.stride[1] - w.padding[1]) * w.in[2] - w.padding[2];
        for (int64_t x = 0; x < w.out[2]; x++, o++, first += w.stride[2]) f(o, first + places.offset[of_plane[o]]);
      }
    return;
  }
  for_windows(w, [&](int64_t o, Reach rz, Reach ry, Reach rx) {
    const int64_t tap = of_plane[o], s = tap % w.kernel[2], t = tap / w.kernel[2] % w.kernel[1],
                  z = tap / w.kernel[2] / w.kernel[1];
    if (z < rz.begin || z >= rz.end || t < ry.begin || t >= ry.end || s < rx.begin || s >= rx.end) return;
    f(o, ((rz.start + z * w.dilation[0]) * w.in[1] + ry.start + t * w.dilation[1]) * w.in[2] + rx.start +
             s * w.dilation[2]);
  });
}
template <class T, class Winner>
void max_backward(const Windows& w, const T* dy, const Winner* winners, T* dx) {
  const TapOffsets<Winner> places(w);
  for_planes(w.planes, w.in_plane() + 8 * w.out_plane(), [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; p++) {
      const T* g = dy + p * w.out_plane();
      T* d = dx + p * w.in_plane();
      std::memset(d, 0, size_t(w.in_plane()) * sizeof(T));
      for_winners(w, places, winners, p, [&](int64_t o, int64_t i) { d[i] += g[o]; });
    }
  });
}
template <class T, class Winner>
void max_gather(const Windows& w, const T* x, const Winner* winners, T* y) {
  const TapOffsets<Winner> places(w);
  for_planes(w.planes, 8 * w.out_plane(), [&](int64_t first, int64_t last) {
    std::memset(y + first * w.out_plane(), 0, size_t((last - first) * w.out_plane()) * sizeof(T));
    for (int64_t p = first; p < last; p++) {
      const T* s = x + p * w.in_plane();
      T* d = y + p * w.out_plane();
      for_winners(w, places, winners, p, [&](int64_t o, int64_t i) { d[o] = s[i]; });
    }
  });
}

// The place within the plane of a tap of window (z, y, x).
TORCH_INLINE constexpr int64_t place_of(const Windows& w, int64_t tap, int64_t z, int64_t y, int64_t x) {
  const int64_t at[3] = {z, y, x};
  const int64_t taps[3] = {tap / w.kernel[2] / w.kernel[1], tap / w.kernel[2] % w.kernel[1], tap % w.kernel[2]};
  int64_t place = 0;
  for (int k = 0; k < 3; k++) place = place * w.in[k] + at[k] * w.stride[k] - w.padding[k] + taps[k] * w.dilation[k];
  return place;
}
template <class Winner>
void max_indices(const Windows& w, const Winner* winners, int64_t* indices) {
  parallel_for(w.planes, 32768 / w.out_plane() + 1, [&](int64_t first, int64_t last) {
    int64_t i = first * w.out_plane();
    for (int64_t p = first; p < last; p++)
      for (int64_t z = 0; z < w.out[0]; z++)
        for (int64_t y = 0; y < w.out[1]; y++)
          for (int64_t x = 0; x < w.out[2]; x++, i++) indices[i] = place_of(w, winners[i], z, y, x);
  });
}

// What a window counts along one dim, and over all of them.
TORCH_INLINE constexpr int64_t counted(const Windows& w, const Divisor& divisor, int dim, int64_t position) {
  const Reach r = reach(w, dim, position);
  if (!divisor.count_padding) return r.end > r.begin ? r.end - r.begin : 0;
  const int64_t limit = w.in[dim] + w.padding[dim] - r.start;  // windows of ceil_mode may end past the padding
  return w.kernel[dim] < limit ? w.kernel[dim] : limit;
}

// What the sum of window (z, y, x) is divided by.
TORCH_INLINE constexpr int64_t divided_by(const Windows& w, const Divisor& divisor, int64_t z, int64_t y, int64_t x) {
  return divisor.given ? divisor.given
                       : counted(w, divisor, 0, z) * counted(w, divisor, 1, y) * counted(w, divisor, 2, x);
}
template <class T>
TORCH_INLINE constexpr T average_of(const Windows& w, const Divisor& divisor, const T* plane, int64_t z, int64_t y,
                                    int64_t x) {
  const Reach rz = reach(w, 0, z), ry = reach(w, 1, y), rx = reach(w, 2, x);
  T sum = 0;
  for (int64_t a = rz.begin; a < rz.end; a++)
    for (int64_t b = ry.begin; b < ry.end; b++)
      for (int64_t c = rx.begin; c < rx.end; c++)
        sum += plane[((rz.start + a) * w.in[1] + ry.start + b) * w.in[2] + rx.start + c];
  const int64_t count = divided_by(w, divisor, z, y, x);
  return count ? sum / T(count) : T(0);
}

template <class T>
void average_forward(const Windows& w, Divisor divisor, const T* x, T* y) {
  for_planes(w.planes, w.out_plane() * w.taps(), [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; p++) {
      const T* plane = x + p * w.in_plane();
      T* out = y + p * w.out_plane();
      for (int64_t z = 0; z < w.out[0]; z++)
        for (int64_t t = 0; t < w.out[1]; t++)
          for (int64_t s = 0; s < w.out[2]; s++) *out++ = average_of(w, divisor, plane, z, t, s);
    }
  });
}
template <class T>
void average_backward(const Windows& w, Divisor divisor, const T* dy, T* dx) {
  for_planes(w.planes, w.in_plane() + w.out_plane() * w.taps(), [&](int64_t first, int64_t last) {
    std::memset(dx + first * w.in_plane(), 0, size_t((last - first) * w.in_plane()) * sizeof(T));
    for (int64_t p = first; p < last; p++) {
      const T* g = dy + p * w.out_plane();
      T* plane = dx + p * w.in_plane();
      for (int64_t z = 0; z < w.out[0]; z++)
        for (int64_t t = 0; t < w.out[1]; t++)
          for (int64_t s = 0; s < w.out[2]; s++, g++) {
            const Reach rz = reach(w, 0, z), ry = reach(w, 1, t), rx = reach(w, 2, s);
            const int64_t count = divided_by(w, divisor, z, t, s);
            if (!count) continue;
            const T share = *g / T(count);
            for (int64_t a = rz.begin; a < rz.end; a++)
              for (int64_t b = ry.begin; b < ry.end; b++)
                for (int64_t c = rx.begin; c < rx.end; c++)
                  plane[((rz.start + a) * w.in[1] + ry.start + b) * w.in[2] + rx.start + c] += share;
          }
    }
  });
}

TORCH_INLINE constexpr int64_t bin_begin(const Bins& b, int dim, int64_t i) { return i * b.in[dim] / b.out[dim]; }
TORCH_INLINE constexpr int64_t bin_end(const Bins& b, int dim, int64_t i) {
  return ((i + 1) * b.in[dim] + b.out[dim] - 1) / b.out[dim];
}

// f(output index, begin and end of the bin along each dim)
template <class F>
TORCH_INLINE void for_bins(const Bins& b, F f) {
  int64_t o = 0, begin[3], end[3];
  for (int64_t z = 0; z < b.out[0]; z++)
    for (int64_t y = 0; y < b.out[1]; y++)
      for (int64_t x = 0; x < b.out[2]; x++) {
        const int64_t at[3] = {z, y, x};
        for (int k = 0; k < 3; k++) begin[k] = bin_begin(b, k, at[k]), end[k] = bin_end(b, k, at[k]);
        f(o++, begin, end);
      }
}
// The largest element of a bin, and its place within the plane.
template <class T>
TORCH_INLINE constexpr Best<T> best_of_bin(const Bins& b, const T* plane, const int64_t* begin, const int64_t* end) {
  int64_t winner = (begin[0] * b.in[1] + begin[1]) * b.in[2] + begin[2];
  T best = plane[winner];
  for (int64_t z = begin[0]; z < end[0]; z++)
    for (int64_t t = begin[1]; t < end[1]; t++)
      for (int64_t s = begin[2]; s < end[2]; s++) {
        const int64_t i = (z * b.in[1] + t) * b.in[2] + s;
        if (plane[i] > best || is_nan(plane[i])) best = plane[i], winner = i;
      }
  return {best, winner};
}
TORCH_INLINE constexpr int64_t elements_of_bin(const int64_t* begin, const int64_t* end) {
  return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]);
}
template <class T>
TORCH_INLINE constexpr T average_of_bin(const Bins& b, const T* plane, const int64_t* begin, const int64_t* end) {
  T sum = 0;
  for (int64_t z = begin[0]; z < end[0]; z++)
    for (int64_t t = begin[1]; t < end[1]; t++)
      for (int64_t s = begin[2]; s < end[2]; s++) sum += plane[(z * b.in[1] + t) * b.in[2] + s];
  return sum / T(elements_of_bin(begin, end));
}

template <class T>
void bins_max_forward(const Bins& b, const T* x, T* y, int64_t* indices) {
  for_planes(b.planes, b.in_plane(), [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; p++)
      for_bins(b, [&](int64_t o, const int64_t* begin, const int64_t* end) {
        const Best<T> best = best_of_bin(b, x + p * b.in_plane(), begin, end);
        y[p * b.out_plane() + o] = best.value;
        indices[p * b.out_plane() + o] = best.tap;
      });
  });
}
template <class T>
void bins_average_forward(const Bins& b, const T* x, T* y) {
  for_planes(b.planes, b.in_plane(), [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; p++)
      for_bins(b, [&](int64_t o, const int64_t* begin, const int64_t* end) {
        y[p * b.out_plane() + o] = average_of_bin(b, x + p * b.in_plane(), begin, end);
      });
  });
}
template <class T>
void bins_average_backward(const Bins& b, const T* dy, T* dx) {
  for_planes(b.planes, b.in_plane(), [&](int64_t first, int64_t last) {
    std::memset(dx + first * b.in_plane(), 0, size_t((last - first) * b.in_plane()) * sizeof(T));
    for (int64_t p = first; p < last; p++)
      for_bins(b, [&](int64_t o, const int64_t* begin, const int64_t* end) {
        const T share = dy[p * b.out_plane() + o] / T(elements_of_bin(begin, end));
        for (int64_t z = begin[0]; z < end[0]; z++)
          for (int64_t t = begin[1]; t < end[1]; t++)
            for (int64_t s = begin[2]; s < end[2]; s++) dx[p * b.in_plane() + (z * b.in[1] + t) * b.in[2] + s] += share;
      });
  });
}

}  // namespace torch::TORCH_ISA
