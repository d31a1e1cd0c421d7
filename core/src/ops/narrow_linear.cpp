// A product with weights of 8 or 4 bits, as language models keep them: checks and shapes; src/cpu/narrow.cpp does the
// work.
#include "ops/narrow_linear.h"

#include <algorithm>
#include <vector>

#include "cpu/narrow_kernels.h"
#include "dispatch/work.h"
#include "iterate/dense.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

// Each row of x as its even columns, then its odd ones, and the sums of its groups.
void prepare(const float* x, int64_t m, int64_t k, int64_t group, float* halves, float* sums) {
  for (int64_t i = 0; i < m; ++i, x += k, halves += k)
    for (int64_t c = 0; c < k; c += group) {
      float sum = 0;
      for (int64_t l = c; l < c + group; l += 2) {
        halves[l / 2] = x[l], halves[k / 2 + l / 2] = x[l + 1];
        sum += x[l] + x[l + 1];
      }
      *sums++ = sum;
    }
}

// The same by operators, of devices without a kernel for it.
Tensor narrow_by_operators(const Tensor& input, const Tensor& weight, const Tensor& scale, int64_t group) {
  const Tensor x = _to_copy(input, DType::Float32), w = _to_copy(weight, DType::Float32),
               s = _to_copy(scale, DType::Float32);
  if (weight.dtype() == DType::Int8) return mul(matmul(x, transpose(w, 0, 1)), s);
  const Tensor high = floor(mul(w, number(1.0 / 16))), low = sub(w, mul(high, number(16)));
  const int64_t n = w.size(0), k = 2 * w.size(1);
  const Tensor q = sub(reshape(stack(std::vector<Tensor>{low, high}, 2), {n, k / group, group}), number(8));
  const Tensor of_group = unsqueeze(transpose(s, 0, 1), 2);  // (n, k / group, 1, 2)
  const Tensor values = add(mul(q, select(of_group, 3, 0)), select(of_group, 3, 1));
  return matmul(x, transpose(reshape(values, {n, k}), 0, 1));
}

}  // namespace

Tensor narrow_linear_kernel(const Tensor& input, const Tensor& weight, const Tensor& scale, int64_t group) {
  const bool four = weight.dtype() == DType::UInt8;
  TORCH_CHECK(
      input.dim() == 2 && weight.dim() == 2 && (four || weight.dtype() == DType::Int8),
      "_narrow_linear: expected input (m, k) and weight (n, k) of torch.int8 or (n, k / 2) of torch.uint8, got ",
      input.sizes(), " and ", weight.sizes(), " of ", weight.dtype());
  const int64_t m = input.size(0), k = input.size(1), n = weight.size(0);
  TORCH_CHECK(weight.size(1) * (four ? 2 : 1) == k, "_narrow_linear: weight ", weight.sizes(), " of ", weight.dtype(),
              " does not fit input ", input.sizes());
  if (four)
    TORCH_CHECK(group >= 2 && group % 2 == 0 && k % group == 0 && scale.dim() == 3 && scale.size(0) == k / group &&
                    scale.size(1) == n && scale.size(2) == 2,
                "_narrow_linear: expected an even group that divides ", k, " and scales (", k, " / group, ", n,
                ", 2), got ", group, " and ", scale.sizes());
  else
    TORCH_CHECK(group == k && scale.dim() == 1 && scale.size(0) == n, "_narrow_linear: expected a group of ", k,
                " and scales (", n, "), got ", group, " and ", scale.sizes());
  if (!input.is_meta() && input.device().type != DeviceType::CPU)
    return narrow_by_operators(input, weight, scale, group);
  Tensor out = empty_tensor({m, n}, DType::Float32, input.device());
  if (input.is_meta() || out.numel() == 0) return out;
  if (k == 0) return std::fill_n(out.data<float>(), out.numel(), 0.f), out;
  const Tensor x = as_contiguous(input, DType::Float32), w = as_contiguous(weight, weight.dtype()),
               s = as_contiguous(scale, DType::Float32);
  std::vector<float> prepared(four ? size_t(m * k + m * (k / group)) : 0);
  if (four) prepare(x.data<float>(), m, k, group, prepared.data(), prepared.data() + m * k);
  const NarrowLinear p{.m = m,
                       .n = n,
                       .k = k,
                       .group = group,
                       .x = four ? prepared.data() : x.data<float>(),
                       .weight = static_cast<const uint8_t*>(w.data()),
                       .scale = s.data<float>(),
                       .sums = prepared.data() + (four ? m * k : 0),
                       .y = out.data<float>()};
  const NarrowKernels& kernels = work<NarrowKernels>.on_cpu();
  (four ? kernels.bits4 : kernels.bits8)(p);
  return out;
}

}  // namespace torch
