// sort, argsort, msort, topk.
#include <algorithm>
#include <cstring>

#include "dispatch/work.h"
#include "iterate/staging.h"
#include "kernels/index.h"
#include "ops/sort/rows.h"
#include "ops/sort/sorting.h"
#include "torch/core/ops/sort.h"
#include "torch/core/ops/view.h"

namespace torch {

Lines lines_of(const char* op, const Tensor& self, int64_t dim) {
  if (self.dim() == 0) return {as_contiguous(self, self.dtype()), 1, 1, false};
  Lines l;
  l.moved = dim != self.dim() - 1;
  Tensor x = l.moved ? transpose(self, dim, -1) : self;
  l.dense = as_contiguous(x, self.dtype());
  l.n = self.size(dim);
  l.count = l.n ? self.numel() / l.n : 0;
  TORCH_CHECK_IMPLEMENTED(l.n < int64_t(UINT32_MAX), op, ": a dim of ", l.n, " elements is too long");
  return l;
}

Tensor lines_back(const Tensor& result, const Tensor& self, int64_t dim) {
  return self.dim() == 0 || dim == self.dim() - 1 ? result : contiguous_copy(transpose(result, dim, -1));
}

void check_sortable(const char* op, const Tensor& self) {
  TORCH_CHECK_IMPLEMENTED(!is_complex(self.dtype()), op, "(): complex numbers have no order; got ", self,
                          ". Take abs() or a part first");
}

void pick(char* out, const char* line, const int64_t* index, int64_t n, int64_t item) {
  index_kernels().gather_row[size_class(item)](out, 1, line, 1, index, 1, n);
}

namespace {

using Two = Sorting::Two;

void write_front(char* values, int64_t* index, const char* line, const auto* keys, int64_t n, int64_t item) {
  for (int64_t j = 0; j < n; ++j) index[j] = int64_t(place_of(keys[j]));
  pick(values, line, index, n, item);
}

}  // namespace

Two on_cpu::sort(const Tensor& self, int64_t dim, bool descending) {
  Lines l = lines_of("sort", self, dim);
  Tensor values = empty_tensor(l.dense.sizes(), self.dtype()), indices = empty_tensor(l.dense.sizes(), DType::Int64);
  const int64_t item = self.item_size(), n = l.n;
  each_line(l, descending, [&](auto* keys, auto* room, int64_t i) {
    write_front(values.data<char>() + i * n * item, indices.data<int64_t>() + i * n,
                l.dense.data<char>() + i * n * item, sort_keys(keys, room, n), n, item);
  });
  return {lines_back(values, self, dim), lines_back(indices, self, dim)};
}

Two on_cpu::topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  Lines l = lines_of("topk", self, dim);
  DimVector shape(l.dense.sizes());
  if (self.dim())
    shape.back() = k;
  else if (k == 0)
    return {empty_tensor({0}, self.dtype()), empty_tensor({0}, DType::Int64)};
  Tensor values = empty_tensor(shape, self.dtype()), indices = empty_tensor(shape, DType::Int64);
  const int64_t item = self.item_size(), n = l.n;
  if (k > 0)
    each_front(l, k, largest, [&](auto* keys, auto* room, int64_t i) {
      write_front(values.data<char>() + i * k * item, indices.data<int64_t>() + i * k,
                  l.dense.data<char>() + i * n * item, sorted ? sort_keys(keys, room, k) : keys, k, item);
    });
  return {lines_back(values, self, dim), lines_back(indices, self, dim)};
}

namespace {

Two sort_kernel(const Tensor& self, int64_t dim, bool descending, bool) {
  check_sortable("sort", self);
  dim = wrap_dim(dim, self.dim());
  if (const auto* there = work<Sorting>.on(self)) return there->sort(self, dim, descending);
  return {empty_tensor(self.sizes(), self.dtype(), self.device()),
          empty_tensor(self.sizes(), DType::Int64, self.device())};
}
Tensor argsort_composite(const Tensor& self, int64_t dim, bool descending, bool stable) {
  return std::get<1>(sort(self, dim, descending, stable));
}
Tensor msort_composite(const Tensor& self) { return std::get<0>(sort(self, 0)); }

Two topk_kernel(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  check_sortable("topk", self);
  dim = wrap_dim(dim, self.dim());
  TORCH_CHECK(k >= 0 && k <= (self.dim() ? self.size(dim) : 1), "selected index k out of range: topk of k=", k,
              " from a dimension of size ", self.dim() ? self.size(dim) : 1);
  if (const auto* there = work<Sorting>.on(self)) return there->topk(self, k, dim, largest, sorted);
  DimVector sizes(self.sizes());
  if (self.dim()) sizes[dim] = k;
  return {empty_tensor(sizes, self.dtype(), self.device()), empty_tensor(sizes, DType::Int64, self.device())};
}

}  // namespace

void register_sort_order() {
  set_native<op::sort>(sort_kernel);
  set_composite<op::argsort>(argsort_composite);
  set_composite<op::msort>(msort_composite);
  set_native<op::topk>(topk_kernel);
}

}  // namespace torch
