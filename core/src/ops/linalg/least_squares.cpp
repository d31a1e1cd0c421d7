// Least squares, pseudoinverse and rank.
#include <limits>

#include "dispatch/work.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/through_cpu.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::linalg {

namespace {

using lapack::Routine;
constinit Routine gels{"gels"}, gelsy{"gelsy"}, gelsd{"gelsd"}, gelss{"gelss"};

double epsilon_of(DType t) {
  return real_of(t) == DType::Float64 ? std::numeric_limits<double>::epsilon()
                                      : double(std::numeric_limits<float>::epsilon());
}

// --- least squares ---

// A (m, n) and B (max(m, n), k) in columns; both are overwritten. `s`: k real numbers.
template <class T>
void least_squares(const char* op, std::string_view driver, int m, int n, int k, T* a, T* b, double rcond,
                   lapack::real_t<T>* s, int* rank, int* info) {
  using R = lapack::real_t<T>;
  const int rows = std::max({1, m, n}), lda = std::max(1, m), few = std::min(m, n);
  std::vector<int> integers(static_cast<size_t>(n) + 1);
  std::vector<R> reals;
  const auto solve = [&](T* work, int size) {
    if (driver == "gels") {
      gels.call<T>(op, 'N', m, n, k, a, lda, b, rows, work, size, info);
    } else if (driver == "gelsy") {
      if constexpr (lapack::is_complex_v<T>) {
        reals.resize(2 * size_t(n) + 1);
        gelsy.call<T>(op, m, n, k, a, lda, b, rows, integers.data(), R(rcond), rank, work, size, reals.data(), info);
      } else {
        gelsy.call<T>(op, m, n, k, a, lda, b, rows, integers.data(), R(rcond), rank, work, size, info);
      }
    } else if (driver == "gelss") {
      if constexpr (lapack::is_complex_v<T>) {
        reals.resize(5 * size_t(few) + 1);
        gelss.call<T>(op, m, n, k, a, lda, b, rows, s, R(rcond), rank, work, size, reals.data(), info);
      } else {
        gelss.call<T>(op, m, n, k, a, lda, b, rows, s, R(rcond), rank, work, size, info);
      }
    } else {
      // What gelsd needs besides it tells in the first elements when asked.
      if (size == -1) integers.assign(1, 0), reals.assign(1, R(0));
      if constexpr (lapack::is_complex_v<T>)
        gelsd.call<T>(op, m, n, k, a, lda, b, rows, s, R(rcond), rank, work, size, reals.data(), integers.data(), info);
      else
        gelsd.call<T>(op, m, n, k, a, lda, b, rows, s, R(rcond), rank, work, size, integers.data(), info);
      if (size == -1) {
        integers.resize(size_t(std::max(1, integers[0])));
        reals.resize(size_t(std::max(1.0, double(reals[0]))));
      }
    }
  };
  std::vector<T> work = workspace<T>(solve);
  solve(work.data(), int(work.size()));
  check_arguments(op, *info);
}

std::string not_solved(int at) {
  return message(
      "the least squares problem could not be solved: A is not of full rank (driver 'gels') or its singular "
      "values did not converge (",
      at, ")");
}

// By the device's own factorization, as LAPACK's gels: A or, where it is wide, its adjoint is Q R.
std::pair<Tensor, Tensor> solve_by_reflections(const Tensor& a, const Tensor& b) {
  const int64_t m = a.size(-2), n = a.size(-1), few = std::min(m, n);
  const bool wide = m < n;
  const auto [f, tau] = geqrf(wide ? mH(a) : a);
  const Tensor r = narrow(f, -2, 0, few);
  Tensor x;
  if (wide) {  // the shortest of the solutions
    const Tensor y = linalg_solve_triangular(mH(r), b, false);
    x = ormqr(
        f, tau,
        cat(std::vector<Tensor>{y, zeros(joined(batch_sizes(a), {n - m, b.size(-1)}), a.dtype(), a.device())}, -2));
  } else {
    x = linalg_solve_triangular(r, narrow(ormqr(f, tau, b, true, true), -2, 0, n), true);
  }
  Tensor residuals = empty_tensor({0}, real_of(a.dtype()), a.device());
  if (m > n) {
    const Tensor rest = abs(sub(b, matmul(a, x)));
    residuals = sum(mul(rest, rest), IntArrayRef({-2}));
  }
  return {x, residuals};
}
constexpr auto kByReflections = [](const Tensor& a, const Tensor& b, double, std::string_view driver) {
  return driver == "gels" && b.numel() && solver_of(a);
};

// B below the rows of A's columns is what cannot be reached: its squares are the residuals.
std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq_of(const Tensor& a, const Tensor& b, double rcond,
                                                    std::string_view driver) {
  const char* const op = "linalg.lstsq";
  check_matrices(op, a, "input");
  check_right_side(op, a, b);
  TORCH_CHECK(driver == "gels" || driver == "gelsy" || driver == "gelsd" || driver == "gelss", op,
              ": parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got '", driver, "'");
  const int64_t m = a.size(-2), n = a.size(-1), k = b.size(-1), rows = std::max(m, n), few = std::min(m, n);
  const IntArrayRef batch = batch_sizes(a);
  Tensor x = empty_columns(batch, rows, k, a.dtype(), a.device());
  const bool tells_rank = driver != "gels", tells_values = driver == "gelsd" || driver == "gelss";
  Tensor rank =
      tells_rank ? empty_tensor(batch, DType::Int64, a.device()) : empty_tensor({0}, DType::Int64, a.device());
  Tensor values = tells_values ? empty_tensor(joined(batch, {few}), real_of(a.dtype()), a.device())
                               : empty_tensor({0}, real_of(a.dtype()), a.device());
  Tensor residuals = empty_tensor({0}, real_of(a.dtype()), a.device());
  if (kByReflections(a, b, rcond, driver)) {
    auto [solution, rest] = solve_by_reflections(a, b);
    return {solution, rest, rank, values};
  }
  if (!host_work(x)) return {narrow(x, -2, 0, n), residuals, rank, values};
  copy_into(narrow(x, -2, 0, m), b);
  if (rows > m) fill_(narrow(x, -2, m, rows - m), 0);
  const int64_t count = count_of(batch);
  if (few == 0) {
    fill_(x, 0);
    if (tells_rank) fill_(rank, 0);
    return {narrow(x, -2, 0, n), residuals, rank, values};
  }
  check_finite(op, a);
  check_finite(op, b);
  Tensor f = column_copy(a), info = empty_tensor(batch, DType::Int32);
  bool full = true;
  with_type(a.dtype(), [&]<class T>(T) {
    using R = lapack::real_t<T>;
    std::vector<int> ranks(static_cast<size_t>(count), static_cast<int>(few));
    for_each_matrix(count, 4.0 * m * n * (few + k), [&](int64_t i) {
      std::vector<R> own(tells_values ? 0 : size_t(few));
      least_squares(op, driver, int(m), int(n), int(k), f.data<T>() + i * m * n, x.data<T>() + i * rows * k, rcond,
                    tells_values ? values.data<R>() + i * few : own.data(), &ranks[size_t(i)], info.data<int>() + i);
    });
    for (int64_t i = 0; i < count; ++i) {
      full &= ranks[size_t(i)] == n;
      if (tells_rank) rank.data<int64_t>()[i] = ranks[size_t(i)];
    }
  });
  check_info(op, info, not_solved);
  if (m > n && full && driver != "gelsy") {
    const Tensor rest = abs(narrow(x, -2, n, m - n));
    residuals = sum(mul(rest, rest), IntArrayRef({-2}));
  }
  return {narrow(x, -2, 0, n), residuals, rank, values};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond,
                                                 std::optional<std::string_view> driver) {
  const char* const op = "linalg.lstsq";
  check_matrices(op, a, "input");
  check_floating(op, b, "other");
  check_same_dtype(op, a, b);
  TORCH_CHECK(b.dim() >= 1, "torch.linalg.lstsq: other must have at least 1 dimension.");
  const bool here = a.device().type == DeviceType::CPU || a.is_meta();
  const std::string_view how = driver.value_or(here ? "gelsy" : "gels");
  const bool vectors = has_vectors(a, b);
  const Tensor rhs = vectors ? unsqueeze(b, -1) : b;
  TORCH_CHECK(rhs.size(-2) == a.size(-2), op, ": input.size(-2) should match other.size(-2), got shapes ", a.sizes(),
              " and ", b.sizes());
  const auto [f, r] = with_common_batch(op, a, rhs);
  const double cut = rcond.value_or(epsilon_of(a.dtype()) * double(std::max(a.size(-1), a.size(-2))));
  auto [x, residuals, rank, values] = _linalg_lstsq(f, r, cut, how);
  if (vectors) x = squeeze(x, IntArrayRef({-1}));
  return {x, residuals, rank, values};
}

std::tuple<Tensor, Tensor> gels_of(const Tensor& b, const Tensor& a) {
  const char* const op = "gels";
  check_matrices(op, a);
  check_matrices(op, b, "B");
  check_same_dtype(op, a, b);
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(0) == b.size(0), op, ": expected matrices with as many rows, got ",
              "B ", b.sizes(), " and A ", a.sizes());
  const auto [f, tau] = geqrf(a);
  const int64_t m = a.size(0), n = a.size(1);
  TORCH_CHECK(m >= n || !b.is_meta(), op, ": A with fewer rows than columns has no shape on the Meta device");
  if (m < n) return {std::get<0>(linalg_lstsq(a, b, std::nullopt, "gels")), f};
  const Tensor c = ormqr(f, tau, b, true, true);  // Q^H B
  const Tensor x = linalg_solve_triangular(narrow(f, 0, 0, n), narrow(c, 0, 0, n), true);
  return {m == n ? x : cat(std::vector<Tensor>{x, narrow(c, 0, n, m - n)}, 0), f};
}

