// Element-wise operators of compressed tensors, and the layer that serves all operators without a function of their
// own: those that leave zero zero work on the values, what coordinates can do goes through them, the rest is refused.
#include <algorithm>
#include <iterator>

#include "dispatch/plain_form.h"
#include "ops/sparse/compressed.h"
#include "ops/sparse/zero_keeping.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/sparse.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

void on_values(const Row& row, const Value* given, Result& result) {
  Value values[kMaxParameters];
  std::copy(given, given + row.schema.count, values);
  const Tensor& self = tensor_in(given[0]);
  const Tensor v = values_of(self);
  values[0].tensor = v.get();
  row.invoke(values, result);
  result.tensors[0] = with_compressed(self, result.tensors[0]);
}

void through_coordinates(const Row& row, const Value* given, const Tensor& like, Result& result) {
  Value values[kMaxParameters];
  std::vector<Tensor> held, lists[2];
  held.reserve(size_t(row.schema.count));
  int list = 0;
  for (int i = 0; i < row.schema.count; ++i) {
    values[i] = given[i];
    if (row.schema.params[i].kind == Kind::Tensor && given[i].tensor && is_compressed(tensor_in(given[i]))) {
      held.push_back(as_coo(tensor_in(given[i])));
      values[i].tensor = held.back().get();
    } else if (row.schema.params[i].kind == Kind::TensorList && list < 2) {
      const Tensor* all = static_cast<const Tensor*>(given[i].data);
      for (int64_t k = 0; k < given[i].size; ++k) lists[list].push_back(all[k] ? as_coo(all[k]) : all[k]);
      values[i].data = lists[list++].data();
    }
  }
  row.invoke(values, result);
  const CompressedShape s = shape_of(like);
  for (Tensor& t : result.tensors)
    if (t && is_sparse(t) && t.dim() >= 2 && sparse_dim_of(t) == 2 && t.size(0) % s.height == 0 &&
        t.size(1) % s.width == 0)
      t = to_compressed_like(t, like);
}

// The first compressed tensor of a call.
Tensor first_compressed(const Row& row, const Value* given) {
  for (int i = 0; i < row.schema.count; ++i) {
    const Kind k = row.schema.params[i].kind;
    const Tensor* all = k == Kind::Tensor ? &tensor_in(given[i]) : static_cast<const Tensor*>(given[i].data);
    const int64_t n = k == Kind::Tensor ? 1 : k == Kind::TensorList ? given[i].size : 0;
    for (int64_t j = 0; j < n; ++j)
      if (all[j] && is_compressed(all[j])) return all[j];
  }
  return {};
}

void layer(const Row& row, const Value* given, Result& result) {
  Readmit inner(DispatchKey::SparseCompressed);
  const Tensor like = first_compressed(row, given);
  if (!like) return row.invoke(given, result, keys_below(DispatchKey::SparseCompressed));
  const std::string_view op = row.schema.op_name();
  if (row.schema.count && row.schema.params[0].written) {
    const Tensor& self = tensor_in(given[0]);
    const Row* plain = is_compressed(self) ? plain_form(row) : nullptr;
    if (!plain) refuse_layout(row, like);
    plain->invoke(given, result);
    Tensor r = result.tensors[0];
    TORCH_CHECK(r.dtype() == self.dtype(), op, ": result type ", r.dtype(),
                " can't be cast to the desired output type ", self.dtype());
    TORCH_CHECK(r.sizes() == self.sizes(), op, ": the result has shape ", r.sizes(), ", self ", self.sizes());
    result.tensors[0] = _sparse_assign_(self, to_compressed_like(r, self));
    return;
  }
  if (keeps_zero(row, given)) return on_values(row, given, result);
  const bool known =
      (row.functions[unsigned(DispatchKey::Sparse)] || keeps_zero_pairs(row, given)) && !row.attr.is_of_coordinates;
  if (!known) {
    if (row.functions[unsigned(DispatchKey::Sparse)]) sparse_parts(std::string(op).c_str(), like);
    refuse_layout(row, like);
  }
  through_coordinates(row, given, like, result);
}

