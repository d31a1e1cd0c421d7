// Sums and norms of sparse tensors, and softmax over stored elements.
#include "torch/core/ops/reduce.h"

#include "ops/sparse/sparse.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/softmax.h"
#include "torch/core/ops/sparse.h"
#include "torch/core/ops/unary.h"

namespace torch {

namespace {

// Sparse where a sparse dim stays, else dense.
Tensor sum_sparse(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim, std::optional<DType> dtype) {
  const int64_t sparse = sparse_dim_of(self), n = self.dim();
  const DType result = dtype                                                      ? *dtype
                       : is_integral(self.dtype()) || self.dtype() == DType::Bool ? DType::Int64
                                                                                  : self.dtype();
  Tensor values = values_of(self);
  if (values.dtype() != result) values = _to_copy(values, result);
  const DimSet dims = dim && !dim->empty() ? DimSet("sum", *dim, n) : DimSet::all(n);
  DimVector dense, rows, sizes;
  int64_t gone = 0;
  for (int64_t d = 0; d < n; ++d) {
    if (!dims[d] || keepdim) sizes.push_back(dims[d] ? 1 : self.size(d));
    if (d >= sparse && dims[d]) dense.push_back(d - sparse + 1);
    if (d < sparse) {
      gone += dims[d];
      rows.push_back(d);
    }
  }
  if (dense.size()) values = sum(values, dense.ref(), keepdim);
  if (gone == sparse) return reshape(sum(values, IntArrayRef({0}), false), sizes);
  std::vector<Tensor> kept;
  for (int64_t d = 0; d < sparse; ++d) {
    Tensor row = narrow(indices_of(self), 0, d, 1);
    if (!dims[d])
      kept.push_back(row);
    else if (keepdim)
      kept.push_back(zeros_like(row));
  }
  Tensor r = _sparse_coo_tensor_unsafe(cat(kept, 0), values, sizes, gone == 0 && coalesced(self));
  return coalesce(r);
}

Tensor vector_norm_sparse(const Tensor& self, const Scalar& ord, std::optional<IntArrayRef> dim, bool keepdim,
                          std::optional<DType> dtype) {
  const int64_t n = self.dim();
  const DimSet dims = dim && !dim->empty() ? DimSet("norm", *dim, n) : DimSet::all(n);
  bool all = true;
  for (int64_t d = 0; d < n; ++d) all = all && dims[d];
  TORCH_CHECK_IMPLEMENTED(all && !keepdim,
                          "norm: of a sparse tensor only over all dims; use to_dense() for norms over dims");
  return linalg_vector_norm(values_of(coalesce(self)), ord, std::nullopt, false, dtype);
}

Tensor any_sparse(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim) {
  TORCH_CHECK_IMPLEMENTED(!dim && !keepdim, "any: of a sparse tensor only over all dims; use to_dense() first");
  return any(_values(coalesce(self)));
}

// Elements that are not stored count as minus infinity. Exact for any magnitude: the largest of each line is taken off
// first, which changes neither the result nor its derivative.
Tensor softmax_sparse(const Tensor& self, int64_t dim, bool log, std::optional<DType> dtype) {
  sparse_parts("softmax", self);
  dim = wrap_dim(dim, self.dim());
  const Tensor s = coalesce(self);
  Tensor values = values_of(s);
  if (dtype && *dtype != values.dtype()) values = _to_copy(values, dtype);
  TORCH_CHECK_IMPLEMENTED(is_floating(values.dtype()), "softmax: not implemented for a sparse tensor of ",
                          values.dtype());
  if (dim >= sparse_dim_of(s)) {
    const int64_t d = dim - sparse_dim_of(s) + 1;
    return with_values(s, log ? log_softmax(values, d) : softmax(values, d));
  }
  DimVector into(sparse_sizes(s));
  into[dim] = 1;
  Groups lines = group_equal(linear_indices("softmax", indices_of(s), sparse_sizes(s), into), product(into.ref()));
  Tensor line = segment_numbers(lines.order, lines.bounds);
  DimVector shape(values.sizes());
  shape[0] = lines.count();
  Tensor lowest = full(shape.ref(), Scalar(-INFINITY), values.dtype(), values.device());
  Tensor peak = index_reduce(lowest, 0, line, detach(values), "amax");
  Tensor shifted = sub(values, index_select(peak, 0, line));
  Tensor powers = exp(shifted);
  Tensor sums = index_select(_segment_sum(powers, lines.order, lines.bounds), 0, line);
  return with_values(s, log ? sub(shifted, torch::log(sums)) : true_divide(powers, sums));
}

}  // namespace

void register_sparse_reduce() {
  set_sparse<op::sum>(sum_sparse);
  set_sparse<op::linalg_vector_norm>(vector_norm_sparse);
  admit_composite<op::norm>();
  admit_composite<op::norm_named>();
  set_sparse<op::any>(any_sparse);
  set_composite_of_both<op::_sparse_softmax>(softmax_sparse);
}

}  // namespace torch
