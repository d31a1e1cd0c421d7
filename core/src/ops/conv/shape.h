// A convolution in numbers, and the raw-pointer entry points: dense NCHW / NCDHW planes, no allocation of tensors, no
// checks (core/src/ops/conv.cpp has done them). float and double; other types are converted outside.
#pragma once
#include <cstdint>

#include "torch/core/macros.h"

namespace torch {

// Sizes run (depth, height, width). A 2-d convolution has depth 1, a 1-d one also height 1. `padding` is that of the
// low side; the high side follows from `out`. Weights are [o][c / groups][kernel], or [o][kernel][c / groups] with
// `channels_last_weights`; with `channels_last` too, both images are [n][sizes][channels]. A transposed convolution is
// the backward-data of the one that this shape describes, `in` and `out` seen from that one.
struct ConvShape {
  int64_t n, c, o, groups;
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
  bool channels_last_weights = false, channels_last = false;

  TORCH_INLINE constexpr int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  TORCH_INLINE constexpr int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  TORCH_INLINE constexpr int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  // From one weight of an output to that of the next input channel, and to that of the next tap.
  TORCH_INLINE constexpr int64_t weight_channel() const { return channels_last_weights ? 1 : taps(); }
  TORCH_INLINE constexpr int64_t weight_tap() const { return channels_last_weights ? c / groups : 1; }
};

// y[n][o] = bias[o] + sum over c and taps of w * x. `bias` may be null.
template <class T>
TORCH_API void conv_forward(const ConvShape& shape, const T* x, const T* w, const T* bias, T* y);

// dx[n][c] = sum over o and taps of w * dy, plus bias[c] where this serves as a transposed convolution.
template <class T>
TORCH_API void conv_backward_data(const ConvShape& shape, const T* dy, const T* w, const T* bias, T* dx);

// dw[o][c][tap] = sum over images and positions of x * dy.
template <class T>
TORCH_API void conv_backward_weights(const ConvShape& shape, const T* x, const T* dy, T* dw);

// db[channel] = sum over images and the `plane` positions of dy[images][channels][plane].
template <class T>
TORCH_API void conv_backward_bias(int64_t images, int64_t channels, int64_t plane, const T* dy, T* db);

// The same of dy[positions][channels].
template <class T>
TORCH_API void conv_backward_bias_last(int64_t positions, int64_t channels, const T* dy, T* db);

// Whether images whose channels lie last should stay so: not where Winograd's products pay, which want rows.
TORCH_API bool prefers_channels_last(const ConvShape& shape);

// These, of a device.
template <class T>
struct ConvWork {
  void (*forward)(const ConvShape& shape, const T* x, const T* w, const T* bias, T* y);
  void (*backward_data)(const ConvShape& shape, const T* dy, const T* w, const T* bias, T* dx);
  void (*backward_weights)(const ConvShape& shape, const T* x, const T* dy, T* dw);
  void (*backward_bias)(int64_t images, int64_t channels, int64_t plane, const T* dy, T* db);
  bool takes_channels_last_weights = false;
  // Whether these are fast for images whose channels lie last, and take them so; null: never.
  bool (*prefers_channels_last)(const ConvShape& shape) = nullptr;
  void (*backward_bias_last)(int64_t positions, int64_t channels, const T* dy, T* db) = nullptr;
};

}  // namespace torch
