// One element by its rank: kthvalue, median; and by how often it occurs: mode.
#include <algorithm>
#include <cmath>
#include <limits>

#include "dispatch/work.h"
#include "ops/create/fill.h"
#include "ops/sort/rows.h"
#include "ops/sort/sorting.h"
#include "torch/core/ops/sort.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

using Two = Sorting::Two;

// choose(keys, room, n): the place of one element of each line.
template <class Choose>
Two one_of_each(const char* op, const Tensor& self, int64_t dim, Choose choose) {
  Lines l = lines_of(op, self, dim);
  DimVector shape(l.dense.sizes());
  if (self.dim()) shape.back() = 1;
  Tensor values = empty_tensor(shape, self.dtype()), indices = empty_tensor(shape, DType::Int64);
  const int64_t item = self.item_size();
  each_line(l, false, [&](auto* keys, auto* room, int64_t i) {
    int64_t* index = indices.data<int64_t>() + i;
    *index = choose(keys, room, l.n);
    pick(values.data<char>() + i * item, l.dense.data<char>() + i * l.n * item, index, 1, item);
  });
  return {lines_back(values, self, dim), lines_back(indices, self, dim)};
}

// The kth smallest, k from 1; the lowest place of equals.
template <class K>
int64_t kth_place(K* keys, K* room, int64_t n, int64_t k) {
  select_keys(keys, room, n, k);
  K best = keys[0];
  for (int64_t i = 1; i < k; ++i)
    if (less_key(best, keys[i])) best = keys[i];
  return int64_t(place_of(best));
}

}  // namespace

Two on_cpu::kthvalue(const Tensor& self, int64_t k, int64_t dim) {
  return one_of_each("kthvalue", self, dim,
                     [k](auto* keys, auto* room, int64_t n) { return kth_place(keys, room, n, k); });
}

// Bools and integers have no NaN, but their top key is the largest of them.
Two on_cpu::median(const char* op, const Tensor& self, int64_t dim, bool ignore_nan) {
  const bool may_be_nan = is_floating(self.dtype());
  return one_of_each(op, self, dim, [may_be_nan, ignore_nan](auto* keys, auto* room, int64_t n) {
    int64_t valid = n, first_nan = -1;
    if (may_be_nan)
      for (int64_t i = 0; i < n; ++i)
        if (is_top_key(keys[i])) {
          if (first_nan < 0) first_nan = int64_t(place_of(keys[i]));
          --valid;
        }
    if (first_nan >= 0 && (!ignore_nan || valid == 0)) return first_nan;
    return kth_place(keys, room, n, (valid - 1) / 2 + 1);
  });
}

// The last of the longest run of equals, of the smallest where there are several. NaN equals none.
Two on_cpu::mode(const Tensor& self, int64_t dim) {
  const bool may_be_nan = is_floating(self.dtype());
  return one_of_each("mode", self, dim, [may_be_nan](auto* keys, auto* room, int64_t n) {
    auto* sorted = sort_keys(keys, room, n);
    auto same = [may_be_nan](auto a, auto b) {
      if (may_be_nan && is_top_key(a)) return false;
      if constexpr (sizeof a == 8)
        return a >> 32 == b >> 32;
      else
        return a.key == b.key;
    };
    int64_t best = 0, place = 0;
    for (int64_t i = 0, start = 0; i < n; ++i) {
      if (i + 1 < n && same(sorted[i], sorted[i + 1])) continue;
      if (i + 1 - start > best) {
        best = i + 1 - start;
        place = int64_t(place_of(sorted[i]));
      }
      start = i + 1;
    }
    return place;
  });
}

namespace {

// run(device's table): values and places with the dim at size 1. As plain tensors, without a base.
template <class Run>
Two selected(const Tensor& self, int64_t dim, bool keepdim, Run run) {
  DimVector sizes(self.sizes());
  if (self.dim() && keepdim) sizes[dim] = 1;
  if (self.dim() && !keepdim) sizes.erase(dim);
  const auto* there = work<Sorting>.on(self);
  if (!there)
    return {empty_tensor(sizes, self.dtype(), self.device()), empty_tensor(sizes, DType::Int64, self.device())};
  const auto [values, indices] = run(*there);
  const auto shaped = [&](const Tensor& t) {
    return alias_of(t.dim() == sizes.size() ? t : view_of(t, sizes, contiguous_strides(sizes), 0), true);
  };
  return {shaped(values), shaped(indices)};
}

void check_line(const char* op, const Tensor& self, int64_t dim) {
  TORCH_CHECK_INDEX(self.dim() == 0 || self.size(dim) > 0, op, "(): Expected reduction dim ", dim,
                    " to have non-zero size.");
}

Two kthvalue_kernel(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  check_sortable("kthvalue", self);
  dim = wrap_dim(dim, self.dim());
  check_line("kthvalue", self, dim);
  int64_t size = self.dim() ? self.size(dim) : 1;
  TORCH_CHECK(k >= 1 && k <= size, "kthvalue(): selected number k out of range for dimension ", dim, ": k=", k,
              " with size ", size);
  return selected(self, dim, keepdim, [&](const Sorting& there) { return there.kthvalue(self, k, dim); });
}

template <bool ignore_nan>
Two median_along(const char* op, const Tensor& self, int64_t dim, bool keepdim) {
  return selected(self, dim, keepdim, [&](const Sorting& there) { return there.median(op, self, dim, ignore_nan); });
}
template <bool ignore_nan>
Two median_dim_kernel(const Tensor& self, int64_t dim, bool keepdim) {
  constexpr const char* op = ignore_nan ? "nanmedian" : "median";
  check_sortable(op, self);
  dim = wrap_dim(dim, self.dim());
  check_line(op, self, dim);
  return median_along<ignore_nan>(op, self, dim, keepdim);
}
template <bool ignore_nan>
Tensor median_kernel(const Tensor& self) {
  constexpr const char* op = ignore_nan ? "nanmedian" : "median";
  check_sortable(op, self);
  if (self.is_meta()) return empty_tensor({}, self.dtype(), self.device());
  if (self.numel() == 0) {
    Tensor out = empty_tensor({}, self.dtype(), self.device());
    fill_contiguous(out, std::numeric_limits<double>::quiet_NaN());
    return out;
  }
  Tensor flat = as_contiguous(self, self.dtype());
  flat = view_of(flat, IntArrayRef({flat.numel()}), IntArrayRef({1}), flat.storage_offset());
  return std::get<0>(median_along<ignore_nan>(op, flat, 0, false));
}

Two mode_kernel(const Tensor& self, int64_t dim, bool keepdim) {
  check_sortable("mode", self);
  dim = wrap_dim(dim, self.dim());
  check_line("mode", self, dim);
  return selected(self, dim, keepdim, [&](const Sorting& there) { return there.mode(self, dim); });
}

}  // namespace

void register_sort_select() {
  set_native<op::kthvalue>(kthvalue_kernel);
  set_native<op::median>(median_kernel<false>);
  set_native<op::median_dim>(median_dim_kernel<false>);
  set_native<op::nanmedian>(median_kernel<true>);
  set_native<op::nanmedian_dim>(median_dim_kernel<true>);
  set_native<op::mode>(mode_kernel);
}

}  // namespace torch
