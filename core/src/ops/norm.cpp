#include "torch/core/ops/norm.h"

#include <cmath>

#include "cpu/norm_kernels.h"
#include "dispatch/register.h"
#include "dispatch/work.h"
#include "iterate/dense.h"
#include "ops/format.h"
#include "ops/norm.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

std::tuple<Tensor, Tensor, Tensor> batch_forward(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                                 const Tensor& running_mean, const Tensor& running_var, bool training,
                                                 double momentum, double eps) {
  constexpr const char* op = "batch_norm";
  NormShape s = channels_of(op, input);
  check_parameter(op, "weight", weight, s.c);
  check_parameter(op, "bias", bias, s.c);
  check_parameter(op, "running_mean", running_mean, s.c);
  check_parameter(op, "running_var", running_var, s.c);
  TORCH_CHECK(training || (running_mean && running_var), op,
              ": running_mean and running_var must be defined in evaluation mode");
  TORCH_CHECK_VALUE(bool(running_mean) == bool(running_var), op,
                    ": running_mean and running_var must either both be None or neither, and only ",
                    running_mean ? "running_mean" : "running_var", " was given");
  TORCH_CHECK_VALUE(!training || s.n * s.inner > 1 || s.c == 0 || s.n * s.inner == 0 || input.is_meta(), op,
                    ": Expected more than 1 value per channel when training, got input size ", input.sizes());
  DType compute = norm_dtype(input);
  const bool last = has_channels_last(input);  // rows of channels, which the kernels know as inner = 1
  if (last) s = {s.n * s.inner, s.c, 1};
  Tensor out = empty_in_format(input.sizes(), input.is_meta() ? input.dtype() : compute, input.device(), last);
  Tensor mean = empty_tensor({training ? s.c : 0}, compute, input.device()),
         invstd = empty_tensor({training ? s.c : 0}, compute, input.device());
  if (out.is_meta()) return {out, mean, invstd};
  if (out.numel() == 0) {  // the backward pass reads both
    const auto none = [&] { return zeros(mean.sizes(), compute, input.device()); };
    return {as_dtype(out, input.dtype()), none(), none()};
  }
  Tensor x = in_format(input, compute, last), w = parameter(weight, compute), b = parameter(bias, compute);
  const auto channels = [&] { return empty_tensor({s.c}, compute, input.device()); };
  Tensor m = training ? mean : as_contiguous(running_mean, compute);
  Tensor v = training ? channels() : as_contiguous(running_var, compute);
  Tensor scale = channels(), shift = channels();
  as_float(compute, [&](auto zero) {
    using T = decltype(zero);
    const NormKernels<T>& kernels = *work<NormKernels<T>>.on(out);
    if (training) kernels.channel_stats(x.data<T>(), s, m.data<T>(), v.data<T>());
    kernels.channel_scales(s.c, m.data<T>(), v.data<T>(), w ? w.data<T>() : nullptr, b ? b.data<T>() : nullptr, eps,
                           training ? invstd.data<T>() : nullptr, scale.data<T>(), shift.data<T>());
    kernels.channel_affine(x.data<T>(), scale.data<T>(), shift.data<T>(), out.data<T>(), s);
    const double count = double(s.n) * double(s.inner);
    const auto blend = [&](const Tensor& running, const Tensor& now, double factor) {
      if (!training || !running) return;
      const Tensor fresh = preserving_copy(running, DType::Float64);
      const Tensor line = as_contiguous(fresh, DType::Float64);
      kernels.channel_blend(s.c, 1 - momentum, momentum * factor, now.data<T>(), line.data<double>());
      copy_into(running, line);
      mark_changed(running, op::native_batch_norm::text);
    };
    blend(running_mean, m, 1);
    blend(running_var, v, count / (count - 1));
  });
  return {as_dtype(out, input.dtype()), mean, invstd};
}