// --- sums and products ---

Scalar negated(const Scalar& v) {
  if (v.is_complex()) return Scalar(-v.to_complex());
  return v.is_float() ? Scalar(-v.to_double()) : Scalar(-v.to_int());
}

Tensor add_compressed(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (is_compressed(self) && same_pattern(self, other))
    return with_compressed(self, add(values_of(self), values_of(other), alpha));
  if (is_compressed(self) && other.has_memory()) {  // dense
    TORCH_CHECK(self.sizes() == other.sizes(), "add: expected 'self' and 'other' to have same size, but self has size ",
                Bracketed{self.sizes()}, " while other has size ", Bracketed{other.sizes()},
                "; sparse tensors do not broadcast here");
    return add(to_dense(self), other, alpha);
  }
  Tensor r = add(as_coo(self), as_coo(other), alpha);
  if (!is_sparse(r) || shape_of(is_compressed(self) ? self : other).batch_dims) return r;
  return to_compressed_like(r, is_compressed(self) ? self : other);
}

Tensor mul_compressed(const Tensor& self, const Tensor& other) {
  if (!is_compressed(self)) return mul_compressed(other, self);
  if (other.has_memory() && other.dim() == 0) return with_compressed(self, mul(values_of(self), other));
  if (same_pattern(self, other)) return with_compressed(self, mul(values_of(self), values_of(other)));
  if (other.has_memory()) {
    TORCH_CHECK(is_expandable_to(other.sizes(), self.sizes()), "mul: the dense tensor ", other.sizes(),
                " must broadcast to the shape ", self.sizes(), " of the sparse one");
    return with_compressed(self, mul(values_of(self), compressed_gather(expand(other, self.sizes()), self)));
  }
  const Tensor r = mul(as_coo(self), as_coo(other));
  return sparse_dim_of(r) == 2 ? to_compressed_like(r, self) : r;
}

// --- copies and others of the same places ---

Tensor clone_compressed(const Tensor& self, std::optional<MemoryFormat> format) {
  TORCH_CHECK(!format || *format == MemoryFormat::Preserve, "clone: a sparse tensor has no memory format to ask for");
  const CompressedParts& p = parts_of_compressed(self);
  return with_compressed(
      _sparse_compressed_pattern(clone(p.compressed), clone(p.plain), p.values, self.sizes(), p.layout),
      clone(values_of(self)));
}
Tensor to_copy_compressed(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                          std::optional<MemoryFormat> format) {
  TORCH_CHECK(!format || *format == MemoryFormat::Preserve, "to: a sparse tensor has no memory format to ask for");
  const CompressedParts& p = parts_of_compressed(self);
  const Tensor v = _to_copy(values_of(self), dtype, device);
  return with_compressed(
      _sparse_compressed_pattern(_to_copy(p.compressed, std::nullopt, device), _to_copy(p.plain, std::nullopt, device),
                                 detach(v), self.sizes(), p.layout),
      v);
}
Tensor copy_compressed(const Tensor& self, const Tensor& src, bool) {
  TORCH_CHECK(is_compressed(self) && layout_of(self) == layout_of(src), "copy_() between tensors of layouts ",
              layout_name(layout_of(self)), " and ", layout_name(layout_of(src)),
              " is not implemented: convert the source first");
  TORCH_CHECK(self.sizes() == src.sizes(), "copy_: a sparse source ", src.sizes(), " must have the shape of self ",
              self.sizes());
  if (self == src) return self;
  return _sparse_assign_(self, self.dtype() == src.dtype() ? clone(src) : _to_copy(src, self.dtype()));
}
Tensor zeros_like_compressed(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                             std::optional<MemoryFormat>) {
  const CompressedParts& p = parts_of_compressed(self);
  const CompressedShape s = shape_of(self);
  DimVector c(p.compressed.sizes()), e(p.plain.sizes()), v(p.values.sizes());
  e[s.batch_dims] = v[s.batch_dims] = 0;
  const Device on = device.value_or(self.device());
  return make_compressed({p.layout, zeros(c, p.compressed.dtype(), on), empty(e, p.plain.dtype(), on),
                          empty(v, dtype.value_or(self.dtype()), on)},
                         self.sizes());
}
template <class Tag>
Tensor like_values(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                   std::optional<MemoryFormat>) {
  TORCH_CHECK(!device || *device == self.device(), "a sparse tensor like one on ", self.device(), " cannot be made on ",
              *device);
  const Tensor v = detach(values_of(self));
  return with_compressed(self, Operator<Tag>()(v, dtype, device, std::nullopt));
}
Tensor full_like_compressed(const Tensor& self, const Scalar& value, std::optional<DType> dtype,
                            std::optional<Device> device, std::optional<MemoryFormat>) {
  TORCH_CHECK(!device || *device == self.device(), "a sparse tensor like one on ", self.device(), " cannot be made on ",
              *device);
  return with_compressed(self, full_like(detach(values_of(self)), value, dtype));
}
Tensor new_zeros_compressed(const Tensor& self, IntArrayRef size, std::optional<DType> dtype,
                            std::optional<Device> device) {
  return empty_compressed("new_zeros", size, layout_of(self), dtype.value_or(self.dtype()),
                          device.value_or(self.device()));
}
Tensor zero_compressed_(const Tensor& self) {
  return _sparse_assign_(self, zeros_like_compressed(self, self.dtype(), self.device(), std::nullopt));
}

}  // namespace

