// Group normalisation: statistics over each group of channels of a sample, then one pass that scales and shifts every
// plane (a channel of a sample). By the kernels of batch normalisation, to which groups, and then planes, are channels.
#include <tuple>

#include "dispatch/register.h"
#include "dispatch/work.h"
#include "ops/format.h"
#include "ops/norm.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/norm.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

struct Groups {
  NormShape input;
  int64_t count, channels;  // of a sample, and of a group

  NormShape rows() const { return {1, input.n * count, channels * input.inner}; }
  NormShape planes() const { return {1, input.n * input.c, input.inner}; }
  double width() const { return double(channels * input.inner); }
  // (n, groups) for each plane, (n, C).
  Tensor of_planes(const Tensor& t) const {
    const Tensor each = expand(reshape(t, {input.n, count, 1}), {input.n, count, channels});
    return as_contiguous(reshape(each, {input.n, input.c}), t.dtype());
  }
  // Of each plane, (n, C), the sum over its group, (n, groups).
  Tensor summed(const Tensor& t) const {
    const int64_t within = 2;
    return sum(reshape(t, {input.n, count, channels}), IntArrayRef(&within, 1));
  }
};

Groups groups_of(const char* op, const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias) {
  const NormShape s = channels_of(op, input);
  TORCH_CHECK(groups > 0 && s.c % groups == 0, op,
              ": Expected number of channels in input to be divisible by num_groups, but got input of shape ",
              input.sizes(), " and num_groups=", groups);
  check_parameter(op, "weight", weight, s.c);
  check_parameter(op, "bias", bias, s.c);
  return {s, groups, s.c / groups};
}

std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& input, int64_t groups, const Tensor& weight,
                                           const Tensor& bias, double eps) {
  const Groups g = groups_of("group_norm", input, groups, weight, bias);
  const DType compute = norm_dtype(input);
  const auto empty = [&](IntArrayRef sizes) { return empty_tensor(sizes, compute, input.device()); };
  Tensor out = empty(input.sizes()), mean = empty({g.input.n, groups}), rstd = empty({g.input.n, groups});
  if (out.is_meta()) return {empty_tensor(input.sizes(), input.dtype(), input.device()), mean, rstd};
  if (out.numel() == 0) {  // the mean of nothing is NaN, as in PyTorch
    fill_(mean, std::numeric_limits<double>::quiet_NaN());
    fill_(rstd, std::numeric_limits<double>::quiet_NaN());
    return {as_dtype(out, input.dtype()), mean, rstd};
  }
  const Tensor x = as_contiguous(input, compute);
  as_float(compute, [&](auto zero) {
    using T = decltype(zero);
    const NormKernels<T>& kernels = *work<NormKernels<T>>.on(out);
    kernels.channel_stats(x.data<T>(), g.rows(), mean.data<T>(), rstd.data<T>());
    copy_into(rstd, rsqrt(rstd + eps));
    // (x - mean) scale + bias, the form of the gradient without its first term: x scale + (bias - mean scale) would
    // lose what x and a mean far from 0 have in common.
    const Tensor center = g.of_planes(mean), width = g.of_planes(rstd), none = zeros_like(width);
    const Tensor scale = weight ? as_contiguous(width * parameter(weight, compute), compute) : width;
    const Tensor offset = bias ? as_contiguous(none + parameter(bias, compute), compute) : none;
    kernels.channel_backward(x.data<T>(), x.data<T>(), center.data<T>(), none.data<T>(), scale.data<T>(),
                             offset.data<T>(), out.data<T>(), g.planes());
  });
  return {as_dtype(out, input.dtype()), mean, rstd};
}

// With x^ = (x - mean) rstd and G = grad weight: grad_x = rstd (G - mean(G) - x^ mean(G x^)), means over a group.
std::tuple<Tensor, Tensor, Tensor> backward(const Tensor& grad_output, const Tensor& input, int64_t groups,
                                            const Tensor& mean, const Tensor& rstd, const Tensor& weight) {
  constexpr const char* op = "group_norm_backward";
  const Groups g = groups_of(op, input, groups, weight, Tensor());
  TORCH_CHECK(grad_output.sizes() == input.sizes(), op, ": grad_output ", grad_output.sizes(),
              " must have the shape of input ", input.sizes());
  for (const Tensor* t : {&mean, &rstd})
    TORCH_CHECK(t->numel() == g.input.n * groups, op, ": mean and rstd must have ", g.input.n * groups,
                " elements, one for each group of each sample, not ", mean.numel(), " and ", rstd.numel());
  const DType compute = norm_dtype(input);
  const auto empty = [&](IntArrayRef sizes) { return empty_tensor(sizes, compute, input.device()); };
  Tensor grad_input = empty(input.sizes()), grad_weight = empty({g.input.c}), grad_bias = empty({g.input.c});
  const DType parameters = weight ? weight.dtype() : compute;
  if (grad_input.is_meta()) return {as_dtype(grad_input, input.dtype()), grad_weight, grad_bias};
  const Tensor x = as_contiguous(input, compute), dy = as_contiguous(grad_output, compute);
  const Tensor center = g.of_planes(as_contiguous(mean, compute)), width = g.of_planes(as_contiguous(rstd, compute));
  Tensor sums = empty({g.input.n, g.input.c}), dots = empty({g.input.n, g.input.c});
  as_float(compute, [&](auto zero) {
    using T = decltype(zero);
    const NormKernels<T>& kernels = *work<NormKernels<T>>.on(grad_input);
    kernels.channel_sums(dy.data<T>(), x.data<T>(), center.data<T>(), g.planes(), sums.data<T>(), dots.data<T>());
    const Tensor w = parameter(weight, compute);
    const auto weighted = [&](const Tensor& t) { return w ? t * w : t; };
    // grad_x = grad a + (x - mean) b + k
    const Tensor a = as_contiguous(weighted(width), compute);
    const Tensor b = as_contiguous(-g.of_planes(g.summed(weighted(dots)) / g.width()) * width * width * width, compute);
    const Tensor k = as_contiguous(-g.of_planes(g.summed(weighted(sums)) / g.width()) * width, compute);
    if (grad_input.numel())
      kernels.channel_backward(dy.data<T>(), x.data<T>(), center.data<T>(), a.data<T>(), b.data<T>(), k.data<T>(),
                               grad_input.data<T>(), g.planes());
    const int64_t samples = 0;
    grad_weight = sum(dots * width, IntArrayRef(&samples, 1));
    grad_bias = sum(sums, IntArrayRef(&samples, 1));
  });
  return {as_dtype(grad_input, input.dtype()), as_dtype(grad_weight, parameters), as_dtype(grad_bias, parameters)};
}

}  // namespace

void register_group_norm() {
  set_native<op::group_norm_statistics>(keeping_format<forward>);
  set_native<op::native_group_norm_backward>(keeping_format<backward>);
  set_composite<op::group_norm>([](const Tensor& x, int64_t groups, const Tensor& w, const Tensor& b, double eps,
                                   bool) { return std::get<0>(group_norm_statistics(x, groups, w, b, eps)); });
}

}  // namespace torch
