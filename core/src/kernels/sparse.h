// Loops over the elements of sparse tensors, whose places the host has checked and sorted.
#pragma once
#include <cstdint>

#include "dispatch/work.h"
#include "levels/isa.h"
#include "torch/core/dtype.h"

namespace torch {

// A (rows, m) matrix by rows: row i has the elements order[starts[i]] up to order[starts[i + 1]].
struct SparseRows {
  const int64_t* starts;
  const int64_t* order;    // null: 0, 1, 2, ...
  const int64_t* columns;  // of the elements, each below m
  const char* values;
};

struct SparseKernels {
  // out[i] = sum of values[order[k]] for k in [bounds[i], bounds[i + 1]); `width` elements each, i in [begin, end).
  void (*segment_sum[kDTypes])(char* out, const char* values, const int64_t* order, const int64_t* bounds,
                               int64_t width, int64_t begin, int64_t end);
  // out[i] = sum of value * mat[column] over row i; rows of `width` elements. The half types sum in float.
  void (*matmul[kDTypes])(char* out, const SparseRows& a, const char* mat, int64_t width, int64_t begin, int64_t end);
  // out[k] = dot of row rows[k] of a and row columns[k] of b.
  void (*sampled[kDTypes])(char* out, const int64_t* rows, const int64_t* columns, const char* a, const char* b,
                           int64_t width, int64_t begin, int64_t end);
};
TORCH_PER_ISA(extern const SparseKernels sparse_kernels_table;)
inline const SparseKernels& sparse_kernels() noexcept { return work<SparseKernels>.on_cpu(); }

}  // namespace torch
