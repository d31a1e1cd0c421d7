// The layer of tensors in coordinates: it serves operators without a function of their own, where zeros stay zeros.
#include "ops/sparse/zero_keeping.h"

#include <algorithm>

#include "dispatch/plain_form.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/predicate.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/sparse.h"

namespace torch {

namespace {

bool truth(const Tensor& t) { return any(t).data<bool>()[0]; }

}  // namespace

bool is_alone(const Row& row, const Value* given) {
  for (int i = 1; i < row.schema.count; ++i) {
    const Kind k = row.schema.params[i].kind;
    if (k == Kind::TensorList ||
        (k == Kind::Tensor && given[i].tensor && (tensor_in(given[i]).dim() > 0 || !tensor_in(given[i]).has_memory())))
      return false;
  }
  return row.schema.count > 0 && row.schema.params[0].kind == Kind::Tensor && given[0].tensor &&
         is_any_sparse(tensor_in(given[0]));
}

bool keeps_zero(const Row& row, const Value* given) {
  if (row.attr.zero == Zero::Changes || row.schema.params[0].written || !is_alone(row, given)) return false;
  if (row.attr.zero == Zero::Stays) return true;
  for (int i = 1; i < row.schema.count; ++i)  // numbers elsewhere are not looked at
    if (row.schema.params[i].kind == Kind::Tensor && given[i].tensor &&
        tensor_in(given[i]).device().type != DeviceType::CPU)
      return true;
  Value values[kMaxParameters];
  std::copy(given, given + row.schema.count, values);
  const Tensor zero = zeros(IntArrayRef(), tensor_in(given[0]).dtype());
  values[0].tensor = zero.get();
  Result there;
  row.invoke(values, there);
  return !truth(there.tensors[0]);
}

bool keeps_zero_pairs(const Row& row, const Value* given) {
  if (!row.attr.is_zero_of_zeros || row.schema.count != 2 || row.schema.params[0].written) return false;
  for (int i = 0; i < 2; ++i)
    if (row.schema.params[i].kind != Kind::Tensor || !given[i].tensor || !is_any_sparse(tensor_in(given[i])))
      return false;
  return true;
}

void refuse_layout(const Row& row, const Tensor& t) {
  constexpr const char* kNames[] = {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"};
  throw_error(ErrorKind::NotImplemented, message(row.schema.op_name(), ": not implemented for tensors of layout torch.",
                                                 kNames[unsigned(layout_of(t))], "; convert with .to_dense() first"));
}

namespace {

// At the places that one of them has.
void on_union(const Row& row, const Tensor& a, const Tensor& b, Result& result) {
  TORCH_CHECK(a.sizes() == b.sizes() && sparse_dim_of(a) == sparse_dim_of(b), row.schema.op_name(),
              ": expected sizes and sparse dims of 'self' and 'other' to match, but ", Bracketed{a.sizes()}, " with ",
              sparse_dim_of(a), " and ", Bracketed{b.sizes()}, " with ", sparse_dim_of(b),
              "; sparse tensors do not broadcast here");
  const Tensor both = cat(std::vector<Tensor>{indices_of(a), indices_of(b)}, 1);
  const Tensor places = indices_of(
      coalesce(_sparse_coo_tensor_unsafe(both, zeros({both.size(1)}, DType::Bool, both.device()), sparse_sizes(a))));
  const Tensor x = _sparse_gather(a, places), y = _sparse_gather(b, places);
  Value values[2];
  values[0].tensor = x.get(), values[1].tensor = y.get();
  values[0].present = values[1].present = true;
  row.invoke(values, result);
  result.tensors[0] = _sparse_coo_tensor_unsafe(places, result.tensors[0], a.sizes(), true);
}

void layer(const Row& row, const Value* given, Result& result) {
  Readmit inner(DispatchKey::Sparse);
  const auto sparse_one = [&]() -> Tensor {
    for (int i = 0; i < row.schema.count; ++i) {
      const Kind k = row.schema.params[i].kind;
      const Tensor* all = k == Kind::Tensor ? &tensor_in(given[i]) : static_cast<const Tensor*>(given[i].data);
      const int64_t n = k == Kind::Tensor ? 1 : k == Kind::TensorList ? given[i].size : 0;
      for (int64_t j = 0; j < n; ++j)
        if (all[j] && is_sparse(all[j])) return all[j];
    }
    return {};
  };
  if (row.schema.count && row.schema.params[0].written && given[0].tensor && is_sparse(tensor_in(given[0]))) {
    const Tensor& self = tensor_in(given[0]);
    const Row* plain = plain_form(row);
    if (!plain || !(keeps_zero(*plain, given) || keeps_zero_pairs(*plain, given))) refuse_layout(row, self);
    plain->invoke(given, result);
    const Tensor& r = result.tensors[0];
    TORCH_CHECK(r.dtype() == self.dtype(), row.schema.op_name(), ": result type ", r.dtype(),
                " can't be cast to the desired output type ", self.dtype());
    result.tensors[0] = _sparse_assign_(self, r);
    return;
  }
  if (keeps_zero(row, given)) {
    const Tensor s = coalesce(tensor_in(given[0])), v = values_of(s);
    Value values[kMaxParameters];
    std::copy(given, given + row.schema.count, values);
    values[0].tensor = v.get();
    row.invoke(values, result);
    result.tensors[0] = with_values(s, result.tensors[0]);
    return;
  }
  if (keeps_zero_pairs(row, given) && is_sparse(tensor_in(given[0])) && is_sparse(tensor_in(given[1])))
    return on_union(row, tensor_in(given[0]), tensor_in(given[1]), result);
  const Tensor s = sparse_one();
  if (!s) return row.invoke(given, result, keys_below(DispatchKey::Sparse));
  refuse_layout(row, s);
}

Tensor mean_sparse(const Tensor& self, std::optional<IntArrayRef> dim, bool keepdim, std::optional<DType> dtype) {
  const DType t = dtype.value_or(self.dtype());
  TORCH_CHECK(is_floating(t) || is_complex(t),
              "mean(): could not infer output dtype. Input dtype must be either a "
              "floating point or complex dtype. Got: ",
              t);
  const Tensor r = sum(self, dim, keepdim, t);
  return true_divide(r, number(Scalar(double(self.numel()) / double(std::max<int64_t>(r.numel(), 1)))));
}

bool equal_sparse(const Tensor& self, const Tensor& other) {
  TORCH_CHECK_IMPLEMENTED(is_sparse(self) && is_sparse(other),
                          "equal: a sparse and a dense tensor are not compared; use to_dense()");
  if (!(self.sizes() == other.sizes()) || self.dtype() != other.dtype()) return false;
  if (sparse_dim_of(self) != sparse_dim_of(other)) return equal(to_dense(self), to_dense(other));
  return !truth(_values(ne(self, other)));
}

// One list of numbers takes slices of a dim; as many as there are sparse dims take elements.
Tensor index_sparse(const Tensor& self, TensorList indices) {
  std::vector<Tensor> given;
  int64_t at = 0;
  for (size_t d = 0; d < indices.size(); ++d)
    if (indices[d]) {
      TORCH_CHECK_IMPLEMENTED(!is_any_sparse(indices[d]), "index: a sparse tensor cannot be an index; use to_dense()");
      at = given.empty() ? int64_t(d) : at;
      given.push_back(indices[d]);
    }
  const auto is_mask = [](const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; };
  if (given.size() == 1 && given[0].dim() == 1) {
    const Tensor& i = given[0];
    TORCH_CHECK_INDEX(!is_mask(i) || i.numel() == self.size(at), "index: The shape of the mask ", i.sizes(),
                      " does not match the dim ", at, " of shape ", self.sizes());
    Tensor rows = is_mask(i) ? select(nonzero(i), 1, 0) : _to_copy(i, DType::Int64);
    if (!is_mask(i)) {
      const int64_t n = self.size(at);
      rows = where(lt(rows, number(0)), add(rows, number(n)), rows);
    }
    return index_select(self, at, rows);
  }
  const int64_t dims = sparse_dim_of(self);
  bool elements = int64_t(given.size()) == dims && at == 0 && !given.empty();
  for (const Tensor& t : given) elements &= !is_mask(t) && is_integral(t.dtype());
  TORCH_CHECK_IMPLEMENTED(elements,
                          "index: a sparse tensor takes one vector of positions or a mask of one dim, or as many "
                          "tensors of positions as it has sparse dims; use to_dense() first");
  std::vector<Tensor> wide = broadcast_tensors(given), rows;
  DimVector shape(wide[0].sizes());
  for (int64_t d = 0; d < dims; ++d) {
    Tensor r = reshape(_to_copy(wide[size_t(d)], DType::Int64), {-1});
    rows.push_back(where(lt(r, number(0)), add(r, number(self.size(d))), r));
  }
  const Tensor found = _sparse_gather(self, contiguous(stack(rows, 0)));
  for (int64_t d = 1; d < found.dim(); ++d) shape.push_back(found.size(d));
  return reshape(found, shape);
}

}  // namespace

void register_sparse_layer() {
  set_layer(DispatchKey::Sparse, layer);
  set_sparse<op::mean>(mean_sparse);
  set_sparse<op::equal>(equal_sparse);
  set_sparse<op::index>(index_sparse);
}

}  // namespace torch
