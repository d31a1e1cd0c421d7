// How operators are run on whole batches. Most rows say enough of themselves: element-wise ones align their operands,
// those with a `dim` count it from behind the batch, those with sizes get the batch's in front. Indexing has rules
// here; views, products and layers in the files beside it. Where a rule gives up, examples are taken one by one.
#include "func/rules.h"

#include <algorithm>

#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"
#include "torch/core/promote.h"

namespace torch::autograd {

namespace {

bool is_dim(std::string_view name) { return name.starts_with("dim"); }

}  // namespace

bool move_dim(int64_t& d, int64_t n) {
  if (d < -n || d >= n) return false;  // the error for one example names the user's numbers
  d += d < 0 ? n + 1 : 1;
  return true;
}

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

bool as_it_is(BatchedCall& c, Result& result) {
  if (!only_first_is_batched(c)) return false;
  if (const int format = c.find("memory_format"); format >= 0 && c.values[format].present) {
    const auto wanted = MemoryFormat(c.values[format].i);  // of channels-last images, not of a batch of them
    if (wanted != MemoryFormat::Preserve && wanted != MemoryFormat::Contiguous) return false;
  }
  c.run(result);
  return true;
}

void all_in_front(BatchedCall& c) {
  for (int i = 0; i < c.count(); ++i)
    if (c.is_tensor(i) && c.given(i)) c.set(i, c.schema().params[i].written ? c.value(i) : c.front(i));
}

namespace {

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

// --- dims ---

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

const Rules& named_rules() {
  static const Rules rules = [] {
    Rules all;
    const AddTo add{all};
    add(align, {"copy_", "complex"});
    add(fill_where, {"masked_fill", "masked_fill_"});
    add(as_it_is, {"clone", "_to_copy", "fill_", "zero_", "frexp", "view_as_real", "conj_physical", "conj_physical_",
                   "alias", "detach", "_holds", "zeros_like", "ones_like", "full_like", "empty_like"});
    add(on_last_dims<1>, {"view_as_complex", "constant_pad_nd"});
    add(on_last_dims<2>,
        {"tril", "triu", "tril_", "triu_", "inv_ex", "linalg_det", "linalg_slogdet", "cholesky_ex", "_linalg_svd",
         "linalg_qr", "_linalg_eigh", "linalg_eig", "_linalg_eigvals", "linalg_matrix_exp", "lu_factor_ex"});
    add(along_dim, {"softmax",
                    "_safe_softmax",
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
    add(embedding_rule, {"embedding"});
    add(index_rule, {"index"});
    add(one_hot_rule, {"one_hot"});
    add_view_rules(all);
    add_product_rules(all);
    add_layer_rules(all);
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
