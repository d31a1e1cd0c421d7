// QR factorization by Householder's reflections.
#include "dispatch/work.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/through_cpu.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/view.h"

namespace torch::linalg {

namespace {

using lapack::Routine;
constinit Routine geqrf_{"geqrf"}, orgqr_{"orgqr", "ungqr"}, ormqr_{"ormqr", "unmqr"};

// The reflections of batch `b` in columns of memory: R and the vectors, and their factors in tau.
template <class T>
void reflect(const char* op, T* a, int m, int n, T* tau) {
  if (m == 0 || n == 0) return;
  int info = 0;
  const auto run = [&](T* work, int size) { geqrf_.call<T>(op, m, n, a, m, tau, work, size, &info); };
  std::vector<T> work = workspace<T>(run);
  run(work.data(), int(work.size()));
  check_arguments(op, info);
}
// The first n columns of the product of k reflections, over them.
template <class T>
void multiply_out(const char* op, T* a, int m, int n, int k, const T* tau) {
  if (m == 0 || n == 0) return;
  int info = 0;
  const auto run = [&](T* work, int size) { orgqr_.call<T>(op, m, n, k, a, m, tau, work, size, &info); };
  std::vector<T> work = workspace<T>(run);
  run(work.data(), int(work.size()));
  check_arguments(op, info);
}

std::tuple<Tensor, Tensor> geqrf(const Tensor& self) {
  check_matrices("geqrf", self, "input");
  const int m = int(self.size(-2)), n = int(self.size(-1)), k = std::min(m, n);
  Tensor a = column_copy(self), tau = empty_tensor(joined(batch_sizes(self), {k}), self.dtype(), self.device());
  if (const SolverWork* const solver = solver_of(a)) return solver->reflect("geqrf", a, m, n, tau), std::tuple(a, tau);
  if (!host_work(a)) return {a, tau};
  with_type(self.dtype(), [&]<class T>(T) {
    for_each_matrix(count_of(batch_sizes(self)), 2.0 * m * n * k,
                    [&](int64_t b) { reflect("geqrf", a.data<T>() + b * m * n, m, n, tau.data<T>() + b * k); });
  });
  return {a, tau};
}

// With rows of zeros below.
Tensor zero_beyond(const Tensor& a, int64_t rows) {
  if (a.size(-2) == rows) return a;
  Sizes sizes = a.sizes().vec();
  sizes[sizes.size() - 2] = rows - a.size(-2);
  return cat(std::vector<Tensor>{a, zeros(sizes, a.dtype(), a.device())}, -2);
}

std::tuple<Tensor, Tensor> qr(const Tensor& a, std::string_view mode) {
  const char* const op = "linalg.qr";
  check_matrices(op, a);
  TORCH_CHECK(mode == "reduced" || mode == "complete" || mode == "r", "qr received unrecognized mode '", mode,
              "' but expected one of 'reduced' (default), 'r', or 'complete'");
  const bool complete = mode == "complete";
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n), columns = complete ? m : k;
  const IntArrayRef batch = batch_sizes(a);
  Tensor r = empty_columns(batch, columns, n, a.dtype(), a.device());
  Tensor q = mode == "r" ? nothing(a) : empty_columns(batch, m, columns, a.dtype(), a.device());
  if (const SolverWork* const solver = solver_of(a)) {
    const Tensor x = column_copy(a), tau = empty_tensor(joined(batch, {k}), a.dtype(), a.device());
    solver->reflect(op, x, m, n, tau);
    copy_(r, zero_beyond(triu(narrow(x, -2, 0, k)), columns));
    if (mode == "r") return {q, r};
    copy_(narrow(q, -1, 0, k), narrow(x, -1, 0, k));
    if (columns > k) zero_(narrow(q, -1, k, columns - k));
    solver->multiply_out(op, q, m, columns, k, tau);
    return {q, r};
  }
  if (count_of(batch) == 0 || !host_work(r)) return {q, r};
  Tensor x = column_copy(a);
  with_type(a.dtype(), [&]<class T>(T) {
    for_each_matrix(count_of(batch), 4.0 * m * n * k, [&](int64_t b) {
      T *const from = x.data<T>() + b * m * n, *const triangle = r.data<T>() + b * columns * n;
      std::vector<T> tau(size_t(k) + 1);
      reflect(op, from, int(m), int(n), tau.data());
      for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < columns; ++i) triangle[j * columns + i] = i <= j && i < m ? from[j * m + i] : T(0);
      if (mode == "r") return;
      T* const to = q.data<T>() + b * m * columns;
      std::copy(from, from + m * k, to);
      std::fill(to + m * k, to + m * columns, T(0));
      multiply_out(op, to, int(m), int(columns), int(k), tau.data());
    });
  });
  return {q, r};
}
std::tuple<Tensor, Tensor> qr_old(const Tensor& self, bool some) {
  return linalg_qr(self, some ? "reduced" : "complete");
}

