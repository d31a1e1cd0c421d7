// Places as numbers, and equal ones brought together: what coalescing, products and sums over sparse dims rest on.
#include <algorithm>
#include <atomic>
#include <memory>

#include "dispatch/work.h"
#include "iterate/dense.h"
#include "kernels/sort.h"
#include "kernels/sparse.h"
#include "ops/sparse/sparse.h"
#include "ops/sparse/work.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/sort.h"
#include "torch/core/ops/sparse.h"
#include "torch/core/pool.h"
#include "torch/core/wrapper.h"

namespace torch {

namespace {

constexpr int64_t kGrain = 1 << 15;

[[noreturn]] void bad_index(const char* op, const Tensor& indices, IntArrayRef sizes) {
  const int64_t *p = indices.data<int64_t>(), n = indices.size(1);
  for (int64_t d = 0; d < indices.size(0); ++d)
    for (int64_t k = 0; k < n; ++k) {
      const int64_t x = p[d * n + k], size = sizes[size_t(d)];
      TORCH_CHECK(x >= 0, op, ": found negative index ", x, " for dim ", d, " in column ", k, " of the indices");
      TORCH_CHECK(x < size, op, ": size is inconsistent with indices: for dim ", d, ", size is ", size,
                  " but found index ", x, " in column ", k);
    }
  throw_error(ErrorKind::Runtime, message(op, ": the indices changed while they were read"));
}

// Sorts by a key that fits the word beside the place. `keys(k)` gives the k-th.
template <class K, class Make, class Sort>
void sort_places(const int64_t* linear, int64_t n, Make make, Sort sort, int64_t* order, std::vector<int64_t>& bounds) {
  std::unique_ptr<K[]> room(new K[size_t(2 * n)]);
  K* a = room.get();
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) a[k] = make(uint64_t(linear[k]), uint64_t(k));
  });
  const K* sorted = sort(a, a + n, n);
  for (int64_t k = 0; k < n; ++k) {
    order[k] = int64_t(place_of(sorted[k]));
    if (k == 0 || linear[order[k]] != linear[order[k - 1]]) bounds.push_back(k);
  }
}

}  // namespace

Tensor linear_indices(const char* op, const Tensor& indices, IntArrayRef sizes, IntArrayRef into) {
  const auto* const there = work<SparseWork>.on(indices);
  TORCH_CHECK_IMPLEMENTED(there, op, ": the indices of a sparse tensor on ", indices.device(), " cannot be read");
  const int64_t dims = indices.size(0), n = indices.size(1);
  Tensor out = empty_tensor({n}, DType::Int64, indices.device());
  DimVector strides(sizes.size(), 0);
  int64_t stride = 1;
  for (int64_t d = dims - 1; d >= 0; --d) {
    strides[d] = into[size_t(d)] == 1 ? 0 : stride;
    stride *= into[size_t(d)];
  }
  if (there->linear) {
    there->linear(op, out, as_contiguous(indices, DType::Int64), sizes, strides.ref());
    return out;
  }
  int64_t* to = out.data<int64_t>();
  const int64_t* from = indices.data<int64_t>();
  std::atomic<bool> ok{true};
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    std::fill(to + begin, to + end, 0);
    int64_t bad = 0;
    for (int64_t d = 0; d < dims; ++d) {
      const int64_t last = sizes[size_t(d)] - 1, step = strides[d];
      const int64_t* row = from + d * n;
      for (int64_t k = begin; k < end; ++k) {
        const int64_t x = row[k];
        bad |= x | int64_t(uint64_t(last) - uint64_t(x));
        to[k] = int64_t(uint64_t(to[k]) + uint64_t(x) * uint64_t(step));
      }
    }
    if (bad < 0) ok.store(false, std::memory_order_relaxed);
  });
  if (!ok) bad_index(op, indices, sizes);
  return out;
}

namespace {

// The same by operators, for other devices; the number of groups is waited for.
Groups group_elsewhere(const Tensor& linear) {
  const int64_t n = linear.numel();
  const Device device = linear.device();
  Groups g;
  g.order = argsort(linear, 0, false, true);
  const Tensor sorted = index_select(linear, 0, g.order), end = full({1}, n, DType::Int64, device);
  if (n == 0) {
    g.bounds = end;
    return g;
  }
  const Tensor starts = cat(
      std::vector<Tensor>{ones({1}, DType::Bool, device), ne(narrow(sorted, 0, 1, n - 1), narrow(sorted, 0, 0, n - 1))},
      0);
  g.bounds = cat(std::vector<Tensor>{reshape(nonzero(starts), {-1}), end}, 0);
  return g;
}

}  // namespace

