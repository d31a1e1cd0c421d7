// Resizing and windows of images, which are functions of Python in torch.nn, for archives: composed of the same
// operators in the same order.
#include <cmath>

#include "primitives.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/pooling.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::program {

namespace {

using T = const Tensor&;
using Ints = std::vector<int64_t>;

// --- windows ---

// What kernel_size, dilation, padding and stride are, two of each.
struct Windows {
  const char* op;
  Ints kernel, dilation, padding, stride;

  Windows(const char* op, const Cell& k, const Cell& d, const Cell& p, const Cell& s)
      : op(op), kernel(k.to_ints()), dilation(d.to_ints()), padding(p.to_ints()), stride(s.to_ints()) {
    check("kernel_size", kernel, 1);
    check("dilation", dilation, 1);
    check("stride", stride, 1);
    check("padding", padding, 0);
  }
  void check(const char* name, const Ints& values, int64_t least) const {
    TORCH_CHECK(values.size() == 2, op, ": ", name, " must have 2 entries, got ", IntArrayRef(values));
    for (int64_t v : values) {
      TORCH_CHECK(least == 0 || v >= least, op, ": ", name, " must be at least ", least, ", got ", IntArrayRef(values));
      TORCH_CHECK(v >= least, op, ": ", name, " must not be negative, got ", IntArrayRef(values));
      TORCH_CHECK(v < int64_t(1) << 31, op, ": ", name, " is too large: ", IntArrayRef(values));
    }
  }
  // How many positions the window takes along each dim.
  Ints blocks(IntArrayRef size) const {
    Ints out;
    for (size_t i = 0; i < 2; ++i) {
      const int64_t room = size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
      TORCH_CHECK(room >= 0, op, ": the window (kernel_size ", IntArrayRef(kernel), ", dilation ",
                  IntArrayRef(dilation), ") is larger than the padded image ", size);
      out.push_back(room / stride[i] + 1);
    }
    return out;
  }
};

Tensor im2col(T input, const Windows& w) {
  TORCH_CHECK(input.dim() == 3 || input.dim() == 4, "unfold: input must be (N, C, H, W) or (C, H, W), got shape ",
              input.sizes());
  if (input.dim() == 3) return torch::squeeze(im2col(torch::unsqueeze(input, 0), w), Ints{0});
  const Ints blocks = w.blocks({input.sizes().begin() + 2, 2});
  Tensor x = input;
  if (w.padding[0] || w.padding[1])
    x = torch::constant_pad_nd(x, {w.padding[1], w.padding[1], w.padding[0], w.padding[0]}, 0);
  for (size_t i = 0; i < 2; ++i)  // (N, C, bh, bw, kh, kw)
    x = torch::unfold(x, int64_t(i) + 2, w.dilation[i] * (w.kernel[i] - 1) + 1, w.stride[i]);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t d = int64_t(i) + 4;
    x = torch::slice(x, d, 0, x.size(d), w.dilation[i]);
  }
  return torch::reshape(torch::permute(x, {0, 1, 4, 5, 2, 3}),
                        {x.size(0), x.size(1) * w.kernel[0] * w.kernel[1], blocks[0] * blocks[1]});
}

