// Operators that are functions of Python in torch.nn, for archives: what a script calls Python for, composed of the
// same operators in the same order.
#include "primitives.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::program {

namespace {

using T = const Tensor&;

std::string shape_of(T t) { return message(t.sizes()); }

Tensor rms_norm(T input, const Cell& normalized_shape, T weight, const Cell& epsilon) {
  const std::vector<int64_t> shape = normalized_shape.to_ints();
  const size_t n = shape.size(), dim = size_t(input.dim());
  bool fits = n > 0 && n <= dim;
  for (size_t i = 0; fits && i < n; ++i) fits = input.sizes()[dim - n + i] == shape[i];
  TORCH_CHECK(fits, "rms_norm: the last dims of input ", shape_of(input), " must equal normalized_shape ",
              IntArrayRef(shape));
  TORCH_CHECK(!weight || weight.sizes() == IntArrayRef(shape), "rms_norm: weight has shape ", shape_of(weight),
              ", normalized_shape is ", IntArrayRef(shape));
  const bool half = is_reduced_floating(input.dtype());
  const Tensor x = half ? torch::_to_copy(input, DType::Float32) : input;
  const double number = !epsilon.is_none() ? epsilon.to_double() : x.dtype() == DType::Float64 ? 0x1p-52 : 0x1p-23;
  const Tensor eps = scalar_tensor_of(number, DType::Float64, true);
  std::vector<int64_t> dims;
  for (int64_t d = -int64_t(n); d < 0; ++d) dims.push_back(d);
  Tensor y = torch::mul(x, torch::rsqrt(torch::add(torch::mean(torch::mul(x, x), dims, true), eps)));
  if (half) y = torch::_to_copy(y, input.dtype());
  return weight ? torch::mul(y, weight) : y;
}

// {*, c, ...} with `tail` in place of the last three dims.
std::vector<int64_t> with_tail(T t, std::initializer_list<int64_t> tail) {
  std::vector<int64_t> out(t.sizes().begin(), t.sizes().end() - 3);
  out.insert(out.end(), tail);
  return out;
}
// The leading dims as they are, then those counted from `n` in the order given.
std::vector<int64_t> order(int64_t n, std::initializer_list<int64_t> then) {
  std::vector<int64_t> out;
  for (int64_t d = 0; d <= n; ++d) out.push_back(d);
  for (int64_t d : then) out.push_back(n + d);
  return out;
}

Tensor pixel_shuffle(T input, int64_t r) {
  TORCH_CHECK(input.dim() >= 3, "pixel_shuffle: input must have at least 3 dims (C, H, W), got ", shape_of(input));
  TORCH_CHECK(r > 0, "pixel_shuffle: upscale_factor must be positive, got ", r);
  const int64_t c = input.size(-3), h = input.size(-2), w = input.size(-1), n = input.dim() - 3;
  TORCH_CHECK(r < (int64_t(1) << 31) && c % (r * r) == 0, "pixel_shuffle: ", c,
              " channels are not divisible by upscale_factor^2, where that is ", r);
  const Tensor x = torch::reshape(input, with_tail(input, {c / (r * r), r, r, h, w}));
  return torch::reshape(torch::permute(x, order(n, {3, 1, 4, 2})), with_tail(input, {c / (r * r), h * r, w * r}));
}

Tensor pixel_unshuffle(T input, int64_t r) {
  TORCH_CHECK(input.dim() >= 3, "pixel_unshuffle: input must have at least 3 dims (C, H, W), got ", shape_of(input));
  TORCH_CHECK(r > 0, "pixel_unshuffle: downscale_factor must be positive, got ", r);
  const int64_t c = input.size(-3), h = input.size(-2), w = input.size(-1), n = input.dim() - 3;
  TORCH_CHECK(h % r == 0 && w % r == 0, "pixel_unshuffle: height ", h, " and width ", w,
              " must be divisible by downscale_factor ", r);
  const Tensor x = torch::reshape(input, with_tail(input, {c, h / r, r, w / r, r}));
  return torch::reshape(torch::permute(x, order(n, {2, 4, 1, 3})), with_tail(input, {c * r * r, h / r, w / r}));
}

}  // namespace

void register_composed() {
  prim([](T x, const Cell& shape, T weight, const Cell& eps) { return rms_norm(x, shape, weight, eps); },
       "torch::rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> Tensor");
  prim([](T x, int64_t r) { return pixel_shuffle(x, r); }, "torch::pixel_shuffle(Tensor input, int r) -> Tensor");
  prim([](T x, int64_t r) { return pixel_unshuffle(x, r); }, "torch::pixel_unshuffle(Tensor input, int r) -> Tensor");
}

}  // namespace torch::program
