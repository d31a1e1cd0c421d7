// What the operators of sparse tensors share.
#pragma once
#include "iterate/dims.h"
#include "ops/sparse/admit.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/sparse.h"
#include "torch/core/ops/view.h"

namespace torch {

// Before elements and their places are taken from a dense tensor: wrappers (DispatchKey::Wrapped) have none.
inline void check_has_places(const char* op, std::initializer_list<Tensor> parts) {
  for (const Tensor& t : parts)
    TORCH_CHECK_IMPLEMENTED(!t.has(DispatchKey::Wrapped), op,
                            ": not implemented within vmap, jvp, functionalize and forward_ad, whose tensors have "
                            "no places of their own; torch.func.linearize pushes tangents through it");
}

inline const Tensor& indices_of(const Tensor& s) { return sparse_parts("indices", s).indices; }
inline bool coalesced(const Tensor& s) { return sparse_parts("is_coalesced", s).coalesced; }
inline int64_t sparse_dim_of(const Tensor& s) { return indices_of(s).size(0); }
inline int64_t nnz_of(const Tensor& s) { return indices_of(s).size(1); }
inline IntArrayRef sparse_sizes(const Tensor& s) { return s.sizes().slice(0, size_t(sparse_dim_of(s))); }
inline IntArrayRef dense_sizes(const Tensor& s) {
  const size_t d = size_t(sparse_dim_of(s));
  return s.sizes().slice(d, s.sizes().size() - d);
}
// With graph, unlike those in sparse_parts().
inline Tensor values_of(const Tensor& s) { return _sparse_values(s); }
// Other values at the places of `s`.
inline Tensor with_values(const Tensor& s, const Tensor& values, bool is_coalesced) {
  return _sparse_coo_tensor_unsafe(indices_of(s), values, s.sizes(), is_coalesced);
}
inline Tensor with_values(const Tensor& s, const Tensor& values) { return with_values(s, values, coalesced(s)); }
// The places of the elements of `s` in row-major order of its sparse dims, checked.
inline Tensor linear_indices(const char* op, const Tensor& s) {
  return linear_indices(op, indices_of(s), sparse_sizes(s), sparse_sizes(s));
}

// Indices where the host can read them, and back.
inline Tensor on_cpu(const Tensor& t) {
  return t.device().type == DeviceType::CPU ? t : _to_copy(t, std::nullopt, Device());
}
inline Tensor sent(const Tensor& t, Device device) {
  return t.device() == device ? t : _to_copy(t, std::nullopt, device);
}

inline bool is_one(const Scalar& v) { return !v.is_complex() && v.to_double() == 1; }
inline int64_t product(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}
// `self` with the leading dims `sizes` joined into one: (sizes..., rest...) to (product, rest...).
inline Tensor joined(const Tensor& self, IntArrayRef sizes) {
  DimVector shape;
  shape.push_back(product(sizes));
  for (int64_t d = int64_t(sizes.size()); d < self.dim(); ++d) shape.push_back(self.size(d));
  return reshape(self, shape);
}

// Equal numbers in `linear` side by side: `order` names elements group by group, in their order within a group;
// group i is order[bounds[i]] up to order[bounds[i + 1]].
struct Groups {
  Tensor order, bounds;
  int64_t count() const { return bounds.numel() - 1; }
  Tensor firsts() const { return index_select(order, 0, narrow(bounds, 0, 0, count())); }
};
Groups group_equal(const Tensor& linear, int64_t range);
// Where each of `wanted` stands in `sorted` (distinct, ascending), or -1.
Tensor positions_in(const Tensor& sorted, const Tensor& wanted);

// What _sparse_assign_ does to a compressed tensor.
void assign_compressed(const Tensor& self, const Tensor& src);

void register_sparse_parts();
void register_sparse_order();
void register_sparse_create();
void register_sparse_dense();
void register_sparse_unary();
void register_sparse_arithmetic();
void register_sparse_shape();
void register_sparse_reduce();
void register_sparse_matmul();

}  // namespace torch