Tensor col2im(T input, const Ints& size, const Windows& w) {
  TORCH_CHECK(input.dim() == 2 || input.dim() == 3,
              "fold: input must be (N, C * kh * kw, L) or (C * kh * kw, L), got shape ", input.sizes());
  if (input.dim() == 2) return torch::squeeze(col2im(torch::unsqueeze(input, 0), size, w), Ints{0});
  TORCH_CHECK(
      size.size() == 2 && size[0] > 0 && size[1] > 0 && size[0] < int64_t(1) << 31 && size[1] < int64_t(1) << 31,
      "fold: output_size must be 2 positive numbers, got ", IntArrayRef(size));
  const Ints blocks = w.blocks(size), &k = w.kernel;
  const int64_t n = input.size(0), rows = input.size(1), columns = input.size(2);
  TORCH_CHECK(rows % (k[0] * k[1]) == 0, "fold: dim 1 of input is ", rows, ", which kernel_size ", IntArrayRef(k),
              " does not divide");
  TORCH_CHECK(columns == blocks[0] * blocks[1], "fold: input has ", columns, " windows, but output_size ",
              IntArrayRef(size), " with kernel_size ", IntArrayRef(k), ", dilation ", IntArrayRef(w.dilation),
              ", padding ", IntArrayRef(w.padding), ", stride ", IntArrayRef(w.stride), " has ", blocks[0], " x ",
              blocks[1], " = ", blocks[0] * blocks[1]);
  const int64_t c = rows / (k[0] * k[1]);
  const Tensor windows = torch::reshape(input, {n, c, k[0], k[1], blocks[0], blocks[1]});
  const Tensor image = torch::new_zeros(input, {n, c, size[0] + 2 * w.padding[0], size[1] + 2 * w.padding[1]});
  for (int64_t i = 0; i < k[0]; ++i)
    for (int64_t j = 0; j < k[1]; ++j) {
      const int64_t top = i * w.dilation[0], left = j * w.dilation[1];
      const Tensor high = torch::slice(image, 2, top, top + w.stride[0] * (blocks[0] - 1) + 1, w.stride[0]);
      const Tensor part = torch::slice(high, 3, left, left + w.stride[1] * (blocks[1] - 1) + 1, w.stride[1]);
      torch::add_(part, torch::select(torch::select(windows, 2, i), 2, j));
    }
  return torch::narrow(torch::narrow(image, 2, w.padding[0], size[0]), 3, w.padding[1], size[1]);
}

// --- resizing ---

// Keys' cubic convolution kernel (1981, equation 15, with a for its -1/2).
double cubic(double t, double a) {
  t = std::fabs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((t - 5) * t + 8) * t * a - 4 * a : 0.0;
}

// How images are resized: what one kind of operator gives.
struct Resizing {
  const char* mode;
  int64_t dims;
  bool align_corners = false, antialias = false;
  bool is_nearest() const { return std::string_view(mode).starts_with("nearest"); }
  bool is_exact() const { return std::string_view(mode) == "nearest-exact"; }
  bool is_cubic() const { return std::string_view(mode) == "bicubic"; }
};

// The source place of each output, as PyTorch finds it in float.
Tensor nearest(int64_t size, int64_t out, const Cell& scale, bool is_exact) {
  const float step = float(scale.is_none() ? double(size) / double(out) : 1 / scale.to_double());
  Tensor places = empty_tensor({out}, DType::Int64);
  auto* to = places.data<int64_t>();
  for (int64_t i = 0; i < out; ++i) {
    const float place = (float(i) + (is_exact ? 0.5f : 0.0f)) * step;
    to[i] = std::min(int64_t(std::floor(place)), size - 1);
  }
  return places;
}

// The source places and their weights, both (taps, out), as resample takes them.
struct Table {
  int64_t taps, out;
  Tensor indices = empty_tensor({taps, out}, DType::Int64), weights = empty_tensor({taps, out}, DType::Float64);
  void set(int64_t tap, int64_t at, double place, int64_t size, double weight) {
    indices.data<int64_t>()[tap * out + at] = int64_t(std::min(std::max(place, 0.0), double(size - 1)));
    weights.data<double>()[tap * out + at] = weight;
  }
};

Table neighbours(const Resizing& how, int64_t size, int64_t out, double step) {
  const int64_t taps = how.is_cubic() ? 4 : 2, before = how.is_cubic() ? 1 : 0;
  Table t{taps, out};
  for (int64_t i = 0; i < out; ++i) {
    double centre = how.align_corners ? double(i) * step : (double(i) + 0.5) * step - 0.5;
    if (!how.is_cubic()) centre = std::max(centre, 0.0);
    const double first = std::floor(centre), part = centre - first;
    for (int64_t k = 0; k < taps; ++k)
      t.set(k, i, first + double(k - before), size,
            how.is_cubic() ? cubic(part - double(k - before), -0.75)
            : k            ? part
                           : 1 - part);
  }
  return t;
}

// With antialias the kernel is stretched over the window that shrinks to one output, and its sum made 1.
Table windows(const Resizing& how, int64_t size, int64_t out, double step) {
  const double stretch = std::max(step, 1.0), reach = (how.is_cubic() ? 2 : 1) * stretch;
  Table t{2 * int64_t(std::ceil(reach)) + 1, out};
  for (int64_t i = 0; i < out; ++i) {
    const double centre = step * (double(i) + 0.5);
    const auto low = double(std::max(int64_t(centre - reach + 0.5), int64_t(0)));
    const auto high = double(std::min(int64_t(centre + reach + 0.5), size));
    double total = 0;
    for (int64_t k = 0; k < t.taps; ++k) {
      const double at = low + double(k), distance = (at - centre + 0.5) / stretch;
      const double weight = how.is_cubic() ? cubic(distance, -0.5) : std::max(1 - std::fabs(distance), 0.0);
      t.set(k, i, at, size, at < high ? weight : 0.0);
      total += at < high ? weight : 0.0;
    }
    for (int64_t k = 0; k < t.taps; ++k) t.weights.data<double>()[k * out + i] /= total;
  }
  return t;
}