Groups group_equal(const Tensor& linear, int64_t range) {
  if (linear.device().type != DeviceType::CPU) return group_elsewhere(linear);
  const int64_t* p = linear.data<int64_t>();
  const int64_t n = linear.numel();
  Groups g;
  g.order = empty_tensor({n}, DType::Int64);
  int64_t* order = g.order.data<int64_t>();
  std::vector<int64_t> bounds;
  if (std::is_sorted(p, p + n)) {
    for (int64_t k = 0; k < n; ++k) {
      order[k] = k;
      if (k == 0 || p[k] != p[k - 1]) bounds.push_back(k);
    }
  } else if (range <= (int64_t(1) << 32) && n < (int64_t(1) << 32)) {
    sort_places<Keyed32>(
        p, n, [](uint64_t key, uint64_t place) { return key << 32 | place; }, sort_kernels().sort32, order, bounds);
  } else {
    sort_places<Keyed64>(
        p, n, [](uint64_t key, uint64_t place) { return Keyed64{key, place}; }, sort_kernels().sort64, order, bounds);
  }
  bounds.push_back(n);
  g.bounds = empty_tensor({int64_t(bounds.size())}, DType::Int64);
  std::copy(bounds.begin(), bounds.end(), g.bounds.data<int64_t>());
  return g;
}

Tensor positions_in(const Tensor& sorted, const Tensor& wanted) {
  if (sorted.device().type != DeviceType::CPU) {
    if (sorted.numel() == 0) return full(wanted.sizes(), -1, DType::Int64, wanted.device());
    const Tensor at = clamp_max(searchsorted(sorted, wanted), number(sorted.numel() - 1));
    return where(eq(index_select(sorted, 0, at), wanted), at, number(-1));
  }
  Tensor out = empty_tensor({wanted.numel()}, DType::Int64);
  const int64_t *p = sorted.data<int64_t>(), *w = wanted.data<int64_t>(), n = sorted.numel();
  int64_t* to = out.data<int64_t>();
  parallel_for(wanted.numel(), 4096, [&](int64_t begin, int64_t end) {
    const int64_t* at = p;
    for (int64_t k = begin; k < end; ++k) {
      // Ascending queries, the usual ones, go on from where the last one ended.
      const bool ahead = at < p + n && *at <= w[k];
      at = std::lower_bound(ahead ? at : p, p + n, w[k]);
      to[k] = at < p + n && *at == w[k] ? at - p : -1;
    }
  });
  return out;
}

Tensor segment_numbers(const Tensor& order, const Tensor& bounds) {
  if (order.device().type != DeviceType::CPU) {
    const Tensor each = arange(order.numel(), DType::Int64, order.device());
    const Tensor numbers = sub(searchsorted(bounds, each, false, true), number(1));
    return scatter(zeros(order.sizes(), DType::Int64, order.device()), 0, order, numbers);
  }
  const Tensor from = values_to_read("_segment_sum", order), ends = values_to_read("_segment_sum", bounds);
  Tensor out = empty_tensor({order.numel()}, DType::Int64);
  const int64_t *o = from.data<int64_t>(), *b = ends.data<int64_t>();
  int64_t* to = out.data<int64_t>();
  parallel_for(bounds.numel() - 1, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t k = b[i]; k < b[i + 1]; ++k) to[o[k]] = i;
  });
  return out;
}

namespace {

// `order` is a permutation and `bounds` ascends from 0 to its length: proved here, since programs can call the row.
void check_segments(const Tensor& values, const Tensor& order, const Tensor& bounds) {
  const int64_t *o = order.data<int64_t>(), *b = bounds.data<int64_t>(), n = order.numel(), m = bounds.numel() - 1;
  bool ok = values.dim() >= 1 && values.size(0) == n && m >= 0 && b[0] == 0 && b[m] == n;
  for (int64_t i = 0; i < m && ok; ++i) ok = b[i] <= b[i + 1];
  for (int64_t k = 0; k < n && ok; ++k) ok = o[k] >= 0 && o[k] < n;
  TORCH_CHECK(ok, "_segment_sum: order ", order.sizes(), " and bounds ", bounds.sizes(), " do not cut values ",
              values.sizes(), " into segments");
}

Tensor segment_sum_kernel(const Tensor& values, const Tensor& order, const Tensor& bounds) {
  TORCH_CHECK(order.dtype() == DType::Int64 && bounds.dtype() == DType::Int64 && order.dim() == 1 &&
                  bounds.dim() == 1 && bounds.numel() > 0 && values.dim() >= 1 && !order.is_meta() && !bounds.is_meta(),
              "_segment_sum: order and bounds must be int64 vectors on the CPU, got ", order, " and ", bounds);
  DimVector shape(values.sizes());
  shape[0] = bounds.numel() - 1;
  Tensor out = empty_tensor(shape, values.dtype(), values.device());
  if (const auto* there = work<SparseWork>.on(out)) there->segment_sum(out, values, order, bounds);
  return out;
}

}  // namespace

void segment_sum_on_cpu(const Tensor& out, const Tensor& values, const Tensor& order, const Tensor& bounds) {
  const Tensor v = as_contiguous(values, values.dtype()), o = as_contiguous(order, DType::Int64),
               b = as_contiguous(bounds, DType::Int64);
  check_segments(v, o, b);
  const int64_t m = out.size(0), width = product(out.sizes().slice(1, size_t(out.dim() - 1)));
  if (m == 0 || width == 0) return;
  const auto sum = sparse_kernels().segment_sum[int(values.dtype())];
  parallel_for(m, std::max<int64_t>(1, kGrain / width), [&](int64_t begin, int64_t end) {
    sum(out.data<char>(), v.data<char>(), o.data<int64_t>(), b.data<int64_t>(), width, begin, end);
  });
}

void register_sparse_order() { set_native<op::_segment_sum>(segment_sum_kernel); }

}  // namespace torch
