// Functions of square matrices, and tensors seen as matrices.
#include <cmath>
#include <limits>

#include "dispatch/work.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/through_cpu.h"
#include "torch/core/autocast.h"
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

// --- exponential: N. Higham, "The scaling and squaring method for the matrix exponential revisited", 2005 ---

// The diagonal Pade approximant [q/q] of exp is N(A) / N(-A): its coefficients, and the 1-norm up to which it holds to
// the dtype's precision (table 2.3 there).
struct Pade {
  std::vector<double> coefficients;
  double norm;

  explicit Pade(DType real) : norm(real == DType::Float64 ? 5.371920351148152 : 3.925724783138660) {
    const int q = real == DType::Float64 ? 13 : 7;
    double c = 1;
    for (int j = 0; j <= q; ++j) {
      coefficients.push_back(c);
      c *= double(q - j) / double((2 * q - j) * (j + 1));
    }
  }
};

Tensor matrix_exp(const Tensor& self) {
  const char* const op = "linalg.matrix_exp";
  if (is_reduced_floating(self.dtype())) return _to_copy(matrix_exp(_to_copy(self, DType::Float32)), self.dtype());
  check_square(op, self);
  if (self.numel() == 0 || !host_work(self)) return empty_tensor(self.sizes(), self.dtype(), self.device());
  const autocast::Off exact;  // digits that the products lost would be squared
  const int64_t n = self.size(-1);
  const Pade pade(real_of(self.dtype()));
  // Each matrix is halved until its norm is small; its exponential is squared as often.
  const Tensor norms = amax(sum(abs(self), IntArrayRef({-2}), true), IntArrayRef({-1}), true);
  const Tensor finite = isfinite(norms);
  if (!all(finite).data<bool>()[0]) {  // NaN for those matrices
    const Tensor others = matrix_exp(masked_fill(self, logical_not(finite), number(0)));
    return masked_fill(others, logical_not(finite), number(std::numeric_limits<double>::quiet_NaN()));
  }
  const Tensor halvings = clamp_min(ceil(log2(norms / pade.norm)), number(0));
  const Tensor a = self * exp2(-halvings);
  // Even powers make the common part, odd ones the part that changes its sign.
  const Tensor i = identity(n, self), a2 = matmul(a, a);
  Tensor even = pade.coefficients[0] * i, odd = pade.coefficients[1] * i, power = i;
  for (size_t k = 2; k < pade.coefficients.size(); k += 2) {
    power = k == 2 ? a2 : matmul(power, a2);
    even = even + pade.coefficients[k] * power;
    odd = odd + pade.coefficients[k + 1] * power;
  }
  odd = matmul(a, odd);
  Tensor x = linalg_solve(even - odd, even + odd);
  const double most = _to_copy(amax(halvings), DType::Float64).data<double>()[0];
  for (double s = 0; s < most; ++s) x = where(gt(halvings, number(s)), matmul(x, x), x);
  return x;
}
Tensor matrix_exp_old(const Tensor& self) { return linalg_matrix_exp(self); }

// --- powers ---

Tensor power_of(const char* op, const Tensor& self, int64_t n) {
  if (n < 0)
    check_matrices(op, self);
  else  // products of any dtype
    TORCH_CHECK(self.dim() >= 2, op, ": The input tensor A must have at least 2 dimensions, got shape ", self.sizes());
  TORCH_CHECK(self.size(-1) == self.size(-2), op, ": A must be batches of square matrices, but they are ",
              self.size(-2), " by ", self.size(-1), " matrices");
  if (n == 0) return tril(triu(pow(self, number(0))));  // the identity, with a gradient: zero
  Tensor base = n < 0 ? linalg_inv(self) : self, result;
  uint64_t rest = n < 0 ? uint64_t(0) - uint64_t(n) : uint64_t(n);
  if (rest == 1) return n < 0 ? base : clone(base);
  for (;; base = matmul(base, base)) {
    if (rest & 1) result = result ? matmul(result, base) : base;
    if (!(rest >>= 1)) return result;
  }
}
Tensor matrix_power(const Tensor& self, int64_t n) { return power_of("linalg.matrix_power", self, n); }
Tensor matrix_power_old(const Tensor& self, int64_t n) { return power_of("matrix_power", self, n); }

// --- tensors as matrices ---

Tensor tensorinv(const Tensor& a, int64_t ind) {
  const char* const op = "linalg.tensorinv";
  TORCH_CHECK(ind > 0, op, ": Expected a strictly positive integer for 'ind', but got ", ind);
  const IntArrayRef rows = a.sizes().slice(0, size_t(std::min(ind, a.dim())));
  const IntArrayRef columns = a.sizes().slice(rows.size(), size_t(a.dim()) - rows.size());
  const int64_t m = count_of(rows), n = count_of(columns);
  TORCH_CHECK(m == n, op,
              ": Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), ",
              "but got ", n, " != ", m);
  Sizes shape = columns.vec();
  shape.insert(shape.end(), rows.begin(), rows.end());
  return reshape(linalg_inv(reshape(a, {m, n})), shape);
}

Tensor tensorsolve(const Tensor& a, const Tensor& b, std::optional<IntArrayRef> dims) {
  const char* const op = "linalg.tensorsolve";
  Tensor moved = a;
  if (dims) {
    Sizes to;
    for (int64_t d = a.dim() - int64_t(dims->size()); d < a.dim(); ++d) to.push_back(d);
    moved = movedim(a, *dims, to);
  }
  TORCH_CHECK(b.dim() <= moved.dim(), op, ": B ", b.sizes(), " has more dimensions than A ", a.sizes());
  const IntArrayRef shape = moved.sizes().slice(size_t(b.dim()), size_t(moved.dim() - b.dim()));
  const int64_t columns = count_of(shape);
  TORCH_CHECK(columns == b.numel() && moved.numel() == columns * columns, op,
              ": Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == ",
              "prod(self.shape[:other.ndim]), but got ", columns, " != ", b.numel());
  return reshape(linalg_solve(reshape(moved, {columns, columns}), reshape(b, {columns})), shape);
}

Tensor linalg_vander_of(const Tensor& x, std::optional<int64_t> n) {
  const char* const op = "linalg.vander";
  if (x.dim() == 0) return linalg_vander_of(unsqueeze(x, 0), n);
  TORCH_CHECK(x.dtype() != DType::Bool, op, ": bool is not supported; convert with x.int()");
  const int64_t count = n.value_or(x.size(-1));
  TORCH_CHECK(!n || *n > 1, op, ": N must be greater than 1, got ", count);
  if (count == 0) return empty_tensor(joined(x.sizes(), {0}), x.dtype(), x.device());
  const Tensor powers = cumprod(expand(unsqueeze(x, -1), joined(x.sizes(), {count - 1})), -1);
  return cat(std::vector<Tensor>{ones(joined(x.sizes(), {1}), powers.dtype(), x.device()), powers}, -1);
}

Tensor diagonal_of(const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2) {
  return diagonal(a, offset, dim1, dim2);
}

}  // namespace

void register_functions() {
  set_lapack<op::linalg_matrix_exp, matrix_exp>();
  set_composite<op::matrix_exp>(matrix_exp_old);
  set_composite<op::linalg_matrix_power>(matrix_power);
  set_composite<op::matrix_power>(matrix_power_old);
  set_composite<op::linalg_tensorinv>(tensorinv);
  set_composite<op::linalg_tensorsolve>(tensorsolve);
  set_composite<op::linalg_vander>(linalg_vander_of);
  set_composite<op::linalg_diagonal>(diagonal_of);
}

}  // namespace torch::linalg
