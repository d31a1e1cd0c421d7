// What the operators of compressed tensors (CSR, CSC, BSR, BSC) share. Most are written in those of coordinates, or
// only of the values.
#pragma once
#include "ops/sparse/sparse.h"

namespace torch {

// How the sizes of a compressed tensor fall apart: (*batch, rows, columns, *dense).
struct CompressedShape {
  Layout layout;
  int batch_dims, dense_dims;
  int64_t batch;          // matrices in the batch
  int64_t lines, across;  // of a matrix, in blocks: rows and columns of CSR, columns and rows of CSC
  int64_t nnz;            // elements or blocks of a matrix
  int64_t height, width;  // of a block; 1 without blocks

  bool blocks() const noexcept { return has_blocks(layout); }
  bool by_rows() const noexcept { return is_by_rows(layout); }
  int64_t total() const noexcept { return batch * nnz; }
};
CompressedShape shape_of(const Tensor& t);
CompressedShape shape_of(const CompressedParts& parts, IntArrayRef sizes);

inline const CompressedParts& parts_of_compressed(const Tensor& t) { return compressed_parts("values", t); }
inline Tensor with_compressed(const Tensor& pattern, const Tensor& values) {
  return _compressed_with_values(pattern, values);
}
// The values of all matrices one after the other: (batch * nnz, [block], *dense), with graph.
Tensor flat_values(const Tensor& t);

// Where elements stand, checked: indices may have been written to since the tensor was made.
struct Places {
  Tensor linear;  // (batch * nnz,) int64: place of the element, or block, in row-major order of (batch, lines, across)
  bool rising;    // sorted within the lines, and distinct
};
Places places_of(const char* op, const Tensor& t);
// Row (or, of blocks, row of blocks) and column of each element of all matrices, (2, batch * nnz), batch by batch as if
// they stood along a diagonal when `diagonal`.
Tensor rows_and_columns(const char* op, const Tensor& t, bool diagonal);

// A copy of where lines begin, (batch, lines + 1) int64, and, of these, of where elements stand in them, (batch *
// nnz,).
Tensor checked_starts(const char* op, const Tensor& t);
Tensor checked_plain(const Tensor& t, const Tensor& starts);

// `dense` (*batch, rows, columns, *rest) as (batch * lines * across, [height, width], *rest), and the way back.
Tensor as_blocks(const Tensor& dense, const CompressedShape& s);
Tensor from_blocks(const Tensor& blocks, const CompressedShape& s, IntArrayRef sizes);

Tensor compressed_to_coo(const Tensor& t);
Tensor coo_to_compressed(const Tensor& t, Layout layout, std::optional<IntArrayRef> blocksize);
// Of any layout.
Tensor to_compressed(const Tensor& t, Layout layout, std::optional<IntArrayRef> blocksize = std::nullopt,
                     std::optional<int64_t> dense_dim = std::nullopt);
// The layout and block size of `like`.
Tensor to_compressed_like(const Tensor& t, const Tensor& like);
// As coordinates where it is compressed, else itself.
inline Tensor as_coo(const Tensor& t) { return is_compressed(t) ? compressed_to_coo(t) : t; }
// The same elements at the same places, without looking at values.
bool same_pattern(const Tensor& a, const Tensor& b);

void register_compressed_parts();
void register_compressed_convert();
void register_compressed_elements();
void register_compressed_shape();
void register_compressed_matmul();

}  // namespace torch
