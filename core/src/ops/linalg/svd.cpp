// Singular value decomposition, A = U diag(S) V^H, by divide and conquer (gesdd).
#include "dispatch/work.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/through_cpu.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/linalg.h"

namespace torch::linalg {

namespace {

constinit lapack::Routine gesdd{"gesdd"};

std::string not_converged(int count) {
  return count == -4 ? "the matrix has a NaN"
                     : message(
                           "The algorithm failed to converge because the input matrix is ill-conditioned or has "
                           "too many repeated singular values (",
                           count, " superdiagonals of the bidiagonal form did not)");
}

// LAPACK's work, for one shape: asked for once per batch.
template <class T>
struct Work {
  char job;
  int m, n, k, size = 0;
  int64_t reals = 0;

  Work(const char* op, char job, int m, int n) : job(job), m(m), n(n), k(std::min(m, n)) {
    const int64_t wide = std::max(m, n), narrow = k;
    if (lapack::is_complex_v<T>)
      reals = job == 'N' ? 7 * narrow
                         : std::max(5 * narrow * narrow + 5 * narrow, 2 * wide * narrow + 2 * narrow * narrow + narrow);
    T best{};
    int info = 0;
    run(op, nullptr, nullptr, nullptr, nullptr, &best, -1, nullptr, nullptr, &info);
    size = int(work_size(std::real(best)));
  }
  void run(const char* op, T* a, lapack::real_t<T>* s, T* u, T* vh, T* work, int count, lapack::real_t<T>* rwork,
           int* iwork, int* info) {
    const int ldu = job == 'N' ? 1 : m, ldv = job == 'N' ? 1 : job == 'A' ? n : k;
    if constexpr (lapack::is_complex_v<T>)
      gesdd.call<T>(op, job, m, n, a, m, s, u, ldu, vh, ldv, work, count, rwork, iwork, info);
    else
      gesdd.call<T>(op, job, m, n, a, m, s, u, ldu, vh, ldv, work, count, iwork, info);
  }
};

void check_driver(const char* op, const std::optional<std::string_view>& driver, bool is_solved) {
  TORCH_CHECK_IMPLEMENTED(!is_solved || !driver || *driver == "gesvd", op,
                          ": of the drivers of cuSOLVER there is only ", "'gesvd', got '", *driver, "'");
  TORCH_CHECK(is_solved || !driver, op,
              ": keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend, got '", *driver,
              "'; leave it out");
}

std::tuple<Tensor, Tensor, Tensor> svd_of(const Tensor& a, bool full, bool vectors,
                                          std::optional<std::string_view> driver) {
  const char* const op = "linalg.svd";
  check_matrices(op, a);
  const SolverWork* const solver = solver_of(a);
  check_driver(op, driver, solver);
  if (solver && a.size(-2) < a.size(-1)) {
    const auto [v, s, uh] = svd_of(mH(a), full, vectors, driver);
    return {vectors ? mH(uh) : uh, s, vectors ? mH(v) : v};
  }
  const int m = int(a.size(-2)), n = int(a.size(-1)), k = std::min(m, n);
  const IntArrayRef batch = batch_sizes(a);
  Tensor s = empty_tensor(joined(batch, {k}), real_of(a.dtype()), a.device());
  Tensor u =
      vectors ? empty_columns(batch, m, full ? m : k, a.dtype(), a.device()) : empty_tensor({0}, a.dtype(), a.device());
  Tensor vh =
      vectors ? empty_columns(batch, full ? n : k, n, a.dtype(), a.device()) : empty_tensor({0}, a.dtype(), a.device());
  if (solver) {
    check_finite(op, a);
    const Tensor info = empty_tensor(batch, DType::Int32, a.device());
    solver->singular(op, column_copy(a), m, n, u, s, vh, info);
    check_info(op, info, not_converged);
    return {u, s, vh};
  }
  if (count_of(batch) == 0 || !host_work(s)) return {u, s, vh};
  if (k == 0) {  // nothing but bases of the whole space
    for (const Tensor* t : {&u, &vh})
      if (vectors && t->numel()) copy_into(*t, identity(t->size(-1), a));
    return {u, s, vh};
  }
  check_finite(op, a);
  Tensor x = column_copy(a), info = empty_tensor(batch, DType::Int32);
  with_type(a.dtype(), [&]<class T>(T) {
    using R = lapack::real_t<T>;
    const Work<T> work(op, vectors ? full ? 'A' : 'S' : 'N', m, n);
    for_each_matrix(info.numel(), 8.0 * m * n * k, [&](int64_t b) {
      Work<T> one = work;
      std::vector<T> space(static_cast<size_t>(one.size));
      std::vector<R> reals(static_cast<size_t>(one.reals));
      std::vector<int> integers(8 * size_t(k));
      const auto piece = [&](const Tensor& t) {
        return vectors ? t.data<T>() + b * t.size(-1) * t.size(-2) : static_cast<T*>(nullptr);
      };
      one.run(op, x.data<T>() + b * int64_t(m) * n, s.data<R>() + b * k, piece(u), piece(vh), space.data(), one.size,
              reals.data(), integers.data(), info.data<int>() + b);
    });
  });
  check_info(op, info, not_converged);
  return {u, s, vh};
}

std::tuple<Tensor, Tensor, Tensor> svd_composite(const Tensor& a, bool full, std::optional<std::string_view> driver) {
  return _linalg_svd(a, full, true, driver);
}
// The derivative of singular values is made of singular vectors.
Tensor svdvals(const Tensor& a, std::optional<std::string_view> driver) {
  return std::get<1>(_linalg_svd(a, false, a.requires_grad() || !a.has_memory(), driver));
}

std::tuple<Tensor, Tensor, Tensor> svd_old(const Tensor& self, bool some, bool vectors) {
  check_matrices("svd", self, "self");
  if (vectors) {
    const auto [u, s, vh] = _linalg_svd(self, !some, true);
    return {u, s, mH(vh)};
  }
  const auto none = [&](int64_t n) { return zeros(joined(batch_sizes(self), {n, n}), self.dtype(), self.device()); };
  return {none(self.size(-2)), linalg_svdvals(self), none(self.size(-1))};
}

}  // namespace

void register_svd() {
  set_lapack<op::_linalg_svd, svd_of, kSolved>();
  set_composite<op::linalg_svd>(svd_composite);
  set_composite<op::linalg_svdvals>(svdvals);
  set_composite<op::svd>(svd_old);
}

}  // namespace torch::linalg
