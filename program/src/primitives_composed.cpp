// Operators that are functions of Python in torch.nn, for archives: what a script calls Python for, composed of the
// same operators in the same order.
#include "primitives.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/norm.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/random.h"
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

Tensor number(double v) { return scalar_tensor_of(v, DType::Float64, true); }

Tensor cosine_similarity(T a, T b, int64_t dim, double eps) {
  const std::vector<Tensor> both = torch::broadcast_tensors(std::vector<Tensor>{a, b});
  TORCH_CHECK(is_floating(both[0].dtype()) && is_floating(both[1].dtype()),
              "cosine_similarity: expected floating point tensors, got ", a.dtype(), " and ", b.dtype());
  auto unit = [&](T x) {
    return torch::div(x, torch::clamp(torch::norm(x, Scalar(2.0), std::vector<int64_t>{dim}, true), Scalar(eps)));
  };
  return torch::sum(torch::mul(unit(both[0]), unit(both[1])), std::vector<int64_t>{dim});
}

// Noise of one value for each channel.
Tensor feature_dropout(T input, double p, bool train) {
  if (!(p >= 0 && p <= 1))
    raise_error("ValueError", message("dropout2d: dropout probability has to be between 0 and 1, but got ", p));
  if (!train || p == 0 || input.numel() == 0) return input;
  TORCH_CHECK(input.dim() >= 2, "dropout2d: input must have at least 2 dims (N, C, ...), got shape ", shape_of(input));
  std::vector<int64_t> shape(size_t(input.dim()), 1);
  shape[0] = input.size(0), shape[1] = input.size(1);
  Tensor keep = torch::new_zeros(input, shape);
  if (p < 1) torch::bernoulli_(keep, 1 - p);  // nothing is drawn where all is dropped
  torch::mul_(keep, number(p == 1 ? 0.0 : 1 / (1 - p)));
  return torch::mul(input, keep);
}

}  // namespace

void register_composed() {
  prim([](T a, T b, int64_t dim, double eps) { return cosine_similarity(a, b, dim, eps); },
       "torch::cosine_similarity(Tensor x1, Tensor x2, int dim, float eps) -> Tensor");
  prim([](T x, double p, bool train) { return feature_dropout(x, p, train); },
       "torch::feature_dropout(Tensor input, float p, bool train) -> Tensor", true);
  prim(
      [](T x, double p, bool train) {
        const Tensor y = feature_dropout(x, p, train);
        return y == x ? x : torch::copy_(x, y);
      },
      "torch::feature_dropout_(Tensor(a!) input, float p, bool train) -> Tensor(a!)", true);
  prim([](T x, const Cell& shape, T weight, const Cell& eps) { return rms_norm(x, shape, weight, eps); },
       "torch::rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> Tensor");
  prim([](T x, int64_t r) { return pixel_shuffle(x, r); }, "torch::pixel_shuffle(Tensor input, int r) -> Tensor");
  prim([](T x, int64_t r) { return pixel_unshuffle(x, r); }, "torch::pixel_unshuffle(Tensor input, int r) -> Tensor");
}

}  // namespace torch::program
