// Sparse tensors, in coordinate format and, below, compressed by rows or columns. A (4, 5) matrix with three elements,
// and one whose elements are rows of 5:
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
// storage without bytes. The key DispatchKey::Sparse stops every operator that does not know such tensors. An operator
// that does is written in the two and operators of dense tensors, so it needs no derivative of its own
// (src/ops/sparse/).
#pragma once
#include "torch/core/tensor.h"

namespace torch {

struct SparseParts {
  Tensor indices;  // (sparse_dim, nnz) int64, contiguous
  Tensor values;   // (nnz, *rest), without graph
  bool coalesced = false;
};

inline bool is_sparse(const Tensor& t) noexcept { return t.has(DispatchKey::Sparse); }
inline bool is_compressed(const Tensor& t) noexcept { return t.has(DispatchKey::SparseCompressed); }
// Of any layout that is not torch.strided.
inline bool is_any_sparse(const Tensor& t) noexcept {
  return t.keys() & (key(DispatchKey::Sparse) | key(DispatchKey::SparseCompressed));
}
TORCH_API Layout layout_of(const Tensor& t) noexcept;
TORCH_API const char* layout_name(Layout layout) noexcept;  // "SparseCsr", as errors name it

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

// --- compressed layouts: CSR, CSC, BSR, BSC ---
//
//   compressed (*batch, lines + 1)     where each line begins among the elements: crow_indices, or ccol_indices
//   plain      (*batch, nnz)           where in its line an element stands: col_indices, or row_indices
//   values     (*batch, nnz, *rest)    BSR, BSC: (*batch, nnz, block rows, block columns, *rest)
//
// Lines are rows of CSR and BSR, columns of CSC and BSC, both counted in blocks. All matrices of a batch have as many
// elements. The tensor carries DispatchKey::SparseCompressed; src/ops/sparse/compressed*.cpp.
struct CompressedParts {
  Layout layout;
  Tensor compressed, plain;  // int32 or int64, contiguous
  Tensor values;             // without graph
};
constexpr bool is_compressed_layout(Layout l) noexcept { return l >= Layout::SparseCsr && l <= Layout::SparseBsc; }
constexpr bool has_blocks(Layout l) noexcept { return l == Layout::SparseBsr || l == Layout::SparseBsc; }
constexpr bool is_by_rows(Layout l) noexcept { return l == Layout::SparseCsr || l == Layout::SparseBsr; }

// RuntimeError names the operator when `t` has another layout. Programs can write to the indices
// (Tensor.crow_indices()): whoever uses one as an address checks it first.
TORCH_API const CompressedParts& compressed_parts(const char* op, const Tensor& t);
// A new tensor. Shapes are checked, indices are not read.
TORCH_API Tensor make_compressed(CompressedParts parts, IntArrayRef sizes);
// Without elements.
TORCH_API Tensor empty_compressed(const char* op, IntArrayRef sizes, Layout layout, DType dtype, Device device = {});
// Row and column, (2, nnz) int64, of each element of the CSR matrix of these parts; checked.
TORCH_API Tensor compressed_places(const Tensor& crow_indices, const Tensor& col_indices, int64_t rows,
                                   int64_t columns);
// The values of `self`, of any layout, at the places of `pattern`, as its values are shaped; zero where it has none.
TORCH_API Tensor compressed_gather(const Tensor& self, const Tensor& pattern);

}  // namespace torch
