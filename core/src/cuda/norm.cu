// Layer normalisation: rows of a dense (n, c) tensor, a block or a thread for each; gradients of its parameters, a
// thread for each column.
#include "cuda/block.h"
#include "cuda/reduce_ops.h"
#include "cuda/rows.h"
#include "cuda/tables.h"

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

template <class T>
constexpr NormKernels<T> kRows{.channel_stats = nullptr,
                               .channel_affine = nullptr,
                               .channel_sums = nullptr,
                               .channel_backward = nullptr,
                               .row_forward = row_forward<T>,
                               .row_backward = row_backward<T>,
                               .row_params = row_params<T>};

}  // namespace

const NormKernels<float> norm_float = kRows<float>;
const NormKernels<double> norm_double = kRows<double>;

}  // namespace torch::cuda
