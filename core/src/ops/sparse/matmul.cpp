// Products of sparse matrices with dense and with sparse ones.
#include "torch/core/ops/matmul.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "dispatch/work.h"
#include "iterate/dense.h"
#include "kernels/sparse.h"
#include "kernels/truth.h"
#include "ops/sparse/by_elements.h"
#include "ops/sparse/sparse.h"
#include "ops/sparse/work.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/sparse.h"
#include "torch/core/ops/view.h"
#include "torch/core/pool.h"

namespace torch {

namespace {

constexpr int64_t kGrain = 1 << 15;  // multiplications worth a thread

void check_vector(const char* op, const Tensor& index, const char* name, int64_t n) {
  TORCH_CHECK(!is_sparse(index) && index.dtype() == DType::Int64 && index.dim() == 1 && index.numel() == n, op, ": ",
              name, " must be an int64 vector of ", n, " elements, got ", index);
}
// A copy that stays unchanged, with every element checked to lie below `size`.
Tensor checked(const char* op, const Tensor& index, int64_t size) {
  Tensor row = view_of(index, IntArrayRef({1, index.numel()}),
                       IntArrayRef({index.numel() * index.stride(0), index.stride(0)}), index.storage_offset());
  return linear_indices(op, as_contiguous(row, DType::Int64), IntArrayRef({size}), IntArrayRef({size}));
}

// Elements by rows: a stable counting sort, or nothing where they are in order.
struct ByRows {
  std::unique_ptr<int64_t[]> starts, order;
  ByRows(const Tensor& rows, int64_t count) : starts(new int64_t[size_t(count) + 1]()) {
    const int64_t *r = rows.data<int64_t>(), n = rows.numel();
    for (int64_t k = 0; k < n; ++k) ++starts[size_t(r[k]) + 1];
    for (int64_t i = 0; i < count; ++i) starts[size_t(i) + 1] += starts[size_t(i)];
    if (std::is_sorted(r, r + n)) return;
    order.reset(new int64_t[size_t(n)]);
    for (int64_t k = 0; k < n; ++k) order[size_t(starts[size_t(r[k])]++)] = k;
    for (int64_t i = count; i > 0; --i) starts[size_t(i)] = starts[size_t(i) - 1];
    starts[0] = 0;
  }
};

Tensor matmul_kernel(const Tensor& rows, const Tensor& columns, const Tensor& values, const Tensor& mat,
                     int64_t count) {
  const int64_t n = values.numel();
  check_vector("_sparse_matmul", rows, "rows", n);
  check_vector("_sparse_matmul", columns, "columns", n);
  TORCH_CHECK(values.dim() == 1 && mat.dim() == 2 && count >= 0 && values.dtype() == mat.dtype() &&
                  values.device() == mat.device(),
              "_sparse_matmul: expected a vector of values and a matrix of their dtype and device, got ", values,
              " on ", values.device(), " and ", mat, " on ", mat.device());
  Tensor out = empty_tensor({count, mat.size(1)}, mat.dtype(), mat.device());
  if (const auto* there = work<SparseWork>.on(out)) there->matmul(out, rows, columns, values, mat);
  return out;
}
void matmul_on_cpu(const Tensor& out, const Tensor& rows, const Tensor& columns, const Tensor& values,
                   const Tensor& mat) {
  const int64_t count = out.size(0), width = out.size(1);
  const Tensor r = checked("mm", rows, count), c = checked("mm", columns, mat.size(0));
  const Tensor v = as_contiguous(values, values.dtype()), m = as_contiguous(mat, mat.dtype());
  if (out.numel() == 0) return;
  const ByRows by(r, count);
  const SparseRows a{by.starts.get(), by.order.get(), c.data<int64_t>(), v.data<char>()};
  const auto loop = sparse_kernels().matmul[int(mat.dtype())];
  by_elements(a.starts, count, kGrain / width,
              [&](int64_t begin, int64_t end) { loop(out.data<char>(), a, m.data<char>(), width, begin, end); });
}

Tensor sampled_kernel(const Tensor& rows, const Tensor& columns, const Tensor& a, const Tensor& b) {
  const int64_t n = rows.numel();
  check_vector("_sparse_sampled", rows, "rows", n);
  check_vector("_sparse_sampled", columns, "columns", n);
  TORCH_CHECK(
      a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(1) && a.dtype() == b.dtype() && a.device() == b.device(),
      "_sparse_sampled: expected two matrices of equal rows on one device, got ", a, " on ", a.device(), " and ", b,
      " on ", b.device());
  Tensor out = empty_tensor({n}, a.dtype(), a.device());
  if (const auto* there = work<SparseWork>.on(out)) there->sampled(out, rows, columns, a, b);
  return out;
}
void sampled_on_cpu(const Tensor& out, const Tensor& rows, const Tensor& columns, const Tensor& a, const Tensor& b) {
  const Tensor r = checked("_sparse_sampled", rows, a.size(0)), c = checked("_sparse_sampled", columns, b.size(0));
  const Tensor x = as_contiguous(a, a.dtype()), y = as_contiguous(b, b.dtype());
  const auto loop = sparse_kernels().sampled[int(a.dtype())];
  const int64_t width = a.size(1);
  parallel_for(r.numel(), std::max<int64_t>(1, kGrain / std::max<int64_t>(width, 1)), [&](int64_t begin, int64_t end) {
    loop(out.data<char>(), r.data<int64_t>(), c.data<int64_t>(), x.data<char>(), y.data<char>(), width, begin, end);
  });
}

// --- sparse @ sparse, row by row (Gustavson, "Two fast algorithms for sparse matrices", 1978) ---
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float,
                               std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;

template <class T>
struct RowProducts {
  std::vector<int64_t> counts, columns;  // of each row of the block, of its elements
  std::vector<T> values;
};

template <class T>
RowProducts<T> multiply_rows(const SparseRows& a, const SparseRows& b, int64_t width, int64_t begin, int64_t end) {
  RowProducts<T> out;
  std::unique_ptr<Sum<T>[]> sums(new Sum<T>[size_t(width)]);
  std::vector<bool> seen(size_t(width), false);
  std::vector<int64_t> touched;
  const auto *x = reinterpret_cast<const Element<T>*>(a.values), *y = reinterpret_cast<const Element<T>*>(b.values);
  for (int64_t i = begin; i < end; ++i) {
    touched.clear();
    for (int64_t k = a.starts[i]; k < a.starts[i + 1]; ++k)
      for (int64_t l = b.starts[a.columns[k]]; l < b.starts[a.columns[k] + 1]; ++l) {
        const int64_t j = b.columns[l];
        if (!seen[size_t(j)]) {
          seen[size_t(j)] = true;
          sums[size_t(j)] = {};
          touched.push_back(j);
        }
        if constexpr (std::is_same_v<T, bool>)
          sums[size_t(j)] |= x[k] && y[l];
        else
          sums[size_t(j)] = Sum<T>(sums[size_t(j)] + Sum<T>(T(x[k])) * Sum<T>(T(y[l])));
      }
    std::sort(touched.begin(), touched.end());
    out.counts.push_back(int64_t(touched.size()));
    for (int64_t j : touched) {
      seen[size_t(j)] = false;
      out.columns.push_back(j);
      out.values.push_back(T(sums[size_t(j)]));
    }
  }
  return out;
}

// On other devices: a term for each pair of elements that meet, and equal places added up.
std::tuple<Tensor, Tensor> multiplied_elsewhere(const Tensor& indices, const Tensor& values, const Tensor& indices2,
                                                const Tensor& values2, IntArrayRef sizes) {
  const Device device = values.device();
  const auto count_to = [&](int64_t n) { return arange(n, DType::Int64, device); };
  const Tensor r1 = select(indices, 0, 0), c1 = select(indices, 0, 1), c2 = select(indices2, 0, 1);
  const Tensor starts = searchsorted(contiguous(select(indices2, 0, 0)), count_to(sizes[1] + 1));
  const Tensor first = index_select(starts, 0, c1), counts = sub(index_select(starts, 0, add(c1, number(1))), first);
  const Tensor owner = repeat_interleave(counts);
  const Tensor before = sub(cumsum(counts, 0), counts);
  const Tensor met = add(sub(count_to(owner.numel()), index_select(before, 0, owner)), index_select(first, 0, owner));
  const Tensor key = add(mul(index_select(r1, 0, owner), number(sizes[2])), index_select(c2, 0, met));
  const DType wide = compute_dtype(values.dtype());
  const Tensor terms =
      mul(as_dtype(index_select(values, 0, owner), wide), as_dtype(index_select(values2, 0, met), wide));
  const Groups g = group_equal(key, sizes[0] * sizes[2]);
  const Tensor places = index_select(key, 0, g.firsts());
  const Tensor rows = div(places, number(sizes[2]), "floor");
  return {stack(std::vector<Tensor>{rows, sub(places, mul(rows, number(sizes[2])))}, 0),
          as_dtype(_segment_sum(terms, g.order, g.bounds), values.dtype())};
}

std::tuple<Tensor, Tensor> sparse_sparse_kernel(const Tensor& indices, const Tensor& values, const Tensor& indices2,
                                                const Tensor& values2, IntArrayRef sizes) {
  constexpr const char* kOp = "_sparse_sparse_matmul";
  TORCH_CHECK(sizes.size() == 3 && values.dtype() == values2.dtype() && values.dim() == 1 && values2.dim() == 1 &&
                  !values.is_meta() && !values2.is_meta(),
              kOp, ": expected vectors of values of one dtype on the CPU and three sizes, got ", values, ", ", values2,
              " and ", sizes);
  TORCH_CHECK(indices.dim() == 2 && indices2.dim() == 2 && indices.size(0) == 2 && indices2.size(0) == 2 &&
                  indices.size(1) == values.numel() && indices2.size(1) == values2.numel() &&
                  indices.dtype() == DType::Int64 && indices2.dtype() == DType::Int64,
              kOp, ": expected indices (2, nnz), got ", indices, " and ", indices2);
  if (values.device().type != DeviceType::CPU) return multiplied_elsewhere(indices, values, indices2, values2, sizes);
  auto row_of = [&](const Tensor& t, int64_t d, int64_t size) { return checked("mm", select(t, 0, d), size); };
  const Tensor r1 = row_of(indices, 0, sizes[0]), c1 = row_of(indices, 1, sizes[1]), r2 = row_of(indices2, 0, sizes[1]),
               c2 = row_of(indices2, 1, sizes[2]);
  const ByRows by1(r1, sizes[0]), by2(r2, sizes[1]);
  TORCH_CHECK(!by1.order && !by2.order, kOp, ": the rows must be in order; use coalesce()");
  const Tensor v1 = as_contiguous(values, values.dtype()), v2 = as_contiguous(values2, values2.dtype());
  const SparseRows a{by1.starts.get(), nullptr, c1.data<int64_t>(), v1.data<char>()},
      b{by2.starts.get(), nullptr, c2.data<int64_t>(), v2.data<char>()};
  return visit_dtype(values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    // A block costs a row of sums: few of them, whatever the number of threads.
    const int64_t blocks = std::clamp<int64_t>(values.numel() / 1024, 1, 32), step = (sizes[0] + blocks - 1) / blocks;
    std::vector<RowProducts<T>> parts(static_cast<size_t>(blocks));
    parallel_run(blocks, [&](int64_t i) {
      const int64_t begin = std::min(i * step, sizes[0]), end = std::min(begin + step, sizes[0]);
      parts[size_t(i)] = multiply_rows<T>(a, b, sizes[2], begin, end);
    });
    int64_t nnz = 0, at = 0, row = 0;
    for (const auto& p : parts) nnz += int64_t(p.columns.size());
    Tensor places = empty_tensor({2, nnz}, DType::Int64), result = empty_tensor({nnz}, values.dtype());
    int64_t* to = places.data<int64_t>();
    for (const auto& p : parts) {
      std::copy(p.columns.begin(), p.columns.end(), to + nnz + at);
      std::copy(p.values.begin(), p.values.end(), result.data<T>() + at);
      for (int64_t count : p.counts) {
        std::fill_n(to + at, count, row++);
        at += count;
      }
    }
    return std::tuple<Tensor, Tensor>(places, result);
  });
}

// --- the operators ---
void check_product(const char* op, const Tensor& a, const Tensor& b) {
  TORCH_CHECK(a.dtype() == b.dtype(), op, ": expected both operands to have the same dtype, got ", a, " and ", b);
  TORCH_CHECK(a.device() == b.device(), op, ": expected both operands on one device, got ", a.device(), " and ",
              b.device());
  for (const Tensor* t : {&a, &b})
    TORCH_CHECK(!is_sparse(*t) || sparse_dim_of(*t) == t->dim(), op,
                ": a sparse operand must have only sparse dims, got ", *t, " with ", sparse_dim_of(*t), " sparse dims");
}

Tensor times_dense(const Tensor& s, const Tensor& mat, bool transposed) {
  const Tensor &i = indices_of(s), rows = select(i, 0, transposed), columns = select(i, 0, !transposed);
  return _sparse_matmul(rows, columns, values_of(s), mat, s.size(transposed));
}

Tensor mm_sparse(const Tensor& self, const Tensor& mat2) {
  TORCH_CHECK(self.dim() == 2 && mat2.dim() == 2, "mm: expected two matrices, got shapes ", self.sizes(), " and ",
              mat2.sizes());
  TORCH_CHECK(self.size(1) == mat2.size(0), "mm: mat1 and mat2 shapes cannot be multiplied (", self.size(0), "x",
              self.size(1), " and ", mat2.size(0), "x", mat2.size(1), ")");
  check_product("mm", self, mat2);
  if (!is_sparse(self)) return transpose(times_dense(mat2, transpose(self, 0, 1), true), 0, 1);
  if (!is_sparse(mat2)) return times_dense(self, mat2, false);
  const Tensor a = coalesce(self), b = coalesce(mat2);
  const int64_t sizes[] = {a.size(0), a.size(1), b.size(1)};
  auto [indices, values] =
      _sparse_sparse_matmul(indices_of(a), values_of(a), indices_of(b), values_of(b), IntArrayRef(sizes));
  return _sparse_coo_tensor_unsafe(indices, values, {a.size(0), b.size(1)}, true);
}
Tensor mv_sparse(const Tensor& self, const Tensor& vec) {
  TORCH_CHECK_IMPLEMENTED(is_sparse(self) && !is_sparse(vec),
                          "mv: a sparse matrix takes a dense vector; use to_dense()");
  TORCH_CHECK(self.dim() == 2 && vec.dim() == 1 && self.size(1) == vec.size(0), "mv: a matrix ", self.sizes(),
              " and a vector ", vec.sizes(), " cannot be multiplied");
  return squeeze(mm_sparse(self, unsqueeze(vec, 1)), IntArrayRef({1}));
}
// The matrices of a batch as blocks along the diagonal of one.
Tensor bmm_sparse(const Tensor& self, const Tensor& mat2) {
  TORCH_CHECK_IMPLEMENTED(is_sparse(self) && !is_sparse(mat2),
                          "bmm: a sparse batch on the left and a dense one on the right are there; use to_dense()");
  TORCH_CHECK(self.dim() == 3 && mat2.dim() == 3 && self.size(0) == mat2.size(0) && self.size(2) == mat2.size(1),
              "bmm: batches of matrices ", self.sizes(), " and ", mat2.sizes(), " cannot be multiplied");
  check_product("bmm", self, mat2);
  const int64_t batch = self.size(0), n = self.size(1), m = self.size(2);
  linear_indices("bmm", self);
  Tensor b = select(indices_of(self), 0, 0);
  Tensor rows = add(mul(b, number(n)), select(indices_of(self), 0, 1)),
         columns = add(mul(b, number(m)), select(indices_of(self), 0, 2));
  Tensor out = _sparse_matmul(rows, columns, values_of(self), reshape(mat2, {batch * m, mat2.size(2)}), batch * n);
  return reshape(out, {batch, n, mat2.size(2)});
}
Tensor matmul_sparse(const Tensor& self, const Tensor& other) {
  if (self.dim() == 2 && other.dim() == 2) return mm_sparse(self, other);
  if (self.dim() == 2 && other.dim() == 1) return mv_sparse(self, other);
  if (self.dim() == 1 && other.dim() == 2 && !is_sparse(self)) return mv_sparse(transpose(other, 0, 1), self);
  if (self.dim() == 3 && other.dim() == 3) return bmm_sparse(self, other);
  throw_error(ErrorKind::NotImplemented,
              message("matmul: shapes ", self.sizes(), " and ", other.sizes(),
                      " have no product with a sparse operand; matrices, a matrix and a vector, and batches have. Use "
                      "to_dense() first"));
}

Tensor scaled(const Tensor& t, const Scalar& by) { return is_one(by) ? t : mul(t, number(by)); }
bool is_zero(const Scalar& v) { return !v.is_complex() && v.to_double() == 0; }

Tensor addmm_sparse(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                    const Scalar& alpha) {
  Tensor r = mm_sparse(mat1, mat2);
  if (!is_sparse(r)) {
    TORCH_CHECK(!is_sparse(self),
                "addmm: self is sparse and the product dense; use torch.sspaddmm for a sparse result");
    r = scaled(r, alpha);
    return is_zero(beta) ? add(r, zeros_like(self)) : add(r, scaled(self, beta));
  }
  return is_zero(beta) ? scaled(r, alpha) : add(scaled(self, beta), r, alpha);
}
Tensor addmm_sparse_(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                     const Scalar& alpha) {
  if (is_sparse(self)) return _sparse_assign_(self, addmm_sparse(self, mat1, mat2, beta, alpha));
  Tensor r = mm_sparse(mat1, mat2);
  TORCH_CHECK(self.sizes() == r.sizes(), "addmm_: self ", self.sizes(), " must have the shape ", r.sizes(),
              " of the product");
  if (is_zero(beta))
    zero_(self);
  else if (!is_one(beta))
    mul_(self, number(beta));
  return add_(self, r, alpha);
}

void check_sparse_dense(const char* op, const Tensor& mat1, const Tensor& mat2) {
  TORCH_CHECK(is_sparse(mat1) && !is_sparse(mat2), op,
              ": expected a sparse matrix on the left and a dense one on the right");
  TORCH_CHECK(mat1.dim() == 2 && mat2.dim() == 2 && mat1.size(1) == mat2.size(0), op, ": matrices ", mat1.sizes(),
              " and ", mat2.sizes(), " cannot be multiplied");
  check_product(op, mat1, mat2);
}
Tensor hspmm_composite(const Tensor& mat1, const Tensor& mat2) {
  check_sparse_dense("hspmm", mat1, mat2);
  const Tensor s = coalesce(mat1);
  linear_indices("hspmm", s);
  Tensor rows = clone(select(indices_of(s), 0, 0));
  Groups g = group_equal(rows, s.size(0));
  Tensor values =
      _sparse_matmul(segment_numbers(g.order, g.bounds), select(indices_of(s), 0, 1), values_of(s), mat2, g.count());
  return _sparse_coo_tensor_unsafe(unsqueeze(index_select(rows, 0, g.firsts()), 0), values, {s.size(0), mat2.size(1)},
                                   true);
}
Tensor smm_composite(const Tensor& self, const Tensor& mat2) {
  Tensor h = hspmm_composite(self, mat2);
  const int64_t rows = nnz_of(h), width = mat2.size(1);
  Tensor row = reshape(expand(reshape(indices_of(h), {-1, 1}), {rows, width}), {1, -1});
  Tensor column = reshape(expand(arange(width, DType::Int64, h.device()), {rows, width}), {1, -1});
  return _sparse_coo_tensor_unsafe(cat(std::vector<Tensor>{row, column}, 0), reshape(values_of(h), {rows * width}),
                                   h.sizes(), true);
}
Tensor sspaddmm_composite(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                          const Scalar& alpha) {
  sparse_parts("sspaddmm", self);
  check_sparse_dense("sspaddmm", mat1, mat2);
  TORCH_CHECK(self.dim() == 2 && self.size(0) == mat1.size(0) && self.size(1) == mat2.size(1), "sspaddmm: self ",
              self.sizes(), " must have the shape (", mat1.size(0), ", ", mat2.size(1), ") of the product");
  return add(scaled(self, beta), smm_composite(mat1, mat2), alpha);
}

}  // namespace

const SparseWork sparse_on_cpu{nullptr,           segment_sum_on_cpu, matmul_on_cpu,
                               csr_matmul_on_cpu, sampled_on_cpu,     winners_on_cpu};

void register_sparse_matmul() {
  set_native<op::_sparse_matmul>(matmul_kernel);
  set_native<op::_sparse_sampled>(sampled_kernel);
  set_native<op::_sparse_sparse_matmul>(sparse_sparse_kernel);
  set_sparse<op::mm>(mm_sparse);
  set_sparse<op::mv>(mv_sparse);
  set_sparse<op::bmm>(bmm_sparse);
  set_sparse<op::matmul>(matmul_sparse);
  set_sparse<op::addmm>(addmm_sparse);
  set_sparse<op::addmm_>(addmm_sparse_);
  set_composite_of_both<op::hspmm>(hspmm_composite);
  set_composite_of_both<op::smm>(smm_composite);
  set_composite_of_both<op::sspaddmm>(sspaddmm_composite);
}

}  // namespace torch
