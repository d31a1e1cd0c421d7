// Pooling in numbers, and its kernels on dense planes. Sizes run (depth, height, width); absent leading dims have
// size 1.
#pragma once
#include <cstdint>

#include "torch/core/macros.h"

namespace torch::pool {

struct Windows {
  int64_t planes;
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];

  TORCH_INLINE constexpr int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  TORCH_INLINE constexpr int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  TORCH_INLINE constexpr int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// The winner of a window is the number of its tap, in one byte where there are few enough; else in four.
TORCH_INLINE constexpr bool winners_fit_a_byte(const Windows& w) { return w.taps() <= 256; }

// What an average divides by: a number the user gave, or the positions of the window, with or without the padding.
struct Divisor {
  int64_t given;  // 0: none
  bool count_padding;
};

// Windows of unequal sizes that cover the input: output i takes [i * in / out, (i + 1) * in / out), rounded outwards.
struct Bins {
  int64_t planes;
  int64_t in[3], out[3];

  TORCH_INLINE constexpr int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  TORCH_INLINE constexpr int64_t out_plane() const { return out[0] * out[1] * out[2]; }
};

// Lines of `size` elements, `inner` apart, of which `outer` blocks lie behind each other; each becomes `out` elements.
struct Lines {
  int64_t outer, size, out, inner, taps;
};

template <class T>
struct Kernels {
  // `winners` may be null. NaN wins; of equal values the first.
  void (*max_forward)(const Windows&, const T* x, T* y, void* winners);
  void (*max_backward)(const Windows&, const T* dy, const void* winners, T* dx);
  // The same of [image][position][channel] with winners of one byte; null: there is none.
  void (*max_forward_last)(const Windows&, int64_t channels, const T* x, T* y, uint8_t* winners) = nullptr;
  void (*max_backward_last)(const Windows&, int64_t channels, const T* dy, const uint8_t* winners, T* dx) = nullptr;
  void (*max_gather)(const Windows&, const T* x, const void* winners, T* y);   // y[window] = x[winner]
  void (*max_indices)(const Windows&, const void* winners, int64_t* indices);  // within the plane
  void (*average_forward)(const Windows&, Divisor, const T* x, T* y);
  void (*average_backward)(const Windows&, Divisor, const T* dy, T* dx);
  void (*bins_max_forward)(const Bins&, const T* x, T* y, int64_t* indices);  // indices within the plane
  void (*bins_average_forward)(const Bins&, const T* x, T* y);
  void (*bins_average_backward)(const Bins&, const T* dy, T* dx);
  // y[o] = sum over taps t of weights[t][o] * x[from[t][o]]; a weight of zero reads nothing. All lie where
  // x does.
  void (*resample)(const Lines&, const int64_t* from, const double* weights, const T* x, T* y);
};

// The CPU's, for float, double and (only maxima) int64_t.
template <class T>
const Kernels<T>& kernels();

}  // namespace torch::pool
