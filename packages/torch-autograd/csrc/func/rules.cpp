// How operators are run on whole batches. Most rows say enough of themselves: element-wise ones align their operands,
// those with a `dim` count it from behind the batch, those with sizes get the batch's in front. Products, convolutions,
// pooling and indexing have a rule each. Where a rule gives up, examples are taken one by one.
#include <algorithm>
#include <unordered_map>

#include "func/batched.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/contraction.h"
#include "torch/core/ops/conv.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"
#include "torch/core/promote.h"

namespace torch::autograd {

namespace {

using Sizes = std::vector<int64_t>;

bool only_first_is_batched(const BatchedCall& c) {
  for (int i = 1; i < c.count(); ++i)
    if (c.is_tensor(i) && c.given(i) && c.is_batched(i)) return false;
  return c.is_batched(0);
}

// --- element-wise ---

// An example that is 0-d yields to others in type promotion; a batch of such would not.
Tensor yielding(const Tensor& t, DType common) {
  return promote_types(t.dtype(), common) == common ? t : _to_copy(t, common);
}

bool align(BatchedCall& c, Result& result) {
  int64_t rank = 0;
  bool is_mixed = false;
  for (int i = 0; i < c.count(); ++i)
    if (c.is_tensor(i) && c.given(i)) rank = std::max(rank, c.rank(i));
  for (int i = 0; i < c.count(); ++i)
    if (c.is_tensor(i) && c.given(i)) is_mixed |= c.is_batched(i) && c.rank(i) == 0 && rank > 0;
  DType common{};
  if (is_mixed) {  // what the operands that are not 0-d say
    bool begun = false;
    for (int i = 0; i < c.count(); ++i) {
      if (!c.is_tensor(i) || !c.given(i) || c.rank(i) == 0) continue;
      common = begun ? promote_types(common, c.given(i).dtype()) : c.given(i).dtype();
      begun = true;
    }
  }
  const auto category = [](DType t) { return is_complex(t) ? 3 : is_floating(t) ? 2 : t == DType::Bool ? 0 : 1; };
  for (int i = 0; i < c.count(); ++i) {
    if (!c.is_tensor(i) || !c.given(i)) continue;
    if (!c.is_batched(i)) {  // 0-d beside examples that are 0-d: all count alike in type promotion
      if (rank == 0 && !c.given(i).is_wrapped_number() && c.name(i) != "value") c.set(i, view(c.given(i), Sizes{1}));
      continue;
    }
    Tensor t = c.schema().params[i].written ? c.value(i) : c.aligned(c.given(i), rank);
    if (is_mixed && c.rank(i) == 0 && !c.schema().params[i].written && category(t.dtype()) == category(common))
      t = yielding(t, common);
    c.set(i, std::move(t));
  }
  c.run(result);
  return true;
}

// masked_fill(self, mask, value): the value is one for all examples.
bool fill_where(BatchedCall& c, Result& result) { return !c.is_batched(2) && align(c, result); }

// Shape, dtype and memory do not matter: clone, fill_, zeros_like.
bool as_it_is(BatchedCall& c, Result& result) {
  if (!only_first_is_batched(c)) return false;
  if (const int format = c.find("memory_format"); format >= 0 && c.values[format].present) {
    const auto wanted = MemoryFormat(c.values[format].i);  // of channels-last images, not of a batch of them
    if (wanted != MemoryFormat::Preserve && wanted != MemoryFormat::Contiguous) return false;
  }
  c.run(result);
  return true;
}
// Works on the last dims of its first argument: at least `kRank` of them.
template <int kRank>
bool on_last_dims(BatchedCall& c, Result& result) {
  return c.is_batched(0) && c.rank(0) >= kRank && as_it_is(c, result);
}

// --- dims and sizes ---

bool is_dim(std::string_view name) { return name.starts_with("dim"); }

// Moves a dim of one example, of `n`, behind the batch.
bool move_dim(int64_t& d, int64_t n) {
  if (d < -n || d >= n) return false;  // the error for one example names the user's numbers
  d += d < 0 ? n + 1 : 1;
  return true;
}

// The dims of a call as those of the batch; false when one is out of range. `n`: how many dims an example has.
bool move_dims(BatchedCall& c, int64_t n, bool all_by_default) {
  for (int i = 0; i < c.count(); ++i) {
    if (!is_dim(c.name(i))) continue;
    const Kind kind = c.schema().params[i].kind;
    if (kind == Kind::Int) {
      if (!c.values[i].present) return false;
      int64_t d = c.values[i].i;
      if (!move_dim(d, n)) return false;
      c.set(i, d);
    } else if (kind == Kind::IntList) {
      const auto* given = static_cast<const int64_t*>(c.values[i].data);
      Sizes dims(given, given + (c.values[i].present ? c.values[i].size : 0));
      for (int64_t& d : dims)
        if (!move_dim(d, n)) return false;
      if (dims.empty() && all_by_default)
        for (int64_t d = 0; d < n; ++d) dims.push_back(d + 1);
      c.set(i, std::move(dims));
    }
  }
  return true;
}

void all_in_front(BatchedCall& c) {
  for (int i = 0; i < c.count(); ++i)
    if (c.is_tensor(i) && c.given(i)) c.set(i, c.schema().params[i].written ? c.value(i) : c.front(i));
}

// Reductions, and what goes along a dim: softmax, cumsum, sort, gather, scatter. Tensors have as many dims as the
// first.
bool along_dim(BatchedCall& c, Result& result) {
  const int64_t n = c.rank(0);
  for (int i = 1; i < c.count(); ++i)
    if (c.is_tensor(i) && c.given(i) && c.rank(i) != n) return false;
  all_in_front(c);
  if (n == 0) {  // as if it had one dim of size 1
    if (c.schema().in_place()) return false;
    for (int i = 0; i < c.count(); ++i)
      if (c.is_tensor(i) && c.given(i)) c.set(i, unsqueeze(c.front(i), 1));
  }
  if (!move_dims(c, std::max<int64_t>(n, 1), true)) return false;
  c.run(result);
  if (n == 0)
    for (Tensor& t : result.tensors)
      if (t && t.dim() == 2) t = squeeze(t, Sizes{1});
  return true;
}

// `max(self)` and the like without a dim: the whole example is one line.
bool whole(BatchedCall& c, Result& result) {
  Sizes sizes{c.level.size, 1};
  for (int64_t s : c.given(0).sizes()) sizes[1] *= s;
  const Tensor lines = reshape(c.value(0), sizes);
  const std::string_view op = c.schema().op_name();
  if (op == "max" || op == "min") {
    result.tensors[0] = op == "max" ? amax(lines, Sizes{1}) : amin(lines, Sizes{1});
    return true;
  }
  const int dim = c.find("dim"), keep = c.find("keepdim");
  if (dim < 0 || (keep >= 0 && c.values[keep].i)) return false;
  c.set(0, lines);
  c.set(dim, 1);
  c.run(result);
  return true;
}
bool along_dim_or_whole(BatchedCall& c, Result& result) {
  const int dim = c.find("dim");
  return dim < 0 || !c.values[dim].present ? c.is_batched(0) && whole(c, result) : along_dim(c, result);
}

// One index for all examples: index_select(self, dim, index), index_add(self, dim, index, source).
bool at_index(BatchedCall& c, Result& result) {
  const int index = c.find("index"), source = c.find("source");
  if (c.is_batched(index) || c.rank(0) == 0) return false;
  if (source >= 0 && c.rank(source) != c.rank(0)) return false;
  c.set(0, c.schema().params[0].written ? c.value(0) : c.front(0));
  if (source >= 0) c.set(source, c.front(source));
  if (!move_dims(c, c.rank(0), false)) return false;
  c.run(result);
  return true;
}

// Views of one tensor: transpose, select, slice, unbind.
template <int kMore>  // dims that the result has more: unsqueeze counts in them
bool view_of_dims(BatchedCall& c, Result& result) {
  if (c.rank(0) == 0 && c.schema().op_name() == "transpose") {  // dims 0 and -1 of a 0-d tensor
    for (int i = 1; i < 3; ++i)
      if (c.values[i].i != 0 && c.values[i].i != -1) return false;
    result.tensors[0] = alias(c.value(0));
    return true;
  }
  if (!move_dims(c, c.rank(0) + kMore, false)) return false;
  c.run(result);
  return true;
}
bool squeeze_rule(BatchedCall& c, Result& result) {
  const int dim = c.find("dim");
  const int64_t n = c.rank(0);
  if (c.values[dim].present) {
    if (n == 0) {
      c.set(dim, Sizes{});
      for (int64_t k = 0; k < c.values[dim].size; ++k) {
        const int64_t d = static_cast<const int64_t*>(c.values[dim].data)[k];
        if (d != 0 && d != -1) return false;
      }
    } else if (!move_dims(c, n, false)) {
      return false;
    }
  } else {
    Sizes dims;
    for (int64_t d = 0; d < n; ++d)
      if (c.given(0).size(d) == 1) dims.push_back(d + 1);
    c.set(dim, std::move(dims));
  }
  c.run(result);
  return true;
}
bool permute_rule(BatchedCall& c, Result& result) {
  const auto* given = static_cast<const int64_t*>(c.values[1].data);
  Sizes dims{0};
  if (c.values[1].size != c.rank(0)) return false;
  for (int64_t k = 0; k < c.values[1].size; ++k) {
    int64_t d = given[k];
    if (!move_dim(d, c.rank(0))) return false;
    dims.push_back(d);
  }
  c.set(1, std::move(dims));
  c.run(result);
  return true;
}
bool unfold_rule(BatchedCall& c, Result& result) {
  int64_t d = c.values[1].i;
  const bool is_number = c.rank(0) == 0;  // a line of one
  if (!move_dim(d, std::max<int64_t>(c.rank(0), 1))) return false;
  if (is_number) c.set(0, unsqueeze(c.value(0), 1));
  c.set(1, d);
  c.run(result);
  if (is_number) result.tensors[0] = select(result.tensors[0], 1, 0);
  return true;
}

Sizes with_batch(const BatchedCall& c, int i) {
  Sizes sizes{c.level.size};
  const auto* given = static_cast<const int64_t*>(c.values[i].data);
  sizes.insert(sizes.end(), given, given + c.values[i].size);
  return sizes;
}
// view(size), new_zeros(size): the batch's size in front.
bool sized(BatchedCall& c, Result& result) {
  if (!c.is_batched(0)) return false;
  const int size = c.find("size");
  c.set(size, with_batch(c, size));
  c.run(result);
  return true;
}
bool view_rule(BatchedCall& c, Result& result) {
  return c.find("dtype") >= 0 ? on_last_dims<1>(c, result) : sized(c, result);
}
bool expand_rule(BatchedCall& c, Result& result) {
  const int64_t n = c.values[1].size;
  if (n < c.rank(0)) return false;
  c.set(0, c.aligned(c.given(0), n));
  return sized(c, result);
}
// select_backward(grad, sizes, dim, index): the sizes of an example's input, and dims of it.
bool sized_and_along_dim(BatchedCall& c, Result& result) {
  const int64_t n = c.values[1].size;
  if (n == 0) return false;
  c.set(1, with_batch(c, 1));
  if (const int d = c.find("dimension"); d >= 0) {
    int64_t dim = c.values[d].i;
    if (!move_dim(dim, n)) return false;
    c.set(d, dim);
  } else if (!move_dims(c, n, false)) {
    return false;
  }
  c.run(result);
  return true;
}
bool as_strided_rule(BatchedCall& c, Result& result) {
  if (!c.is_batched(0)) return false;
  const Tensor& v = c.value(0);
  Sizes strides{v.stride(0)};
  const auto* given = static_cast<const int64_t*>(c.values[2].data);
  strides.insert(strides.end(), given, given + c.values[2].size);
  c.set(1, with_batch(c, 1));
  c.set(2, std::move(strides));
  c.run(result);
  return true;
}
bool scatter_of_view(BatchedCall& c, Result& result) {  // select_scatter(self, src, dim, index)
  all_in_front(c);
  if (!move_dims(c, c.rank(0), false)) return false;
  c.run(result);
  return true;
}
bool diagonal_embedding(BatchedCall& c, Result& result) {
  if (!move_dims(c, c.rank(0) + 1, false)) return false;
  c.run(result);
  return true;
}

template <int kMore>
bool joining(BatchedCall& c, Result& result) {  // cat, stack
  std::vector<Tensor> list;
  const int64_t n = c.given_list(0)[0].dim();
  for (const Tensor& t : c.given_list(0)) {
    if (t.dim() != n) return false;
    list.push_back(c.front(t));
  }
  c.set(0, std::move(list));
  if (!move_dims(c, n + kMore, false)) return false;
  c.run(result);
  return true;
}

// --- products ---

// Batches of vectors are matrices with one row or column for the product.
Tensor product(const BatchedCall& c, const Tensor& a, const Tensor& b) {
  const int64_t m = a.dim(), n = b.dim(), rank = std::max({m, n, int64_t(2)});
  const auto prepared = [&](const Tensor& t, int64_t at) {
    Tensor v = c.value(t);
    if (t.dim() == 1) v = unsqueeze(v, at < 0 ? -1 : v.dim() - 1);
    if (!c.is_batched(t)) return v;
    Sizes sizes{v.size(0)};
    sizes.resize(size_t(1 + rank - std::max<int64_t>(t.dim(), 2)), 1);
    for (int64_t d = 1; d < v.dim(); ++d) sizes.push_back(v.size(d));
    return view(v, sizes);
  };
  Tensor r = matmul(prepared(a, 1), prepared(b, -1));
  if (n == 1) r = squeeze(r, Sizes{-1});
  if (m == 1) r = squeeze(r, Sizes{n == 1 ? -1 : -2});
  return r;
}
bool matmul_rule(BatchedCall& c, Result& result) {
  if (c.rank(0) == 0 || c.rank(1) == 0) return false;
  const Tensor &a = c.given(0), &b = c.given(1);
  if (a.size(-1) != b.size(b.dim() == 1 ? -1 : -2)) return false;
  result.tensors[0] = product(c, a, b);
  return true;
}
template <int kFirst, int kSecond>  // the numbers of dims that the operator wants
bool product_rule(BatchedCall& c, Result& result) {
  return c.rank(0) == kFirst && c.rank(1) == kSecond && matmul_rule(c, result);
}
bool dot_rule(BatchedCall& c, Result& result) {
  if (c.rank(0) != 1 || c.rank(1) != 1 || c.given(0).size(0) != c.given(1).size(0)) return false;
  if (c.given(0).dtype() != c.given(1).dtype()) return false;
  Tensor a = c.value(0);
  if (c.schema().op_name() == "vdot" && is_complex(a.dtype())) a = conj(a);
  result.tensors[0] = sum(mul(a, c.value(1)), Sizes{-1});
  return true;
}
bool linear_rule(BatchedCall& c, Result& result) {
  const bool is_shared = !c.is_batched(1) && (!c.given(2) || !c.is_batched(2));
  if (c.rank(0) == 0 || (!c.is_batched(0) && !c.is_batched(1))) return false;
  if (is_shared) {
    c.run(result);
    return true;
  }
  if (c.rank(1) != 2 || c.given(0).size(-1) != c.given(1).size(-1)) return false;
  // The weight's batch is one of columns, or of matrices.
  const Tensor weight =
      c.is_batched(1) ? example_of(transpose(c.value(1), 1, 2), c.level.number) : transpose(c.given(1), 0, 1);
  Tensor r = product(c, c.given(0), weight);
  if (c.given(2)) r = add(r, c.aligned(c.given(2), r.dim() - 1));
  result.tensors[0] = std::move(r);
  return true;
}
// beta * self + alpha * product
Tensor added(const BatchedCall& c, const Tensor& r) {
  const int beta = c.find("beta"), alpha = c.find("alpha");
  const auto scaled = [&](const Tensor& t, int i) {
    const Scalar by = detail::unbox<const Scalar&, Kind::Scalar, false>(c.values[i]);
    return by.to_complex() == std::complex<double>(1) ? t : mul(t, number(by));
  };
  const Scalar zero = detail::unbox<const Scalar&, Kind::Scalar, false>(c.values[beta]);
  Tensor all = scaled(r, alpha);
  if (zero.to_complex() != std::complex<double>(0))  // what is left out may be NaN
    all = add(all, scaled(c.aligned(c.given(0), r.dim() - 1), beta));
  return all;
}
template <int kFirst, int kSecond>
bool added_product(BatchedCall& c, Result& result) {
  const Tensor &a = c.given(1), &b = c.given(2);
  if (a.dim() != kFirst || b.dim() != kSecond || a.size(-1) != b.size(kSecond == 1 ? -1 : -2)) return false;
  if (a.dtype() != c.given(0).dtype() || b.dtype() != a.dtype()) return false;
  if (!is_floating(a.dtype()) && !is_complex(a.dtype())) return false;  // integers stay integers times 0.5
  if (c.rank(0) > kSecond) return false;
  if (c.schema().in_place() || (!c.is_batched(a) && !c.is_batched(b))) return false;
  result.tensors[0] = added(c, product(c, a, b));
  return true;
}

// --- convolution and pooling: examples of the batch are more images, or more channels ---

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

// Planes lie in the last dims; what is before them are images and channels, or channels only. Examples are more images.
bool pooling_rule(BatchedCall& c, Result& result) {
  const int kernel = c.find("kernel_size"), output = c.find("output_size");
  const int64_t planes = kernel >= 0 ? c.values[kernel].size : c.values[output].size;
  if (!only_first_is_batched(c) || c.level.size == 0) return false;
  if (c.rank(0) == planes + 1) {
    c.run(result);
    return true;
  }
  if (c.rank(0) != planes + 2) return false;
  c.set(0, flatten(c.value(0), 0, 1));
  c.run(result);
  for (Tensor& t : result.tensors)
    if (t) t = unfold_batch(t, 0, c.level.size);
  return true;
}

// --- indexing ---

bool embedding_rule(BatchedCall& c, Result& result) {
  if (c.is_batched(0)) return false;
  c.run(result);
  return true;
}

bool index_rule(BatchedCall& c, Result& result) {
  ArrayRef<Tensor> indices = c.given_list(1);
  bool any_batched = false, begun = false, ended = false;
  int64_t rank = 0, first = -1;
  for (size_t k = 0; k < indices.size(); ++k) {
    const Tensor& t = indices[k];
    if (!t) {
      ended = begun;
      continue;
    }
    if (ended || t.dtype() == DType::Bool || t.dtype() == DType::UInt8) return false;  // results in another order
    if (!begun) first = int64_t(k);
    begun = true;
    any_batched |= c.is_batched(t);
    rank = std::max(rank, t.dim());
  }
  std::vector<Tensor> list;
  if (!any_batched) {  // the same elements of all examples
    list.push_back(Tensor());
    list.insert(list.end(), indices.begin(), indices.end());
    c.set(1, std::move(list));
    c.run(result);
    return true;
  }
  if (c.is_batched(0)) {  // the example's own row of the batch
    if (first != 0) return false;
    Sizes sizes(size_t(1 + rank), 1);
    sizes[0] = c.level.size;
    const DType dtype = DType::Int64;
    list.push_back(view(arange(Scalar(c.level.size), dtype, c.given(0).device()), sizes));
  } else if (first != 0) {
    return false;
  }
  for (const Tensor& t : indices)
    if (t) list.push_back(c.aligned(t, rank));
  c.set(1, std::move(list));
  c.run(result);
  return true;
}

bool one_hot_rule(BatchedCall& c, Result& result) { return c.values[1].i >= 0 && as_it_is(c, result); }

// native_layer_norm(input, normalized_shape, weight, bias, eps): examples are more lines.
bool layer_norm_rule(BatchedCall& c, Result& result) {
  if (!only_first_is_batched(c) || c.values[1].size > c.rank(0)) return false;
  c.run(result);
  return true;
}

const std::unordered_map<std::string_view, BatchRule>& named_rules() {
  static const std::unordered_map<std::string_view, BatchRule> rules = [] {
    std::unordered_map<std::string_view, BatchRule> all;
    const auto add = [&](BatchRule rule, std::initializer_list<std::string_view> names) {
      for (std::string_view n : names) all[n] = rule;
    };
    add(align, {"copy_", "complex"});
    add(fill_where, {"masked_fill", "masked_fill_"});
    add(as_it_is, {"clone", "_to_copy", "fill_", "zero_", "frexp", "view_as_real", "conj_physical", "conj_physical_",
                   "alias", "detach", "_holds", "zeros_like", "ones_like", "full_like", "empty_like"});
    add(on_last_dims<1>, {"view_as_complex", "constant_pad_nd"});
    add(on_last_dims<2>,
        {"tril", "triu", "tril_", "triu_", "inv_ex", "linalg_det", "linalg_slogdet", "cholesky_ex", "_linalg_svd",
         "linalg_qr", "_linalg_eigh", "linalg_eig", "_linalg_eigvals", "linalg_matrix_exp", "lu_factor_ex"});
    add(along_dim, {"softmax",
                    "log_softmax",
                    "softmax_backward",
                    "log_softmax_backward",
                    "sum",
                    "mean",
                    "amax",
                    "amin",
                    "any",
                    "all",
                    "count_nonzero",
                    "vector_norm",
                    "logsumexp",
                    "var",
                    "std",
                    "var_mean",
                    "cumsum",
                    "cumprod",
                    "cummax",
                    "cummin",
                    "logcumsumexp",
                    "_linear_recurrence",
                    "sort",
                    "topk",
                    "kthvalue",
                    "mode",
                    "gather",
                    "scatter",
                    "scatter_",
                    "scatter_add",
                    "scatter_add_",
                    "scatter_reduce",
                    "scatter_reduce_",
                    "_fft_c2c",
                    "_fft_r2c",
                    "_fft_c2r"});
    add(along_dim_or_whole, {"prod", "max", "min", "argmax", "argmin", "median", "nanmedian"});
    add(at_index,
        {"index_select", "index_add", "index_add_", "index_copy", "index_copy_", "index_fill", "index_fill_"});
    add(view_of_dims<0>,
        {"transpose", "transpose_", "select", "slice", "diagonal", "unbind", "split", "split_with_sizes"});
    add(view_of_dims<1>, {"unsqueeze", "unsqueeze_"});
    add(squeeze_rule, {"squeeze", "squeeze_"});
    add(permute_rule, {"permute"});
    add(unfold_rule, {"unfold"});
    add(view_rule, {"view"});
    add(expand_rule, {"expand"});
    add(sized, {"new_zeros", "new_ones", "new_empty", "new_full"});
    add(sized_and_along_dim, {"select_backward", "slice_backward", "diagonal_backward", "unfold_backward"});
    add(as_strided_rule, {"as_strided", "as_strided_"});
    add(scatter_of_view, {"select_scatter", "slice_scatter", "diagonal_scatter"});
    add(diagonal_embedding, {"diag_embed"});
    add(joining<0>, {"cat"});
    add(joining<1>, {"stack"});
    add(matmul_rule, {"matmul"});
    add(product_rule<2, 2>, {"mm"});
    add(product_rule<3, 3>, {"bmm"});
    add(product_rule<2, 1>, {"mv"});
    add(dot_rule, {"dot", "vdot"});
    add(linear_rule, {"linear"});
    add(added_product<2, 2>, {"addmm"});
    add(added_product<2, 1>, {"addmv"});
    add(added_product<3, 3>, {"baddbmm"});
    add(convolution_rule, {"convolution"});
    add(convolution_backward_rule, {"convolution_backward"});
    add(pooling_rule, {"max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool"});
    add(embedding_rule, {"embedding"});
    add(index_rule, {"index"});
    add(one_hot_rule, {"one_hot"});
    add(layer_norm_rule, {"_native_layer_norm"});
    return all;
  }();
  return rules;
}

}  // namespace

BatchRule batch_rule(const Row& row) {
  const auto& rules = named_rules();
  if (auto found = rules.find(row.schema.op_name()); found != rules.end()) return found->second;
  if (row.attr.is_composite) return nullptr;
  return row.attr.is_pointwise ? align : nullptr;
}

}  // namespace torch::autograd
