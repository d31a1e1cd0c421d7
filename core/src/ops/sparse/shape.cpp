// Order of dims, pieces and joins of sparse tensors. Their results have memory of their own: there are no views of an
// element's place.
#include "ops/sparse/sparse.h"
#include "ops/view/geometry.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

// The elements `which` of s, with other places and sizes.
Tensor picked(const Tensor& s, const Tensor& which, const Tensor& places, IntArrayRef sizes, bool is_coalesced) {
  return _sparse_coo_tensor_unsafe(places, index_select(values_of(s), 0, which), sizes, is_coalesced);
}
DimVector with_size(IntArrayRef sizes, int64_t dim, int64_t size) {
  DimVector v(sizes);
  v[dim] = size;
  return v;
}
Tensor vector_of(const std::vector<int64_t>& v) {
  Tensor t = empty_tensor({int64_t(v.size())}, DType::Int64);
  std::copy(v.begin(), v.end(), t.data<int64_t>());
  return t;
}
// Checks all indices and gives the row of one dim, on the CPU.
Tensor checked_row(const char* op, const Tensor& s, int64_t dim) {
  linear_indices(op, s);
  return on_cpu(contiguous(select(indices_of(s), 0, dim)));
}

Tensor permute_sparse(const Tensor& self, IntArrayRef dims) {
  const int64_t n = self.dim(), sparse = sparse_dim_of(self);
  TORCH_CHECK(int64_t(dims.size()) == n,
              "permute: number of dimensions in the tensor input does not match the length of the desired ordering of "
              "dimensions i.e. input.dim() = ",
              n, " is not equal to len(dims) = ", dims.size());
  DimSet("permute(): duplicate dims are not allowed", dims, n);
  DimVector sizes, dense;
  std::vector<Tensor> rows;
  bool same = true;
  dense.push_back(0);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t d = wrap_dim(dims[size_t(i)], n);
    TORCH_CHECK((i < sparse) == (d < sparse), "permute: a sparse tensor's ", sparse,
                " sparse dims and its dense dims can only be exchanged among themselves, got the order ", dims);
    sizes.push_back(self.size(d));
    if (i < sparse) {
      same &= d == i;
      rows.push_back(narrow(indices_of(self), 0, d, 1));
    } else {
      dense.push_back(d - sparse + 1);
    }
  }
  Tensor indices = same ? indices_of(self) : cat(rows, 0);
  return _sparse_coo_tensor_unsafe(indices, permute(values_of(self), dense), sizes, same && coalesced(self));
}
Tensor transpose_sparse(const Tensor& self, int64_t dim0, int64_t dim1) {
  dim0 = wrap_dim(dim0, self.dim());
  dim1 = wrap_dim(dim1, self.dim());
  const int64_t sparse = sparse_dim_of(self);
  TORCH_CHECK((dim0 < sparse) == (dim1 < sparse),
              "sparse transpose: both dims must be sparse or both dense. Got sparse_dim: ", sparse, ", d0: ", dim0,
              ", d1: ", dim1, "; use to_dense() first");
  DimVector order;
  for (int64_t d = 0; d < self.dim(); ++d) order.push_back(d == dim0 ? dim1 : d == dim1 ? dim0 : d);
  return permute_sparse(self, order);
}

Tensor unsqueeze_sparse(const Tensor& self, int64_t dim) {
  const int64_t sparse = sparse_dim_of(self);
  dim = wrap_dim(dim, self.dim() + 1);
  DimVector sizes(self.sizes());
  sizes.insert(dim, 1);
  if (dim > sparse)
    return _sparse_coo_tensor_unsafe(indices_of(self), unsqueeze(values_of(self), dim - sparse + 1), sizes,
                                     coalesced(self));
  const Tensor& i = indices_of(self);
  Tensor indices = cat(std::vector<Tensor>{narrow(i, 0, 0, dim), zeros({1, nnz_of(self)}, DType::Int64, i.device()),
                                           narrow(i, 0, dim, sparse - dim)},
                       0);
  return _sparse_coo_tensor_unsafe(indices, values_of(self), sizes, coalesced(self));
}
Tensor squeeze_sparse(const Tensor& self, std::optional<IntArrayRef> dim) {
  const int64_t sparse = sparse_dim_of(self);
  const DimSet dims = dim ? DimSet("squeeze", *dim, self.dim()) : DimSet::all(self.dim());
  DimVector sizes, inner;
  std::vector<Tensor> rows{narrow(indices_of(self), 0, 0, 0)};
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (dims[d] && self.size(d) == 1) {
      if (d >= sparse) inner.push_back(d - sparse + 1);
      continue;
    }
    sizes.push_back(self.size(d));
    if (d < sparse) rows.push_back(narrow(indices_of(self), 0, d, 1));
  }
  return _sparse_coo_tensor_unsafe(cat(rows, 0), squeeze(values_of(self), inner.ref()), sizes, coalesced(self));
}

