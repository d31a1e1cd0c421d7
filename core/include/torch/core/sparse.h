// Sparse tensors in coordinate format. A (4, 5) matrix with three elements, and one whose elements are rows of 5:
//
//   indices (2, 3) int64   values (3,)          indices (1, 3)   values (3, 5)
//   [[0, 2, 2],            [7., 8., 9.]         [[0, 2, 2]]      [[...], [...], [...]]
//    [1, 0, 4]]
//
// sizes() counts as if the tensor was dense: the first `sparse_dim` sizes bound the rows of `indices`, the others are
// those of a value. A place may occur several times; its value is then the sum. A coalesced tensor is sorted by place
// and has every place once.
//
// Indices and values are the tensor's payload: aliases (detach) share them and the version counter, which is that of a
// storage without bytes. The key Slot::Sparse stops every operator that does not know such tensors. An operator that
// does is written in the two and operators of dense tensors, so it needs no derivative of its own (src/sparse/).
#pragma once
#include "torch/core/tensor.h"

namespace torch {

struct SparseParts {
  Tensor indices;  // (sparse_dim, nnz) int64, contiguous
  Tensor values;   // (nnz, *rest), without graph
  bool coalesced = false;
};

inline bool is_sparse(const Tensor& t) noexcept { return t.has(Slot::Sparse); }
inline Layout layout_of(const Tensor& t) noexcept { return is_sparse(t) ? Layout::Sparse : Layout::Strided; }

// RuntimeError names the operator when `t` is not sparse. Programs can write to both (Tensor._indices()), so
// whoever uses an index as an address checks it first: linear_indices().
TORCH_API const SparseParts& sparse_parts(const char* op, const Tensor& t);

// A new tensor. The shapes of the parts are checked against each other and against `sizes`, the indices are not read.
TORCH_API Tensor make_sparse(SparseParts parts, IntArrayRef sizes);
// Without elements.
TORCH_API Tensor empty_sparse(IntArrayRef sizes, int64_t sparse_dim, DType dtype, Device device = {});

// For each column of `indices` its place in row-major order of `into`, as (nnz,) int64: `sizes`, or 1 where a dim is
// broadcast. RuntimeError names the first index that is out of range for `sizes`.
TORCH_API Tensor linear_indices(const char* op, const Tensor& indices, IntArrayRef sizes, IntArrayRef into);
// For each of the elements that _segment_sum() adds, the number of its segment.
TORCH_API Tensor segment_numbers(const Tensor& order, const Tensor& bounds);

}  // namespace torch
