// What src/ops/norm.cpp calls of src/cpu/norm.cpp.
#pragma once
#include <cstdint>

#include "levels/isa.h"

namespace torch {

// Contiguous (n, c, inner): batch normalisation works on the middle dim, layer normalisation on rows (n, c), inner = 1.
struct NormShape {
  int64_t n, c, inner;
};

template <class T>
struct NormKernels {
  // Mean and biased variance of each channel.
  void (*channel_stats)(const T* x, NormShape, T* mean, T* var);
  // y = x * scale[c] + shift[c]
  void (*channel_affine)(const T* x, const T* scale, const T* shift, T* y, NormShape);
  // Sums of grad and of grad * (x - mean[c]) over each channel.
  void (*channel_sums)(const T* grad, const T* x, const T* mean, NormShape, T* sum, T* dot);
  // grad_x = grad * a[c] + (x - mean[c]) * b[c] + k[c]
  void (*channel_backward)(const T* grad, const T* x, const T* mean, const T* a, const T* b, const T* k, T* grad_x,
                           NormShape);
  // invstd = 1 / sqrt(var + eps), scale = weight * invstd, shift = bias - mean * scale. weight, bias, invstd may be
  // null.
  void (*channel_scales)(int64_t c, const T* mean, const T* var, const T* weight, const T* bias, double eps, T* invstd,
                         T* scale, T* shift);
  // Of what channel_sums gave: a, b and k of channel_backward, and dot made the weight's gradient. Statistics of the
  // input have derivatives of their own: over `count` elements of each channel, or 0 where they were given; then
  // `spread` is a variance, else invstd.
  void (*channel_slopes)(int64_t c, const T* sum, T* dot, const T* spread, const T* weight, double count, double eps,
                         T* a, T* b, T* k);
  // running = keep * running + add * now
  void (*channel_blend)(int64_t c, double keep, double add, const T* now, double* running);
  // Each row: y = (x - mean) * rstd * weight + bias; mean and rstd are written. weight and bias may be null.
  void (*row_forward)(const T* x, const T* weight, const T* bias, T eps, T* y, T* mean, T* rstd, NormShape);
  void (*row_backward)(const T* grad, const T* x, const T* weight, const T* mean, const T* rstd, T* grad_x, NormShape);
  // Sums over the rows of grad * (x - mean) * rstd and of grad, for each column.
  void (*row_params)(const T* grad, const T* x, const T* mean, const T* rstd, T* grad_weight, T* grad_bias, NormShape);
};

TORCH_PER_ISA(const NormKernels<float>& norm_float(); const NormKernels<double>& norm_double();)

}  // namespace torch
