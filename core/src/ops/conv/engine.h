// What the planning side (core/src/conv, compiled once) hands to the kernels (core/src/cpu/conv_*.cpp, compiled once
// per ISA level): plain structures without inline code, so that no function of one level is ever linked into another.
#pragma once
#include <cstdint>

#include "ops/conv/shape.h"
#include "torch/core/macros.h"

namespace torch::conv {

// Positions of (image, z, y, x), numbered with x fastest. A panel is a few vectors' worth of consecutive ones: it may
// cross rows and images.
struct Grid {
  int64_t images;
  int d, h, w;
};

// Position p reads the image at p * stride + (dz, dy, dx); its weight lies `index` after that of the first tap.
struct Tap {
  int dz, dy, dx, index;
};

// Dense planes [image][channel][d][h][w].
template <class T>
struct Image {
  const T* data;
  int64_t image_stride, channel_stride;
  int d, h, w;
};

// One grid of output positions that all use the same taps. A convolution has one; the gradient of a convolution with
// stride S has S * S: each a convolution of stride 1 with a part of the taps. Position (z, y, x) of the grid is written
// to (z, y, x) * step + origin.
struct Phase {
  Grid grid;
  const Tap* taps;
  int tap_count;
  int taps_before;  // taps of all earlier phases
  int step[3], origin[3];
  int64_t first_panel;  // panels of all earlier phases; filled by the kernels, which know the width of a panel
};

// out[row][position] = bias[row] + sum over (channel, tap) of weight(row, channel, tap) * image(channel, position,
// tap), for each group. weight(row, channel, tap) lies at weights[row * weight_row + channel * weight_channel +
// tap.index].
template <class T>
struct PatchGemm {
  int64_t groups, rows, channels;  // rows and channels of one group
  const T* weights;
  int64_t weight_row, weight_channel, weight_group;
  Image<T> image;
  int stride[3];
  Phase* phases;
  int phase_count, tap_count;  // taps of all phases together
  T* out;
  int64_t out_image, out_channel;
  int out_h, out_w;
  const T* bias;
};

// dw[o][c][tap] for each group.
template <class T>
struct WeightGradient {
  const ConvShape* shape;
  const Tap* taps;
  int tap_count;
  const T *x, *dy;
  T* dw;
};

// Few channels or large kernels: what a slice of the outputs reads of an image becomes stride[1] * stride[2] padded
// phase planes per channel and depth, on which each tap is a plain load at a constant offset.
struct Direct {
  int64_t images, groups, rows, channels;
  const float* weights;
  int64_t weight_row, weight_channel, weight_group;
  const float* image;                 // [images][groups * channels][d][h][w]
  int d, h, w, stride[3], top, left;  // padding before the first row and column
  int below, right;                   // how far the taps reach past the last position of a phase plane
  const Phase* phases;
  int phase_count, tap_count;
  const int* depths;  // all dz of the taps, each once
  int depth_count;
  float* out;
  int out_d, out_h, out_w;
  const float* bias;
  bool outputs_in_lanes = false;  // else positions are
};

// 3x3, stride 1, two dimensions. weight(row, channel, tap) at weights[row * weight_row + channel * weight_channel +
// tap * weight_tap], the taps in reverse order when `turned` (backward-data).
struct Winograd {
  int64_t images, rows, channels;
  const float* weights;
  int64_t weight_row, weight_channel, weight_tap;
  bool turned;
  const float* image;  // [images][channels][h][w]
  int h, w, padding;
  float* out;  // [images][rows][h + 2 * padding - 2][w + 2 * padding - 2]
  const float* bias;
};

struct Engine {
  int lanes, tile_rows;  // floats of a register, and rows of a tile of sums that is two registers wide
  void (*gemm_f32)(const PatchGemm<float>&);
  void (*gemm_f64)(const PatchGemm<double>&);
  void (*weights_f32)(const WeightGradient<float>&);
  void (*weights_f64)(const WeightGradient<double>&);
  bool (*windows)(const WeightGradient<float>&);  // false: there is no tile for this kernel width
  void (*dots)(const WeightGradient<float>&);
  void (*direct)(const Direct&);
  // One channel and one row for each group.
  void (*depthwise_f32)(const PatchGemm<float>&, bool channels_last);
  void (*depthwise_f64)(const PatchGemm<double>&, bool channels_last);
  void (*depthwise_weights_f32)(const WeightGradient<float>&);
  void (*depthwise_weights_f64)(const WeightGradient<double>&);
  // false: a result was not finite; the caller must use another way
  bool (*winograd)(const Winograd&);
  bool (*winograd_weights)(const WeightGradient<float>&);
  // The same for images and weights whose channels lie last: dense [image][d][h][w][channel], [row][tap][channel].
  void (*last_f32)(const PatchGemm<float>&);
  void (*last_f64)(const PatchGemm<double>&);
  void (*last_weights_f32)(const WeightGradient<float>&);
  void (*last_weights_f64)(const WeightGradient<double>&);
  void (*last_bias_f32)(int64_t positions, int64_t channels, const float* dy, float* db);
  void (*last_bias_f64)(int64_t positions, int64_t channels, const double* dy, double* db);
  void (*bias_f32)(int64_t images, int64_t channels, int64_t plane, const float* dy, float* db);
  void (*bias_f64)(int64_t images, int64_t channels, int64_t plane, const double* dy, double* db);
};

// The kernels of the level in use.
const Engine& engine();

}  // namespace torch::conv
