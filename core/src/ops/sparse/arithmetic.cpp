// Sums, products and quotients with sparse operands.
#include "ops/sparse/sparse.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"

namespace torch {

namespace {

void check_same(const char* op, const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.sizes() == other.sizes(), op, ": expected sizes of 'self' and 'other' to match, but ",
              Bracketed{self.sizes()}, " != ", Bracketed{other.sizes()}, "; sparse tensors do not broadcast here");
}
void check_same_dims(const char* op, const Tensor& self, const Tensor& other) {
  check_same(op, self, other);
  TORCH_CHECK(sparse_dim_of(self) == sparse_dim_of(other), op,
              ": expected both to have the same sparse dims, but self has ", sparse_dim_of(self), " and other ",
              sparse_dim_of(other), " of shape ", self.sizes());
}
void check_alpha(const char* op, const Scalar& alpha, DType t) {
  TORCH_CHECK(is_floating(t) || is_complex(t) || alpha.is_integral(), op,
              ": For integral input tensors, argument alpha must not be a floating point number, got ", alpha);
}
void check_result(const char* op, const Tensor& self, DType result) {
  const bool fits = is_complex(result) <= is_complex(self.dtype()) &&
                    (!is_floating(result) || is_floating(self.dtype()) || is_complex(self.dtype())) &&
                    (result == DType::Bool || self.dtype() != DType::Bool);
  TORCH_CHECK(fits, op, ": result type ", result, " can't be cast to the desired output type ", self.dtype());
}
Tensor as(const Tensor& t, DType dtype) { return t.dtype() == dtype ? t : _to_copy(t, dtype); }
Tensor assign(const char* op, const Tensor& self, const Tensor& result) {
  check_same(op, self, result);
  check_result(op, self, result.dtype());
  return _sparse_assign_(self, as(result, self.dtype()));
}

Scalar negated(const Scalar& v) {
  if (v.is_complex()) return Scalar(-v.to_complex());
  return v.is_float() ? Scalar(-v.to_double()) : Scalar(-v.to_int());
}
Tensor scaled(const Tensor& t, const Scalar& by) { return is_one(by) ? t : mul(t, number(by)); }

// Elements of both, one after the other. They are brought together where both were, or where there is no end to it.
Tensor add_both(const char* op, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_same(op, self, other);
  Tensor a = values_of(self), b = values_of(other);
  const DType dtype = result_type_op(a, b);
  check_alpha(op, alpha, dtype);
  if (sparse_dim_of(self) != sparse_dim_of(other)) {  // without elements it does not matter which dims are dense
    if (nnz_of(other) == 0) return _to_copy(self, dtype);
    if (nnz_of(self) == 0) return scaled(_to_copy(other, dtype), alpha);
  }
  check_same_dims(op, self, other);
  Tensor indices = cat(std::vector<Tensor>{indices_of(self), indices_of(other)}, 1);
  Tensor values = cat(std::vector<Tensor>{as(a, dtype), scaled(as(b, dtype), alpha)}, 0);
  Tensor r = _sparse_coo_tensor_unsafe(indices, values, self.sizes(), false);
  return (coalesced(self) && coalesced(other)) || nnz_of(r) > product(sparse_sizes(r)) ? coalesce(r) : r;
}
Tensor add_to_dense(const char* op, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_same(op, self, other);
  Tensor values = values_of(other);
  const DType dtype = result_type_op(self, values);
  check_alpha(op, alpha, dtype);
  Tensor flat = joined(as(self, dtype), sparse_sizes(other));
  return reshape(index_add(flat, 0, linear_indices(op, other), as(values, dtype), alpha), self.sizes());
}
Tensor add_any(const char* op, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  TORCH_CHECK(!is_sparse(self) || is_sparse(other), op, "(sparse, dense) is not supported. Use ", op,
              "(dense, sparse) instead, or to_dense() on the sparse tensor");
  return is_sparse(self) ? add_both(op, self, other, alpha) : add_to_dense(op, self, other, alpha);
}
Tensor add_in_place(const char* op, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (is_sparse(self)) return assign(op, self, add_any(op, self, other, alpha));
  check_same(op, self, other);
  Tensor values = values_of(other);
  const DType dtype = result_type_op(self, values);
  check_alpha(op, alpha, dtype);
  check_result(op, self, dtype);
  if (!self.is_contiguous()) {
    add_(self, to_dense(other), alpha);
    return self;
  }
  DimVector shape;
  shape.push_back(product(sparse_sizes(other)));
  for (int64_t s : dense_sizes(other)) shape.push_back(s);
  index_add_(view(self, shape), 0, linear_indices(op, other), as(values, self.dtype()), alpha);
  return self;
}

// --- products ---
Tensor mul_dense(const Tensor& self, const Tensor& other) {
  if (other.dim() == 0) return with_values(self, mul(values_of(self), other));
  TORCH_CHECK(is_expandable_to(other.sizes(), self.sizes()), "mul: the dense tensor ", other.sizes(),
              " must broadcast to the shape ", self.sizes(), " of the sparse one");
  DimVector shape(size_t(self.dim() - other.dim()), 1);
  for (int64_t s : other.sizes()) shape.push_back(s);
  Tensor full = reshape(other, shape);
  IntArrayRef into = full.sizes().slice(0, size_t(sparse_dim_of(self)));
  Tensor places = linear_indices("mul", indices_of(self), sparse_sizes(self), into);
  return with_values(self, mul(values_of(self), index_select(joined(full, into), 0, places)));
}
// Elements at places that both have.
Tensor mul_both(const Tensor& self, const Tensor& other) {
  check_same("mul", self, other);
  if (sparse_dim_of(self) != sparse_dim_of(other) && (nnz_of(self) == 0 || nnz_of(other) == 0))
    return empty_sparse(self.sizes(), sparse_dim_of(self), result_type_op(values_of(self), values_of(other)),
                        self.device());
  check_same_dims("mul", self, other);
  const Tensor a = coalesce(self), b = coalesce(other);
  Tensor at = positions_in(linear_indices("mul", b), linear_indices("mul", a));
  Tensor common = select(nonzero(ge(at, number(0))), 1, 0);
  return _sparse_coo_tensor_unsafe(
      index_select(indices_of(a), 1, common),
      mul(index_select(values_of(a), 0, common), index_select(values_of(b), 0, index_select(at, 0, common))),
      self.sizes(), true);
}
Tensor mul_sparse(const Tensor& self, const Tensor& other) {
  if (!is_sparse(self)) return mul_dense(other, self);
  return is_sparse(other) ? mul_both(self, other) : mul_dense(self, other);
}
Tensor mul_sparse_(const Tensor& self, const Tensor& other) {
  if (!is_sparse(self)) return mul_(self, to_dense(other));
  return assign("mul_", self, mul_sparse(self, other));
}

void check_divisor(const char* op, const Tensor& self, const Tensor& other) {
  TORCH_CHECK(is_sparse(self), op,
              ": a dense tensor cannot be divided by a sparse one, which is zero almost everywhere; ",
              "use to_dense()");
  TORCH_CHECK(!is_sparse(other) && other.dim() == 0, op,
              ": Sparse division requires a scalar or zero-dim dense tensor divisor (got shape ",
              Bracketed{other.sizes()}, " for divisor)");
}
Tensor div_sparse(const Tensor& self, const Tensor& other, std::optional<std::string_view> mode) {
  check_divisor("div", self, other);
  const Tensor s = mode ? coalesce(self) : self;
  return with_values(s, div(values_of(s), other, mode));
}
Tensor true_divide_sparse(const Tensor& self, const Tensor& other) {
  check_divisor("true_divide", self, other);
  return with_values(self, true_divide(values_of(self), other));
}
Tensor floor_divide_sparse(const Tensor& self, const Tensor& other) {
  check_divisor("floor_divide", self, other);
  const Tensor s = coalesce(self);
  return with_values(s, floor_divide(values_of(s), other));
}

}  // namespace

