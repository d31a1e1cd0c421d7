// Convolutions, pooling and norms under vmap: examples of the batch are more images, or more channels.
#include "func/rules.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/conv.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

Tensor fold(const Tensor& t, int64_t dim) { return flatten(movedim(t, Sizes{0}, Sizes{dim}), dim, dim + 1); }
Tensor unfold_batch(const Tensor& t, int64_t dim, int64_t size) {
  Sizes sizes(t.sizes().begin(), t.sizes().end());
  const int64_t rest = size ? sizes[size_t(dim)] / size : 0;
  sizes[size_t(dim)] = size;
  sizes.insert(sizes.begin() + dim + 1, rest);
  return movedim(reshape(t, sizes), Sizes{dim}, Sizes{0});
}

bool convolution_rule(BatchedCall& c, Result& result) {
  const int64_t size = c.level.size;
  if (size == 0 || c.rank(0) != c.rank(1)) return false;
  const int groups = c.find("groups");
  const Tensor bias = c.given(2);
  const bool has_batched_bias = bias && c.is_batched(bias);
  if (!c.is_batched(1)) {  // more images
    if (c.is_batched(0)) c.set(0, fold(c.value(0), 0));
    if (has_batched_bias) c.set(2, Tensor());
    if (!c.is_batched(0)) return false;  // only the bias
    c.run(result);
    Tensor r = unfold_batch(result.tensors[0], 0, size);
    if (has_batched_bias) {
      Sizes sizes{size, 1, c.value(2).size(1)};
      sizes.resize(size_t(r.dim()), 1);
      r = add(r, reshape(c.value(2), sizes));
    }
    result.tensors[0] = std::move(r);
    return true;
  }
  // More channels, in groups of their own. Of a transposed one the weight is (in, out / groups, ...).
  c.set(0, fold(c.front(0), 1));
  c.set(1, fold(c.value(1), 0));
  c.set(groups, c.values[groups].i * size);
  if (bias) c.set(2, flatten(c.front(2), 0, 1));
  c.run(result);
  result.tensors[0] = unfold_batch(result.tensors[0], 1, size);
  return true;
}

// Per-example gradients of images that went through one weight: each example's images are a group of channels.
bool convolution_backward_rule(BatchedCall& c, Result& result) {
  const int64_t size = c.level.size;
  const bool for_input = c.values[c.find("for_input")].i, for_weight = c.values[c.find("for_weight")].i,
             for_bias = c.values[c.find("for_bias")].i;
  const int groups = c.find("groups");
  if (size == 0 || !c.is_batched(0) || c.rank(1) != c.rank(2)) return false;
  if (for_bias) {
    Sizes dims{1};
    for (int64_t d = 3; d < c.value(0).dim(); ++d) dims.push_back(d);
    result.tensors[2] = sum(c.value(0), dims);
  }
  const auto run = [&](bool input, bool weight, Result& r) {
    c.set(c.find("for_input"), input);
    c.set(c.find("for_weight"), weight);
    c.set(c.find("for_bias"), 0);
    c.run(r);
  };
  if (for_input && !c.is_batched(2)) {  // more images
    c.set(0, fold(c.value(0), 0));
    c.set(1, fold(c.front(1), 0));
    Result r;
    run(true, false, r);
    result.tensors[0] = unfold_batch(r.tensors[0], 0, size);
  }
  if (for_weight || (for_input && c.is_batched(2))) {  // more channels
    c.set(0, fold(c.value(0), 1));
    c.set(1, fold(c.front(1), 1));
    c.set(2, fold(c.front(2), 0));
    c.set(groups, c.values[groups].i * size);
    Result r;
    run(for_input && c.is_batched(2), for_weight, r);
    if (r.tensors[0]) result.tensors[0] = unfold_batch(r.tensors[0], 1, size);
    if (r.tensors[1]) result.tensors[1] = unfold_batch(r.tensors[1], 0, size);
  }
  return true;
}

// The examples of a batch as samples of one call, (N, *).
bool as_more_samples(BatchedCall& c, Result& result) {
  c.set(0, flatten(c.value(0), 0, 1));
  c.run(result);
  for (Tensor& t : result.tensors)
    if (t) t = unfold_batch(t, 0, c.level.size);
  return true;
}

// Planes lie in the last dims; what is before them are images and channels, or channels only. Examples are more images.
bool pooling_rule(BatchedCall& c, Result& result) {
  const int kernel = c.find("kernel_size"), output = c.find("output_size");
  const int64_t planes = kernel >= 0 ? c.values[kernel].size : c.values[output].size;
  if (!only_first_is_batched(c) || c.level.size == 0) return false;
  if (c.rank(0) == planes + 1) {
    c.run(result);
    return true;
  }
  return c.rank(0) == planes + 2 && as_more_samples(c, result);
}

// group_norm_statistics(input, num_groups, weight, bias, eps)
bool group_norm_rule(BatchedCall& c, Result& result) {
  return only_first_is_batched(c) && c.rank(0) >= 2 && c.level.size > 0 && as_more_samples(c, result);
}

// native_layer_norm(input, normalized_shape, weight, bias, eps): examples are more lines.
bool layer_norm_rule(BatchedCall& c, Result& result) {
  if (!only_first_is_batched(c) || c.values[1].size > c.rank(0)) return false;
  c.run(result);
  return true;
}

}  // namespace

void add_layer_rules(Rules& rules) {
  const AddTo add{rules};
  add(convolution_rule, {"convolution"});
  add(convolution_backward_rule, {"convolution_backward"});
  add(pooling_rule, {"max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool"});
  add(layer_norm_rule, {"_native_layer_norm"});
  add(group_norm_rule, {"_native_group_norm"});
}

}  // namespace torch::autograd
