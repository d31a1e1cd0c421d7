#include "torch/core/ops/norm.h"

#include <cmath>

#include "dense.h"
#include "norm_kernels.h"
#include "register.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"
#include "work.h"

namespace torch {

namespace {

// f(T{}) for float or double.
template <class F>
void as_float(DType t, F f) {
  if (t == DType::Float64)
    f(double{});
  else
    f(float{});
}

NormShape channels_of(const char* op, const Tensor& x) {
  TORCH_CHECK_VALUE(x.dim() >= 2 || (x.dim() == 1 && x.size(0) == 0), op,
                    ": expected input (N, C, *) with at least 2 dims, got ", x);
  TORCH_CHECK_IMPLEMENTED(is_floating(x.dtype()), op, ": input must be floating point, got ", x.dtype());
  if (x.dim() == 1) return {0, 0, 1};  // nothing at all
  NormShape s{x.size(0), x.size(1), 1};
  for (int64_t d = 2; d < x.dim(); ++d) s.inner *= x.size(d);
  return s;
}
void check_parameter(const char* op, const char* which, const Tensor& p, int64_t c) {
  TORCH_CHECK(!p || (p.dim() == 1 && p.size(0) == c), op, ": ", which, " should contain ", c,
              " elements, one for each channel of input, not ", p ? p.sizes() : IntArrayRef());
}
Tensor parameter(const Tensor& p, DType compute) { return p ? as_contiguous(p, compute) : Tensor(); }

// Parameters of float32 beside input of a half type are as usual: everything computes in float.
DType norm_dtype(const Tensor& x) { return compute_dtype(x.dtype()); }

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
  TORCH_CHECK_VALUE(!training || s.n * s.inner > 1 || s.c == 0 || s.n * s.inner == 0 || input.is_meta(), op,
                    ": Expected more than 1 value per channel when training, got input size ", input.sizes());
  DType compute = norm_dtype(input);
  Tensor out = empty_tensor(input.sizes(), compute, input.device());
  Tensor mean = empty_tensor({training ? s.c : 0}, compute, input.device()),
         invstd = empty_tensor({training ? s.c : 0}, compute, input.device());
  if (!host_work(op, out)) return {empty_tensor(input.sizes(), input.dtype(), input.device()), mean, invstd};
  if (out.numel() == 0) return {as_dtype(out, input.dtype()), mean, invstd};
  Tensor x = as_contiguous(input, compute), w = parameter(weight, compute), b = parameter(bias, compute);
  Tensor m = training ? mean : as_contiguous(running_mean, compute);
  Tensor v = training ? empty_tensor({s.c}, compute) : as_contiguous(running_var, compute);
  Tensor scale = empty_tensor({s.c}, compute), shift = empty_tensor({s.c}, compute);
  as_float(compute, [&](auto zero) {
    using T = decltype(zero);
    if (training) work<NormKernels<T>>.on_cpu().channel_stats(x.data<T>(), s, m.data<T>(), v.data<T>());
    for (int64_t c = 0; c < s.c; ++c) {
      T inverse = T(1 / std::sqrt(double(v.data<T>()[c]) + eps));
      if (training) invstd.data<T>()[c] = inverse;
      T a = w ? w.data<T>()[c] * inverse : inverse;
      scale.data<T>()[c] = a;
      shift.data<T>()[c] = (b ? b.data<T>()[c] : T(0)) - m.data<T>()[c] * a;
    }
    work<NormKernels<T>>.on_cpu().channel_affine(x.data<T>(), scale.data<T>(), shift.data<T>(), out.data<T>(), s);
  });
  if (training && (running_mean || running_var)) {
    double count = double(s.n) * double(s.inner), unbias = count / (count - 1);
    auto blend = [&](const Tensor& running, const Tensor& now, double factor) {
      if (!running) return;
      Tensor r = as_contiguous(running, DType::Float64), t = as_contiguous(now, DType::Float64);
      Tensor fresh = empty_tensor({s.c}, DType::Float64);
      for (int64_t c = 0; c < s.c; ++c)
        fresh.data<double>()[c] = (1 - momentum) * r.data<double>()[c] + momentum * factor * t.data<double>()[c];
      copy_into(running, fresh);
      mark_changed(running, op::native_batch_norm::text);
    };
    blend(running_mean, m, 1);
    blend(running_var, v, unbias);
  }
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
  Tensor grad_input = empty_tensor(input.sizes(), compute, input.device());
  Tensor grad_weight = empty_tensor({s.c}, compute, input.device()),
         grad_bias = empty_tensor({s.c}, compute, input.device());
  if (!host_work(op, grad_input)) return {grad_input, grad_weight, grad_bias};
  Tensor x = as_contiguous(input, compute), g = as_contiguous(grad_output, compute), w = parameter(weight, compute);
  Tensor mean = as_contiguous(center, compute), width = as_contiguous(spread, compute);
  Tensor a = empty_tensor({s.c}, compute), b = empty_tensor({s.c}, compute), k = empty_tensor({s.c}, compute);
  double count = double(s.n) * double(s.inner);
  as_float(compute, [&](auto zero) {
    using T = decltype(zero);
    work<NormKernels<T>>.on_cpu().channel_sums(g.data<T>(), x.data<T>(), mean.data<T>(), s, grad_bias.data<T>(),
                                               grad_weight.data<T>());
    for (int64_t c = 0; c < s.c; ++c) {
      T inverse = training ? width.data<T>()[c] : T(1 / std::sqrt(double(width.data<T>()[c]) + eps));
      T scale = w ? w.data<T>()[c] * inverse : inverse, dot = grad_weight.data<T>()[c], sum = grad_bias.data<T>()[c];
      a.data<T>()[c] = scale;
      // In training the statistics depend on the input: grad_x = scale (g - mean(g) - (x - mean) invstd^2 mean(g (x -
      // mean))).
      b.data<T>()[c] = training ? T(-scale * inverse * inverse * dot / T(count)) : T(0);
      k.data<T>()[c] = training ? T(-scale * sum / T(count)) : T(0);
      grad_weight.data<T>()[c] = dot * inverse;
    }
    if (grad_input.numel())
      work<NormKernels<T>>.on_cpu().channel_backward(g.data<T>(), x.data<T>(), mean.data<T>(), a.data<T>(), b.data<T>(),
                                                     k.data<T>(), grad_input.data<T>(), s);
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
      work<NormKernels<T>>.on("layer_norm", out)->row_forward(x.data<T>(), w ? w.data<T>() : nullptr, b ? b.data<T>() : nullptr, T(eps), out.data<T>(), mean.data<T>(), rstd.data<T>(), s);
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
    const NormKernels<T>& kernels = *work<NormKernels<T>>.on("layer_norm_backward", grad_input);
    kernels.row_backward(g.data<T>(), x.data<T>(), w ? w.data<T>() : nullptr, m.data<T>(), r.data<T>(),
                         grad_input.data<T>(), s);
    kernels.row_params(g.data<T>(), x.data<T>(), m.data<T>(), r.data<T>(), grad_weight.data<T>(), grad_bias.data<T>(),
                       s);
  });
  DType parameters = weight ? weight.dtype() : compute;
  return {as_dtype(grad_input, input.dtype()), as_dtype(grad_weight, parameters), as_dtype(grad_bias, parameters)};
}

// A parameter of C elements as (1, C, 1, ...) beside (N, C, *).
Tensor beside_channels(const Tensor& p, int64_t dims) {
  std::vector<int64_t> shape(size_t(dims), 1);
  shape[1] = p.size(0);
  return view(p, shape);
}

Tensor group(const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias, double eps, bool) {
  constexpr const char* op = "group_norm";
  NormShape s = channels_of(op, input);
  TORCH_CHECK(groups > 0 && s.c % groups == 0, op,
              ": Expected number of channels in input to be divisible by num_groups, but got input of shape ",
              input.sizes(), " and num_groups=", groups);
  check_parameter(op, "weight", weight, s.c);
  check_parameter(op, "bias", bias, s.c);
  if (const DType compute = norm_dtype(input); compute != input.dtype()) {  // half types are rounded once, at the end
    const auto wide = [&](const Tensor& t) { return t && t.dtype() != compute ? _to_copy(t, compute) : t; };
    return _to_copy(group(wide(input), groups, wide(weight), wide(bias), eps, false), input.dtype());
  }
  int64_t width = s.c / groups * s.inner;
  Tensor rows = reshape(input, {s.n, groups, width});
  Tensor y = reshape(std::get<0>(layer_norm_statistics(rows, {width}, Tensor(), Tensor(), eps)), input.sizes());
  if (weight) y = mul(y, beside_channels(weight, input.dim()));
  if (bias) y = add(y, beside_channels(bias, input.dim()));
  return y;
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
    Tensor from = as_contiguous(each, DType::Float64), fresh = empty_tensor({s.c}, DType::Float64);
    for (int64_t c = 0; c < s.c; ++c) {
      double sum = 0;
      for (int64_t i = 0; i < s.n; ++i) sum += from.data<double>()[i * s.c + c];
      fresh.data<double>()[c] = sum / double(s.n);
    }
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
  set_composite<op::group_norm>(group);
  set_composite<op::instance_norm>(instance);
}

}  // namespace torch
