// Distinct elements, and runs of equal ones.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "dispatch/work.h"
#include "kernels/truth.h"
#include "ops/sort/rows.h"
#include "ops/sort/sorting.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/sort.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

using Three = Sorting::Three;

// Groups from an order of items and whether an item differs from the one before it in that order.
struct Groups {
  std::vector<int64_t> first;  // the place (of the item) that starts each group
  Tensor inverse, counts;
};
template <class Place, class Differs>
Groups group(int64_t n, IntArrayRef inverse_shape, bool return_inverse, bool return_counts, Place place,
             Differs differs) {
  Groups g;
  if (return_inverse) g.inverse = empty_tensor(inverse_shape, DType::Int64);
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || differs(i)) {
      g.first.push_back(place(i));
      if (return_counts) starts.push_back(i);
    }
    if (return_inverse) g.inverse.data<int64_t>()[place(i)] = int64_t(g.first.size()) - 1;
  }
  if (!return_inverse) g.inverse = empty_tensor({0}, DType::Int64);
  g.counts = empty_tensor({return_counts ? int64_t(g.first.size()) : 0}, DType::Int64);
  for (size_t i = 0; i < starts.size(); ++i)
    g.counts.data<int64_t>()[i] = (i + 1 < starts.size() ? starts[i + 1] : n) - starts[i];
  return g;
}

// Elements that are the same by value; a NaN is like no other.
template <class F>
void with_elements(const Tensor& dense, F f) {
  visit_dtype(dense.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using Wide = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
    const auto* p = dense.data<Element<T>>();
    f([p](int64_t a, int64_t b) { return !(Wide(p[a]) == Wide(p[b])); });
  });
}

Tensor picked(const Tensor& dense, const std::vector<int64_t>& places) {
  Tensor out = empty_tensor({int64_t(places.size())}, dense.dtype());
  pick(out.data<char>(), dense.data<char>(), places.data(), int64_t(places.size()), dense.item_size());
  return out;
}

Three distinct(const Tensor& self, bool return_inverse, bool return_counts) {
  Tensor dense = as_contiguous(self, self.dtype());
  int64_t n = dense.numel();
  Tensor flat = view_of(dense, IntArrayRef({n}), IntArrayRef({1}), dense.storage_offset());
  Three result;
  with_elements(flat, [&](auto differ) {
    each_line(lines_of("unique", flat, 0), false, [&](auto* keys, auto* room, int64_t) {
      auto* sorted = sort_keys(keys, room, n);
      Groups g = group(
          n, self.sizes(), return_inverse, return_counts, [&](int64_t i) { return int64_t(place_of(sorted[i])); },
          [&](int64_t i) { return differ(int64_t(place_of(sorted[i - 1])), int64_t(place_of(sorted[i]))); });
      result = {picked(flat, g.first), g.inverse, g.counts};
    });
    if (n == 0)
      result = {empty_tensor({0}, self.dtype()), empty_tensor(self.sizes(), DType::Int64),
                empty_tensor({0}, DType::Int64)};
  });
  return result;
}

// Slices of a dim as dense rows.
Tensor slices_of(const Tensor& self, int64_t dim) { return as_contiguous(movedim(self, {dim}, {0}), self.dtype()); }
Tensor slices_back(const Tensor& rows, const std::vector<int64_t>& places, int64_t dim) {
  Tensor index = empty_tensor({int64_t(places.size())}, DType::Int64);
  std::copy(places.begin(), places.end(), index.data<int64_t>());
  return contiguous_copy(movedim(index_select(rows, 0, index), {0}, {dim}));
}

