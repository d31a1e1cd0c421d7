// The pooling operators: checks, result shapes, dtypes; the work is done by conv/pooling.h on dense planes.
#include "ops/conv/pooling.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "dispatch/register.h"
#include "dispatch/work.h"
#include "ops/format.h"
#include "ops/planes.h"
#include "torch/core/ops/pooling.h"
#include "torch/core/pool.h"

namespace torch {
namespace {

using pool::Bins;
using pool::Divisor;
using pool::Windows;

constexpr int64_t kLargest = int64_t(1) << 31;

std::string op_name(const char* family, size_t dims) { return family + std::to_string(dims) + "d"; }

// The leading sizes of t with these spatial ones behind them.
std::vector<int64_t> with_spatial(const Tensor& t, size_t dims, const int64_t (&spatial)[3]) {
  std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end() - int64_t(dims));
  sizes.insert(sizes.end(), spatial + 3 - dims, spatial + 3);
  return sizes;
}

// Spatial sizes of the input, absent leading ones 1; returns the number of planes.
int64_t read_planes(const std::string& op, const Tensor& input, size_t dims, int64_t (&in)[3]) {
  const int64_t d = int64_t(dims);
  TORCH_CHECK(dims >= 1 && dims <= 3, op, ": expected one, two or three spatial dims, got ", dims);
  TORCH_CHECK(input.dim() == d + 1 || input.dim() == d + 2, op, ": expected input of ", d + 2, " dims, or ", d + 1,
              " without batch, got ", input.sizes());
  std::fill_n(in, 3, 1);
  int64_t planes = 1;
  for (int64_t i = 0; i < input.dim(); i++) {
    if (i < input.dim() - d) {
      planes *= input.size(i);
      continue;
    }
    TORCH_CHECK(input.size(i) > 0 && input.size(i) < kLargest, op,
                ": expected input with spatial sizes from 1 to 2**31 - 1, got ", input.sizes());
    in[3 - input.dim() + i] = input.size(i);
  }
  return planes;
}

void expand(const std::string& op, const char* what, IntArrayRef given, size_t dims, int64_t least, int64_t (&to)[3],
            int64_t rest) {
  TORCH_CHECK(given.size() == dims || given.size() == 1, op, ": ", what, " must be one int or ", dims, ", got ", given);
  std::fill_n(to, 3, rest);
  for (size_t i = 0; i < dims; i++) {
    const int64_t value = given[given.size() == 1 ? 0 : i];
    TORCH_CHECK(value >= least, op, ": ", what, " must be ", least ? "positive" : "non-negative", ", got ", given);
    TORCH_CHECK(value < kLargest, op, ": ", what, " ", given, " is too large");
    to[3 - dims + i] = value;
  }
}

Windows windows_of(const std::string& op, const Tensor& input, size_t dims, IntArrayRef kernel, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  Windows w;
  w.planes = read_planes(op, input, dims, w.in);
  TORCH_CHECK(input.size(-int64_t(dims) - 1) > 0, op, ": expected input with channels, got ", input.sizes());
  expand(op, "kernel_size", kernel, dims, 1, w.kernel, 1);
  expand(op, "stride", stride.empty() ? kernel : stride, dims, 1, w.stride, 1);
  expand(op, "padding", padding, dims, 0, w.padding, 0);
  expand(op, "dilation", dilation, dims, 1, w.dilation, 1);
  for (size_t k = 0; k < 3; k++) {
    TORCH_CHECK(w.kernel[k] < kLargest / w.dilation[k], op, ": kernel_size ", kernel, " with dilation ", dilation,
                " is too large");
    const int64_t extent = w.dilation[k] * (w.kernel[k] - 1) + 1, room = w.in[k] + 2 * w.padding[k] - extent;
    TORCH_CHECK(2 * w.padding[k] <= extent, op, ": padding ", padding, " must be at most half of kernel_size ", kernel,
                dilation.size() == 1 && dilation[0] == 1 ? "" : " with its dilation");
    // Rounded down, or up; then the last window must start inside the input or the padding before it.
    w.out[k] = room < 0 ? (ceil_mode && room > -w.stride[k] ? 1 : 0)
                        : (room + (ceil_mode ? w.stride[k] - 1 : 0)) / w.stride[k] + 1;
    if (ceil_mode && (w.out[k] - 1) * w.stride[k] >= w.in[k] + w.padding[k]) --w.out[k];
    TORCH_CHECK(w.out[k] > 0, op, ": kernel_size ", kernel, " with padding ", padding, " is larger than input ",
                input.sizes());
  }
  TORCH_CHECK(w.kernel[0] * w.kernel[1] < kLargest / w.kernel[2], op, ": kernel_size ", kernel, " is too large");
  return w;
}

// The windows of a forward pass, from its gradient (or its winners) and the spatial size of its input.
Windows windows_back(const std::string& op, const Tensor& grad, IntArrayRef input_size, IntArrayRef kernel,
                     IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
  const size_t dims = kernel.size();
  Windows w;
  w.planes = read_planes(op, grad, dims, w.out);
  TORCH_CHECK(input_size.size() == dims, op, ": input_size must have ", dims, " entries, got ", input_size);
  expand(op, "input_size", input_size, dims, 1, w.in, 1);
  expand(op, "kernel_size", kernel, dims, 1, w.kernel, 1);
  expand(op, "stride", stride.empty() ? kernel : stride, dims, 1, w.stride, 1);
  expand(op, "padding", padding, dims, 0, w.padding, 0);
  expand(op, "dilation", dilation, dims, 1, w.dilation, 1);
  return w;
}

void check_winners(const std::string& op, const Tensor& winners, const Windows& w) {
  const DType expected = pool::winners_fit_a_byte(w) ? DType::UInt8 : DType::Int32;
  TORCH_CHECK(winners.dtype() == expected, op, ": winners must be ", name(expected), ", got ", name(winners.dtype()));
}

// Where the result is.
template <class T>
const pool::Kernels<T>& kernels_for(const Tensor& out) {
  return *work<pool::Kernels<T>>.on(out);
}

// --- maxima ---

// Images whose channels lie last, where maxima are found in that order.
bool keeps_channels_last(const Tensor& image, const Windows& w, DType compute) {
  return compute == DType::Float32 && pool::winners_fit_a_byte(w) && orders_channels_last(image, image.dim()) &&
         !image.is_meta() && work<pool::Kernels<float>>.on(image)->max_forward_last;
}

std::tuple<Tensor, Tensor> max_pool_kernel(const Tensor& input, IntArrayRef kernel, IntArrayRef stride,
                                           IntArrayRef padding, IntArrayRef dilation, bool ceil_mode,
                                           bool keep_winners) {
  const size_t dims = kernel.size();
  const std::string op = op_name("max_pool", dims);
  const Windows w = windows_of(op, input, dims, kernel, stride, padding, dilation, ceil_mode);
  const DType compute = compute_type(op, input.dtype(), DType::Int64);
  const std::vector<int64_t> sizes = with_spatial(input, dims, w.out);
  const bool last = keeps_channels_last(input, w, compute);
  Tensor out = empty_in_format(sizes, input.is_meta() ? input.dtype() : compute, input.device(), last), winners;
  if (keep_winners)
    winners = empty_in_format(sizes, pool::winners_fit_a_byte(w) ? DType::UInt8 : DType::Int32, input.device(), last);
  if (out.numel() == 0 || input.is_meta()) return {to_dtype(out, input.dtype()), winners};
  const Tensor x = in_format(input, compute, last);
  if (last) {
    kernels_for<float>(out).max_forward_last(w, input.size(1), x.data<float>(), out.data<float>(),
                                             winners ? winners.data<uint8_t>() : nullptr);
    return {to_dtype(out, input.dtype()), winners};
  }
  void* won = winners ? winners.data() : nullptr;
  if (compute == DType::Float32)
    kernels_for<float>(out).max_forward(w, x.data<float>(), out.data<float>(), won);
  else if (compute == DType::Float64)
    kernels_for<double>(out).max_forward(w, x.data<double>(), out.data<double>(), won);
  else
    kernels_for<int64_t>(out).max_forward(w, x.data<int64_t>(), out.data<int64_t>(), won);
  return {to_dtype(out, input.dtype()), winners};
}

Tensor max_pool_backward_kernel(const Tensor& grad, const Tensor& winners, IntArrayRef input_size, IntArrayRef kernel,
                                IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
  const std::string op = op_name("max_pool", kernel.size()) + "_backward";
  const Windows w = windows_back(op, grad, input_size, kernel, stride, padding, dilation);
  check_winners(op, winners, w);
  TORCH_CHECK(grad.sizes() == winners.sizes(), op, ": grad ", grad.sizes(), " and winners ", winners.sizes(),
              " must have one shape");
  const DType compute = compute_type(op, grad.dtype(), DType::Float64);
  const bool last = keeps_channels_last(grad, w, compute);
  Tensor out = empty_in_format(with_spatial(grad, kernel.size(), w.in), grad.is_meta() ? grad.dtype() : compute,
                               grad.device(), last);
  if (out.numel() == 0 || grad.is_meta()) return to_dtype(out, grad.dtype());
  const Tensor g = in_format(grad, compute, last), won = in_format(winners, winners.dtype(), last);
  if (last) {
    kernels_for<float>(out).max_backward_last(w, grad.size(1), g.data<float>(), won.data<uint8_t>(), out.data<float>());
    return to_dtype(out, grad.dtype());
  }
  with_type(compute, [&](auto zero) {
    using T = decltype(zero);
    kernels_for<T>(out).max_backward(w, g.data<T>(), won.data(), out.data<T>());
  });
  return to_dtype(out, grad.dtype());
}

Tensor max_pool_gather_kernel(const Tensor& input, const Tensor& winners, IntArrayRef kernel, IntArrayRef stride,
                              IntArrayRef padding, IntArrayRef dilation) {
  const size_t dims = kernel.size();
  const std::string op = op_name("max_pool", dims) + "_gather";
  Windows w;
  const int64_t planes = read_planes(op, input, dims, w.in);
  w = windows_back(op, winners, input.sizes().slice(size_t(input.dim()) - dims, dims), kernel, stride, padding,
                   dilation);
  check_winners(op, winners, w);
  TORCH_CHECK(planes == w.planes, op, ": input ", input.sizes(), " and winners ", winners.sizes(),
              " must have as many planes");
  const DType compute = compute_type(op, input.dtype(), DType::Float64);
  Tensor out = empty_tensor(winners.sizes(), input.is_meta() ? input.dtype() : compute, input.device());
  if (out.numel() == 0 || input.is_meta()) return to_dtype(out, input.dtype());
  const Tensor x = dense(input, compute), won = dense(winners, winners.dtype());
  with_type(compute, [&](auto zero) {
    using T = decltype(zero);
    kernels_for<T>(out).max_gather(w, x.data<T>(), won.data(), out.data<T>());
  });
  return to_dtype(out, input.dtype());
}

Tensor max_pool_indices_kernel(const Tensor& winners, IntArrayRef input_size, IntArrayRef kernel, IntArrayRef stride,
                               IntArrayRef padding, IntArrayRef dilation) {
  const std::string op = op_name("max_pool", kernel.size()) + "_indices";
  const Windows w = windows_back(op, winners, input_size, kernel, stride, padding, dilation);
  check_winners(op, winners, w);
  Tensor out = empty_tensor(winners.sizes(), DType::Int64, winners.device());
  if (out.numel() == 0 || out.is_meta()) return out;
  const Tensor won = dense(winners, winners.dtype());
  kernels_for<int64_t>(out).max_indices(w, won.data(), out.data<int64_t>());
  return out;
}

// --- averages ---

Divisor divisor_of(const std::string& op, bool count_include_pad, std::optional<int64_t> divisor_override) {
  TORCH_CHECK(!divisor_override || *divisor_override != 0, op, ": divisor_override must not be zero");
  return {divisor_override.value_or(0), count_include_pad};
}

Tensor avg_pool_kernel(const Tensor& input, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                       bool count_include_pad, std::optional<int64_t> divisor_override) {
  const size_t dims = kernel.size();
  const std::string op = op_name("avg_pool", dims);
  const Windows w = windows_of(op, input, dims, kernel, stride, padding, {1}, ceil_mode);
  const Divisor divisor = divisor_of(op, count_include_pad, divisor_override);
  const DType compute = compute_type(op, input.dtype(), DType::Float64);
  Tensor out =
      empty_tensor(with_spatial(input, dims, w.out), input.is_meta() ? input.dtype() : compute, input.device());
  if (out.numel() == 0 || input.is_meta()) return to_dtype(out, input.dtype());
  const Tensor x = dense(input, compute);
  with_type(compute, [&](auto zero) {
    using T = decltype(zero);
    kernels_for<T>(out).average_forward(w, divisor, x.data<T>(), out.data<T>());
  });
  return to_dtype(out, input.dtype());
}

Tensor avg_pool_backward_kernel(const Tensor& grad, IntArrayRef input_size, IntArrayRef kernel, IntArrayRef stride,
                                IntArrayRef padding, bool, bool count_include_pad,
                                std::optional<int64_t> divisor_override) {
  const std::string op = op_name("avg_pool", kernel.size()) + "_backward";
  const Windows w = windows_back(op, grad, input_size, kernel, stride, padding, {1});
  const Divisor divisor = divisor_of(op, count_include_pad, divisor_override);
  const DType compute = compute_type(op, grad.dtype(), DType::Float64);
  Tensor out =
      empty_tensor(with_spatial(grad, kernel.size(), w.in), grad.is_meta() ? grad.dtype() : compute, grad.device());
  if (out.numel() == 0 || grad.is_meta()) return to_dtype(out, grad.dtype());
  const Tensor g = dense(grad, compute);
  with_type(compute, [&](auto zero) {
    using T = decltype(zero);
    kernels_for<T>(out).average_backward(w, divisor, g.data<T>(), out.data<T>());
  });
  return to_dtype(out, grad.dtype());
}

// --- windows that adapt to the output ---

Bins bins_of(const std::string& op, const Tensor& input, IntArrayRef output_size) {
  Bins b;
  b.planes = read_planes(op, input, output_size.size(), b.in);
  expand(op, "output_size", output_size, output_size.size(), 0, b.out, 1);
  return b;
}

Tensor adaptive_avg_pool_kernel(const Tensor& input, IntArrayRef output_size) {
  const std::string op = op_name("adaptive_avg_pool", output_size.size());
  const Bins b = bins_of(op, input, output_size);
  const DType compute = compute_type(op, input.dtype(), DType::Float64);
  TORCH_CHECK_IMPLEMENTED(is_floating(input.dtype()), op, ": not implemented for ", name(input.dtype()));
  Tensor out = empty_tensor(with_spatial(input, output_size.size(), b.out), input.is_meta() ? input.dtype() : compute,
                            input.device());
  if (out.numel() == 0 || input.is_meta()) return to_dtype(out, input.dtype());
  const Tensor x = dense(input, compute);
  with_type(compute, [&](auto zero) {
    using T = decltype(zero);
    kernels_for<T>(out).bins_average_forward(b, x.data<T>(), out.data<T>());
  });
  return to_dtype(out, input.dtype());
}

Tensor adaptive_avg_pool_backward_kernel(const Tensor& grad, IntArrayRef input_size) {
  const size_t dims = input_size.size();
  const std::string op = op_name("adaptive_avg_pool", dims) + "_backward";
  Bins b;
  TORCH_CHECK(dims >= 1 && dims <= 3 && grad.dim() > int64_t(dims), op, ": grad ", grad.sizes(),
              " does not fit input_size ", input_size);
  expand(op, "input_size", input_size, dims, 1, b.in, 1);
  std::fill_n(b.out, 3, 1);
  b.planes = 1;
  for (int64_t i = 0; i < grad.dim(); i++) {
    if (i < grad.dim() - int64_t(dims))
      b.planes *= grad.size(i);
    else
      b.out[3 - grad.dim() + i] = grad.size(i);
  }
  const DType compute = compute_type(op, grad.dtype(), DType::Float64);
  Tensor out = empty_tensor(with_spatial(grad, dims, b.in), grad.is_meta() ? grad.dtype() : compute, grad.device());
  if (out.numel() == 0 || grad.is_meta()) return to_dtype(out, grad.dtype());
  const Tensor g = dense(grad, compute);
  with_type(compute, [&](auto zero) {
    using T = decltype(zero);
    kernels_for<T>(out).bins_average_backward(b, g.data<T>(), out.data<T>());
  });
  return to_dtype(out, grad.dtype());
}

std::tuple<Tensor, Tensor> adaptive_max_pool_kernel(const Tensor& input, IntArrayRef output_size) {
  const std::string op = op_name("adaptive_max_pool", output_size.size());
  const Bins b = bins_of(op, input, output_size);
  const DType compute = compute_type(op, input.dtype(), DType::Int64);
  const std::vector<int64_t> sizes = with_spatial(input, output_size.size(), b.out);
  Tensor out = empty_tensor(sizes, input.is_meta() ? input.dtype() : compute, input.device());
  Tensor indices = empty_tensor(sizes, DType::Int64, input.device());
  if (out.numel() == 0 || input.is_meta()) return {to_dtype(out, input.dtype()), indices};
  const Tensor x = dense(input, compute);
  if (compute == DType::Float32)
    kernels_for<float>(out).bins_max_forward(b, x.data<float>(), out.data<float>(), indices.data<int64_t>());
  else if (compute == DType::Float64)
    kernels_for<double>(out).bins_max_forward(b, x.data<double>(), out.data<double>(), indices.data<int64_t>());
  else
    kernels_for<int64_t>(out).bins_max_forward(b, x.data<int64_t>(), out.data<int64_t>(), indices.data<int64_t>());
  return {to_dtype(out, input.dtype()), indices};
}

// --- the public forms ---

// A list of one entry per dim.
std::vector<int64_t> spread(IntArrayRef list, size_t dims) {
  return list.size() == 1 ? std::vector<int64_t>(dims, list[0]) : list.vec();
}
template <int kDims>
void check_kernel(const char* family, IntArrayRef kernel) {
  TORCH_CHECK(kernel.size() == 1 || kernel.size() == kDims, family, kDims, "d: kernel_size must be one int or ", kDims,
              ", got ", kernel);
}

template <int kDims>
Tensor max_pool_nd(const Tensor& input, IntArrayRef kernel, std::optional<IntArrayRef> stride, IntArrayRef padding,
                   IntArrayRef dilation, bool ceil_mode) {
  check_kernel<kDims>("max_pool", kernel);
  return std::get<0>(torch::max_pool(input, spread(kernel, kDims), stride.value_or(IntArrayRef()), padding, dilation,
                                     ceil_mode, input.requires_grad() || !input.has_memory()));
}
template <int kDims>
std::tuple<Tensor, Tensor> max_pool_nd_with_indices(const Tensor& input, IntArrayRef kernel,
                                                    std::optional<IntArrayRef> stride, IntArrayRef padding,
                                                    IntArrayRef dilation, bool ceil_mode) {
  check_kernel<kDims>("max_pool", kernel);
  const std::vector<int64_t> window = spread(kernel, kDims);
  auto [values, winners] =
      torch::max_pool(input, window, stride.value_or(IntArrayRef()), padding, dilation, ceil_mode, true);
  const Tensor indices = torch::max_pool_indices(winners, input.sizes().slice(size_t(input.dim()) - kDims, kDims),
                                                 window, stride.value_or(IntArrayRef()), padding, dilation);
  return {values, in_order_of(values, indices)};
}
template <int kDims>
Tensor avg_pool_nd(const Tensor& input, IntArrayRef kernel, std::optional<IntArrayRef> stride, IntArrayRef padding,
                   bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  check_kernel<kDims>("avg_pool", kernel);
  return torch::avg_pool(input, spread(kernel, kDims), stride.value_or(IntArrayRef()), padding, ceil_mode,
                         count_include_pad, divisor_override);
}
Tensor avg_pool_1d(const Tensor& input, IntArrayRef kernel, std::optional<IntArrayRef> stride, IntArrayRef padding,
                   bool ceil_mode, bool count_include_pad) {
  return avg_pool_nd<1>(input, kernel, stride, padding, ceil_mode, count_include_pad, std::nullopt);
}
template <int kDims>
Tensor adaptive_avg_pool_nd(const Tensor& input, IntArrayRef output_size) {
  check_kernel<kDims>("adaptive_avg_pool", output_size);
  return torch::adaptive_avg_pool(input, spread(output_size, kDims));
}
template <int kDims>
std::tuple<Tensor, Tensor> adaptive_max_pool_nd(const Tensor& input, IntArrayRef output_size) {
  check_kernel<kDims>("adaptive_max_pool", output_size);
  auto [values, indices] = torch::adaptive_max_pool(input, spread(output_size, kDims));
  return {values, in_order_of(values, indices)};
}
}  // namespace

