// Batch normalisation between its passes over the data: what one channel's statistics become.
#pragma once
#include <cmath>

#include "kernels/vec.h"

namespace torch::TORCH_ISA {

template <class T>
struct ChannelScale {
  T invstd, scale, shift;
};
template <class T>
TORCH_VEC_INLINE ChannelScale<T> channel_scale(T mean, T var, T weight, T bias, double eps) {
  const T invstd = T(1 / std::sqrt(double(var) + eps)), scale = weight * invstd;
  return {invstd, scale, bias - mean * scale};
}

// grad_x = grad * a + (x - mean) * b + k
template <class T>
struct ChannelSlope {
  T a, b, k, grad_weight;
};
// In training the statistics depend on the input: grad_x = scale (g - mean(g) - (x - mean) invstd^2 mean(g (x -
// mean))).
template <class T>
TORCH_VEC_INLINE ChannelSlope<T> channel_slope(T sum, T dot, T spread, T weight, double count, double eps) {
  const T invstd = count > 0 ? spread : T(1 / std::sqrt(double(spread) + eps)), scale = weight * invstd;
  return {scale, count > 0 ? T(-scale * invstd * invstd * dot / T(count)) : T(0),
          count > 0 ? T(-scale * sum / T(count)) : T(0), dot * invstd};
}

}  // namespace torch::TORCH_ISA
