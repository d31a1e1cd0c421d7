// Between sparse and dense: coalesce, to_dense, to_sparse, the values at given places.
#include "ops/sparse/compressed.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/sparse.h"

namespace torch {

namespace {

Tensor coalesce_composite(const Tensor& self) {
  if (sparse_parts("coalesce", self).coalesced) return self;
  Tensor linear = linear_indices("coalesce", self);
  Groups g = group_equal(linear, product(sparse_sizes(self)));
  Tensor indices = index_select(indices_of(self), 1, g.firsts());
  return _sparse_coo_tensor_unsafe(indices, _segment_sum(values_of(self), g.order, g.bounds), self.sizes(), true);
}

Tensor to_dense_composite(const Tensor& self, std::optional<DType> dtype, std::optional<bool> masked_grad) {
  TORCH_CHECK_IMPLEMENTED(masked_grad.value_or(true),
                          "to_dense: gradients of a sparse tensor exist only at its own elements (masked_grad=True)");
  if (!is_sparse(self)) return dtype && *dtype != self.dtype() ? _to_copy(self, dtype) : self;
  Tensor values = values_of(self);
  if (dtype && *dtype != values.dtype()) values = _to_copy(values, dtype);
  if (self.is_meta()) return empty(self.sizes(), values.dtype(), self.device());
  Tensor linear = linear_indices("to_dense", self);
  Tensor flat = joined(zeros(self.sizes(), values.dtype(), self.device()), sparse_sizes(self));
  return reshape(index_add(flat, 0, linear, values, 1), self.sizes());
}

Tensor to_sparse_composite(const Tensor& self, std::optional<int64_t> sparse_dim, std::optional<Layout> layout,
                           std::optional<IntArrayRef> blocksize, std::optional<int64_t> dense_dim) {
  if (layout && *layout != Layout::Sparse) {
    TORCH_CHECK(is_compressed_layout(*layout) && !sparse_dim,
                "to_sparse: expected a sparse layout, and no sparse_dim for "
                "a compressed one, got ",
                layout_name(*layout));
    return to_compressed(self, *layout, blocksize, dense_dim);
  }
  TORCH_CHECK(!blocksize, "to_sparse: layout Sparse has no blocks, got blocksize ", *blocksize);
  TORCH_CHECK(!sparse_dim || !dense_dim, "to_sparse: sparse_dim and dense_dim say the same; give one of them");
  const int64_t n = self.dim();
  const int64_t dims = sparse_dim        ? *sparse_dim
                       : dense_dim       ? n - *dense_dim
                       : is_sparse(self) ? sparse_dim_of(self)
                                         : n;
  TORCH_CHECK(dims >= (n > 0) && dims <= n, "to_sparse: sparse_dim must be in [", n > 0, ", ", n, "], but ", dims,
              " is given for shape ", self.sizes());
  if (is_sparse(self)) {
    TORCH_CHECK(dims == sparse_dim_of(self), "to_sparse: conversion from a sparse tensor of ", sparse_dim_of(self),
                " sparse dims to one of ", dims, " is not supported; use to_dense() first");
    return self;
  }
  check_has_places("to_sparse", {self});
  Tensor plain = detach(self);
  if (dims < n) {
    DimVector rest;
    for (int64_t d = dims; d < n; ++d) rest.push_back(d);
    plain = any(plain, rest.ref());
  }
  Tensor indices = contiguous(transpose(nonzero(plain), 0, 1));
  IntArrayRef sizes = self.sizes().slice(0, size_t(dims));
  Tensor values = index_select(joined(self, sizes), 0, linear_indices("to_sparse", indices, sizes, sizes));
  return _sparse_coo_tensor_unsafe(indices, values, self.sizes(), true);
}

// Rows `at` of values, and zeros where it is -1.
Tensor rows_or_zero(const Tensor& values, const Tensor& at) {
  DimVector one(values.sizes());
  one[0] = 1;
  Tensor padded = cat(std::vector<Tensor>{values, zeros(one, values.dtype(), values.device())}, 0);
  Tensor missing = lt(at, number(0));
  return index_select(padded, 0, masked_fill(at, missing, number(values.size(0))));
}

// Self may be smaller where it is broadcast to the tensor that the indices belong to; then its dims of size 1 count.
Tensor gather_composite(const Tensor& self, const Tensor& indices) {
  TORCH_CHECK(!is_sparse(indices) && indices.dim() == 2 && indices.dtype() == DType::Int64 && indices.is_contiguous() &&
                  indices.size(0) <= self.dim(),
              "_sparse_gather: indices must be a contiguous int64 matrix with a row for each dim of self ",
              self.sizes(), " that they address, got ", indices);
  const int64_t dims = indices.size(0);
  IntArrayRef sizes = self.sizes().slice(0, size_t(dims));
  if (!is_sparse(self))
    return index_select(joined(self, sizes), 0, linear_indices("_sparse_gather", indices, sizes, sizes));
  const Tensor& own = indices_of(self);
  if (own.data() == indices.data() && own.sizes() == indices.sizes() && coalesced(self)) return values_of(self);
  if (sparse_dim_of(self) != dims) return gather_composite(to_dense(self), indices);
  Tensor s = coalesce(self);
  Tensor at =
      positions_in(linear_indices("_sparse_gather", s), linear_indices("_sparse_gather", indices, sizes, sizes));
  return rows_or_zero(values_of(s), at);
}

Tensor mask_composite(const Tensor& self, const Tensor& mask) {
  sparse_parts("sparse_mask", mask);
  TORCH_CHECK(self.sizes() == mask.sizes(), "sparse_mask(): operands have incompatible sizes; self has size ",
              Bracketed{self.sizes()}, " but mask has size ", Bracketed{mask.sizes()});
  if (!coalesced(mask)) return mask_composite(self, coalesce(detach(mask)));
  return with_values(mask, _sparse_gather(self, indices_of(mask)), true);
}

}  // namespace

void register_sparse_dense() {
  set_composite_of_both<op::coalesce>(coalesce_composite);
  set_composite_of_both<op::to_dense>(to_dense_composite);
  set_composite_of_both<op::to_sparse>(to_sparse_composite);
  set_composite_of_both<op::_sparse_gather>(gather_composite);
  set_composite_of_both<op::sparse_mask>(mask_composite);
}

}  // namespace torch
