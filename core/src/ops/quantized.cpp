// Operators on bytes with a scale and a zero point: checks and shapes; src/cpu/int8*.cpp does the work.
#include "torch/core/ops/quantized.h"

#include <cmath>

#include "cpu/int8_kernels.h"
#include "dispatch/register.h"
#include "dispatch/work.h"
#include "iterate/dense.h"
#include "ops/format.h"
#include "ops/int8_linear.h"
#include "ops/narrow_linear.h"

namespace torch {

namespace {

constexpr int64_t kMostProducts = (int64_t{1} << 16) - 1;  // whose sum 32 bits hold

void check_bytes(const char* op, const char* what, const Tensor& t) {
  TORCH_CHECK(t.dtype() == DType::UInt8 || t.dtype() == DType::Int8, op, ": ", what,
              " must be torch.uint8 or torch.int8, got ", t.dtype());
}
void check_scale(const char* op, const char* what, double scale) {
  TORCH_CHECK(scale > 0 && std::isfinite(scale), op, ": ", what, " must be positive and finite, got ", scale);
}

// What is added to bytes of this dtype to make them uint8, and the bit that does so.
int shift_of(DType dtype) { return dtype == DType::Int8 ? 128 : 0; }
uint8_t flip_of(DType dtype) { return dtype == DType::Int8 ? 0x80 : 0; }

// A zero point, as one of uint8.
int32_t zero_of(const char* op, const char* what, int64_t zero, DType dtype) {
  const int64_t least = -shift_of(dtype);
  TORCH_CHECK(zero >= least && zero <= least + 255, op, ": ", what, " must lie between ", least, " and ", least + 255,
              " for ", dtype, ", got ", zero);
  return int32_t(zero + shift_of(dtype));
}

// Of this geometry, which is that of a fresh tensor: the tensor itself where it lies so already.
Tensor lying_like(const Tensor& like, const Tensor& t) {
  bool same = true;
  for (int64_t d = 0; d < t.dim(); ++d) same = same && (t.size(d) == 1 || t.stride(d) == like.stride(d));
  if (same) return t;
  Tensor fresh = empty_like_tensor(like, t.dtype());
  if (!fresh.is_meta()) copy_into(fresh, t);
  return fresh;
}

const uint8_t* bytes(const Tensor& t) { return static_cast<const uint8_t*>(t.data()); }
uint8_t* bytes(Tensor& t) { return static_cast<uint8_t*>(t.data()); }

Tensor quantize(const Tensor& input, double scale, int64_t zero_point, bool is_signed) {
  TORCH_CHECK(input.dtype() == DType::Float32, "_int8_quantize: input must be torch.float32, got ", input.dtype());
  check_scale("_int8_quantize", "scale", scale);
  const DType dtype = is_signed ? DType::Int8 : DType::UInt8;
  const int32_t zero = zero_of("_int8_quantize", "zero_point", zero_point, dtype);
  Tensor out = empty_like_tensor(input, dtype);
  const Tensor x = lying_like(out, input);
  if (const auto* kernels = work<Int8Kernels>.on(out); kernels && out.numel())
    kernels->quantize(x.data<float>(), out.numel(), float(scale), zero, flip_of(dtype), bytes(out));
  return out;
}

Tensor dequantize(const Tensor& input, double scale, int64_t zero_point) {
  check_bytes("_int8_dequantize", "input", input);
  const int32_t zero = zero_of("_int8_dequantize", "zero_point", zero_point, input.dtype());
  Tensor out = empty_like_tensor(input, DType::Float32);
  const Tensor x = lying_like(out, input);
  if (const auto* kernels = work<Int8Kernels>.on(out); kernels && out.numel())
    kernels->dequantize(bytes(x), out.numel(), float(scale), zero, flip_of(input.dtype()), out.data<float>());
  return out;
}

Tensor add(const Tensor& input, const Tensor& other, double scale, int64_t zero_point, double other_scale,
           int64_t other_zero_point, double out_scale, int64_t out_zero_point, bool relu) {
  const char* op = "_int8_add";
  check_bytes(op, "input", input);
  TORCH_CHECK(other.dtype() == input.dtype() && other.sizes() == input.sizes(), op, ": other must be ", input.dtype(),
              " of shape ", input.sizes(), " like input, got ", other.dtype(), " of shape ", other.sizes());
  check_scale(op, "scale", scale), check_scale(op, "other_scale", other_scale), check_scale(op, "out_scale", out_scale);
  const DType dtype = input.dtype();
  zero_of(op, "zero_point", zero_point, dtype), zero_of(op, "other_zero_point", other_zero_point, dtype);
  Int8Sum sum{input.numel(),
              nullptr,
              nullptr,
              float(scale),
              float(other_scale),
              1 / float(out_scale),
              -float(zero_point) * float(scale),
              -float(other_zero_point) * float(other_scale),
              zero_of(op, "out_zero_point", out_zero_point, dtype),
              relu,
              flip_of(dtype),
              nullptr};
  Tensor out = empty_like_tensor(input, dtype);
  const Tensor a = lying_like(out, input), b = lying_like(out, other);
  if (const auto* kernels = work<Int8Kernels>.on(out); kernels && out.numel()) {
    sum.a = bytes(a), sum.b = bytes(b), sum.y = bytes(out);
    kernels->sum(sum);
  }
  return out;
}

// The length of a packed weight, 0 where there is none.
int64_t packed_bytes(int64_t n, int64_t k, Device device) {
  const auto* kernels = work<Int8Kernels>.on(device);
  return kernels ? kernels->packed_bytes(n, k) : 0;
}

Tensor pack(const Tensor& weight) {
  TORCH_CHECK(weight.dtype() == DType::Int8 && weight.dim() >= 2,
              "_int8_pack: weight must be torch.int8 of shape (out, in) or (out, in, *kernel), got ", weight.dtype(),
              " of shape ", weight.sizes());
  const int64_t n = weight.size(0), k = n ? weight.numel() / n : 0, bytes_needed = packed_bytes(n, k, weight.device());
  if (!bytes_needed) return weight;
  Tensor out = empty_tensor({bytes_needed}, DType::UInt8, weight.device());
  const Tensor w = in_format(weight, DType::Int8, weight.dim() > 2);
  work<Int8Kernels>.on(out)->pack(w.data<int8_t>(), n, k, bytes(out));
  return out;
}

// What products and convolutions share: the weight's dtype, and a number for each of its rows.
void check_rows(const char* op, const Tensor& input, const Tensor& weight, const Tensor& scale, const Tensor& bias) {
  check_bytes(op, "input", input);
  TORCH_CHECK(weight.dtype() == DType::Int8, op, ": weight must be torch.int8, got ", weight.dtype());
  const int64_t rows = weight.size(0);
  TORCH_CHECK(scale.dtype() == DType::Float32 && scale.dim() == 1 && scale.size(0) == rows, op,
              ": scale must be torch.float32 with one number for each of ", rows, " rows, got ", scale.dtype(),
              " of shape ", scale.sizes());
  TORCH_CHECK(!bias || (bias.dtype() == DType::Float32 && bias.dim() == 1 && bias.size(0) == rows), op,
              ": bias must be torch.float32 with one number for each of ", rows, " rows");
  const int64_t products = rows ? weight.numel() / rows : 0;
  TORCH_CHECK(products <= kMostProducts, op, ": sums of 32 bits hold less than 65536 products, got ", products);
}

Tensor product(const Tensor& input, const Tensor& weight, const Tensor& scale, const Tensor& bias, int64_t zero_point,
               int64_t out_zero_point, bool relu) {
  const char* op = "_int8_dense";
  const bool packed = weight.dim() == 1 && weight.dtype() == DType::UInt8;
  TORCH_CHECK(packed || weight.dim() == 2, op, ": weight must have shape (out, in), got ", weight.sizes());
  TORCH_CHECK(input.dim() >= 1, op, ": input must have a dim, got ", input.sizes());
  if (packed) {
    check_bytes(op, "input", input);
    check_packed_weight(op, input, weight, scale, bias);
  } else {
    check_rows(op, input, weight, scale, bias);
    TORCH_CHECK(input.size(-1) == weight.size(1), op, ": last dim of input ", input.sizes(),
                " must equal last dim of weight ", weight.sizes());
  }
  const DType dtype = input.dtype();
  const int32_t zero = zero_of(op, "zero_point", zero_point, dtype),
                out_zero = zero_of(op, "out_zero_point", out_zero_point, dtype);
  const int64_t n = scale.size(0), k = input.size(-1);
  std::vector<int64_t> shape(input.sizes().begin(), input.sizes().end() - 1);
  shape.push_back(n);
  Tensor out = empty_tensor(shape, dtype, input.device());
  if (const auto* kernels = work<Int8Kernels>.on(out); kernels && out.numel()) {
    const Tensor x = as_contiguous(input, dtype), w = as_contiguous(weight, weight.dtype()),
                 s = as_contiguous(scale, DType::Float32), b = bias ? as_contiguous(bias, DType::Float32) : Tensor();
    Int8Linear p{.m = out.numel() / n,
                 .n = n,
                 .k = k,
                 .x = nullptr,
                 .weight = static_cast<const int8_t*>(w.data()),
                 .scale = nullptr,
                 .bias = nullptr,
                 .y = nullptr};
    p.bytes = bytes(x), p.zero = zero, p.out = bytes(out), p.packed = packed;
    p.result = {s.data<float>(), b ? b.data<float>() : nullptr, out_zero, relu, flip_of(dtype)};
    kernels->linear(p);
  }
  return out;
}

// One entry stands for all spatial dims; leading, absent ones get `rest`.
void expand(const char* op, const char* what, IntArrayRef given, int64_t dims, int64_t least, int64_t rest,
            int64_t (&to)[3]) {
  TORCH_CHECK(int64_t(given.size()) == dims || given.size() == 1, op, ": ", what, " must be one int or ", dims,
              ", got ", given);
  std::fill_n(to, 3, rest);
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t value = given[given.size() == 1 ? 0 : size_t(i)];
    TORCH_CHECK(value >= least && value < (int64_t{1} << 31), op, ": ", what, " must lie between ", least,
                " and 2^31, got ", given);
    to[3 - dims + i] = value;
  }
}

Tensor convolve(const char* op, const Tensor& input, const Tensor& weight, const Tensor& packed, const Tensor& scale,
                const Tensor& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups,
                int64_t zero_point, int64_t out_zero_point, bool relu) {
  const int64_t dims = weight.dim() - 2;
  TORCH_CHECK(dims >= 1 && dims <= 3, op, ": weight must have 3, 4 or 5 dims, got ", weight.sizes());
  TORCH_CHECK(input.dim() == dims + 2, op, ": expected input of ", dims + 2, " dims to go with weight ", weight.sizes(),
              ", got ", input.sizes());
  check_rows(op, input, weight, scale, bias);
  TORCH_CHECK(groups >= 1 && weight.size(0) % groups == 0 && input.size(1) == weight.size(1) * groups, op,
              ": input of ", input.size(1), " channels and weight ", weight.sizes(), " do not fit ", groups, " groups");
  Int8Convolution p{};
  ConvShape& s = p.shape;
  s.n = input.size(0), s.c = input.size(1), s.o = weight.size(0), s.groups = groups;
  expand(op, "stride", stride, dims, 1, 1, s.stride);
  expand(op, "padding", padding, dims, 0, 0, s.padding);
  expand(op, "dilation", dilation, dims, 1, 1, s.dilation);
  std::vector<int64_t> shape{s.n, s.o};
  for (int64_t d = 0; d < 3; ++d) {
    const int64_t at = d - (3 - dims);
    s.in[d] = at < 0 ? 1 : input.size(2 + at);
    s.kernel[d] = at < 0 ? 1 : weight.size(2 + at);
    TORCH_CHECK(s.kernel[d] > 0, op, ": weight ", weight.sizes(), " has no taps");
    const int64_t reach = (s.kernel[d] - 1) * s.dilation[d], room = s.in[d] + 2 * s.padding[d] - reach - 1;
    TORCH_CHECK(room >= 0, op, ": a kernel that reaches over ", reach + 1, " does not fit input ", input.sizes(),
                " padded by ", padding);
    s.out[d] = room / s.stride[d] + 1;
    if (at >= 0) shape.push_back(s.out[d]);
  }
  const DType dtype = input.dtype();
  p.zero = zero_of(op, "zero_point", zero_point, dtype);
  p.result = {nullptr, nullptr, zero_of(op, "out_zero_point", out_zero_point, dtype), relu, flip_of(dtype)};
  const auto* kernels = work<Int8Kernels>.on(input.device());
  s.channels_last = s.channels_last_weights = kernels ? kernels->prefers_channels_last(s) : groups == 1;
  const int64_t products = weight.numel() / std::max<int64_t>(1, s.o);
  TORCH_CHECK(!packed || !kernels ||
                  (packed.dtype() == DType::UInt8 && packed.dim() == 1 &&
                   packed.size(0) == kernels->packed_bytes(s.o, products)),
              op, ": packed must be what _int8_pack makes of weight ", weight.sizes(),
              " for one group on this device, got ", packed.dtype(), " of shape ", packed.sizes());
  Tensor out = empty_in_format(shape, dtype, input.device(), s.channels_last);
  if (kernels && out.numel()) {
    TORCH_CHECK(s.c > 0, op, ": input has no channels");
    const Tensor x = in_format(input, dtype, s.channels_last),
                 w = packed && packed.numel() ? weight : in_format(weight, DType::Int8, s.channels_last),
                 each = as_contiguous(scale, DType::Float32), b = bias ? as_contiguous(bias, DType::Float32) : Tensor(),
                 ready = packed ? as_contiguous(packed, DType::UInt8) : Tensor();
    p.x = bytes(x), p.weight = w.data<int8_t>(), p.y = bytes(out), p.packed = ready ? bytes(ready) : nullptr;
    p.result.scale = each.data<float>(), p.result.bias = b ? b.data<float>() : nullptr;
    kernels->convolution(p);
  }
  return out;
}

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& scale, const Tensor& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups, int64_t zero_point,
                   int64_t out_zero_point, bool relu) {
  return convolve("_int8_convolution", input, weight, Tensor(), scale, bias, stride, padding, dilation, groups,
                  zero_point, out_zero_point, relu);
}

