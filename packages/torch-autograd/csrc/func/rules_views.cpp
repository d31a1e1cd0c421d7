// Views, sizes and joins under vmap: dims count from behind the batch, sizes have the batch's in front.
#include "func/rules.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// Views of one tensor: select, slice, unbind.
template <int kMore>  // dims that the result has more: unsqueeze counts in them
bool view_of_dims(BatchedCall& c, Result& result) {
  if (!move_dims(c, c.rank(0) + kMore, false)) return false;
  c.run(result);
  return true;
}
bool transpose_rule(BatchedCall& c, Result& result) {
  if (c.rank(0) > 0) return view_of_dims<0>(c, result);
  for (int i = 1; i < 3; ++i)
    if (c.values[i].i != 0 && c.values[i].i != -1) return false;
  result.tensors[0] = alias(c.value(0));
  return true;
}
bool squeeze_rule(BatchedCall& c, Result& result) {
  const int dim = c.find("dim");
  const int64_t n = c.rank(0);
  if (c.values[dim].present) {
    if (n == 0) {  // a 0-d tensor has dims 0 and -1
      for (int64_t k = 0; k < c.values[dim].size; ++k) {
        const int64_t d = static_cast<const int64_t*>(c.values[dim].data)[k];
        if (d != 0 && d != -1) return false;
      }
      c.set(dim, Sizes{});
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
// The elements of a storage from the first to behind the last one of a tensor.
std::pair<int64_t, int64_t> extent(int64_t offset, IntArrayRef sizes, IntArrayRef strides) {
  std::pair<int64_t, int64_t> e(offset, offset + 1);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return {offset, offset};
    e.second += (sizes[d] - 1) * strides[d];
  }
  return e;
}
// new_empty_strided(size, stride): examples one behind the other, each with the elements that its strides reach.
bool sized_and_strided(BatchedCall& c, Result& result) {
  if (!c.is_batched(0) || c.values[1].size != c.values[2].size) return false;
  const IntArrayRef sizes(static_cast<const int64_t*>(c.values[1].data), size_t(c.values[1].size));
  const IntArrayRef given(static_cast<const int64_t*>(c.values[2].data), sizes.size());
  Sizes strides{extent(0, sizes, given).second};
  strides.insert(strides.end(), given.begin(), given.end());
  c.set(2, std::move(strides));
  return sized(c, result);
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
  const Tensor& example = c.given(0);
  const auto list = [&](int i) {
    return IntArrayRef(static_cast<const int64_t*>(c.values[i].data), size_t(c.values[i].size));
  };
  if (list(1).size() == list(2).size()) {
    const int64_t offset = c.values[3].present ? c.values[3].i : example.storage_offset();
    const auto own = extent(example.storage_offset(), example.sizes(), example.strides());
    const auto wanted = extent(offset, list(1), list(2));
    TORCH_CHECK(wanted.first == wanted.second || (wanted.first >= own.first && wanted.second <= own.second),
                "vmap: as_strided: size ", list(1), ", strides ", list(2), " and offset ", offset, " reach elements ",
                wanted.first, " to ", wanted.second - 1, " of the storage, but an example of shape ", example.sizes(),
                " has those from ", own.first, " to ", own.second - 1,
                ", and what lies beside it belongs to other examples; write it as a sequence of other views");
  }
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

}  // namespace

void add_view_rules(Rules& rules) {
  const AddTo add{rules};
  add(view_of_dims<0>, {"transpose_", "select", "slice", "diagonal", "unbind", "split", "split_with_sizes"});
  add(transpose_rule, {"transpose"});
  add(view_of_dims<1>, {"unsqueeze", "unsqueeze_"});
  add(squeeze_rule, {"squeeze", "squeeze_"});
  add(permute_rule, {"permute"});
  add(unfold_rule, {"unfold"});
  add(view_rule, {"view"});
  add(expand_rule, {"expand"});
  add(sized, {"new_zeros", "new_ones", "new_empty", "new_full"});
  add(sized_and_strided, {"new_empty_strided"});
  add(sized_and_along_dim, {"select_backward", "slice_backward", "diagonal_backward", "unfold_backward"});
  add(as_strided_rule, {"as_strided", "as_strided_"});
  add(scatter_of_view, {"select_scatter", "slice_scatter", "diagonal_scatter"});
  add(diagonal_embedding, {"diag_embed"});
  add(joining<0>, {"cat"});
  add(joining<1>, {"stack"});
}

}  // namespace torch::autograd
