// Symmetric matrices that need not be definite: Bunch and Kaufman's A = L D L^T, and Cholesky with pivoting.
#include "dispatch/work.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/through_cpu.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/view.h"

namespace torch::linalg {

namespace {

using lapack::Routine;
constinit Routine sytrf{"sytrf"}, hetrf{"hetrf"}, sytrs{"sytrs"}, hetrs{"hetrs"}, pstrf_{"pstrf"};

// Hermitian ones differ from symmetric ones where they are complex.
template <class T>
Routine& which(bool hermitian, Routine& he, Routine& sy) {
  return hermitian && lapack::is_complex_v<T> ? he : sy;
}

std::string singular_block(int at) {
  return message("the matrix is singular: D[", at - 1, ", ", at - 1, "] of its factorization is zero");
}

std::tuple<Tensor, Tensor, Tensor> ldl_factor_ex(const Tensor& a, bool hermitian, bool check_errors) {
  const char* const op = "linalg.ldl_factor";
  check_square(op, a);
  const int n = int(a.size(-1));
  Tensor ld = column_copy(a), pivots = empty_tensor(joined(batch_sizes(a), {n}), DType::Int32, a.device());
  Tensor info = empty_tensor(batch_sizes(a), DType::Int32, a.device());
  if (!host_work(ld)) return {ld, pivots, info};
  with_type(a.dtype(), [&]<class T>(T) {
    for_each_matrix(info.numel(), double(n) * n * n / 3, [&](int64_t b) {
      T* const x = ld.data<T>() + b * n * n;
      int* const failed = info.data<int>() + b;
      *failed = 0;
      if (n == 0) return;
      const auto run = [&](T* work, int size) {
        which<T>(hermitian, hetrf, sytrf)
            .template call<T>(op, 'L', n, x, n, pivots.data<int>() + b * n, work, size, failed);
      };
      std::vector<T> work = workspace<T>(run);
      run(work.data(), int(work.size()));
      for (int64_t j = 1; j < n; ++j) std::fill(x + j * n, x + j * n + j, T(0));
    });
  });
  if (check_errors) check_info(op, info, singular_block);
  return {ld, pivots, info};
}
std::tuple<Tensor, Tensor> ldl_factor(const Tensor& a, bool hermitian) {
  const auto [ld, pivots, info] = linalg_ldl_factor_ex(a, hermitian, false);
  check_info("linalg.ldl_factor", info, singular_block);
  return {ld, pivots};
}

Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
  const char* const op = "linalg.ldl_solve";
  check_square(op, ld, "LD");
  check_matrices(op, b, "B");
  check_same_dtype(op, ld, b);
  TORCH_CHECK(b.size(-2) == ld.size(-1), op, ": Incompatible shapes of A and B for the equation AX = B: (", ld.size(-2),
              "x", ld.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
  TORCH_CHECK(pivots.dtype() == DType::Int32 || pivots.dtype() == DType::Int64, op,
              ": Expected pivots to be integers. Got ", pivots.dtype());
  TORCH_CHECK(pivots.sizes() == ld.sizes().slice(0, size_t(ld.dim() - 1)), op,
              ": Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape ", pivots.sizes(),
              " and LD with shape ", ld.sizes());
  const auto [f, rhs] = with_common_batch(op, ld, b);
  Tensor x = column_copy(rhs);
  if (x.numel() == 0 || !host_work(x)) return x;
  const int n = int(x.size(-2)), k = int(x.size(-1));
  const Tensor swaps = as_contiguous(expand(pivots, f.sizes().slice(0, size_t(f.dim() - 1))), DType::Int32);
  const Tensor factor = column_copy(f);
  for (int64_t i = 0; i < swaps.numel(); ++i) {
    const int at = swaps.data<int>()[i];
    TORCH_CHECK(at != 0 && std::abs(at) <= n, op, ": pivots must be between 1 and ", n, " in modulus, got ", at);
  }
  with_type(ld.dtype(), [&]<class T>(T) {
    for_each_matrix(count_of(batch_sizes(x)), 2.0 * n * n * k, [&](int64_t i) {
      int info = 0;
      which<T>(hermitian, hetrs, sytrs)
          .template call<T>(op, 'L', n, k, factor.data<T>() + i * n * n, n, swaps.data<int>() + i * n,
                            x.data<T>() + i * n * k, n, &info);
      check_arguments(op, info);
    });
  });
  return x;
}

std::tuple<Tensor, Tensor> pstrf(const Tensor& a, bool upper, const Scalar& tol) {
  const char* const op = "pstrf";
  check_square(op, a);
  TORCH_CHECK(a.dim() == 2, op, ": expected a matrix (2-d), got shape ", a.sizes());
  const int n = int(a.size(-1));
  Tensor u = column_copy(a), order = empty_tensor({n}, DType::Int32, a.device());
  if (n == 0 || !host_work(u)) return {u, order};
  with_type(a.dtype(), [&]<class T>(T) {
    using R = lapack::real_t<T>;
    std::vector<R> work(2 * size_t(n));
    int rank = 0, info = 0;
    pstrf_.call<T>(op, upper ? 'U' : 'L', n, u.data<T>(), n, order.data<int>(), &rank, R(tol.to_double()), work.data(),
                   &info);
    check_arguments(op, info);
    T* const x = u.data<T>();
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < n; ++i)  // what lies beyond the rank was not eliminated
        if ((upper ? i > j : i < j) || (info > 0 && i >= rank && j >= rank)) x[j * n + i] = T(0);
    for (int64_t i = 0; i < n; ++i) --order.data<int>()[i];
  });
  return {u, order};
}

}  // namespace

void register_symmetric() {
  set_lapack<op::linalg_ldl_factor_ex, ldl_factor_ex>();
  set_composite<op::linalg_ldl_factor>(ldl_factor);
  set_lapack<op::linalg_ldl_solve, ldl_solve>();
  set_lapack<op::pstrf, pstrf>();
}

}  // namespace torch::linalg
