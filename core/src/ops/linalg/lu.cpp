// LU factorization, A = P L U with row swaps, and what it gives: inverse, determinants, solutions.
#include <cmath>
#include <numeric>

#include "dispatch/work.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/through_cpu.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/sort.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::linalg {

namespace {

using lapack::Routine;
constinit Routine getrf{"getrf"}, getrs{"getrs"}, getri{"getri"};

Tensor ints(IntArrayRef sizes, const Tensor& like) { return empty_tensor(sizes, DType::Int32, like.device()); }
double cube(int64_t n) { return double(n) * double(n) * double(n); }

// --- factorization ---

// What LAPACK's getrf does, for matrices that are smaller than the way there (10000 of 3 by 3: 1.4 ms, then 0.4).
constexpr int kSmall = 12;
template <class T>
int factor_small(T* a, int rows, int columns, int* pivots) {
  const auto size = [](T x) { return std::abs(std::real(x)) + std::abs(std::imag(x)); };  // as LAPACK compares
  int zero = 0;
  for (int j = 0; j < std::min(rows, columns); ++j) {
    T* const column = a + j * rows;
    int top = j;
    for (int i = j + 1; i < rows; ++i)
      if (size(column[i]) > size(column[top])) top = i;
    pivots[j] = top + 1;
    if (column[top] == T(0)) {
      if (!zero) zero = j + 1;
      continue;
    }
    if (top != j)
      for (int k = 0; k < columns; ++k) std::swap(a[k * rows + j], a[k * rows + top]);
    for (int i = j + 1; i < rows; ++i) column[i] /= column[j];
    for (int k = j + 1; k < columns; ++k) {
      const T factor = a[k * rows + j];
      for (int i = j + 1; i < rows; ++i) a[k * rows + i] -= column[i] * factor;
    }
  }
  return zero;
}

// In place; LAPACK sees `rows` by `columns` matrices, which are the transposes where memory goes row by row.
template <class T>
void factor(const char* op, T* a, int rows, int columns, int* pivots, int* info) {
  *info = 0;
  if (std::max(rows, columns) <= kSmall)
    *info = factor_small(a, rows, columns, pivots);
  else if (rows && columns)
    getrf.call<T>(op, rows, columns, a, std::max(rows, 1), pivots, info);
  check_arguments(op, *info);
}

std::tuple<Tensor, Tensor, Tensor> lu_factor_ex(const Tensor& a, bool pivot, bool check_errors) {
  const char* const op = "linalg.lu_factor";
  check_matrices(op, a);
  TORCH_CHECK_IMPLEMENTED(pivot, op, ": LU without pivoting is not implemented on the CPU; leave out pivot=False");
  const int m = int(a.size(-2)), n = int(a.size(-1)), k = std::min(m, n);
  Tensor lu = column_copy(a), pivots = ints(joined(batch_sizes(a), {k}), a), info = ints(batch_sizes(a), a);
  if (const SolverWork* const solver = solver_of(lu)) {
    solver->lu(op, lu, m, n, pivots, info);
    if (check_errors) check_info(op, info, singular_text);
    return {lu, pivots, info};
  }
  if (!host_work(lu)) return {lu, pivots, info};
  with_type(a.dtype(), [&]<class T>(T) {
    for_each_matrix(info.numel(), double(m) * n * k, [&](int64_t b) {
      factor(op, lu.data<T>() + b * m * n, m, n, pivots.data<int>() + b * k, info.data<int>() + b);
    });
  });
  if (check_errors) check_info(op, info, singular_text);
  return {lu, pivots, info};
}

std::tuple<Tensor, Tensor> lu_factor(const Tensor& a, bool pivot) {
  auto [lu, pivots, info] = linalg_lu_factor_ex(a, pivot, false);
  check_info("linalg.lu_factor", info, singular_text);
  return {lu, pivots};
}

// The swaps, done in turn to 0, 1, ..., rows - 1.
Tensor permutation(const Tensor& pivots, int64_t rows) {
  const char* const op = "lu_unpack";
  TORCH_CHECK(pivots.dtype() == DType::Int32, op, ": LU_pivots is expected to be a contiguous tensor of torch.int32 ",
              "dtype, got ", pivots.dtype(), "; make it with torch.linalg.lu_factor");
  TORCH_CHECK(pivots.dim() >= 1, op, ": LU_pivots must have at least one dimension, got shape ", pivots.sizes());
  const int64_t k = pivots.size(-1), batch = count_of(batch_sizes(pivots, 1));
  Tensor order = empty_tensor(joined(batch_sizes(pivots, 1), {rows}), DType::Int64, pivots.device());
  if (!host_work(order)) return order;
  const Tensor swaps = as_contiguous(pivots, DType::Int32);
  for (int64_t b = 0; b < batch; ++b) {
    int64_t* const at = order.data<int64_t>() + b * rows;
    std::iota(at, at + rows, 0);
    for (int64_t i = 0; i < k; ++i) {
      const int with = swaps.data<int>()[b * k + i];
      TORCH_CHECK(with >= 1 && with <= rows && i < rows, op, ": pivots passed to lu_unpack must be between 1 and ",
                  rows, ", the number of rows, got ", with);
      std::swap(at[i], at[with - 1]);
    }
  }
  return order;
}

std::tuple<Tensor, Tensor, Tensor> unpack(const Tensor& data, const Tensor& pivots, bool with_data, bool with_pivots) {
  const char* const op = "lu_unpack";
  TORCH_CHECK(data.dim() >= 2, op, ": LU_data must have at least 2 dimensions, got shape ", data.sizes());
  TORCH_CHECK(!with_pivots || pivots.dtype() == DType::Int32, op,
              ": LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, got ", pivots.dtype(),
              "; make it with torch.linalg.lu_factor");
  const int64_t m = data.size(-2), n = data.size(-1), k = std::min(m, n);
  Tensor p = empty_tensor({0}, data.dtype(), data.device()), l = empty_tensor({0}, data.dtype(), data.device()), u = l;
  if (with_data) {
    l = tril(narrow(data, -1, 0, k), -1) + eye(m, k, data.dtype(), data.device());
    u = triu(narrow(data, -2, 0, k));
  } else {
    u = empty_tensor({0}, data.dtype(), data.device());
  }
  if (with_pivots) {  // row order[i] of P is row i of the identity
    const Tensor order = _lu_permutation(pivots, m);
    const Tensor rows = unsqueeze(arange(m, std::nullopt, data.device()), -1);
    p = _to_copy(eq(unsqueeze(order, -2), rows), data.dtype());
  }
  return {p, l, u};
}

std::tuple<Tensor, Tensor, Tensor> lu(const Tensor& a, bool pivot) {
  const auto [data, pivots, info] = linalg_lu_factor_ex(a, pivot, false);
  return unpack(data, pivots, true, true);
}

// P^T B, or P B.
Tensor permuted(const Tensor& b, const Tensor& pivots, bool back) {
  Tensor order = _lu_permutation(pivots, b.size(-2));
  if (back) order = argsort(order);
  if (order.dim() == 1) return index_select(b, -2, order);
  return gather(b, -2, expand(unsqueeze(order, -1), b.sizes()));
}

Tensor lu_solve_with(const char* op, const Tensor& data, const Tensor& pivots, const Tensor& b, bool left,
                     bool adjoint) {
  check_square(op, data, "LU");
  check_matrices(op, b, "B");
  check_same_dtype(op, data, b);
  TORCH_CHECK(pivots.dtype() == DType::Int32, op, ": pivots should be a Tensor of torch.int32, got ", pivots.dtype());
  TORCH_CHECK(pivots.dim() == data.dim() - 1 && pivots.sizes() == data.sizes().slice(0, size_t(data.dim() - 1)), op,
              ": Number of pivots per batch should be same as the dimension of the matrix, got shapes ", pivots.sizes(),
              " and ", data.sizes());
  TORCH_CHECK(b.size(left ? -2 : -1) == data.size(-1), op, ": Incompatible shapes of A and B for the equation ",
              left ? "AX = B" : "XA = B", ": (", data.size(-2), "x", data.size(-1), " and ", b.size(-2), "x",
              b.size(-1), ")");
  if (!left) return mH(lu_solve_with(op, data, pivots, mH(b), true, !adjoint));
  auto [f, rhs] = with_common_batch(op, data, b);
  const Tensor swaps = f.sizes() == data.sizes() ? pivots : expand(pivots, f.sizes().slice(0, size_t(f.dim() - 1)));
  if (!adjoint) {
    const Tensor y = linalg_solve_triangular(f, permuted(rhs, swaps, false), false, true, true);
    return linalg_solve_triangular(f, y, true);
  }
  const Tensor fh = mH(f), y = linalg_solve_triangular(fh, rhs, false);
  return permuted(linalg_solve_triangular(fh, y, true, true, true), swaps, true);
}
Tensor lu_solve(const Tensor& data, const Tensor& pivots, const Tensor& b, bool left, bool adjoint) {
  return lu_solve_with("linalg.lu_solve", data, pivots, b, left, adjoint);
}
Tensor lu_solve_old(const Tensor& b, const Tensor& data, const Tensor& pivots) {
  return lu_solve_with("lu_solve", data, pivots, b, true, false);
}

// --- inverse ---

// Row by row: the transpose's inverse is the inverse's transpose.
std::tuple<Tensor, Tensor> inv_ex(const Tensor& a, bool check_errors) {
  const char* const op = "linalg.inv";
  check_square(op, a);
  const int n = int(a.size(-1));
  Tensor inverse = row_copy(a), info = ints(batch_sizes(a), a);
  if (const SolverWork* const solver = solver_of(inverse)) {
    const Tensor unit = identity(n, a), pivots = ints(joined(batch_sizes(a), {n}), a);
    solver->lu(op, inverse, n, n, pivots, info);
    const Tensor x = row_copy(expand(unit, a.sizes()));
    solver->lu_solve(op, inverse, pivots, x, n, n);
    if (check_errors) check_info(op, info, singular_text);
    return {x, info};
  }
  if (!host_work(inverse)) return {inverse, info};
  with_type(a.dtype(), [&]<class T>(T) {
    for_each_matrix(info.numel(), 2 * cube(n), [&](int64_t b) {
      T* const x = inverse.data<T>() + b * n * n;
      int* const failed = info.data<int>() + b;
      std::vector<int> pivots(size_t(n) + 1);
      factor(op, x, n, n, pivots.data(), failed);
      if (*failed) std::fill_n(x, n * n, T(NAN));  // not the factors, which look like a result
      if (*failed || n == 0) return;
      const auto run = [&](T* work, int size) { getri.call<T>(op, n, x, n, pivots.data(), work, size, failed); };
      std::vector<T> work = n <= kSmall ? std::vector<T>(size_t(n)) : workspace<T>(run);
      run(work.data(), int(work.size()));
    });
  });
  if (check_errors) check_info(op, info, singular_text);
  return {inverse, info};
}

// --- determinants ---

// f(diagonal of U as T*, its stride, whether an odd number of rows was swapped, batch)
template <class T, class F>
void for_each_diagonal(const char* op, const Tensor& a, F f) {
  const int n = int(a.size(-1));
  Tensor lu = row_copy(a);  // the transpose has the same determinant
  for_each_matrix(count_of(batch_sizes(a)), cube(n), [&](int64_t b) {
    T* const x = lu.data<T>() + b * n * n;
    std::vector<int> pivots(size_t(n) + 1);
    int info;
    factor(op, x, n, n, pivots.data(), &info);
    bool odd = false;
    for (int i = 0; i < n; ++i) odd ^= pivots[size_t(i)] != i + 1;
    f(x, n + 1, odd, b);
  });
}

// The same on a device: the diagonal, and -1 where an odd number of rows was swapped, else 1.
std::pair<Tensor, Tensor> diagonal_by(const SolverWork& solver, const char* op, const Tensor& a) {
  const int64_t n = a.size(-1);
  const Tensor lu = row_copy(a), pivots = ints(joined(batch_sizes(a), {n}), a), info = ints(batch_sizes(a), a);
  solver.lu(op, lu, n, n, pivots, info);
  const Tensor swapped = ne(pivots, arange(n, DType::Int32, a.device()) + 1);
  const Tensor sign = 1 - 2 * remainder(sum(swapped, IntArrayRef{-1}), number(2));
  return {diagonal(lu, 0, -2, -1), _to_copy(sign, a.dtype())};
}

Tensor det(const Tensor& a) {
  check_square("linalg.det", a);
  if (const SolverWork* const solver = solver_of(a)) {
    const auto [u, sign] = diagonal_by(*solver, "linalg.det", a);
    return prod(u, -1) * sign;
  }
  Tensor out = empty_tensor(batch_sizes(a), a.dtype(), a.device());
  if (!host_work(out)) return out;
  with_type(a.dtype(), [&]<class T>(T) {
    for_each_diagonal<T>("linalg.det", a, [&](const T* u, int64_t step, bool odd, int64_t b) {
      T product = odd ? T(-1) : T(1);
      for (int64_t i = 0; i < a.size(-1); ++i) product *= u[i * step];
      out.data<T>()[b] = product;
    });
  });
  return out;
}

std::tuple<Tensor, Tensor> slogdet(const Tensor& a) {
  check_square("linalg.slogdet", a);
  if (const SolverWork* const solver = solver_of(a)) {
    const auto [u, swaps] = diagonal_by(*solver, "linalg.slogdet", a);
    return {prod(sgn(u), -1) * swaps, sum(log(abs(u)), IntArrayRef{-1})};
  }
  Tensor sign = empty_tensor(batch_sizes(a), a.dtype(), a.device());
  Tensor logarithm = empty_tensor(batch_sizes(a), real_of(a.dtype()), a.device());
  if (!host_work(sign)) return {sign, logarithm};
  with_type(a.dtype(), [&]<class T>(T) {
    using R = lapack::real_t<T>;
    for_each_diagonal<T>("linalg.slogdet", a, [&](const T* u, int64_t step, bool odd, int64_t b) {
      T s = odd ? T(-1) : T(1);
      R sum = 0;
      for (int64_t i = 0; i < a.size(-1); ++i) {
        const R size = std::abs(u[i * step]);
        s *= size == 0 ? T(0) : T(u[i * step] / size);
        sum += std::log(size);
      }
      sign.data<T>()[b] = s;
      logarithm.data<R>()[b] = sum;
    });
  });
  return {sign, logarithm};
}

// --- solutions ---

std::tuple<Tensor, Tensor, Tensor, Tensor> solve_with_factors(const Tensor& a, const Tensor& b, bool check_errors) {
  const char* const op = "linalg.solve";
  check_square(op, a);
  check_right_side(op, a, b);
  const int n = int(a.size(-1)), k = int(b.size(-1));
  Tensor lu = column_copy(a), x = column_copy(b), pivots = ints(joined(batch_sizes(a), {n}), a);
  Tensor info = ints(batch_sizes(a), a);
  if (const SolverWork* const solver = solver_of(lu)) {
    solver->lu(op, lu, n, n, pivots, info);
    if (k) solver->lu_solve(op, lu, pivots, x, n, k);
    if (check_errors) check_info(op, info, singular_text);
    return {x, lu, pivots, info};
  }
  if (!host_work(x)) return {x, lu, pivots, info};
  with_type(a.dtype(), [&]<class T>(T) {
    for_each_matrix(info.numel(), cube(n) + double(n) * n * k, [&](int64_t i) {
      T* const f = lu.data<T>() + i * n * n;
      int* const swaps = pivots.data<int>() + i * n;
      int* const failed = info.data<int>() + i;
      factor(op, f, n, n, swaps, failed);
      if (n == 0 || k == 0) return;
      int illegal = 0;  // a singular one gives infinities, as division does
      getrs.call<T>(op, 'N', n, k, f, n, swaps, x.data<T>() + i * n * k, n, &illegal);
      check_arguments(op, illegal);
    });
  });
  if (check_errors) check_info(op, info, singular_text);
  return {x, lu, pivots, info};
}

}  // namespace

void register_lu() {
  set_lapack<op::linalg_lu_factor_ex, lu_factor_ex, kSolved>();
  set_composite<op::linalg_lu_factor>(lu_factor);
  set_composite<op::linalg_lu>(lu);
  set_lapack<op::_lu_permutation, permutation>();
  set_composite<op::lu_unpack>(unpack);
  set_composite<op::linalg_lu_solve>(lu_solve);
  set_composite<op::lu_solve>(lu_solve_old);
  set_lapack<op::linalg_inv_ex, inv_ex, kSolved>();
  set_lapack<op::linalg_det, det, kSolved>();
  set_lapack<op::linalg_slogdet, slogdet, kSolved>();
  set_lapack<op::_linalg_solve, solve_with_factors, kSolved>();
}

}  // namespace torch::linalg