Table table(const Resizing& how, int64_t size, int64_t out, const Cell& scale, bool image) {
  const double step = how.align_corners ? (out > 1 ? double(size - 1) / double(out - 1) : 0.0)
                      : scale.is_none() ? double(size) / double(out)
                                        : 1 / scale.to_double();
  const Table t = how.antialias ? windows(how, size, out, step) : neighbours(how, size, out, step);
  if (!image) return t;
  // The 16-bit fixed-point numbers that Pillow and PyTorch use, so that ties round alike.
  double* const weights = t.weights.data<double>();
  const int64_t count = t.taps * out;
  const double largest = std::max(*std::max_element(weights, weights + count), 0.0);
  double unit = 2;
  while (unit < 1 << 22 && largest * unit * 2 + 0.5 < 1 << 15) unit *= 2;
  for (int64_t i = 0; i < count; ++i) weights[i] = std::nearbyint(weights[i] * unit) / unit;
  return t;
}

// Images whose channels lie last stay so; the choice of nearest places makes rows.
Tensor in_format(T x, T input) {
  if (input.dim() == 3 || input.is_contiguous()) return x;
  const MemoryFormat form = input.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
  return torch::contiguous(input, form) == input ? torch::contiguous(x, form) : x;
}

Tensor resize(const Resizing& how, T input, const Cell& size, const Cell& scales) {
  const int64_t n = how.dims;
  TORCH_CHECK_IMPLEMENTED(input.dim() == n + 2, "interpolate: mode '", how.mode, "' is for ", n + 2, " dims, got ",
                          input.sizes());
  if (size.is_none() && scales.is_none()) raise_error("ValueError", "interpolate: give either size or scale_factor");
  const Cell& given = size.is_none() ? scales : size;
  if (int64_t(given.items().size()) != n)
    raise_error("ValueError", message("interpolate: ", size.is_none() ? "scale_factor" : "size", " must have ", n,
                                      " entries for input ", input.sizes(), ", got ", given.repr()));
  Ints sizes;
  bool positive = true;
  for (int64_t i = 0; i < n; ++i) {
    const Cell& each = given.items()[size_t(i)];
    const double wide =
        size.is_none() ? std::floor(double(input.size(i + 2)) * each.to_double()) : double(each.to_int());
    TORCH_CHECK(wide < 0x1p31, "interpolate: an output size of ", wide, " is too large");
    sizes.push_back(wide > 0 ? int64_t(wide) : 0);
    positive &= sizes.back() > 0 && input.size(i + 2) > 0;
  }
  TORCH_CHECK(positive, "interpolate: input and output sizes must be positive, got ",
              IntArrayRef(input.sizes().begin() + 2, size_t(n)), ", ", IntArrayRef(sizes));
  const DType dtype = input.dtype();
  const bool image = dtype == DType::UInt8 && !how.is_nearest();
  Tensor x = is_reduced_floating(dtype) && !how.is_nearest() ? torch::_to_copy(input, DType::Float32) : input;
  for (int64_t i = n; i-- > 0;) {
    const Cell scale = scales.is_none() ? Cell() : scales.items()[size_t(i)];
    const int64_t have = x.size(i + 2), out = sizes[size_t(i)];
    const auto here = [&](T t) { return x.device().type == DeviceType::CPU ? t : torch::_to_copy(t, {}, x.device()); };
    if (how.is_nearest()) {
      x = torch::index_select(x, i + 2, here(nearest(have, out, scale, how.is_exact())));
      continue;
    }
    const Table t = table(how, have, out, scale, image);
    const bool floating = x.dtype() == DType::Float32 || x.dtype() == DType::Float64;
    x = torch::resample(floating ? x : torch::_to_copy(x, DType::Float32), i + 2, here(t.indices), here(t.weights));
    if (image)  // it stays one after each pass
      x = torch::clamp(torch::floor(torch::add(x, scalar_tensor_of(0.5, DType::Float64, true))), 0, 255);
  }
  return in_format(x.dtype() == dtype ? x : torch::_to_copy(x, dtype), input);
}