std::tuple<Tensor, Tensor, Tensor> batch_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                                                  const Tensor& running_mean, const Tensor& running_var,
                                                  const Tensor& save_mean, const Tensor& save_invstd, bool training,
                                                  double eps) {
  constexpr const char* op = "batch_norm_backward";
  NormShape s = channels_of(op, input);
  TORCH_CHECK(grad_output.sizes() == input.sizes(), op, ": grad_output ", grad_output.sizes(),
              " must have the shape of input ", input.sizes());
  check_parameter(op, "weight", weight, s.c);
  const Tensor &center = training ? save_mean : running_mean, &spread = training ? save_invstd : running_var;
  TORCH_CHECK(center && spread, op, ": needs ",
              training ? "save_mean and save_invstd in training" : "running_mean and running_var in evaluation");
  check_parameter(op, training ? "save_mean" : "running_mean", center, s.c);
  check_parameter(op, training ? "save_invstd" : "running_var", spread, s.c);
  DType compute = norm_dtype(input);
  const bool last = has_channels_last(input);
  if (last) s = {s.n * s.inner, s.c, 1};
  Tensor grad_input = empty_in_format(input.sizes(), compute, input.device(), last);
  Tensor grad_weight = empty_tensor({s.c}, compute, input.device()),
         grad_bias = empty_tensor({s.c}, compute, input.device());
  if (grad_input.is_meta()) return {grad_input, grad_weight, grad_bias};
  Tensor x = in_format(input, compute, last), g = in_format(grad_output, compute, last), w = parameter(weight, compute);
  Tensor mean = as_contiguous(center, compute), width = as_contiguous(spread, compute);
  const auto channels = [&] { return empty_tensor({s.c}, compute, input.device()); };
  Tensor a = channels(), b = channels(), k = channels();
  const double count = training ? double(s.n) * double(s.inner) : 0;
  as_float(compute, [&](auto zero) {
    using T = decltype(zero);
    const NormKernels<T>& kernels = *work<NormKernels<T>>.on(grad_input);
    kernels.channel_sums(g.data<T>(), x.data<T>(), mean.data<T>(), s, grad_bias.data<T>(), grad_weight.data<T>());
    kernels.channel_slopes(s.c, grad_bias.data<T>(), grad_weight.data<T>(), width.data<T>(), w ? w.data<T>() : nullptr,
                           count, eps, a.data<T>(), b.data<T>(), k.data<T>());
    if (grad_input.numel())
      kernels.channel_backward(g.data<T>(), x.data<T>(), mean.data<T>(), a.data<T>(), b.data<T>(), k.data<T>(),
                               grad_input.data<T>(), s);
  });
  DType parameters = weight ? weight.dtype() : compute;
  return {as_dtype(grad_input, input.dtype()), as_dtype(grad_weight, parameters), as_dtype(grad_bias, parameters)};
}

NormShape rows_of(const char* op, const Tensor& x, IntArrayRef shape, const Tensor& weight, const Tensor& bias) {
  TORCH_CHECK_IMPLEMENTED(is_floating(x.dtype()), op, ": input must be floating point, got ", x.dtype());
  TORCH_CHECK(!shape.empty(), op, ": normalized_shape must name at least one dim");
  int64_t first = x.dim() - int64_t(shape.size());
  TORCH_CHECK(first >= 0 && x.sizes().slice(size_t(first), shape.size()) == shape, op,
              ": Given normalized_shape=", shape, ", expected input with shape [*", shape, "], but got input of size ",
              x.sizes());
  for (const Tensor* p : {&weight, &bias})
    TORCH_CHECK(!*p || p->sizes() == shape, op, ": weight and bias must have the shape normalized_shape ", shape,
                ", got ", *p ? p->sizes() : IntArrayRef());
  NormShape s{1, 1, 1};
  for (int64_t d = 0; d < x.dim(); ++d) (d < first ? s.n : s.c) *= x.size(d);
  return s;
}

std::tuple<Tensor, Tensor, Tensor> layer_forward(const Tensor& input, IntArrayRef shape, const Tensor& weight,
                                                 const Tensor& bias, double eps) {
  NormShape s = rows_of("layer_norm", input, shape, weight, bias);
  DType compute = norm_dtype(input);
  std::vector<int64_t> outer = input.sizes().vec();
  for (size_t i = 0; i < shape.size(); ++i) outer[outer.size() - 1 - i] = 1;
  Tensor out = empty_tensor(input.sizes(), compute, input.device());
  Tensor mean = empty_tensor(outer, compute, input.device()), rstd = empty_tensor(outer, compute, input.device());
  if (out.is_meta()) return {empty_tensor(input.sizes(), input.dtype(), input.device()), mean, rstd};
  Tensor x = as_contiguous(input, compute), w = parameter(weight, compute), b = parameter(bias, compute);
  as_float(compute, [&](auto zero) {
    using T = decltype(zero);
    if (s.c)
      work<NormKernels<T>>.on(out)->row_forward(x.data<T>(), w ? w.data<T>() : nullptr, b ? b.data<T>() : nullptr,
                                                T(eps), out.data<T>(), mean.data<T>(), rstd.data<T>(), s);
  });
  return {as_dtype(out, input.dtype()), mean, rstd};
}