// --- rank and pseudoinverse ---

// The moduli of singular values, or of a Hermitian matrix's eigenvalues, above which they count.
Tensor threshold_of(const Tensor& a, const Tensor& atol, const Tensor& rtol, const Tensor& values) {
  const double cut = epsilon_of(a.dtype()) * double(std::max(a.size(-1), a.size(-2)));
  const auto wide = [](const Tensor& t) { return t.dim() ? unsqueeze(t, -1) : t; };
  const auto check = [&](const Tensor& t, const char* name) {
    TORCH_CHECK(!is_complex(t.dtype()), "linalg.pinv: ", name, " tensor of complex type is not supported. Got ",
                t.dtype());
  };
  Tensor relative;
  if (rtol) {
    check(rtol, "rtol");
    relative = wide(rtol);
  } else if (atol) {  // where it is given, only it decides
    relative = where(gt(wide(atol), number(0)), number(0.0), number(cut));
  } else {
    relative = number(cut);
  }
  const Tensor top = values.size(-1) ? amax(values, IntArrayRef({-1}), true) : sum(values, IntArrayRef({-1}), true);
  const Tensor by_size = mul(relative, top);
  if (!atol) return by_size;
  check(atol, "atol");
  return maximum(_to_copy(wide(atol), by_size.dtype()), by_size);
}

