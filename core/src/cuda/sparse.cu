// Sparse matrices: places as numbers, sums of segments, products with dense matrices. A thread adds up what belongs to
// one result, in the CPU's order.
#include "cuda/atomics.h"
#include "cuda/block.h"
#include "cuda/each.h"
#include "cuda/fault.h"
#include "cuda/tables.h"
#include "iterate/dense.h"
#include "ops/sort/sort_work.h"
#include "ops/sparse/work.h"
#include "torch/core/sparse.h"

namespace torch::cuda {

namespace {

constexpr int kMostDims = 64;
constexpr int64_t kNowhereAtAll = INT64_MIN;

struct Linear {
  const int64_t* indices;
  int64_t* to;
  int64_t n, size[kMostDims], stride[kMostDims];
  int dims;
  const char* op;
  Fault* fault;
  __device__ void operator()(int64_t k) const {
    int64_t sum = 0;
    bool nowhere = false;
    for (int d = 0; d < dims; ++d) {
      const int64_t x = indices[d * n + k];
      if (x < 0 || x >= size[d]) {
        say_out_of_range(fault, op, x, d, size[d]);
        nowhere = true;
      }
      sum += x * stride[d];
    }
    to[k] = nowhere ? kNowhereAtAll : sum;
  }
};
void linear(const char* op, const Tensor& to, const Tensor& indices, IntArrayRef sizes, IntArrayRef strides) {
  Linear f{indices.data<int64_t>(),        to.data<int64_t>(), to.numel(), {}, {}, int(indices.size(0)), op,
           fault_record(to.device().index)};
  for (int d = 0; d < f.dims; ++d) f.size[d] = sizes[size_t(d)], f.stride[d] = strides[size_t(d)];
  launch_each(op, to.data(), f.n, f);
}

// Half types add up as floats, integers as they are, bools by "or".
template <class E>
struct SumOf {
  using type = decltype(number(E()));
};
template <class E>
using Sum = typename SumOf<E>::type;
template <class E>
TORCH_VEC_INLINE Sum<E> added(Sum<E> sum, Sum<E> x) {
  if constexpr (std::is_same_v<E, Truth>)
    return Sum<E>(sum | x);
  else
    return Sum<E>(sum + x);
}
template <class E>
TORCH_VEC_INLINE Sum<E> product(E a, E b) {
  return Sum<E>(number(a) * number(b));
}
template <class E>
TORCH_VEC_INLINE E stored(Sum<E> sum) {
  if constexpr (std::is_same_v<E, Truth>)
    return truth(sum);
  else
    return cast<E>(sum);
}

template <class E>
struct Segments {
  const E* values;
  const int64_t *order, *bounds;
  E* out;
  int64_t width, n;
  __device__ void operator()(int64_t i) const {
    const int64_t s = i / width, j = i % width;
    Sum<E> sum(0);
    for (int64_t k = bounds[s]; k < bounds[s + 1] && k < n; ++k) {
      const int64_t at = k < 0 ? -1 : order[k];
      if (at >= 0 && at < n) sum = added<E>(sum, number(values[at * width + j]));
    }
    out[i] = stored<E>(sum);
  }
};
void segment_sum(const Tensor& out, const Tensor& values, const Tensor& order, const Tensor& bounds) {
  const Tensor v = as_contiguous(values, values.dtype()), o = as_contiguous(order, DType::Int64),
               b = as_contiguous(bounds, DType::Int64);
  if (out.numel() == 0) return;
  visit_element(out.dtype(), [&](auto zero) {
    using E = decltype(zero);
    launch_each("_segment_sum", out.data(), out.numel(),
                Segments<E>{reinterpret_cast<const E*>(v.data<char>()), o.data<int64_t>(), b.data<int64_t>(),
                            reinterpret_cast<E*>(out.data<char>()), out.numel() / out.size(0), o.numel()});
  });
}

// starts[i] = how many of the sorted rows are below i.
struct RowStarts {
  const int64_t *rows, *order;
  int64_t* starts;
  int64_t n;
  __device__ void operator()(int64_t i) const {
    int64_t first = 0;
    for (int64_t left = n; left > 0;) {
      const int64_t half = left / 2;
      const bool go = rows[order[first + half]] < i;
      first = go ? first + half + 1 : first;
      left = go ? left - half - 1 : half;
    }
    starts[i] = first;
  }
};
// A row of a sparse matrix times a column of a dense one. Indices I; without an order, elements are as they lie.
template <class E, class I>
struct RowTimesColumn {
  const I *starts, *columns;
  const int64_t* order;
  const E *values, *mat;
  E* out;
  int64_t n, across, width;  // elements, rows and columns of `mat`
  Fault* fault;
  __device__ void operator()(int64_t e) const {
    const int64_t i = e / width, j = e % width;
    Sum<E> sum(0);
    const int64_t end = starts[i + 1];
    if (starts[i] < 0 || end > n) say_out_of_range(fault, "mm", starts[i] < 0 ? starts[i] : end, 0, n + 1);
    for (int64_t k = starts[i] < 0 ? 0 : starts[i]; k < end && k < n; ++k) {
      const int64_t at = order ? order[k] : k, column = columns[at];
      if (column < 0 || column >= across)
        say_out_of_range(fault, "mm", column, 1, across);
      else
        sum = added<E>(sum, product(values[at], mat[column * width + j]));
    }
    out[e] = stored<E>(sum);
  }
};
template <class I>
void multiply_rows(const Tensor& out, const I* starts, const I* columns, const int64_t* order, const Tensor& values,
                   const Tensor& mat) {
  visit_element(out.dtype(), [&](auto zero) {
    using E = decltype(zero);
    launch_each(
        "mm", out.data(), out.numel(),
        RowTimesColumn<E, I>{starts, columns, order, reinterpret_cast<const E*>(values.data<char>()),
                             reinterpret_cast<const E*>(mat.data<char>()), reinterpret_cast<E*>(out.data<char>()),
                             values.numel(), mat.size(0), mat.size(1), fault_record(out.device().index)});
  });
}
void matmul(const Tensor& out, const Tensor& rows, const Tensor& columns, const Tensor& values, const Tensor& mat) {
  if (out.numel() == 0) return;
  const int64_t n = values.numel(), count = out.size(0);
  const Tensor r = as_contiguous(rows, DType::Int64), c = as_contiguous(columns, DType::Int64),
               v = as_contiguous(values, values.dtype()), m = as_contiguous(mat, mat.dtype());
  const Tensor checked = empty_tensor({n}, DType::Int64, out.device()),
               order = empty_tensor({n}, DType::Int64, out.device()),
               starts = empty_tensor({count + 1}, DType::Int64, out.device());
  Linear look{r.data<int64_t>(), checked.data<int64_t>(), n, {count}, {1}, 1, "mm", fault_record(out.device().index)};
  launch_each("mm", checked.data(), n, look);
  if (n) sorting.order("mm", checked, n, false, order);
  launch_each("mm", starts.data(), count + 1,
              RowStarts{checked.data<int64_t>(), order.data<int64_t>(), starts.data<int64_t>(), n});
  multiply_rows<int64_t>(out, starts.data<int64_t>(), c.data<int64_t>(), order.data<int64_t>(), v, m);
}
void csr_matmul(const Tensor& out, const Tensor& csr, const Tensor& mat) {
  if (out.numel() == 0) return;
  const CompressedParts& p = compressed_parts("mm", csr);
  const Tensor v = as_contiguous(p.values, p.values.dtype()), m = as_contiguous(mat, mat.dtype());
  if (p.compressed.dtype() == DType::Int32)
    multiply_rows<int32_t>(out, p.compressed.data<int32_t>(), p.plain.data<int32_t>(), nullptr, v, m);
  else
    multiply_rows<int64_t>(out, p.compressed.data<int64_t>(), p.plain.data<int64_t>(), nullptr, v, m);
}

// A warp for each element of the result.
template <class E>
__global__ __launch_bounds__(kThreads) void dots(const int64_t* rows, const int64_t* columns, const E* a, const E* b,
                                                 E* out, int64_t n, int64_t height, int64_t width_of_b, int64_t width,
                                                 Fault* fault) {
  const int lane = int(threadIdx.x) % 32;
  const int64_t step = int64_t(gridDim.x) * (kThreads / 32);
  for (int64_t k = int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32; k < n; k += step) {
    const int64_t i = rows[k], j = columns[k];
    const bool fine = i >= 0 && i < height && j >= 0 && j < width_of_b;
    if (!fine && lane == 0) {
      const bool row = i < 0 || i >= height;
      say_out_of_range(fault, "_sparse_sampled", row ? i : j, row ? 0 : 1, row ? height : width_of_b);
    }
    Sum<E> sum(0);
    if (fine)
      for (int64_t c = lane; c < width; c += 32) sum = added<E>(sum, product(a[i * width + c], b[j * width + c]));
    TORCH_UNROLL
    for (int bits = 16; bits; bits >>= 1) sum = added<E>(sum, exchanged(sum, bits));
    if (lane == 0) out[k] = stored<E>(sum);
  }
}
void sampled(const Tensor& out, const Tensor& rows, const Tensor& columns, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  const Tensor r = as_contiguous(rows, DType::Int64), c = as_contiguous(columns, DType::Int64),
               x = as_contiguous(a, a.dtype()), y = as_contiguous(b, b.dtype());
  const DeviceGuard guard(out.device().index);
  visit_element(out.dtype(), [&](auto zero) {
    using E = decltype(zero);
    launch("_sparse_sampled", dots<E>, blocks_for(out.numel() * 32), kThreads, 0,
           current_stream(out.device().index).handle, r.data<int64_t>(), c.data<int64_t>(),
           reinterpret_cast<const E*>(x.data<char>()), reinterpret_cast<const E*>(y.data<char>()),
           reinterpret_cast<E*>(out.data<char>()), out.numel(), a.size(0), b.size(0), a.size(1),
           fault_record(out.device().index));
  });
}

template <class E>
struct Winner {
  const int64_t *starts, *columns;
  const E *values, *mat;
  int64_t* out;
  int64_t width;
  bool largest;
  __device__ void operator()(int64_t e) const {
    const int64_t i = e / width, j = e % width;
    int64_t won = -1;
    Sum<E> best(0);
    for (int64_t k = starts[i]; k < starts[i + 1]; ++k) {
      const Sum<E> x = product(values[k], mat[columns[k] * width + j]);
      if (won < 0 || (largest ? x > best : x < best) || x != x) best = x, won = k;
    }
    out[e] = won;
  }
};
void winners(const Tensor& out, const Tensor& starts, const Tensor& columns, const Tensor& values, const Tensor& mat,
             bool largest) {
  visit_element(mat.dtype(), [&](auto zero) {
    using E = decltype(zero);
    if constexpr (!kIsComplex<Sum<E>>)
      launch_each(
          "mm", out.data(), out.numel(),
          Winner<E>{starts.data<int64_t>(), columns.data<int64_t>(), reinterpret_cast<const E*>(values.data<char>()),
                    reinterpret_cast<const E*>(mat.data<char>()), out.data<int64_t>(), out.size(1), largest});
  });
}

}  // namespace

const SparseWork sparse_matrices = {linear, segment_sum, matmul, csr_matmul, sampled, winners};

}  // namespace torch::cuda