// --- pieces ---
Tensor select_sparse(const Tensor& self, int64_t dim, int64_t index) {
  TORCH_CHECK_INDEX(self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  const int64_t sparse = sparse_dim_of(self);
  dim = wrap_dim(dim, self.dim());
  const int64_t size = self.size(dim);
  TORCH_CHECK_INDEX(index >= -size && index < size, "select(): index ", index, " out of range for tensor of size ",
                    Bracketed{self.sizes()}, " at dimension ", dim);
  if (index < 0) index += size;
  DimVector sizes(self.sizes());
  sizes.erase(dim);
  if (dim >= sparse)
    return _sparse_coo_tensor_unsafe(indices_of(self), select(values_of(self), dim - sparse + 1, index), sizes,
                                     coalesced(self));
  const Tensor places = checked_row("select", self, dim);
  const int64_t* const row = places.data<int64_t>();
  std::vector<int64_t> kept;
  for (int64_t k = 0; k < nnz_of(self); ++k)
    if (row[k] == index) kept.push_back(k);
  Tensor which = sent(vector_of(kept), self.device());
  if (sparse == 1) return sum(index_select(values_of(self), 0, which), IntArrayRef({0}), false, self.dtype());
  const Tensor& i = indices_of(self);
  Tensor others = cat(std::vector<Tensor>{narrow(i, 0, 0, dim), narrow(i, 0, dim + 1, sparse - dim - 1)}, 0);
  return picked(self, which, index_select(others, 1, which), sizes, coalesced(self));
}

Tensor slice_sparse(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                    int64_t step) {
  TORCH_CHECK_INDEX(self.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  const int64_t sparse = sparse_dim_of(self);
  dim = wrap_dim(dim, self.dim());
  const Range r = clamp_slice(self.size(dim), start, end, step);
  DimVector sizes = with_size(self.sizes(), dim, r.count);
  if (dim >= sparse)
    return _sparse_coo_tensor_unsafe(indices_of(self), slice(values_of(self), dim - sparse + 1, start, end, step),
                                     sizes, coalesced(self));
  const Tensor own = checked_row("slice", self, dim);
  const int64_t* const row = own.data<int64_t>();
  std::vector<int64_t> kept, at;
  for (int64_t k = 0; k < nnz_of(self); ++k) {
    const int64_t x = row[k] - r.start;
    if (x % step != 0 || x / step < 0 || x / step >= r.count) continue;
    kept.push_back(k);
    at.push_back(x / step);
  }
  Tensor which = sent(vector_of(kept), self.device()), places = index_select(indices_of(self), 1, which);
  copy_(select(places, 0, dim), vector_of(at));
  return picked(self, which, places, sizes, step > 0 && coalesced(self));
}

Tensor index_select_sparse(const Tensor& self, int64_t dim, const Tensor& index) {
  TORCH_CHECK_IMPLEMENTED(!is_sparse(index) && !index.is_meta(),
                          "index_select: a sparse tensor takes a dense index on the CPU");
  TORCH_CHECK(self.dim() > 0, "index_select() cannot be applied to a 0-dim sparse tensor.");
  TORCH_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector, got shape ", index.sizes());
  TORCH_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32,
              "index_select(): Expected dtype int32/int64 for index, got ", index.dtype());
  const int64_t sparse = sparse_dim_of(self);
  dim = wrap_dim(dim, self.dim());
  DimVector sizes = with_size(self.sizes(), dim, index.numel());
  if (dim >= sparse)
    return _sparse_coo_tensor_unsafe(indices_of(self), index_select(values_of(self), dim - sparse + 1, index), sizes,
                                     coalesced(self));
  const Tensor row = checked_row("index_select", self, dim),
               wanted = on_cpu(contiguous(reshape(_to_copy(index, DType::Int64), {-1})));
  Groups g = group_equal(row, self.size(dim));
  Tensor present = index_select(row, 0, g.firsts());
  const int64_t *want = wanted.data<int64_t>(), *bounds = g.bounds.data<int64_t>(), *order = g.order.data<int64_t>();
  for (int64_t q = 0; q < wanted.numel(); ++q)
    TORCH_CHECK_INDEX(want[q] >= 0 && want[q] < self.size(dim), "index_select(): index ", want[q],
                      " is out of range in dim ", dim, " of size ", self.size(dim));
  Tensor found = positions_in(present, wanted);
  const int64_t* group = found.data<int64_t>();
  std::vector<int64_t> kept, at;
  for (int64_t q = 0; q < wanted.numel(); ++q)
    for (int64_t k = group[q] < 0 ? 0 : bounds[group[q]]; group[q] >= 0 && k < bounds[group[q] + 1]; ++k) {
      kept.push_back(order[k]);
      at.push_back(q);
    }
  Tensor which = sent(vector_of(kept), self.device()), places = index_select(indices_of(self), 1, which);
  copy_(select(places, 0, dim), vector_of(at));
  return picked(self, which, places, sizes, dim == 0 && coalesced(self));
}

std::vector<Tensor> unbind_sparse(const Tensor& self, int64_t dim) {
  dim = wrap_dim(dim, self.dim());
  std::vector<Tensor> r;
  for (int64_t i = 0; i < self.size(dim); ++i) r.push_back(select_sparse(self, dim, i));
  return r;
}

// --- joins ---
Tensor cat_sparse(TensorList tensors, int64_t dim) {
  for (size_t i = 0; i < tensors.size(); ++i)
    TORCH_CHECK(tensors[i] && is_sparse(tensors[i]),
                "cat: Concatenating sparse tensors, but a dense tensor was found at position ", i,
                "; use to_sparse() or to_dense()");
  const Tensor& first = tensors[0];
  const int64_t sparse = sparse_dim_of(first), n = first.dim();
  TORCH_CHECK(n > 0, "cat: zero-dimensional tensor (at position 0) cannot be concatenated");
  dim = wrap_dim(dim, n);
  int64_t total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    bool fits = t.dim() == n && sparse_dim_of(t) == sparse;
    for (int64_t d = 0; d < n && fits; ++d) fits = d == dim || t.size(d) == first.size(d);
    TORCH_CHECK(fits, "cat: All tensors must have the same shape: ", Bracketed{first.sizes()},
                " (except in the concatenating ",
                "dimension), and the same sparse dims, but found shape: ", Bracketed{t.sizes()}, " at position ", i);
    total += t.size(dim);
  }
  std::vector<Tensor> indices, values;
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    Tensor own = indices_of(t), v = values_of(t);
    if (dim < sparse) {
      if (at) {
        linear_indices("cat", t);
        own = clone(own);
        add_(select(own, 0, dim), number(at));
      }
    } else {  // a value is as wide as the result, zero where other tensors are
      const int64_t d = dim - sparse + 1;
      auto blank = [&](int64_t size) { return zeros(with_size(v.sizes(), d, size), v.dtype(), v.device()); };
      v = cat(std::vector<Tensor>{blank(at), v, blank(total - at - t.size(dim))}, d);
    }
    indices.push_back(own);
    values.push_back(v);
    at += t.size(dim);
  }
  bool sorted = dim == 0 && sparse > 0;
  for (const Tensor& t : tensors) sorted &= coalesced(t);
  return _sparse_coo_tensor_unsafe(cat(indices, 1), cat(values, 0), with_size(first.sizes(), dim, total), sorted);
}
Tensor stack_sparse(TensorList tensors, int64_t dim) {
  std::vector<Tensor> wide;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TORCH_CHECK(tensors[i] && tensors[i].sizes() == tensors[0].sizes(),
                "stack expects each tensor to be equal size, but got ", Bracketed{tensors[0].sizes()},
                " at entry 0 and ", tensors[i], " at entry ", i);
    wide.push_back(unsqueeze(tensors[i], wrap_dim(dim, tensors[0].dim() + 1)));
  }
  return cat(wide, wrap_dim(dim, tensors[0].dim() + 1));
}

}  // namespace