Tensor packed_convolution(const Tensor& input, const Tensor& weight, const Tensor& packed, const Tensor& scale,
                          const Tensor& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                          int64_t zero_point, int64_t out_zero_point, bool relu) {
  return convolve("_int8_packed_convolution", input, weight, packed, scale, bias, stride, padding, dilation, 1,
                  zero_point, out_zero_point, relu);
}

Tensor dynamic(const Tensor& input, const Tensor& weight, const Tensor& scale, const Tensor& bias, bool reduce_range) {
  return int8_product("_int8_dynamic", input, weight, scale, bias, reduce_range);
}

}  // namespace

void check_packed_weight(const char* op, const Tensor& input, const Tensor& weight, const Tensor& scale,
                         const Tensor& bias) {
  TORCH_CHECK(scale.dtype() == DType::Float32 && scale.dim() == 1, op, ": scale must be torch.float32 of one dim, got ",
              scale.dtype(), " of shape ", scale.sizes());
  const int64_t n = scale.size(0), k = input.size(-1);
  TORCH_CHECK(!bias || (bias.dtype() == DType::Float32 && bias.dim() == 1 && bias.size(0) == n), op,
              ": bias must be torch.float32 with one number for each of ", n, " rows");
  TORCH_CHECK(k <= kMostProducts, op, ": sums of 32 bits hold less than 65536 products, got ", k);
  TORCH_CHECK(weight.size(0) == packed_bytes(n, k, weight.device()), op, ": a packed weight of ", weight.size(0),
              " bytes is not one of ", n, " rows of ", k,
              " integers on this device; move a weight first, then pack it");
}

void register_quantized() {
  set_native<op::int8_quantize>(quantize);
  set_native<op::int8_dequantize>(dequantize);
  set_native<op::int8_add>(add);
  set_native<op::int8_dense>(product);
  set_native<op::int8_pack>(pack);
  set_native<op::int8_convolution>(convolution);
  set_native<op::int8_packed_convolution>(packed_convolution);
  set_native<op::int8_dynamic>(dynamic);
  set_native<op::narrow_linear>(narrow_linear_kernel);
}

}  // namespace torch