Tensor pinv(const Tensor& a, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  const char* const op = "linalg.pinv";
  hermitian ? check_square(op, a) : check_matrices(op, a);
  if (a.numel() == 0) {
    Sizes sizes = a.sizes().vec();
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    return empty_tensor(sizes, a.dtype(), a.device());
  }
  const auto inverted = [&](const Tensor& values, const Tensor& moduli) {
    return where(gt(moduli, threshold_of(a, atol, rtol, moduli)), reciprocal(values), number(0.0));
  };
  if (hermitian) {
    const auto [values, v] = _linalg_eigh(a, "L", true);
    return matmul(mul(v, unsqueeze(inverted(values, abs(values)), -2)), mH(v));
  }
  const auto [u, s, vh] = _linalg_svd(a, false, true);
  return matmul(mul(mH(vh), unsqueeze(inverted(s, s), -2)), mH(u));
}
Tensor pinv_rcond(const Tensor& a, const Tensor& rcond, bool hermitian) {
  return linalg_pinv(a, number(0.0), rcond, hermitian);
}
Tensor pinverse(const Tensor& self, double rcond) { return linalg_pinv(self, number(0.0), number(rcond), false); }

Tensor matrix_rank(const Tensor& a, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  const char* const op = "linalg.matrix_rank";
  hermitian ? check_square(op, a) : check_matrices(op, a);
  if (a.numel() == 0) return zeros(batch_sizes(a), DType::Int64, a.device());
  const Tensor values = hermitian ? abs(linalg_eigvalsh(a)) : linalg_svdvals(a);
  return sum(gt(values, threshold_of(a, atol, rtol, values)), IntArrayRef({-1}));
}
Tensor matrix_rank_tol(const Tensor& a, const Tensor& tol, bool hermitian) {
  return linalg_matrix_rank(a, tol, number(0.0), hermitian);
}

}  // namespace

void register_least_squares() {
  set_lapack<op::_linalg_lstsq, lstsq_of, kByReflections>();
  set_composite<op::linalg_lstsq>(lstsq);
  set_composite<op::gels>(gels_of);
  set_native<op::linalg_pinv>(pinv);
  set_composite<op::linalg_pinv_rcond>(pinv_rcond);
  set_composite<op::pinverse>(pinverse);
  set_composite<op::linalg_matrix_rank>(matrix_rank);
  set_composite<op::linalg_matrix_rank_tol>(matrix_rank_tol);
}

}  // namespace torch::linalg