void register_unpooling();  // unpooling.cpp
void register_resample();   // resample.cpp

void register_pooling() {
  set_native<op::max_pool>(keeping_format<max_pool_kernel>);
  set_native<op::max_pool_backward>(keeping_format<max_pool_backward_kernel>);
  set_native<op::max_pool_gather>(max_pool_gather_kernel);
  set_native<op::max_pool_indices>(max_pool_indices_kernel);
  set_native<op::avg_pool>(keeping_format<avg_pool_kernel>);
  set_native<op::avg_pool_backward>(keeping_format<avg_pool_backward_kernel>);
  set_native<op::adaptive_avg_pool>(keeping_format<adaptive_avg_pool_kernel>);
  set_native<op::adaptive_avg_pool_backward>(keeping_format<adaptive_avg_pool_backward_kernel>);
  set_native<op::adaptive_max_pool>(keeping_format<adaptive_max_pool_kernel>);
  set_composite<op::max_pool1d>(max_pool_nd<1>);
  set_composite<op::max_pool2d>(max_pool_nd<2>);
  set_composite<op::max_pool3d>(max_pool_nd<3>);
  set_composite<op::max_pool1d_with_indices>(max_pool_nd_with_indices<1>);
  set_composite<op::max_pool2d_with_indices>(max_pool_nd_with_indices<2>);
  set_composite<op::max_pool3d_with_indices>(max_pool_nd_with_indices<3>);
  set_composite<op::avg_pool1d>(avg_pool_1d);
  set_composite<op::avg_pool2d>(avg_pool_nd<2>);
  set_composite<op::avg_pool3d>(avg_pool_nd<3>);
  set_composite<op::adaptive_avg_pool1d>(adaptive_avg_pool_nd<1>);
  set_composite<op::adaptive_avg_pool2d>(adaptive_avg_pool_nd<2>);
  set_composite<op::adaptive_avg_pool3d>(adaptive_avg_pool_nd<3>);
  set_composite<op::adaptive_max_pool1d>(adaptive_max_pool_nd<1>);
  set_composite<op::adaptive_max_pool2d>(adaptive_max_pool_nd<2>);
  set_composite<op::adaptive_max_pool3d>(adaptive_max_pool_nd<3>);
  register_unpooling();
  register_resample();
}

}  // namespace torch
