// Norms of matrices and condition numbers.
#include <cmath>

#include "iterate/dims.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrix.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::linalg {

namespace {

using Dim = std::optional<IntArrayRef>;
using Type = std::optional<DType>;

Tensor as_type(const Tensor& a, Type dtype) { return dtype && *dtype != a.dtype() ? _to_copy(a, *dtype) : a; }

// The two dims, checked; A with them at the end.
std::pair<int64_t, int64_t> matrix_dims(const char* op, const Tensor& a, IntArrayRef dim) {
  TORCH_CHECK(is_floating(a.dtype()) || is_complex(a.dtype()), op,
              ": Expected a floating point or complex tensor as input. Got ", a.dtype(), "; convert with x.float()");
  TORCH_CHECK(a.dim() >= 2, op, ": The input tensor A must have at least 2 dimensions, got shape ", a.sizes());
  TORCH_CHECK(dim.size() == 2, op, ": dim must be a 2-tuple. Got ", Bracketed{dim});
  const int64_t i = wrap_dim(dim[0], a.dim()), j = wrap_dim(dim[1], a.dim());
  TORCH_CHECK(i != j, op, ": dims must be different. Got (", dim[0], ", ", dim[1], ")");
  return {i, j};
}
Tensor moved_to_end(const Tensor& a, int64_t i, int64_t j) {
  return movedim(a, IntArrayRef({i, j}), IntArrayRef({-2, -1}));
}
Tensor with_dims(Tensor t, int64_t i, int64_t j, bool keepdim) {
  if (!keepdim) return t;
  return unsqueeze(unsqueeze(t, std::min(i, j)), std::max(i, j));
}

Tensor matrix_norm_of(const char* op, const Tensor& a, const Scalar& ord, IntArrayRef dim, bool keepdim, Type dtype) {
  auto [i, j] = matrix_dims(op, a, dim);
  TORCH_CHECK(!ord.is_complex(), op, ": Expected a non-complex scalar as the order of norm.");
  const double p = ord.to_double();
  TORCH_CHECK(std::abs(p) == 1 || std::abs(p) == 2 || std::isinf(p), op, ": Order ", p,
              " not supported; it is one of 1, -1, 2, -2, inf, -inf, 'fro', 'nuc'");
  const Tensor x = as_type(a, dtype);
  const auto extreme = [&](const Tensor& t, int64_t d, bool keep) {
    const int64_t dims[] = {d};
    if (t.size(d) == 0 && p > 0) return sum(t, IntArrayRef(dims), keep);  // the largest of no sizes is 0
    TORCH_CHECK_INDEX(t.size(d) > 0, op, ": cannot compute the norm of order ", p,
                      " of a matrix without elements, got shape ", a.sizes());
    return p > 0 ? amax(t, dims, keep) : amin(t, dims, keep);
  };
  if (std::abs(p) == 2) return with_dims(extreme(linalg_svdvals(moved_to_end(x, i, j)), -1, false), i, j, keepdim);
  if (std::isinf(p)) std::swap(i, j);  // sums of rows
  const int64_t summed[] = {i};
  const Tensor sums = linalg_vector_norm(x, 1, IntArrayRef(summed), keepdim);
  return extreme(sums, keepdim || j < i ? j : j - 1, keepdim);
}
Tensor matrix_norm_named_of(const char* op, const Tensor& a, std::string_view ord, IntArrayRef dim, bool keepdim,
                            Type dtype) {
  TORCH_CHECK(ord == "fro" || ord == "nuc", op, ": Order ", ord, " not supported; the named norms are 'fro' and 'nuc'");
  const auto [i, j] = matrix_dims(op, a, dim);
  if (ord == "fro") {
    const int64_t both[] = {i, j};
    return linalg_vector_norm(a, 2, IntArrayRef(both), keepdim, dtype);
  }
  const Tensor values = linalg_svdvals(moved_to_end(as_type(a, dtype), i, j));
  return with_dims(sum(values, IntArrayRef({-1})), i, j, keepdim);
}

Tensor matrix_norm(const Tensor& a, const Scalar& ord, IntArrayRef dim, bool keepdim, Type dtype) {
  return matrix_norm_of("linalg.matrix_norm", a, ord, dim, keepdim, dtype);
}
Tensor matrix_norm_named(const Tensor& a, std::string_view ord, IntArrayRef dim, bool keepdim, Type dtype) {
  return matrix_norm_named_of("linalg.matrix_norm", a, ord, dim, keepdim, dtype);
}

// Of vectors (one dim) or matrices (two), by what `dim` or the shape says.
bool is_of_matrices(const Tensor& self, const Dim& dim) {
  const char* const op = "linalg.norm";
  if (dim) {
    TORCH_CHECK(dim->size() == 1 || dim->size() == 2, op, ": If dim is specified, it must be of length 1 or 2. Got ",
                Bracketed{*dim});
    return dim->size() == 2;
  }
  TORCH_CHECK(self.dim() == 1 || self.dim() == 2, op,
              ": If dim is not specified but ord is, the input must be 1D or 2D. Got ", self.dim(), "D.");
  return self.dim() == 2;
}
Tensor norm_of(const Tensor& self, const std::optional<Scalar>& ord, Dim dim, bool keepdim, Type dtype) {
  if (!ord) return linalg_vector_norm(self, 2, dim, keepdim, dtype);
  if (!is_of_matrices(self, dim)) return linalg_vector_norm(self, *ord, dim, keepdim, dtype);
  return matrix_norm_of("linalg.norm", self, *ord, dim.value_or(IntArrayRef({0, 1})), keepdim, dtype);
}
Tensor norm_named(const Tensor& self, std::string_view ord, Dim dim, bool keepdim, Type dtype) {
  TORCH_CHECK(!dim || dim->size() == 1 || dim->size() == 2, "linalg.norm: If dim is specified, it must be of length 1 ",
              "or 2. Got ", Bracketed{*dim});
  TORCH_CHECK(dim ? dim->size() == 2 : self.dim() == 2, "linalg.norm: '", ord,
              "' is a norm of matrices: give two dims or a 2-D input, got shape ", self.sizes());
  return matrix_norm_named_of("linalg.norm", self, ord, dim.value_or(IntArrayRef({0, 1})), keepdim, dtype);
}

Tensor frobenius(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return linalg_vector_norm(self, 2, dim.empty() ? Dim() : Dim(dim), keepdim);
}
Tensor nuclear(const Tensor& self, bool keepdim) {
  TORCH_CHECK(self.dim() == 2, "nuclear_norm: Expected a tensor with 2 dimensions, but got a tensor with ", self.dim(),
              " dimensions instead.");
  return matrix_norm_named_of("nuclear_norm", self, "nuc", {-2, -1}, keepdim, std::nullopt);
}
Tensor nuclear_dim(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return matrix_norm_named_of("nuclear_norm", self, "nuc", dim, keepdim, std::nullopt);
}

// --- condition ---

// norm(A) norm(A^-1) by any norm of one matrix.
template <class Norm>
Tensor product_of_norms(const Tensor& a, Norm norm) {
  check_square("linalg.cond", a);
  if (a.numel() == 0) return zeros(batch_sizes(a), real_of(a.dtype()), a.device());
  const auto [inverse, info] = linalg_inv_ex(a);
  const Tensor singular = ne(info, number(0));  // their inverses are NaN, of which there are no singular values
  const Tensor finite = masked_fill(inverse, unsqueeze(unsqueeze(singular, -1), -1), number(0));
  return masked_fill(mul(norm(a), norm(finite)), singular, number(double(INFINITY)));
}
// The condition by singular values, which matrices with NaN or infinity do not have: theirs is NaN.
template <class Condition>
Tensor by_singular_values(const Tensor& a, Condition condition) {
  const Tensor broken = logical_not(all(isfinite(a), IntArrayRef({-2, -1})));
  const Tensor finite = masked_fill(a, unsqueeze(unsqueeze(broken, -1), -1), number(0));
  return masked_fill(condition(finite), broken, number(double(NAN)));
}
Tensor cond(const Tensor& a, const std::optional<Scalar>& p) {
  check_matrices("linalg.cond", a);
  const double order = p ? p->to_double() : 2;
  if (std::abs(order) != 2)
    return product_of_norms(a,
                            [&](const Tensor& t) { return matrix_norm_of("linalg.cond", t, *p, {-2, -1}, false, {}); });
  if (a.numel() == 0) return zeros(batch_sizes(a), real_of(a.dtype()), a.device());
  return by_singular_values(a, [&](const Tensor& finite) {
    const Tensor values = linalg_svdvals(finite), top = select(values, -1, 0), low = select(values, -1, -1);
    return order > 0 ? top / low : low / top;
  });
}
Tensor cond_named(const Tensor& a, std::string_view p) {
  const auto norm = [&](const Tensor& t) { return matrix_norm_named_of("linalg.cond", t, p, {-2, -1}, false, {}); };
  if (p != "nuc") return product_of_norms(a, norm);
  return by_singular_values(a, [&](const Tensor& finite) { return product_of_norms(finite, norm); });
}

}  // namespace

void register_norms() {
  set_composite<op::linalg_matrix_norm>(matrix_norm);
  set_composite<op::linalg_matrix_norm_named>(matrix_norm_named);
  set_composite<op::linalg_norm>(norm_of);
  set_composite<op::linalg_norm_named>(norm_named);
  set_composite<op::frobenius_norm>(frobenius);
  set_composite<op::nuclear_norm>(nuclear);
  set_composite<op::nuclear_norm_dim>(nuclear_dim);
  set_composite<op::linalg_cond>(cond);
  set_composite<op::linalg_cond_named>(cond_named);
}

}  // namespace torch::linalg