void register_compressed_elements() {
  set_layer(DispatchKey::SparseCompressed, layer);
  set_compressed<op::add>(add_compressed);
  set_compressed<op::add_>([](const Tensor& self, const Tensor& other, const Scalar& alpha) {
    if (!is_compressed(self)) {  // dense
      const Tensor coo = as_coo(other);
      return add_(self, has_blocks(layout_of(other)) || other.dim() > 2 ? to_dense(other) : coo, alpha);
    }
    Tensor r = add(self, other, alpha);
    TORCH_CHECK(!r.has_memory() && r.dtype() == self.dtype(), "add_: result type ", r.dtype(), " of layout ",
                layout_name(layout_of(r)), " can't be cast to the desired output type ", self.dtype(), " of layout ",
                layout_name(layout_of(self)));
    return _sparse_assign_(self, to_compressed_like(r, self));
  });
  set_compressed<op::sub>([](const Tensor& self, const Tensor& other, const Scalar& alpha) {
    return add_compressed(self, other, negated(alpha));
  });
  set_compressed<op::mul>(mul_compressed);
  set_compressed<op::mul_>([](const Tensor& self, const Tensor& other) {
    if (!is_compressed(self)) return mul_(self, to_dense(other));
    const Tensor r = mul_compressed(self, other);
    TORCH_CHECK(r.dtype() == self.dtype(), "mul_: result type ", r.dtype(),
                " can't be cast to the desired output type ", self.dtype());
    return _sparse_assign_(self, to_compressed_like(r, self));
  });
  set_compressed<op::clone>(clone_compressed);
  set_compressed<op::_to_copy>(to_copy_compressed);
  set_compressed<op::copy_>(copy_compressed);
  set_compressed<op::zero_>(zero_compressed_);
  set_compressed<op::zeros_like>(zeros_like_compressed);
  set_compressed<op::empty_like>(like_values<op::empty_like>);
  set_compressed<op::ones_like>(like_values<op::ones_like>);
  set_compressed<op::full_like>(full_like_compressed);
  set_compressed<op::new_zeros>(new_zeros_compressed);
  set_compressed<op::new_empty>(new_zeros_compressed);
  set_compressed<op::fill_>([](const Tensor& self, const Scalar& value) {
    return _sparse_assign_(self, full_like_compressed(self, value, self.dtype(), std::nullopt, std::nullopt));
  });
  set_compressed<op::alias>([](const Tensor& self) { return with_compressed(self, values_of(self)); });
  set_compressed<op::contiguous>([](const Tensor& self, MemoryFormat) { return self; });
  admit_compressed<op::result_type_op>();
}

}  // namespace torch