void register_sparse_arithmetic() {
  set_sparse<op::add>(
      [](const Tensor& a, const Tensor& b, const Scalar& alpha) { return add_any("add", a, b, alpha); });
  set_sparse<op::sub>(
      [](const Tensor& a, const Tensor& b, const Scalar& alpha) { return add_any("sub", a, b, negated(alpha)); });
  set_sparse<op::add_>(
      [](const Tensor& a, const Tensor& b, const Scalar& alpha) { return add_in_place("add_", a, b, alpha); });
  set_sparse<op::sub_>(
      [](const Tensor& a, const Tensor& b, const Scalar& alpha) { return add_in_place("sub_", a, b, negated(alpha)); });
  set_sparse<op::mul>(mul_sparse);
  set_sparse<op::mul_>(mul_sparse_);
  set_sparse<op::div>(div_sparse);
  set_sparse<op::div_>([](const Tensor& self, const Tensor& other, std::optional<std::string_view> mode) {
    return assign("div_", self, div_sparse(self, other, mode));
  });
  set_sparse<op::true_divide>(true_divide_sparse);
  set_sparse<op::true_divide_>([](const Tensor& self, const Tensor& other) {
    return assign("true_divide_", self, true_divide_sparse(self, other));
  });
  set_sparse<op::floor_divide>(floor_divide_sparse);
  set_sparse<op::floor_divide_>([](const Tensor& self, const Tensor& other) {
    return assign("floor_divide_", self, floor_divide_sparse(self, other));
  });
  admit_sparse<op::result_type_op>();
}

}  // namespace torch
