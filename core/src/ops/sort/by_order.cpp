// Sorting and selecting on devices other than the CPU: one order of each line, and public operators over it.
#include <cmath>

#include "dispatch/work.h"
#include "iterate/dense.h"
#include "ops/create/fill.h"
#include "ops/sort/rows.h"
#include "ops/sort/sort_work.h"
#include "ops/sort/sorting.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"
#include "torch/core/wrapper.h"

namespace torch {
namespace by_order {
namespace {

using Two = Sorting::Two;

// The places of each line's elements in their order, with the dim last.
Tensor order_of(const char* op, const Lines& lines, bool descending) {
  Tensor index = empty_tensor(lines.dense.sizes(), DType::Int64, lines.dense.device());
  if (index.numel()) work<SortWork>.on(index)->order(op, lines.dense, lines.n, descending, index);
  return index;
}

DimVector with_last(const Lines& lines, int64_t size) {
  DimVector sizes(lines.dense.sizes());
  sizes.back() = size;
  return sizes;
}
Tensor first_of(const char* op, const Lines& lines, int64_t k, bool descending) {
  Tensor index = empty_tensor(with_last(lines, k), DType::Int64, lines.dense.device());
  if (index.numel()) work<SortWork>.on(index)->first(op, lines.dense, lines.n, k, descending, index);
  return index;
}
// One place of each line.
Tensor ranked(const char* op, const Lines& lines, const Tensor& ranks) {
  Tensor index = empty_tensor(with_last(lines, 1), DType::Int64, lines.dense.device());
  if (index.numel()) work<SortWork>.on(index)->ranked(op, lines.dense, lines.n, contiguous(ranks), index);
  return index;
}
Tensor ranked(const char* op, const Lines& lines, int64_t rank) {
  return ranked(op, lines, full(with_last(lines, 1), rank, DType::Int64, lines.dense.device()));
}

// As lines: a 0-d tensor is one of one element.
Lines lines_at_least_1d(const char* op, const Tensor& self, int64_t dim) {
  Lines l = lines_of(op, self, dim);
  if (self.dim() == 0) l.dense = reshape(l.dense, {1});
  return l;
}
Tensor back(const Tensor& result, const Tensor& self, int64_t dim) {
  return self.dim() == 0 ? reshape(result, {}) : lines_back(result, self, dim);
}
Two chosen(const Lines& l, const Tensor& index, const Tensor& self, int64_t dim) {
  return {back(gather(l.dense, -1, index), self, dim), back(index, self, dim)};
}

// Which elements along the last dim differ from the one before, as NaN does; the first ones do.
Tensor starts_of(const Tensor& sorted) {
  const int64_t n = sorted.size(-1);
  Tensor starts = empty_tensor(sorted.sizes(), DType::Bool, sorted.device());
  fill_contiguous(starts, true);
  if (n < 2) return starts;
  const Tensor here = narrow(sorted, -1, 1, n - 1), before = narrow(sorted, -1, 0, n - 1);
  copy_into(narrow(starts, -1, 1, n - 1), ne(here, before));
  return starts;
}

Two sort(const char* op, const Tensor& self, int64_t dim, bool descending) {
  const Lines l = lines_at_least_1d(op, self, dim);
  return chosen(l, order_of(op, l, descending), self, dim);
}
Two sort(const Tensor& self, int64_t dim, bool descending) { return sort("sort", self, dim, descending); }
Two topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool) {
  const Lines l = lines_at_least_1d("topk", self, dim);
  const Tensor index = first_of("topk", l, k, largest);
  if (self.dim() == 0 && k == 0) return {gather(l.dense, -1, index), index};
  return chosen(l, index, self, dim);
}
Two kthvalue(const Tensor& self, int64_t k, int64_t dim) {
  const Lines l = lines_at_least_1d("kthvalue", self, dim);
  return chosen(l, ranked("kthvalue", l, k - 1), self, dim);
}
Two median(const char* op, const Tensor& self, int64_t dim, bool ignore_nan) {
  const Lines l = lines_at_least_1d(op, self, dim);
  int64_t last = l.dense.dim() - 1;
  if (!is_floating(self.dtype())) return chosen(l, ranked(op, l, (l.n - 1) / 2), self, dim);
  // NaN are last: the first of them has the rank of the number of others.
  const Tensor valid = sum(logical_not(isnan(l.dense)), IntArrayRef(&last, 1), true);
  const Tensor says_nan = ignore_nan ? eq(valid, number(0)) : lt(valid, number(l.n));
  const Tensor middle = floor_divide(clamp_min(sub(valid, number(1)), number(0)), number(2));
  return chosen(l, ranked(op, l, where(says_nan, valid, middle)), self, dim);
}
// The last of the longest run of equals, of the smallest where there are several. NaN equals none.
Two mode(const Tensor& self, int64_t dim) {
  const Lines l = lines_at_least_1d("mode", self, dim);
  const Tensor order = order_of("mode", l, false), starts = starts_of(gather(l.dense, -1, order));
  const Tensor rank = arange(l.n, DType::Int64, self.device());
  const Tensor start = std::get<0>(cummax(where(starts, rank, number(0)), -1));
  const Tensor longest = argmax(sub(rank, start), -1, true);
  return chosen(l, gather(order, -1, longest), self, dim);
}

Sorting::Three unique(const Tensor& self, std::optional<int64_t> dim, bool sorts, bool return_inverse,
                      bool return_counts) {
  const Device device = self.device();
  const Tensor none = empty_tensor({0}, DType::Int64, device);
  const Tensor rows =
      dim ? as_contiguous(movedim(self, {*dim}, {0}), self.dtype()) : reshape(as_contiguous(self, self.dtype()), {-1});
  const int64_t n = rows.size(0);
  if (n == 0)
    return {dim ? clone(self) : empty_tensor({0}, self.dtype(), device),
            return_inverse ? empty_tensor(dim ? IntArrayRef({0}) : self.sizes(), DType::Int64, device) : none, none};
  const Tensor flat = reshape(rows, {n, -1});
  const int64_t width = flat.size(1);
  // Least important column first: each sort leaves equals as the one before put them.
  Tensor order = arange(n, DType::Int64, device);
  for (int64_t c = sorts ? width - 1 : -1; c >= 0; --c) {
    const Tensor column = index_select(select(flat, 1, c), 0, order);
    order = index_select(order, 0, std::get<1>(sort("unique", column, 0, false)));
  }
  const Tensor sorted = sorts ? index_select(flat, 0, order) : flat;
  int64_t one = 1;
  const Tensor starts = any(transpose(starts_of(transpose(sorted, 0, 1)), 0, 1), IntArrayRef(&one, 1), false);
  const Tensor first = reshape(nonzero(starts), {-1});
  const Tensor values = index_select(rows, 0, index_select(order, 0, first));
  Tensor inverse = none, counts = none;
  if (return_inverse) {
    const Tensor group = sub(cumsum(starts, 0), number(1));
    inverse = scatter(empty_tensor({n}, DType::Int64, device), 0, order, group);
    if (!dim) inverse = reshape(inverse, self.sizes());
  }
  if (return_counts) {
    const Tensor end = empty_tensor({1}, DType::Int64, device);
    fill_contiguous(end, n);
    const int64_t groups = first.numel();
    counts = sub(cat({narrow(first, 0, 1, groups - 1), end}, 0), first);
  }
  return {dim ? contiguous_copy(movedim(values, {0}, {*dim})) : values, inverse, counts};
}

Tensor isin(const Tensor& elements, const Tensor& sorted, bool invert) {
  if (sorted.numel() == 0) {
    Tensor out = empty_tensor(elements.sizes(), DType::Bool, elements.device());
    fill_contiguous(out, invert);
    return out;
  }
  const Tensor place = empty_tensor(elements.sizes(), DType::Int64, elements.device());
  if (place.numel()) work<SortWork>.on(place)->search("isin", sorted, elements, {}, sorted.numel(), 0, false, place);
  const Tensor found =
      eq(index_select(sorted, 0, reshape(clamp_max(place, number(sorted.numel() - 1)), {-1})), reshape(elements, {-1}));
  return reshape(invert ? logical_not(found) : found, elements.sizes());
}

Tensor histc_of_integers(const Tensor& self, int64_t bins, int64_t low, int64_t high) {
  const Tensor inside = logical_and(ge(self, number(low)), le(self, number(high)));
  const Tensor scaled = mul(sub(masked_select(self, inside), number(low)), number(bins));
  const Tensor place = high > low ? floor_divide(scaled, number(high - low)) : scaled;
  return bincount(clamp_max(place, number(bins - 1)), {}, bins);
}

Tensor histc(const Tensor& self, int64_t bins, double low, double high) {
  if (!is_floating(self.dtype())) return histc_of_integers(self, bins, int64_t(low), int64_t(high));
  const Tensor inside = logical_and(ge(self, number(low)), le(self, number(high)));
  const Tensor x = masked_select(self, inside);
  const Tensor scaled = mul(div(sub(x, number(low)), number(high - low)), number(double(bins)));
  const Tensor place = where(gt(scaled, number(0)), scaled, number(0.0));  // NaN where high - low overflows
  return bincount(_to_copy(clamp_max(place, number(double(bins - 1))), DType::Int64), {}, bins);
}

void search(const Tensor& bounds, const Tensor& values, const Tensor& sorter, int64_t n, int64_t row, bool right,
            const Tensor& out) {
  work<SortWork>.on(out)->search("searchsorted", bounds, values, sorter, n, row, right, out);
}

}  // namespace
}  // namespace by_order

constexpr Sorting sorting_by_order{.sort = by_order::sort,
                                   .topk = by_order::topk,
                                   .kthvalue = by_order::kthvalue,
                                   .median = by_order::median,
                                   .mode = by_order::mode,
                                   .unique = by_order::unique,
                                   .isin = by_order::isin,
                                   .histc = by_order::histc,
                                   .search = by_order::search};

}  // namespace torch
