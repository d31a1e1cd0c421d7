// What a device other than the CPU does for sorting and searching; all that follows from an order is made of operators.
#pragma once
#include "torch/core/tensor.h"

namespace torch {

struct SortWork {
  // index (int64) = the places of each dense line of n elements in their order: equals stay as they lie, a NaN is above
  // everything, and a descending order is that of the complements.
  void (*order)(const char* op, const Tensor& lines, int64_t n, bool descending, const Tensor& index);
  // index (..., k): the first k of that order. index (..., 1): the place with rank ranks (..., 1), contiguous int64
  // from 0.
  void (*first)(const char* op, const Tensor& lines, int64_t n, int64_t k, bool descending, const Tensor& index);
  void (*ranked)(const char* op, const Tensor& lines, int64_t n, const Tensor& ranks, const Tensor& index);
  // out[i] = the place of values[i] among the n bounds of its line, which has `row` values; row 0: one line for all.
  // `sorter`, which may be undefined, is the order of the bounds. out is int32 or int64.
  void (*search)(const char* op, const Tensor& bounds, const Tensor& values, const Tensor& sorter, int64_t n,
                 int64_t row, bool right, const Tensor& out);
};

}  // namespace torch
