#include "ops/linalg/matrix.h"

#include "iterate/dims.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::linalg {

Tensor mT(const Tensor& a) { return transpose(a, -2, -1); }
Tensor mH(const Tensor& a) { return is_complex(a.dtype()) ? conj(mT(a)) : mT(a); }
Tensor identity(int64_t n, const Tensor& like) { return eye(n, std::nullopt, like.dtype(), like.device()); }

void check_floating(const char* op, const Tensor& a, const char* name) {
  const DType t = a.dtype();
  TORCH_CHECK(is_floating(t) || is_complex(t), op, ": Expected a floating point or complex tensor as ", name, ". Got ",
              t, "; convert with ", name, ".float()");
  TORCH_CHECK(!is_reduced_floating(t), op, ": Low precision dtypes not supported. Got ", name, " of ", t,
              "; convert with ", name, ".float()");
}

void check_matrices(const char* op, const Tensor& a, const char* name) {
  check_floating(op, a, name);
  TORCH_CHECK(a.dim() >= 2, op, ": The input tensor ", name, " must have at least 2 dimensions, got shape ", a.sizes());
  TORCH_CHECK(std::max(a.size(-2), a.size(-1)) <= INT32_MAX, op, ": LAPACK takes sides below 2**31, got shape ",
              a.sizes());
}

void check_square(const char* op, const Tensor& a, const char* name) {
  check_matrices(op, a, name);
  TORCH_CHECK(a.size(-2) == a.size(-1), op, ": ", name, " must be batches of square matrices, but they are ",
              a.size(-2), " by ", a.size(-1), " matrices");
}

void check_finite(const char* op, const Tensor& a) {
  TORCH_CHECK_KIND(LinAlg, a.is_meta() || number_of(all(all_values(all(isfinite(a))))).to_int() != 0, op,
                   ": The algorithm failed to converge because the input matrix contained non-finite values.");
}

void check_right_side(const char* op, const Tensor& a, const Tensor& b) {
  check_matrices(op, b, "B");
  check_same_dtype(op, a, b);
  TORCH_CHECK(batch_sizes(a) == batch_sizes(b) && a.size(-2) == b.size(-2), op, ": shapes ", a.sizes(), " of A and ",
              b.sizes(), " of B do not fit");
}

void check_same_dtype(const char* op, const Tensor& a, const Tensor& b) {
  TORCH_CHECK(a.dtype() == b.dtype(), op, ": Expected A and B to have the same dtype, but found A of type ", a.dtype(),
              " and B of type ", b.dtype(), " instead");
}

std::string which_matrix(const char* op, const Tensor& info, int64_t batch) {
  if (info.dim() == 0) return message(op, ": ");
  Sizes at(size_t(info.dim()));
  for (int64_t d = info.dim() - 1; d >= 0; --d) {
    at[size_t(d)] = batch % info.size(d);
    batch /= info.size(d);
  }
  if (at.size() == 1) return message(op, ": (Batch element ", at[0], "): ");
  return message(op, ": (Batch element ", IntArrayRef(at), "): ");
}

std::string singular_text(int at) {
  return message("the matrix is singular: U[", at - 1, ", ", at - 1, "] of its LU factorization is zero");
}

void check_arguments(const char* op, int info) {
  TORCH_CHECK(info >= 0, op, ": LAPACK refuses its argument ", -info, " (an error of torch-core)");
}

std::pair<Tensor, Tensor> with_common_batch(const char* op, const Tensor& a, const Tensor& b) {
  if (batch_sizes(a) == batch_sizes(b)) return {a, b};
  const Sizes batch = broadcast_shapes(op, batch_sizes(a), batch_sizes(b));
  return {expand(a, joined(batch, {a.size(-2), a.size(-1)})), expand(b, joined(batch, {b.size(-2), b.size(-1)}))};
}

bool has_vectors(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (a.dim() - 1 == b.dim() && b.sizes() == a.sizes().slice(0, size_t(a.dim() - 1)));
}

Tensor empty_columns(IntArrayRef batch, int64_t rows, int64_t columns, DType dtype, Device device) {
  Tensor t = empty_tensor(joined(batch, {rows, columns}), dtype, device);
  int64_t* const strides = t->strides() + t.dim();
  strides[-2] = 1;
  strides[-1] = std::max<int64_t>(rows, 1);
  t->refresh_geometry();
  return t;
}

Tensor column_copy(const Tensor& a) {
  Tensor t = empty_columns(batch_sizes(a), a.size(-2), a.size(-1), a.dtype(), a.device());
  copy_into(t, a);
  return t;
}

Tensor row_copy(const Tensor& a) {
  Tensor t = empty_tensor(a.sizes(), a.dtype(), a.device());
  copy_into(t, a);
  return t;
}

}  // namespace torch::linalg