Three distinct_slices(const Tensor& self, int64_t dim, bool return_inverse, bool return_counts) {
  Tensor rows = slices_of(self, dim);
  int64_t n = rows.size(0), width = n ? rows.numel() / n : 0;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Three result;
  visit_dtype(rows.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, Complex64> && !std::is_same_v<T, Complex128>) {
      using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
      const auto* p = rows.data<Element<T>>();
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        for (int64_t c = 0; c < width; ++c) {
          Wide x = Wide(p[a * width + c]), y = Wide(p[b * width + c]);
          if (x < y || (x == x && y != y)) return true;
          if (y < x || (y == y && x != x)) return false;
        }
        return false;
      });
      Groups g = group(
          n, {n}, return_inverse, return_counts, [&](int64_t i) { return order[size_t(i)]; },
          [&](int64_t i) {
            for (int64_t c = 0; c < width; ++c)
              if (!(Wide(p[order[size_t(i)] * width + c]) == Wide(p[order[size_t(i) - 1] * width + c]))) return true;
            return false;
          });
      result = {slices_back(rows, g.first, dim), g.inverse, g.counts};
    }
  });
  return result;
}

Three runs(const Tensor& self, bool return_inverse, bool return_counts) {
  Tensor dense = as_contiguous(self, self.dtype()),
         flat = view_of(dense, IntArrayRef({dense.numel()}), IntArrayRef({1}), dense.storage_offset());
  Three result;
  with_elements(flat, [&](auto differ) {
    Groups g = group(
        flat.numel(), self.sizes(), return_inverse, return_counts, [](int64_t i) { return i; },
        [&](int64_t i) { return differ(i - 1, i); });
    result = {picked(flat, g.first), g.inverse, g.counts};
  });
  return result;
}
Three runs_of_slices(const Tensor& self, int64_t d, bool return_inverse, bool return_counts) {
  Tensor rows = slices_of(self, d);
  int64_t n = rows.size(0), width = n ? rows.numel() / n : 0;
  Three result;
  with_elements(rows, [&](auto differ) {
    Groups g = group(
        n, {n}, return_inverse, return_counts, [](int64_t i) { return i; },
        [&](int64_t i) {
          for (int64_t c = 0; c < width; ++c)
            if (differ((i - 1) * width + c, i * width + c)) return true;
          return false;
        });
    result = {slices_back(rows, g.first, d), g.inverse, g.counts};
  });
  return result;
}

}  // namespace

Three on_cpu::unique(const Tensor& self, std::optional<int64_t> dim, bool sorts, bool return_inverse,
                     bool return_counts) {
  if (dim)
    return sorts ? distinct_slices(self, *dim, return_inverse, return_counts)
                 : runs_of_slices(self, *dim, return_inverse, return_counts);
  return sorts ? distinct(self, return_inverse, return_counts) : runs(self, return_inverse, return_counts);
}

namespace {

void need_values(const char* op, const Tensor& self) {
  TORCH_CHECK_IMPLEMENTED(!self.is_meta(), op,
                          ": the size of the result is in the values, which Meta tensors do not have");
}

void check_slices(const char* op, const Tensor& self, int64_t dim) {
  need_values(op, self);
  TORCH_CHECK_INDEX(self.dim() > 0, op, ": dim is given, but the tensor has none");
  TORCH_CHECK(self.size(dim) == 0 || self.numel() > 0, op,
              ": There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
}

Three unique_kernel(const Tensor& self, bool return_inverse, bool return_counts) {
  check_sortable("unique", self);
  need_values("unique", self);
  return work<Sorting>.on(self)->unique(self, {}, true, return_inverse, return_counts);
}
Three unique_dim_kernel(const Tensor& self, int64_t dim, bool return_inverse, bool return_counts) {
  check_sortable("unique", self);
  dim = wrap_dim(dim, self.dim());
  check_slices("unique", self, dim);
  return work<Sorting>.on(self)->unique(self, dim, true, return_inverse, return_counts);
}
Three unique_consecutive_kernel(const Tensor& self, std::optional<int64_t> dim, bool return_inverse,
                                bool return_counts) {
  need_values("unique_consecutive", self);
  if (dim) {
    dim = wrap_dim(*dim, self.dim());
    check_slices("unique_consecutive", self, *dim);
  }
  return work<Sorting>.on(self)->unique(self, dim, false, return_inverse, return_counts);
}

}  // namespace

void register_sort_unique() {
  set_native<op::unique_flat>(unique_kernel);
  set_native<op::unique_dim>(unique_dim_kernel);
  set_native<op::unique_consecutive>(unique_consecutive_kernel);
}

}  // namespace torch