void register_sparse_shape() {
  set_sparse<op::permute>(permute_sparse);
  set_sparse<op::transpose>(transpose_sparse);
  set_sparse<op::transpose_>([](const Tensor& self, int64_t dim0, int64_t dim1) {
    return _sparse_assign_(self, transpose_sparse(self, dim0, dim1));
  });
  admit_composite<op::t>();
  admit_composite<op::t_>();
  admit_composite<op::numpy_T>();
  admit_composite<op::matrix_T>();
  admit_composite<op::swapaxes>();
  admit_composite<op::swapaxes_>();
  admit_composite<op::swapdims>();
  admit_composite<op::swapdims_>();
  admit_composite<op::movedim>();
  admit_composite<op::moveaxis>();
  set_sparse<op::alias>([](const Tensor& self) { return with_values(self, values_of(self)); });
  set_sparse<op::unsqueeze>(unsqueeze_sparse);
  set_sparse<op::unsqueeze_>(
      [](const Tensor& self, int64_t dim) { return _sparse_assign_(self, unsqueeze_sparse(self, dim)); });
  set_sparse<op::squeeze>(squeeze_sparse);
  set_sparse<op::squeeze_>([](const Tensor& self, std::optional<IntArrayRef> dim) {
    return _sparse_assign_(self, squeeze_sparse(self, dim));
  });
  set_sparse<op::select>(select_sparse);
  set_sparse<op::slice>(slice_sparse);
  admit_composite<op::narrow>();
  set_sparse<op::index_select>(index_select_sparse);
  set_sparse<op::unbind>(unbind_sparse);
  set_sparse<op::cat>(cat_sparse);
  admit_composite<op::concat>();
  admit_composite<op::concatenate>();
  set_sparse<op::stack>(stack_sparse);
}

}  // namespace torch