std::tuple<Tensor, Tensor, Tensor> layer_backward(const Tensor& grad_output, const Tensor& input, IntArrayRef shape,
                                                  const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                                                  const Tensor& bias) {
  NormShape s = rows_of("layer_norm_backward", input, shape, weight, bias);
  TORCH_CHECK(grad_output.sizes() == input.sizes(), "layer_norm_backward: grad_output ", grad_output.sizes(),
              " must have the shape of input ", input.sizes());
  TORCH_CHECK(mean.numel() == s.n && rstd.numel() == s.n, "layer_norm_backward: mean and rstd must have ", s.n,
              " elements, one for each row of input, not ", mean.numel(), " and ", rstd.numel());
  DType compute = norm_dtype(input);
  Tensor grad_input = empty_tensor(input.sizes(), compute, input.device());
  Tensor grad_weight = empty_tensor(shape, compute, input.device()),
         grad_bias = empty_tensor(shape, compute, input.device());
  if (grad_input.is_meta()) return {grad_input, grad_weight, grad_bias};
  Tensor x = as_contiguous(input, compute), g = as_contiguous(grad_output, compute), w = parameter(weight, compute);
  Tensor m = as_contiguous(mean, compute), r = as_contiguous(rstd, compute);
  as_float(compute, [&](auto zero) {
    using T = decltype(zero);
    const NormKernels<T>& kernels = *work<NormKernels<T>>.on(grad_input);
    kernels.row_backward(g.data<T>(), x.data<T>(), w ? w.data<T>() : nullptr, m.data<T>(), r.data<T>(),
                         grad_input.data<T>(), s);
    kernels.row_params(g.data<T>(), x.data<T>(), m.data<T>(), r.data<T>(), grad_weight.data<T>(), grad_bias.data<T>(),
                       s);
  });
  DType parameters = weight ? weight.dtype() : compute;
  return {as_dtype(grad_input, input.dtype()), as_dtype(grad_weight, parameters), as_dtype(grad_bias, parameters)};
}

Tensor instance(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                const Tensor& running_var, bool use_input_stats, double momentum, double eps, bool) {
  constexpr const char* op = "instance_norm";
  NormShape s = channels_of(op, input);
  if (!use_input_stats) return batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps);
  TORCH_CHECK_VALUE(s.inner > 1, op, ": Expected more than 1 spatial element when training, got input size ",
                    input.sizes());
  // Samples become channels: (1, N C, *). Running statistics are averaged over the samples.
  std::vector<int64_t> merged = input.sizes().vec();
  merged[0] = 1;
  merged[1] = s.n * s.c;
  auto tiled = [&](const Tensor& p) { return p ? repeat(p, {s.n}) : Tensor(); };
  Tensor means = tiled(running_mean), vars = tiled(running_var);
  Tensor y = reshape(batch_norm(reshape(input, merged), tiled(weight), tiled(bias), means, vars, true, momentum, eps),
                     input.sizes());
  auto average = [&](const Tensor& running, const Tensor& each) {  // (n c) -> (c)
    if (!running) return;
    const Tensor rows = reshape(as_contiguous(each, DType::Float64), {s.n, s.c});
    const int64_t samples = 0;
    const Tensor fresh = torch::mean(rows, IntArrayRef(&samples, 1));
    copy_into(running, fresh);
    mark_changed(running, op::instance_norm::text);
  };
  average(running_mean, means);
  average(running_var, vars);
  return y;
}

}  // namespace

void register_norm() {
  set_native<op::native_batch_norm>(batch_forward);
  set_native<op::native_batch_norm_backward>(batch_backward);
  set_composite<op::batch_norm>([](const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& m, const Tensor& v,
                                   bool training, double momentum, double eps, bool) {
    return std::get<0>(native_batch_norm(x, w, b, m, v, training, momentum, eps));
  });
  set_native<op::layer_norm_statistics>(layer_forward);
  set_composite<op::native_layer_norm>(
      [](const Tensor& x, IntArrayRef shape, const Tensor& w, const Tensor& b, double eps) {
        auto [out, mean, rstd] = layer_norm_statistics(x, shape, w, b, eps);
        auto as_input = [&](const Tensor& t) { return t.dtype() == x.dtype() ? t : _to_copy(t, x.dtype()); };
        return std::tuple(out, as_input(mean), as_input(rstd));
      });
  set_native<op::native_layer_norm_backward>(layer_backward);
  set_composite<op::layer_norm>([](const Tensor& x, IntArrayRef shape, const Tensor& w, const Tensor& b, double eps,
                                   bool) { return std::get<0>(layer_norm_statistics(x, shape, w, b, eps)); });
  register_group_norm();
  set_composite<op::instance_norm>(instance);
}

}  // namespace torch