// The scale of each dim as a list: one by one they are None where sizes alone say it.
Cell listed(std::initializer_list<Cell> scales) {
  for (const Cell& each : scales)
    if (each.is_none()) return {};
  return Cell::list(scales, float_type());
}

}  // namespace

void register_images() {
  prim([](T x, const Cell& k, const Cell& d, const Cell& p,
          const Cell& s) { return im2col(x, Windows("unfold", k, d, p, s)); },
       "torch::im2col(Tensor input, int[] kernel_size, int[] dilation, int[] padding, int[] stride) -> Tensor");
  prim([](T x, const Cell& size, const Cell& k, const Cell& d, const Cell& p,
          const Cell& s) { return col2im(x, size.to_ints(), Windows("fold", k, d, p, s)); },
       "torch::col2im(Tensor input, int[] output_size, int[] kernel_size, int[] dilation, int[] padding, int[] stride)"
       " -> Tensor");
// As a list of scales, and one by one; under torch:: in archives of 0.1.0.
#define SCALES1 "float? scales=None"
#define SCALES2 "float? scales_h=None, float? scales_w=None"
#define SCALES3 "float? scales_d=None, float? scales_h=None, float? scales_w=None"
#define CELLS1 const Cell& a
#define CELLS2 const Cell &a, const Cell &b
#define CELLS3 const Cell &a, const Cell &b, const Cell &c
#define LISTED1 listed({a})
#define LISTED2 listed({a, b})
#define LISTED3 listed({a, b, c})
#define NEAREST(NAME, MODE, N)                                                                       \
  prim([](T x, const Cell& size, const Cell& scales) { return resize({MODE, N}, x, size, scales); }, \
       "aten::" NAME ".vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor");    \
  prim([](T x, const Cell& size, CELLS##N) { return resize({MODE, N}, x, size, LISTED##N); },        \
       "aten::" NAME "(Tensor self, int[" #N "] output_size, " SCALES##N ") -> Tensor")
#define CORNERS(NAME, MODE, N, ANTIALIAS)                                                                             \
  prim([](T x, const Cell& size, bool corners,                                                                        \
          const Cell& scales) { return resize({MODE, N, corners, ANTIALIAS}, x, size, scales); },                     \
       "aten::" NAME ".vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"); \
  prim([](T x, const Cell& size, bool corners,                                                                        \
          CELLS##N) { return resize({MODE, N, corners, ANTIALIAS}, x, size, LISTED##N); },                            \
       "aten::" NAME "(Tensor self, int[" #N "] output_size, bool align_corners, " SCALES##N ") -> Tensor")
#define KEPT(NAME, MODE, N)                                                            \
  prim([](T x, const Cell& size, bool corners,                                         \
          const Cell& scales) { return resize({MODE, N, corners}, x, size, scales); }, \
       "torch::" NAME "(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor")
  NEAREST("upsample_nearest1d", "nearest", 1);
  NEAREST("upsample_nearest2d", "nearest", 2);
  NEAREST("upsample_nearest3d", "nearest", 3);
  NEAREST("_upsample_nearest_exact1d", "nearest-exact", 1);
  NEAREST("_upsample_nearest_exact2d", "nearest-exact", 2);
  NEAREST("_upsample_nearest_exact3d", "nearest-exact", 3);
  CORNERS("upsample_linear1d", "linear", 1, false);
  CORNERS("upsample_bilinear2d", "bilinear", 2, false);
  CORNERS("upsample_bicubic2d", "bicubic", 2, false);
  CORNERS("upsample_trilinear3d", "trilinear", 3, false);
  CORNERS("_upsample_bilinear2d_aa", "bilinear", 2, true);
  CORNERS("_upsample_bicubic2d_aa", "bicubic", 2, true);
  KEPT("upsample_linear1d", "linear", 1);
  KEPT("upsample_bilinear2d", "bilinear", 2);
  KEPT("upsample_bicubic2d", "bicubic", 2);
  KEPT("upsample_trilinear3d", "trilinear", 3);
#undef KEPT
#undef CORNERS
#undef NEAREST
}

}  // namespace torch::program
