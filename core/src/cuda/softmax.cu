// Softmax and its logarithm along one dim of a dense tensor, and their derivatives: a block for each line where it lies
// in one piece, else a thread.
#include "cpu/softmax_kernels.h"
#include "cuda/block.h"
#include "cuda/reduce_ops.h"
#include "cuda/rows.h"
#include "cuda/tables.h"
#include "kernels/math.h"

namespace torch::cuda {

namespace {

template <class T>
using Peak = Extreme<T, true>;
using Total = FloatSum<AsIs>;  // in double

template <class T>
TORCH_VEC_INLINE T exp_of(T x) {
  return math::exp(Vec<T>(x)).raw;
}
template <class T>
TORCH_VEC_INLINE T log_of(T x) {
  return math::log(Vec<T>(x)).raw;
}

// Line is what a thread has of it: by itself all, or every kThreads-th element of a block's.
template <class T, class Line>
__device__ __forceinline__ void forward_line(const T* x, T* y, const Line& line, SoftmaxKind kind) {
  T peak = Peak<T>::identity();
  for (int64_t i = line.first; i < line.n; i += line.step) Peak<T>::step(peak, x[line.at(i)], 0);
  peak = line.template fold<Peak<T>>(peak);
  // A line that is -inf throughout: exp(-inf - 0) is 0, and 0 / 1 too.
  const bool closed = kind == SoftmaxKind::Safe && peak == Peak<T>::identity(), log = kind == SoftmaxKind::Log;
  if (closed) peak = 0;
  double sum = 0;
  for (int64_t i = line.first; i < line.n; i += line.step) sum += double(exp_of(x[line.at(i)] - peak));
  sum = line.template fold<Total>(sum);
  const T shift = log ? log_of(T(sum)) : T(0), factor = closed ? T(1) : T(1 / sum);
  for (int64_t i = line.first; i < line.n; i += line.step) {
    const T d = x[line.at(i)] - peak;
    y[line.at(i)] = log ? d - shift : exp_of(d) * factor;
  }
}
template <class T, class Line>
__device__ __forceinline__ void backward_line(const T* grad, const T* y, T* grad_x, const Line& line, bool log) {
  double sum = 0;
  for (int64_t i = line.first; i < line.n; i += line.step)
    sum += log ? double(grad[line.at(i)]) : double(grad[line.at(i)]) * double(y[line.at(i)]);
  const T total = T(line.template fold<Total>(sum));
  for (int64_t i = line.first; i < line.n; i += line.step) {
    const T g = grad[line.at(i)], v = y[line.at(i)];
    grad_x[line.at(i)] = log ? g - exp_of(v) * total : (g - total) * v;
  }
}

template <class T>
__global__ __launch_bounds__(kThreads) void forward_kernel(const T* x, T* y, Planes p, bool by_block,
                                                           SoftmaxKind kind) {
  each_line(p.outer, p.n, p.inner, by_block, [&](const auto& line) { forward_line(x, y, line, kind); });
}
template <class T>
__global__ __launch_bounds__(kThreads) void backward_kernel(const T* grad, const T* y, T* grad_x, Planes p,
                                                            bool by_block, bool log) {
  each_line(p.outer, p.n, p.inner, by_block, [&](const auto& line) { backward_line(grad, y, grad_x, line, log); });
}

template <class T>
void forward(const T* x, T* y, Planes p, SoftmaxKind kind) {
  const Lines lines(y, p.outer, p.n, p.inner);
  if (!lines.count) return;
  const char* name = kind == SoftmaxKind::Log ? "log_softmax" : kind == SoftmaxKind::Safe ? "_safe_softmax" : "softmax";
  launch(name, forward_kernel<T>, lines.grid, kThreads, 0, lines.stream, x, y, p, lines.by_block, kind);
}
template <class T>
void backward(const T* grad, const T* y, T* grad_x, Planes p, bool log) {
  const Lines lines(grad_x, p.outer, p.n, p.inner);
  if (!lines.count) return;
  launch(log ? "log_softmax_backward" : "softmax_backward", backward_kernel<T>, lines.grid, kThreads, 0, lines.stream,
         grad, y, grad_x, p, lines.by_block, log);
}

}  // namespace

const SoftmaxKernels<float> softmax_float{forward<float>, backward<float>};
const SoftmaxKernels<double> softmax_double{forward<double>, backward<double>};

}  // namespace torch::cuda
