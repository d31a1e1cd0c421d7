// Cholesky factorization of Hermitian positive definite matrices, A = L L^H, and what it gives.
#include <cmath>
#include <complex>

#include "dispatch/work.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/through_cpu.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::linalg {

namespace {

constinit lapack::Routine potrf{"potrf"};

std::string not_positive(int order) {
  return message("the leading minor of order ", order, " is not positive: the matrix is not positive-definite");
}

// The first pivot that is NaN, counted from 1, or 0. OpenBLAS asks only whether one is at most zero, and goes on.
template <class T>
int pivot_that_is_nan(const T* factor, int n) {
  for (int i = 0; i < n; ++i)
    if (std::isnan(std::real(factor[int64_t(i) * (n + 1)]))) return i + 1;
  return 0;
}

// The same of matrices on a device.
void say_pivots_that_are_nan(const Tensor& l, const Tensor& info) {
  const Tensor nan = isnan(diagonal(l, 0, -2, -1));
  const Tensor first = _to_copy(argmax(_to_copy(nan, DType::Int32), -1), DType::Int32) + 1;
  copy_(info, where(logical_and(eq(info, number(0)), any(nan, IntArrayRef{-1})), first, info));
}

// Memory goes row by row, where LAPACK sees the transpose: conj(A) = U^H U there is A = L L^H with L = U^T here.
std::tuple<Tensor, Tensor> cholesky_ex(const Tensor& a, bool upper, bool check_errors) {
  const char* const op = "linalg.cholesky";
  check_square(op, a);
  const int n = int(a.size(-1));
  Tensor l = row_copy(a), info = empty_tensor(batch_sizes(a), DType::Int32, a.device());
  if (const SolverWork* const solver = solver_of(l)) {
    solver->cholesky(op, l, upper, info);
    l = upper ? triu(l) : tril(l);
    say_pivots_that_are_nan(l, info);
    if (check_errors) check_info(op, info, not_positive);
    return {l, info};
  }
  if (!host_work(l)) return {l, info};
  with_type(a.dtype(), [&]<class T>(T) {
    for_each_matrix(info.numel(), double(n) * n * n / 3, [&](int64_t b) {
      T* const x = l.data<T>() + b * n * n;
      int* const failed = info.data<int>() + b;
      *failed = 0;
      if (n) potrf.call<T>(op, upper ? 'L' : 'U', n, x, n, failed);
      if (*failed == 0) *failed = pivot_that_is_nan(x, n);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = upper ? 0 : i + 1; j < (upper ? i : n); ++j) x[i * n + j] = T(0);
    });
  });
  if (check_errors) check_info(op, info, not_positive);
  return {l, info};
}

Tensor factor(const char* op, const Tensor& a, bool upper) {
  const auto [l, info] = linalg_cholesky_ex(a, upper, false);
  check_info(op, info, not_positive);
  return l;
}
Tensor cholesky_of(const Tensor& a, bool upper) { return factor("linalg.cholesky", a, upper); }
Tensor cholesky_old(const Tensor& self, bool upper) { return factor("cholesky", self, upper); }
Tensor potrf_of(const Tensor& self, bool upper) { return factor("potrf", self, upper); }

Tensor cholesky_solve(const Tensor& b, const Tensor& l, bool upper) {
  const char* const op = "cholesky_solve";
  check_square(op, l, "the factor");
  check_matrices(op, b, "B");
  TORCH_CHECK(b.size(-2) == l.size(-1), op, ": Incompatible matrix sizes: each A matrix is ", l.size(-1), " by ",
              l.size(-1), " but each b matrix is ", b.size(-2), " by ", b.size(-1));
  const Tensor lh = mH(l);
  const Tensor y = linalg_solve_triangular(upper ? lh : l, b, false);
  return linalg_solve_triangular(upper ? l : lh, y, true);
}
Tensor potrs(const Tensor& self, const Tensor& l, bool upper) { return torch::cholesky_solve(self, l, upper); }

// L^-H L^-1
Tensor cholesky_inverse(const Tensor& l, bool upper) {
  check_square("cholesky_inverse", l, "the factor");
  const Tensor i = linalg_solve_triangular(l, identity(l.size(-1), l), upper);
  return upper ? matmul(i, mH(i)) : matmul(mH(i), i);
}
Tensor potri(const Tensor& self, bool upper) { return torch::cholesky_inverse(self, upper); }

}  // namespace

void register_cholesky() {
  set_lapack<op::linalg_cholesky_ex, cholesky_ex, kSolved>();
  set_composite<op::linalg_cholesky>(cholesky_of);
  set_composite<op::cholesky>(cholesky_old);
  set_composite<op::potrf>(potrf_of);
  set_native<op::cholesky_solve>(cholesky_solve);
  set_composite<op::potrs>(potrs);
  set_native<op::cholesky_inverse>(cholesky_inverse);
  set_composite<op::potri>(potri);
}

}  // namespace torch::linalg
