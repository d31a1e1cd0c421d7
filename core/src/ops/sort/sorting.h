// What sorting and searching do on a device. The CPU has loops over the keys of a line; on other devices all follows
// from one order of each line, which a plug-in makes (sort_work.h), by public operators.
#pragma once
#include <optional>
#include <tuple>

#include "torch/core/tensor.h"

namespace torch {

// Arguments have been checked, dims are not negative.
struct Sorting {
  using Two = std::tuple<Tensor, Tensor>;
  using Three = std::tuple<Tensor, Tensor, Tensor>;

  // Values and their places along dim.
  Two (*sort)(const Tensor& self, int64_t dim, bool descending);
  Two (*topk)(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted);
  // One of each line: contiguous, and the dim stays with size 1.
  Two (*kthvalue)(const Tensor& self, int64_t k, int64_t dim);
  Two (*median)(const char* op, const Tensor& self, int64_t dim, bool ignore_nan);
  Two (*mode)(const Tensor& self, int64_t dim);

  // Distinct elements of all dims (dim is not given) or slices of one, their places and their counts; `sorts`, or only
  // neighbours count as equal.
  Three (*unique)(const Tensor& self, std::optional<int64_t> dim, bool sorts, bool return_inverse, bool return_counts);
  // Each element among sorted ones: whether it is there.
  Tensor (*isin)(const Tensor& elements, const Tensor& sorted, bool invert);
  // How many elements of x (float64) lie in each of the bins between low and high.
  Tensor (*histc)(const Tensor& x, int64_t bins, double low, double high);
  // out[i] = the place of values[i] among the n bounds of its line, which has `row` values; row 0: one line for all.
  // `sorter`, which may be undefined, is the order of the bounds. out is int32 or int64.
  void (*search)(const Tensor& bounds, const Tensor& values, const Tensor& sorter, int64_t n, int64_t row, bool right,
                 const Tensor& out);
};

extern const Sorting sorting_on_cpu;    // sorting.cpp
extern const Sorting sorting_by_order;  // by_order.cpp

namespace on_cpu {

Sorting::Two sort(const Tensor& self, int64_t dim, bool descending);
Sorting::Two topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted);
Sorting::Two kthvalue(const Tensor& self, int64_t k, int64_t dim);
Sorting::Two median(const char* op, const Tensor& self, int64_t dim, bool ignore_nan);
Sorting::Two mode(const Tensor& self, int64_t dim);
Sorting::Three unique(const Tensor& self, std::optional<int64_t> dim, bool sorts, bool return_inverse,
                      bool return_counts);
Tensor isin(const Tensor& elements, const Tensor& sorted, bool invert);
Tensor histc(const Tensor& x, int64_t bins, double low, double high);
void search(const Tensor& bounds, const Tensor& values, const Tensor& sorter, int64_t n, int64_t row, bool right,
            const Tensor& out);

}  // namespace on_cpu
}  // namespace torch
