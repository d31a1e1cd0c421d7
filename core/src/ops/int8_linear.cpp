// A linear layer over int8 values and scales: the input is rounded as it comes.
#include "ops/int8_linear.h"

#include "cpu/int8_kernels.h"
#include "dispatch/work.h"
#include "iterate/dense.h"

namespace torch {

namespace {

void check_rows(const char* op, const Tensor& input, const Tensor& weight, const Tensor& scale, const Tensor& bias) {
  TORCH_CHECK(weight.dtype() == DType::Int8 && weight.dim() == 2, op,
              ": weight must be torch.int8 of shape (out, in), got ", weight.dtype(), " of shape ", weight.sizes());
  TORCH_CHECK(input.dim() >= 1 && input.size(-1) == weight.size(1), op, ": last dim of input ", input.sizes(),
              " must equal last dim of weight ", weight.sizes());
  const int64_t n = weight.size(0), k = weight.size(1);
  TORCH_CHECK(scale.dtype() == DType::Float32 && scale.dim() == 1 && scale.size(0) == n, op,
              ": scale must be torch.float32 with one number for each of ", n, " rows, got ", scale.dtype(),
              " of shape ", scale.sizes());
  TORCH_CHECK(!bias || (bias.dtype() == DType::Float32 && bias.dim() == 1 && bias.size(0) == n), op,
              ": bias must be torch.float32 with one number for each of ", n, " rows");
  TORCH_CHECK(k < (int64_t{1} << 16), op, ": sums of 32 bits hold less than 65536 products, got ", k);
}

}  // namespace

Tensor int8_product(const char* op, const Tensor& input, const Tensor& weight, const Tensor& scale, const Tensor& bias,
                    bool reduce_range) {
  TORCH_CHECK(input.dtype() == DType::Float32, op, ": input must be torch.float32, got ", input.dtype());
  TORCH_CHECK(input.dim() >= 1, op, ": input must have a dim, got ", input.sizes());
  const bool packed = weight.dim() == 1 && weight.dtype() == DType::UInt8;
  if (packed)
    check_packed_weight(op, input, weight, scale, bias);
  else
    check_rows(op, input, weight, scale, bias);
  const int64_t n = scale.size(0), k = input.size(-1);
  std::vector<int64_t> shape(input.sizes().begin(), input.sizes().end() - 1);
  shape.push_back(n);
  Tensor out = empty_tensor(shape, DType::Float32, input.device());
  if (const auto* kernels = work<Int8Kernels>.on(out); kernels && out.numel()) {
    const Tensor x = as_contiguous(input, DType::Float32), w = as_contiguous(weight, weight.dtype()),
                 s = as_contiguous(scale, DType::Float32), b = bias ? as_contiguous(bias, DType::Float32) : Tensor();
    Int8Linear p{.m = out.numel() / n,
                 .n = n,
                 .k = k,
                 .x = x.data<float>(),
                 .weight = static_cast<const int8_t*>(w.data()),
                 .scale = s.data<float>(),
                 .bias = b ? b.data<float>() : nullptr,
                 .y = out.data<float>()};
    p.packed = packed, p.reduce_range = reduce_range;
    kernels->linear(p);
  }
  return out;
}

Tensor int8_linear_kernel(const Tensor& input, const Tensor& weight, const Tensor& scale, const Tensor& bias) {
  return int8_product("_int8_linear", input, weight, scale, bias, false);
}

}  // namespace torch
