// What the operators of sparse tensors do to memory, for each device (dispatch/work.h). Shapes and dtypes have been
// checked and the result made; a device looks at indices itself, and raises what is out of range as its index operators
// do.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

struct SparseWork {
  // to[k] = sum over d of indices[d][k] * strides[d]; int64 indices (dims, n) of a tensor with these sizes. Null where
  // the host does it.
  void (*linear)(const char* op, const Tensor& to, const Tensor& indices, IntArrayRef sizes, IntArrayRef strides);
  // out[i] = sum of values[order[k]] for k in [bounds[i], bounds[i + 1])
  void (*segment_sum)(const Tensor& out, const Tensor& values, const Tensor& order, const Tensor& bounds);
  // out[rows[k]] += values[k] * mat[columns[k]], from zeros
  void (*matmul)(const Tensor& out, const Tensor& rows, const Tensor& columns, const Tensor& values, const Tensor& mat);
  // The same of a CSR matrix.
  void (*csr_matmul)(const Tensor& out, const Tensor& csr, const Tensor& mat);
  // out[k] = dot of row rows[k] of a and row columns[k] of b
  void (*sampled)(const Tensor& out, const Tensor& rows, const Tensor& columns, const Tensor& a, const Tensor& b);
  // out[i][j]: of the elements k of row i the one whose values[k] * mat[columns[k]][j] is the largest, or the smallest;
  // -1 in rows without elements. Starts and columns are int64, and in order.
  void (*winners)(const Tensor& out, const Tensor& starts, const Tensor& columns, const Tensor& values,
                  const Tensor& mat, bool largest);
};

// The CPU's: order.cpp, matmul.cpp, compressed_matmul.cpp.
extern const SparseWork sparse_on_cpu;
void segment_sum_on_cpu(const Tensor& out, const Tensor& values, const Tensor& order, const Tensor& bounds);
void csr_matmul_on_cpu(const Tensor& out, const Tensor& csr, const Tensor& mat);
void winners_on_cpu(const Tensor& out, const Tensor& starts, const Tensor& columns, const Tensor& values,
                    const Tensor& mat, bool largest);

}  // namespace torch
