// The convolution operators: checks, result shapes, dtypes; the work is done by conv/shape.h on dense planes.
#include "torch/core/ops/conv.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "dispatch/register.h"
#include "dispatch/work.h"
#include "ops/conv/shape.h"
#include "ops/conv/whole.h"
#include "ops/format.h"
#include "ops/planes.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch {
namespace {

constexpr int64_t kLargest = (int64_t(1) << 31) - 1;  // of a spatial size with its padding: kernels count in int

// The arguments of a convolution, checked against each other, in the form of the engine.
struct Geometry {
  std::string op;  // as the user called it
  int64_t dims;
  bool batched, transposed;
  ConvShape shape;                    // of a transposed convolution: of the convolution that it is the gradient of
  std::vector<int64_t> result;        // sizes of the output
  int64_t in_channels, out_channels;  // as the user sees them

  Geometry(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
           IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups);

 private:
  void expand(const char* what, IntArrayRef given, int64_t least, int64_t (&to)[3], int64_t rest) const;
};

// One entry stands for all spatial dims. Leading, absent dims get `rest`.
void Geometry::expand(const char* what, IntArrayRef given, int64_t least, int64_t (&to)[3], int64_t rest) const {
  TORCH_CHECK(int64_t(given.size()) == dims || given.size() == 1, op, ": ", what, " must be one int or ", dims,
              ", got ", given);
  std::fill_n(to, 3, rest);
  for (int64_t i = 0; i < dims; i++) {
    const int64_t value = given[given.size() == 1 ? 0 : size_t(i)];
    TORCH_CHECK(value >= least, op, ": ", what, " must be ", least ? "positive" : "non-negative", ", got ", given);
    TORCH_CHECK(value <= kLargest, op, ": ", what, " ", given, " is too large");
    to[3 - dims + i] = value;
  }
}

Geometry::Geometry(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool is_transposed, IntArrayRef output_padding,
                   int64_t groups)
    : dims(weight.dim() - 2), transposed(is_transposed) {
  op = dims >= 1 && dims <= 3 ? (transposed ? "conv_transpose" : "conv") + std::to_string(dims) + "d" : "convolution";
  TORCH_CHECK(dims >= 1 && dims <= 3, op, ": weight must have 3, 4 or 5 dims (one to three spatial ones), got ",
              weight.sizes());
  TORCH_CHECK(input.dim() == dims + 2 || input.dim() == dims + 1, op, ": expected input of ", dims + 2, " dims, or ",
              dims + 1, " without batch, to go with weight ", weight.sizes(), ", got ", input.sizes());
  TORCH_CHECK(input.dtype() == weight.dtype(), op, ": input is ", name(input.dtype()), " but weight is ",
              name(weight.dtype()), "; convert one of them, for instance by input.to(weight.dtype)");
  TORCH_CHECK(!bias || bias.dtype() == weight.dtype(), op, ": weight is ", name(weight.dtype()), " but bias is ",
              name(bias.dtype()), "; convert one of them, for instance by bias.to(weight.dtype)");
  TORCH_CHECK(groups > 0, op, ": groups must be positive, got ", groups);
  batched = input.dim() == dims + 2;
  in_channels = input.size(batched ? 1 : 0);
  const int64_t outer = weight.size(0), inner = weight.size(1);
  TORCH_CHECK(outer % groups == 0, op, ": groups=", groups, " does not divide the first dim of weight ",
              weight.sizes());
  TORCH_CHECK(outer > 0 && inner <= kLargest / groups, op, ": weight ", weight.sizes(), " has no ",
              transposed ? "input" : "output", " channels, or too many of them");
  const int64_t expected = transposed ? outer : inner * groups;
  const bool channels_are_last = batched && input.size(-1) == expected;
  TORCH_CHECK(in_channels == expected, op, ": weight ", weight.sizes(), " expects ", expected, " input channels",
              groups > 1 ? " with groups=" + std::to_string(groups) : std::string(), ", input ", input.sizes(), " has ",
              in_channels, channels_are_last ? "; channels are dim 1: input.movedim(-1, 1) puts them there" : "");
  out_channels = transposed ? inner * groups : outer;
  TORCH_CHECK(!bias || (bias.dim() == 1 && bias.size(0) == out_channels), op, ": weight ", weight.sizes(),
              " needs a bias of shape (", out_channels, ",), got ", bias.sizes());

  int64_t extra[3], high[3];
  std::fill_n(shape.kernel, 3, 1);
  expand("stride", stride, 1, shape.stride, 1);
  const bool uneven = int64_t(padding.size()) == 2 * dims;  // of the low sides, then of the high sides
  expand("padding", uneven ? padding.slice(0, size_t(dims)) : padding, 0, shape.padding, 0);
  expand("padding", uneven ? padding.slice(size_t(dims), size_t(dims)) : padding, 0, high, 0);
  expand("dilation", dilation, 1, shape.dilation, 1);
  expand("output_padding", output_padding, 0, extra, 0);
  int64_t from[3] = {1, 1, 1}, to[3] = {1, 1, 1};
  for (int64_t i = 0; i < dims; i++) {
    const int64_t k = 3 - dims + i;
    from[k] = input.size(input.dim() - dims + i);
    shape.kernel[k] = weight.size(2 + i);
    TORCH_CHECK(shape.kernel[k] > 0, op, ": weight ", weight.sizes(), " has an empty kernel");
    // The kernel's extent; products stay below 2^62.
    TORCH_CHECK(shape.kernel[k] <= kLargest && from[k] <= kLargest, op, ": input ", input.sizes(), " or weight ",
                weight.sizes(), " is too large");
    const int64_t reach = (shape.kernel[k] - 1) * shape.dilation[k] + 1, pad = shape.padding[k] + high[k],
                  padded = from[k] + pad;
    TORCH_CHECK(reach <= kLargest && padded <= kLargest, op, ": kernel ", weight.sizes().slice(2, size_t(dims)),
                " with dilation ", dilation, ", or input ", input.sizes(), " with padding ", padding, ", is too large");
    if (transposed) {
      TORCH_CHECK(extra[k] < std::max(shape.stride[k], shape.dilation[k]), op, ": output_padding ", output_padding,
                  " must be smaller than stride ", stride, " or dilation ", dilation);
      to[k] = (from[k] - 1) * shape.stride[k] - pad + reach + extra[k];
      TORCH_CHECK(to[k] > 0 || (to[k] == 0 && from[k] > 0), op, ": input ", input.sizes(), " with kernel ",
                  weight.sizes().slice(2, size_t(dims)), ", stride ", stride, " and padding ", padding,
                  " gives an output of size ", to[k]);
    } else {
      TORCH_CHECK(padded >= reach, op, ": kernel ", weight.sizes().slice(2, size_t(dims)), " with dilation ", dilation,
                  " is larger than input ", input.sizes(), " with padding ", padding);
      to[k] = (padded - reach) / shape.stride[k] + 1;
    }
    TORCH_CHECK(to[k] <= kLargest, op, ": input ", input.sizes(), " with padding ", padding, " is too large");
  }
  shape.n = batched ? input.size(0) : 1;
  shape.groups = groups;
  shape.c = transposed ? out_channels : in_channels;
  shape.o = transposed ? in_channels : out_channels;
  std::copy_n(transposed ? to : from, 3, shape.in);
  std::copy_n(transposed ? from : to, 3, shape.out);
  if (batched) result.push_back(shape.n);
  result.push_back(out_channels);
  result.insert(result.end(), to + 3 - dims, to + 3);
}

// How the images and the weights of a call are to lie, noted in its shape.
template <class T>
void choose_formats(Geometry& g, const Tensor& image, const Tensor& weight, const ConvWork<T>& kernels) {
  const int64_t n = int64_t(g.result.size());
  const bool last = orders_channels_last(image, n) || orders_channels_last(weight, n);
  g.shape.channels_last = last && kernels.prefers_channels_last && kernels.prefers_channels_last(g.shape);
  g.shape.channels_last_weights =
      g.shape.channels_last ||
      (kernels.takes_channels_last_weights && has_channels_last(weight) && weight.size(1) * g.shape.taps() <= kLargest);
}

double largest(const Tensor& t) {
  if (!t || t.numel() == 0) return 0;
  const auto [low, high] = aminmax(t, std::nullopt, false);
  return std::max(std::abs(number_of(low).to_double()), std::abs(number_of(high).to_double()));
}
// Integers whose sums may need more digits than a double has, or than it gives when it becomes one of fewer bytes.
bool are_too_large_for_double(const Geometry& g, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  if (!is_integral(input.dtype())) return false;
  const double limit = input.item_size() == 8 ? 0x1p53 : 0x1p31;
  const double terms = double(g.shape.taps()) * double(g.in_channels) / double(g.shape.groups);
  const double most = std::ldexp(1.0, int(8 * input.item_size()));  // of bytes a sum is small enough, whatever they are
  if (most * most * terms + most < limit) return false;
  return largest(input) * largest(weight) * terms + largest(bias) >= limit;
}

Tensor whole_convolution_of(const Geometry& g, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const ConvShape& s = g.shape;
  const int64_t* const from = g.transposed ? s.out : s.in;
  const Tensor x = reshape(input, {s.n, g.in_channels, from[0], from[1], from[2]});
  const Tensor w = reshape(weight, {weight.size(0), weight.size(1), s.taps()});
  const Tensor y = g.transposed ? whole_convolution_transposed(s, x, w) : whole_convolution(s, x, w);
  return reshape(bias ? add(y, reshape(bias, {g.out_channels, 1, 1, 1})) : y, g.result);
}

// Computed in float or double; integers too, where that is exact.
Tensor convolution_of(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                      IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                      int64_t groups) {
  Geometry g(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
  const DType compute = compute_type(g.op, input.dtype(), DType::Float64);
  if (input.is_meta()) return empty_tensor(g.result, input.dtype(), input.device());
  if (are_too_large_for_double(g, input, weight, bias)) return whole_convolution_of(g, input, weight, bias);
  const Tensor b = dense(bias, compute);
  Tensor out;
  with_type(compute, [&](auto zero) {
    using T = decltype(zero);
    const T* bias_data = b ? b.data<T>() : nullptr;
    const ConvWork<T>& kernels = *work<ConvWork<T>>.on(input);
    choose_formats(g, input, weight, kernels);
    const Tensor x = in_format(input, compute, g.shape.channels_last),
                 w = in_format(weight, compute, g.shape.channels_last_weights);
    out = empty_in_format(g.result, compute, input.device(), g.shape.channels_last);
    if (transposed)
      kernels.backward_data(g.shape, x.data<T>(), w.data<T>(), bias_data, out.data<T>());
    else
      kernels.forward(g.shape, x.data<T>(), w.data<T>(), bias_data, out.data<T>());
  });
  return to_dtype(out, input.dtype());
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward_of(const Tensor& grad_output, const Tensor& input,
                                                           const Tensor& weight, IntArrayRef stride,
                                                           IntArrayRef padding, IntArrayRef dilation, bool transposed,
                                                           IntArrayRef output_padding, int64_t groups, bool for_input,
                                                           bool for_weight, bool for_bias) {
  Geometry g(input, weight, Tensor(), stride, padding, dilation, transposed, output_padding, groups);
  TORCH_CHECK(grad_output.sizes() == IntArrayRef(g.result), g.op, "_backward: grad_output ", grad_output.sizes(),
              " must have the shape of the output, ", IntArrayRef(g.result));
  TORCH_CHECK(grad_output.dtype() == input.dtype(), g.op, "_backward: grad_output is ", name(grad_output.dtype()),
              " but input is ", name(input.dtype()));
  const DType compute = compute_type(g.op, input.dtype(), DType::Float64);
  Tensor dx, dw, db;
  if (input.is_meta()) {
    if (for_input) dx = empty_tensor(input.sizes(), input.dtype(), input.device());
    if (for_weight) dw = empty_tensor(weight.sizes(), input.dtype(), input.device());
    if (for_bias) db = empty_tensor({g.out_channels}, input.dtype(), input.device());
    return {dx, dw, db};
  }
  with_type(compute, [&](auto zero) {
    using T = decltype(zero);
    const ConvWork<T>& kernels = *work<ConvWork<T>>.on(input);
    choose_formats(g, grad_output, weight, kernels);
    const bool last = g.shape.channels_last;
    const Tensor dy = in_format(grad_output, compute, last);
    if (for_input) {
      const Tensor w = in_format(weight, compute, g.shape.channels_last_weights);
      dx = empty_in_format(input.sizes(), compute, input.device(), last);
      if (transposed)
        kernels.forward(g.shape, dy.data<T>(), w.data<T>(), nullptr, dx.data<T>());
      else
        kernels.backward_data(g.shape, dy.data<T>(), w.data<T>(), nullptr, dx.data<T>());
    }
    if (for_weight) {
      const Tensor x = in_format(input, compute, last);
      dw = empty_in_format(weight.sizes(), compute, input.device(), last);
      // Of a transposed convolution the input plays the part of the output's gradient.
      if (transposed)
        kernels.backward_weights(g.shape, dy.data<T>(), x.data<T>(), dw.data<T>());
      else
        kernels.backward_weights(g.shape, x.data<T>(), dy.data<T>(), dw.data<T>());
    }
    if (for_bias) {
      const int64_t plane = transposed ? g.shape.in_plane() : g.shape.out_plane();
      db = empty_tensor({g.out_channels}, compute, input.device());
      if (last)
        kernels.backward_bias_last(g.shape.n * plane, g.out_channels, dy.data<T>(), db.data<T>());
      else
        kernels.backward_bias(g.shape.n, g.out_channels, plane, dy.data<T>(), db.data<T>());
    }
  });
  return {to_dtype(dx, input.dtype()), to_dtype(dw, input.dtype()), to_dtype(db, input.dtype())};
}

// --- the public forms ---

// (a + bi)(u + vi) of complex operands is four real convolutions.
Tensor convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
                IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups) {
  auto real_ones = [&](const Tensor& x, const Tensor& w) {
    return torch::convolution(x, w, Tensor(), stride, padding, dilation, transposed, output_padding, groups);
  };
  if (!is_complex(input.dtype()) || input.dtype() != weight.dtype())
    return torch::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
  TORCH_CHECK(!bias || (bias.dtype() == input.dtype() && bias.dim() == 1),
              "convolution: bias must be one number for each output channel, of ", input.dtype(), ", got ", bias);
  const Tensor a = real(input), b = imag(input), u = real(weight), v = imag(weight);
  Tensor out = torch::complex(sub(real_ones(a, u), real_ones(b, v)), add(real_ones(a, v), real_ones(b, u)));
  if (!bias) return out;
  std::vector<int64_t> along(size_t(weight.dim() - 1), 1);
  along[0] = bias.size(0);
  return add(out, reshape(bias, along));
}

// What distinguishes conv2d from conv1d: the number of spatial dims its operands must have.
template <int kDims>
void check_dims(const char* op, const Tensor& input, const Tensor& weight) {
  TORCH_CHECK(weight.dim() == kDims + 2, op, kDims, "d: expected weight of ", kDims + 2, " dims, got ", weight.sizes());
  TORCH_CHECK(input.dim() == kDims + 2 || input.dim() == kDims + 1, op, kDims, "d: expected input of ", kDims + 2,
              " dims, or ", kDims + 1, " without batch, got ", input.sizes());
}

template <int kDims>
Tensor conv(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
            IntArrayRef dilation, int64_t groups) {
  check_dims<kDims>("conv", input, weight);
  return convolve(input, weight, bias, stride, padding, dilation, false, {0}, groups);
}

template <int kDims>
Tensor conv_transpose(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                      IntArrayRef padding, IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  check_dims<kDims>("conv_transpose", input, weight);
  return convolve(input, weight, bias, stride, padding, dilation, true, output_padding, groups);
}

template <int kDims>
Tensor conv_padding(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                    std::string_view padding, IntArrayRef dilation, int64_t groups) {
  check_dims<kDims>("conv", input, weight);
  TORCH_CHECK(padding == "same" || padding == "valid", "conv", kDims,
              "d: padding must be 'same', 'valid' or ints, got '", padding, "'");
  if (padding == "valid") return convolve(input, weight, bias, stride, {0}, dilation, false, {0}, groups);
  for (int64_t s : stride)
    TORCH_CHECK(s == 1, "conv", kDims, "d: padding='same' is not supported for strided convolutions, got stride ",
                stride);
  std::vector<int64_t> pad(2 * kDims);  // low sides, then high sides: an even kernel needs one more there
  for (size_t i = 0; i < kDims; i++) {
    TORCH_CHECK(dilation.size() == 1 || dilation.size() == kDims, "conv", kDims, "d: dilation must be one int or ",
                kDims, ", got ", dilation);
    const int64_t step = dilation[dilation.size() == 1 ? 0 : i], size = weight.size(2 + int(i));
    TORCH_CHECK(step > 0 && size > 0 && step <= kLargest && size <= kLargest, "conv", kDims,
                "d: dilation must be positive, got ", dilation, " for weight ", weight.sizes());
    pad[i] = step * (size - 1) / 2;
    pad[kDims + i] = step * (size - 1) - pad[i];
  }
  return convolve(input, weight, bias, stride, pad, dilation, false, {0}, groups);
}

Tensor conv_tbc_all(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t pad) {
  TORCH_CHECK(input.dim() == 3 && weight.dim() == 3,
              "conv_tbc: expected input (time, batch, channels) and weight (K, C, O), got ", input.sizes(), " and ",
              weight.sizes());
  const Tensor y = torch::conv1d(torch::permute(input, {1, 2, 0}), torch::permute(weight, {2, 1, 0}), bias, {1}, {pad});
  return torch::permute(y, {2, 0, 1});
}

}  // namespace

void register_conv() {
  set_native<op::convolution>(keeping_format<convolution_of>);
  set_native<op::convolution_backward>(keeping_format<convolution_backward_of>);
  set_composite<op::conv1d>(conv<1>);
  set_composite<op::conv2d>(conv<2>);
  set_composite<op::conv3d>(conv<3>);
  set_composite<op::conv1d_padding>(conv_padding<1>);
  set_composite<op::conv2d_padding>(conv_padding<2>);
  set_composite<op::conv3d_padding>(conv_padding<3>);
  set_composite<op::conv_tbc>(conv_tbc_all);
  set_composite<op::conv_transpose1d>(conv_transpose<1>);
  set_composite<op::conv_transpose2d>(conv_transpose<2>);
  set_composite<op::conv_transpose3d>(conv_transpose<3>);
}

}  // namespace torch
