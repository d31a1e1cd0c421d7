// Eigenvalues and eigenvectors: of Hermitian matrices by divide and conquer (syevd, heevd), of others by geev.
#include "dispatch/work.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/through_cpu.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::linalg {

namespace {

constinit lapack::Routine syevd{"syevd", "heevd"}, geev{"geev"};

Tensor ints_like_batch(const Tensor& a) { return empty_tensor(batch_sizes(a), DType::Int32); }

std::string not_converged(int count) {
  return message(
      "The algorithm failed to converge because the input matrix is ill-conditioned, has too many repeated "
      "eigenvalues, "
      "or is not finite (error code: ",
      count, ")");
}

template <class T>
void hermitian(const char* op, char job, char triangle, int n, T* a, lapack::real_t<T>* values, int* info) {
  using R = lapack::real_t<T>;
  T size{};
  R real_size{};
  int int_size = 0;
  const auto run = [&](T* work, int count, R* reals, int real_count, int* integers, int int_count) {
    if constexpr (lapack::is_complex_v<T>)
      syevd.call<T>(op, job, triangle, n, a, n, values, work, count, reals, real_count, integers, int_count, info);
    else
      syevd.call<T>(op, job, triangle, n, a, n, values, work, count, integers, int_count, info);
  };
  run(&size, -1, &real_size, -1, &int_size, -1);
  std::vector<T> work(work_size(std::real(size)));
  std::vector<R> reals(work_size(real_size));
  std::vector<int> integers(size_t(std::max(1, int_size)));
  run(work.data(), int(work.size()), reals.data(), int(reals.size()), integers.data(), int(integers.size()));
}

std::tuple<Tensor, Tensor> eigh_of(const Tensor& a, std::string_view triangle, bool vectors) {
  const char* const op = vectors ? "linalg.eigh" : "linalg.eigvalsh";
  check_square(op, a);
  const char t = triangle.size() == 1 ? char(triangle[0] & ~0x20) : '?';
  TORCH_CHECK(t == 'L' || t == 'U', op, ": Expected UPLO argument to be 'L' or 'U', but got ", triangle);
  const int n = int(a.size(-1));
  Tensor values = empty_tensor(joined(batch_sizes(a), {n}), real_of(a.dtype()), a.device());
  Tensor v = vectors || !values.is_meta() ? column_copy(a) : nothing(a);
  if (const SolverWork* const solver = solver_of(a)) {
    check_finite(op, a);
    const Tensor info = empty_tensor(batch_sizes(a), DType::Int32, a.device());
    solver->eigen(op, v, values, vectors, t == 'L', info);
    check_info(op, info, not_converged);
    return {values, vectors ? v : nothing(a)};
  }
  if (values.numel() == 0 || !host_work(values)) return {values, vectors ? v : nothing(a)};
  check_finite(op, a);
  Tensor info = ints_like_batch(a);
  with_type(a.dtype(), [&]<class T>(T) {
    for_each_matrix(info.numel(), 4.0 * n * n * n, [&](int64_t b) {
      hermitian(op, vectors ? 'V' : 'N', t, n, v.data<T>() + b * n * n, values.data<lapack::real_t<T>>() + b * n,
                info.data<int>() + b);
    });
  });
  check_info(op, info, not_converged);
  return {values, vectors ? v : nothing(a)};
}
std::tuple<Tensor, Tensor> eigh(const Tensor& a, std::string_view triangle) { return _linalg_eigh(a, triangle, true); }
// The derivative of eigenvalues is made of eigenvectors.
Tensor eigvalsh(const Tensor& a, std::string_view triangle) {
  return std::get<0>(_linalg_eigh(a, triangle, a.requires_grad() || !a.has_memory()));
}
std::tuple<Tensor, Tensor> symeig(const Tensor& self, bool vectors, bool upper) {
  auto [values, v] = _linalg_eigh(self, upper ? "U" : "L", vectors || self.requires_grad() || !self.has_memory());
  return {values, vectors ? v : nothing(self)};
}

// The vectors of a conjugate pair stand in two columns, real part and imaginary part.
template <class R>
void join_pairs(int64_t n, const R* imaginary, const R* columns, std::complex<R>* out) {
  for (int64_t j = 0; j < n; ++j) {
    const bool pair = imaginary[j] > 0 && j + 1 < n;
    for (int64_t i = 0; i < n; ++i) {
      const R re = columns[j * n + i], im = pair ? columns[(j + 1) * n + i] : R(0);
      out[j * n + i] = {re, im};
      if (pair) out[(j + 1) * n + i] = {re, -im};
    }
    j += pair;
  }
}

// The same on a device.
Tensor joined_pairs(const Tensor& values, const Tensor& columns) {
  const Tensor of_pair = unsqueeze(imag(values), -2);
  const Tensor is_first = gt(of_pair, number(0)), is_second = lt(of_pair, number(0));
  const Tensor re = where(is_second, roll(columns, {1}, {-1}), columns);
  const Tensor im = where(is_first, roll(columns, {-1}, {-1}), where(is_second, -columns, zeros_like(columns)));
  return torch::complex(re, im);
}

template <class T>
void general(const char* op, bool vectors, int n, T* a, void* values, void* out, int* info) {
  using R = lapack::real_t<T>;
  using C = std::complex<R>;
  const char job = vectors ? 'V' : 'N';
  T* const unused = nullptr;
  if constexpr (lapack::is_complex_v<T>) {
    std::vector<R> reals(2 * size_t(n));
    const auto run = [&](T* work, int size) {
      geev.call<T>(op, 'N', job, n, a, n, static_cast<T*>(values), unused, 1, static_cast<T*>(out), n, work, size,
                   reals.data(), info);
    };
    std::vector<T> work = workspace<T>(run);
    run(work.data(), int(work.size()));
  } else {
    std::vector<R> re(static_cast<size_t>(n)), im(static_cast<size_t>(n)), columns(vectors ? size_t(n) * size_t(n) : 1);
    const auto run = [&](T* work, int size) {
      geev.call<T>(op, 'N', job, n, a, n, re.data(), im.data(), unused, 1, columns.data(), n, work, size, info);
    };
    std::vector<T> work = workspace<T>(run);
    run(work.data(), int(work.size()));
    for (size_t i = 0; i < size_t(n); ++i) static_cast<C*>(values)[i] = {re[i], im[i]};
    if (vectors) join_pairs(n, im.data(), columns.data(), static_cast<C*>(out));
  }
}

std::pair<Tensor, Tensor> eigen(const char* op, const Tensor& a, bool vectors) {
  check_square(op, a);
  const int n = int(a.size(-1));
  const DType complex = complex_of(a.dtype());
  Tensor values = empty_tensor(joined(batch_sizes(a), {n}), complex, a.device());
  if (const SolverWork* const solver = solver_of(a)) {
    check_finite(op, a);
    const Tensor x = column_copy(a), info = empty_tensor(batch_sizes(a), DType::Int32, a.device());
    const Tensor columns = vectors ? empty_columns(batch_sizes(a), n, n, a.dtype(), a.device()) : nothing(a);
    solver->general_eigen(op, x, values, columns, info);
    check_info(op, info, not_converged);
    if (!vectors) return {values, Tensor()};
    return {values, is_complex(a.dtype()) ? columns : joined_pairs(values, columns)};
  }
  Tensor v = vectors ? empty_columns(batch_sizes(a), n, n, complex, a.device()) : Tensor();
  if (values.numel() == 0 || !host_work(values)) return {values, v};
  TORCH_CHECK(all(isfinite(a)).data<bool>()[0], op, ": input tensor should not contain infs or NaNs.");
  Tensor x = column_copy(a), info = ints_like_batch(a);
  with_type(a.dtype(), [&]<class T>(T) {
    using C = std::complex<lapack::real_t<T>>;
    for_each_matrix(info.numel(), 10.0 * n * n * n, [&](int64_t b) {
      general(op, vectors, n, x.data<T>() + b * n * n, values.data<C>() + b * n,
              vectors ? v.data<C>() + b * n * n : static_cast<C*>(nullptr), info.data<int>() + b);
    });
  });
  check_info(op, info, not_converged);
  return {values, v};
}
std::tuple<Tensor, Tensor> eig(const Tensor& a) {
  auto [values, vectors] = eigen("linalg.eig", a, true);
  return {values, vectors};
}
Tensor eigvals_alone(const Tensor& a) { return eigen("linalg.eigvals", a, false).first; }
Tensor eigvals(const Tensor& a) {
  return a.requires_grad() || !a.has_memory() ? std::get<0>(linalg_eig(a)) : _linalg_eigvals(a);
}

std::tuple<Tensor, Tensor> eig_old(const Tensor& self, bool vectors) {
  TORCH_CHECK(self.dim() == 2, "eig: expected a matrix (2-d), got shape ", self.sizes());
  TORCH_CHECK(is_floating(self.dtype()), "eig: expected a real matrix, got ", self.dtype(),
              "; torch.linalg.eig takes complex ones");
  if (!vectors) return {view_as_real(linalg_eigvals(self)), nothing(self)};
  const auto [values, v] = linalg_eig(self);
  const Tensor second = unsqueeze(lt(imag(values), number(0)), -2);
  return {view_as_real(values), where(second, -imag(v), real(v))};
}

}  // namespace

void register_eigen() {
  set_lapack<op::_linalg_eigh, eigh_of, kSolved>();
  set_composite<op::linalg_eigh>(eigh);
  set_composite<op::linalg_eigvalsh>(eigvalsh);
  set_composite<op::symeig>(symeig);
  set_lapack<op::linalg_eig, eig, kSolved>();
  set_lapack<op::_linalg_eigvals, eigvals_alone, kSolved>();
  set_composite<op::linalg_eigvals>(eigvals);
  set_composite<op::eig>(eig_old);
}

}  // namespace torch::linalg
