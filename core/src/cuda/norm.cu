// Layer normalisation: rows of a dense (n, c) tensor, a block or a thread for each; gradients of its parameters, a
// thread for each column. Batch normalisation: channels of a dense (n, c, inner) tensor, a block for each.
#include "cuda/block.h"
#include "cuda/each.h"
#include "cuda/reduce_ops.h"
#include "cuda/rows.h"
#include "cuda/tables.h"
#include "kernels/channel.h"

namespace torch::cuda {

namespace {

using Total = FloatSum<AsIs>;  // in double

template <class T>
__global__ __launch_bounds__(kThreads) void row_forward_kernel(const T* x, const T* weight, const T* bias, T eps, T* y,
                                                               T* mean, T* rstd, NormShape s, bool by_block) {
  each_line(s.n, s.c, 1, by_block, [&](const auto& line) {
    auto a = Moments<T>::identity();
    for (int64_t i = line.first; i < line.n; i += line.step) Moments<T>::step(a, x[line.at(i)], 0);
    a = line.template fold<Moments<T>>(a);
    const T m = T(a.mean), r = T(1 / sqrt(a.m2 / a.count + double(eps)));
    if (line.first == 0) {
      mean[line.begin / s.c] = m;
      rstd[line.begin / s.c] = r;
    }
    for (int64_t i = line.first; i < line.n; i += line.step) {
      const T v = (x[line.at(i)] - m) * r;
      y[line.at(i)] = (weight ? v * weight[i] : v) + (bias ? bias[i] : T(0));
    }
  });
}

template <class T>
__global__ __launch_bounds__(kThreads) void row_backward_kernel(const T* grad, const T* x, const T* weight,
                                                                const T* mean, const T* rstd, T* grad_x, NormShape s,
                                                                bool by_block) {
  each_line(s.n, s.c, 1, by_block, [&](const auto& line) {
    const T m = mean[line.begin / s.c], r = rstd[line.begin / s.c];
    double sum = 0, dot = 0;
    for (int64_t i = line.first; i < line.n; i += line.step) {
      const T g = weight ? grad[line.at(i)] * weight[i] : grad[line.at(i)];
      sum += double(g);
      dot += double(g * ((x[line.at(i)] - m) * r));
    }
    const T a = T(line.template fold<Total>(sum) / double(s.c)), b = T(line.template fold<Total>(dot) / double(s.c));
    for (int64_t i = line.first; i < line.n; i += line.step) {
      const T g = weight ? grad[line.at(i)] * weight[i] : grad[line.at(i)];
      grad_x[line.at(i)] = r * (g - a - (x[line.at(i)] - m) * r * b);
    }
  });
}

template <class T>
__global__ __launch_bounds__(kThreads) void row_params_kernel(const T* grad, const T* x, const T* mean, const T* rstd,
                                                              T* grad_weight, T* grad_bias, NormShape s) {
  for (int64_t c = int64_t(blockIdx.x) * kThreads + threadIdx.x; c < s.c; c += int64_t(gridDim.x) * kThreads) {
    double weight = 0, bias = 0;
    for (int64_t i = 0; i < s.n; ++i) {
      const T g = grad[i * s.c + c];
      weight += double(g * ((x[i * s.c + c] - mean[i]) * rstd[i]));
      bias += double(g);
    }
    grad_weight[c] = T(weight);
    grad_bias[c] = T(bias);
  }
}

template <class T>
void row_forward(const T* x, const T* weight, const T* bias, T eps, T* y, T* mean, T* rstd, NormShape s) {
  const Lines lines(y, s.n, s.c, 1);
  if (!lines.count) return;
  launch("layer_norm", row_forward_kernel<T>, lines.grid, kThreads, 0, lines.stream, x, weight, bias, eps, y, mean,
         rstd, s, lines.by_block);
}
template <class T>
void row_backward(const T* grad, const T* x, const T* weight, const T* mean, const T* rstd, T* grad_x, NormShape s) {
  const Lines lines(grad_x, s.n, s.c, 1);
  if (!lines.count) return;
  launch("layer_norm_backward", row_backward_kernel<T>, lines.grid, kThreads, 0, lines.stream, grad, x, weight, mean,
         rstd, grad_x, s, lines.by_block);
}
template <class T>
void row_params(const T* grad, const T* x, const T* mean, const T* rstd, T* grad_weight, T* grad_bias, NormShape s) {
  const Lines lines(grad_weight, 1, s.c, 1);
  if (!lines.count) return;
  launch("layer_norm_backward", row_params_kernel<T>, blocks_for(s.c), kThreads, 0, lines.stream, grad, x, mean, rstd,
         grad_weight, grad_bias, s);
}

// --- channels ---

// f(element) for a block's share of a channel.
template <class F>
__device__ __forceinline__ void each_of_channel(NormShape s, int64_t c, F f) {
  for (int64_t i = threadIdx.x; i < s.n * s.inner; i += kThreads) f((i / s.inner * s.c + c) * s.inner + i % s.inner);
}
template <class T>
__global__ __launch_bounds__(kThreads) void channel_stats_kernel(const T* x, NormShape s, T* mean, T* var) {
  for (int64_t c = blockIdx.x; c < s.c; c += gridDim.x) {
    auto a = Moments<T>::identity();
    each_of_channel(s, c, [&](int64_t at) { Moments<T>::step(a, x[at], 0); });
    a = fold_block<Moments<T>>(a);
    if (threadIdx.x != 0) continue;
    mean[c] = T(a.mean);
    var[c] = T(a.m2 / a.count);
  }
}
template <class T>
__global__ __launch_bounds__(kThreads) void channel_sums_kernel(const T* grad, const T* x, const T* mean, NormShape s,
                                                                T* sums, T* dots) {
  for (int64_t c = blockIdx.x; c < s.c; c += gridDim.x) {
    const T m = mean[c];
    double sum = 0, dot = 0;
    each_of_channel(s, c, [&](int64_t at) {
      sum += double(grad[at]);
      dot += double(grad[at] * (x[at] - m));
    });
    sum = fold_block<Total>(sum);
    dot = fold_block<Total>(dot);
    if (threadIdx.x != 0) continue;
    sums[c] = T(sum);
    dots[c] = T(dot);
  }
}
// A block for each channel.
template <class... P, class... A>
void launch_channels(const char* op, void (*kernel)(P...), const void* result, NormShape s, A... arguments) {
  if (s.c == 0) return;
  const DeviceGuard guard(device_of(result));
  launch(op, kernel, blocks_for(s.c * kThreads), kThreads, 0, current_stream(current_device()).handle, arguments...);
}
template <class T>
void channel_stats(const T* x, NormShape s, T* mean, T* var) {
  launch_channels("batch_norm", channel_stats_kernel<T>, mean, s, x, s, mean, var);
}
template <class T>
void channel_sums(const T* grad, const T* x, const T* mean, NormShape s, T* sum, T* dot) {
  launch_channels("batch_norm_backward", channel_sums_kernel<T>, sum, s, grad, x, mean, s, sum, dot);
}

template <class T>
struct ChannelAffine {
  NormShape s;
  const T *x, *scale, *shift;
  T* y;
  __device__ void operator()(int64_t i) const {
    const int64_t c = i / s.inner % s.c;
    y[i] = x[i] * scale[c] + shift[c];
  }
};
template <class T>
void channel_affine(const T* x, const T* scale, const T* shift, T* y, NormShape s) {
  launch_each("batch_norm", y, s.n * s.c * s.inner, ChannelAffine<T>{s, x, scale, shift, y});
}
template <class T>
struct ChannelBackward {
  NormShape s;
  const T *grad, *x, *mean, *a, *b, *k;
  T* grad_x;
  __device__ void operator()(int64_t i) const {
    const int64_t c = i / s.inner % s.c;
    grad_x[i] = grad[i] * a[c] + (x[i] - mean[c]) * b[c] + k[c];
  }
};
template <class T>
void channel_backward(const T* grad, const T* x, const T* mean, const T* a, const T* b, const T* k, T* grad_x,
                      NormShape s) {
  launch_each("batch_norm_backward", grad_x, s.n * s.c * s.inner,
              ChannelBackward<T>{s, grad, x, mean, a, b, k, grad_x});
}

template <class T>
struct ChannelScales {
  const T *mean, *var, *weight, *bias;
  double eps;
  T *invstd, *scale, *shift;
  __device__ void operator()(int64_t i) const {
    const auto s = channel_scale(mean[i], var[i], weight ? weight[i] : T(1), bias ? bias[i] : T(0), eps);
    if (invstd) invstd[i] = s.invstd;
    scale[i] = s.scale;
    shift[i] = s.shift;
  }
};
template <class T>
void channel_scales(int64_t c, const T* mean, const T* var, const T* weight, const T* bias, double eps, T* invstd,
                    T* scale, T* shift) {
  launch_each("batch_norm", scale, c, ChannelScales<T>{mean, var, weight, bias, eps, invstd, scale, shift});
}
template <class T>
struct ChannelSlopes {
  const T* sum;
  T* dot;
  const T *spread, *weight;
  double count, eps;
  T *a, *b, *k;
  __device__ void operator()(int64_t i) const {
    const auto s = channel_slope(sum[i], dot[i], spread[i], weight ? weight[i] : T(1), count, eps);
    a[i] = s.a;
    b[i] = s.b;
    k[i] = s.k;
    dot[i] = s.grad_weight;
  }
};
template <class T>
void channel_slopes(int64_t c, const T* sum, T* dot, const T* spread, const T* weight, double count, double eps, T* a,
                    T* b, T* k) {
  launch_each("batch_norm_backward", a, c, ChannelSlopes<T>{sum, dot, spread, weight, count, eps, a, b, k});
}
template <class T>
struct ChannelBlend {
  double keep, add;
  const T* now;
  double* running;
  __device__ void operator()(int64_t i) const { running[i] = keep * running[i] + add * double(now[i]); }
};
template <class T>
void channel_blend(int64_t c, double keep, double add, const T* now, double* running) {
  launch_each("batch_norm", running, c, ChannelBlend<T>{keep, add, now, running});
}

template <class T>
constexpr NormKernels<T> kNorms{.channel_stats = channel_stats<T>,
                                .channel_affine = channel_affine<T>,
                                .channel_sums = channel_sums<T>,
                                .channel_backward = channel_backward<T>,
                                .channel_scales = channel_scales<T>,
                                .channel_slopes = channel_slopes<T>,
                                .channel_blend = channel_blend<T>,
                                .row_forward = row_forward<T>,
                                .row_backward = row_backward<T>,
                                .row_params = row_params<T>};

}  // namespace

const NormKernels<float> norm_float = kNorms<float>;
const NormKernels<double> norm_double = kNorms<double>;

}  // namespace torch::cuda