void check_reflections(const char* op, const Tensor& a, const Tensor& tau) {
  check_matrices(op, a, "input");
  TORCH_CHECK(a.dtype() == tau.dtype(), op, ": tau dtype ", tau.dtype(), " does not match input dtype ", a.dtype());
  TORCH_CHECK(tau.dim() >= 1, op, ": tau must have at least one dimension, got a number");
  TORCH_CHECK(tau.dim() == a.dim() - 1 && batch_sizes(tau, 1) == batch_sizes(a), op,
              ": Expected tau to have one dimension less than input and its batch, got shapes ", tau.sizes(), " and ",
              a.sizes());
}

Tensor product_of(const char* op, const Tensor& a, const Tensor& tau) {
  check_reflections(op, a, tau);
  const int64_t m = a.size(-2), n = a.size(-1), k = tau.size(-1);
  TORCH_CHECK(m >= n, op, ": input.shape[-2] must be greater than or equal to input.shape[-1], got shape ", a.sizes());
  TORCH_CHECK(n >= k, op, ": input.shape[-1] must be greater than or equal to tau.shape[-1], got shapes ", a.sizes(),
              " and ", tau.sizes());
  Tensor q = column_copy(a);
  const Tensor factors = as_contiguous(tau, tau.dtype());
  if (const SolverWork* const solver = solver_of(q)) {
    if (k) solver->multiply_out(op, q, m, n, k, factors);
    return k ? q : copy_(q, eye(m, n, q.dtype(), q.device()));
  }
  if (!host_work(q)) return q;
  with_type(a.dtype(), [&]<class T>(T) {
    for_each_matrix(count_of(batch_sizes(a)), 2.0 * m * n * k, [&](int64_t b) {
      multiply_out(op, q.data<T>() + b * m * n, int(m), int(n), int(k), factors.data<T>() + b * k);
    });
  });
  return q;
}
Tensor householder_product(const Tensor& a, const Tensor& tau) {
  return product_of("linalg.householder_product", a, tau);
}
Tensor orgqr(const Tensor& self, const Tensor& tau) { return linalg_householder_product(self, tau); }

Tensor ormqr(const Tensor& self, const Tensor& tau, const Tensor& other, bool left, bool transposed) {
  const char* const op = "ormqr";
  check_reflections(op, self, tau);
  check_matrices(op, other, "other");
  check_same_dtype(op, self, other);
  const int64_t m = other.size(-2), n = other.size(-1), k = tau.size(-1), side = left ? m : n;
  TORCH_CHECK(side >= k, op, ": other.shape[", left ? -2 : -1, "] must be greater than or equal to tau.shape[-1], got ",
              other.sizes(), " and ", tau.sizes());
  TORCH_CHECK(side == self.size(-2), op, ": other.shape[", left ? -2 : -1, "] must be equal to input.shape[-2], got ",
              other.sizes(), " and ", self.sizes());
  TORCH_CHECK(k <= self.size(-1), op, ": tau.shape[-1] must be less than or equal to input.shape[-1], got ",
              tau.sizes(), " and ", self.sizes());
  TORCH_CHECK(batch_sizes(self) == batch_sizes(other), op, ": batch dimensions of other to be equal to input's: got ",
              other.sizes(), " and ", self.sizes());
  Tensor c = column_copy(other);
  if (c.numel() == 0 || k == 0 || c.is_meta()) return c;
  const Tensor factors = as_contiguous(tau, tau.dtype()), a = column_copy(self);  // which LAPACK changes and restores
  if (const SolverWork* const solver = solver_of(a)) return solver->multiply_by(op, a, factors, c, left, transposed), c;
  host_work(c);
  with_type(self.dtype(), [&]<class T>(T) {
    const char how = !transposed ? 'N' : lapack::is_complex_v<T> ? 'C' : 'T';
    for_each_matrix(count_of(batch_sizes(self)), 2.0 * m * n * k, [&](int64_t b) {
      int info = 0;
      const auto run = [&](T* work, int size) {
        ormqr_.call<T>(op, left ? 'L' : 'R', how, int(m), int(n), int(k), a.data<T>() + b * side * a.size(-1),
                       int(side), factors.data<T>() + b * k, c.data<T>() + b * m * n, int(m), work, size, &info);
      };
      std::vector<T> work = workspace<T>(run);
      run(work.data(), int(work.size()));
      check_arguments(op, info);
    });
  });
  return c;
}

}  // namespace

void register_qr() {
  set_lapack<op::linalg_qr, qr, kSolved>();
  set_composite<op::qr>(qr_old);
  set_lapack<op::geqrf, geqrf, kSolved>();
  set_lapack<op::linalg_householder_product, householder_product, kSolved>();
  set_composite<op::orgqr>(orgqr);
  set_lapack<op::ormqr, ormqr, kSolved>();
}

}  // namespace torch::linalg
